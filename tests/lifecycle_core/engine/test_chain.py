"""Gates only narrow: the strictest answer stands, whatever their order, and a gate that fails refuses."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from lifecycle_core.contract.plugins import Gate, ToolAdmission, Verdict
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.engine import chain, guard

ADMISSION: Final = ToolAdmission(
    tenant="default",
    agent="a",
    tool="send",
    family="mail",
    effect_class=EffectClass.UNSAFE,
    arguments=guard.freeze({"to": "ann"}),
)


@dataclass
class FakeGate:
    """Answer as it is told."""

    name: str
    answer: Callable[[ToolAdmission], Any]

    def judge(self, admission: ToolAdmission) -> Verdict:
        answer: Verdict = self.answer(admission)
        return answer


def saying(outcome: Any, rule: str = "") -> Gate:
    return FakeGate(rule or outcome, lambda admission: Verdict(outcome=outcome, rule=rule or outcome))


def failing(admission: ToolAdmission) -> Verdict:
    raise RuntimeError("gate out of order")


FAULTY: Final[dict[str, Callable[[ToolAdmission], Any]]] = {
    "it raises": failing,
    "it says nothing": lambda admission: None,
    "it says yes": lambda admission: True,
    "it says a word": lambda admission: "allow",
    "it says an outcome that is none": lambda admission: Verdict(outcome="maybe", rule="r"),  # type: ignore[arg-type]
    "it says a risk that is none": lambda admission: Verdict(outcome="allow", rule="r", risk="none"),  # type: ignore[arg-type]
    "it says an outcome that cannot be looked up": lambda admission: Verdict(outcome=["allow"], rule="r"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("answer", FAULTY.values(), ids=FAULTY.keys())
def test_a_gate_that_fails_refuses_and_is_named(answer: Callable[[ToolAdmission], Any]) -> None:
    verdict = chain.judge([saying("allow"), FakeGate("broken", answer), saying("allow")], ADMISSION)
    assert (verdict.outcome, verdict.rule) == ("refuse", "broken")
    assert verdict.reason


def test_without_a_gate_a_person_is_asked() -> None:
    verdict = chain.judge([], ADMISSION)
    assert (verdict.outcome, verdict.risk) == ("ask", "high")


SEVERITY: Final = {"allow": 0, "ask": 1, "refuse": 2}


@pytest.mark.parametrize("outcomes", list(itertools.product(SEVERITY, repeat=3)), ids="-".join)
def test_the_strictest_answer_stands_whatever_the_order(outcomes: tuple[str, ...]) -> None:
    strictest = max(outcomes, key=SEVERITY.__getitem__)
    for order in itertools.permutations(outcomes):
        assert chain.judge([saying(outcome) for outcome in order], ADMISSION).outcome == strictest


def test_among_equally_strict_gates_the_first_is_named() -> None:
    gates = [saying("allow", "a"), saying("ask", "b"), saying("ask", "c")]
    assert chain.judge(gates, ADMISSION).rule == "b"


def test_every_gate_is_heard_even_after_one_has_refused() -> None:
    heard: list[str] = []

    def listening(name: str, outcome: Any) -> Gate:
        def answer(admission: ToolAdmission) -> Verdict:
            heard.append(name)
            return Verdict(outcome=outcome, rule=name)

        return FakeGate(name, answer)

    chain.judge([listening("first", "refuse"), listening("second", "allow")], ADMISSION)
    assert heard == ["first", "second"]


# What gates see.


def deep() -> dict[str, Any]:
    return {"a": [{"b": [{"c": {"d": [1, 2]}}]}], "e": ({"f": "g"},)}


def test_a_snapshot_cannot_be_written_to_at_any_depth() -> None:
    frozen = guard.freeze(deep())
    with pytest.raises(TypeError):
        frozen["x"] = 1
    with pytest.raises(TypeError):
        frozen["a"][0] = 1
    with pytest.raises(TypeError):
        frozen["a"][0]["b"][0]["c"]["d2"] = 1
    with pytest.raises(TypeError):
        frozen["a"][0]["b"][0]["c"]["d"][0] = 9
    with pytest.raises(AttributeError):
        frozen["a"][0]["b"].append(1)
    with pytest.raises(TypeError):
        del frozen["e"][0]["f"]


def test_what_the_caller_changes_later_does_not_reach_the_snapshot() -> None:
    mine = deep()
    frozen = guard.freeze(mine)
    mine["a"][0]["b"][0]["c"]["d"].append(3)
    mine["a"].append("more")
    mine["new"] = 1
    assert frozen["a"][0]["b"][0]["c"]["d"] == (1, 2)
    assert len(frozen["a"]) == 1
    assert set(frozen) == {"a", "e"}


def test_a_gate_that_tries_to_change_what_it_sees_refuses_and_changes_nothing() -> None:
    mine: dict[str, Any] = {"deep": {"list": [{"n": 1}]}}

    def meddle(admission: ToolAdmission) -> Verdict:
        arguments: Any = admission.arguments
        arguments["deep"]["list"][0]["n"] = 2
        return Verdict(outcome="allow", rule="meddler")

    admission = ToolAdmission(**{**vars(ADMISSION), "arguments": guard.freeze(mine)})
    assert chain.judge([FakeGate("meddler", meddle)], admission).outcome == "refuse"
    assert mine == {"deep": {"list": [{"n": 1}]}}


def test_a_snapshot_is_a_mapping_of_the_same_values() -> None:
    frozen = guard.freeze({"a": [1, None, True, "x", 1.5]})
    assert isinstance(frozen, Mapping)
    assert frozen["a"] == (1, None, True, "x", 1.5)
