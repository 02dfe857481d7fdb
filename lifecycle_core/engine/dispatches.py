"""Read a complete dispatch that a host brings: exactly the contract's shape and no more (reference: seed-contracts 3.2)."""

from collections.abc import Mapping
from typing import Any, Final

from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.identities import (
    DeliveryRef,
    EpisodeRef,
    SessionAffinityRef,
    SiteRef,
    ThreadRef,
)
from lifecycle_core.contract.invocation import Action, Dispatch, Executor, Plan, WorkspaceCapability
from lifecycle_core.engine import result_schema

# A NUL cannot be stored, and what is longer names nothing: registered names have 200 characters and a word before them.
NAME: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 250, "pattern": "^[^\\u0000]*$"}
# Without a pattern: matching one would cost more than one value may spend, and a purpose is no column of its own.
TEXT: Final[Json] = {"type": "string", "maxLength": 200_000}
MAYBE: Final[Json] = {"type": "string", "maxLength": 2000}
DIGEST: Final[Json] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
WORDS: Final[Json] = {"type": "array", "items": NAME}


def _shape(optional: tuple[str, ...] = (), /, **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": dict(properties),
        "additionalProperties": False,
    }


def _word(*words: str) -> dict[str, Json]:
    return {"enum": list(words)}


PATH: Final = ("localReadOnlyPath",)
DELIVERY: Final = _shape(
    deliveryIdentity=NAME, manifestBindingIdentity=DIGEST, activationBindingIdentity=DIGEST
)
SITE: Final = _shape(
    ("branchIdentity",),
    kind=_word("node", "parallel-branch", "parallel-join"),
    nodeIdentity=NAME,
    branchIdentity=NAME,
)
EPISODE: Final = _shape(
    thread=_shape(delivery=DELIVERY, threadIdentity=NAME),
    site=SITE,
    invocationIdentity=NAME,
    attemptIdentity=NAME,
)
RESOURCE: Final[dict[str, Json]] = {
    "resourceIdentity": NAME,
    "contentIdentity": DIGEST,
    "projectionIdentity": DIGEST,
}
ACCESS: Final[Json] = {
    "type": "array",
    "items": _shape(mode=_word("read", "write"), path={"type": "string", "minLength": 1, "maxLength": 4096}),
}
SESSION: Final = _shape(
    roleIdentity=NAME,
    routeIdentity=NAME,
    agent=_shape(PATH, **RESOURCE, localReadOnlyPath=NAME),
    # Whether a model is named and a route given is a check of its own, with a code of its own.
    model=_shape(**RESOURCE, providerModelIdentity=MAYBE, configuration={"type": "object"}),
    driver=_shape(
        resourceIdentity=NAME,
        projectionIdentity=DIGEST,
        providerIdentity=NAME,
        configuration={"type": "object"},
    ),
    instructions=_shape(PATH, resourceIdentity=NAME, contentIdentity=DIGEST, localReadOnlyPath=NAME),
    tools={
        "type": "array",
        "items": _shape(PATH, **RESOURCE, localReadOnlyPath=NAME, configuration={"type": "object"}),
    },
    providedCapabilities=WORDS,
    policy=_shape(
        identity=NAME,
        scope=_shape(("source",), kind=_word("episode", "data-bound"), source=NAME),
        isolation=_word("shared", "isolated"),
    ),
)
SEAL: Final = _shape(key=NAME, issuedAt={"type": "integer"}, nonce=NAME, signature=NAME)
WORKSPACE: Final = _shape(
    ("handle", "view"),
    kind=_word("write", "read", "none"),
    handle=_shape(
        ("capability",),
        handleIdentity=NAME,
        episode=EPISODE,
        savepoint=NAME,
        accessDigest=DIGEST,
        capability=SEAL,
    ),
    view=_shape(
        ("capability",), viewIdentity=NAME, episode=EPISODE, source=NAME, accessDigest=DIGEST, capability=SEAL
    ),
)
DISPATCH: Final = _shape(
    episode=EPISODE,
    plan=_shape(actionIdentity=NAME, executorIdentity=NAME, bindingIdentity=DIGEST),
    action=_shape(
        identity=NAME,
        purpose=TEXT,
        inputSchema={},
        resultSchema={},
        gate=_shape(("deterministic",), deterministic=WORDS, freeTextBypass=_word("prohibited")),
    ),
    executor=_shape(
        identity=NAME,
        bindingIdentity=DIGEST,
        sessionCompatibilityIdentity=DIGEST,
        session=SESSION,
        turn=_shape(access=ACCESS),
    ),
    input={},
    workspace=WORKSPACE,
    session=_shape(
        identity=DIGEST,
        delivery=DELIVERY,
        sessionCompatibilityIdentity=DIGEST,
        scopeValueIdentity=DIGEST,
        isolation=_word("shared", "isolated"),
    ),
)


def read(value: Json, at: str = "") -> Dispatch:
    """Return the dispatch that a JSON value is. Raises `errors.SchemaInvalid` with pointers that begin with `at`."""
    problems = result_schema.validate(DISPATCH, value)
    if not problems and isinstance(value, dict):
        problems = _beyond_schema(value)
    if problems or not isinstance(value, dict):
        raise errors.SchemaInvalid(problems=[Problem(at + each.pointer, each.detail) for each in problems])
    return _dispatch(value)


def read_episode(value: Json, at: str = "") -> EpisodeRef:
    """Return the episode that a JSON value is. Raises `errors.SchemaInvalid` with pointers that begin with `at`."""
    problems = result_schema.validate(EPISODE, value)
    if not problems and isinstance(value, dict):
        problems = _of_site("/site", value["site"])
    if problems or not isinstance(value, dict):
        raise errors.SchemaInvalid(problems=[Problem(at + each.pointer, each.detail) for each in problems])
    return _episode(value)


def _beyond_schema(value: Mapping[str, Any]) -> list[Problem]:
    """Return what the schema cannot say: parts that go with the kind of another one."""
    problems = _of_site("/episode/site", value["episode"]["site"])
    wanted = {"write": {"handle"}, "read": {"view"}, "none": set()}[value["workspace"]["kind"]]
    if value["workspace"].keys() - {"kind"} != wanted:
        detail = "a write capability has a handle, a read one a view, and none has neither"
        problems.append(Problem("/workspace", detail))
    scope = value["executor"]["session"]["policy"]["scope"]
    if ("source" in scope) != (scope["kind"] == "data-bound"):
        problems.append(
            Problem(
                "/executor/session/policy/scope/source", "a data-bound scope names its source, and no other"
            )
        )
    return problems


def _of_site(pointer: str, site: Any) -> list[Problem]:
    if ("branchIdentity" in site) == (site["kind"] == "parallel-branch"):
        return []
    return [Problem(f"{pointer}/branchIdentity", "a parallel branch names itself, and no other site does")]


def _dispatch(value: Mapping[str, Any]) -> Dispatch:
    plan, action, executor = value["plan"], value["action"], value["executor"]
    return Dispatch(
        episode=_episode(value["episode"]),
        plan=Plan(
            action=plan["actionIdentity"],
            executor=plan["executorIdentity"],
            binding=plan["bindingIdentity"],
        ),
        action=Action(
            identity=action["identity"],
            purpose=action["purpose"],
            input_schema=action["inputSchema"],
            result_schema=action["resultSchema"],
            validators=_validators(action["gate"]),
        ),
        executor=Executor(
            identity=executor["identity"],
            binding=executor["bindingIdentity"],
            session_compatibility=executor["sessionCompatibilityIdentity"],
            session=executor["session"],
            turn=executor["turn"],
        ),
        input=value["input"],
        workspace=_workspace(value["workspace"]),
        session=_affinity(value["session"]),
    )


def _validators(gate: Mapping[str, Any]) -> tuple[str, ...] | None:
    return tuple(gate["deterministic"]) if "deterministic" in gate else None


def _workspace(value: Mapping[str, Any]) -> WorkspaceCapability:
    return WorkspaceCapability(kind=value["kind"], handle=value.get("handle", value.get("view")))


def _affinity(value: Mapping[str, Any]) -> SessionAffinityRef:
    return SessionAffinityRef(
        identity=value["identity"],
        delivery=_delivery(value["delivery"]),
        session_compatibility=value["sessionCompatibilityIdentity"],
        scope_value=value["scopeValueIdentity"],
        isolation=value["isolation"],
    )


def _episode(value: Mapping[str, Any]) -> EpisodeRef:
    site = value["site"]
    return EpisodeRef(
        thread=ThreadRef(
            delivery=_delivery(value["thread"]["delivery"]), identity=value["thread"]["threadIdentity"]
        ),
        site=SiteRef(node=site["nodeIdentity"], kind=site["kind"], branch=site.get("branchIdentity")),
        invocation=value["invocationIdentity"],
        attempt=value["attemptIdentity"],
    )


def _delivery(value: Mapping[str, Any]) -> DeliveryRef:
    return DeliveryRef(
        identity=value["deliveryIdentity"],
        manifest_binding=value["manifestBindingIdentity"],
        activation_binding=value["activationBindingIdentity"],
    )
