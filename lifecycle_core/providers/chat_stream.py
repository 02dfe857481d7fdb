"""Cut the bytes of a streamed answer into the payloads of its events (reference: seed-contracts 16)."""

from collections.abc import Iterable, Iterator
from typing import Final

from lifecycle_core.contract import ports

EVENT_BYTES: Final = 4 * 1024 * 1024
BODY_BYTES: Final = 64 * 1024 * 1024
DONE: Final = b"[DONE]"


def payloads(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each payload before `[DONE]`.

    Raises `ports.ModelCallFailed`: STREAM_CLOSED when the stream ends earlier (an unterminated last event is
    a truncation and no payload), MALFORMED_RESPONSE when a line, an event or the whole is too large.
    """
    for payload in events(chunks):
        if payload == DONE:
            return
        yield payload
    raise ports.ModelCallFailed("STREAM_CLOSED", "the stream ended before [DONE]")


def events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each whole event. Raises `ports.ModelCallFailed` when something of the stream is too large."""
    return _events(_lines(_limited(chunks)))


def _limited(chunks: Iterable[bytes]) -> Iterator[bytes]:
    left = BODY_BYTES
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise _too_large("the answer", BODY_BYTES)
        yield chunk


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines; a line ends with LF, CR LF or CR."""
    pending = bytearray()
    after_cr = False
    for chunk in chunks:
        text = chunk[1:] if after_cr and chunk.startswith(b"\n") else chunk
        after_cr = chunk.endswith(b"\r") if chunk else after_cr
        *whole, rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for part in whole:
            yield bytes(pending + part)
            pending.clear()
        pending += rest
        if len(pending) > EVENT_BYTES:
            raise _too_large("a line", EVENT_BYTES)


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event that a blank line ends; comments and other fields say nothing."""
    data: list[bytes] = []
    size = 0
    for line in lines:
        if not line:
            if data:
                yield b"\n".join(data)
            data, size = [], 0
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
            size += len(value)
            if size > EVENT_BYTES:
                raise _too_large("an event", EVENT_BYTES)


def _too_large(what: str, limit: int) -> ports.ModelCallFailed:
    return ports.ModelCallFailed("MALFORMED_RESPONSE", f"{what} is larger than {limit} bytes")
