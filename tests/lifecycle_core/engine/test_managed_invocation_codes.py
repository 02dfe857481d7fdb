"""Every code of the managed invocation contract (reference: seed-contracts 3.4): how it is reached, or why it is not ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.access import credentials
from lifecycle_core.application import cancellations, continuing, deliveries, queries
from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.contract.errors import Refused
from lifecycle_core.contract.invocation import FAILURES, VIOLATIONS
from lifecycle_core.contract.ports import (
    InputAsked,
    Output,
    ProcessExited,
    ProviderFailed,
    StructuredCompletion,
)
from tests.lifecycle_core.engine import test_admission
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, calls, complete, emitting

pytestmark = pytest.mark.django_db

CALL_ERRORS: Final = frozenset(
    {
        "CORRELATION_MISMATCH",
        "EXECUTOR_BINDING_MISMATCH",
        "MODEL_BINDING_MISMATCH",
        "SESSION_AFFINITY_MISMATCH",
        "SESSION_STATE_UNKNOWN",
        "CAPABILITY_MISMATCH",
        "PROVIDER_NOT_IMPLEMENTED",
        "MANAGED_PATH_BYPASS",
        "CREDENTIAL_ACQUISITION_FAILED",
        "RETIREMENT_NOT_AUTHORIZED",
    }
)
OTHERS: Final = frozenset(
    {
        "INTERACTION_UNAVAILABLE",
        "INTERACTION_CANCELLED",
        "INTERACTION_CORRELATION_MISMATCH",
        "CONTROL_UNAVAILABLE",
        "CONTROL_CANCELLED",
        "CONTROL_CORRELATION_MISMATCH",
    }
)
SINK: Final = "the journal is the sink: what cannot be kept ends the turn as ACTION_INTERACTION_UNAVAILABLE"
BRIDGE: Final = "there is no bridge to a workflow: a workflow that waits is not an agent that asks"
NOT_OURS: Final = {
    "SESSION_STATE_UNKNOWN": "a response starts no turn itself; whoever takes the turn up finds its status in one commit",
    "MANAGED_PATH_BYPASS": "there is no other path: only the carrier reaches models and tools",
    "RESULT_CORRELATION_INVALID": "a completion carries no identity that could be wrong: it belongs to the call that states it",
    "INTERACTION_UNAVAILABLE": SINK,
    "INTERACTION_CANCELLED": SINK,
    "INTERACTION_CORRELATION_MISMATCH": "a response to another question is CORRELATION_MISMATCH",
    "CONTROL_UNAVAILABLE": BRIDGE,
    "CONTROL_CANCELLED": BRIDGE,
    "CONTROL_CORRELATION_MISMATCH": BRIDGE,
}

type Scenario = Callable[[World], str]

ASKED: Final = InputAsked(call_id="c", request_identity="r", prompt="?", response_schema={})
COMPLETION: Final = StructuredCompletion(result={"ok": True})


def refused(attempt: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as refusal:
        attempt()
    return refusal.value.code


def ending(*happened: ports.NativeEvent) -> Scenario:
    """Return how a turn ends whose session reports some events."""

    def scenario(world: World) -> str:
        world.providers["chat-completions"] = NativeProvider([emitting(*happened)])
        return str(world.disposition(world.run())["code"])

    return scenario


def broken(error: type[Refused]) -> Scenario:
    """Return what a start says of the first dispatch that is broken in that way, as the tests of admission reach it."""

    def scenario(world: World) -> str:
        case = next(case for case in test_admission.BROKEN if case[2] is error)
        test_admission.test_each_check_is_reached_alone_and_says_its_code(*case)
        return error.code

    return scenario


def respond(world: World, **wrong: Any) -> str:
    """Respond to a question of an invocation, wrongly; returns the code of the refusal or else of the disposition."""
    invocation = world.run(calls(ask()), complete())
    given: dict[str, Any] = {
        "episode": queries.dispatch(w.ANN, invocation)["episode"],
        "kind": "ANSWER",
        "request_identity": "q1",
        "content": "blue",
        "content_identity": digests.digest("blue"),
    }
    try:
        item = continuing.continue_with_input(w.BOB, invocation, **given | wrong)
    except Refused as refusal:
        return refusal.code
    return str((item.disposition or {})["code"])


def absent_provider(world: World) -> str:
    del world.providers["chat-completions"]
    return refused(lambda: world.start(complete()))


def absent_credential(world: World) -> str:
    return refused(lambda: credentials.lease(w.TENANT, "refs/none", "http://127.0.0.1:1/v1"))


def other_authorization(world: World) -> str:
    world.run(complete(), delivery="d1")
    delivery = UUID(queries.deliveries(w.ANN).items[0].id)
    deliveries.retire(w.ANN, delivery, authorization="a1")
    return refused(lambda: deliveries.retire(w.ANN, delivery, authorization="a2"))


def cancelled(world: World) -> str:
    invocation = world.start(complete())
    cancellations.cancel(w.BOB, invocation)
    return str(world.disposition(invocation)["code"])


def timed_out(world: World) -> str:
    invocation = world.start(complete())
    late = w.Pauses(world)
    late.interrupt("time-limit")
    world.drive(invocation, interruption=late)
    return str(world.disposition(invocation)["code"])


def without_lease(world: World) -> str:
    world.lease_fails = True
    return str(world.disposition(world.run(complete()))["code"])


def result_against_schema(world: World) -> str:
    world.apply("worker", result_schema='{ type = "object", required = ["sum"] }')
    return str(world.disposition(world.run(complete()))["code"])


REACHED: Final[dict[str, Scenario]] = {
    "CORRELATION_MISMATCH": lambda world: respond(world, request_identity="another"),
    "EXECUTOR_BINDING_MISMATCH": broken(errors.ExecutorBindingMismatch),
    "MODEL_BINDING_MISMATCH": broken(errors.ModelBindingMismatch),
    "SESSION_AFFINITY_MISMATCH": broken(errors.SessionAffinityMismatch),
    "CAPABILITY_MISMATCH": broken(errors.CapabilityMismatch),
    "PROVIDER_NOT_IMPLEMENTED": absent_provider,
    "CREDENTIAL_ACQUISITION_FAILED": absent_credential,
    "RETIREMENT_NOT_AUTHORIZED": other_authorization,
    "PROVIDER_EXITED": ending(ProcessExited()),
    "PROVIDER_TIMED_OUT": timed_out,
    "PROVIDER_CANCELLED": cancelled,
    "PROVIDER_PROTOCOL_ERROR": ending(ASKED, ASKED),
    "ACTION_INTERACTION_UNAVAILABLE": ending(Output(content="\ud83d")),
    "ACTION_INTERACTION_CANCELLED": ending(
        ProviderFailed(code="ACTION_INTERACTION_CANCELLED", detail="the harness gave its question up")
    ),
    "CREDENTIAL_UNAVAILABLE": without_lease,
    "RESULT_SCHEMA_INVALID": result_against_schema,
    "TURN_ENDED_WITHOUT_DISPOSITION": ending(),
    "INTERACTION_CORRELATION_INVALID": lambda world: respond(world, content="green"),
    "PENDING_INPUT_AT_COMPLETION": ending(ASKED, COMPLETION),
    "DUPLICATE_COMPLETION": ending(COMPLETION, COMPLETION),
}


def test_every_code_of_the_contract_is_reached_or_has_a_reason() -> None:
    every = CALL_ERRORS | FAILURES | VIOLATIONS | OTHERS
    assert set(REACHED) | set(NOT_OURS) == every
    assert set(REACHED) & set(NOT_OURS) == set()


@pytest.mark.parametrize("code", REACHED)
def test_a_code_is_reached(world: World, code: str) -> None:
    assert REACHED[code](world) == code


def test_integrators_find_every_code_that_they_may_meet() -> None:
    page = (Path(__file__).parents[3] / "docs" / "integrating.md").read_text()
    assert [code for code in REACHED if f"`{code}`" not in page] == []
