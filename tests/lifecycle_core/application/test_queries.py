"""Lists, counts and journals as people read them: counts are those of lists, pages miss nothing, corruption hides nothing."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connection

from lifecycle_core.access import roles
from lifecycle_core.application import cancellations, expiry, feed, inputs, journals, queries
from lifecycle_core.application.reading.inbox import GROUPS
from lifecycle_core.application.resources import EventItem, Page
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal.models import Blob, Event
from lifecycle_core.testing.answers import Answer
from tests.harness import reset
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

EVE: Final = w.actor("host", name="token:eve")


@pytest.fixture
def busy(world: World) -> World:
    """Return a world with invocations in every status and requests in every state, of two agents and two hosts."""
    world.apply("second")
    for agent, by in (("worker", w.HOST), ("second", EVE)):
        given: dict[str, Any] = {"agent": agent, "by": by}
        world.start(complete(), delivery=f"fresh-{agent}", **given)
        world.run(complete(), delivery=f"done-{agent}", **given)
        world.run(Answer(text="?"), **given)
        cancellations.cancel(w.ANN, world.run(calls(call(w.SEND, to="x"), ask()), **given))
        world.run(calls(call(w.SEND, to="needle"), call(w.PUT), ask(prompt="Where is the needle?")), **given)
        decided = world.run(calls(call(w.PUT, "a"), call(w.PUT, "b"), ask()), complete(), **given)
        first, second = world.approvals(decided)
        world.decide(first, "reject")
        world.decide(second, "respond", result=1)
        inputs.decline(w.ANN, UUID(world.input(decided).id))
        lost = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b"), ask()), **given)
        world.tools[w.SEND].act = _lose
        world.decide(world.approvals(lost)[0])
        world.drive(lost)
        world.clock.advance(1000)
    return world


def _lose(arguments: Any, context: Any) -> Any:
    raise ports.OutcomeUnknown("lost")


# The inbox.


PEOPLE: Final[dict[str, Actor]] = {
    **{role: w.actor(role, name=f"user:{role}") for role in roles.PERMISSIONS},
    "the other host": EVE,
    "its host": w.HOST,
    "operator and coordinator": w.actor("operator", "coordinator"),
    "another tenant": w.actor("owner", tenant="elsewhere"),
}
FILTERS: Final[list[dict[str, str]]] = [
    {},
    {"kind": "approval"},
    {"kind": "input"},
    {"kind": "invocation"},
    {"tool": w.SEND},
    {"agent": "second"},
    {"delivery": "done-worker"},
    {"risk": "high"},
    {"text": "needle"},
    {"text": "NEEDLE"},
    {"text": "second"},
    {"kind": "approval", "agent": "worker", "risk": "medium"},
    {"text": "%"},
    {"kind": "nothing"},
]


def test_counts_are_those_of_the_lists_for_everybody_and_every_filter(busy: World) -> None:
    found = 0
    # Everybody without a filter, and every filter for those who differ in what they see and what they may do.
    telling = ("owner", "operator", "coordinator", "its host")
    for who, filters in [(who, {}) for who in PEOPLE] + list(itertools.product(telling, FILTERS[1:])):
        actor = PEOPLE[who]
        counts = queries.inbox_counts(actor, **filters)
        lists = {group: len(queries.inbox(actor, group, limit=200, **filters).items) for group in GROUPS}
        assert counts == lists, (who, filters)
        found += sum(counts.values())
    assert found > 150


def test_each_open_thing_is_in_one_group_of_everybody_who_sees_it(busy: World) -> None:
    for who, actor in PEOPLE.items():
        rows = [row.id for group in GROUPS for row in queries.inbox(actor, group, limit=200).items]
        assert len(rows) == len(set(rows)), who


def test_what_needs_me_is_what_i_may_decide(busy: World) -> None:
    mine = queries.inbox(PEOPLE["operator"], "mine", limit=200).items
    assert {row.kind for row in mine} == {"approval", "input"}
    assert {row.state for row in mine} == {"pending"}
    assert {row.kind for row in queries.inbox(PEOPLE["operator"], "others").items} == {"invocation"}
    assert {row.state for row in queries.inbox(PEOPLE["coordinator"], "mine").items} == {"unknown"}
    assert {row.kind for row in queries.inbox(PEOPLE["coordinator"], "others").items} == {"approval", "input"}
    assert queries.inbox_counts(PEOPLE["viewer"])["mine"] == 0


def test_a_host_sees_only_what_he_started(busy: World) -> None:
    every = [row for group in GROUPS for row in queries.inbox(EVE, group, limit=200).items]
    assert every
    assert {(row.agent, row.requester) for row in every} == {("second", "token:eve")}


def test_open_requests_are_ranked_by_deadline_then_risk(world: World) -> None:
    later = world.run(calls(call(w.PUT), call(w.SEND)))
    world.clock.advance(-1000)
    sooner = world.run(calls(call(w.PUT)))
    rows = queries.inbox(w.ANN, "mine").items
    assert [(row.invocation, row.risk) for row in rows] == [
        (str(sooner), "medium"),
        (str(later), "high"),
        (str(later), "medium"),
    ]


def test_a_question_has_its_own_words_for_a_title_however_long(world: World) -> None:
    said = 'Line one\nand "two" \u202e'
    world.run(calls(ask(prompt=said)))
    world.run(calls(ask(prompt="\u00e9" * 19_000 + '"' * 999)))
    world.tools[w.LOOK].act = lambda arguments, context: "x"
    titles = {row.title for row in queries.inbox(w.ANN, "mine").items}
    assert titles == {said, "\u00e9" * 200}


# Pages.


def pages(read: Callable[[str | None], Page[Any]]) -> Iterator[list[str]]:
    cursor: str | None = None
    while True:
        page = read(cursor)
        yield [item.id for item in page.items]
        if page.next is None:
            return
        cursor = page.next


PAGED: Final[dict[str, Callable[..., Page[Any]]]] = {
    "invocations": queries.invocations,
    "approvals": queries.approvals,
    "inputs": queries.inputs,
    "deliveries": queries.deliveries,
    **{group: lambda actor, group=group, **given: queries.inbox(actor, group, **given) for group in GROUPS},
}


@pytest.mark.parametrize("size", [1, 3, 200])
def test_pages_together_are_the_list(busy: World, size: int) -> None:
    for name, read in PAGED.items():
        who = PEOPLE["viewer"] if name == "others" else w.ANN
        whole = [item.id for item in read(who, limit=200).items]
        assert whole, name
        found = list(pages(lambda cursor, read=read, who=who: read(who, cursor=cursor, limit=size)))  # type: ignore[misc]
        assert list(itertools.chain(*found)) == whole, name
        assert all(len(page) <= size for page in found)
        assert len(found) == -(-len(whole) // size)


def test_what_is_new_shifts_no_page(busy: World) -> None:
    for name in ("invocations", "approvals", "inputs", "deliveries"):
        read = PAGED[name]
        before = [item.id for item in read(w.ANN, limit=200).items]
        first = read(w.ANN, limit=2)
        busy.clock.advance(1)
        busy.run(calls(call(w.PUT), ask()), delivery=f"newest-{name}")
        rest = [item.id for item in read(w.ANN, cursor=first.next, limit=200).items]
        assert [item.id for item in first.items] + rest == before, name


@pytest.mark.parametrize("cursor", ["x", "1.x", "-1.-1", ".", "\u0661", "9" * 40, "1.2.3", "\x00", "\u00b2"])
def test_what_is_no_cursor_is_refused(world: World, cursor: str) -> None:
    for read in PAGED.values():
        with pytest.raises(errors.SchemaInvalid) as refused:
            read(w.ANN, cursor=cursor)
        assert refused.value.problems[0].pointer == "/cursor"


def test_any_limit_gives_a_page_of_bounded_size(busy: World) -> None:
    for limit in (-5, 0, 1, 10_000):
        assert 1 <= len(queries.invocations(w.ANN, limit=limit).items) <= 200


def test_lists_are_narrowed_by_every_filter(busy: World) -> None:
    assert {item.agent for item in queries.invocations(w.ANN, agent="second").items} == {"second"}
    assert {item.status for item in queries.invocations(w.ANN, status="completed").items} == {"completed"}
    [one] = queries.invocations(w.ANN, delivery="done-worker").items
    assert [item.id for item in queries.invocations(w.ANN, text="DONE-worker").items] == [one.id]
    assert {item.tool for item in queries.approvals(w.ANN, tool=w.PUT).items} == {w.PUT}
    assert {item.state for item in queries.approvals(w.ANN, state="cancelled").items} == {"cancelled"}
    assert len(queries.approvals(w.ANN, text="needle").items) == 2
    assert {item.state for item in queries.inputs(w.ANN, state="declined").items} == {"declined"}
    assert len(queries.inputs(w.ANN, text="needle").items) == 2
    assert queries.invocations(w.ANN, text="' OR 1=1 --").items == []
    assert queries.invocations(w.ANN, text="%").items == []


def test_an_invocation_says_what_is_open_and_how_it_ended(busy: World) -> None:
    for item in queries.invocations(w.ANN, limit=200).items:
        pending = {a.id for a in queries.approvals(w.ANN, invocation=UUID(item.id), state="pending").items}
        asked = {a.id for a in queries.inputs(w.ANN, invocation=UUID(item.id), state="pending").items}
        assert {request.id for request in item.open_requests} == pending | asked
        assert (item.disposition is None) == (item.status in ("starting", "running"))


@pytest.mark.parametrize(
    ("name", "most"), [("invocations", 4), ("approvals", 3), ("inputs", 2), ("deliveries", 5)]
)
def test_a_page_costs_the_same_however_many_rows_it_has(
    busy: World, django_assert_max_num_queries: Any, name: str, most: int
) -> None:
    with django_assert_max_num_queries(most):
        assert len(PAGED[name](w.ANN, limit=200).items) >= 6


# Large values.


def test_what_is_stored_apart_is_read_as_a_whole(world: World) -> None:
    text = "\u00e9" * 100_000
    world.tools[w.LOOK].act = lambda arguments, context: {"text": text}
    invocation = world.run(
        calls(call(w.LOOK, "a"), call(w.SEND, "b", to=text), ask(prompt="Which?")),
        complete({"ok": text}),
        input={"text": text},
    )
    approval = world.approval(invocation)
    assert approval.arguments == {"to": text}
    world.decide(approval, "respond", result={"said": text})
    world.answer(world.input(invocation), text)
    world.settle()
    assert Blob.objects.count() > 3
    item = world.item(invocation)
    assert item.disposition is not None
    assert item.disposition["result"] == {"ok": text}
    assert isinstance(item.input, dict)
    assert item.input["text"] == text
    assert world.inputs(invocation, state=None)[0].answer == text
    [decided] = world.approvals(invocation, state=None)
    assert decided.result == {"outcome": "answered", "content": {"said": text}}
    assert world.results(invocation)["a"] == ("executed", {"text": text})
    assert not any(event.corrupt for event in world.events(invocation))


# Journals.


def damage(statement: str, *given: Any) -> None:
    """Change the stored journal behind everybody's back, as somebody with the database in his hands would."""
    with reset.walls_down(connection), connection.cursor() as cursor:
        cursor.execute(statement, given)


@pytest.fixture
def told(world: World) -> UUID:
    """Return an invocation about which there is something to tell."""
    invocation = world.run(
        calls(call(w.LOOK, "a", n=1), call(w.SEND, "b", n=2), ask(prompt="Which?"), text="I ask first."),
        complete(),
    )
    world.clock.advance(500)
    world.decide(world.approval(invocation), "reject", reason="no")
    world.clock.advance(500)
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
    return invocation


DAMAGES: Final = {
    "another value": (
        "UPDATE journal_event SET payload = replace(payload, 'worker', 'w0rker') WHERE seq = 1",
        1,
    ),
    "no JSON": ("UPDATE journal_event SET payload = '{' WHERE seq = 3", 3),
    "another shape": ("UPDATE journal_event SET payload = '[1]' WHERE seq = 3", 3),
    "another kind": ("UPDATE journal_event SET kind = 'tool.completed' WHERE seq = 3", 3),
    "another person": ("UPDATE journal_event SET actor = 'user:eve' WHERE seq = 3", 3),
    "another time": ("UPDATE journal_event SET at = at + 1 WHERE seq = 3", 3),
    "another hash": ("UPDATE journal_event SET hash = repeat('0', 64) WHERE seq = 3", 3),
    "bytes that are gone": (
        'UPDATE journal_event SET payload = \'{"content":{"$blob":"sha256:00","bytes":1}}\' WHERE seq = 3',
        3,
    ),
}


@pytest.mark.parametrize(("statement", "seq"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_corrupt_fact_is_shown_as_corrupt_and_hides_no_other(
    world: World, told: UUID, statement: str, seq: int
) -> None:
    before = world.events(told)
    if connection.vendor == "sqlite":
        statement = statement.replace("repeat('0', 64)", f"'{'0' * 64}'")
    damage(statement)
    after = world.events(told)
    assert [event.seq for event in after] == [event.seq for event in before]
    corrupt = {event.seq for event in after if event.corrupt}
    assert seq in corrupt
    assert corrupt <= {seq, seq + 1}  # with another hash, the fact after it does not fit either
    transcript = queries.transcript(w.ANN, told)
    assert [entry.seq for entry in transcript if entry.kind == "corrupt"] == sorted(corrupt)
    assert [entry.kind for entry in transcript][-1] == "completed"
    assert queries.timeline(w.ANN, told)
    verification = journals.verify(w.ANN, invocation=told)
    assert not verification.intact
    assert verification.broken is not None
    assert verification.broken["seq"] == seq
    assert sum('"corrupt":true' in line.replace(" ", "") for line in journals.export(w.ANN)) == len(corrupt)


def test_an_intact_journal_is_said_to_be(world: World, told: UUID) -> None:
    verification = journals.verify(w.ANN)
    assert (verification.intact, verification.broken) == (True, None)
    assert verification.events == len(world.events(told))
    lines = [json.loads(line) for line in journals.export(w.ANN, invocation=told)]
    assert [line["kind"] for line in lines] == world.kinds(told)


def test_facts_are_read_in_stretches_and_by_what_they_are(world: World, told: UUID) -> None:
    whole = world.events(told)
    found: list[EventItem] = []
    after = 0
    while True:
        page = queries.events(w.ANN, told, after=after, limit=3)
        found += page.items
        if page.next is None:
            break
        after = int(page.next)
    assert found == whole
    assert {e.kind for e in queries.events(w.ANN, told, kind="tool.").items} == {
        "tool.requested",
        "tool.intended",
        "tool.completed",
    }
    assert {e.actor for e in queries.events(w.ANN, told, actor_name="ANN").items} == {"user:ann"}
    assert len(queries.events(w.ANN, told, text="Which?").items) == 2
    assert not any(e.corrupt for e in queries.events(w.ANN, told, kind="tool.").items)


def test_the_conversation_is_told_in_order(world: World, told: UUID) -> None:
    entries = queries.transcript(w.ANN, told)
    assert [(entry.kind, entry.who, entry.text) for entry in entries][:6] == [
        ("input", "user:ann", w.ACTION),
        ("said", "agent:worker", "I ask first."),
        ("call", "agent:worker", w.LOOK),
        ("call", "agent:worker", w.SEND),
        ("asked", "agent:worker", w.SEND),
        ("call", "agent:worker", "workflow_request_input"),
    ]
    assert [entry.seq for entry in entries] == sorted(entry.seq for entry in entries)
    decided = [(entry.who, entry.text, entry.value) for entry in entries if entry.kind == "decided"]
    assert decided == [("user:ann", "reject", "no"), ("user:ann", "answered", "blue")]
    assert entries[-1].kind == "completed"


@pytest.mark.parametrize(
    ("decision", "given", "value"),
    [
        ("approve", {"reason": "fine"}, "fine"),
        ("edit", {"arguments": {}, "reason": "less"}, {}),
        ("edit", {"arguments": {"n": 3}}, {"n": 3}),
        ("respond", {"result": False, "reason": "by hand"}, False),
        ("reject", {"reason": "no"}, "no"),
    ],
)
def test_a_decision_is_told_with_what_it_gave(
    world: World, decision: str, given: dict[str, Any], value: Any
) -> None:
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    world.decide(world.approval(invocation), decision, **given)
    [entry] = [entry for entry in queries.transcript(w.ANN, invocation) if entry.kind == "decided"]
    assert (entry.text, entry.value) == (decision, value)
    assert type(entry.value) is type(value)


def test_the_timeline_has_a_row_for_everything_with_its_beginning_and_end(world: World, told: UUID) -> None:
    listed = queries.timeline(w.ANN, told)
    rows = {(row.kind, row.label): row for row in listed}
    assert rows["invocation", w.ACTION].state == "completed"
    assert rows["tool", w.LOOK].state == "executed"
    assert rows["tool", w.SEND].state == "denied"
    assert rows["approval", w.SEND].state == "rejected"
    assert rows["input", "q1"].state == "answered"
    waited = rows["approval", w.SEND]
    assert waited.ended_at is not None
    assert waited.ended_at - waited.started_at == 500
    suspended = rows["suspension", ""]
    assert suspended.state == "resumed"
    assert all(row.ended_at is not None for row in listed)
    assert [row.seq for row in listed] == sorted(row.seq for row in listed)
    assert len({row.key for row in listed}) == len(listed)


def test_a_call_of_which_nobody_knows_stays_open_in_the_timeline(world: World) -> None:
    world.tools[w.LOOK].act = _lose
    invocation = world.run(calls(call(w.LOOK, "a")))
    rows = {row.kind: row for row in queries.timeline(w.ANN, invocation)}
    assert (rows["tool"].state, rows["tool"].ended_at) == ("unknown", None)
    assert rows["invocation"].state == "unknown"


def test_what_is_open_is_open_in_the_timeline(world: World) -> None:
    invocation = world.run(calls(call(w.SEND), ask()))
    rows = queries.timeline(w.ANN, invocation)
    assert {(row.kind, row.label, row.state) for row in rows if row.ended_at is None} == {
        ("invocation", w.ACTION, "waiting"),
        ("tool", w.SEND, "waiting"),
        ("tool", "workflow_request_input", "running"),
        ("approval", w.SEND, "pending"),
        ("input", "q1", "pending"),
        ("suspension", "", "waiting"),
    }
    world.clock.advance(world.services.timing.approval_ms)
    expiry.sweep()
    assert {row.kind for row in queries.timeline(w.ANN, invocation) if row.ended_at is None} == {
        "invocation",
        "suspension",
    }


# The feed.


def test_the_feed_of_a_host_is_that_of_his_invocations(busy: World) -> None:
    [mine] = queries.invocations(EVE, delivery="done-second").items
    page = feed.read(EVE, None, 0, invocation=UUID(mine.id))
    assert {frame.invocation for frame in page.frames} == {mine.id}
    [other] = queries.invocations(w.ANN, delivery="done-worker").items
    with pytest.raises(errors.NotFound):
        feed.read(EVE, None, 0, invocation=UUID(other.id))


def test_the_whole_feed_read_in_pieces_is_every_fact_once(busy: World) -> None:
    epoch, head = feed.head(w.ANN)
    found: list[int] = []
    after = 0
    while True:
        page = feed.read(w.ANN, epoch, after, limit=7)
        if not page.frames:
            break
        assert page.frames[0].previous == after
        found += [frame.position for frame in page.frames]
        after = found[-1]
    assert found == list(range(1, head + 1))
    assert len(found) == Event.objects.count()
