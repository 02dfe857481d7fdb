"""The reasons for which a call is refused.

A refused call raises; nothing was admitted and nothing was stored. How an admitted run ended is a disposition and is
returned. Each class has a stable `code`; its docstring is the sentence that a person reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar


class Refused(Exception):
    """The call was refused."""

    code: ClassVar[str] = "REFUSED"

    @property
    def sentence(self) -> str:
        """Return what a person is told."""
        return (type(self).__doc__ or "").strip().splitlines()[0]

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"


@dataclass(frozen=True)
class Problem:
    """Point at one wrong place of a JSON value: `pointer` is an RFC 6901 JSON pointer, empty for the whole."""

    pointer: str
    detail: str


def listed(problems: Sequence[Problem], most: int = 8) -> str:
    """Return the first problems as one line of text, for agents and dispositions."""
    return "; ".join(f"{problem.pointer or '/'}: {problem.detail}" for problem in problems[:most])


@dataclass(eq=False)
class NotCanonical(Refused, ValueError):
    """The value cannot be represented exactly as JSON."""

    code = "NOT_CANONICAL"
    detail: str = ""


@dataclass(eq=False)
class SchemaInvalid(Refused):
    """The value does not match the schema."""

    code = "SCHEMA_INVALID"
    problems: Sequence[Problem] = field(default_factory=list)


class NotFound(Refused):
    """There is nothing here by that identity."""

    code = "NOT_FOUND"


@dataclass(eq=False)
class Forbidden(Refused):
    """You may not do this."""

    code = "FORBIDDEN"
    reason: str = ""

    @property
    def sentence(self) -> str:
        return self.reason or super().sentence


class Unauthenticated(Refused):
    """Sign in or send a valid token first."""

    code = "UNAUTHENTICATED"


@dataclass(eq=False)
class AlreadyDecided(Refused):
    """Somebody has decided this already."""

    code = "ALREADY_DECIDED"
    state: str = ""
    by: str = ""
    at_ms: int = 0


class RequestExpired(Refused):
    """The time to decide this has passed."""

    code = "REQUEST_EXPIRED"


class DigestMismatch(Refused):
    """What you decided on is not what is asked now; read it again."""

    code = "DIGEST_MISMATCH"


class KeyReused(Refused):
    """This idempotency key was used for another request."""

    code = "IDEMPOTENCY_KEY_REUSED"


@dataclass(eq=False)
class StatusConflict(Refused):
    """The invocation is no longer in a status that allows this."""

    code = "STATUS_CONFLICT"
    status: str = ""


class LeaseLost(Refused):
    """Another worker holds this invocation now."""

    code = "LEASE_LOST"


@dataclass(eq=False)
class ValueTooLarge(Refused):
    """The value is larger than the limit."""

    code = "VALUE_TOO_LARGE"
    limit_bytes: int = 0


@dataclass(eq=False)
class ConfigurationInvalid(Refused):
    """The configuration is not valid."""

    code = "CONFIGURATION_INVALID"
    detail: str = ""

    @property
    def sentence(self) -> str:
        return self.detail or super().sentence


class DeliveryConflict(Refused):
    """A delivery of this identity exists with other bindings."""

    code = "DELIVERY_CONFLICT"


class DeliveryRetired(Refused):
    """This delivery is retired and cannot be started again."""

    code = "DELIVERY_RETIRED"


class DeliveryBusy(Refused):
    """An invocation of this delivery is running or unknown; it cannot be retired now."""

    code = "DELIVERY_BUSY"


class AgentWithdrawn(Refused):
    """This version of the agent was withdrawn and starts nothing any more."""

    code = "AGENT_WITHDRAWN"


@dataclass(eq=False)
class RetryRefused(Refused):
    """This cannot be retried: it has not ended, was retried already, or would never succeed."""

    code = "RETRY_REFUSED"
    following: str = ""


class SecretInArguments(Refused):
    """The arguments contain a leased secret."""

    code = "SECRET_IN_ARGUMENTS"


# Call errors of the managed invocation contract (reference: seed-contracts 3.4).


class CorrelationMismatch(Refused):
    """The parts of the call do not belong together."""

    code = "CORRELATION_MISMATCH"


class ExecutorBindingMismatch(Refused):
    """The executor is not the one that the plan is bound to."""

    code = "EXECUTOR_BINDING_MISMATCH"


class ModelBindingMismatch(Refused):
    """The model is not bound."""

    code = "MODEL_BINDING_MISMATCH"


class SessionAffinityMismatch(Refused):
    """The session belongs to another affinity."""

    code = "SESSION_AFFINITY_MISMATCH"


class SessionStateUnknown(Refused):
    """The state of the session is not known."""

    code = "SESSION_STATE_UNKNOWN"


class CapabilityMismatch(Refused):
    """A capability that this needs is not admitted."""

    code = "CAPABILITY_MISMATCH"


class ProviderNotImplemented(Refused):
    """This provider cannot run anything here."""

    code = "PROVIDER_NOT_IMPLEMENTED"


class ManagedPathBypass(Refused):
    """The call tried to pass by the managed path."""

    code = "MANAGED_PATH_BYPASS"


class CredentialAcquisitionFailed(Refused):
    """The credential could not be leased."""

    code = "CREDENTIAL_ACQUISITION_FAILED"


class RetirementNotAuthorized(Refused):
    """The authorization does not fit this delivery."""

    code = "RETIREMENT_NOT_AUTHORIZED"
