"""Make bearer tokens and find their rows.

A token is `lcc_`, 32 random bytes and a checksum by which scanners tell it from other text. The checksum never
decides: every text that is offered goes the same way, so that a wrong prefix and a wrong secret take one time.
"""

import datetime
import hashlib
import hmac
import secrets
import zlib
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from lifecycle_core.access import keyfiles
from lifecycle_core.access.models import Token

PREFIX: Final = "lcc_"
ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY_LENGTH: Final = 43
CHECKSUM_LENGTH: Final = 6
LAST_USED_EVERY: Final = datetime.timedelta(minutes=5)


def generate() -> str:
    """Return a fresh token text."""
    body = _base62(int.from_bytes(secrets.token_bytes(32)), BODY_LENGTH)
    return PREFIX + body + checksum(body)


def checksum(body: str) -> str:
    """Return the six characters that follow a token's random part."""
    return _base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def keyed_hash(text: str) -> str:
    """Return the hash that a token is kept under; it takes the pepper too, so a stolen table is not enough."""
    pepper = keyfiles.load(settings.LIFECYCLE_KEYS, "tokens.key")
    return hmac.new(pepper.encode(), text.encode(), hashlib.sha256).hexdigest()


def find(text: str) -> Token | None:
    """Return the row of a token that is valid now, or nothing."""
    now = timezone.now()
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    return Token.objects.filter(live, hash=keyed_hash(text), revoked_at__isnull=True).first()


def note_use(token: Token) -> None:
    """Remember roughly when a token was last used; not each time, or every request would be a write."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_EVERY:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)


def _base62(number: int, length: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = ALPHABET[digit] + digits
    return digits.rjust(length, ALPHABET[0])
