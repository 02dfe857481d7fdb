"""Credentials: unreadable at rest, lent to their origins only, gone after the turn."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from lifecycle_core.access import credentials, keyfiles
from lifecycle_core.access.models import Credential, Tenant
from lifecycle_core.application import credentials as use_cases
from lifecycle_core.application import permissions
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor

pytestmark = pytest.mark.django_db
ADMIN = permissions.command_line("default")
SECRET = "sk-Grüße-0123456789"
ORIGIN = "https://models.example"


@pytest.fixture
def kept() -> Credential:
    use_cases.set(ADMIN, ref="refs/model", secret=SECRET, bound=[ORIGIN, "http://127.0.0.1:9000/v1"])
    return Credential.objects.get()


def test_a_secret_is_lent_to_its_origins(kept: Credential) -> None:
    for url in (ORIGIN, f"{ORIGIN}/v1", "https://models.example:443/x", "http://127.0.0.1:9000/v1/chat"):
        assert credentials.lease("default", "refs/model", url).material == {"secret": SECRET}


@pytest.mark.parametrize(
    ("tenant", "ref", "url"),
    [
        ("default", "refs/model", "http://models.example"),
        ("default", "refs/model", "https://models.example:8443"),
        ("default", "refs/model", "https://models.example.evil.example"),
        ("default", "refs/model", "https://models.example@evil.example"),
        ("default", "refs/model", "not a url"),
        ("default", "refs/model", ""),
        ("default", "refs/other", ORIGIN),
        ("elsewhere", "refs/model", ORIGIN),
    ],
)
def test_nobody_else_gets_it_and_nobody_learns_why(kept: Credential, tenant: str, ref: str, url: str) -> None:
    with pytest.raises(errors.CredentialAcquisitionFailed) as refusal:
        credentials.lease(tenant, ref, url)
    assert refusal.value.sentence == "The credential could not be leased."


def test_a_released_lease_holds_nothing(kept: Credential) -> None:
    lease = credentials.lease("default", "refs/model", ORIGIN)
    buffer = lease._secret
    lease.release()
    assert lease.material == {}
    assert bytes(buffer) == b""
    lease.release()


def test_a_lease_does_not_print_its_secret(kept: Credential) -> None:
    assert SECRET not in repr(credentials.lease("default", "refs/model", ORIGIN))


def test_the_row_does_not_show_the_secret(kept: Credential) -> None:
    stored = " ".join(str(value) for value in kept.__dict__.values())
    assert SECRET not in stored
    assert "sk-" not in stored


def test_a_sealed_text_opens_in_its_own_row_only(kept: Credential) -> None:
    Tenant.objects.create(slug="elsewhere")
    for tenant, ref in (("elsewhere", "refs/model"), ("default", "refs/other")):
        Credential.objects.create(tenant_id=tenant, ref=ref, ciphertext=kept.ciphertext, origins=[ORIGIN])
        with pytest.raises(errors.CredentialAcquisitionFailed):
            credentials.lease(tenant, ref, ORIGIN)


def test_a_damaged_text_does_not_open(kept: Credential) -> None:
    Credential.objects.update(ciphertext=kept.ciphertext[:-4] + "AAAA")
    with pytest.raises(errors.CredentialAcquisitionFailed):
        credentials.lease("default", "refs/model", ORIGIN)


def test_rotation_seals_everything_again_and_keeps_it_readable(kept: Credential) -> None:
    use_cases.set(ADMIN, ref="refs/second", secret="other", bound=[ORIGIN])
    assert use_cases.rotate(ADMIN) == credentials.Rotated(sealed=2, unreadable=[])
    assert Credential.objects.get(pk=kept.pk).ciphertext != kept.ciphertext
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}
    keys = keyfiles.load(settings.LIFECYCLE_KEYS, credentials.KEY_FILE).split()
    newest = keys[0]
    keyfiles.replace(settings.LIFECYCLE_KEYS, credentials.KEY_FILE, newest)
    assert credentials.lease("default", "refs/second", ORIGIN).material == {"secret": "other"}


def test_a_secret_that_no_key_opens_is_named_and_stops_no_other(kept: Credential) -> None:
    use_cases.set(ADMIN, ref="refs/broken", secret="other", bound=[ORIGIN])
    Credential.objects.filter(ref="refs/broken").update(
        ciphertext=Fernet(Fernet.generate_key()).encrypt(b"{}").decode()
    )
    rotated = use_cases.rotate(ADMIN)
    assert rotated == credentials.Rotated(sealed=1, unreadable=["default/refs/broken"])
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}


def test_keys_of_the_environment_go_before_those_of_the_file(kept: Credential, settings: Any) -> None:
    newest, older = (Fernet.generate_key().decode() for _ in range(2))
    settings.LIFECYCLE_CREDENTIAL_KEYS = (newest, older)
    file = keyfiles.found(settings.LIFECYCLE_KEYS, credentials.KEY_FILE)
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}
    assert use_cases.rotate(ADMIN).sealed == 1
    assert keyfiles.found(settings.LIFECYCLE_KEYS, credentials.KEY_FILE) == file
    assert Fernet(newest).decrypt(Credential.objects.get().ciphertext)
    keyfiles.replace(settings.LIFECYCLE_KEYS, credentials.KEY_FILE, "")
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}
    settings.LIFECYCLE_CREDENTIAL_KEYS = (older,)
    with pytest.raises(errors.CredentialAcquisitionFailed):
        credentials.lease("default", "refs/model", ORIGIN)
    keyfiles.replace(settings.LIFECYCLE_KEYS, credentials.KEY_FILE, file)


def test_with_keys_of_the_environment_no_file_is_made(settings: Any, tmp_path: Path) -> None:
    settings.LIFECYCLE_KEYS = tmp_path
    settings.LIFECYCLE_CREDENTIAL_KEYS = (Fernet.generate_key().decode(),)
    use_cases.set(ADMIN, ref="refs/model", secret=SECRET, bound=[ORIGIN])
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_two_processes_rotate_while_turns_lease(kept: Credential, child_environment: dict[str, str]) -> None:
    before = keyfiles.found(settings.LIFECYCLE_KEYS, credentials.KEY_FILE).split()
    script = f"import django; django.setup(); from {credentials.__name__} import rotate; rotate(); rotate()"
    environment = {**child_environment, "DJANGO_SETTINGS_MODULE": "console.settings"}
    child = subprocess.Popen([sys.executable, "-c", script], env=environment)
    ours = 0
    while child.poll() is None:
        begun = len(keyfiles.found(settings.LIFECYCLE_KEYS, credentials.KEY_FILE).split()) > len(before)
        if begun and ours < 5:
            ours += credentials.rotate().sealed  # while the other one is at it
        assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": SECRET}
    assert child.returncode == 0
    assert ours > 0
    after = keyfiles.found(settings.LIFECYCLE_KEYS, credentials.KEY_FILE).split()
    assert len(after) == len(before) + 2 + ours
    assert after[-len(before) :] == before
    assert Fernet(after[0]).decrypt(Credential.objects.get().ciphertext)


def test_setting_a_secret_again_replaces_it(kept: Credential) -> None:
    use_cases.set(ADMIN, ref="refs/model", secret="new", bound=[ORIGIN])
    assert credentials.lease("default", "refs/model", ORIGIN).material == {"secret": "new"}
    assert Credential.objects.count() == 1


@pytest.mark.parametrize(
    ("ref", "secret", "bound"),
    [
        ("", "s", [ORIGIN]),
        ("../x", "s", [ORIGIN]),
        ("refs/model", "", [ORIGIN]),
        ("refs/model", "s", []),
        ("refs/model", "s", ["ftp://x.example"]),
        ("refs/model", "s", ["https://user:pw@x.example"]),
        ("refs/model", "s", ["https://"]),
    ],
)
def test_a_credential_that_makes_no_sense_is_refused(ref: str, secret: str, bound: list[str]) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        use_cases.set(ADMIN, ref=ref, secret=secret, bound=bound)
    assert not Credential.objects.exists()


def test_only_an_administrator_manages_credentials(kept: Credential) -> None:
    nobody = Actor(tenant="default", name="user:nobody")
    for use in (
        lambda: use_cases.set(nobody, ref="refs/x", secret="s", bound=[ORIGIN]),
        lambda: use_cases.remove(nobody, "refs/model"),
        lambda: use_cases.listed(nobody),
        lambda: use_cases.rotate(nobody),
    ):
        with pytest.raises(errors.Forbidden):
            use()
