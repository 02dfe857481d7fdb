"""How a native turn ends: the first rule that applies decides, whatever else is true beside it."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from lifecycle_core.contract import events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import (
    InputAsked,
    NativeEvent,
    Output,
    ProcessExited,
    ProviderFailed,
    ProviderUncertain,
    SessionDisposed,
    StructuredCompletion,
    TurnEnded,
)
from lifecycle_core.engine import turn

SCHEMA: Final[Json] = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}
UNCERTAIN: Final = ProviderUncertain(phase="result", detail="the line went dead")
FAILED: Final = ProviderFailed(code="PROVIDER_TIMED_OUT", detail="too slow")
COMPLETION: Final = StructuredCompletion(result={"ok": True})
ASKED: Final = InputAsked(call_id="c", request_identity="r", prompt="?", response_schema={})


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is true when a turn is over."""

    uncertain: bool = False
    failed: bool = False
    completions: int = 0
    asked: bool = False
    waits: bool = False
    interaction: bool = True
    result: Json = None

    def ending(self) -> Event:
        outcome = turn.Turn()
        result: Json = {"ok": True} if self.result is None else self.result
        happened: list[NativeEvent] = [StructuredCompletion(result=result)] * self.completions
        happened += [FAILED] * self.failed + [UNCERTAIN] * self.uncertain + [ASKED] * self.asked
        for event in happened:
            outcome.note(event)
        return turn.ending(
            outcome,
            waits=self.waits,
            open_requests=["a1"] * self.waits,
            interaction=self.interaction,
            schema=SCHEMA,
        )


def name(event: Event) -> str:
    """Name an ending by its kind and code."""
    code = getattr(event, "code", getattr(event, "reason", ""))
    return f"{event.kind} {code}".strip()


# The rules of seed-contracts 6 in their order: when each applies, and what it says.
RULES: Final[list[tuple[str, Callable[[Situation], bool], str]]] = [
    ("uncertain", lambda s: s.uncertain, "invocation.became-unknown CALL_INTERRUPTED"),
    ("failure", lambda s: s.failed, "invocation.failed PROVIDER_TIMED_OUT"),
    ("two completions", lambda s: s.completions > 1, "invocation.invalidated DUPLICATE_COMPLETION"),
    (
        "completion and pending",
        lambda s: s.completions == 1 and (s.asked or s.waits),
        "invocation.invalidated PENDING_INPUT_AT_COMPLETION",
    ),
    ("one completion", lambda s: s.completions == 1, "invocation.completed"),
    (
        "pending without the capability",
        lambda s: s.asked and not s.interaction,
        "invocation.failed PROVIDER_PROTOCOL_ERROR",
    ),
    ("pending", lambda s: s.waits, "turn.suspended"),
    ("nothing", lambda s: True, "invocation.invalidated TURN_ENDED_WITHOUT_DISPOSITION"),
]
ALONE: Final = {
    "uncertain": Situation(uncertain=True),
    "failure": Situation(failed=True),
    "two completions": Situation(completions=2),
    "completion and pending": Situation(completions=1, asked=True, waits=True),
    "one completion": Situation(completions=1),
    "pending without the capability": Situation(asked=True, waits=True, interaction=False),
    "pending": Situation(waits=True),
    "nothing": Situation(),
}


@pytest.mark.parametrize(("rule", "says"), [(rule, says) for rule, _, says in RULES])
def test_each_rule_decides_where_it_is_the_first(rule: str, says: str) -> None:
    assert name(ALONE[rule].ending()) == says


def both(one: Situation, other: Situation) -> Situation:
    """Return the situation in which everything of two is true."""
    return Situation(
        uncertain=one.uncertain or other.uncertain,
        failed=one.failed or other.failed,
        completions=max(one.completions, other.completions),
        asked=one.asked or other.asked,
        waits=one.waits or other.waits,
        interaction=one.interaction and other.interaction,
    )


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations([rule for rule, _, _ in RULES], 2)))
def test_of_two_rules_the_earlier_wins(first: str, second: str) -> None:
    together = both(ALONE[first], ALONE[second])
    by_rule = {rule: says for rule, _, says in RULES}
    # A completion beside anything that waits is a rule of its own, which comes before both.
    earlier = "completion and pending" if first == "one completion" and together.waits else first
    assert name(together.ending()) == by_rule[earlier]


@pytest.mark.parametrize("interaction", [True, False])
@pytest.mark.parametrize("completions", [0, 1, 2, 3])
def test_every_combination_is_decided_by_the_first_rule_that_applies(
    completions: int, interaction: bool
) -> None:
    for uncertain, failed, asked, waits in itertools.product([False, True], repeat=4):
        situation = Situation(
            uncertain=uncertain,
            failed=failed,
            completions=completions,
            asked=asked,
            waits=waits,
            interaction=interaction,
        )
        says = next(says for _, applies, says in RULES if applies(situation))
        assert name(situation.ending()) == says, situation


# What each ending tells.


def test_a_completion_against_the_schema_is_invalid_and_says_where() -> None:
    ended = Situation(completions=1, result={"ok": "yes"}).ending()
    assert isinstance(ended, events.InvocationInvalidated)
    assert ended.code == "RESULT_SCHEMA_INVALID"
    assert "/ok" in ended.detail


def test_a_completion_carries_its_result() -> None:
    assert Situation(completions=1).ending() == events.InvocationCompleted(result={"ok": True})


def test_a_suspension_names_what_is_open() -> None:
    assert Situation(waits=True).ending() == events.TurnSuspended(open=["a1"])


def test_a_failure_may_be_tried_again_in_the_same_episode_and_a_missing_capability_never() -> None:
    failed = Situation(failed=True).ending()
    assert failed == events.InvocationFailed(
        code="PROVIDER_TIMED_OUT", retry="same-episode", detail="too slow"
    )
    missing = ALONE["pending without the capability"].ending()
    assert isinstance(missing, events.InvocationFailed)
    assert missing.retry == "never"
    assert "action-interaction" in missing.detail


def test_an_uncertain_end_has_an_owner_and_a_phase() -> None:
    ended = Situation(uncertain=True).ending()
    assert isinstance(ended, events.InvocationBecameUnknown)
    assert (ended.owner, ended.detail) == ("invocation", "result: the line went dead")


# What the collected events do.


def noted(*happened: NativeEvent) -> turn.Turn:
    outcome = turn.Turn()
    for event in happened:
        outcome.note(event)
    return outcome


def test_the_last_failure_stands() -> None:
    outcome = noted(FAILED, ProviderFailed(code="PROVIDER_EXITED", detail="gone"))
    assert outcome.failure is not None
    assert outcome.failure.code == "PROVIDER_EXITED"


def test_a_process_that_exits_is_a_failure() -> None:
    outcome = noted(ProcessExited(detail="9"))
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.detail) == ("PROVIDER_EXITED", "9")


@pytest.mark.parametrize(
    "order", [(ASKED, ASKED, COMPLETION), (ASKED, COMPLETION, ASKED), (COMPLETION, ASKED, ASKED)]
)
def test_a_second_request_is_a_failure_of_the_protocol(order: tuple[NativeEvent, ...]) -> None:
    outcome = noted(*order)
    assert outcome.failure is not None
    assert outcome.failure.code == turn.PROTOCOL_ERROR
    assert outcome.pending == ASKED


def test_a_second_request_clears_the_completions_before_it() -> None:
    assert noted(COMPLETION, ASKED, ASKED).completions == []


@pytest.mark.parametrize("order", [(COMPLETION, ASKED), (ASKED, COMPLETION)])
def test_completion_and_request_are_invalid_in_either_order(order: tuple[NativeEvent, ...]) -> None:
    ended = turn.ending(noted(*order), waits=True, open_requests=[], interaction=True, schema=SCHEMA)
    assert name(ended) == "invocation.invalidated PENDING_INPUT_AT_COMPLETION"


@pytest.mark.parametrize("nothing", [TurnEnded(), SessionDisposed(), Output(content="I am done")])
def test_an_end_a_disposal_and_words_complete_nothing(nothing: NativeEvent) -> None:
    outcome = noted(nothing)
    assert not outcome.over
    ended = turn.ending(outcome, waits=False, open_requests=[], interaction=True, schema={})
    assert name(ended) == "invocation.invalidated TURN_ENDED_WITHOUT_DISPOSITION"


@pytest.mark.parametrize("decisive", [COMPLETION, FAILED, UNCERTAIN, ProcessExited()])
def test_a_turn_is_over_when_something_decisive_happened(decisive: NativeEvent) -> None:
    assert noted(decisive).over


def test_a_turn_that_waits_is_not_over() -> None:
    assert not noted(ASKED).over
