"""Answer whatever goes wrong inside an operation with a problem document."""

import secrets
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from console import errors
from lifecycle_core.contract.errors import (
    NotFound,
    Problem,
    Refused,
    SchemaInvalid,
    Unauthenticated,
    ValueTooLarge,
)

log = structlog.get_logger(__name__)


def install(api: NinjaAPI) -> None:
    """Replace ninja's own answers."""
    api.add_exception_handler(Refused, refused)
    api.add_exception_handler(AuthenticationError, lambda request, _: errors.response(Unauthenticated()))
    api.add_exception_handler(Http404, lambda request, _: errors.response(NotFound()))
    api.add_exception_handler(RequestDataTooBig, too_big)
    api.add_exception_handler(ValidationError, invalid)
    api.add_exception_handler(HttpError, unreadable)
    api.add_exception_handler(Exception, unexpected)


def refused(request: HttpRequest, exception: Any) -> HttpResponse:
    """Answer with what a use case or the wire refused."""
    return errors.response(exception)


def too_big(request: HttpRequest, exception: Any) -> HttpResponse:
    """Refuse a body that says itself that it is too long."""
    return errors.response(ValueTooLarge(limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE))


def invalid(request: HttpRequest, exception: Any) -> HttpResponse:
    """Point at each wrong place of a body, a query or a header."""
    return errors.response(SchemaInvalid(problems=[problem(error) for error in exception.errors]))


def problem(error: dict[str, Any]) -> Problem:
    """Turn one finding of pydantic into a pointer; the name of our own parameter is not part of the body."""
    source, *path = error["loc"]
    pointer = "".join(
        f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path[source == "body" :]
    )
    detail = str(error["msg"])
    return Problem(pointer=pointer, detail=detail if source == "body" else f"{source}: {detail}")


def unreadable(request: HttpRequest, exception: Any) -> HttpResponse:
    """Say why a body could not be read; ninja wraps the parser's own reason."""
    cause = exception.__cause__
    return errors.response(cause if isinstance(cause, Refused) else errors.of_status(exception.status_code))


def unexpected(request: HttpRequest, exception: Any) -> HttpResponse:
    """Tell nothing of a fault but a reference to the log."""
    reference = secrets.token_hex(8)
    log.error("request failed", reference=reference, path=request.path, exc_info=exception)
    return errors.response(errors.Internal(reference=reference))
