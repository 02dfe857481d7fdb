"""Answers to what an agent asked people (reference: seed-contracts 8).

An answer is checked against the persisted response schema before it becomes a fact, because a stored answer that does not fit
would burn the episode.
"""

from dataclasses import dataclass
from typing import Literal

from lifecycle_core.contract import digests, errors, events, identities
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import CallRecord
from lifecycle_core.engine import approvals, result_schema

type ResponseKind = Literal["ANSWER", "ACTION_FINISH_REQUESTED"]


@dataclass(frozen=True, kw_only=True)
class Response:
    """An interaction response; `content_identity` is the digest of its content."""

    kind: ResponseKind
    request_identity: str
    content: Json
    content_identity: str

    def as_json(self) -> dict[str, Json]:
        """Return the form of the contract."""
        return {
            "kind": self.kind,
            "requestIdentity": self.request_identity,
            "content": self.content,
            "contentIdentity": self.content_identity,
        }


def problems(response_schema: Json, kind: ResponseKind, content: Json) -> list[errors.Problem]:
    """Return what keeps a content from being the answer; a wish to finish answers nothing, so it need not fit."""
    return result_schema.validate(response_schema, content) if kind == "ANSWER" else []


def told(kind: ResponseKind, content: Json) -> Json:
    """Return what the agent is told of an answer."""
    return {"kind": kind, "content": content}


def answer(
    asking: CallRecord,
    *,
    input: str,
    request_identity: str,
    response_schema: Json,
    by: str,
    kind: ResponseKind,
    content: Json,
) -> list[Event]:
    """Give the agent what a person answered. Raises `errors.SchemaInvalid` for an answer that does not fit."""
    wrong = problems(response_schema, kind, content)
    if wrong:
        raise errors.SchemaInvalid(problems=wrong)
    response = Response(
        kind=kind,
        request_identity=request_identity,
        content=content,
        content_identity=digests.digest(content),
    )
    return [
        events.InputAnswered(
            input=input,
            call=asking.id,
            by=by,
            response_kind=kind,
            request_identity=request_identity,
            content=content,
            content_identity=response.content_identity,
            receipt=identities.receipt(response.as_json()),
        ),
        approvals.settled(asking, "answered", told(kind, content)),
    ]


def decline(asking: CallRecord, *, input: str, by: str, reason: str) -> list[Event]:
    """Tell the agent that a person does not answer."""
    declined: Json = {"kind": "DECLINED", "detail": "A person declined to answer.", "reason": reason}
    return [
        events.InputDeclined(input=input, call=asking.id, by=by, reason=reason),
        approvals.settled(asking, "denied", declined),
    ]


def expire(asking: CallRecord, input: str) -> list[Event]:
    """Close an input request whose time has passed; that declines it."""
    expired: Json = {"kind": "EXPIRED", "detail": "Nobody answered in time."}
    return [events.InputExpired(input=input, call=asking.id), approvals.settled(asking, "expired", expired)]
