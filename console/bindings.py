"""Turn a dispatch into the bindings that a person reads, each derived digest computed again.

A derived digest is shown with what it is derived from and whether it comes out the same today. What a host has chosen by
itself, such as an identity that follows no rule, is shown as it is and claims nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from console import contract_words
from lifecycle_core.application.resources import AffinityItem
from lifecycle_core.contract import digests, identities
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import DeliveryRef, SiteRef, ThreadRef

type Object = Mapping[str, Any]

PLACES: Final = {name: place for place, name in enumerate(contract_words.MEMBER)}
SEAL: Final = "capability"
HANDLE: Final = {"write": "handle", "read": "view"}


@dataclass(frozen=True, kw_only=True)
class Binding:
    """One member of a dispatch. `derived` names the sentence that says what its value is derived from, if anything is;

    `agrees` tells whether it came out the same now.
    """

    name: str
    value: Json
    derived: str = ""
    agrees: bool = True


@dataclass(frozen=True, kw_only=True)
class Group:
    """Bindings under one heading; `number` tells apart those that share a name."""

    name: str
    bindings: Sequence[Binding]
    number: int | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a dispatch: its own bindings, then those of the things in it."""

    name: str
    bindings: Sequence[Binding] = field(default_factory=tuple)
    groups: Sequence[Group] = field(default_factory=tuple)


def parts(dispatch: Object, attempt: int, admitted: str = "", *, sealed: bool = False) -> list[Part]:
    """Return every part of a dispatch in the order of the contract.

    `admitted` is the digest in the fact of its admission; `sealed` tells that the workspace capability fits its seal.
    """
    return [
        _whole(dispatch, admitted),
        _episode(dispatch["episode"], attempt),
        _plan(dispatch),
        Part(name="action", bindings=_members(dispatch["action"])),
        _executor(dispatch["executor"]),
        _session_part(dispatch["executor"]["session"]),
        Part(name="turn", bindings=_members(dispatch["executor"]["turn"])),
        _workspace(dispatch, sealed=sealed),
        _affinity(dispatch),
    ]


def derived(found: Iterable[Part]) -> list[Binding]:
    """Return the bindings that were computed again."""
    every = [b for part in found for b in (*part.bindings, *(b for g in part.groups for b in g.bindings))]
    return [binding for binding in every if binding.derived]


def proven(name: str, value: Json, sentence: str, computed: str) -> Binding:
    """Return a binding beside what it comes out as today."""
    return Binding(name=name, value=value, derived=sentence, agrees=value == computed)


def _members(value: Object, without: Iterable[str] = (), **known: Binding) -> list[Binding]:
    """Return the members of an object, those that are known to be derived with their proof."""
    names = sorted((name for name in value if name not in without), key=_place)
    return [known.get(name, Binding(name=name, value=value[name])) for name in names]


def _place(name: str) -> int:
    """Return where a member is shown: what is named in words first."""
    return PLACES.get(name, len(PLACES))


def _whole(dispatch: Object, admitted: str) -> Part:
    journal = "journal-" + digests.short(digests.digest(dispatch["episode"]))
    bindings = [Binding(name="journal", value=journal)]
    if admitted:
        bindings.insert(0, proven("dispatch", admitted, "dispatch", digests.digest(dispatch)))
    return Part(name="whole", bindings=bindings)


def _episode(episode: Object, attempt: int) -> Part:
    thread = episode["thread"]
    given = _given(episode, attempt)
    return Part(
        name="episode",
        bindings=[
            Binding(name="threadIdentity", value=thread["threadIdentity"]),
            *(given.get(name, Binding(name=name, value=episode[name])) for name in IDENTITIES),
        ],
        groups=[
            Group(name="delivery", bindings=_members(thread["delivery"])),
            Group(name="site", bindings=_members(episode["site"])),
        ],
    )


IDENTITIES: Final = ("invocationIdentity", "attemptIdentity")


def _given(episode: Object, attempt: int) -> dict[str, Binding]:
    """Return those of an episode's identities that follow our rule; another host may have chosen its own."""
    thread, site = _thread(episode["thread"]), _site(episode["site"])
    numbers = {"invocationIdentity": ("invocation", 1), "attemptIdentity": ("attempt", attempt)}
    found = {}
    for name, (prefix, sequence) in numbers.items():
        computed = identities.host_identity(prefix, thread, site, sequence)  # type: ignore[arg-type]
        if episode[name] == computed:
            found[name] = proven(name, episode[name], prefix, computed)
    return found


def _thread(thread: Object) -> ThreadRef:
    delivery = thread["delivery"]
    reference = DeliveryRef(
        identity=delivery["deliveryIdentity"],
        manifest_binding=delivery["manifestBindingIdentity"],
        activation_binding=delivery["activationBindingIdentity"],
    )
    return ThreadRef(delivery=reference, identity=thread["threadIdentity"])


def _site(site: Object) -> SiteRef:
    return SiteRef(kind=site["kind"], node=site["nodeIdentity"], branch=site.get("branchIdentity"))


def _plan(dispatch: Object) -> Part:
    plan = dispatch["plan"]
    computed = identities.plan_binding(
        dispatch["episode"]["site"], dispatch["action"], dispatch["executor"]["bindingIdentity"]
    )
    binding = proven("bindingIdentity", plan["bindingIdentity"], "plan", computed)
    return Part(name="plan", bindings=_members(plan, bindingIdentity=binding))


def _executor(executor: Object) -> Part:
    session, turn = executor["session"], executor["turn"]
    binding = identities.executor_binding(session, turn)
    compatibility = identities.session_compatibility(session)
    return Part(
        name="executor",
        bindings=_members(
            executor,
            without=("session", "turn"),
            bindingIdentity=proven("bindingIdentity", executor["bindingIdentity"], "executor", binding),
            sessionCompatibilityIdentity=proven(
                "sessionCompatibilityIdentity",
                executor["sessionCompatibilityIdentity"],
                "compatibility",
                compatibility,
            ),
        ),
    )


def _session_part(session: Object) -> Part:
    """Group what the session part names: agent, model, driver, instructions, policy, and each tool."""
    things = {name: value for name, value in session.items() if isinstance(value, Mapping)}
    tools = session.get("tools") or ()
    return Part(
        name="session",
        bindings=_members(session, without=(*things, "tools")),
        groups=[
            *(Group(name=name, bindings=_members(value)) for name, value in sorted(things.items())),
            *(Group(name="tool", number=n, bindings=_members(tool)) for n, tool in enumerate(tools, 1)),
        ],
    )


def _workspace(dispatch: Object, *, sealed: bool) -> Part:
    workspace = dispatch["workspace"]
    inside = workspace.get(HANDLE.get(workspace["kind"], ""), {})
    access = identities.access_digest(dispatch["executor"]["turn"]["access"])
    known = {}
    if "accessDigest" in inside:
        known["accessDigest"] = proven("accessDigest", inside["accessDigest"], "access", access)
    if "episode" in inside:
        same = digests.same(inside["episode"], dispatch["episode"])
        known["episode"] = Binding(name="sameEpisode", value="", derived="episode", agrees=same)
    return Part(
        name="workspace",
        bindings=[
            *_members(workspace, without=HANDLE.values()),
            *_members(inside, (SEAL,), **known),
        ],
        groups=_seal(inside[SEAL], sealed=sealed) if SEAL in inside else (),
    )


def _seal(seal: Object, *, sealed: bool) -> list[Group]:
    """Return the seal of a capability: who gave it, and whether it still fits."""
    signature = Binding(name="signature", value=seal["signature"], derived="seal", agrees=sealed)
    return [Group(name="seal", bindings=_members(seal, signature=signature))]


def _affinity(dispatch: Object) -> Part:
    session, delivery = dispatch["session"], dispatch["session"]["delivery"]
    identity = identities.affinity_identity(
        delivery["deliveryIdentity"],
        session["sessionCompatibilityIdentity"],
        session["scopeValueIdentity"],
        session["isolation"],
    )
    compatibility = dispatch["executor"]["sessionCompatibilityIdentity"]
    return Part(
        name="affinity",
        bindings=_members(
            session,
            without=("delivery",),
            identity=proven("identity", session["identity"], "affinity", identity),
            sessionCompatibilityIdentity=proven(
                "sessionCompatibilityIdentity",
                session["sessionCompatibilityIdentity"],
                "same-compatibility",
                compatibility,
            ),
            scopeValueIdentity=_scope_value(dispatch),
        ),
        groups=[Group(name="delivery", bindings=_members(delivery))],
    )


def of_affinity(affinity: AffinityItem) -> Part:
    """Return what a session is bound to; until somebody has opened it there is no native session to speak of."""
    identity = identities.affinity_identity(
        affinity.delivery, affinity.compatibility, affinity.scope_value, affinity.isolation
    )
    bound = [
        Binding(name="sessionCompatibilityIdentity", value=affinity.compatibility),
        Binding(name="scopeValueIdentity", value=affinity.scope_value),
        Binding(name="isolation", value=affinity.isolation),
        proven("identity", affinity.identity, "affinity", identity),
    ]
    if affinity.generation:
        native = identities.session_binding(affinity.identity, affinity.opaque_identity)
        bound.append(Binding(name="opaqueIdentity", value=affinity.opaque_identity))
        bound.append(proven("bindingIdentity", affinity.binding, "native", native))
    return Part(name="affinity", bindings=bound)


def _scope_value(dispatch: Object) -> Binding:
    """Prove the scope value by the rule of the session's policy (reference: seed-contracts 2 and 19.15)."""
    value = dispatch["session"]["scopeValueIdentity"]
    scope = dispatch["executor"]["session"]["policy"]["scope"]
    episode, given = dispatch["episode"], dispatch["input"]
    bound = given.get(scope.get("source")) if isinstance(given, Mapping) else None
    rules = {
        "scope-episode": digests.digest(episode),
        "scope-data": digests.digest(bound),
        "scope-data-isolated": digests.digest([bound, episode]),
    }
    if scope["kind"] == "episode":
        return proven("scopeValueIdentity", value, "scope-episode", rules["scope-episode"])
    isolated = dispatch["session"]["isolation"] == "isolated" and value != rules["scope-data"]
    sentence = "scope-data-isolated" if isolated else "scope-data"
    return proven("scopeValueIdentity", value, sentence, rules[sentence])
