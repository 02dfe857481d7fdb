"""Who may do what, asked of every use case: who may, a stranger, another tenant, and what is in no status for it."""

import itertools
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from lifecycle_core.access import roles
from lifecycle_core.application import (
    agents,
    approvals,
    cancellations,
    deliveries,
    feed,
    inputs,
    journals,
    permissions,
    queries,
)
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.actor import Actor, Permission
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

OTHER: Final = "elsewhere"


class Things:
    """One of everything: an invocation of `token:ci` that waits for an approval and an input."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.invocation = world.run(calls(call(w.SEND, "c1"), ask()), complete(), by=w.HOST, delivery="d1")
        self.approval = world.approval(self.invocation)
        self.input = world.input(self.invocation)
        [delivery] = queries.deliveries(w.ANN).items
        self.delivery = UUID(delivery.id)


@pytest.fixture
def things(world: World) -> Things:
    return Things(world)


type UseCase = Callable[[Things, Actor], Any]


def start(t: Things, actor: Actor) -> Any:
    return t.world.start(complete(), by=actor)


def decide(t: Things, actor: Actor) -> Any:
    return approvals.decide(
        actor, UUID(t.approval.id), decision="approve", request_digest=t.approval.request_digest
    )


WRITING: Final[dict[str, tuple[UseCase, Permission]]] = {
    "start": (start, Permission.START),
    "decide": (decide, Permission.DECIDE),
    "answer": (lambda t, a: inputs.answer(a, UUID(t.input.id), content="x"), Permission.ANSWER),
    "decline": (lambda t, a: inputs.decline(a, UUID(t.input.id)), Permission.ANSWER),
    "cancel": (lambda t, a: cancellations.cancel(a, t.invocation), Permission.CANCEL_INVOCATION),
    "cancel delivery": (lambda t, a: deliveries.cancel(a, t.delivery), Permission.CANCEL_DELIVERY),
    "retire": (lambda t, a: deliveries.retire(a, t.delivery, authorization="a1"), Permission.RETIRE),
    "apply agents": (lambda t, a: agents.apply(a, w.toml("other")), Permission.ADMINISTER),
    "export": (lambda t, a: list(journals.export(a)), Permission.EXPORT),
    "export one": (lambda t, a: list(journals.export(a, invocation=t.invocation)), Permission.EXPORT),
    "verify": (lambda t, a: journals.verify(a), Permission.VERIFY),
    "verify one": (lambda t, a: journals.verify(a, invocation=t.invocation), Permission.VERIFY),
}
OF_ONE_THING: Final = [
    "decide",
    "answer",
    "decline",
    "cancel",
    "cancel delivery",
    "retire",
    "export one",
    "verify one",
]
READING: Final[dict[str, UseCase]] = {
    "agents": lambda t, a: queries.agents(a),
    "agent": lambda t, a: queries.agent(a, "worker"),
    "tools": lambda t, a: queries.tools(a),
    "providers": lambda t, a: queries.providers(a),
    "invocations": lambda t, a: queries.invocations(a),
    "invocation": lambda t, a: queries.invocation(a, t.invocation),
    "dispatch": lambda t, a: queries.dispatch(a, t.invocation),
    "events": lambda t, a: queries.events(a, t.invocation),
    "transcript": lambda t, a: queries.transcript(a, t.invocation),
    "timeline": lambda t, a: queries.timeline(a, t.invocation),
    "approvals": lambda t, a: queries.approvals(a),
    "approval": lambda t, a: queries.approval(a, UUID(t.approval.id)),
    "inputs": lambda t, a: queries.inputs(a),
    "input": lambda t, a: queries.input(a, UUID(t.input.id)),
    "deliveries": lambda t, a: queries.deliveries(a),
    "delivery": lambda t, a: queries.delivery(a, t.delivery),
    "inbox": lambda t, a: queries.inbox(a, "mine"),
    "inbox counts": lambda t, a: queries.inbox_counts(a),
    "feed head": lambda t, a: feed.head(a),
    "feed of one": lambda t, a: feed.read(a, None, 0, invocation=t.invocation),
}
OF_ALL: Final[dict[str, UseCase]] = {
    "tombstones": lambda t, a: queries.tombstones(a),
    "feed": lambda t, a: feed.read(a, None, 0),
}
SHOWN: Final = [
    "invocation",
    "dispatch",
    "events",
    "transcript",
    "timeline",
    "approval",
    "input",
    "delivery",
    "feed of one",
]


def holding(*held: Permission, tenant: str = w.TENANT, name: str = "user:eve") -> Actor:
    return Actor(tenant=tenant, name=name, permissions=frozenset(held))


@pytest.mark.parametrize("name", WRITING)
def test_whoever_holds_the_permission_may(things: Things, name: str) -> None:
    use, permission = WRITING[name]
    use(things, holding(Permission.READ, permission))


@pytest.mark.parametrize("name", WRITING)
def test_whoever_holds_everything_else_may_not_and_is_told_why(things: Things, name: str) -> None:
    use, permission = WRITING[name]
    before = things.world.item(things.invocation)
    with pytest.raises(errors.Forbidden) as refused:
        use(things, holding(*set(Permission) - {permission}))
    assert refused.value.sentence == permissions.SENTENCES[permission]
    assert things.world.item(things.invocation) == before


@pytest.mark.parametrize("name", WRITING)
def test_a_stranger_may_nothing(things: Things, name: str) -> None:
    with pytest.raises((errors.Forbidden, errors.NotFound)):
        WRITING[name][0](things, holding())


@pytest.mark.parametrize("name", OF_ONE_THING)
def test_in_another_tenant_nothing_of_this_one_is_there(things: Things, name: str) -> None:
    before = things.world.item(things.invocation)
    with pytest.raises(errors.NotFound):
        WRITING[name][0](things, holding(*Permission, tenant=OTHER))
    assert things.world.item(things.invocation) == before


# Whoever may retire reads everything.
@pytest.mark.parametrize("name", [name for name in OF_ONE_THING if name != "retire"])
def test_what_somebody_else_started_is_not_there_for_a_host(things: Things, name: str) -> None:
    held = set(Permission) - {Permission.READ}
    with pytest.raises(errors.NotFound):
        WRITING[name][0](things, holding(*held, name="token:other"))


@pytest.mark.parametrize("name", [*READING, *OF_ALL])
def test_whoever_may_read_may_read_everything(things: Things, name: str) -> None:
    {**READING, **OF_ALL}[name](things, holding(Permission.READ))


@pytest.mark.parametrize("name", READING)
def test_a_host_reads_what_he_started(things: Things, name: str) -> None:
    READING[name](things, holding(Permission.READ_OWN, name=w.HOST.name))


@pytest.mark.parametrize("name", OF_ALL)
def test_what_tells_of_everybody_is_not_for_who_sees_only_his_own(things: Things, name: str) -> None:
    with pytest.raises(errors.Forbidden):
        OF_ALL[name](things, holding(Permission.READ_OWN, name=w.HOST.name))


@pytest.mark.parametrize("name", [*READING, *OF_ALL])
def test_whoever_may_not_read_reads_nothing(things: Things, name: str) -> None:
    others = set(Permission) - {Permission.READ, Permission.READ_OWN}
    with pytest.raises(errors.Forbidden):
        {**READING, **OF_ALL}[name](things, holding(*others))


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize(
    "actor",
    [holding(*Permission, tenant=OTHER), holding(Permission.READ_OWN, name="token:other")],
    ids=["another tenant", "another host"],
)
def test_what_one_may_not_see_is_not_there(things: Things, name: str, actor: Actor) -> None:
    with pytest.raises(errors.NotFound):
        READING[name](things, actor)


@pytest.mark.parametrize("name", ["invocations", "approvals", "inputs", "deliveries"])
@pytest.mark.parametrize(
    ("actor", "number"),
    [
        (holding(Permission.READ), 1),
        (holding(Permission.READ_OWN, name="token:ci"), 1),
        (holding(Permission.READ_OWN, name="token:other"), 0),
        (holding(*Permission, tenant=OTHER), 0),
    ],
    ids=["reader", "its host", "another host", "another tenant"],
)
def test_lists_hold_what_one_may_see(things: Things, name: str, actor: Actor, number: int) -> None:
    assert len(READING[name](things, actor).items) == number


def test_an_actor_of_another_tenant_does_not_find_its_agents(things: Things) -> None:
    with pytest.raises(errors.NotFound):
        queries.agent(holding(*Permission, tenant=OTHER), "worker")
    with pytest.raises(errors.NotFound):
        things.world.start(complete(), by=holding(*Permission, tenant=OTHER))


def test_a_host_sees_of_a_delivery_only_what_he_started(things: Things) -> None:
    things.world.start(complete(), by=w.ANN, delivery="d1")
    seen = queries.delivery(w.HOST, things.delivery)
    assert [item.id for item in seen.invocations] == [str(things.invocation)]
    assert len(queries.delivery(w.ANN, things.delivery).invocations) == 2
    [listed] = queries.deliveries(w.HOST).items
    assert listed == seen


@pytest.mark.parametrize("name", ["invocation", "approval", "input", "delivery"])
def test_an_identity_that_nothing_has_is_not_found(world: World, name: str) -> None:
    with pytest.raises(errors.NotFound):
        getattr(queries, name)(w.ANN, uuid4())


# Wrong status.


@pytest.mark.parametrize(
    ("name", "refusal"), [("decide", errors.AlreadyDecided), ("answer", errors.AlreadyDecided)]
)
def test_after_the_end_there_is_nothing_to_decide(
    things: Things, name: str, refusal: type[errors.Refused]
) -> None:
    cancellations.cancel(w.ANN, things.invocation)
    before = things.world.item(things.invocation)
    with pytest.raises(refusal):
        WRITING[name][0](things, w.ANN)
    assert things.world.item(things.invocation) == before


@pytest.mark.parametrize("name", ["decide", "answer", "decline"])
def test_while_nobody_knows_how_it_ended_nothing_can_be_decided(things: Things, name: str) -> None:
    world = things.world
    invocation = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b"), ask()), by=w.HOST)
    first, things.approval = world.approvals(invocation)
    things.input = world.input(invocation)
    world.tools[w.SEND].act = _lose
    world.decide(first)
    world.drive(invocation)
    assert world.status(invocation) == "unknown"
    with pytest.raises(errors.StatusConflict):
        WRITING[name][0](things, w.ANN)
    assert len(world.item(invocation).open_requests) == 2


def _lose(arguments: Any, context: Any) -> Any:
    raise ports.OutcomeUnknown("lost")


def test_a_retired_delivery_is_gone_for_everything_but_its_tombstone(things: Things) -> None:
    tombstone = deliveries.retire(w.ANN, things.delivery, authorization="a1")
    for name in ("decide", "answer", "cancel", "cancel delivery"):
        with pytest.raises(errors.NotFound):
            WRITING[name][0](things, w.ANN)
    assert queries.tombstone(w.ANN, UUID(tombstone.id)) == tombstone
    with pytest.raises(errors.NotFound):
        queries.tombstone(holding(*Permission, tenant=OTHER), UUID(tombstone.id))


# Roles.


def test_no_role_but_the_owner_both_starts_and_decides() -> None:
    for role, held in roles.PERMISSIONS.items():
        if role != "owner":
            assert not {Permission.START, Permission.DECIDE} <= held
            assert not {Permission.ADMINISTER, Permission.DECIDE} <= held


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(roles.PERMISSIONS, 2)))
def test_roles_together_allow_what_each_allows(one: str, other: str) -> None:
    assert roles.permissions([one, other]) == roles.PERMISSIONS[one] | roles.PERMISSIONS[other]


def test_every_permission_has_its_sentence() -> None:
    assert set(permissions.SENTENCES) == set(Permission)
