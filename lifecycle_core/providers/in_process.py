"""Run chats with a function for a model: the same loop as over the wire, and no socket.

For benches and tests that are about everything but the model's wire.
"""

from collections.abc import Callable, Sequence

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_completions, chat_session
from lifecycle_core.providers.chat_answer import Reply

type Respond = Callable[[str, Sequence[bytes]], ports.ModelAnswer]


class FunctionModel:
    """Answer a chat by calling a function."""

    def __init__(self, respond: Respond, model: str) -> None:
        self._respond = respond
        self._model = model
        self._interrupted = False

    def answer(self, messages: Sequence[bytes], secret: str, emit: Callable[[str], None]) -> Reply:
        """Answer once, in one piece. Raises `ports.ModelCallFailed`."""
        if self._interrupted:
            raise ports.ModelCallFailed("ABORTED", "the call was cancelled")
        answer = self._respond(self._model, messages)
        if answer.text:
            emit(answer.text)
        return Reply(answer=answer)

    def interrupt(self) -> None:
        self._interrupted = True


class InProcessProvider:
    """Open and restore chats in which `respond(model, messages)` answers.

    It may raise `ports.ModelCallFailed`, as a server would fail.
    """

    def __init__(self, respond: Respond, key: str = chat_completions.KEY) -> None:
        self.key = key
        self._respond = respond

    def open(self, request: ports.SessionRequest) -> chat_session.ChatSession:
        return chat_session.opened(request, self._model(request))

    def restore(self, request: ports.SessionRequest) -> chat_session.ChatSession:
        """Restore a chat from its kept messages. Raises `LookupError` where they are not those of a chat."""
        return chat_session.restored(request, self._model(request))

    def dispose(self) -> None:
        """Keep nothing, so give nothing back."""

    def _model(self, request: ports.SessionRequest) -> FunctionModel:
        return FunctionModel(self._respond, request.route.model)
