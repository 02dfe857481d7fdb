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


def exactly(text: str) -> str:
    """Return an origin that is given as an origin, without path or query. Raises `ConfigurationInvalid`."""
    found = of(text)
    parts = urlsplit(text.strip())
    if parts.path.rstrip("/") or parts.query or parts.fragment:
        raise errors.ConfigurationInvalid(detail=f"{text!r} must be http(s)://host[:port] and nothing more.")
    return found
