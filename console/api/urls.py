"""The API object and its addresses."""

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from ninja import NinjaAPI

from console import errors
from console.api import (
    affinities,
    agents,
    approvals,
    authentication,
    deliveries,
    dispatches,
    feed,
    inputs,
    invocations,
    journal,
    leases,
    problems,
    providers,
    resolutions,
    tombstones,
    tools,
    wire,
    workspaces,
)
from lifecycle_core.contract.errors import NotFound

api = NinjaAPI(
    title="Lifecycle Console",
    version="1",
    description="Start agents, decide what they may do, follow and audit what they did.",
    urls_namespace="api",
    auth=[authentication.Bearer(), authentication.Session()],
    parser=wire.StrictParser(),
)
problems.install(api)
for resource in (
    agents,
    providers,
    tools,
    deliveries,
    invocations,
    approvals,
    inputs,
    tombstones,
    affinities,
    leases,
    dispatches,
    workspaces,
    feed,
    journal,
):
    api.add_router(f"/{resource.__name__.rpartition('.')[2]}", resource.router)
api.add_router("/invocations", resolutions.router)


def nothing(request: HttpRequest, **_: str) -> HttpResponse:
    """Answer for every address below /api that is none."""
    return errors.response(NotFound())


nothing.csrf_exempt = True  # type: ignore[attr-defined]

# The first stands before ninja's own, which would answer with a page.
urlpatterns = [path("v1/", nothing), path("v1/", api.urls), re_path(r"^.*$", nothing)]
