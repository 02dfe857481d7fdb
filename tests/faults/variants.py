"""Defences, each taken away in one process alone, to show that the checks see what it defends against."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from unittest import mock

from django.db import transaction

from lifecycle_core.application import approvals
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.engine import effects, tool_runs
from lifecycle_core.engine.episode import Episode


def intent_with_outcome() -> None:
    """Commit the intent of a call together with its outcome, after the dispatch."""
    run = tool_runs.run

    def late(episode: Episode, *arguments: Any) -> Any:
        with mock.patch.object(episode.ledger, "commit"):
            return run(episode, *arguments)

    setattr(tool_runs, "run", late)  # noqa: B010


def unsafe_repeated() -> None:
    """Run an interrupted call again although nobody knows whether it happened."""
    setattr(effects, "REPEATABLE", effects.REPEATABLE | {EffectClass.UNSAFE})  # noqa: B010


def reconcilable_repeated() -> None:
    """Run an interrupted write again without asking whether it happened."""
    setattr(effects, "REPEATABLE", effects.REPEATABLE | {EffectClass.RECONCILABLE})  # noqa: B010


def answered_before_durable() -> None:
    """Tell people that their decision stands, and lose it."""
    decide = approvals.decide

    def forgetful(*arguments: Any, **options: Any) -> Any:
        with transaction.atomic():
            item = decide(*arguments, **options)
            transaction.set_rollback(True)
        return item

    setattr(approvals, "decide", forgetful)  # noqa: B010


VARIANTS: Final[Mapping[str, Callable[[], None]]] = {
    "": lambda: None,
    "intent with outcome": intent_with_outcome,
    "unsafe repeated": unsafe_repeated,
    "reconcilable repeated": reconcilable_repeated,
    "answered before durable": answered_before_durable,
}


def apply(name: str) -> None:
    """Take a defence away."""
    VARIANTS[name]()
