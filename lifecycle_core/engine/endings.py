"""Show plugins that an invocation waits, goes on, or has ended.

That it waits or has ended is durable before it is shown; that it goes on is shown as soon as a worker sets out to.
"""

from uuid import UUID

from lifecycle_core.contract import events, stages
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.subjects import Moment, Passing
from lifecycle_core.engine import closing
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.services import Services


def end(episode: Episode, ended: Event) -> None:
    """Write how a turn ended, and show it."""
    closing.end(episode, ended)
    if isinstance(ended, events.TurnSuspended):
        _show(episode, stages.SUSPENSION, "before", ended.kind)
    else:
        _show(episode, stages.INVOCATION_SETTLE, "after", ended.kind)
    episode.ledger.add_behind()


def resumed(episode: Episode) -> None:
    """Show that a suspended invocation goes on."""
    _show(episode, stages.SUSPENSION, "after", events.InvocationResumed.kind)


def show_outside(services: Services, invocation: UUID, ended: type[Event]) -> None:
    """Show that an invocation was ended by somebody else than the worker that drives it, if one does."""
    episode = Episode.of(services, services.journal.load(invocation), Interruption())
    if episode.chain.sits(stages.INVOCATION_SETTLE):
        _show(episode, stages.INVOCATION_SETTLE, "after", ended.kind)
        episode.ledger.add_behind()


def _show(episode: Episode, stage: str, when: stages.When, kind: str) -> None:
    subject = Passing(identity=episode.identity, trusted=episode.trusted)
    episode.chain.show(Moment(stage=stage, when=when, subject=subject, outcome=kind))
