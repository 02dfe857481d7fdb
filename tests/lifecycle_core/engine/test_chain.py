"""One executor owns the order of plugins, what they may change, and what follows when one fails."""

import asyncio
import dataclasses
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from lifecycle_core.contract import events, stages
from lifecycle_core.contract.frozen import draft, freeze
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.subjects import Moment, ToolCall, ToolOutcome
from lifecycle_core.engine import guard, tool_stages
from lifecycle_core.engine.chain import UNJUDGED, Chain, Roster, Rules, StageFailed
from lifecycle_core.engine.health import IN_A_ROW, Health
from tests.lifecycle_core import seated
from tests.lifecycle_core.seated import gate, interceptor, observer, saying, tool_call, transformer


@dataclass
class Seat:
    """A chain, what it noted, and how often its carrier was reached."""

    noted: list[events.Event] = field(default_factory=list)
    carried: list[dict[str, Any]] = field(default_factory=list)
    passed: int = 0

    def chain(self, *plugins: Plugin, rules: Rules = Rules(), health: Health | None = None) -> Chain:  # noqa: B008
        return Chain(
            Roster(plugins),
            health=health or Health(),
            note=self.noted.append,
            now_ms=lambda: self.passed,
            rules=rules,
        )

    def judge(self, *gates: Plugin) -> Verdict:
        return self.chain(*gates).judge(stages.TOOL_ADMIT, tool_call(), UNJUDGED)

    def admit(self, *plugins: Plugin) -> tuple[ToolCall, Verdict]:
        return self.chain(*plugins).admit(stages.TOOL_ADMIT, tool_call(), UNJUDGED)

    def around(self, *plugins: Plugin, rules: Rules = Rules()) -> ToolOutcome:  # noqa: B008
        chain = self.chain(*plugins, rules=rules)
        return chain.around(stages.TOOL_CALL, tool_call(), self.carry, tool_stages.understood)

    def carry(self, call: ToolCall) -> ToolOutcome:
        self.carried.append(draft(call.arguments))
        return call.answered({"n": len(self.carried)})

    def failures(self) -> list[tuple[str, str]]:
        return [
            (fact.plugin_kind, fact.plugin) for fact in self.noted if isinstance(fact, events.ExtensionFailed)
        ]


@pytest.fixture
def seat() -> Seat:
    return Seat()


def broken(*given: Any) -> Any:
    raise RuntimeError("out of order")


# Gates.


FAULTY: Final[dict[str, Callable[[Any], Any]]] = {
    "it raises": broken,
    "it says nothing": lambda call: None,
    "it says yes": lambda call: True,
    "it says a word": lambda call: "allow",
    "it says an outcome that is none": lambda call: Verdict(outcome="maybe", rule="r"),  # type: ignore[arg-type]
    "it says a risk that is none": lambda call: Verdict(outcome="allow", rule="r", risk="none"),  # type: ignore[arg-type]
    "it says an outcome that cannot be looked up": lambda call: Verdict(outcome=["allow"], rule="r"),  # type: ignore[arg-type]
    "it writes to what it sees": lambda call: call.arguments.update(to="bob"),
}


@pytest.mark.parametrize("act", FAULTY.values(), ids=FAULTY.keys())
def test_a_gate_that_fails_refuses_and_is_named(seat: Seat, act: Callable[[Any], Any]) -> None:
    verdict = seat.judge(saying("allow"), gate(act, "broken"), saying("allow"))
    assert (verdict.outcome, verdict.rule) == ("refuse", "broken")
    assert verdict.reason
    assert seat.failures() == [("gate", "broken")]


def test_without_a_gate_a_person_is_asked(seat: Seat) -> None:
    assert (seat.judge().outcome, seat.judge().risk) == ("ask", "high")


SEVERITY: Final = {"allow": 0, "ask": 1, "refuse": 2}


@pytest.mark.parametrize("outcomes", list(itertools.product(SEVERITY, repeat=3)), ids="-".join)
def test_the_strictest_answer_stands_whatever_the_order(seat: Seat, outcomes: tuple[str, ...]) -> None:
    strictest = max(outcomes, key=SEVERITY.__getitem__)
    for order in itertools.permutations(outcomes):
        assert seat.judge(*map(saying, order)).outcome == strictest


def test_among_equally_strict_gates_the_first_is_named(seat: Seat) -> None:
    assert seat.judge(saying("allow", "a"), saying("ask", "b"), saying("ask", "c")).rule == "b"


def test_every_gate_is_heard_even_after_one_has_refused(seat: Seat) -> None:
    heard: list[str] = []

    def listening(outcome: Any) -> Plugin:
        def judge(call: ToolCall) -> Verdict:
            heard.append(outcome)
            return Verdict(outcome=outcome, rule=outcome)

        return gate(judge, outcome)

    seat.judge(listening("refuse"), listening("allow"))
    assert heard == ["refuse", "allow"]


# Order.


def adding(key: str) -> Callable[[ToolCall], ToolCall]:
    return lambda call: call.changed(arguments={**call.arguments, key: len(call.arguments)})


def test_transformers_change_the_call_in_turn_and_the_gates_judge_what_they_made_of_it(seat: Seat) -> None:
    judged: list[dict[str, Any]] = []

    def judge(call: ToolCall) -> Verdict:
        judged.append(draft(call.arguments))
        return Verdict(outcome="allow" if len(judged) == 1 else "refuse", rule="r")

    call, verdict = seat.admit(gate(judge), transformer(adding("a")), transformer(adding("b")))
    assert call.arguments == {"to": "ann", "a": 1, "b": 2}
    assert judged == [{"to": "ann"}, call.arguments]
    assert verdict.outcome == "refuse"


def test_the_gates_judge_once_where_nothing_was_changed(seat: Seat) -> None:
    heard: list[ToolCall] = []

    def judge(call: ToolCall) -> Verdict:
        heard.append(call)
        return Verdict(outcome="allow", rule="r")

    seat.admit(gate(judge), transformer(lambda call: None), transformer(lambda call: call))
    assert len(heard) == 1


def test_nothing_is_transformed_that_was_refused(seat: Seat) -> None:
    changed: list[ToolCall] = []
    seat.admit(saying("refuse"), transformer(changed.append))
    assert changed == []


def test_the_first_interceptor_is_the_outermost(seat: Seat) -> None:
    order: list[str] = []

    def wrapping(name: str) -> Plugin:
        def around(call: ToolCall, proceed: Any) -> Any:
            order.append(f"{name} in")
            outcome = proceed()
            order.append(f"{name} out")
            return outcome

        return interceptor(around, name)

    assert seat.around(wrapping("a"), wrapping("b")).content == {"n": 1}
    assert order == ["a in", "b in", "b out", "a out"]


# Interceptors.


def test_an_interceptor_may_rewrite_answer_itself_or_repeat(seat: Seat) -> None:
    assert seat.around(interceptor(lambda call, proceed: proceed(adding("x")(call)))).content == {"n": 1}
    assert seat.carried == [{"to": "ann", "x": 1}]

    own = seat.around(interceptor(lambda call, proceed: call.answered("mine"), "cache"))
    assert (own.content, own.by) == ("mine", "built-in/cache")
    assert len(seat.carried) == 1

    def twice(call: ToolCall, proceed: Any) -> Any:
        proceed()
        return proceed()

    again = seat.around(interceptor(twice))
    assert (again.content, again.by) == ({"n": 3}, "")


def test_an_outcome_that_an_interceptor_has_changed_is_its_own(seat: Seat) -> None:
    changing = interceptor(lambda call, proceed: proceed().changed(content="other", by="nobody"), "polish")
    assert seat.around(changing).by == "built-in/polish"


def swallowing(call: ToolCall, proceed: Any) -> Any:
    try:
        return proceed()
    except BaseException:  # noqa: BLE001  (that is what it tries)
        return call.answered("as if nothing had happened")


def test_no_interceptor_can_hold_back_what_stops_the_turn(seat: Seat) -> None:
    def stopping(call: ToolCall) -> ToolOutcome:
        raise KeyboardInterrupt

    chain = seat.chain(interceptor(swallowing), interceptor(swallowing))
    with pytest.raises(KeyboardInterrupt):
        chain.around(stages.TOOL_CALL, tool_call(), stopping, tool_stages.understood)
    assert seat.noted == []


BROKEN: Final[dict[str, Any]] = {
    "it raises": broken,
    "it raises afterwards": lambda call, proceed: proceed() and broken(),
    "it returns nothing": lambda call, proceed: proceed() and None,
    "it returns a value": lambda call, proceed: {"ok": True},
    "it goes on with something else": lambda call, proceed: proceed("x"),
    "it goes on with another tool": lambda call, proceed: proceed(call.changed(tool="other")),
}


@pytest.mark.parametrize("act", BROKEN.values(), ids=BROKEN.keys())
def test_an_interceptor_that_fails_fails_the_stage_and_is_named(seat: Seat, act: Any) -> None:
    with pytest.raises(StageFailed, match=r"interceptor built-in/faulty failed at tool\.call"):
        seat.around(interceptor(swallowing, "outer"), interceptor(act, "faulty"))
    assert seat.failures() == [("interceptor", "faulty")]


def test_nobody_goes_on_after_an_interceptor_returned_or_from_another_thread(seat: Seat) -> None:
    kept: list[Any] = []

    def keeping(call: ToolCall, proceed: Any) -> Any:
        kept.append(proceed)
        return proceed()

    seat.around(interceptor(keeping))
    with pytest.raises(RuntimeError):
        kept[0]()

    def elsewhere(call: ToolCall, proceed: Any) -> Any:
        refused: list[Exception] = []

        def run() -> None:
            try:
                proceed()
            except RuntimeError as refusal:
                refused.append(refusal)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return call.answered(len(refused))

    assert seat.around(interceptor(elsewhere)).content == 1
    assert len(seat.carried) == 1


# The guard.


FORGED: Final[dict[str, Callable[[ToolCall], Any]]] = {
    "another identity": lambda call: call.changed(
        identity=dataclasses.replace(call.identity, invocation="j")
    ),
    "another tool call": lambda call: call.changed(
        identity=dataclasses.replace(call.identity, tool_call="c")
    ),
    "another model turn": lambda call: call.changed(
        identity=dataclasses.replace(call.identity, model_turn=2)
    ),
    "no identity": lambda call: call.changed(identity=None),
    "another tool": lambda call: call.changed(tool="delete"),
    "another effect class": lambda call: call.changed(effect_class="read_only"),
    "another family": lambda call: call.changed(family="workflow"),
    "another kind of thing": lambda call: call.answered("x"),
    "nothing of the kind": lambda call: {"arguments": {}},
}
UNTRUSTED: Final[dict[str, Callable[[ToolCall], Any]]] = {
    "another context": lambda call: call.changed(trusted=dataclasses.replace(call.trusted, tenant="other")),
    "no context": lambda call: call.changed(trusted=None),
    "another principal": lambda call: call.changed(trusted=dataclasses.replace(call.trusted, principal="x")),
    "another budget": lambda call: call.changed(
        trusted=dataclasses.replace(call.trusted, budget=dataclasses.replace(call.trusted.budget, tokens=9))
    ),
}


@pytest.mark.parametrize("forge", [*FORGED.values(), *UNTRUSTED.values()], ids=[*FORGED, *UNTRUSTED])
def test_a_transformer_changes_nothing_but_what_the_stage_lets_it(seat: Seat, forge: Any) -> None:
    with pytest.raises(StageFailed, match=r"transformer built-in/forger failed at tool\.admit"):
        seat.admit(saying("allow"), transformer(forge, "forger"))
    assert seat.failures() == [("transformer", "forger")]


@pytest.mark.parametrize("forge", UNTRUSTED.values(), ids=UNTRUSTED)
def test_the_guard_says_that_the_trusted_context_must_not_change(forge: Any) -> None:
    with pytest.raises(guard.Refused, match="trusted execution context must not change"):
        guard.checked(tool_call(), forge(tool_call()), stages.BY_NAME[stages.TOOL_ADMIT].mutable)


def test_the_trusted_context_cannot_be_written_to() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        seated.TRUSTED.budget.tokens = 9  # type: ignore[misc]


# Observers.


def moment() -> Moment:
    return Moment(stage=stages.TOOL_CALL, when="before", subject=tool_call())


def test_an_observer_that_fails_is_named_and_changes_nothing(seat: Seat) -> None:
    seen: list[Moment] = []
    seat.chain(observer(broken, "faulty"), observer(seen.append)).show(moment())
    assert len(seen) == 1
    assert seat.failures() == [("observer", "faulty")]


def test_an_observer_that_only_fails_is_not_heard_any_more_and_that_is_said_once(seat: Seat) -> None:
    health = Health()
    chain = seat.chain(observer(broken, "faulty"), health=health)
    for _ in range(IN_A_ROW + 3):
        chain.show(moment())
    assert len(seat.failures()) == IN_A_ROW
    assert [type(fact) for fact in seat.noted].count(events.ExtensionSuspended) == 1
    health.resume("built-in/faulty")
    chain.show(moment())
    assert len(seat.failures()) == IN_A_ROW + 1


def test_failures_count_only_in_a_row(seat: Seat) -> None:
    turns = itertools.count()
    chain = seat.chain(observer(lambda moment: broken() if next(turns) % IN_A_ROW else None))
    for _ in range(IN_A_ROW * 3):
        chain.show(moment())
    assert events.ExtensionSuspended not in map(type, seat.noted)


def test_a_gate_that_only_fails_is_never_left_out(seat: Seat) -> None:
    health = Health()
    chain = seat.chain(gate(broken, "faulty"), health=health)
    for _ in range(IN_A_ROW + 3):
        assert chain.judge(stages.TOOL_ADMIT, tool_call()).outcome == "refuse"
    assert len(seat.failures()) == IN_A_ROW + 3


def test_a_plugin_that_takes_long_is_called_overdue(seat: Seat) -> None:
    def slow(moment: Moment) -> None:
        seat.passed += 1_001

    seat.chain(observer(slow, "slow")).show(moment())
    [overdue] = seat.noted
    assert isinstance(overdue, events.ExtensionOverdue)
    assert (overdue.plugin, overdue.took_ms) == ("slow", 1_001)


# Plugins that are `async def`.


async def hesitant(call: ToolCall) -> Verdict:
    return Verdict(outcome="refuse", rule="hesitant")


async def passing(call: ToolCall, proceed: Any) -> Any:
    first = await proceed()
    second = await proceed(adding("again")(call))
    return second.changed(content=[first.content, second.content])


async def endless(*given: Any) -> None:
    await asyncio.sleep(3600)


def test_a_gate_and_an_interceptor_may_be_async(seat: Seat) -> None:
    assert seat.judge(gate(hesitant)).rule == "hesitant"
    assert draft(seat.around(interceptor(passing), interceptor(passing)).content) == [
        [{"n": 1}, {"n": 2}],
        [{"n": 3}, {"n": 4}],
    ]
    assert seat.carried[1] == {"to": "ann", "again": 1}


def test_an_async_plugin_is_stopped_at_the_end_of_its_time(seat: Seat) -> None:
    rules = Rules(async_seconds=0.05)
    assert seat.chain(gate(endless), rules=rules).judge(stages.TOOL_ADMIT, tool_call()).outcome == "refuse"
    with pytest.raises(StageFailed, match="TimeoutError"):
        seat.around(interceptor(endless), rules=rules)


def test_no_async_interceptor_can_hold_back_what_stops_the_turn(seat: Seat) -> None:
    async def swallow(call: ToolCall, proceed: Any) -> Any:
        try:
            return await proceed()
        except Exception:  # noqa: BLE001  (that is what it tries)
            return call.answered("as if nothing had happened")

    class Stopped(Exception):
        pass

    def stopping(call: ToolCall) -> ToolOutcome:
        raise Stopped

    with pytest.raises(Stopped):
        seat.chain(interceptor(swallow)).around(
            stages.TOOL_CALL, tool_call(), stopping, tool_stages.understood
        )


# What plugins see.


@dataclass
class Box:
    items: list[Any]


def deep() -> dict[str, Any]:
    return {"a": [{"b": [{"c": {"d": [1, 2]}}]}], "e": ({"f": {"g"}},), "h": Box([{"i": [1]}])}


WRITES: Final[dict[str, Callable[[Any], Any]]] = {
    "a key": lambda value: value.__setitem__("x", 1),
    "a deep key": lambda value: value["a"][0]["b"][0]["c"].update(d=1),
    "a deep item": lambda value: value["a"][0]["b"][0]["c"]["d"].append(3),
    "a deletion": lambda value: value["a"][0].__delitem__("b"),
    "a pop": lambda value: value["a"][0].pop("b"),
    "a merge": lambda value: value["a"][0].__ior__({"x": 1}),
    "a set": lambda value: value["e"][0]["f"].add("h"),
    "a field": lambda value: setattr(value["h"], "items", []),
    "below a field": lambda value: value["h"].items[0]["i"].append(2),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_snapshot_cannot_be_written_to_at_any_depth(write: Callable[[Any], Any]) -> None:
    frozen = freeze(deep())
    with pytest.raises((TypeError, AttributeError)):
        write(frozen)
    assert frozen == freeze(deep())


def test_what_the_caller_changes_later_does_not_reach_the_snapshot() -> None:
    mine = deep()
    frozen = freeze(mine)
    mine["a"][0]["b"][0]["c"]["d"].append(3)
    mine["e"][0]["f"].add("h")
    mine["h"].items.append(1)
    assert frozen == freeze(deep())


def test_what_a_plugin_keeps_of_its_replacement_does_not_reach_the_call(seat: Seat) -> None:
    kept: dict[str, Any] = {"to": "ann", "cc": [{"x": [1]}]}
    call, _ = seat.admit(saying("allow"), transformer(lambda call: call.changed(arguments=kept)))
    kept["cc"][0]["x"].append("bob")
    assert draft(call.arguments) == {"to": "ann", "cc": [{"x": [1]}]}


def test_a_draft_is_independent_of_the_snapshot() -> None:
    frozen = freeze({"a": [{"b": {1}}]})
    drafted = draft(frozen)
    drafted["a"][0]["b"].add(2)
    assert frozen["a"][0]["b"] == {1}


# Where plugins may sit.


def test_a_plugin_sits_only_where_the_catalogue_lets_its_kind_sit() -> None:
    kinds: tuple[stages.Kind, ...] = ("gate", "transformer", "interceptor", "observer")
    for stage, kind in itertools.product(stages.CATALOGUE, kinds):
        if kind in stage.kinds:
            Plugin(name="p", stage=stage.name, kind=kind, act=broken)
        else:
            with pytest.raises(ValueError, match=f"no {kind} can sit at {stage.name}"):
                Plugin(name="p", stage=stage.name, kind=kind, act=broken)
    with pytest.raises(ValueError, match="there is no stage nowhere"):
        Plugin(name="p", stage="nowhere", kind="observer", act=broken)
