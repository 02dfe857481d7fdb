"""Ask the agent's model on behalf of the harness, with the leased secret that the harness never holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_failures, chat_stream, chat_transport
from lifecycle_core.providers.dsh import messages_answer

FORMAT: Final = "2023-06-01"


@dataclass(frozen=True)
class Heard:
    """A whole answer: as we read it, as the server sent it, and every text in it joined from its parts."""

    answer: ports.ModelAnswer
    wire: bytes
    said: str


class Upstream:
    """Be the way of one session to its model server."""

    def __init__(self, transport: chat_transport.Transport, base_url: str) -> None:
        """Take the agent's base URL. Raises `errors.ConfigurationInvalid` where it is none."""
        self._transport = transport
        self._url = chat_transport.endpoint(base_url, "/messages")
        self._line = chat_transport.Line()

    def ask(self, body: bytes, secret: str, emit: Callable[[str], None]) -> Heard:
        """Ask once. Raises `ports.ModelCallFailed`."""
        wire: list[bytes] = []
        headers = _headers(secret)
        with (
            chat_transport.calling(self._line),
            self._transport.post(self._url, headers, body, self._line) as response,
        ):
            chunks = response.iter_stream()
            if response.status != 200:
                beginning = chat_transport.beginning(chunks)
                raise chat_failures.of_response(response.status, response.headers, beginning, secret)
            copied = _copied(chat_transport.received(chunks), wire)
            answer, said = messages_answer.read(chat_stream.events(copied), emit)
            chat_transport.drain(chunks, self._line)
            return Heard(answer, b"".join(wire), said)

    def interrupt(self) -> None:
        """Free whoever waits in `ask`, at once, and fail every later call with ABORTED."""
        self._line.cut()


def _copied(chunks: Iterator[bytes], wire: list[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        wire.append(chunk)
        yield chunk


def _headers(secret: str) -> list[tuple[str, str]]:
    """Return the headers of a request: ours alone, nothing that the harness would add of itself."""
    return [
        ("x-api-key", chat_transport.sendable(secret)),
        ("anthropic-version", FORMAT),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("accept-encoding", "identity"),
    ]
