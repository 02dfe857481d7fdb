"""What a native turn reports and what becomes of it: families 2 to 11, 20 and 23 of the contract (seed-contracts 18)."""

from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.contract.ports import (
    InputAsked,
    Output,
    ProcessExited,
    ProviderFailed,
    ProviderUncertain,
    SessionDisposed,
    StructuredCompletion,
    TurnEnded,
)
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, calls, complete, emitting

pytestmark = pytest.mark.django_db

COMPLETION: Final = StructuredCompletion(result={"ok": True})
ASKED: Final = InputAsked(call_id="c", request_identity="r", prompt="?", response_schema={})


def native(world: World, *happened: ports.NativeEvent) -> UUID:
    """Run an invocation whose session reports some events."""
    world.providers["chat-completions"] = NativeProvider([emitting(*happened)])
    return world.run()


def provider(world: World) -> NativeProvider:
    found = world.providers["chat-completions"]
    assert isinstance(found, NativeProvider)
    return found


# 2, 3, 4, 5, 6


def test_output_and_an_ended_turn_are_invalid_with_one_frame_and_one_lease(world: World) -> None:
    invocation = native(world, Output(content="I am "), Output(content="done."), TurnEnded())
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"
    [frame] = world.of_kind(invocation, "output.produced")
    assert (frame["sequence"], frame["content"]) == (1, "I am done.")
    assert [lease.released for lease in world.leases] == [1]
    assert provider(world).opened[0].disposed == 1


def test_one_structured_completion_completes_and_returns_the_result(world: World) -> None:
    invocation = native(world, COMPLETION, TurnEnded())
    assert world.status(invocation) == "completed"
    ended = {"kind": "completed", "result": {"ok": True}, "interactionReceipts": []}
    assert world.disposition(invocation) == ended


def test_two_completions_are_a_duplicate(world: World) -> None:
    invocation = native(world, COMPLETION, COMPLETION)
    assert world.disposition(invocation)["code"] == "DUPLICATE_COMPLETION"


def test_an_exited_process_failed_and_a_disposed_session_says_nothing(world: World) -> None:
    exited = native(world, ProcessExited(detail="signal 9"))
    assert world.status(exited) == "failed"
    assert world.disposition(exited)["code"] == "PROVIDER_EXITED"
    disposed = native(world, SessionDisposed())
    assert world.status(disposed) == "invalid"
    assert world.disposition(disposed)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"


# 7 and 20, as a native session reports them


def test_two_requests_of_a_native_session_are_a_failure_of_the_protocol(world: World) -> None:
    invocation = native(world, ASKED, ASKED)
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"


@pytest.mark.parametrize("happened", [(COMPLETION, ASKED), (ASKED, COMPLETION)])
def test_a_completion_and_a_pending_request_are_invalid_in_either_order(
    world: World, happened: tuple[ports.NativeEvent, ...]
) -> None:
    invocation = native(world, *happened)
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "PENDING_INPUT_AT_COMPLETION"


# 8


@pytest.mark.parametrize("result", [{"ok": "yes"}, {}, None, [], "ok", True])
def test_a_result_against_the_schema_is_invalid(world: World, result: Any) -> None:
    world.apply(
        "worker",
        result_schema='{ type = "object", required = ["ok"], properties = { ok = { type = "boolean" } } }',
    )
    invocation = native(world, StructuredCompletion(result=result))
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "RESULT_SCHEMA_INVALID"


# 10 and 23


def test_a_thrown_turn_fails_and_the_secret_is_nowhere(world: World) -> None:
    def throw(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.keep(f'{{"role":"user","content":"{session.secret}"}}'.encode())
        raise RuntimeError(f"401 for key {session.secret}")

    world.providers["chat-completions"] = NativeProvider([throw])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert disposition["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert "[REDACTED]" in disposition["detail"]
    assert w.SECRET not in stored(world, invocation)
    assert "[REDACTED]" in stored(world, invocation)


def stored(world: World, invocation: UUID) -> str:
    """Return everything that is stored of an invocation, as text."""
    record = world.store.load(invocation)
    messages = world.store.messages(w.TENANT, record.affinity)
    parts = [
        repr(world.events(invocation)),
        repr(record),
        repr(world.item(invocation)),
        repr(messages),
        repr(world.approvals(invocation, state=None)),
        repr(world.inputs(invocation, state=None)),
        *(repr(world.store.calls(invocation, turn)) for turn in range(record.model_turns + 1)),
    ]
    return "\n".join(parts)


def test_a_failure_that_a_session_reports_carries_its_code(world: World) -> None:
    invocation = native(world, ProviderFailed(code="PROVIDER_TIMED_OUT", detail="no byte for 300 s"))
    assert world.disposition(invocation) == {
        "kind": "failed",
        "code": "PROVIDER_TIMED_OUT",
        "retry": "same-episode",
        "detail": "no byte for 300 s",
    }


@pytest.mark.parametrize("phase", ["startup", "result"])
def test_an_uncertain_provider_leaves_an_unknown_invocation(world: World, phase: Any) -> None:
    invocation = native(world, COMPLETION, ProviderUncertain(phase=phase, detail="no answer"))
    assert world.status(invocation) == "unknown"
    disposition = world.disposition(invocation)
    assert (disposition["owner"], disposition["reason"]) == ("invocation", "CALL_INTERRUPTED")


# 20


def test_a_request_without_the_capability_fails_for_good(world: World) -> None:
    world.apply("worker", capabilities='["structured-completion"]')
    invocation = world.run(calls(ask()), complete())
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_PROTOCOL_ERROR", "never")
    assert "action-interaction" in disposition["detail"]
    assert world.inputs(invocation, state=None) == []
    assert [outcome for outcome, _ in world.results(invocation).values()] == ["cancelled"]
