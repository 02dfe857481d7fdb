"""Keep secrets encrypted and lend them for one turn, to the origins that they are bound to.

The keys are Fernet keys, the newest first: it seals, and any of them opens. They stand one per line in the key file, or come
with the environment. Where both are there, those of the environment go first: so an installation moves to keys of its own by a
rotation, and what the file's keys have sealed opens until then.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import connection, transaction

from lifecycle_core.access import keyfiles, origins
from lifecycle_core.access.models import Credential
from lifecycle_core.contract import errors

KEY_FILE: Final = "credentials.keys"
LEASED: Final = "SELECT ciphertext, origins FROM access_credential WHERE tenant_id = %s AND ref = %s"


class Lease:
    """A turn's right to one secret. Python may have copied it; our own copy is overwritten on release."""

    def __init__(self, secret: bytes) -> None:
        self._secret = bytearray(secret)

    @property
    def material(self) -> Mapping[str, str]:
        """Return `{"secret": …}`, and nothing once the lease is released."""
        return {"secret": self._secret.decode()} if self._secret else {}

    def release(self) -> None:
        """Overwrite the secret; harmless when repeated."""
        self._secret[:] = bytes(len(self._secret))
        self._secret.clear()

    def __repr__(self) -> str:
        return "Lease(…)"


def store(tenant: str, ref: str, secret: str, bound: Sequence[str], by: str) -> None:
    """Keep a secret under a name, bound to some origins; a secret of that name is replaced."""
    Credential.objects.update_or_create(
        tenant_id=tenant,
        ref=ref,
        defaults={"ciphertext": _seal(tenant, ref, secret), "origins": list(bound), "updated_by": by},
    )


def lease(tenant: str, ref: str, url: str) -> Lease:
    """Lend a secret for requests to a URL. Raises `CredentialAcquisitionFailed`, which never says why."""
    row = _found(tenant, ref)
    if row is None or not _is_bound(row, url):
        raise errors.CredentialAcquisitionFailed
    return Lease(_open(row).encode())


def known(tenant: str, ref: str) -> Lease | None:
    """Lend a secret that is sent nowhere, to look for it; nothing where there is none or no key opens it."""
    row = _found(tenant, ref)
    try:
        return Lease(_open(row).encode()) if row else None
    except errors.CredentialAcquisitionFailed:
        return None


def _found(tenant: str, ref: str) -> Credential | None:
    """Read a secret in written SQL: every turn of every agent begins here."""
    with connection.cursor() as cursor:
        cursor.execute(LEASED, [tenant, ref])
        found = cursor.fetchone()
    if found is None:
        return None
    return Credential(tenant_id=tenant, ref=ref, ciphertext=found[0], origins=json.loads(found[1]))


@dataclass(frozen=True, kw_only=True)
class Rotated:
    """How many secrets are sealed anew, and which ones no key opens, as `tenant/ref`."""

    sealed: int
    unreadable: Sequence[str]


def rotate() -> Rotated:
    """Seal every secret anew: with a new key, or with the environment's newest where keys come from there.

    Turns lease meanwhile, and others may rotate: a key is there before anything is sealed with it, and none ever goes.
    """
    if not settings.LIFECYCLE_CREDENTIAL_KEYS:
        _keys()  # Make the first key first, so that it stays beside the new one.
        keyfiles.prepend(settings.LIFECYCLE_KEYS, KEY_FILE, _new_key())
    rows = list(Credential.objects.values_list("pk", "tenant_id", "ref"))
    unreadable = [f"{tenant}/{ref}" for pk, tenant, ref in rows if not _seal_again(pk)]
    return Rotated(sealed=len(rows) - len(unreadable), unreadable=unreadable)


@transaction.atomic
def _seal_again(pk: int) -> bool:
    """Seal one secret with the newest key; false where no key opens it. One that was removed meanwhile needs nothing."""
    row = Credential.objects.select_for_update().filter(pk=pk).first()
    if row is None:
        return True
    try:
        sealed = _seal(row.tenant_id, row.ref, _open(row))
    except errors.CredentialAcquisitionFailed:
        return False
    Credential.objects.filter(pk=pk).update(ciphertext=sealed)
    return True


def _is_bound(row: Credential, url: str) -> bool:
    try:
        return origins.of(url) in row.origins
    except errors.ConfigurationInvalid:
        return False


def _seal(tenant: str, ref: str, secret: str) -> str:
    plain = json.dumps({"tenant": tenant, "ref": ref, "secret": secret}).encode()
    return _keys().encrypt(plain).decode("ascii")


def _open(row: Credential) -> str:
    """Decrypt a row and check that the text belongs to it."""
    try:
        plain = json.loads(_keys().decrypt(row.ciphertext.encode()))
    except InvalidToken as cause:
        raise errors.CredentialAcquisitionFailed from cause
    if (plain["tenant"], plain["ref"]) != (row.tenant_id, row.ref):
        raise errors.CredentialAcquisitionFailed
    secret: str = plain["secret"]
    return secret


def _keys() -> MultiFernet:
    given: Sequence[str] = settings.LIFECYCLE_CREDENTIAL_KEYS
    folder = settings.LIFECYCLE_KEYS
    text = keyfiles.found(folder, KEY_FILE) if given else keyfiles.load(folder, KEY_FILE, _new_key)
    return MultiFernet([Fernet(line) for line in (*given, *text.split())])


def _new_key() -> str:
    return Fernet.generate_key().decode("ascii")
