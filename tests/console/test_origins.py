"""Sockets are opened by our own pages only."""

from typing import Any

import pytest

from console import origins

HOSTILE = [
    "http://evil.example",
    "https://console.example",
    "http://console.example:8443",
    "https://console.example:8444",
    "https://console.example:8443.evil.example",
    "https://console.example:8443/",
    "https://CONSOLE.example:8443",
    "https://sub.console.example:8443",
    "https://user@console.example:8443",
    "http://localhost:8443",
    "file://",
    "null",
    "",
    "*",
]


def scope(*given: str, host: str = "console.example:8443") -> dict[str, Any]:
    headers = [(b"host", host.encode()), *[(b"origin", origin.encode()) for origin in given]]
    return {"type": "websocket", "headers": headers, "server": ("127.0.0.1", 8443)}


@pytest.fixture
def public(settings: Any) -> None:
    settings.LIFECYCLE_PROFILE = "production"
    settings.LIFECYCLE_ORIGINS = ("https://console.example:8443",)


@pytest.fixture
def local(settings: Any) -> None:
    settings.LIFECYCLE_PROFILE = "local"
    settings.LIFECYCLE_ORIGINS = ()


def test_our_own_page_is_let_in(public: None) -> None:
    assert origins.is_admitted(scope("https://console.example:8443"))


@pytest.mark.parametrize("origin", HOSTILE)
def test_every_other_origin_is_kept_out(public: None, origin: str) -> None:
    assert not origins.is_admitted(scope(origin))


def test_no_origin_is_no_page_of_ours(public: None) -> None:
    assert not origins.is_admitted(scope())


def test_two_origins_are_none(public: None) -> None:
    assert not origins.is_admitted(scope("https://console.example:8443", "https://console.example:8443"))


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_a_local_console_lets_in_the_page_that_it_served(local: None, host: str) -> None:
    assert origins.is_admitted(scope(f"http://{host}", host=host))


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8001", "127.0.0.1:8000"),
        ("http://localhost:8000", "127.0.0.1:8000"),
        ("https://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://rebound.example:8000", "rebound.example:8000"),
        ("http://127.0.0.1.evil.example:8000", "127.0.0.1.evil.example:8000"),
        ("http://127.0.0.1:8000@evil.example", "127.0.0.1:8000@evil.example"),
    ],
)
def test_a_local_console_lets_in_nobody_else(local: None, origin: str, host: str) -> None:
    assert not origins.is_admitted(scope(origin, host=host))


def test_a_repeated_host_is_none(local: None) -> None:
    given = scope("http://127.0.0.1:8000", host="127.0.0.1:8000")
    given["headers"].append((b"host", b"127.0.0.1:8000"))
    assert not origins.is_admitted(given)
