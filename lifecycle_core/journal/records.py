"""Read what the engine needs to go on: invocations, calls, sessions."""

from typing import Any, Final
from uuid import UUID

from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.identities import DeliveryRef
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import blobs
from lifecycle_core.journal.sql import Run, Statement, as_uuid

LOAD: Final = Statement(
    "SELECT i.id, i.tenant, d.identity, d.manifest_binding, d.activation_binding, i.delivery_id, b.body, i.agent,"
    " i.agent_binding, i.action, i.provider, i.model, i.attempt, i.requester, i.status, i.version, i.token, i.worker,"
    " i.lease_expires_at, i.created_at, i.model_turns, i.tool_calls, i.tokens, i.output_sequence, i.affinity, i.session,"
    " i.generation, i.open_requests"
    " FROM journal_invocation AS i JOIN journal_delivery AS d ON d.id = i.delivery_id"
    " JOIN journal_dispatchrow AS b ON b.invocation_id = i.id WHERE i.id = %s"
)
PLACE: Final = Statement("SELECT status, version, token, model_turns FROM journal_invocation WHERE id = %s")
CALLS: Final = Statement(
    'SELECT i.delivery_id, c.identity, c.call_id, c.model_turn, c."index", c.tool, c.effect_class, c.state, c.arguments,'
    " c.proposed, c.attempts, c.approval, c.edited, c.bound, c.effective_digest, c.expires_at, c.outcome, c.content"
    " FROM journal_invocation AS i LEFT JOIN journal_toolcall AS c ON c.invocation_id = i.id AND c.model_turn = %s"
    ' WHERE i.id = %s ORDER BY c."index", c.identity'
)
AFFINITY: Final = Statement(
    "SELECT opaque_identity, generation FROM journal_session WHERE tenant = %s AND affinity = %s AND opaque_identity <> ''"
)
MESSAGES: Final = Statement(
    "SELECT s.delivery_id, m.body, m.blob FROM journal_session AS s JOIN journal_sessionmessage AS m ON m.session_id = s.id"
    ' WHERE s.tenant = %s AND s.affinity = %s ORDER BY m."index"'
)
OPEN: Final = Statement(
    "SELECT 'approval', id, call, requested_at FROM journal_approval WHERE invocation_id = %s AND state = 'pending'"
    " UNION ALL SELECT 'input', id, call, requested_at FROM journal_inputrequest"
    " WHERE invocation_id = %s AND state = 'pending' ORDER BY requested_at, id"
)
QUESTION: Final = Statement(
    "SELECT i.delivery_id, r.id, r.call, r.request_identity, r.response_schema FROM journal_inputrequest AS r"
    " JOIN journal_invocation AS i ON i.id = r.invocation_id WHERE r.invocation_id = %s AND r.state = 'pending'"
)


LOADED: Final = (
    *(
        "agent",
        "agent_binding",
        "action",
        "provider",
        "model",
        "attempt",
        "requester",
        "status",
        "version",
        "token",
    ),
    *(
        "worker",
        "lease_expires_at",
        "created_at",
        "model_turns",
        "tool_calls",
        "tokens",
        "output_sequence",
        "affinity",
    ),
    *("session", "generation", "open_requests"),
)
CALL: Final = (
    *(
        "id",
        "call_id",
        "model_turn",
        "index",
        "tool",
        "effect_class",
        "state",
        "arguments",
        "proposed",
        "attempts",
    ),
    *("approval", "edited", "bound", "effective_digest", "expires_at", "outcome", "content"),
)


def load(run: Run, invocation: UUID) -> ports.InvocationRecord:
    """Return where an invocation stands. Raises `errors.NotFound`."""
    row = run(LOAD, (invocation,)).fetchone()
    if row is None:
        raise errors.NotFound
    _, tenant, identity, manifest, activation, delivery, dispatch, *rest = row
    values: dict[str, Any] = dict(zip(LOADED, rest, strict=True))
    values["status"] = Status(values["status"])
    values["dispatch"] = blobs.unfold(dispatch, blobs.loader(run, as_uuid(delivery)))
    reference = DeliveryRef(identity=identity, manifest_binding=manifest, activation_binding=activation)
    return ports.InvocationRecord(id=invocation, tenant=tenant, delivery=reference, **values)


def place(run: Run, invocation: UUID) -> ports.Place:
    """Return where an invocation stands, whatever is stored beside that. Raises `errors.NotFound`."""
    row = run(PLACE, (invocation,)).fetchone()
    if row is None:
        raise errors.NotFound
    status, version, token, model_turns = row
    return ports.Place(status=Status(status), version=version, token=token, model_turns=model_turns)


def calls(run: Run, invocation: UUID, model_turn: int) -> list[ports.CallRecord]:
    """Return the calls of one model turn in their order. Raises `errors.NotFound`."""
    rows = run(CALLS, (model_turn, invocation)).fetchall()
    if not rows:
        raise errors.NotFound
    load_blob = blobs.loader(run, as_uuid(rows[0][0]))
    return [_call(row[1:], load_blob) for row in rows if row[1] is not None]


def _call(row: tuple[Any, ...], load_blob: Any) -> ports.CallRecord:
    values: dict[str, Any] = dict(zip(CALL, row, strict=True))
    for name in ("arguments", "proposed", "bound", "content"):
        values[name] = blobs.unfold(values[name], load_blob)
    values["approval"] = str(as_uuid(values["approval"])) if values["approval"] else None
    values["effect_class"] = ports.EffectClass(values["effect_class"])
    return ports.CallRecord(**values)


def affinity(run: Run, tenant: str, identity: str) -> tuple[str, int] | None:
    """Return the session bound to an affinity and its generation, or nothing."""
    row = run(AFFINITY, (tenant, identity)).fetchone()
    return (row[0], row[1]) if row else None


def messages(run: Run, tenant: str, affinity: str) -> tuple[bytes, ...]:
    """Return the messages of a session in their order, byte for byte."""
    rows = run(MESSAGES, (tenant, affinity)).fetchall()
    load_blob = blobs.loader(run, as_uuid(rows[0][0])) if rows else None
    return tuple(load_blob(blob) if blob and load_blob else bytes(body) for _, body, blob in rows)


def open_requests(run: Run, invocation: UUID) -> list[ports.OpenRequest]:
    """Return the requests of an invocation that nobody has answered, oldest first."""
    rows = run(OPEN, (invocation, invocation)).fetchall()
    return [
        ports.OpenRequest(kind=kind, id=str(as_uuid(identity)), call=call) for kind, identity, call, _ in rows
    ]


def question(run: Run, invocation: UUID) -> ports.Question | None:
    """Return what an invocation asks people, if it asks."""
    row = run(QUESTION, (invocation,)).fetchone()
    if row is None:
        return None
    delivery, identity, call, request_identity, schema = row
    return ports.Question(
        id=str(as_uuid(identity)),
        call=call,
        request_identity=request_identity,
        response_schema=blobs.unfold(schema, blobs.loader(run, as_uuid(delivery))),
    )
