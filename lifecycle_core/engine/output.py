"""Fold what an agent says into frames, as people read it and not as it comes."""

from lifecycle_core.contract import events
from lifecycle_core.engine.episode import Episode


class Folder:
    """Fold streamed text into frames and commit at most one in every interval; the whole text follows with the answer."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._stream = episode.stream()
        self._text = ""
        self._since = episode.services.clock.monotonic_ms()

    def add(self, text: str) -> None:
        self._text += self._stream.feed(text)
        now = self._episode.services.clock.monotonic_ms()
        if self._text and now - self._since >= self._episode.services.timing.output_interval_ms:
            self._since = now
            self._commit()

    def forget(self) -> None:
        """Forget what was not yet shown: the model's answer holds it."""
        self._text = ""
        self._stream = self._episode.stream()

    def flush(self) -> None:
        """Note what was not yet shown and stands in no answer."""
        self._text += self._stream.finish()
        if self._text:
            self._note()

    def _commit(self) -> None:
        self._note()
        self._episode.ledger.commit()

    def _note(self) -> None:
        self._episode.output_sequence += 1
        frame = events.OutputProduced(
            model_turn=self._episode.model_turn, sequence=self._episode.output_sequence, content=self._text
        )
        self._text = ""
        self._episode.ledger.note(frame)
