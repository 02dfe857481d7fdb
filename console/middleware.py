"""What every request passes. All of it works asynchronously, so that a waiting request holds no thread."""

import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from console import errors, metrics

type Next = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class Passing:
    """Be a middleware that looks at each answer, in a synchronous chain as in an asynchronous one."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Next) -> None:
        self.get_response: Any = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        start = time.perf_counter()
        if self.is_async:
            return self.later(request, start)
        return self.answered(request, self.get_response(request), start)

    async def later(self, request: HttpRequest, start: float) -> HttpResponseBase:
        """Wait for the answer of an asynchronous chain."""
        return self.answered(request, await self.get_response(request), start)

    def answered(self, request: HttpRequest, response: HttpResponseBase, start: float) -> HttpResponseBase:
        """Return the answer or another in its place."""
        raise NotImplementedError


class Measured(Passing):
    """Count requests by route, method and status."""

    def answered(self, request: HttpRequest, response: HttpResponseBase, start: float) -> HttpResponseBase:
        """Count the answer."""
        route = request.resolver_match.route if request.resolver_match else ""
        metrics.count(request.method, route, response.status_code, time.perf_counter() - start)
        return response


class Legible(Passing):
    """Refuse addresses with a NUL, which no name of ours holds and PostgreSQL cannot store."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address holds a NUL.")
        return super().__call__(request)

    def answered(self, request: HttpRequest, response: HttpResponseBase, start: float) -> HttpResponseBase:
        """Leave the answer alone."""
        return response


class ApiProblems(Passing):
    """Answer below /api with problem documents also where Django itself refuses: host, method, redirect, fault."""

    def answered(self, request: HttpRequest, response: HttpResponseBase, start: float) -> HttpResponseBase:
        """Put a problem document in the place of Django's own page."""
        kind = response.get("Content-Type", "").partition(";")[0]
        if (
            not request.path_info.startswith("/api/")
            or response.status_code < 400
            or kind == errors.MEDIA_TYPE
        ):
            return response
        problem = errors.response(errors.of_status(response.status_code))
        if "Allow" in response:
            problem["Allow"] = response["Allow"]
        return problem


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serve static files by WhiteNoise, also in an asynchronous chain."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Answer with a file, or pass the request on."""
        return self.later(request) if self.is_async else super().__call__(request)

    async def later(self, request: HttpRequest) -> Any:
        """Wait for the chain where the request is for no file."""
        answer = super().__call__(request)
        return await answer if isawaitable(answer) else answer

    def add_files(self, root: str, prefix: str | None = None) -> None:
        """Take the collected files where `collectstatic` has run."""
        if Path(root).is_dir():
            super().add_files(root, prefix)

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """Answer with the whole file: ours are small, and a lazy one would be read in a thread of its own."""
        found = static_file.get_response(request.method, request.META)
        content = found.file.read() if found.file else b""
        response = HttpResponse(content, status=int(found.status))
        del response["content-type"]
        for key, value in found.headers:
            response[key] = value
        if found.file:
            # The length was noted at the start; who waits for bytes that a changed file does not have waits for ever.
            response["Content-Length"] = str(len(content))
        return response
