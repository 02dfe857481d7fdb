"""Ways in which a model server can misbehave; each makes a proper answer into a stream that is not.

What a proper stream can carry needs no fault: `Refusal` is an HTTP error, with Retry-After; `Answer()` an empty stop;
`Answer(finish=…)` an unknown finish reason; calls with equal `id`s are duplicates.
"""

from collections.abc import Callable, Iterator, Sequence

from lifecycle_core.testing import answers
from lifecycle_core.testing.answers import Answer, Cut, Hold, Piece, Script, Stream
from lifecycle_core.testing.chat_requests import ChatRequest

type Fault = Callable[[Sequence[Piece]], Sequence[Piece]]


def with_fault(script: Script, fault: Fault) -> Script:
    """Return a script whose proper answers go out with a fault."""

    def faulty(request: ChatRequest) -> answers.Reply:
        reply = script(request)
        return Stream(fault(answers.events(reply, request))) if isinstance(reply, Answer) else reply

    return faulty


def without_done(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """End the stream properly, but without `[DONE]`."""
    return pieces[:-1]


def unterminated(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Leave out the blank line after `[DONE]`."""
    return [*pieces[:-1], answers.DONE.rstrip(b"\n")]


def cut_inside_event(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Drop the connection in the middle of an event."""
    whole = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return [whole[: len(whole) // 2], Cut()]


def malformed(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Send an event that is not JSON."""
    return [pieces[0], b'data: {"choices": [\n\n', *pieces[1:]]


def byte_by_byte(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Send every byte by itself, so that whatever can be split is."""
    whole = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return [whole[at : at + 1] for at in range(len(whole))]


def on_after_finish(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Say something more after the finish reason."""
    return [*pieces[:-1], answers.event(answers.chunk({"content": "and more"})), pieces[-1]]


def slow_first_byte(hold: Hold) -> Fault:
    """Send nothing, not even headers, until the hold is released."""
    return lambda pieces: [hold, *pieces]


def stalled(hold: Hold) -> Fault:
    """Stop after the first event until the hold is released."""
    return lambda pieces: [pieces[0], hold, *pieces[1:]]


def huge_line() -> Stream:
    """Send one line that never ends."""

    def endless() -> Iterator[Piece]:
        yield b"data: "
        while True:
            yield b"x" * 65536

    return Stream(endless())


def huge_answer() -> Stream:
    """Send proper events that never end."""

    def endless() -> Iterator[Piece]:
        while True:
            yield answers.event(answers.chunk({"reasoning_content": "x" * 65536}))

    return Stream(endless())
