"""Native events -> disposition: what a provider reported decides how the turn ends (reference: seed-contracts 6)."""

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.invocation import FAILURES
from lifecycle_core.contract.ports import (
    InputAsked,
    NativeEvent,
    ProcessExited,
    ProviderFailed,
    ProviderUncertain,
    StructuredCompletion,
)
from lifecycle_core.engine import result_schema

PROTOCOL_ERROR = "PROVIDER_PROTOCOL_ERROR"


class Turn:
    """Collect what one native turn reports."""

    def __init__(self) -> None:
        self.completions: list[Json] = []
        self.pending: InputAsked | None = None
        self.failure: events.InvocationFailed | None = None
        self.uncertain: events.InvocationBecameUnknown | None = None

    def note(self, event: NativeEvent) -> None:
        """Take one native event in; ends of turn, output and disposal decide nothing."""
        match event:
            case StructuredCompletion():
                self.completions.append(event.result)
            case InputAsked() if self.pending is None:
                self.pending = event
            case InputAsked():
                self.completions.clear()
                self.fail(PROTOCOL_ERROR, "a second input request was made while one is open")
            case ProviderFailed() if event.code in FAILURES:
                self.fail(event.code, event.detail)
            case ProviderFailed():
                self.fail(PROTOCOL_ERROR, f"{event.code}: {event.detail}")
            case ProcessExited():
                self.fail("PROVIDER_EXITED", event.detail)
            case ProviderUncertain():
                self.lose(f"{event.phase}: {event.detail}")
            case _:
                pass

    def fail(self, code: str, detail: str, retry: str = "same-episode") -> None:
        """Remember a failure; the last one stands."""
        self.failure = events.InvocationFailed(code=code, retry=retry, detail=detail)

    def lose(
        self, detail: str, *, reason: str = "CALL_INTERRUPTED", open_intents: tuple[str, ...] = ()
    ) -> None:
        """Remember that nobody can say how it ended."""
        self.uncertain = events.InvocationBecameUnknown(
            owner="invocation", reason=reason, detail=detail, open_intents=list(open_intents)
        )

    @property
    def over(self) -> bool:
        """Tell whether nothing that the provider does now can change how the turn ends."""
        return bool(self.completions or self.failure or self.uncertain)


def ending(turn: Turn, *, waits: bool, open_requests: list[str], interaction: bool, schema: Json) -> Event:
    """Return the event that ends or suspends the turn; the first rule that applies decides.

    `waits` tells that a call has no result yet; `open_requests` may be empty all the same when it was decided meanwhile.
    """
    if turn.uncertain:
        return turn.uncertain
    if turn.failure:
        return turn.failure
    if len(turn.completions) > 1:
        return events.InvocationInvalidated(code="DUPLICATE_COMPLETION", detail="the turn completed twice")
    if turn.completions and (turn.pending or waits):
        detail = "the turn completed while a request is open"
        return events.InvocationInvalidated(code="PENDING_INPUT_AT_COMPLETION", detail=detail)
    if turn.completions:
        return _completion(turn.completions[0], schema)
    if turn.pending and not interaction:
        detail = "the agent asked for input without the capability action-interaction"
        return events.InvocationFailed(code=PROTOCOL_ERROR, retry="never", detail=detail)
    if waits:
        return events.TurnSuspended(open=open_requests)
    return events.InvocationInvalidated(
        code="TURN_ENDED_WITHOUT_DISPOSITION",
        detail="the turn ended without a completion and nothing is open",
    )


def _completion(result: Json, schema: Json) -> Event:
    problems = result_schema.validate(schema, result)
    if problems:
        detail = errors.listed(problems)
        return events.InvocationInvalidated(code="RESULT_SCHEMA_INVALID", detail=detail)
    return events.InvocationCompleted(result=result)
