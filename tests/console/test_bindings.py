"""A dispatch as people read it: every derived digest is computed again, and one that was changed is marked."""

import copy
from typing import Any

import pytest
from django.conf import settings

from console import bindings, contract_words
from lifecycle_core.access.capabilities import Authority
from lifecycle_core.contract import digests
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.identities import DeliveryRef
from lifecycle_core.engine import composing

AGENT: dict[str, Any] = {
    "name": "writer",
    "provider": "chat-completions",
    "model": "scripted",
    "base_url": "http://127.0.0.1:1/v1",
    "credential": "refs/model",
    "instructions": "Write.",
    "capabilities": ["structured-completion"],
    "tools": ["files"],
    "workspace": "desk",
    "access": [{"mode": "read", "path": "**"}, {"mode": "write", "path": "notes/**"}],
    "actions": [
        {
            "name": "write",
            "purpose": "Write a note.",
            "input_schema": {"type": "object"},
            "result_schema": {"type": "object"},
        }
    ],
}
DELIVERY = DeliveryRef(
    identity="d-1", manifest_binding=digests.digest("m"), activation_binding=digests.digest("a")
)


def dispatch(attempt: int = 1, **session: str) -> dict[str, Any]:
    agent = AgentDefinition.of({**AGENT, **({"session": session} if session else {})})
    episode = composing.following_episode(composing.first_episode(DELIVERY, "thread-1", "write"), attempt)
    composed = composing.compose(
        agent,
        "write",
        {"customer": "c-7"},
        tenant="default",
        episode=episode,
        tools=(),
        workspaces=Authority(lambda: settings.LIFECYCLE_KEYS, lambda: {agent.workspace}),
    )
    return composed.as_json()


def wrong(value: dict[str, Any], attempt: int = 1, admitted: str = "") -> list[tuple[str, str]]:
    """Return what does not come out as it is written."""
    found = bindings.derived(bindings.parts(value, attempt, admitted, sealed=True))
    return [(binding.name, binding.derived) for binding in found if not binding.agrees]


@pytest.mark.parametrize(
    "session",
    [
        {},
        {"scope": "data-bound", "source": "customer", "isolation": "shared"},
        {"scope": "data-bound", "source": "customer", "isolation": "isolated"},
    ],
)
@pytest.mark.parametrize("attempt", [1, 3])
def test_everything_in_a_composed_dispatch_comes_out_the_same(session: dict[str, str], attempt: int) -> None:
    composed = dispatch(attempt, **session)
    assert wrong(composed, attempt, digests.digest(composed)) == []
    assert len(bindings.derived(bindings.parts(composed, attempt, digests.digest(composed)))) == 12


CHANGES: dict[str, tuple[tuple[str, ...], Any, set[tuple[str, str]]]] = {
    "the path of a rule": (
        ("executor", "turn", "access"),
        [{"mode": "write", "path": "**"}],
        {("bindingIdentity", "executor"), ("accessDigest", "access")},
    ),
    "the model": (
        ("executor", "session", "model", "providerModelIdentity"),
        "another",
        {("bindingIdentity", "executor"), ("sessionCompatibilityIdentity", "compatibility")},
    ),
    "the purpose": (("action", "purpose"), "Delete.", {("bindingIdentity", "plan")}),
    "the isolation": (("session", "isolation"), "shared", {("identity", "affinity")}),
    "the workspace's episode": (
        ("workspace", "handle", "episode", "attemptIdentity"),
        "attempt.other",
        {("sameEpisode", "episode")},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_afterwards_is_marked(change: str) -> None:
    composed = dispatch()
    changed = copy.deepcopy(composed)
    *path, last = CHANGES[change][0]
    place = changed
    for name in path:
        place = place[name]
    place[last] = CHANGES[change][1]
    expected = CHANGES[change][2] | {("dispatch", "dispatch")}
    assert set(wrong(changed, admitted=digests.digest(composed))) == expected


def test_a_seal_that_does_not_fit_is_marked() -> None:
    found = bindings.derived(bindings.parts(dispatch(), 1, sealed=False))
    assert [(b.name, b.derived) for b in found if not b.agrees] == [("signature", "seal")]


def test_identities_of_a_host_claim_nothing() -> None:
    composed = dispatch()
    composed["episode"]["invocationIdentity"] = "my-own"
    found = bindings.derived(bindings.parts(composed, 1))
    assert "invocation" not in [binding.derived for binding in found]
    assert "attempt" in [binding.derived for binding in found]


def test_every_member_is_shown_once_and_named_in_words() -> None:
    composed = dispatch()
    found = bindings.parts(composed, 1)
    names = [
        b.name for part in found for b in (*part.bindings, *(b for g in part.groups for b in g.bindings))
    ]
    assert set(names) <= contract_words.MEMBER.keys()
    shown = {part.name: [binding.name for binding in part.bindings] for part in found}
    assert shown["executor"] == ["identity", "bindingIdentity", "sessionCompatibilityIdentity"]
    assert {group.name for part in found for group in part.groups} <= contract_words.PART.keys()
