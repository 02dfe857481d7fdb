"""The agent loop over a chat: ask the model, run its calls, tell it the results, until it makes none.

The loop knows nothing of sockets: a `Model` answers. It keeps every message through the carrier before the
next thing happens, so that a session which was left anywhere can be restored from what was kept.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from lifecycle_core.contract import digests, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.providers import chat_failures, chat_messages
from lifecycle_core.providers.chat_answer import Reply

ACCEPTED: Final = "accepted"
NO_RESULT: Final = "(no result: the turn ended before this call had one)"


class Model(Protocol):
    """Answer a chat."""

    def answer(self, messages: Sequence[bytes], secret: str, emit: Callable[[str], None]) -> Reply:
        """Answer once, giving text to `emit` as it comes. Raises `ports.ModelCallFailed`."""

    def interrupt(self) -> None:
        """Free whoever waits in `answer`, at once, and fail every later call with ABORTED."""


class ProtocolBroken(Exception):
    """What the model or the engine gave cannot be a part of a chat."""


def check_restorable(request: ports.SessionRequest) -> None:
    """Raise `LookupError` unless the request names a chat and holds its messages.

    A chat without messages is refused too: the first two are kept before the first model call, and whoever
    stores that a chat was opened stores them in the same commit. Without them there is nothing that could be
    restored exactly.
    """
    if not chat_messages.IDENTITY.fullmatch(request.opaque_identity):
        raise LookupError("no chat has this identity")
    if not request.messages or chat_messages.role(request.messages[0]) != "system":
        raise LookupError("the beginning of the chat is missing")
    chat_messages.open_calls(request.messages)


def opened(request: ports.SessionRequest, model: Model) -> "ChatSession":
    """Return a fresh chat."""
    return ChatSession(f"chat-{uuid.uuid4().hex}", request, model)


def restored(request: ports.SessionRequest, model: Model) -> "ChatSession":
    """Return exactly the chat that a request names. Raises `LookupError` where its messages are not those of a chat."""
    check_restorable(request)
    return ChatSession(request.opaque_identity, request, model)


class ChatSession:
    """Be one chat."""

    def __init__(self, opaque_identity: str, request: ports.SessionRequest, model: Model) -> None:
        self._opaque_identity = opaque_identity
        self._instructions = request.instructions
        self._messages = list(request.messages)
        self._model = model

    @property
    def opaque_identity(self) -> str:
        return self._opaque_identity

    def run(self, turn: ports.TurnInput, carrier: ports.Carrier, material: Mapping[str, str]) -> None:
        """Run one native turn to its end."""
        try:
            if self._take_up(turn, carrier):
                while self._step(carrier, material.get("secret", "")):
                    pass
        except ports.ModelCallFailed as failure:
            carrier.emit(chat_failures.native(failure))
        except ProtocolBroken as broken:
            carrier.emit(ports.ProviderFailed(code="PROVIDER_PROTOCOL_ERROR", detail=str(broken)))
        else:
            carrier.emit(ports.TurnEnded())

    def cancel(self) -> None:
        self._model.interrupt()

    def dispose(self) -> None:
        self._model.interrupt()

    def _take_up(self, turn: ports.TurnInput, carrier: ports.Carrier) -> bool:
        """Bring the chat to where the model is next, and tell whether it is."""
        if isinstance(turn, ports.Begin):
            self._begin(turn, carrier)
            return True
        if not self._messages:
            raise ProtocolBroken("a fresh chat cannot be resumed")
        self._give_results(turn.results, carrier)
        # The last word is the model's own, without a call: this native turn was over before it was left.
        return chat_messages.role(self._messages[-1]) != "assistant"

    def _begin(self, turn: ports.Begin, carrier: ports.Carrier) -> None:
        if not self._messages:
            self._keep(chat_messages.system(self._instructions), carrier)
        # A chat that earlier episodes used may end in calls that got no result; servers refuse unanswered
        # calls.
        for call_id, tool in chat_messages.open_calls(self._messages).items():
            content = ACCEPTED if tool == "workflow_complete" else NO_RESULT
            self._keep(chat_messages.tool(call_id, content), carrier)
        self._keep(chat_messages.user(turn.purpose, turn.input), carrier)

    def _step(self, carrier: ports.Carrier, secret: str) -> bool:
        """Ask the model once and run its calls; tell whether it is to be asked again."""
        written: dict[str, str] = {}
        told = _Told(self._messages)

        def perform(emit: Callable[[str], None]) -> ports.ModelAnswer:
            reply = self._model.answer(told.messages, secret, emit)
            written.clear()
            written.update(reply.written)
            return reply.answer

        answer = carrier.call_model(perform, told)
        _check(answer.calls)
        self._keep(chat_messages.assistant(answer, written), carrier)
        if not answer.calls:
            return False
        self._give_results(carrier.call_tools(answer.calls), carrier)
        return True

    def _give_results(self, results: Sequence[ports.ToolResult], carrier: ports.Carrier) -> None:
        """Keep the results that the chat does not hold yet, in the order of the calls."""
        contents = {result.call_id: result.content for result in results}
        for call_id in chat_messages.open_calls(self._messages):
            if call_id not in contents:
                raise ProtocolBroken(f"the call {call_id} has no result")
            self._keep(chat_messages.tool(call_id, contents[call_id]), carrier)

    def _keep(self, message: bytes, carrier: ports.Carrier) -> None:
        self._messages.append(message)
        carrier.keep(message)


class _Told:
    """What the model is told next; plugins may put something else in its place, for this once."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.messages: Sequence[bytes] = messages

    def shown(self) -> list[dict[str, Json]]:
        return [chat_messages.read(message) for message in self.messages]

    def put(self, messages: Sequence[Mapping[str, Json]]) -> None:
        self.messages = [digests.canonical(message) for message in messages]


def _check(calls: Sequence[ports.ProposedCall]) -> None:
    """Refuse an answer in which two calls cannot be told apart: one would be shown and both be run."""
    identities = [call.call_id for call in calls]
    if not all(identities) or not all(call.tool for call in calls):
        raise ProtocolBroken("the model made a call without an id or a tool name")
    if len(set(identities)) != len(identities):
        raise ProtocolBroken("the model gave two calls the same id")
