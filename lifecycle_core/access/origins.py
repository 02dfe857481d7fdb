"""Spell an origin in one way, so that two of them can be compared as text."""

from urllib.parse import urlsplit

from lifecycle_core.contract import errors

DEFAULT_PORTS = {"http": 80, "https": 443}


def of(url: str) -> str:
    """Return `scheme://host[:port]` of an http(s) URL, without a default port. Raises `ConfigurationInvalid`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as cause:
        raise errors.ConfigurationInvalid(detail=f"{url!r} is not a URL: {cause}.") from cause
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or parts.username or parts.password:
        raise errors.ConfigurationInvalid(
            detail=f"{url!r} must begin with http(s)://host and carry no password."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}")
