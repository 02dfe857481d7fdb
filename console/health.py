"""What a supervisor asks: is the process alive, is it ready, what are its figures."""

import hmac
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from console import errors, metrics
from lifecycle_core.application import health
from lifecycle_core.contract.errors import Forbidden


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers."""
    return JsonResponse({"status": "alive"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Say whether work can be done: database, migrations, workers."""
    problems = health.ready()
    status = "unready" if problems else "ready"
    return JsonResponse({"status": status, "problems": problems}, status=503 if problems else 200)


@require_safe
@never_cache
def figures(request: HttpRequest) -> HttpResponse:
    """Give the figures to Prometheus."""
    if not may_scrape(request):
        return errors.response(Forbidden(reason="Scrape from this machine, or send the metrics token."))
    return HttpResponse(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)


def may_scrape(request: HttpRequest) -> bool:
    """Let everybody on a local console, elsewhere the holder of the token, or this machine where there is no token."""
    if settings.LIFECYCLE_PROFILE == "local":
        return True
    if settings.LIFECYCLE_METRICS_TOKEN:
        expected = f"Bearer {settings.LIFECYCLE_METRICS_TOKEN}".encode()
        return hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected)
    # Behind a proxy every request comes from this machine.
    return not settings.ALLAUTH_TRUSTED_PROXY_COUNT and is_loopback(request.META.get("REMOTE_ADDR", ""))


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
