"""Read the environment strictly: what is not understood stops the start with a sentence."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

type Profile = Literal["local", "production"]

MIB: Final = 1024 * 1024
FILE: Final = "console.toml"
DEMO: Final = "LIFECYCLE_MODEL"  # the demo's choice of a real model, read by the demo alone
FERNET_KEY: Final = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]=")
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
NAMES: Final = frozenset(
    {
        "LIFECYCLE_CREDENTIAL_KEYS",
        "LIFECYCLE_DATA",
        "LIFECYCLE_DATABASE_URL",
        "LIFECYCLE_DSH_GRACE_SECONDS",
        "LIFECYCLE_DSH_START_SECONDS",
        "LIFECYCLE_HOSTS",
        "LIFECYCLE_HTTP_ORIGINS",
        "LIFECYCLE_LOG",
        "LIFECYCLE_METRICS_TOKEN",
        "LIFECYCLE_ORIGINS",
        "LIFECYCLE_PROFILE",
        "LIFECYCLE_PROXIES",
        "LIFECYCLE_REDIS_URL",
        "LIFECYCLE_SECRET_KEY",
        "LIFECYCLE_URL",
        "LIFECYCLE_VALUE_BYTES",
        "LIFECYCLE_WORKERS",
        "LIFECYCLE_WORKSPACES",
    }
)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the person who runs the console has chosen. `origins` may be empty locally: see `console.origins`."""

    profile: Profile
    data: Path
    url: str
    database_url: str
    redis_url: str
    secret_key: str
    credential_keys: tuple[str, ...]
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    proxies: int
    http_origins: frozenset[str]
    workspaces: Mapping[str, Path]
    workers: int
    value_bytes: int
    dsh_grace_seconds: int
    dsh_start_seconds: int
    metrics_token: str
    log: Literal["json", "console"]


def read(environ: Mapping[str, str]) -> Environment:
    """Read every `LIFECYCLE_*` variable and the data folder's `console.toml`. Raises `ImproperlyConfigured`."""
    refuse_unknown(environ)
    given = {name: environ[name].strip() for name in NAMES if environ.get(name, "").strip()}
    data = Path(given.get("LIFECYCLE_DATA", "var")).expanduser().absolute()
    stored = read_file(data)
    url = origin(given["LIFECYCLE_URL"], "LIFECYCLE_URL") if "LIFECYCLE_URL" in given else ""
    profile = choose_profile(given.get("LIFECYCLE_PROFILE"), url)
    chosen = Environment(
        profile=profile,
        data=data,
        url=url,
        database_url=given.get("LIFECYCLE_DATABASE_URL", ""),
        redis_url=prefixed(given, "LIFECYCLE_REDIS_URL", ("redis://", "rediss://", "unix://")),
        secret_key=given.get("LIFECYCLE_SECRET_KEY", ""),
        credential_keys=credential_keys(given),
        hosts=hosts(given, profile, url),
        origins=origins(given, url),
        proxies=number(given, "LIFECYCLE_PROXIES", 0, 0, 8),
        http_origins=http_origins(given, stored),
        workspaces=workspaces(given, stored, data),
        workers=number(given, "LIFECYCLE_WORKERS", 8, 1, 256),
        value_bytes=number(given, "LIFECYCLE_VALUE_BYTES", 4 * MIB, 1024, 64 * MIB),
        dsh_grace_seconds=number(given, "LIFECYCLE_DSH_GRACE_SECONDS", 20, 0, 600),
        dsh_start_seconds=number(given, "LIFECYCLE_DSH_START_SECONDS", 30, 1, 600),
        metrics_token=given.get("LIFECYCLE_METRICS_TOKEN", ""),
        log=log_format(given, profile),
    )
    if profile == "production":
        check_production(chosen)
    return chosen


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Refuse a name that nothing reads: it is most likely a misspelt setting."""
    ours = {name for name in environ if name.startswith("LIFECYCLE_") and not name.startswith(DEMO)}
    unknown = sorted(ours - NAMES)
    if unknown:
        known = ", ".join(sorted(NAMES))
        raise ImproperlyConfigured(f"Nothing reads {', '.join(unknown)}. Known names: {known}.")


def read_file(data: Path) -> dict[str, Any]:
    """Read `console.toml`: a table `workspaces` of folders by name, and a list `http_origins`."""
    path = data / FILE
    if not path.exists():
        return {}
    try:
        stored = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise ImproperlyConfigured(f"{path} is not valid TOML: {cause}") from cause
    if unknown := sorted(set(stored) - {"workspaces", "http_origins"}):
        raise ImproperlyConfigured(f"Nothing reads {', '.join(unknown)} in {path}.")
    return stored


def choose_profile(named: str | None, url: str) -> Profile:
    """Take the profile by its name, else by the scheme of the public URL."""
    if named not in (None, "local", "production"):
        raise ImproperlyConfigured(f"LIFECYCLE_PROFILE is {named!r}; it is local or production.")
    https = url.startswith("https://")
    if named == "local" and https:
        raise ImproperlyConfigured("LIFECYCLE_PROFILE=local serves plain http, but LIFECYCLE_URL is https.")
    return "production" if named == "production" or https else "local"


def origin(text: str, name: str) -> str:
    """Return `scheme://host[:port]` in its one spelling, without a default port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as cause:
        raise ImproperlyConfigured(f"{name}: {text!r} is not a URL: {cause}.") from cause
    extra = parts.path.rstrip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not parts.hostname or extra or "*" in parts.hostname:
        raise ImproperlyConfigured(f"{name}: {text!r} must be http(s)://host[:port] and nothing more.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, default) else "")


def listed(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Split a comma-separated variable."""
    return tuple(part.strip() for part in given.get(name, "").split(",") if part.strip())


def hosts(given: Mapping[str, str], profile: Profile, url: str) -> tuple[str, ...]:
    """Return the Host names that are answered; never a wildcard, on loopback neither (DNS rebinding)."""
    named = listed(given, "LIFECYCLE_HOSTS")
    for host in named:
        if "*" in host or host.startswith(".") or "/" in host:
            raise ImproperlyConfigured(f"LIFECYCLE_HOSTS: {host!r} is not one exact host name.")
    own = (url_host(url),) if url else ()
    return tuple(dict.fromkeys((*named, *own, *(LOOPBACK if profile == "local" else ()))))


def url_host(url: str) -> str:
    """Return the host of an origin as Django compares it: with brackets around an IPv6 address."""
    host = urlsplit(url).hostname or ""
    return f"[{host}]" if ":" in host else host


def origins(given: Mapping[str, str], url: str) -> tuple[str, ...]:
    """Return the origins whose pages may open sockets and post."""
    named = [origin(text, "LIFECYCLE_ORIGINS") for text in listed(given, "LIFECYCLE_ORIGINS")]
    return tuple(dict.fromkeys([*([url] if url else []), *named]))


def http_origins(given: Mapping[str, str], stored: Mapping[str, Any]) -> frozenset[str]:
    """Return the origins that the tool `http_request` may reach."""
    name = "LIFECYCLE_HTTP_ORIGINS"
    named = listed(given, name) if name in given else stored.get("http_origins", [])
    if not isinstance(named, list | tuple) or not all(isinstance(text, str) for text in named):
        raise ImproperlyConfigured(f"http_origins in {FILE} must be a list of origins.")
    return frozenset(origin(text, name) for text in named)


def workspaces(given: Mapping[str, str], stored: Mapping[str, Any], data: Path) -> dict[str, Path]:
    """Return the registered folders by name: those below `workspaces/` of the data folder, and the named."""
    found = {folder.name: folder for folder in sorted(data.glob("workspaces/*")) if folder.is_dir()}
    named = parse_workspaces(given["LIFECYCLE_WORKSPACES"]) if "LIFECYCLE_WORKSPACES" in given else None
    table = stored.get("workspaces", {}) if named is None else named
    if not isinstance(table, dict) or not all(isinstance(path, str) and path for path in table.values()):
        raise ImproperlyConfigured('Workspaces are {"name": "folder"}, each name with one folder.')
    for name in table:
        if not name or "/" in name or name.startswith("."):
            raise ImproperlyConfigured(f"{name!r} is no name of a workspace.")
    return found | {name: (data / Path(path).expanduser()).resolve() for name, path in table.items()}


def parse_workspaces(text: str) -> Any:
    """Read the JSON of `LIFECYCLE_WORKSPACES`."""
    try:
        return json.loads(text)
    except ValueError as cause:
        raise ImproperlyConfigured(f"LIFECYCLE_WORKSPACES is not JSON: {cause}.") from cause


def credential_keys(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that credentials are encrypted with, the newest first; no error shows any of them."""
    keys = listed(given, "LIFECYCLE_CREDENTIAL_KEYS")
    for number, key in enumerate(keys, 1):
        if not FERNET_KEY.fullmatch(key):
            raise ImproperlyConfigured(
                f"LIFECYCLE_CREDENTIAL_KEYS: key {number} is not 32 bytes in URL-safe base64."
            )
    return keys


def number(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Read a whole number between two bounds."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise ImproperlyConfigured(f"{name} is {text!r}; it is a whole number from {least} to {most}.")
    return int(text)


def prefixed(given: Mapping[str, str], name: str, prefixes: tuple[str, ...]) -> str:
    """Read a URL of one of some schemes."""
    text = given.get(name, "")
    if text and not text.startswith(prefixes):
        raise ImproperlyConfigured(f"{name} must begin with {' or '.join(prefixes)}.")
    return text


def log_format(given: Mapping[str, str], profile: Profile) -> Literal["json", "console"]:
    """Choose how log lines look: for a machine in production, for a person else."""
    named = given.get("LIFECYCLE_LOG") or ("json" if profile == "production" else "console")
    if named == "json":
        return "json"
    if named == "console":
        return "console"
    raise ImproperlyConfigured(f"LIFECYCLE_LOG is {named!r}; it is json or console.")


def check_production(chosen: Environment) -> None:
    """Refuse to run in public with anything that is safe only on one's own machine."""
    refusals = {
        "LIFECYCLE_URL must be the public https:// address": not chosen.url.startswith("https://"),
        "LIFECYCLE_ORIGINS may hold https:// only": any(o.startswith("http://") for o in chosen.origins),
        "LIFECYCLE_SECRET_KEY must have 50 characters or more, of 8 kinds": is_weak(chosen.secret_key),
    }
    if found := [sentence for sentence, holds in refusals.items() if holds]:
        raise ImproperlyConfigured("The production profile refuses to start: " + "; ".join(found) + ".")


def is_weak(key: str) -> bool:
    """Tell whether a key is short, monotonous or Django's placeholder."""
    return len(key) < 50 or len(set(key)) < 8 or key.startswith("django-insecure")
