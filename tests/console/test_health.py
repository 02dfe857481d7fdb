"""What a supervisor asks."""

from typing import Any

import pytest
from django.test import Client

from console import health, metrics
from lifecycle_core.application import work


def test_alive_is_answered_without_the_database() -> None:
    assert Client().get("/healthz").json() == {"status": "alive"}


@pytest.mark.django_db
def test_ready_says_so() -> None:
    response = Client().get("/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ready", "problems": []})


@pytest.mark.django_db
def test_not_ready_says_why() -> None:
    def probe() -> list[str]:
        return ["the thread worker-look has ended"]

    work.add_probe(probe)
    try:
        response = Client().get("/readyz")
    finally:
        work.remove_probe(probe)
    assert response.status_code == 503
    assert response.json()["problems"] == ["the thread worker-look has ended"]


@pytest.mark.django_db
def test_requests_are_counted_by_route_and_not_by_address() -> None:
    before = count("GET", "api/v1/invocations/<uuidstr:invocation>", "401")
    for digit in "123":
        Client().get(f"/api/v1/invocations/{digit}f1f4a5e-1111-4111-8111-111111111111")
    assert count("GET", "api/v1/invocations/<uuidstr:invocation>", "401") == before + 3


@pytest.mark.django_db
def test_methods_that_strangers_invent_are_one_label() -> None:
    before = count("other", "healthz", "405")
    for method in ("BREW", "PROPFIND"):
        Client().generic(method, "/healthz")
    assert count("other", "healthz", "405") == before + 2


def count(method: str, route: str, status: str) -> float:
    labels = {"method": method, "route": route, "status": status}
    return metrics.REGISTRY.get_sample_value("lifecycle_http_requests_total", labels) or 0.0


class Production:
    """Settings of a public console."""

    def __init__(self, settings: Any, **given: Any) -> None:
        settings.LIFECYCLE_PROFILE = "production"
        settings.LIFECYCLE_METRICS_TOKEN = given.get("token", "")
        settings.ALLAUTH_TRUSTED_PROXY_COUNT = given.get("proxies", 0)


@pytest.mark.parametrize(
    ("given", "headers", "address", "allowed"),
    [
        ({}, {}, "127.0.0.1", True),
        ({}, {}, "::1", True),
        ({}, {}, "192.0.2.7", False),
        ({}, {}, "", False),
        ({"proxies": 1}, {}, "127.0.0.1", False),
        ({"token": "t"}, {}, "127.0.0.1", False),
        ({"token": "t"}, {"Authorization": "Bearer t"}, "192.0.2.7", True),
        ({"token": "t"}, {"Authorization": "Bearer u"}, "192.0.2.7", False),
        ({"token": "t"}, {"Authorization": "t"}, "192.0.2.7", False),
    ],
)
def test_a_public_console_keeps_its_figures_from_strangers(
    settings: Any, rf: Any, given: dict[str, Any], headers: dict[str, str], address: str, allowed: bool
) -> None:
    Production(settings, **given)
    request = rf.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert health.may_scrape(request) is allowed
