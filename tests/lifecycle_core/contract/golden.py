"""The golden vectors of digests and of the chain of derived identities, and the references that they speak of."""

import json
from pathlib import Path
from typing import Any, Final

from lifecycle_core.contract.identities import DeliveryRef, EpisodeRef, SessionAffinityRef, SiteRef, ThreadRef
from lifecycle_core.contract.invocation import Action, Dispatch, Executor, Plan, WorkspaceCapability

VECTORS: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("golden-digests.json").read_text())
CASES: Final[list[dict[str, str]]] = VECTORS["cases"]
INPUT: Final[dict[str, Any]] = VECTORS["chain"]["input"]
DERIVED: Final[dict[str, str]] = VECTORS["chain"]["derived"]


def delivery() -> DeliveryRef:
    given = INPUT["delivery"]
    return DeliveryRef(
        identity=given["deliveryIdentity"],
        manifest_binding=given["manifestBindingIdentity"],
        activation_binding=given["activationBindingIdentity"],
    )


def episode() -> EpisodeRef:
    given = INPUT["episode"]
    return EpisodeRef(
        thread=ThreadRef(delivery=delivery(), identity=given["thread"]["threadIdentity"]),
        site=SiteRef(node=given["site"]["nodeIdentity"], kind=given["site"]["kind"]),
        invocation=given["invocationIdentity"],
        attempt=given["attemptIdentity"],
    )


def action() -> Action:
    given = INPUT["action"]
    return Action(
        identity=given["identity"],
        purpose=given["purpose"],
        input_schema=given["inputSchema"],
        result_schema=given["resultSchema"],
    )


def dispatch() -> Dispatch:
    """Return a dispatch whose every identity is one of the golden ones."""
    return Dispatch(
        episode=episode(),
        plan=Plan(
            action=INPUT["action"]["identity"],
            executor="executor.reviewer",
            binding=DERIVED["planBindingIdentity"],
        ),
        action=action(),
        executor=Executor(
            identity="executor.reviewer",
            binding=DERIVED["executorBindingIdentity"],
            session_compatibility=DERIVED["sessionCompatibilityIdentity"],
            session=INPUT["session"],
            turn={"access": INPUT["access"]},
        ),
        input={"change": "none"},
        workspace=WorkspaceCapability(
            kind="write",
            handle={
                "handleIdentity": "handle.1",
                "episode": INPUT["episode"],
                "savepoint": "savepoint.1",
                "accessDigest": DERIVED["accessDigest"],
            },
        ),
        session=SessionAffinityRef(
            identity=DERIVED["affinityIdentity"],
            delivery=delivery(),
            session_compatibility=DERIVED["sessionCompatibilityIdentity"],
            scope_value=DERIVED["scopeValueIdentity"],
            isolation="isolated",
        ),
    )
