"""What a failed request is called, and what of it is passed on (reference: seed-contracts 16)."""

import email.utils
import time
from collections.abc import Callable

import pytest

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import chat_completions
from lifecycle_core.testing import faults
from lifecycle_core.testing.answers import Answer, Cut, Hold, Refusal, Script, Stream
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.providers.conftest import KEY, Chat

type Start = Callable[[Script], Chat]


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "no", "AUTH"),
        (403, "quota", "AUTH"),
        (402, "Insufficient Balance", "QUOTA"),
        (429, "You exceeded your current quota", "QUOTA"),
        (429, "slow down", "RATE_LIMIT"),
        (400, "This model's maximum context length is 65536 tokens", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "messages is missing", "INVALID_REQUEST"),
        (413, "too large", "INVALID_REQUEST"),
        (500, "quota service down", "SERVER"),
        (503, "busy", "SERVER"),
        (404, "no such model", "HTTP_404"),
        (302, "elsewhere", "HTTP_302"),
    ],
)
def test_a_status_has_a_code_and_is_asked_once(chat: Start, status: int, message: str, code: str) -> None:
    started = chat(lambda request: Refusal(status=status, message=message))
    assert started.failure()[0] == code
    assert len(started.server.received) == 1


def test_the_words_of_the_server_its_request_id_and_the_wait_it_asks_for_are_kept(chat: Start) -> None:
    refusal = Refusal(status=503, message="busy now", retry_after="7", request_id="req-1")
    detail = chat(lambda request: refusal).failure()[1]
    assert all(part in detail for part in ("busy now", "retry after 7000 ms", "request id req-1"))


def test_a_wait_may_be_a_date(chat: Start) -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    detail = chat(lambda request: Refusal(status=429, retry_after=date)).failure()[1]
    assert 90_000 < int(detail.split("retry after ")[1].split(" ")[0]) <= 100_000


@pytest.mark.parametrize("retry_after", ["soon", "-1", "9" * 400])
def test_a_wait_that_makes_no_sense_is_none(chat: Start, retry_after: str) -> None:
    assert (
        "retry after" not in chat(lambda request: Refusal(status=429, retry_after=retry_after)).failure()[1]
    )


def test_nothing_of_an_answer_that_may_quote_the_key_is_passed_on(chat: Start) -> None:
    detail = chat(lambda request: Refusal(status=401, message=f"bad key {KEY[:6]}***{KEY[-4:]}")).failure()[1]
    assert KEY[:6] not in detail
    assert KEY[-4:] not in detail


def test_the_key_is_redacted_from_the_words_of_a_server(chat: Start) -> None:
    detail = chat(lambda request: Refusal(status=500, message=f"failed with {KEY}")).failure()[1]
    assert KEY not in detail
    assert "[REDACTED]" in detail


def test_the_wrong_key_is_refused_by_the_server(chat: Start) -> None:
    assert chat(lambda request: Answer(text="hi")).failure(key="another")[0] == "AUTH"


def test_without_a_key_nothing_is_asked(chat: Start) -> None:
    started = chat(lambda request: Answer(text="hi"))
    assert started.failure(key="")[0] == "MISSING_CREDENTIAL"
    assert not started.server.received


@pytest.mark.parametrize("key", ["mysecret\r\nx-evil: 1", "my secret", "mysecrét", "mysecret\x7f"])
def test_a_key_that_no_header_can_carry_is_not_sent_and_not_told(chat: Start, key: str) -> None:
    started = chat(lambda request: Answer(text="hi"))
    code, detail = started.failure(key=key)
    assert code == "INVALID_CREDENTIAL"
    assert "secr" not in detail
    assert not started.server.received


def test_a_server_that_is_not_there_is_a_failure_of_the_transport(provider: ports.Provider) -> None:
    server = ModelServer(lambda request: Answer(text="hi"))
    server.start()
    server.close()
    assert Chat(provider, server).failure()[0] == "TRANSPORT"


def test_a_connection_dropped_before_the_answer_is_a_failure_of_the_transport(chat: Start) -> None:
    assert chat(lambda request: Stream([Cut()])).failure()[0] == "TRANSPORT"


@pytest.mark.parametrize("fault", [faults.slow_first_byte, faults.stalled])
def test_a_server_that_falls_silent_runs_into_the_idle_limit(fault: Callable[[Hold], faults.Fault]) -> None:
    hold = Hold()
    provider = chat_completions.ChatCompletions(idle=0.05)
    with ModelServer(faults.with_fault(lambda request: Answer(text="hi"), fault(hold)), secret=KEY) as server:
        (event,) = Chat(provider, server).run().events
        hold.released.set()
    provider.dispose()
    assert isinstance(event, ports.ProviderFailed)
    assert event.code == "PROVIDER_TIMED_OUT"
    assert event.detail.startswith("TIMEOUT: ")


def test_the_proxies_of_the_environment_are_not_used(chat: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert chat(lambda request: Answer(text="hi")).answer().text == "hi"


@pytest.mark.parametrize(
    "base_url",
    ["", "ftp://a/v1", "http://", "http://user:key@a/v1", "http://a/v1?key=x", "http://a/v1#x", "a/v1"],
)
def test_a_base_url_that_is_no_plain_one_is_refused(provider: ports.Provider, base_url: str) -> None:
    route = ports.ModelRoute(model="m", base_url=base_url, configuration={})
    with pytest.raises(errors.ConfigurationInvalid):
        provider.open(
            ports.SessionRequest(affinity="", instructions="", opaque_identity="", route=route, tools=())
        )


def test_a_setting_that_nobody_knows_is_refused(provider: ports.Provider) -> None:
    route = ports.ModelRoute(model="m", base_url="http://a/v1", configuration={"temprature": 1})
    with pytest.raises(errors.ConfigurationInvalid, match="CONFIGURATION_INVALID"):
        provider.open(
            ports.SessionRequest(affinity="", instructions="", opaque_identity="", route=route, tools=())
        )
