"""The words for the parts of a dispatch, and what each derived digest is derived from."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

type Words = dict[str, str | Promise]

PART: Final[Words] = {
    "whole": _("The dispatch as a whole"),
    "episode": _("Episode"),
    "plan": _("Plan"),
    "action": _("Action"),
    "executor": _("Executor"),
    "session": _("Executor: what its session is made of"),
    "turn": _("Executor: what one turn may reach"),
    "workspace": _("Workspace capability"),
    "affinity": _("Session affinity"),
    "delivery": _("Delivery"),
    "site": _("Site"),
    "agent": _("Agent"),
    "model": _("Model"),
    "driver": _("Driver"),
    "instructions": _("Instructions"),
    "policy": pgettext_lazy("session", "Policy"),
    "tool": _("Tool"),
    "seal": _("Seal"),
}
PURPOSE: Final[Words] = {
    "episode": _("Which attempt at which action this is."),
    "plan": _("Ties the action at its site to who carries it out."),
    "action": _("What is to be done, from what and to what."),
    "executor": _("Who carries it out: a session part and a turn part, each with its own digest."),
    "session": _("Two executors with the same session part may continue the same session."),
    "turn": _("May change from one turn to the next without a new session."),
    "workspace": _("The files that this episode, and no other, may use."),
    "affinity": _("Which later invocations must use the same session."),
}
# In the order in which they are shown; what is not here follows, as it is named in the dispatch.
MEMBER: Final[Words] = {
    "dispatch": _("Digest"),
    "journal": _("Journal"),
    "identity": _("Identity"),
    "deliveryIdentity": _("Delivery"),
    "threadIdentity": _("Thread"),
    "invocationIdentity": _("Invocation"),
    "attemptIdentity": _("Attempt"),
    "nodeIdentity": _("Node"),
    "branchIdentity": _("Branch"),
    "roleIdentity": _("Role"),
    "routeIdentity": _("Route"),
    "kind": _("Kind"),
    "name": _("Name"),
    "actionIdentity": _("Action"),
    "executorIdentity": _("Executor"),
    "handleIdentity": _("Handle"),
    "viewIdentity": _("View"),
    "savepoint": _("Savepoint"),
    "source": _("Source"),
    "resourceIdentity": _("Resource"),
    "contentIdentity": _("Content"),
    "projectionIdentity": _("Projection"),
    "localReadOnlyPath": _("Path, to read only"),
    "providerIdentity": _("Provider"),
    "providerModelIdentity": _("Name at the provider"),
    "sameEpisode": _("Episode"),
    "bindingIdentity": _("Binding"),
    "manifestBindingIdentity": _("Manifest binding"),
    "activationBindingIdentity": _("Activation binding"),
    "sessionCompatibilityIdentity": _("Session compatibility"),
    "scopeValueIdentity": _("Scope value"),
    "accessDigest": _("Access digest"),
    "isolation": _("Isolation"),
    "opaqueIdentity": _("Native session"),
    "scope": _("Scope"),
    "providedCapabilities": _("Capabilities"),
    "configuration": _("Configuration"),
    "access": _("Access rules"),
    "purpose": _("Purpose"),
    "gate": _("Gate"),
    "inputSchema": _("Input schema"),
    "resultSchema": _("Result schema"),
    "key": _("Key"),
    "issuedAt": _("Issued at"),
    "nonce": _("Nonce"),
    "signature": _("Signature"),
}
DERIVED: Final[Words] = {
    "dispatch": _("Digest of everything on this page, as it was admitted."),
    "invocation": _("Digest of the thread, the site and the number 1."),
    "attempt": _("Digest of the thread, the site and the number of the attempt."),
    "plan": _("Digest of the site, the action and the executor's binding."),
    "executor": _("Digest of the executor's session part and turn part together."),
    "compatibility": _("Digest of the executor's session part alone."),
    "same-compatibility": _("The same as the executor's session compatibility."),
    "access": _("Digest of the access rules of the turn part."),
    "episode": _("The same episode as above."),
    "affinity": _(
        "Digest of the delivery's identity, the session compatibility, the scope value and the isolation."
    ),
    "scope-episode": _("Digest of the episode: the session serves this episode alone."),
    "scope-data": _("Digest of the value that the input binds the session to."),
    "scope-data-isolated": _(
        "Digest of the bound value and the episode: isolated sessions are never shared."
    ),
    "native": _("Digest of the affinity and the native session."),
    "seal": _("Signed with a key of this console, over everything in this part and the tenant."),
}
SCOPE: Final[Words] = {
    "episode": _("For one episode alone: nothing else continues this session."),
    "shared": _(
        "Shared by all invocations of this delivery that are bound to the same value, one after the other."
    ),
    "isolated": _("Bound to a value, and still apart for each episode."),
}
ISOLATION: Final[Words] = {"shared": _("Shared"), "isolated": _("Isolated")}
SESSION: Final[Words] = {
    "held": pgettext_lazy("session", "Held"),
    "free": pgettext_lazy("session", "Free"),
    "unopened": pgettext_lazy("session", "Not opened yet"),
}
UNCERTAIN: Final[Words] = {
    "CALL_INTERRUPTED": _("A call was interrupted after it had been sent and before its answer came."),
    "CHILD_UNREACHABLE": _(
        "The agent's session could not be reached any more, and what it did last was not seen."
    ),
    "PROCESS_EXIT_UNOBSERVED": _("The agent's process ended, and nobody saw how."),
    "CHECKPOINT_DISPOSITION_UNOBSERVED": _("Whether its last state was kept was not seen."),
    "PUBLICATION_DISPOSITION_UNOBSERVED": _("Whether its result was published was not seen."),
    "CLEANUP_DISPOSITION_UNOBSERVED": _("Whether it was cleared away was not seen."),
}
