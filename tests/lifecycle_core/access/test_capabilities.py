"""The seal of a workspace capability: of one tenant, workspace, episode and set of rules, by one of our keys."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from lifecycle_core.access import capabilities, keyfiles
from lifecycle_core.access.capabilities import Authority
from lifecycle_core.contract import errors, identities
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import WorkspaceCapability
from tests.lifecycle_core.contract import golden

RULES: Final[list[Json]] = [{"mode": "write", "path": "notes/**"}]
WIDER: Final[list[Json]] = [{"mode": "write", "path": "**"}]


@pytest.fixture
def registered() -> set[str]:
    return {"desk", "shelf"}


@pytest.fixture
def authority(tmp_path: Path, registered: set[str]) -> Authority:
    return Authority(lambda: tmp_path, lambda: registered)


@pytest.fixture
def sealed(authority: Authority) -> WorkspaceCapability:
    return authority.seal("default", bare())


def bare(workspace: str = "desk") -> WorkspaceCapability:
    handle: dict[str, Json] = {
        "handleIdentity": "handle-1",
        "episode": golden.episode().as_json(),
        "savepoint": workspace,
        "accessDigest": identities.access_digest(RULES),
    }
    return WorkspaceCapability(kind="write", handle=handle)


def changed(sealed: WorkspaceCapability, **parts: Any) -> WorkspaceCapability:
    return WorkspaceCapability(kind=sealed.kind, handle={**(sealed.handle or {}), **parts})


def with_envelope(sealed: WorkspaceCapability, **parts: Any) -> WorkspaceCapability:
    envelope: Any = (sealed.handle or {})["capability"]
    return changed(sealed, capability={**envelope, **parts})


def test_a_seal_is_known_again_and_says_its_key_its_time_and_a_nonce(
    authority: Authority, sealed: WorkspaceCapability
) -> None:
    assert authority.is_sealed("default", sealed)
    assert {*with_envelope(sealed).handle["capability"]} == {"key", "issuedAt", "nonce", "signature"}  # type: ignore[index,misc]
    assert authority.seal("default", bare()) != sealed, "every seal has a nonce of its own"


type Attack = Callable[[WorkspaceCapability], WorkspaceCapability]
OTHER_EPISODE: Final[Any] = {**golden.INPUT["episode"], "attemptIdentity": "attempt.2"}
ATTACKS: Final[dict[str, Attack]] = {
    "no seal": lambda _: bare(),
    "a seal that is none": lambda c: changed(c, capability="sealed"),
    "an empty seal": lambda c: changed(c, capability={}),
    "no base64": lambda c: with_envelope(c, signature="?"),
    "not even ASCII": lambda c: with_envelope(c, signature="é"),
    "no text": lambda c: with_envelope(c, signature=None),
    "another signature": lambda c: with_envelope(c, signature=base64.b64encode(bytes(64)).decode()),
    "an unknown key": lambda c: with_envelope(c, key="0" * 16),
    "another time": lambda c: with_envelope(c, issuedAt=1),
    "a number that nothing can be signed over": lambda c: with_envelope(c, issuedAt=2**60),
    "another nonce": lambda c: with_envelope(c, nonce="0"),
    "more than was sealed": lambda c: with_envelope(c, more=1),
    "another registered workspace": lambda c: changed(c, savepoint="shelf"),
    "another identity": lambda c: changed(c, handleIdentity="handle-2"),
    "another episode": lambda c: changed(c, episode=OTHER_EPISODE),
    "wider rules": lambda c: changed(c, accessDigest=identities.access_digest(WIDER)),
    "another kind": lambda c: WorkspaceCapability(kind="read", handle={**(c.handle or {}), "source": "desk"}),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_whatever_is_not_as_it_was_sealed_is_not_known(
    authority: Authority, sealed: WorkspaceCapability, attack: Attack
) -> None:
    assert authority.is_sealed("default", sealed)
    assert not authority.is_sealed("default", attack(sealed))


def test_a_seal_of_another_tenant_is_not_known(authority: Authority, sealed: WorkspaceCapability) -> None:
    assert not authority.is_sealed("elsewhere", sealed)
    assert authority.is_sealed("elsewhere", authority.seal("elsewhere", bare()))


def test_a_workspace_must_be_registered_to_be_sealed_and_to_stay_open(
    authority: Authority, sealed: WorkspaceCapability, registered: set[str]
) -> None:
    with pytest.raises(errors.ConfigurationInvalid, match="garage"):
        authority.seal("default", bare("garage"))
    registered.remove("desk")
    assert not authority.is_sealed("default", sealed)
    registered.add("desk")
    assert authority.is_sealed("default", sealed)


def test_another_console_with_the_same_keys_knows_it_and_one_with_others_does_not(
    sealed: WorkspaceCapability, tmp_path: Path, registered: set[str]
) -> None:
    assert Authority(lambda: tmp_path, lambda: registered).is_sealed("default", sealed)
    assert not Authority(lambda: tmp_path / "other", lambda: registered).is_sealed("default", sealed)
    assert (tmp_path / capabilities.KEY_FILE).stat().st_mode & 0o077 == 0


def test_an_older_key_is_known_and_the_newest_seals(
    authority: Authority, sealed: WorkspaceCapability, tmp_path: Path
) -> None:
    old = keyfiles.found(tmp_path, capabilities.KEY_FILE)
    newer = base64.b64encode(bytes(range(32))).decode()
    keyfiles.prepend(tmp_path, capabilities.KEY_FILE, newer)
    fresh = authority.seal("default", bare())
    assert authority.is_sealed("default", sealed)
    assert authority.is_sealed("default", fresh)
    keyfiles.replace(tmp_path, capabilities.KEY_FILE, old)
    assert not authority.is_sealed("default", fresh), "its key was the newer one"
