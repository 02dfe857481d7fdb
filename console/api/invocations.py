"""Invocations: start, list, show, cancel, and what they did."""

from typing import Any, Final, Literal
from uuid import UUID

from ninja import Router, Schema, Status

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Instant, Json, Object, Page
from lifecycle_core.application import cancellations, continuing, invocations, queries, resources, retries
from lifecycle_core.contract import errors
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.status import Status as InvocationStatus

router = Router(tags=["invocations"])

REQUIRED: Final = ("agent", "action", "input")


class OpenRequest(Schema):
    id: str
    kind: Literal["approval", "input"]


class Invocation(Schema):
    id: str
    status: str
    agent: str
    action: str
    provider: str
    model: str
    delivery: str
    delivery_id: str
    attempt: int
    parent: str | None
    requester: str
    open_requests: list[OpenRequest]
    disposition: Object | None
    input: Json
    model_turns: int
    tool_calls: int
    tokens: int
    version: int
    created_at: Instant
    updated_at: Instant


class Event(Schema):
    seq: int
    position: int
    kind: str
    at: Instant
    actor: str
    payload: Object
    hash: str
    corrupt: bool


class TranscriptEntry(Schema):
    seq: int
    at: Instant
    kind: str
    who: str
    text: str
    value: Json
    refers: str


class Start(wire.Body):
    """What to run: an action of an agent with its input, or a complete dispatch in the place of these.

    `delivery` names a unit of work, new or known; a dispatch names its own.
    """

    agent: wire.Word | None = None
    action: wire.Word | None = None
    input: Any = None
    delivery: wire.Word | None = None
    context: dict[str, Any] | None = None
    dispatch: dict[str, Any] | None = None

    def check_form(self) -> None:
        """Refuse what names neither, or both."""
        if "dispatch" in self.model_fields_set:
            problems = [
                Problem(f"/{name}", "a complete dispatch says this itself")
                for name in ("agent", "action", "input", "delivery")
                if name in self.model_fields_set
            ]
        else:
            problems = [Problem(f"/{name}", "Field required") for name in REQUIRED if self._lacks(name)]
        if problems:
            raise errors.SchemaInvalid(problems=problems)

    def _lacks(self, name: str) -> bool:
        return name not in self.model_fields_set or (name != "input" and getattr(self, name) is None)


class Cancel(wire.Body):
    reason: Literal["DELIVERY_CANCELLED", "TIMEOUT", "COORDINATOR_STOP"] = "COORDINATOR_STOP"
    comment: wire.Prose = ""


class Retry(wire.Body):
    """Nothing is to be said: the next attempt is at the same thing."""


UNSAID: Final = Cancel()
AGAIN: Final = Retry()


class Response(wire.Body):
    """An interaction response in the form of the contract; `contentIdentity` is the digest of the content."""

    kind: Literal["ANSWER", "ACTION_FINISH_REQUESTED"]
    requestIdentity: wire.Word
    content: Any
    contentIdentity: wire.Word


class Continue(wire.Body):
    """What a host continues with: the episode as it was dispatched, and a response that counts without being checked first."""

    episode: dict[str, Any]
    response: Response


@router.post("", response={202: Invocation}, summary="Start an invocation")
def start(request: Request, body: Start, key: wire.Key = None) -> Status[resources.InvocationItem]:
    body.check_form()
    given = body.given(*Start.model_fields)
    use = invocations.start_dispatch if "dispatch" in given else invocations.start
    return Status(202, use(request.auth, **given, key=key))


@router.get("", response=Page[Invocation], summary="List invocations")
def listed(
    request: Request,
    status: InvocationStatus | None = None,
    agent: wire.Text = None,
    delivery: wire.Text = None,
    text: wire.Text = None,
    cursor: wire.Cursor = None,
    limit: wire.Limit = 50,
) -> resources.Page[resources.InvocationItem]:
    return queries.invocations(
        request.auth, status=status, agent=agent, delivery=delivery, text=text, cursor=cursor, limit=limit
    )


@router.get("/{uuid:invocation}", response=Invocation, summary="Show an invocation")
def shown(request: Request, invocation: UUID) -> resources.InvocationItem:
    return queries.invocation(request.auth, invocation)


@router.get("/{uuid:invocation}/events", response=Page[Event], summary="Read the journal of an invocation")
def events(
    request: Request,
    invocation: UUID,
    kind: wire.Text = None,
    actor: wire.Text = None,
    text: wire.Text = None,
    after: wire.After = 0,
    limit: wire.ManyLimit = 200,
) -> resources.Page[resources.EventItem]:
    return queries.events(
        request.auth, invocation, kind=kind, actor_name=actor, text=text, after=after, limit=limit
    )


@router.get("/{uuid:invocation}/transcript", response=Page[TranscriptEntry], summary="Read what was said")
def transcript(request: Request, invocation: UUID) -> dict[str, object]:
    return {"items": queries.transcript(request.auth, invocation), "next": None}


@router.get(
    "/{uuid:invocation}/dispatch", response=dict[str, Any], summary="Show the dispatch it was started with"
)
def dispatch(request: Request, invocation: UUID) -> Any:
    return queries.dispatch(request.auth, invocation)


@router.get("/{uuid:invocation}/disposition", response=dict[str, Any], summary="Show how it ended or paused")
def disposition(request: Request, invocation: UUID) -> dict[str, Any]:
    item = queries.invocation(request.auth, invocation)
    return {"id": item.id, "status": item.status, **(item.disposition or {"kind": None})}


@router.post("/{uuid:invocation}/cancel", response=Invocation, summary="Cancel one invocation")
def cancel(
    request: Request, invocation: UUID, body: Cancel = UNSAID, key: wire.Key = None
) -> resources.InvocationItem:
    return cancellations.cancel(request.auth, invocation, reason=body.reason, comment=body.comment, key=key)


@router.post(
    "/{uuid:invocation}/continue",
    response=Invocation,
    summary="Continue with a complete response; one that is wrong makes the invocation invalid",
)
def continue_(
    request: Request, invocation: UUID, body: Continue, key: wire.Key = None
) -> resources.InvocationItem:
    response = body.response
    return continuing.continue_with_input(
        request.auth,
        invocation,
        episode=body.episode,
        kind=response.kind,
        request_identity=response.requestIdentity,
        content=response.content,
        content_identity=response.contentIdentity,
        key=key,
    )


@router.post("/{uuid:invocation}/retry", response={202: Invocation}, summary="Start the next attempt")
def retry(
    request: Request, invocation: UUID, body: Retry = AGAIN, key: wire.Key = None
) -> Status[resources.InvocationItem]:
    return Status(202, retries.retry(request.auth, invocation, key=key))
