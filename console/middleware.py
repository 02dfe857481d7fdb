"""What every request passes. All of it works asynchronously, so that a waiting request holds no thread."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

type Next = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serve static files by WhiteNoise, also in an asynchronous chain."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

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
        return response
