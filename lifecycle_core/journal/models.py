"""The tables of the journal.

Events are the truth; calls, approvals, inputs, decisions and sessions are projections of them, kept in the same transaction.
Everything carries its tenant's slug: there is no foreign key out of this app. Times are integer milliseconds since the epoch.
JSON is canonical text on both databases, because a digest stands for bytes; large values are references (see `blobs`).
"""

from collections.abc import Iterable
from typing import Final

from django.db import models
from django.db.models import Q

from lifecycle_core.contract.status import TERMINAL, WORKING, Status

SLUG: Final = 64
NAME: Final = 200
IDENTITY: Final = 500
DIGEST: Final = 71
PENDING: Final = Q(state="pending")


def one_of(field: str, values: Iterable[str], name: str) -> models.CheckConstraint:
    """Let a column hold nothing but these words."""
    return models.CheckConstraint(condition=Q(**{f"{field}__in": sorted(values)}), name=name)


class Delivery(models.Model):
    """A unit of requested work; the triple never changes."""

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    identity = models.CharField(max_length=IDENTITY)
    manifest_binding = models.CharField(max_length=IDENTITY)
    activation_binding = models.CharField(max_length=IDENTITY)
    requester = models.CharField(max_length=NAME)
    created_at = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "identity"], name="one_delivery_per_identity")
        ]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="deliveries_by_age")]

    def __str__(self) -> str:
        return self.identity


class Invocation(models.Model):
    """One admitted action: where it stands, and who may run it now.

    `version` is the last seq, `chain_head` the hash of that event. `token` counts the leases ever taken; the lease is live
    while `lease_expires_at` lies ahead, also that of one that was cancelled and not yet left. `ready` says that a worker has
    something to do and nobody holds the lease.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="invocations")
    parent = models.UUIDField(null=True)
    episode = models.CharField(max_length=DIGEST)
    agent = models.CharField(max_length=NAME)
    agent_binding = models.CharField(max_length=IDENTITY)
    action = models.CharField(max_length=NAME)
    provider = models.CharField(max_length=NAME)
    model = models.CharField(max_length=NAME)
    attempt = models.IntegerField()
    requester = models.CharField(max_length=NAME)
    status = models.CharField(max_length=16)
    disposition = models.TextField(null=True)  # noqa: DJ001  (nothing is not the empty text)
    version = models.IntegerField()
    chain_head = models.CharField(max_length=64)
    worker = models.CharField(max_length=NAME, default="")
    token = models.IntegerField(default=0)
    lease_expires_at = models.BigIntegerField(default=0)
    ready = models.BooleanField(default=True)
    open_requests = models.IntegerField(default=0)
    model_turns = models.IntegerField(default=0)
    tool_calls = models.IntegerField(default=0)
    tokens = models.BigIntegerField(default=0)
    output_sequence = models.IntegerField(default=0)
    affinity = models.CharField(max_length=IDENTITY)
    session = models.CharField(max_length=IDENTITY, default="")
    generation = models.IntegerField(default=0)
    created_at = models.BigIntegerField()
    updated_at = models.BigIntegerField()

    class Meta:
        constraints = [
            one_of("status", Status, "a_known_status"),
            models.UniqueConstraint(fields=["tenant", "episode"], name="one_invocation_per_episode"),
            models.CheckConstraint(
                condition=~Q(status__in=sorted(TERMINAL)) | Q(ready=False, open_requests=0),
                name="an_end_leaves_nothing_open",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="invocations_by_age"),
            models.Index(fields=["tenant", "status", "-created_at"], name="invocations_by_status"),
            models.Index(fields=["created_at"], condition=Q(ready=True), name="ready_invocations"),
            models.Index(fields=["tenant", "affinity", "created_at"], name="invocations_by_affinity"),
            models.Index(
                fields=["tenant", "affinity", "created_at"],
                condition=Q(status=Status.STARTING),
                name="waiting_for_a_session",
            ),
            models.Index(
                fields=["lease_expires_at"], condition=Q(status__in=sorted(WORKING)), name="leases_by_expiry"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.action} ({self.status})"

    @property
    def dispatch(self) -> str:
        """Return the stored text of the complete input; use `select_related("dispatched")` for several."""
        return self.dispatched.body


class DispatchRow(models.Model):
    """The complete input of an invocation, apart from the row that every transition writes."""

    invocation = models.OneToOneField(
        Invocation, primary_key=True, on_delete=models.PROTECT, related_name="dispatched"
    )
    body = models.TextField()

    def __str__(self) -> str:
        return str(self.pk)


class Event(models.Model):
    """One fact. `position` is its place in the tenant's feed, `seq` its place in one journal (or among the tenant's facts)."""

    pk = models.CompositePrimaryKey("tenant", "position")
    tenant = models.CharField(max_length=SLUG)
    position = models.BigIntegerField()
    invocation = models.ForeignKey(Invocation, null=True, on_delete=models.PROTECT, db_index=False)
    seq = models.IntegerField()
    kind = models.CharField(max_length=40)
    at = models.BigIntegerField()
    actor = models.CharField(max_length=NAME)
    payload = models.TextField()
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["invocation", "seq"], name="one_event_per_seq")]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"


class ToolCall(models.Model):
    """Where one tool call stands; `arguments` are those that would run, `proposed` those that the agent asked for.

    One that was `asked` for never runs without an approval again.
    """

    pk = models.CompositePrimaryKey("invocation_id", "identity")
    invocation = models.ForeignKey(Invocation, on_delete=models.PROTECT, db_index=False, related_name="calls")
    identity = models.TextField()
    call_id = models.TextField()
    model_turn = models.IntegerField()
    index = models.IntegerField()
    tool = models.TextField()
    effect_class = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    arguments = models.TextField()
    proposed = models.TextField()
    arguments_digest = models.CharField(max_length=DIGEST)
    attempts = models.IntegerField(default=0)
    asked = models.BooleanField(default=False)
    approval = models.UUIDField(null=True)
    edited = models.BooleanField(default=False)
    bound = models.TextField(default="{}")
    effective_digest = models.CharField(max_length=DIGEST, default="")
    expires_at = models.BigIntegerField(default=0)
    outcome = models.CharField(max_length=16, null=True)  # noqa: DJ001
    content = models.TextField(default="null")

    class Meta:
        constraints = [
            one_of("state", ("requested", "waiting", "approved", "intended", "settled"), "a_known_call_state")
        ]

    def __str__(self) -> str:
        return f"{self.tool} ({self.state})"


class Approval(models.Model):
    """A question whether exactly one call may run, and what became of it."""

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    invocation = models.ForeignKey(Invocation, on_delete=models.PROTECT, related_name="approvals")
    call = models.TextField()
    call_id = models.TextField()
    tool = models.TextField()
    effect_class = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    version = models.IntegerField(default=1)
    arguments = models.TextField()
    proposed = models.TextField()
    bound = models.TextField()
    preview = models.TextField()
    request_digest = models.CharField(max_length=DIGEST)
    effective_digest = models.CharField(max_length=DIGEST, default="")
    rule = models.TextField()
    risk = models.CharField(max_length=8)
    requested_at = models.BigIntegerField()
    expires_at = models.BigIntegerField()
    closed_at = models.BigIntegerField(null=True)
    closed_by = models.CharField(max_length=NAME, default="")
    claimed_by = models.CharField(max_length=NAME, default="")
    claimed_at = models.BigIntegerField(null=True)
    consumed_at = models.BigIntegerField(null=True)
    consumed_token = models.IntegerField(null=True)
    consumed_call = models.TextField(default="")

    class Meta:
        constraints = [
            one_of(
                "state",
                (
                    "pending",
                    "approved",
                    "edited",
                    "rejected",
                    "responded",
                    "expired",
                    "cancelled",
                    "superseded",
                ),
                "a_known_approval_state",
            ),
            models.UniqueConstraint(
                fields=["invocation", "call"], condition=PENDING, name="one_open_approval_per_call"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "state", "expires_at"], name="approvals_by_state"),
            models.Index(fields=["expires_at"], condition=PENDING, name="open_approvals_by_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} ({self.state})"


class Decision(models.Model):
    """One answer to an approval; slots are for those that need several."""

    pk = models.CompositePrimaryKey("approval_id", "slot")
    approval = models.ForeignKey(Approval, on_delete=models.PROTECT, db_index=False, related_name="decisions")
    slot = models.IntegerField()
    decision = models.CharField(max_length=8)
    by = models.CharField(max_length=NAME)
    at = models.BigIntegerField()
    reason = models.TextField()
    digest = models.CharField(max_length=DIGEST)

    class Meta:
        constraints = [one_of("decision", ("approve", "edit", "reject", "respond"), "a_known_decision")]

    def __str__(self) -> str:
        return f"{self.decision} by {self.by}"


class InputRequest(models.Model):
    """A question from the agent to people, and its answer."""

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    invocation = models.ForeignKey(Invocation, on_delete=models.PROTECT, related_name="inputs")
    call = models.TextField()
    request_identity = models.TextField()
    state = models.CharField(max_length=16)
    version = models.IntegerField(default=1)
    prompt = models.TextField()
    response_schema = models.TextField()
    requested_at = models.BigIntegerField()
    expires_at = models.BigIntegerField()
    closed_at = models.BigIntegerField(null=True)
    closed_by = models.CharField(max_length=NAME, default="")
    claimed_by = models.CharField(max_length=NAME, default="")
    claimed_at = models.BigIntegerField(null=True)
    response_kind = models.CharField(max_length=32, default="")
    answer = models.TextField(default="null")
    content_identity = models.TextField(default="")
    receipt = models.CharField(max_length=IDENTITY, default="")

    class Meta:
        constraints = [
            one_of(
                "state", ("pending", "answered", "declined", "expired", "cancelled"), "a_known_input_state"
            ),
            models.UniqueConstraint(
                fields=["invocation"], condition=PENDING, name="one_open_input_per_invocation"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "state", "expires_at"], name="inputs_by_state"),
            models.Index(fields=["expires_at"], condition=PENDING, name="open_inputs_by_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.request_identity} ({self.state})"


class Session(models.Model):
    """A native session and the affinity that it is bound to; `length` counts its messages.

    The row is there as soon as an invocation of the affinity is admitted: until one has opened the session, `opaque_identity`
    is empty and `generation` is 0. `holder` is the invocation that has it now; the others wait until that one has ended. It
    goes with its delivery.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="sessions")
    affinity = models.CharField(max_length=IDENTITY)
    opaque_identity = models.CharField(max_length=IDENTITY)
    binding = models.CharField(max_length=IDENTITY)
    generation = models.IntegerField()
    provider = models.CharField(max_length=NAME)
    length = models.IntegerField(default=0)
    compatibility = models.CharField(max_length=DIGEST, default="")
    scope_value = models.CharField(max_length=DIGEST, default="")
    isolation = models.CharField(max_length=8, default="")
    holder = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "affinity"], name="one_session_per_affinity"),
            models.UniqueConstraint(fields=["holder"], name="one_session_per_holder"),
            models.CheckConstraint(
                condition=Q(opaque_identity="", generation=0) | ~Q(opaque_identity="") & Q(generation__gt=0),
                name="an_opened_session_has_a_generation",
            ),
        ]

    def __str__(self) -> str:
        return self.opaque_identity


class SessionMessage(models.Model):
    """One message of a native session, byte for byte; a large one lies in the blob that `blob` names."""

    pk = models.CompositePrimaryKey("session_id", "index")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, db_index=False, related_name="messages")
    index = models.IntegerField()
    body = models.BinaryField()
    blob = models.CharField(max_length=DIGEST, default="")

    def __str__(self) -> str:
        return str(self.index)


class Blob(models.Model):
    """The bytes of a large value, stored once for each delivery that uses them, so that they end with it."""

    pk = models.CompositePrimaryKey("delivery_id", "digest")
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, db_index=False, related_name="blobs")
    digest = models.CharField(max_length=DIGEST)
    content = models.BinaryField()

    def __str__(self) -> str:
        return self.digest


class CommandRow(models.Model):
    """A command that was carried out under an idempotency key, and the answer that it got."""

    pk = models.CompositePrimaryKey("tenant", "actor", "key")
    tenant = models.CharField(max_length=SLUG)
    actor = models.CharField(max_length=NAME)
    key = models.CharField(max_length=NAME)
    body_digest = models.CharField(max_length=DIGEST)
    response = models.TextField()
    created_at = models.BigIntegerField()

    def __str__(self) -> str:
        return self.key


class CommandDelivery(models.Model):
    """Say which deliveries a stored answer speaks of, so that retirement finds it."""

    pk = models.CompositePrimaryKey("delivery_id", "tenant", "actor", "key")
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, db_index=False)
    tenant = models.CharField(max_length=SLUG)
    actor = models.CharField(max_length=NAME)
    key = models.CharField(max_length=NAME)

    def __str__(self) -> str:
        return self.key


class FeedHead(models.Model):
    """Where a tenant's feed ends. A restored backup gets a new `epoch`; `seq`, `chain_head` are of the tenant's own facts."""

    tenant = models.CharField(primary_key=True, max_length=SLUG)
    n = models.BigIntegerField()
    epoch = models.CharField(max_length=32)
    seq = models.IntegerField(default=0)
    chain_head = models.CharField(max_length=64, default="")

    def __str__(self) -> str:
        return f"{self.tenant} {self.n}"


class Tombstone(models.Model):
    """What is left of a retired delivery."""

    id = models.UUIDField(primary_key=True)
    tenant = models.CharField(max_length=SLUG)
    delivery = models.CharField(max_length=IDENTITY)
    authorization = models.CharField(max_length=IDENTITY)
    fact = models.TextField()
    retired_by = models.CharField(max_length=NAME)
    retired_at = models.BigIntegerField()
    invocations = models.IntegerField()
    events = models.IntegerField()
    closed_requests = models.IntegerField()
    decisions = models.TextField()
    decision_hashes = models.TextField()
    chain_heads = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "delivery"], name="one_tombstone_per_delivery")
        ]
        indexes = [models.Index(fields=["tenant", "-retired_at"], name="tombstones_by_age")]

    def __str__(self) -> str:
        return self.delivery
