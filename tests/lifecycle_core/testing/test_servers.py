"""The servers that stand in for the outside do what they are told, and end when they are told."""

import json
import threading

import httpx
import pytest

from lifecycle_core.testing.answers import Answer, Hold, Refusal
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.model_server import ModelServer

BODY = {"model": "m", "messages": [{"role": "user", "content": "p\n\n{}"}]}
KEY = {"authorization": "Bearer k"}
PATH = "/v1/chat/completions"


def test_a_model_server_streams_events_and_keeps_the_connection() -> None:
    with ModelServer(lambda request: Answer(text="hello"), secret="k") as server, httpx.Client() as client:
        for _ in range(2):
            response = client.post(server.origin + PATH, json=BODY, headers=KEY)
            assert response.headers["content-type"] == "text/event-stream"
            assert response.content.endswith(b"data: [DONE]\n\n")
        assert len({received.connection for received in server.received}) == 1


@pytest.mark.parametrize(("path", "key", "status"), [(PATH, "other", 401), ("/v1/models", "k", 404)])
def test_a_model_server_refuses_another_key_and_another_path(
    path: str, key: str, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(lambda request: Answer(text="hello"), secret="k") as server:
        response = httpx.post(server.origin + path, json=BODY, headers={"authorization": f"Bearer {key}"})
    assert response.status_code == status
    assert "other" not in response.text
    assert capfd.readouterr() == ("", "")


def test_a_refusal_says_when_to_come_back() -> None:
    refusal = Refusal(status=503, message="busy", retry_after="3", request_id="r")
    with ModelServer(lambda request: refusal) as server:
        response = httpx.post(server.origin + PATH, json=BODY)
    assert (response.status_code, response.json()) == (503, {"error": {"message": "busy"}})
    assert (response.headers["retry-after"], response.headers["x-request-id"]) == ("3", "r")


def test_a_server_that_is_closed_drops_the_connections_that_it_kept() -> None:
    server = ModelServer(lambda request: Answer(text="hello"))
    server.start()
    with httpx.Client() as client:
        client.post(server.origin + PATH, json=BODY)
        server.close()
        server.close()
        with pytest.raises(httpx.TransportError):
            client.post(server.origin + PATH, json=BODY)


def test_a_sink_remembers_posts() -> None:
    with HttpSink(status=202) as sink:
        assert httpx.post(sink.url, json={"a": 1}).status_code == 202
        assert [(post.path, json.loads(post.body)) for post in sink.posts] == [("/status", {"a": 1})]


def test_a_sink_can_drop_the_answer_to_a_post_that_counts() -> None:
    with HttpSink(mode="drop") as sink:
        with pytest.raises(httpx.TransportError):
            httpx.post(sink.url, json={})
        assert len(sink.posts) == 1


def test_a_sink_can_delay_its_answer() -> None:
    hold = Hold()
    statuses: list[int] = []
    with HttpSink(hold=hold) as sink:
        thread = threading.Thread(target=lambda: statuses.append(httpx.post(sink.url, json={}).status_code))
        thread.start()
        assert hold.reached.wait(10)
        assert len(sink.posts) == 1
        assert not statuses
        hold.released.set()
        thread.join(10)
    assert statuses == [201]
