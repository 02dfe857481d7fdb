"""What a coordinator says of an unknown invocation: of each open call whether it happened, how it goes on, and why.

Everything that is missing or wrong is found in one pass; what was typed stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from django.utils.translation import gettext as _

from console.forms.drafts import Posted
from lifecycle_core.application.resources import OpenIntent
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.resolution import Finding, Outcome

type Said = Literal["", "happened", "run", "error", "open"]

OUTCOMES: Final = ("continue", "failed", "cancelled")
SAID: Final = ("happened", "run", "error", "open")
MOST: Final = 2000


@dataclass(frozen=True, kw_only=True)
class Card:
    """One open call, and what was said of it so far. `written` tells how the result is to be read."""

    number: int
    intent: OpenIntent
    said: Said = ""
    result: str = ""
    written: Literal["text", "json"] = "text"
    problems: Sequence[str] = ()
    wrong_result: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Resolving:
    """The form as it was sent, what it means, and what is wrong with it."""

    cards: Sequence[Card]
    outcome: Outcome | None = None
    reason: str = ""
    findings: Sequence[Finding] = ()
    problems: Sequence[Problem] = ()

    def of(self, pointer: str) -> list[str]:
        """Return what is wrong at one place."""
        return [problem.detail for problem in self.problems if problem.pointer == pointer]

    @property
    def wrong_outcome(self) -> list[str]:
        return self.of("/outcome")

    @property
    def wrong_reason(self) -> list[str]:
        return self.of("/reason")


def blank(intents: Sequence[OpenIntent]) -> Resolving:
    """Begin with nothing said."""
    return Resolving(cards=[Card(number=number, intent=intent) for number, intent in enumerate(intents)])


def read(posted: Posted, intents: Sequence[OpenIntent]) -> Resolving:
    """Read what was sent, with everything that is wrong with it."""
    outcome = posted.get("outcome") or ""
    reason = (posted.get("reason") or "").strip()
    settles = outcome in ("failed", "cancelled")
    problems: list[Problem] = []
    if outcome not in OUTCOMES:
        problems.append(Problem("/outcome", _("Choose how it goes on.")))
    if not reason:
        problems.append(Problem("/reason", _("Say why: others rely on it.")))
    elif len(reason) > MOST:
        problems.append(Problem("/reason", _("At most %(count)s characters.") % {"count": MOST}))
    cards = [_card(posted, number, intent, settles=settles) for number, intent in enumerate(intents)]
    wrong = [p for card in cards for p in (*card.problems, *card.wrong_result)]
    return Resolving(
        cards=cards,
        outcome=cast(Outcome, outcome) if outcome in OUTCOMES else None,
        reason=reason,
        findings=[] if wrong else [found for card in cards if (found := _finding(card)) is not None],
        problems=[*problems, *(Problem("/calls", detail) for detail in wrong)],
    )


def _card(posted: Posted, number: int, intent: OpenIntent, *, settles: bool) -> Card:
    said = posted.get(f"said-{number}") or ""
    result = (posted.get(f"result-{number}") or "").replace("\r\n", "\n")
    written: Literal["text", "json"] = "json" if posted.get(f"written-{number}") == "json" else "text"
    card = Card(
        number=number,
        intent=intent,
        said=cast(Said, said if said in SAID else ""),
        result=result,
        written=written,
    )
    return Card(
        **{**vars(card), "problems": _missing(card, settles=settles), "wrong_result": _unreadable(card)}
    )


def _missing(card: Card, *, settles: bool) -> list[str]:
    if settles:
        return [_("It runs only where the invocation goes on.")] if card.said == "run" else []
    if card.said in ("", "open"):
        return [_("Say what became of this call, or settle the whole as failed or as cancelled.")]
    return []


def _unreadable(card: Card) -> list[str]:
    if card.said != "happened" or card.written != "json":
        return []
    try:
        digests.parse(card.result)
    except errors.NotCanonical as refused:
        return [_("This is not JSON: %(why)s") % {"why": refused.detail}]
    return []


def _finding(card: Card) -> Finding | None:
    """Return what was said of a call; nothing where nobody found it out."""
    if card.said in ("", "open"):
        return None
    if card.said == "happened":
        return Finding(call=card.intent.call, happened=True, result=result_of(card))
    return Finding(call=card.intent.call, happened=False, then=cast(Literal["run", "error"], card.said))


def result_of(card: Card) -> Json:
    """Return the result of a call that happened, as the agent will be told it."""
    return digests.parse(card.result) if card.written == "json" else card.result
