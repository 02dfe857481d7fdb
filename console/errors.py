"""How a refusal looks over HTTP: one table from its class to a status, and one shape, that of RFC 9457.

HTTP exists here and in the rest of `console` only. Pages use `status_of`, the API `response`.
"""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpResponse

from lifecycle_core.contract import errors
from lifecycle_core.contract.errors import Refused

MEDIA_TYPE: Final = "application/problem+json"
TYPE: Final = "urn:lifecycle-console:problem:"

# Refusals of the wire itself, which no use case knows.


class BadRequest(Refused):
    """The request cannot be understood."""

    code = "BAD_REQUEST"


class MethodNotAllowed(Refused):
    """This address does not answer that method."""

    code = "METHOD_NOT_ALLOWED"


class MediaTypeUnsupported(Refused):
    """Send JSON as application/json."""

    code = "MEDIA_TYPE_UNSUPPORTED"


@dataclass(eq=False)
class Internal(Refused):
    """Something went wrong here; the log has the details."""

    code = "INTERNAL"
    reference: str = ""


STATUS: Final[Mapping[type[Refused], HTTPStatus]] = {
    BadRequest: HTTPStatus.BAD_REQUEST,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    MediaTypeUnsupported: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Internal: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.NotCanonical: HTTPStatus.BAD_REQUEST,
    errors.SchemaInvalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.AlreadyDecided: HTTPStatus.CONFLICT,
    errors.RequestExpired: HTTPStatus.GONE,
    errors.DigestMismatch: HTTPStatus.CONFLICT,
    errors.KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.StatusConflict: HTTPStatus.CONFLICT,
    errors.LeaseLost: HTTPStatus.CONFLICT,
    errors.ValueTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.ConfigurationInvalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.DeliveryConflict: HTTPStatus.CONFLICT,
    errors.DeliveryRetired: HTTPStatus.CONFLICT,
    errors.DeliveryBusy: HTTPStatus.CONFLICT,
    errors.AgentWithdrawn: HTTPStatus.CONFLICT,
    errors.RetryRefused: HTTPStatus.CONFLICT,
    errors.SecretInArguments: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.CorrelationMismatch: HTTPStatus.CONFLICT,
    errors.ExecutorBindingMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ModelBindingMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.SessionAffinityMismatch: HTTPStatus.CONFLICT,
    errors.SessionStateUnknown: HTTPStatus.CONFLICT,
    errors.CapabilityMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ProviderNotImplemented: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ManagedPathBypass: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.CredentialAcquisitionFailed: HTTPStatus.CONFLICT,
    errors.RetirementNotAuthorized: HTTPStatus.FORBIDDEN,
}
# For answers that Django gives before any code of ours runs.
BY_STATUS: Final[Mapping[int, type[Refused]]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: MethodNotAllowed,
    413: errors.ValueTooLarge,
    415: MediaTypeUnsupported,
}


def status_of(refused: Refused) -> HTTPStatus:
    """Return the HTTP status of a refusal."""
    return STATUS[type(refused)]


def of_status(status: int) -> Refused:
    """Return the refusal that a bare HTTP status stands for."""
    return BY_STATUS.get(status, Internal if status >= 500 else BadRequest)()


def problem(refused: Refused) -> dict[str, Any]:
    """Return the problem document of a refusal."""
    return {
        "type": TYPE + refused.code.lower().replace("_", "-"),
        "title": refused.sentence,
        "status": int(status_of(refused)),
        "code": refused.code,
        **extension(refused),
    }


def extension(refused: Refused) -> dict[str, Any]:
    """Return the members that only some problems have."""
    match refused:
        case errors.SchemaInvalid():
            return {"errors": [{"pointer": p.pointer, "detail": p.detail} for p in refused.problems]}
        case errors.NotCanonical() if refused.detail:
            return {"detail": refused.detail}
        case errors.AlreadyDecided():
            at = instant(refused.at_ms) if refused.at_ms else None
            return {"decided": {"by": refused.by, "at": at, "decision": refused.state}}
        case errors.StatusConflict() if refused.status:
            return {"invocation_status": refused.status}
        case errors.RetryRefused() if refused.following:
            return {"following": refused.following}
        case errors.ValueTooLarge() if refused.limit_bytes:
            return {"limit_bytes": refused.limit_bytes}
        case Internal() if refused.reference:
            return {"reference": refused.reference}
    return {}


def response(refused: Refused) -> HttpResponse:
    """Answer with a problem document."""
    body = json.dumps(problem(refused), ensure_ascii=False)
    answer = HttpResponse(body, status=status_of(refused), content_type=MEDIA_TYPE)
    if isinstance(refused, errors.Unauthenticated):
        answer["WWW-Authenticate"] = 'Bearer realm="lifecycle-console"'
    return answer


def instant(at_ms: int) -> str:
    """Write a time as ISO 8601 in UTC with milliseconds."""
    at = datetime.datetime.fromtimestamp(at_ms // 1000, datetime.UTC).replace(microsecond=at_ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
