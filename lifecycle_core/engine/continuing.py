"""Continue an invocation with a complete interaction response (reference: seed-contracts 8).

What answers something else changes nothing. What answers the question and does not hold together, or does not fit, burns the
invocation: nothing was checked before. People answer through `inputs` instead, where a wrong answer leaves the question open.
"""

from collections.abc import Mapping
from uuid import UUID

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import Appended, CallRecord, Change, InvocationRecord, Question
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import closing, dispatches, inputs, leases, machine, telling
from lifecycle_core.engine.inputs import Response
from lifecycle_core.engine.services import Services

BURNT = "INTERACTION_CORRELATION_INVALID"


def continue_with_input(
    services: Services, invocation: UUID, episode: Mapping[str, Json], response: Response, *, by: str
) -> Appended:
    """Let an invocation go on with a response, or burn it with one that is none.

    Raises `errors.CorrelationMismatch` where there is nothing that this responds to, also when somebody else was first,
    `errors.RequestExpired` when the time to answer has passed, and `errors.ValueTooLarge` for what the agent could not be told:
    that changes nothing, for nobody has looked at it.
    """
    telling.check(inputs.told(response.kind, response.content), services.value_bytes)
    for _ in range(closing.ATTEMPTS):
        record, question = _asking(services, invocation, episode, response)
        problem = _problem(services, record, question, response)
        facts = (
            _burn(services, record, problem) if problem else _answer(services, record, question, response, by)
        )
        try:
            return services.journal.append(_change(services, record, facts, by))
        except (errors.AlreadyDecided, errors.StatusConflict):
            continue  # Something happened between the look and the commit; look again.
    raise errors.CorrelationMismatch


def _asking(
    services: Services, invocation: UUID, episode: Mapping[str, Json], response: Response
) -> tuple[InvocationRecord, Question]:
    """Return what is responded to. Raises `errors.CorrelationMismatch`."""
    try:
        record = services.journal.load(invocation)
    except errors.NotFound:
        raise errors.CorrelationMismatch from None
    question = services.journal.question(invocation)
    if record.status is not Status.AWAITING_INPUT or question is None:
        raise errors.CorrelationMismatch
    if not _same_episode(record, episode) or question.request_identity != response.request_identity:
        raise errors.CorrelationMismatch
    return record, question


def _same_episode(record: InvocationRecord, given: Mapping[str, Json]) -> bool:
    """Compare the episode of an invocation with a given one; what is no episode is not the same."""
    try:
        return dispatches.read_episode(record.dispatch["episode"]).matches(
            dispatches.read_episode(dict(given))
        )
    except errors.SchemaInvalid:
        return False


def _problem(services: Services, record: InvocationRecord, question: Question, response: Response) -> str:
    """Say what is wrong with a response, without repeating any of it."""
    agent = services.agent(record.tenant, record.agent, record.agent_binding)
    try:
        leases.check_has_no_secret(services, record.tenant, agent, response.content)
    except errors.SecretInArguments:
        return "the content holds the agent's own secret"
    if digests.digest(response.content) != response.content_identity:
        return "the identity of the content is not that of the content"
    problems = inputs.problems(question.response_schema, response.kind, response.content)
    return errors.listed(problems)


def _burn(services: Services, record: InvocationRecord, problem: str) -> list[Event]:
    closed = closing.closing_facts(
        services.journal, record.id, record.model_turns, events.InvocationInvalidated.kind
    )
    return [*closed, events.InvocationInvalidated(code=BURNT, detail=problem)]


def _answer(
    services: Services, record: InvocationRecord, question: Question, response: Response, by: str
) -> list[Event]:
    return inputs.answer(
        _call(services, record, question),
        input=question.id,
        request_identity=question.request_identity,
        response_schema=question.response_schema,
        by=by,
        kind=response.kind,
        content=response.content,
    )


def _call(services: Services, record: InvocationRecord, question: Question) -> CallRecord:
    for call in services.journal.calls(record.id, record.model_turns):
        if call.id == question.call:
            return call
    raise errors.CorrelationMismatch


def _change(services: Services, record: InvocationRecord, facts: list[Event], by: str) -> Change:
    return Change(
        invocation=record.id,
        actor=by,
        at_ms=services.clock.now_ms(),
        transitions=machine.transitions(facts, {Status.AWAITING_INPUT}),
        events=tuple(facts),
        version=record.version,
    )
