"""Run agents on any server that speaks streaming chat completions (reference: seed-contracts 16)."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import httpcore

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import chat_failures, chat_messages, chat_session, chat_stream, chat_transport
from lifecycle_core.providers.chat_answer import AnswerReader, Reply
from lifecycle_core.providers.registry import Factory

KEY: Final = "chat-completions"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Say how long a server may be silent and how long connecting to it may take, in seconds."""

    idle_seconds: float = 300.0
    connect_seconds: float = 5.0

    def __post_init__(self) -> None:
        for name, seconds in (("idle_seconds", self.idle_seconds), ("connect_seconds", self.connect_seconds)):
            if not seconds > 0:
                raise errors.ConfigurationInvalid(detail=f"{name} must be more than nothing")


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
        with (
            chat_transport.calling(self._line),
            self._transport.post(self._url, headers, body, self._line) as response,
        ):
            return self._read(response, secret, emit)

    def interrupt(self) -> None:
        self._line.cut()

    def _read(self, response: httpcore.Response, secret: str, emit: Callable[[str], None]) -> Reply:
        chunks = response.iter_stream()
        if response.status != 200:
            raise chat_failures.of_response(
                response.status, response.headers, chat_transport.beginning(chunks), secret
            )
        reader = AnswerReader(emit)
        for payload in chat_stream.payloads(chat_transport.received(chunks)):
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
        return chat_session.opened(request, self._model(request))

    def restore(self, request: ports.SessionRequest) -> chat_session.ChatSession:
        """Restore a chat from its kept messages. Raises `LookupError` where they are not those of a chat."""
        return chat_session.restored(request, self._model(request))

    def dispose(self) -> None:
        self._transport.close()

    def _model(self, request: ports.SessionRequest) -> HttpModel:
        return HttpModel(
            self._transport, chat_transport.endpoint(request.route.base_url, "/chat/completions"), request
        )


def create(configuration: Configuration) -> ChatCompletions:
    """Return the provider."""
    return ChatCompletions(idle=configuration.idle_seconds, connect=configuration.connect_seconds)


FACTORY: Final = Factory(key=KEY, configuration=Configuration, create=create)


def _headers(secret: str) -> list[tuple[str, str]]:
    """Return the headers of a request. Raises `ports.ModelCallFailed`, whose text has no part of the key."""
    return [
        ("authorization", f"Bearer {chat_transport.sendable(secret)}"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("accept-encoding", "identity"),
    ]
