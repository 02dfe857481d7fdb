"""Send one HTTP request to an allowed origin.

The request leaves at most once. What is refused or fails before its first byte is out is NOT_SENT and harmless to repeat; after
that first byte only an answer tells what happened, and without one the outcome is unknown. Redirects are answers, not orders.
"""

import re
from collections.abc import Mapping
from typing import Final

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass, Preparation, ToolContext, ToolError
from lifecycle_core.tools import exchange, origins
from lifecycle_core.tools.specs import NotReconcilable, argument, spec

FAMILY: Final = "http_request"
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS: Final = frozenset({"GET", "HEAD"})
MAX_REQUEST_BYTES: Final = 1 << 20
MAX_HEADERS: Final = 40
MAX_HEADER_LENGTH: Final = 4096
SHOWN_HEADERS: Final = (
    "content-type",
    "content-language",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
)

# Said by us or by the connection, never by an agent.
_OURS: Final = frozenset(
    {"host", "content-length", "idempotency-key", "accept-encoding", "expect", "user-agent"}
)
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    }
)
# A secret in an argument would be shown, stored and exported; and nobody should be asked to judge one.
_CREDENTIAL = re.compile(r"authorization|cookie|api-?key|token|secret|password|credential")
_OF_PROXIES = re.compile(r"proxy-.*|x-forwarded-.*|x-real-ip|forwarded|via")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]{1,100}")
_VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?|")
_CHARSETS: Final = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "windows-1252", "utf-16"}


class HttpRequest(NotReconcilable):
    """Send one request."""

    spec = spec(
        "http_request",
        FAMILY,
        "Send one HTTP request to an allowed origin and return the answer. Redirects are not followed.",
        EffectClass.UNSAFE,
        {
            "method": {"type": "string", "enum": list(METHODS)},
            "url": {"type": "string", "minLength": 1, "maxLength": origins.MAX_URL},
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": MAX_HEADER_LENGTH},
                "description": "Extra headers, without credentials",
            },
            "body": {"type": "string", "description": "The body as text; not with GET or HEAD"},
        },
        required=["method", "url"],
    )

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        request = _request(arguments, context)
        return Preparation(
            preview={
                "kind": "request",
                "method": request.method,
                "url": argument(arguments, "url"),
                "host": request.place.host,
                "origin": request.place.origin,
                "headers": dict(_headers(arguments)),
                "body_bytes": len(request.body or b""),
            }
        )

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        request = _request(arguments, context)
        answer = exchange.Exchange(request, lambda: origins.addresses(request.place, context.origins)).run(
            context.interrupted
        )
        encoded = answer.headers.get("content-encoding", "identity").lower() != "identity"
        return {
            "status": answer.status,
            "headers": {
                name: answer.headers[name][:1024] for name in SHOWN_HEADERS if name in answer.headers
            },
            "body": "" if encoded else _text(answer),
            "truncated": encoded or not answer.complete,
        }


def _request(arguments: dict[str, Json], context: ToolContext) -> exchange.Request:
    """Check everything that can be checked without asking the network. Raises `ToolError`."""
    method = argument(arguments, "method")
    if method not in METHODS:
        raise ToolError("ARGUMENTS_INVALID", f"method must be one of {', '.join(METHODS)}")
    place = origins.parse(argument(arguments, "url"))
    origins.check_allowed(place, context.origins)
    return exchange.Request(
        method=method,
        place=place,
        headers={**_headers(arguments), "User-Agent": "lifecycle-console", "Idempotency-Key": context.call},
        body=_body(method, arguments),
    )


def _headers(arguments: Mapping[str, Json]) -> dict[str, str]:
    given = arguments.get("headers", {})
    if not isinstance(given, dict) or len(given) > MAX_HEADERS:
        raise ToolError("ARGUMENTS_INVALID", f"headers must be an object of at most {MAX_HEADERS} strings")
    if len({name.lower() for name in given}) != len(given):
        raise ToolError("HEADER_REFUSED", "a header is given twice")
    return {name: _header(name, value) for name, value in given.items()}


def _header(name: str, value: Json) -> str:
    if not isinstance(value, str) or len(value) > MAX_HEADER_LENGTH or not _VALUE.fullmatch(value):
        raise ToolError("HEADER_REFUSED", "a header value must be a line of printable ASCII")
    lower = name.lower()
    # An underscore is refused, too: some servers read it as a hyphen.
    if not _NAME.fullmatch(name) or lower in _OURS | _HOP_BY_HOP or _OF_PROXIES.fullmatch(lower):
        raise ToolError("HEADER_REFUSED", f"the header {name[:100]!a} cannot be set")
    if _CREDENTIAL.search(lower):
        raise ToolError(
            "HEADER_REFUSED", f"the header {name} may carry a secret; secrets do not belong into arguments"
        )
    return value


def _body(method: str, arguments: dict[str, Json]) -> bytes | None:
    if "body" not in arguments:
        return None
    if method in BODILESS:
        raise ToolError("ARGUMENTS_INVALID", f"a {method} request has no body")
    try:
        body = argument(arguments, "body").encode()
    except UnicodeEncodeError as cause:
        raise ToolError("ARGUMENTS_INVALID", "the body holds half a surrogate pair") from cause
    if len(body) > MAX_REQUEST_BYTES:
        raise ToolError("TOO_LARGE", f"the body is larger than {MAX_REQUEST_BYTES} bytes")
    return body


def _text(answer: exchange.Answer) -> str:
    charset = (
        answer.headers.get("content-type", "").lower().partition("charset=")[2].split(";")[0].strip(' "')
    )
    return answer.body.decode(charset if charset in _CHARSETS else "utf-8", "replace")
