"""Make invocations and changes for tests, with one line each."""

import dataclasses
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from lifecycle_core.contract import digests, events, invocation, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event, Outcome
from lifecycle_core.contract.identities import DeliveryRef, EpisodeRef, SessionAffinityRef, SiteRef, ThreadRef
from lifecycle_core.contract.status import TERMINAL, Status
from lifecycle_core.journal import models
from lifecycle_core.journal.store import Store

NOW = 1_900_000_000_000
LATER = NOW + 60_000
TENANT = "default"
ANY = dict.fromkeys(set(Status) - TERMINAL)
numbers = itertools.count(1)


def delivery(name: str | None = None, manifest: str = "m1", activation: str = "a1") -> DeliveryRef:
    return DeliveryRef(
        identity=name or f"delivery-{next(numbers)}", manifest_binding=manifest, activation_binding=activation
    )


def dispatch(
    ref: DeliveryRef, *, identity: str, attempt: str = "1", value: Any = None
) -> invocation.Dispatch:
    thread = ThreadRef(delivery=ref, identity="thread")
    return invocation.Dispatch(
        episode=EpisodeRef(thread=thread, site=SiteRef(node="n"), invocation=identity, attempt=attempt),
        plan=invocation.Plan(action="act", executor="exec", binding="b"),
        action=invocation.Action(identity="act", purpose="p", input_schema={}, result_schema={}),
        executor=invocation.Executor(
            identity="exec", binding="b", session_compatibility="c", session={}, turn={}
        ),
        input=value,
        workspace=invocation.WorkspaceCapability(kind="none"),
        session=SessionAffinityRef(
            identity=f"affinity-{ref.identity}-{identity}",
            delivery=ref,
            session_compatibility="c",
            scope_value="s",
            isolation="isolated",
        ),
    )


def new(
    ref: DeliveryRef | None = None, *, tenant: str = TENANT, identity: str | None = None, value: Any = None
) -> ports.NewInvocation:
    ref = ref or delivery()
    return ports.NewInvocation(
        id=uuid4(),
        tenant=tenant,
        delivery=ref,
        dispatch=dispatch(ref, identity=identity or f"i{next(numbers)}", value=value),
        agent="billing",
        agent_binding="ab",
        action="act",
        provider="scripted",
        model="m",
        attempt=1,
        requester="token:ci",
    )


def sharing(affinity: str, ref: DeliveryRef, **given: Any) -> ports.NewInvocation:
    """Make an invocation whose session is that of an affinity."""
    made = new(ref, **given)
    session = dataclasses.replace(made.dispatch.session, identity=affinity, isolation="shared")
    return dataclasses.replace(made, dispatch=dataclasses.replace(made.dispatch, session=session))


def admitted(made: ports.NewInvocation) -> Event:
    return events.InvocationAdmitted(
        agent=made.agent,
        action=made.action,
        provider=made.provider,
        model=made.model,
        delivery=made.delivery.identity,
        input=made.dispatch.input,
        requester=made.requester,
        dispatch_digest=digests.digest(made.dispatch.as_json()),
    )


def admit(store: Store, made: ports.NewInvocation | None = None) -> ports.NewInvocation:
    made = made or new()
    store.admit(made, admitted(made), status=Status.STARTING, at_ms=NOW)
    return made


def change(
    of: UUID,
    *happened: Event,
    to: Status | Mapping[Status, Status] | None = None,
    at: int = NOW,
    **given: Any,
) -> ports.Change:
    """Make a change; `to` is one next status from any that is not terminal, by default each status stays."""
    transitions = dict(to) if isinstance(to, Mapping) else {status: to or status for status in ANY}
    given.setdefault("actor", "system:test")
    return ports.Change(invocation=of, at_ms=at, transitions=transitions, events=happened, **given)


@dataclass
class Run:
    """One invocation that a test drives by hand."""

    store: Store
    id: UUID
    tenant: str = TENANT
    affinity: str = ""
    token: int = 0
    calls: dict[str, str] = field(default_factory=dict)

    def append(self, *happened: Event, **given: Any) -> ports.Appended:
        done = self.store.append(change(self.id, *happened, **given))
        self.token = done.token
        return done

    def record(self) -> ports.InvocationRecord:
        return self.store.load(self.id)

    def call(self, name: str, turn: int = 1) -> ports.CallRecord:
        return next(call for call in self.store.calls(self.id, turn) if call.id == name)

    def claim(self, at: int = NOW, ttl: int = 30_000) -> ports.Appended:
        seen = self.record().token
        return self.append(
            events.InvocationClaimed(worker="w1", token=seen + 1),
            at=at,
            to={Status.STARTING: Status.STARTING, Status.RUNNING: Status.RUNNING},
            claim=ports.Claim(worker="w1", ttl_ms=ttl, seen_token=seen),
        )

    def resume(self, at: int = NOW, ttl: int = 30_000) -> ports.Appended:
        seen = self.record().token
        return self.append(
            events.InvocationResumed(worker="w1", token=seen + 1),
            at=at,
            to=Status.RUNNING,
            claim=ports.Claim(worker="w1", ttl_ms=ttl, seen_token=seen),
        )

    def open(self) -> ports.Appended:
        return self.append(
            events.SessionOpened(
                binding="sb", affinity=self.affinity, opaque_identity=f"native-{self.id}", generation=1
            ),
            to=Status.RUNNING,
        )

    def ask(self, name: str, *, at: int = NOW, expires_at: int = LATER, **arguments: Any) -> str:
        """Request a call that waits for an approval; returns the approval."""
        approval = str(uuid4())
        asked = approval_requested(name, approval, expires_at=expires_at, **arguments)
        self.append(requested(name, verdict="ask", **arguments), asked, at=at)
        self.calls[approval] = name
        return approval

    def disposition(self) -> dict[str, Any] | None:
        stored = models.Invocation.objects.get(id=self.id).disposition
        return json.loads(stored) if stored else None

    def end(self, status: Status = Status.COMPLETED, *, release: bool = True) -> ports.Appended:
        """End it as a test needs it to have ended; without `release` it is ended from outside of its worker."""
        facts: dict[Status, Event] = {
            Status.COMPLETED: events.InvocationCompleted(result={"sum": 1}),
            Status.FAILED: events.InvocationFailed(code="STREAM_CLOSED", retry="new-attempt", detail="d"),
            Status.INVALID: events.InvocationInvalidated(code="RESULT_INVALID", detail="d"),
            Status.CANCELLED: events.InvocationCancelled(reason="TIMEOUT", by="user:ann"),
            Status.UNKNOWN: events.InvocationBecameUnknown(
                owner="invocation", reason="CALL_INTERRUPTED", detail="d"
            ),
        }
        return self.append(facts[status], to=status, release=release)

    def retire(self, authorization: str = "order-1", **given: Any) -> UUID:
        return self.store.retire(
            self.tenant, self.delivery, authorization=authorization, by="user:carl", at_ms=LATER, **given
        )

    @property
    def delivery(self) -> UUID:
        found: UUID = models.Invocation.objects.get(id=self.id).delivery_id
        return found

    def suspend(self) -> ports.Appended:
        open_now = [request.id for request in self.store.open_requests(self.id)]
        return self.append(events.TurnSuspended(open=open_now), to=Status.AWAITING_INPUT, release=True)

    def decide(
        self, approval: str, decision: str = "approve", *, by: str = "user:ann", **given: Any
    ) -> ports.Appended:
        return self.append(self.decided(approval, decision, by=by, **given.pop("fields", {})), **given)

    def decided(
        self, approval: str, decision: str = "approve", *, by: str = "user:ann", **fields: Any
    ) -> Event:
        digest = request_digest(approval)
        values = {"request_digest": digest, "effective_digest": digest, **fields}
        return events.ApprovalDecided(
            approval=approval,
            call=self.calls[approval],
            decision=decision,  # type: ignore[arg-type]
            by=by,
            **values,
        )


def request_digest(approval: str) -> str:
    digest: str = models.Approval.objects.get(id=approval).request_digest
    return digest


def approval_requested(name: str, approval: str, *, expires_at: int = LATER, **arguments: Any) -> Event:
    bound: dict[str, Json] = {"arguments": arguments, "nonce": approval}
    return events.ApprovalRequested(
        approval=approval,
        call=name,
        call_id=f"m-{name}",
        tool="send",
        effect_class="unsafe",
        arguments=arguments,
        preview=None,
        request_digest=digests.digest(bound),
        bound=bound,
        rule="r",
        risk="low",
        expires_at=expires_at,
    )


def responded(turn: int) -> Event:
    return events.ModelResponded(
        model_turn=turn, text="", reasoning="", calls=[], finish="tool-calls", usage={}, took_ms=1
    )


def requested(
    name: str,
    *,
    verdict: str = "allow",
    turn: int = 1,
    index: int = 0,
    call_id: str | None = None,
    **arguments: Any,
) -> Event:
    return events.ToolRequested(
        call=name,
        call_id=call_id or f"m-{name}",
        model_turn=turn,
        index=index,
        tool="send",
        effect_class="unsafe",
        arguments=arguments,
        arguments_digest=digests.digest(arguments),
        verdict=verdict,  # type: ignore[arg-type]
        rule="r",
    )


def intended(name: str, *, approval: str | None = None, token: int = 1, **arguments: Any) -> Event:
    return events.ToolIntended(
        call=name,
        tool="send",
        arguments_digest=digests.digest(arguments),
        token=token,
        attempt=1,
        approval=approval,
    )


def completed(name: str, outcome: Outcome = "executed", content: Any = "done") -> Event:
    return events.ToolCompleted(
        call=name,
        call_id=f"m-{name}",
        tool="send",
        outcome=outcome,
        content=content,
    )


def running(store: Store, made: ports.NewInvocation | None = None) -> Run:
    """Admit an invocation, claim it and open its session; its first model turn has begun."""
    made = admit(store, made)
    run = Run(store=store, id=made.id, tenant=made.tenant, affinity=made.dispatch.session.identity)
    run.claim()
    run.open()
    run.append(events.ModelRequested(model_turn=1, model="m"))
    return run


def output(sequence: int, content: str = "said") -> Event:
    return events.OutputProduced(model_turn=1, sequence=sequence, content=content)


def input_requested(call: str, *, request: str | None = None, expires_at: int = LATER) -> Event:
    return events.InputRequested(
        input=request or str(uuid4()),
        call=call,
        request_identity="region",
        prompt="Which region?",
        response_schema={"type": "string"},
        expires_at=expires_at,
    )
