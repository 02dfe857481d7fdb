"""Say what an actor may do. Every use case asks here; a refusal carries the sentence that people read."""

from typing import Final

from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor, Permission

SENTENCES: Final = {
    Permission.READ: "You may not read this.",
    Permission.READ_OWN: "You may not read this.",
    Permission.READ_SENSITIVE: "Only an auditor may read this.",
    Permission.DECIDE: "Only an operator may decide approvals.",
    Permission.ANSWER: "Only an operator may answer questions.",
    Permission.CANCEL_INVOCATION: "Only an operator may cancel an invocation.",
    Permission.CANCEL_DELIVERY: "Only a coordinator may cancel a delivery.",
    Permission.RETIRE: "Only a coordinator may retire a delivery.",
    Permission.RESOLVE: "Only a coordinator may resolve an unknown outcome.",
    Permission.START: "Only a host may start an invocation.",
    Permission.EXPORT: "Only an auditor may export journals.",
    Permission.VERIFY: "Only an auditor may verify journals.",
    Permission.ADMINISTER: "Only an administrator may do this.",
}


def can(actor: Actor, permission: Permission) -> bool:
    """Tell whether an actor may do something."""
    return actor.may(permission)


def command_line(tenant: str) -> Actor:
    """Return the actor of whoever may run commands on the server: he could as well edit the database."""
    return Actor(tenant=tenant, name="system:command-line", permissions=frozenset(Permission))


def visible(actor: Actor, requester: str) -> bool:
    """Tell whether an actor may see what `requester` started; without it, that thing is not there (404)."""
    if actor.may(Permission.READ):
        return True
    return actor.may(Permission.READ_OWN) and actor.name == requester


def requester_filter(actor: Actor) -> str | None:
    """Return the requester to whom an actor's reading is confined, or nothing for the whole tenant."""
    check_can_read(actor)
    return None if actor.may(Permission.READ) else actor.name


def check_can_read(actor: Actor) -> None:
    """Refuse who may read nothing at all; what he may read is a matter of `visible`."""
    if not (actor.may(Permission.READ) or actor.may(Permission.READ_OWN)):
        raise errors.Forbidden(reason=SENTENCES[Permission.READ])


def check_can_read_all(actor: Actor) -> None:
    """Refuse who may read at most what he started, where things do not say who started them."""
    _check(actor, Permission.READ)


def check_can_decide(actor: Actor) -> None:
    """Refuse who may not decide approvals."""
    _check(actor, Permission.DECIDE)


def check_can_answer(actor: Actor) -> None:
    """Refuse who may not answer or decline input requests."""
    _check(actor, Permission.ANSWER)


def check_can_cancel_invocation(actor: Actor) -> None:
    """Refuse who may not cancel one invocation."""
    _check(actor, Permission.CANCEL_INVOCATION)


def check_can_cancel_delivery(actor: Actor) -> None:
    """Refuse who may not cancel all of a delivery."""
    _check(actor, Permission.CANCEL_DELIVERY)


def check_can_retire(actor: Actor) -> None:
    """Refuse who may not retire a delivery."""
    _check(actor, Permission.RETIRE)


def check_can_resolve(actor: Actor) -> None:
    """Refuse who may not say how an unknown invocation goes on."""
    _check(actor, Permission.RESOLVE)


def can_start(actor: Actor) -> bool:
    """Tell whether an actor may start invocations."""
    return actor.may(Permission.START)


def check_can_start(actor: Actor) -> None:
    """Refuse who may not start invocations."""
    _check(actor, Permission.START)


def check_can_export(actor: Actor) -> None:
    """Refuse who may not take journals out."""
    _check(actor, Permission.EXPORT)


def check_can_verify(actor: Actor) -> None:
    """Refuse who may not check the chains of journals."""
    _check(actor, Permission.VERIFY)


def check_can_administer(actor: Actor) -> None:
    """Refuse who may not manage people, tokens, credentials and agents."""
    _check(actor, Permission.ADMINISTER)


def _check(actor: Actor, permission: Permission) -> None:
    if not actor.may(permission):
        raise errors.Forbidden(reason=SENTENCES[permission])
