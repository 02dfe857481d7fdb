"""Run the plugins of a stage. Their order, what they may change and what follows when one fails is said here and nowhere else.

The order is gates, transformers, the gates again if anything changed, interceptors around the carrier, transformers of what
came of it, observers. The first registered is the outermost. Every gate is heard and the strictest answer stands, refuse over
ask over allow, so that a gate can only narrow what another one allows; the second hearing closes the way to have one thing
allowed and another one run. Reference: seed-contracts 23.2 and 24.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import CoroutineType
from typing import Any, Final, Literal

from lifecycle_core.contract import events, stages
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.stages import Stage
from lifecycle_core.contract.subjects import Moment, Subject
from lifecycle_core.engine import asynchronous, guard
from lifecycle_core.engine.health import Health

type Kind = Literal["gates", "transformers", "interceptors", "observers"]

_SEVERITY: Final = {"allow": 0, "ask": 1, "refuse": 2}
_RISKS: Final = ("low", "medium", "high")
ALLOWED: Final = Verdict(outcome="allow", rule="default: no gate", risk="low")
UNJUDGED: Final = Verdict(outcome="ask", rule="default: no gate", risk="high")
DETAIL: Final = 500
# What an agent, or whoever reads how a run ended, is told of a stage that failed.
FAILED: Final = "EXTENSION_FAILED"


class StageFailed(Exception):
    """A transformer or an interceptor failed, and with it the stage."""

    def __init__(self, plugin: Plugin, detail: str) -> None:
        super().__init__(f"{plugin.kind} {plugin.identity} failed at {plugin.stage}: {detail}")
        self.plugin = plugin


class _Failed(Exception):
    """A plugin failed; its failure is noted."""


@dataclass(frozen=True)
class Seats:
    """The plugins of one stage by kind, in their order."""

    stage: Stage
    gates: tuple[Plugin, ...] = ()
    transformers: tuple[Plugin, ...] = ()
    interceptors: tuple[Plugin, ...] = ()
    observers: tuple[Plugin, ...] = ()


class Roster:
    """The plugins of one agent, by stage."""

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self.at: Mapping[str, Seats] = {stage.name: self._seats(stage) for stage in stages.CATALOGUE}

    def _seats(self, stage: Stage) -> Seats:
        here = [plugin for plugin in self.plugins if plugin.stage == stage.name]

        def of(kind: stages.Kind) -> tuple[Plugin, ...]:
            return tuple(plugin for plugin in here if plugin.kind == kind)

        return Seats(stage, of("gate"), of("transformer"), of("interceptor"), of("observer"))


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How long a plugin may take: before it is called overdue, and, where it can be stopped, before it is."""

    overdue_ms: int = 1_000
    async_seconds: float = 30.0


class Chain:
    """Run the plugins of one agent for one invocation; `note` takes what is to be said of them, `now_ms` only grows."""

    def __init__(
        self,
        roster: Roster,
        *,
        health: Health,
        note: Callable[[Event], None],
        now_ms: Callable[[], int],
        rules: Rules = Rules(),
    ) -> None:
        self._at = roster.at
        self._health = health
        self._note = note
        self._now_ms = now_ms
        self._rules = rules

    def has(self, stage: str, *kinds: Kind) -> bool:
        """Tell whether a plugin of one of the kinds sits at a stage."""
        seats = self._at[stage]
        return any(getattr(seats, kind) for kind in kinds)

    def sits(self, stage: str) -> bool:
        """Tell whether any plugin sits at a stage."""
        return self.has(stage, "gates", "transformers", "interceptors", "observers")

    def judge(self, stage: str, subject: Subject, default: Verdict = ALLOWED) -> Verdict:
        """Return the strictest verdict; the first gate wins among equals. A gate that fails refuses."""
        strictest: Verdict | None = None
        for gate in self._at[stage].gates:
            verdict = self._heard(gate, subject)
            if strictest is None or _SEVERITY[verdict.outcome] > _SEVERITY[strictest.outcome]:
                strictest = verdict
        return strictest or default

    def transform[S: Subject](self, stage: str, subject: S) -> S:
        """Return what the transformers make of a subject; the same one where they change nothing. Raises `StageFailed`."""
        seats = self._at[stage]
        for plugin in seats.transformers:
            try:
                subject = self._ran(plugin, _replaced, subject, seats.stage.mutable)
            except _Failed as failed:
                raise StageFailed(plugin, str(failed)) from failed
        return subject

    def admit[S: Subject](self, stage: str, subject: S, default: Verdict = ALLOWED) -> tuple[S, Verdict]:
        """Return a subject as it may go on, and the verdict on that. Raises `StageFailed`."""
        verdict = self.judge(stage, subject, default)
        if verdict.outcome == "refuse":
            return subject, verdict
        changed = self.transform(stage, subject)
        return changed, verdict if changed is subject else self.judge(stage, changed, default)

    def around[S: Subject, O](
        self, stage: str, subject: S, carry: Callable[[S], O], understood: Callable[[S, Any, str], O]
    ) -> O:
        """Return the outcome of a carrier, wrapped by the interceptors.

        `understood` takes the subject, what an interceptor returned and, unless that came from within, the interceptor's name;
        it refuses what is no outcome (`TypeError`).

        Raises `StageFailed`, and what `carry` raises, which no interceptor can hold back.
        """
        seats = self._at[stage]
        inner: Callable[[S], O] = carry
        for plugin in reversed(seats.interceptors):
            inner = partial(self._intercepted, plugin, inner, understood, seats.stage.mutable)
        return inner(subject)

    def show(self, moment: Moment) -> None:
        """Show a moment to the observers of its stage; nothing that they do changes anything."""
        for plugin in self._at[moment.stage].observers:
            if self._health.is_suspended(plugin):
                continue
            try:
                self._ran(plugin, _observed, moment)
            except _Failed:
                continue  # It is noted, and the run goes on.

    def _heard(self, gate: Plugin, subject: Subject) -> Verdict:
        try:
            verdict: Verdict = self._ran(gate, _judged, subject)
        except _Failed:
            # Whatever a plugin raises, nothing must pass because of it.
            return Verdict(outcome="refuse", rule=gate.name, reason="the gate failed")
        return verdict

    def _intercepted[S: Subject, O](
        self,
        plugin: Plugin,
        inner: Callable[[S], O],
        understood: Callable[[S, Any, str], O],
        mutable: frozenset[str],
        subject: S,
    ) -> O:
        passage = _Passage(inner, subject, mutable)
        try:
            outcome: O = self._ran(plugin, _wrapped, subject, passage, understood)
        except _Failed as failed:
            if passage.stopped is not None:
                raise passage.stopped from None
            raise StageFailed(plugin, str(failed)) from failed
        finally:
            passage.close()
        if passage.stopped is not None:
            raise passage.stopped
        return outcome

    def _ran(self, plugin: Plugin, how: Callable[..., Any], *given: Any) -> Any:
        """Run a plugin, and note when it fails or takes long. Raises `_Failed`."""
        started = self._now_ms()
        try:
            result = how(plugin, self._rules, *given)
        except Exception as fault:
            self._failed(plugin, fault, given)
            raise _Failed(_detail(fault)) from fault
        took_ms = self._now_ms() - started
        if took_ms > self._rules.overdue_ms and plugin.kind != "interceptor":
            self._note(events.ExtensionOverdue(**_named(plugin), took_ms=took_ms))
        self._health.worked(plugin)
        return result

    def _failed(self, plugin: Plugin, fault: Exception, given: Sequence[Any]) -> None:
        if any(isinstance(one, _Passage) and one.stopped is not None for one in given):
            return  # It was stopped, like all around it.
        self._note(events.ExtensionFailed(**_named(plugin), detail=_detail(fault)))
        if self._health.failed(plugin):
            self._note(events.ExtensionSuspended(**_named(plugin)))


class _Passage[S: Subject, O]:
    """The way inwards from an interceptor. It remembers what stopped it, so that no interceptor can hold that back."""

    def __init__(self, inner: Callable[[S], O], subject: S, mutable: frozenset[str]) -> None:
        self._inner = inner
        self._subject = subject
        self._mutable = mutable
        self._thread: int | None = threading.get_ident()
        self.stopped: BaseException | None = None
        self.came_back: O | None = None

    def __call__(self, changed: S | None = None) -> O:
        """Go on with the subject, or with a changed one; each further call is a repeat. Raises `guard.Refused`."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("an interceptor goes on where and while it is called, and nowhere else")
        if self.stopped is not None:
            raise self.stopped
        subject = guard.checked(self._subject, changed, self._mutable)
        try:
            self.came_back = self._inner(subject)
        except BaseException as stopped:
            self.stopped = stopped
            raise
        return self.came_back

    def close(self) -> None:
        """Let nobody through any more."""
        self._thread = None


def _judged(plugin: Plugin, rules: Rules, subject: Subject) -> Verdict:
    verdict = _answer(plugin.act(subject), rules)  # type: ignore[call-arg]
    if not isinstance(verdict, Verdict) or verdict.outcome not in _SEVERITY or verdict.risk not in _RISKS:
        raise TypeError(f"{verdict!r} is no verdict")
    return verdict


def _replaced(plugin: Plugin, rules: Rules, subject: Subject, mutable: frozenset[str]) -> Subject:
    return guard.checked(subject, _answer(plugin.act(subject), rules), mutable)  # type: ignore[call-arg]


def _observed(plugin: Plugin, rules: Rules, moment: Moment) -> None:
    _answer(plugin.act(moment), rules)  # type: ignore[call-arg]


def _wrapped(
    plugin: Plugin, rules: Rules, subject: Any, passage: _Passage[Any, Any], understood: Callable[..., Any]
) -> Any:
    if plugin.is_async:
        outcome = asynchronous.around(plugin.act, subject, passage, rules.async_seconds)  # type: ignore[arg-type]
    else:
        outcome = plugin.act(subject, passage)  # type: ignore[call-arg]
    came_back = outcome is not None and outcome is passage.came_back
    return understood(subject, outcome, "" if came_back else plugin.identity)


def _answer(given: Any, rules: Rules) -> Any:
    return asynchronous.wait(given, rules.async_seconds) if type(given) is CoroutineType else given


def _named(plugin: Plugin) -> dict[str, str]:
    return {
        "extension": plugin.extension,
        "plugin": plugin.name,
        "plugin_kind": plugin.kind,
        "stage": plugin.stage,
    }


def _detail(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}"[:DETAIL]
