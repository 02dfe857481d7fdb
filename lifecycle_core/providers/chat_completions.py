"""Run agents on any server that speaks streaming chat completions (reference: seed-contracts 16)."""

import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

import httpcore

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import chat_failures, chat_messages, chat_session, chat_stream, chat_transport
from lifecycle_core.providers.chat_answer import AnswerReader, Reply

KEY: Final = "chat-completions"
ERROR_BYTES: Final = 64 * 1024


class HttpModel:
    """Answer a chat by asking a server."""

    def __init__(self, transport: chat_transport.Transport, url: str, request: ports.SessionRequest) -> None:
        self._transport = transport
        self._url = url
        self._head = chat_messages.head(request.route, request.tools)
        self._line = chat_transport.Line()

    def answer(self, messages: Sequence[bytes], secret: str, emit: Callable[[str], None]) -> Reply:
        """Ask once. Raises `ports.ModelCallFailed`."""
        headers, body = _headers(secret), chat_messages.request(self._head, messages)
        try:
            with self._transport.post(self._url, headers, body, self._line) as response:
                return self._read(response, secret, emit)
        except httpcore.ReadTimeout:
            raise ports.ModelCallFailed("TIMEOUT", "the server did not answer in time") from None
        except (*chat_transport.FAILURES, ports.ModelCallFailed) as failure:
            if self._line.is_cut:
                raise ports.ModelCallFailed("ABORTED", "the call was cancelled") from None
            if isinstance(failure, ports.ModelCallFailed):
                raise
            raise ports.ModelCallFailed("TRANSPORT", f"{type(failure).__name__}: {failure}") from None

    def interrupt(self) -> None:
        self._line.cut()

    def _read(self, response: httpcore.Response, secret: str, emit: Callable[[str], None]) -> Reply:
        chunks = response.iter_stream()
        if response.status != 200:
            raise chat_failures.of_response(response.status, response.headers, _beginning(chunks), secret)
        reader = AnswerReader(emit)
        for payload in chat_stream.payloads(_received(chunks)):
            reader.add(payload)
        chat_transport.drain(chunks, self._line)
        return reader.reply()


class ChatCompletions:
    """Open and restore chats. `idle` is the longest silence of a server; limits are in seconds."""

    key: Final = KEY

    def __init__(
        self, *, idle: float = 300.0, connect: float = 5.0, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._transport = chat_transport.Transport(idle=idle, connect=connect, ssl_context=ssl_context)

    def open(self, request: ports.SessionRequest) -> chat_session.ChatSession:
        """Open a fresh chat. Raises `errors.ConfigurationInvalid` for a route that cannot be used."""
        return chat_session.ChatSession(chat_session.fresh_identity(), (), self._model(request))

    def restore(self, request: ports.SessionRequest) -> chat_session.ChatSession:
        """Restore a chat from its kept messages. Raises `LookupError` where they are not those of a chat."""
        chat_session.check_restorable(request)
        return chat_session.ChatSession(request.opaque_identity, request.messages, self._model(request))

    def dispose(self) -> None:
        self._transport.close()

    def _model(self, request: ports.SessionRequest) -> HttpModel:
        return HttpModel(self._transport, endpoint(request.route.base_url), request)


def endpoint(base_url: str) -> str:
    """Return where chats are posted to. Raises `errors.ConfigurationInvalid`."""
    parts = urlsplit(base_url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or parts.query
        or parts.fragment
    ):
        raise errors.ConfigurationInvalid(detail="the base URL is no plain http or https URL")
    return base_url.rstrip("/") + "/chat/completions"


def _headers(secret: str) -> list[tuple[str, str]]:
    """Return the headers of a request. Raises `ports.ModelCallFailed`, whose text has no part of the key."""
    if not secret:
        raise ports.ModelCallFailed("MISSING_CREDENTIAL", "there is no key to send")
    if not all("!" <= character <= "~" for character in secret):
        raise ports.ModelCallFailed("INVALID_CREDENTIAL", "the key has characters that no header can carry")
    return [
        ("authorization", f"Bearer {secret}"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("accept-encoding", "identity"),
    ]


def _received(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a body; one that breaks off is a closed stream, for its answer had begun."""
    try:
        # Not `yield from`: that would close the body, and with it the connection, as soon as nobody asks for more.
        for chunk in chunks:  # noqa: UP028
            yield chunk
    except httpcore.ReadTimeout:
        raise
    except chat_transport.FAILURES as failure:
        raise ports.ModelCallFailed(
            "STREAM_CLOSED", f"the stream broke off: {type(failure).__name__}"
        ) from None


def _beginning(chunks: Iterator[bytes]) -> bytes:
    """Return the beginning of the body of an error, as far as it came."""
    body = b""
    try:
        for chunk in chunks:
            body += chunk
            if len(body) > ERROR_BYTES:
                break
    except chat_transport.FAILURES:
        pass  # The status says enough.
    return body[:ERROR_BYTES]
