"""Which failures of a model call say that nothing of an answer came and that asking again may help."""

import time
from collections.abc import Callable

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_completions
from lifecycle_core.testing import answers, faults
from lifecycle_core.testing.answers import Answer, Cut, Hold, Refusal, Reply, Script, Stream
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.providers.conftest import KEY, Chat, Listening

type Start = Callable[[Script], Chat]

HELLO = Answer(text="hello")
SAID = [answers.event(answers.chunk({"content": "a"}))]
ERROR_INSIDE = Stream([answers.event({"error": {"message": "overloaded"}}), answers.DONE])


def failed(chat: Chat, key: str = KEY) -> ports.ModelCallFailed:
    carrier = Listening()
    chat.run(carrier, key)
    assert carrier.failure is not None
    return carrier.failure


@pytest.mark.parametrize(
    ("status", "message", "retryable"),
    [
        (429, "slow down", True),
        (500, "", True),
        (502, "", True),
        (503, "busy", True),
        (529, "overloaded", True),
        (429, "You exceeded your current quota", False),
        (402, "Insufficient Balance", False),
        (400, "messages is missing", False),
        (400, "maximum context length is 65536 tokens", False),
        (401, "no", False),
        (404, "no such model", False),
        (408, "", False),
        (413, "", False),
    ],
)
def test_only_a_refusal_that_passes_may_be_asked_again(
    chat: Start, status: int, message: str, retryable: bool
) -> None:
    assert failed(chat(lambda request: Refusal(status=status, message=message))).retryable is retryable


def test_the_wait_that_a_server_asks_for_is_told(chat: Start) -> None:
    failure = failed(chat(lambda request: Refusal(status=429, retry_after="7", request_id="req-9")))
    assert (failure.retryable, failure.retry_after_ms) == (True, 7000)
    assert "request id req-9" in failure.detail


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (ERROR_INSIDE, "SERVER"),
        (Stream([Cut()]), "TRANSPORT"),
        (Stream(faults.malformed(SAID)), "MALFORMED_RESPONSE"),
        (Stream(SAID), "STREAM_CLOSED"),
        (Stream([*SAID, Cut()]), "STREAM_CLOSED"),
        (Answer(), "EMPTY_RESPONSE"),
        (Answer(text="x", finish="content_filter"), "CONTENT_FILTER"),
    ],
)
def test_what_came_after_the_question_had_left_is_never_asked_again(
    chat: Start, reply: Reply, code: str
) -> None:
    failure = failed(chat(lambda request: reply))
    assert (failure.code, failure.retryable) == (code, False)


@pytest.mark.parametrize(("key", "code"), [("", "MISSING_CREDENTIAL"), ("a b", "INVALID_CREDENTIAL")])
def test_a_key_that_cannot_be_sent_is_no_better_the_next_time(chat: Start, key: str, code: str) -> None:
    failure = failed(chat(lambda request: HELLO), key)
    assert (failure.code, failure.retryable) == (code, False)


def test_a_server_that_is_not_there_may_be_there_the_next_time(provider: ports.Provider) -> None:
    server = ModelServer(lambda request: HELLO)
    server.start()
    server.close()
    failure = failed(Chat(provider, server))
    assert (failure.code, failure.retryable) == ("TRANSPORT", True)


def test_silence_is_not_asked_again() -> None:
    hold = Hold()
    provider = chat_completions.ChatCompletions(idle=0.05)
    with ModelServer(faults.with_fault(lambda r: HELLO, faults.slow_first_byte(hold)), secret=KEY) as server:
        failure = failed(Chat(provider, server))
        hold.released.set()
    provider.dispose()
    assert (failure.code, failure.retryable) == ("TIMEOUT", False)


def test_the_idle_limit_runs_only_while_a_read_is_outstanding() -> None:
    idle = 0.05

    class Slow(MemoryCarrier):
        def _say(self, text: str) -> None:
            super()._say(text)
            ends = time.monotonic() + 2 * idle
            while time.monotonic() < ends:
                pass  # Whoever reads is at work, longer than the server may be silent.

    provider = chat_completions.ChatCompletions(idle=idle)
    with ModelServer(lambda request: HELLO, secret=KEY) as server:
        carrier = Slow()
        Chat(provider, server).run(carrier)
    provider.dispose()
    assert (carrier.text, carrier.events) == ("hello", [ports.TurnEnded()])
