"""Input requests over REST: answered once, by what fits."""

from lifecycle_core.contract import digests
from tests.console.api.conftest import Api, World

FIELDS = {
    "id",
    "state",
    "invocation",
    "delivery",
    "agent",
    "request_identity",
    "prompt",
    "display",
    "response_schema",
    "requested_at",
    "expires_at",
}


def test_a_question_shows_what_is_asked(api: Api, world: World) -> None:
    shown = api.get(f"inputs/{world.input().id}").json()
    assert set(shown) >= FIELDS
    assert shown["prompt"] == "For whom?"
    assert shown["answered_at"] is None


def test_an_answer_lets_the_agent_go_on(api: Api, world: World) -> None:
    question = world.input()
    shown = api.post(f"inputs/{question.id}/answer", {"content": "Customers"}, "operator").json()
    assert (shown["state"], shown["answered_by"]) == ("answered", "token:operator")
    world.drive(question.invocation)
    assert api.get(f"invocations/{question.invocation}").json()["status"] == "completed"


def test_bindings_that_fit_may_be_sent_along(api: Api, world: World) -> None:
    question = world.input()
    body = {
        "kind": "ANSWER",
        "content": "Customers",
        "request_identity": question.request_identity,
        "content_identity": digests.digest("Customers"),
    }
    assert api.post(f"inputs/{question.id}/answer", body, "operator").status_code == 200


def test_a_question_can_be_declined(api: Api, world: World) -> None:
    question = world.input()
    shown = api.post(f"inputs/{question.id}/decline", {"reason": "Nobody knows"}, "operator").json()
    assert shown["state"] == "declined"
    world.drive(question.invocation)
    assert api.get(f"invocations/{question.invocation}").json()["status"] == "completed"


def test_the_same_person_repeating_an_answer_gets_the_same_answer(api: Api, world: World) -> None:
    question = world.input()
    first = api.post(f"inputs/{question.id}/answer", {"content": "Customers"}, "operator")
    again = api.post(f"inputs/{question.id}/answer", {"content": "Customers"}, "operator")
    assert first.content == again.content


def test_another_answer_learns_who_was_first(api: Api, world: World) -> None:
    question = world.input()
    api.post(f"inputs/{question.id}/answer", {"content": "Customers"}, "operator")
    for path, body in (("answer", {"content": "Partners"}), ("decline", {})):
        response = api.post(f"inputs/{question.id}/{path}", body, "owner")
        assert (response.status_code, response.json()["code"]) == (409, "ALREADY_DECIDED")
        assert response.json()["decided"]["by"] == "token:operator"
        assert response.json()["decided"]["decision"] == "answered"
