"""Input requests: list, show, answer, decline."""

from typing import Any, Final, Literal
from uuid import UUID

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Display, Instant, Json, Object, Page
from lifecycle_core.application import inputs, queries, resources

router = Router(tags=["inputs"])

type State = Literal["pending", "answered", "declined", "expired", "cancelled"]


class Input(Schema):
    id: str
    state: State
    invocation: str
    delivery: str
    agent: str
    model: str
    requester: str
    request_identity: str
    prompt: str
    display: Display
    response_schema: Json
    requested_at: Instant
    expires_at: Instant
    answered_by: str | None
    answered_at: Instant | None
    answer: Json
    receipt: Object | None


class Answer(wire.Body):
    """An answer. The server binds the request's identity and the content's digest; sent along, they are checked."""

    kind: Literal["ANSWER", "ACTION_FINISH_REQUESTED"] = "ANSWER"
    content: Any
    request_identity: wire.Word | None = None
    content_identity: wire.Digest | None = None


class Decline(wire.Body):
    reason: wire.Prose = ""


UNSAID: Final = Decline()


@router.get("", response=Page[Input], summary="List input requests")
def listed(
    request: Request,
    state: State | None = None,
    invocation: UUID | None = None,
    agent: wire.Text = None,
    text: wire.Text = None,
    cursor: wire.Cursor = None,
    limit: wire.Limit = 50,
) -> resources.Page[resources.InputItem]:
    return queries.inputs(
        request.auth, state=state, invocation=invocation, agent=agent, text=text, cursor=cursor, limit=limit
    )


@router.get("/{uuid:input}", response=Input, summary="Show an input request")
def shown(request: Request, input: UUID) -> resources.InputItem:
    return queries.input(request.auth, input)


@router.post("/{uuid:input}/answer", response=Input, summary="Answer an input request")
def answer(request: Request, input: UUID, body: Answer, key: wire.Key = None) -> resources.InputItem:
    return inputs.answer(
        request.auth,
        input,
        content=body.content,
        kind=body.kind,
        request_identity=body.request_identity,
        content_identity=body.content_identity,
        key=key,
    )


@router.post("/{uuid:input}/decline", response=Input, summary="Decline an input request")
def decline(
    request: Request, input: UUID, body: Decline = UNSAID, key: wire.Key = None
) -> resources.InputItem:
    return inputs.decline(request.auth, input, reason=body.reason, key=key)
