"""The chain of derived identities is the golden one, link by link and in a dispatch."""

import dataclasses

import pytest

from lifecycle_core.contract import digests, identities
from lifecycle_core.contract.identities import SiteRef
from tests.lifecycle_core.contract import golden

GIVEN, DERIVED = golden.INPUT, golden.DERIVED


def test_each_link_of_the_chain_is_the_golden_one() -> None:
    turn = {"access": GIVEN["access"]}
    compatibility = identities.session_compatibility(GIVEN["session"])
    executor = identities.executor_binding(GIVEN["session"], turn)
    scope = digests.digest(golden.episode().as_json())
    affinity = identities.affinity_identity(golden.delivery().identity, compatibility, scope, "isolated")
    assert {
        "accessDigest": identities.access_digest(GIVEN["access"]),
        "sessionCompatibilityIdentity": compatibility,
        "executorBindingIdentity": executor,
        "planBindingIdentity": identities.plan_binding(
            golden.episode().site.as_json(), golden.action().as_json(), executor
        ),
        "scopeValueIdentity": scope,
        "affinityIdentity": affinity,
        "journalReferenceIdentity": identities.journal_reference(golden.episode()),
        "sessionBindingIdentity": identities.session_binding(affinity, GIVEN["opaqueIdentity"]),
        "responseContentIdentity": digests.digest(GIVEN["response"]["content"]),
        "receiptIdentity": identities.receipt(GIVEN["response"]),
    } == DERIVED


def test_references_have_the_shape_that_the_vectors_were_made_of() -> None:
    assert golden.delivery().as_json() == GIVEN["delivery"]
    assert golden.episode().as_json() == GIVEN["episode"]
    assert golden.action().as_json() == GIVEN["action"]


def test_a_dispatch_carries_the_golden_identities_where_the_contract_wants_them() -> None:
    shown = golden.dispatch().as_json()
    assert shown["episode"] == GIVEN["episode"]
    assert shown["plan"] == {
        "actionIdentity": "action.review",
        "executorIdentity": "executor.reviewer",
        "bindingIdentity": DERIVED["planBindingIdentity"],
    }
    assert shown["session"] == {
        "identity": DERIVED["affinityIdentity"],
        "delivery": GIVEN["delivery"],
        "sessionCompatibilityIdentity": DERIVED["sessionCompatibilityIdentity"],
        "scopeValueIdentity": DERIVED["scopeValueIdentity"],
        "isolation": "isolated",
    }
    executor = shown["executor"]
    assert isinstance(executor, dict)
    assert digests.digest(executor["session"]) == executor["sessionCompatibilityIdentity"]
    assert (
        digests.digest({"session": executor["session"], "turn": executor["turn"]})
        == executor["bindingIdentity"]
    )
    workspace = shown["workspace"]
    assert isinstance(workspace, dict)
    assert isinstance(workspace["handle"], dict)
    assert workspace["handle"]["accessDigest"] == DERIVED["accessDigest"]


def test_episodes_match_whatever_their_site_and_in_nothing_else() -> None:
    episode = golden.episode()
    assert episode.matches(dataclasses.replace(episode, site=SiteRef(node="elsewhere")))
    others = [
        {"invocation": "other"},
        {"attempt": "other"},
        {"thread": dataclasses.replace(episode.thread, identity="other")},
        {
            "thread": dataclasses.replace(
                episode.thread,
                delivery=dataclasses.replace(episode.thread.delivery, activation_binding="other"),
            )
        },
    ]
    for other in others:
        assert not episode.matches(dataclasses.replace(episode, **other))  # type: ignore[arg-type]


def test_of_a_delivery_only_its_identity_counts_for_affinity_and_all_of_it_for_the_journal() -> None:
    episode = golden.episode()
    moved = dataclasses.replace(
        episode,
        thread=dataclasses.replace(
            episode.thread, delivery=dataclasses.replace(episode.thread.delivery, manifest_binding="other")
        ),
    )
    assert identities.journal_reference(moved) != identities.journal_reference(episode)


@pytest.mark.parametrize("change", [{"sequence": 2}, {"prefix": "attempt"}, {"site": SiteRef(node="other")}])
def test_a_host_gives_every_episode_its_own_identity(change: dict[str, object]) -> None:
    given = {
        "prefix": "invocation",
        "thread": golden.episode().thread,
        "site": golden.episode().site,
        "sequence": 1,
    }
    first = identities.host_identity(**given)  # type: ignore[arg-type]
    assert first == identities.host_identity(**given)  # type: ignore[arg-type]
    assert first != identities.host_identity(**(given | change))  # type: ignore[arg-type]
    assert first.startswith("invocation.")
    assert len(first.partition(".")[2]) == 64


def test_sites_name_their_branch_only_where_they_have_one() -> None:
    assert SiteRef(node="n").as_json() == {"kind": "node", "nodeIdentity": "n"}
    branch = SiteRef(node="n", kind="parallel-branch", branch="b")
    assert branch.as_json() == {"kind": "parallel-branch", "nodeIdentity": "n", "branchIdentity": "b"}
