"""The sentences of refusals, translated by their code.

The contract states them in English; a test keeps the two complete.
"""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from lifecycle_core.contract import errors

BY_CODE: Final[dict[str, str | Promise]] = {
    "REFUSED": _("The call was refused."),
    "NOT_CANONICAL": _("The value cannot be represented exactly as JSON."),
    "SCHEMA_INVALID": _("The value does not match the schema."),
    "NOT_FOUND": _("There is nothing here by that identity."),
    "FORBIDDEN": _("You may not do this."),
    "UNAUTHENTICATED": _("Sign in or send a valid token first."),
    "ALREADY_DECIDED": _("Somebody has decided this already."),
    "REQUEST_EXPIRED": _("The time to decide this has passed."),
    "DIGEST_MISMATCH": _("What you decided on is not what is asked now; read it again."),
    "IDEMPOTENCY_KEY_REUSED": _("This idempotency key was used for another request."),
    "STATUS_CONFLICT": _("The invocation is no longer in a status that allows this."),
    "LEASE_LOST": _("Another worker holds this invocation now."),
    "VALUE_TOO_LARGE": _("The value is larger than the limit."),
    "CONFIGURATION_INVALID": _("The configuration is not valid."),
    "DELIVERY_CONFLICT": _("A delivery of this identity exists with other bindings."),
    "DELIVERY_RETIRED": _("This delivery is retired and cannot be started again."),
    "AGENT_WITHDRAWN": _("This version of the agent was withdrawn and starts nothing any more."),
    "RETRY_REFUSED": _(
        "This cannot be retried: it has not ended, was retried already, or would never succeed."
    ),
    "DELIVERY_BUSY": _("An invocation of this delivery is running or unknown; it cannot be retired now."),
    "SECRET_IN_ARGUMENTS": _("The arguments contain a leased secret."),
    "CORRELATION_MISMATCH": _("The parts of the call do not belong together."),
    "EXECUTOR_BINDING_MISMATCH": _("The executor is not the one that the plan is bound to."),
    "MODEL_BINDING_MISMATCH": _("The model is not bound."),
    "SESSION_AFFINITY_MISMATCH": _("The session belongs to another affinity."),
    "SESSION_STATE_UNKNOWN": _("The state of the session is not known."),
    "CAPABILITY_MISMATCH": _("A capability that this needs is not admitted."),
    "PROVIDER_NOT_IMPLEMENTED": _("This provider cannot run anything here."),
    "MANAGED_PATH_BYPASS": _("The call tried to pass by the managed path."),
    "CREDENTIAL_ACQUISITION_FAILED": _("The credential could not be leased."),
    "RETIREMENT_NOT_AUTHORIZED": _("The authorization does not fit this delivery."),
}


# What only the application says, in the words that it uses; and what the wire says.
REASONS: Final[tuple[str | Promise, ...]] = (
    _("You may not read this."),
    _("Only an auditor may read this."),
    _("Only an operator may decide approvals."),
    _("Only an operator may answer questions."),
    _("Only an operator may cancel an invocation."),
    _("Only a coordinator may cancel a delivery."),
    _("Only a coordinator may retire a delivery."),
    _("Only a coordinator may resolve an unknown outcome."),
    _("Only a host may start an invocation."),
    _("Only an auditor may export journals."),
    _("Only an auditor may verify journals."),
    _("Only an administrator may do this."),
    _("You are not a member of this tenant."),
    _("You are not a member of any tenant."),
    _("The request cannot be understood."),
    _("This address does not answer that method."),
    _("Send JSON as application/json."),
    _("Something went wrong here; the log has the details."),
)


def sentence(refused: errors.Refused) -> str:
    """Return what a person is told about a refusal, in the language of the page."""
    return gettext(refused.sentence)
