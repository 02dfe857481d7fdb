"""Continue an invocation with a complete response, as a host that carries the interaction itself does."""

from uuid import UUID

from lifecycle_core.application import commands, hosting, permissions, queries
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine.inputs import Response, ResponseKind


def continue_with_input(
    actor: Actor,
    invocation: UUID,
    *,
    episode: dict[str, Json],
    kind: ResponseKind,
    request_identity: str,
    content: Json,
    content_identity: str,
    key: str | None = None,
) -> InvocationItem:
    """Let an invocation go on with a response, or burn it with one whose parts or content are wrong.

    Who would rather be told before it counts answers the question (`inputs.answer`). Raises `errors.CorrelationMismatch` where
    this is no response to what the invocation asks now; then nothing has happened.
    """
    found = rows.row(actor, invocation)
    permissions.check_can_answer(actor)
    response = Response(
        kind=kind, request_identity=request_identity, content=content, content_identity=content_identity
    )
    body: Json = {"invocation": str(invocation), "episode": episode, "response": response.as_json()}

    def run() -> UUID:
        hosting.host().continue_with_input(found.pk, episode, response, by=actor.name)
        return found.pk

    return queries.invocation(actor, commands.Command.of("continue", key, body).once(actor, run))
