"""Fold what an agent says into frames, as people read it and not as it comes."""

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.engine import model_stages
from lifecycle_core.engine.chain import StageFailed
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.turn import Turn


class Folder:
    """Fold streamed text into frames and commit at most one in every interval; the whole text follows with the answer."""

    def __init__(self, episode: Episode, turn: Turn) -> None:
        self._episode = episode
        self._turn = turn
        self._stream = episode.stream()
        self._text = ""
        self._since = episode.services.clock.monotonic_ms()
        self._failed: StageFailed | None = None

    def add(self, text: str) -> None:
        """Take in a piece of text; where plugins fail over one, that and what follows is not shown."""
        self._text += self._shown(self._stream.feed(text))
        now = self._episode.services.clock.monotonic_ms()
        if self._text and now - self._since >= self._episode.services.timing.output_interval_ms:
            self._since = now
            self._commit()

    def check(self) -> None:
        """Raise `StageFailed` when plugins have failed over what was said."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _shown(self, text: str) -> str:
        if not text or self._failed is not None:
            return ""
        try:
            return model_stages.streamed(self._episode, text)
        except StageFailed as failed:
            # It must not break into the provider, which is in the middle of reading.
            self._failed = failed
            return ""

    def forget(self) -> None:
        """Forget what was not yet shown: the model's answer holds it."""
        self._text = ""
        self._stream = self._episode.stream()

    def flush(self) -> None:
        """Note what was not yet shown and stands in no answer."""
        self._text += self._shown(self._stream.finish())
        if self._text:
            self._note()

    def _commit(self) -> None:
        self._note()
        self._episode.ledger.commit()

    def _note(self) -> None:
        """Note a frame; its number counts also where it cannot be kept (reference: seed-contracts 6)."""
        self._episode.output_sequence += 1
        frame = events.OutputProduced(
            model_turn=self._episode.model_turn, sequence=self._episode.output_sequence, content=self._text
        )
        self._text = ""
        if self._can_be_kept(frame.content):
            self._episode.ledger.note(frame)
        else:
            self._turn.fail("ACTION_INTERACTION_UNAVAILABLE", "what the agent said cannot be kept and shown")

    def _can_be_kept(self, text: str) -> bool:
        try:
            return len(digests.canonical(text)) <= self._episode.services.value_bytes
        except errors.NotCanonical:
            return False
