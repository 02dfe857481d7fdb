"""Canonical JSON and digests (RFC 8785; reference: seed-contracts 2).

What cannot be represented exactly is refused, never rounded: a digest stands for the bytes that a person approved, so two
readers must never disagree on what those bytes are.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

from lifecycle_core.contract import errors

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None

SAFE_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 64
# Nothing is circular that is nested 64 deep at most.
_PLAIN: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
)


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value as UTF-8.

    Raises `errors.NotCanonical` for integers beyond 2^53 - 1, NaN, infinities, lone surrogates, keys that are no text, nesting
    deeper than 64 and values that are not JSON.
    """
    try:
        if _is_plain(value, 0):
            # Equal to RFC 8785 for values without floats and with ASCII keys, at a quarter of the cost.
            return _PLAIN.encode(value).encode()
        _check_depth(value, 0)
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError, TypeError) as cause:
        raise errors.NotCanonical(detail=str(cause)) from cause


def _is_plain(value: Any, depth: int) -> bool:
    """Tell whether the fast path is exact for a value, refusing what no path can carry."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return True
        raise errors.NotCanonical(detail="an integer lies beyond 2^53 - 1")
    if kind is dict or kind is list or kind is tuple:
        if depth >= MAX_DEPTH:
            raise errors.NotCanonical(detail=f"nested deeper than {MAX_DEPTH}")
        return _has_plain_items(value, kind is dict, depth + 1)
    return isinstance(value, str)  # the word of an enumeration is written as text is


def _has_plain_items(value: Any, named: bool, depth: int) -> bool:
    # Every payload passes here twice: loops without generators cost half.
    if named:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        value = value.values()
    for item in value:  # noqa: SIM110
        if type(item) is not str and not _is_plain(item, depth):
            return False
    return True


def _check_depth(value: Any, depth: int) -> None:
    """Refuse what is nested too deep; the fast path gives up at the first value that it cannot carry, and may not see it."""
    if not isinstance(value, dict | list | tuple):
        return
    if depth >= MAX_DEPTH:
        raise errors.NotCanonical(detail=f"nested deeper than {MAX_DEPTH}")
    for item in value.values() if isinstance(value, dict) else value:
        _check_depth(item, depth + 1)


def digest_bytes(content: bytes) -> str:
    """Return `sha256:` and 64 lower-case hex digits for some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest(value: Any) -> str:
    """Return the digest of a JSON value's canonical form."""
    return digest_bytes(canonical(value))


def parse(text: str | bytes) -> Json:
    """Read JSON strictly.

    Raises `errors.NotCanonical` for duplicate keys, NaN, infinities, overflow, integers beyond 2^53 - 1, lone surrogates and
    anything that is not JSON.
    """
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=_safe_int,
            parse_float=_finite,
        )
        canonical(value)
    except errors.NotCanonical:
        raise
    except (ValueError, RecursionError) as cause:
        raise errors.NotCanonical(detail=str(cause)) from cause
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise errors.NotCanonical(detail="an object names the same key twice")
    return value


def _refuse_constant(name: str) -> Json:
    raise errors.NotCanonical(detail=f"{name} is not JSON")


def _safe_int(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > SAFE_INTEGER:
        raise errors.NotCanonical(detail="an integer lies beyond 2^53 - 1")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise errors.NotCanonical(detail="a number is too large")
    return number


def short(identity: str) -> str:
    """Return the first 24 hex digits of a digest, as derived identities carry them."""
    return identity.removeprefix("sha256:")[:24]


def same(left: Any, right: Any) -> bool:
    """Compare two JSON values by their canonical bytes, so that `True` is not `1` and `1.0` is `1`."""
    return canonical(left) == canonical(right)


def thaw(value: Any) -> Any:
    """Return plain dicts and lists for a value made of mappings and sequences."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
