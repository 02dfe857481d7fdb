"""A model server that follows a script, over a real socket on the loopback interface.

    with ModelServer(script, secret="synthetic") as server:
        provider talks to server.base_url with the key "synthetic"

Requests are kept, the last `keep` of them, for a test to look at; nothing is ever logged.
"""

import hmac
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lifecycle_core.testing import answers, loopback, messages
from lifecycle_core.testing.answers import Answer, Cut, Hold, Piece, Refusal, Script, Stream
from lifecycle_core.testing.chat_requests import ChatRequest

CHATS: Final = "/v1/chat/completions"
MESSAGES: Final = "/v1/messages"


@dataclass(frozen=True, kw_only=True)
class Received:
    """A request as it came; header names are in lower case, `connection` tells which requests shared one."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int


class ModelServer(loopback.LoopbackServer):
    """Answer chat completions and streamed messages as a script says.

    `secret` is the one key that is accepted; empty accepts any. `pace` is the pause between two pieces in
    seconds, for people who watch.
    """

    def __init__(
        self, script: Script, *, secret: str = "", port: int = 0, pace: float = 0.0, keep: int = 1000
    ) -> None:
        self.script = script
        self.secret = secret
        self.pace = pace
        self.received: deque[Received] = deque(maxlen=keep)
        super().__init__(type("Handler", (_Handler,), {"model": self}), port)

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"


class _Handler(loopback.Handler):
    model: ModelServer

    def do_POST(self) -> None:
        body = self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.model.received.append(
            Received(path=self.path, headers=headers, body=body, connection=self.client_address[1])
        )
        if self.path not in (CHATS, MESSAGES):
            self._refuse(Refusal(status=404, message="there is nothing here"))
        elif not self._is_admitted():
            self._refuse(Refusal(status=401, message="the key is not valid"))
        elif self.path == CHATS:
            request = ChatRequest.of(json.loads(body))
            self._answer(request, lambda answer: answers.events(answer, request))
        else:
            asked = json.loads(body)
            message = messages.request(asked)
            self._answer(message, lambda answer: messages.events(answer, message, messages.names(asked)))

    def _is_admitted(self) -> bool:
        secret, headers = self.model.secret, self.headers
        wanted, given = f"Bearer {secret}", headers.get("authorization", "")
        if self.path == MESSAGES:
            wanted, given = secret, headers.get("x-api-key", "")
        return not secret or hmac.compare_digest(wanted.encode(), given.encode("latin-1", "replace"))

    def _answer(self, request: ChatRequest, events_of: Callable[[Answer], list[bytes]]) -> None:
        match self.model.script(request):
            case Refusal() as refusal:
                self._refuse(refusal)
            case Stream() as stream:
                self._stream(stream.pieces)
            case Answer() as answer:
                events = events_of(answer)
                # Nobody watches an answer without a pace, so it goes out in one write.
                self._stream(events if self.model.pace else [b"".join(events)])

    def _refuse(self, refusal: Refusal) -> None:
        headers = {"content-type": "application/json"}
        headers |= {"retry-after": refusal.retry_after} if refusal.retry_after else {}
        headers |= {"x-request-id": refusal.request_id} if refusal.request_id else {}
        body = json.dumps({"error": {"message": refusal.message}}).encode()
        self.reply(refusal.status, body, headers)

    def _stream(self, pieces: Iterable[Piece]) -> None:
        """Send a chunked body; the headers go out with the first bytes, so that a hold before them holds them too."""
        begun = False
        for piece in pieces:
            if isinstance(piece, Cut):
                self.wfile.flush()
                self.drop()
                return
            if isinstance(piece, Hold):
                self._wait(piece)
                continue
            if not begun:
                self._begin()
                begun = True
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if self.model.pace:
                self.wfile.flush()
                self.model.closing.wait(self.model.pace)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _begin(self) -> None:
        self.send_response_only(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _wait(self, hold: Hold) -> None:
        self.wfile.flush()
        hold.reached.set()
        hold.released.wait()
