"""Why something is cancelled, in the words of the contract."""

from typing import Literal

from django.http import HttpRequest

from console import errors


def of(request: HttpRequest) -> Literal["DELIVERY_CANCELLED", "TIMEOUT", "COORDINATOR_STOP"]:
    """Return the reason that a form names; a coordinator's stop where it asks for none. Raises `BadRequest`."""
    match request.POST.get("reason", "COORDINATOR_STOP"):
        case "DELIVERY_CANCELLED":
            return "DELIVERY_CANCELLED"
        case "TIMEOUT":
            return "TIMEOUT"
        case "COORDINATOR_STOP":
            return "COORDINATOR_STOP"
    raise errors.BadRequest
