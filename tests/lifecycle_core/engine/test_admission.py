"""Nothing happens before a dispatch holds together: each of the fourteen checks is reached alone and says its own code."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

import pytest

from lifecycle_core.contract import digests, errors, identities
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.errors import Refused
from lifecycle_core.contract.identities import DeliveryRef
from lifecycle_core.contract.invocation import Dispatch, WorkspaceCapability
from lifecycle_core.contract.ports import NewInvocation
from lifecycle_core.engine import admission, composing
from lifecycle_core.engine.host import Host
from lifecycle_core.engine.services import Services
from tests.lifecycle_core.contract import golden


class Untouchable:
    """Stand for what must not be used; counts what is tried."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.used.append(name)
        raise AssertionError(f"{name} was used")

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.used.append("call")
        raise AssertionError("was called")


def rebound(given: Dispatch) -> Dispatch:
    """Compute every identity of a dispatch anew from its content."""
    turn, session = given.executor.turn, given.executor.session
    compatibility = identities.session_compatibility(session)
    executor = dataclasses.replace(
        given.executor,
        binding=identities.executor_binding(session, turn),
        session_compatibility=compatibility,
    )
    return bound_plan(
        bound_affinity(
            dataclasses.replace(
                given,
                executor=executor,
                session=dataclasses.replace(given.session, session_compatibility=compatibility),
            )
        )
    )


def bound_plan(given: Dispatch) -> Dispatch:
    site = given.episode.site.as_json()
    binding = identities.plan_binding(site, given.action.as_json(), given.executor.binding)
    return dataclasses.replace(given, plan=dataclasses.replace(given.plan, binding=binding))


def bound_affinity(given: Dispatch) -> Dispatch:
    session = given.session
    identity = identities.affinity_identity(
        session.delivery.identity, session.session_compatibility, session.scope_value, session.isolation
    )
    return dataclasses.replace(given, session=dataclasses.replace(session, identity=identity))


def with_session(given: Dispatch, **parts: Any) -> Dispatch:
    """Change parts of the executor's session and bind everything to them."""
    executor = dataclasses.replace(given.executor, session={**given.executor.session, **parts})
    return rebound(dataclasses.replace(given, executor=executor))


def with_access(given: Dispatch, *access: Mapping[str, str], **changes: Any) -> Dispatch:
    executor = dataclasses.replace(given.executor, turn={"access": [dict(rule) for rule in access]})
    return rebound(dataclasses.replace(given, executor=executor, **changes))


def with_handle(given: Dispatch, **parts: Any) -> Dispatch:
    handle = {**(given.workspace.handle or {}), **parts}
    return dataclasses.replace(given, workspace=dataclasses.replace(given.workspace, handle=handle))


OTHER: Final = "sha256:" + "0" * 64


def other_executor_name(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, plan=dataclasses.replace(d.plan, executor="executor.other"))


def other_action_name(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, plan=dataclasses.replace(d.plan, action="action.other"))


def other_compatibility(d: Dispatch) -> Dispatch:
    return bound_affinity(
        dataclasses.replace(
            d,
            executor=dataclasses.replace(d.executor, session_compatibility=OTHER),
            session=dataclasses.replace(d.session, session_compatibility=OTHER),
        )
    )


def other_executor_binding(d: Dispatch) -> Dispatch:
    return bound_plan(dataclasses.replace(d, executor=dataclasses.replace(d.executor, binding=OTHER)))


def other_plan_binding(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, plan=dataclasses.replace(d.plan, binding=OTHER))


def session_of_another_executor(d: Dispatch) -> Dispatch:
    session = dataclasses.replace(d.session, session_compatibility=OTHER)
    return bound_affinity(dataclasses.replace(d, session=session))


def other_affinity(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, session=dataclasses.replace(d.session, identity=OTHER))


def session_of_another_delivery(d: Dispatch) -> Dispatch:
    # Of a delivery only the identity is part of the affinity, so another manifest passes that check.
    delivery = dataclasses.replace(d.session.delivery, manifest_binding=OTHER)
    return dataclasses.replace(d, session=dataclasses.replace(d.session, delivery=delivery))


def handle_of_another_episode(d: Dispatch) -> Dispatch:
    return with_handle(d, episode={**golden.INPUT["episode"], "attemptIdentity": "attempt.2"})


def handle_of_other_access(d: Dispatch) -> Dispatch:
    return with_handle(d, accessDigest=OTHER)


def access_without_a_workspace(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, workspace=WorkspaceCapability(kind="none"))


def view_with_a_write_rule(d: Dispatch) -> Dispatch:
    return dataclasses.replace(d, workspace=dataclasses.replace(d.workspace, kind="read"))


def no_capability(d: Dispatch) -> Dispatch:
    return with_session(d, providedCapabilities=["action-interaction"])


def empty_model(d: Dispatch) -> Dispatch:
    return with_session(d, model={**golden.INPUT["session"]["model"], "providerModelIdentity": ""})


def missing_route(d: Dispatch) -> Dispatch:
    driver = {**golden.INPUT["session"]["driver"], "configuration": {"credentialRef": "DEMO_KEY"}}
    return with_session(d, driver=driver)


type Broken = tuple[int, Callable[[Dispatch], Dispatch], type[Refused]]
BROKEN: Final[list[Broken]] = [
    (1, other_executor_name, errors.ExecutorBindingMismatch),
    (1, other_action_name, errors.ExecutorBindingMismatch),
    (2, other_compatibility, errors.SessionAffinityMismatch),
    (3, other_executor_binding, errors.ExecutorBindingMismatch),
    (4, other_plan_binding, errors.ExecutorBindingMismatch),
    (5, session_of_another_executor, errors.SessionAffinityMismatch),
    (6, other_affinity, errors.SessionAffinityMismatch),
    (7, session_of_another_delivery, errors.CorrelationMismatch),
    (8, handle_of_another_episode, errors.CapabilityMismatch),
    (9, handle_of_other_access, errors.CapabilityMismatch),
    (10, access_without_a_workspace, errors.CapabilityMismatch),
    (11, view_with_a_write_rule, errors.CapabilityMismatch),
    (12, no_capability, errors.CapabilityMismatch),
    (13, empty_model, errors.ModelBindingMismatch),
    (14, missing_route, errors.ModelBindingMismatch),
]
CASES: Final = pytest.mark.parametrize(
    ("number", "break_it", "refusal"), BROKEN, ids=lambda value: getattr(value, "__name__", str(value))
)


def failing(dispatch: Dispatch) -> list[int]:
    return [number for number, (holds, _) in enumerate(admission.CHECKS, 1) if not holds(dispatch)]


def test_there_are_fourteen_checks_and_each_is_broken_here() -> None:
    assert len(admission.CHECKS) == 14
    assert {number for number, _, _ in BROKEN} == set(range(1, 15))


def test_the_golden_dispatch_holds() -> None:
    assert failing(golden.dispatch()) == []
    assert rebound(golden.dispatch()) == golden.dispatch()
    admission.check(golden.dispatch())
    admission.check_values(golden.dispatch())


@CASES
def test_each_check_is_reached_alone_and_says_its_code(
    number: int, break_it: Callable[[Dispatch], Dispatch], refusal: type[Refused]
) -> None:
    broken = break_it(golden.dispatch())
    assert failing(broken) == [number]
    with pytest.raises(Refused) as refused:
        admission.check(broken)
    assert type(refused.value) is refusal


def new(dispatch: Dispatch) -> NewInvocation:
    return NewInvocation(
        id=uuid4(),
        tenant="default",
        delivery=dispatch.episode.thread.delivery,
        dispatch=dispatch,
        agent="reviewer",
        agent_binding=OTHER,
        action="review",
        provider="dsh-headless",
        model="demo-chat",
        attempt=1,
        requester="token:ci",
    )


PORTS: Final = (
    "journal",
    "clock",
    "agent",
    "has_provider",
    "provider",
    "lease",
    "tools",
    "workspaces",
    "context",
    "workflow",
    "roster",
    "health",
)


@CASES
def test_a_refused_start_has_stored_leased_and_opened_nothing(
    number: int, break_it: Callable[[Dispatch], Dispatch], refusal: type[Refused]
) -> None:
    ports = {name: Untouchable() for name in PORTS}
    with pytest.raises(refusal):
        Host(Services(**ports)).check(new(break_it(golden.dispatch())))  # type: ignore[arg-type]
    assert {name: port.used for name, port in ports.items() if port.used} == {}


def test_the_same_untouchable_ports_notice_a_start_that_passes() -> None:
    ports: dict[str, Any] = {name: Untouchable() for name in PORTS}
    with pytest.raises(AssertionError, match="was used"):
        Host(Services(**ports)).check(new(golden.dispatch()))
    assert ports["workspaces"].used == ["is_sealed"]


# Without a workspace there is no handle that could be of another episode or of other access.
EXCLUSIVE: Final = {(8, 10), (9, 10)}
PAIRS: Final = [(a, b) for a in BROKEN for b in BROKEN if a[0] < b[0] and (a[0], b[0]) not in EXCLUSIVE]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_broken_parts_the_earlier_check_decides(first: Broken, second: Broken) -> None:
    broken = first[1](second[1](golden.dispatch()))
    assert failing(broken)[0] == first[0]
    with pytest.raises(Refused) as refused:
        admission.check(broken)
    assert type(refused.value) is first[2]


# After the fourteen.


def with_action(**parts: Any) -> Dispatch:
    given = golden.dispatch()
    return rebound(dataclasses.replace(given, action=dataclasses.replace(given.action, **parts)))


def test_an_input_that_does_not_fit_is_refused_with_its_place() -> None:
    broken = with_action(input_schema={"properties": {"change": {"type": "integer"}}})
    with pytest.raises(errors.SchemaInvalid) as refused:
        admission.check_values(broken)
    assert [problem.pointer for problem in refused.value.problems] == ["/change"]


def test_a_result_schema_of_another_kind_is_refused_before_anything_runs() -> None:
    with pytest.raises(errors.SchemaInvalid) as refused:
        admission.check_values(with_action(result_schema={"type": "object", "$ref": "#"}))
    assert all(problem.pointer.startswith("/resultSchema") for problem in refused.value.problems)


# What we compose holds.

AGENT: Final[dict[str, Any]] = {
    "name": "notes",
    "provider": "chat-completions",
    "model": "m",
    "base_url": "http://127.0.0.1:1/v1",
    "credential": "refs/model",
    "capabilities": ["structured-completion"],
    "tools": ["files"],
    "workspace": "demo",
    "access": [{"mode": "read", "path": "**"}],
    "actions": [
        {"name": "write", "purpose": "p", "input_schema": {}, "result_schema": {}},
    ],
}
DELIVERY: Final = DeliveryRef(identity="d", manifest_binding=OTHER, activation_binding=OTHER)


class Unsealed:
    """Give every right without a seal."""

    def seal(self, tenant: str, capability: WorkspaceCapability) -> WorkspaceCapability:
        return capability

    def is_sealed(self, tenant: str, capability: WorkspaceCapability) -> bool:
        return True


def compose(value: Any = None, *, thread: str = "t", attempt: int = 1, **changes: Any) -> Dispatch:
    agent = AgentDefinition.of({**AGENT, **changes})
    episode = composing.following_episode(composing.first_episode(DELIVERY, thread, "write"), attempt)
    return composing.compose(
        agent, "write", value, tenant="default", episode=episode, tools=(), workspaces=Unsealed()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"access": [{"mode": "write", "path": "notes/**"}]},
        {"workspace": "", "access": []},
        {"session": {"scope": "data-bound", "source": "customer", "isolation": "shared"}},
    ],
)
def test_a_composed_dispatch_passes_every_check(changes: dict[str, Any]) -> None:
    assert failing(compose({"customer": 7}, **changes)) == []


def test_a_workspace_is_a_write_handle_only_where_a_rule_lets_the_agent_write() -> None:
    assert compose().workspace.kind == "read"
    assert compose(access=[{"mode": "write", "path": "a"}]).workspace.kind == "write"
    assert compose(workspace="", access=[]).workspace.kind == "none"


BOUND: Final = {"scope": "data-bound", "source": "customer"}


def affinity(value: Any, thread: str, isolation: str) -> str:
    return compose(value, thread=thread, session={**BOUND, "isolation": isolation}).session.identity


def test_equal_data_shares_a_session_where_sessions_are_shared() -> None:
    first = affinity({"customer": 7, "n": 1}, "t1", "shared")
    assert first == affinity({"customer": 7, "n": 2}, "t2", "shared")
    assert first != affinity({"customer": 8, "n": 1}, "t1", "shared")


def test_equal_data_shares_nothing_where_sessions_are_isolated() -> None:
    assert affinity({"customer": 7}, "t1", "isolated") != affinity({"customer": 7}, "t2", "isolated")


@pytest.mark.parametrize("isolation", ["shared", "isolated"])
def test_a_session_is_bound_to_a_value_that_is_there(isolation: str) -> None:
    """Were it bound to nothing, everybody who leaves the value out would speak in one session."""
    bound: Any = {"session": {**BOUND, "isolation": isolation}}
    admission.check_values(compose({"customer": None}, **bound))
    for value in ({}, {"client": 7}, None, ["customer"]):
        with pytest.raises(errors.SchemaInvalid) as refused:
            admission.check_values(compose(value, **bound))
        place = "/customer" if isinstance(value, dict) else ""
        assert [problem.pointer for problem in refused.value.problems] == [place]


def test_each_attempt_is_an_episode_and_a_session_of_its_own() -> None:
    first, second = compose(attempt=1), compose(attempt=2)
    assert not first.episode.matches(second.episode)
    assert first.episode.invocation == second.episode.invocation
    assert first.session.identity != second.session.identity


def test_another_definition_of_the_agent_is_another_executor() -> None:
    first, second = compose(), compose(instructions="Be brief.")
    assert first.executor.binding != second.executor.binding
    assert digests.digest(first.as_json()) != digests.digest(second.as_json())
