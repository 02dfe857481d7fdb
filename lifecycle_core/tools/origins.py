"""Where a request may go: one grammar for URLs, exact origins, and no address that the world cannot reach unless it is named.

An address is looked up once and connected to as it was found, so that a name cannot point elsewhere between the check and the
use. A private address is allowed only when the allow-list names the origin of the address itself, as in `http://10.0.0.5:8080`,
or the host is `localhost`, which the allow-list must then name.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lifecycle_core.contract.ports import ToolError

PORTS: Final = {"http": 80, "https": 443}
MAX_URL: Final = 8192
MAX_ADDRESSES: Final = 4

# ASCII only, no user information, no fragment, no backslash: nothing that two readers of a URL could take differently.
_ORIGIN = r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?"
_URL = re.compile(rf"(?i:{_ORIGIN})(?P<target>(?:/[!$-;=?-Z\[\]_a-z~]*)?(?:\?[!$-;=?-Z\[\]_a-z~]*)?)")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, kw_only=True)
class Place:
    """A URL in its parts; `target` is the path and query exactly as given."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """Return the origin with its port, in lower case."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """Return what the Host header says."""
        return self.host if self.port == PORTS[self.scheme] else f"{self.host}:{self.port}"


def parse(url: str) -> Place:
    """Take a URL apart. Raises `ToolError` URL_REFUSED."""
    found = _URL.fullmatch(url) if len(url) <= MAX_URL else None
    port = int(found["port"] or PORTS[found["scheme"].lower()]) if found else 0
    if not found or not 0 < port < 65536:
        raise ToolError(
            "URL_REFUSED",
            "give a plain http or https URL in ASCII (other characters percent-encoded, hosts in punycode), "
            "without user name and fragment",
        )
    scheme, host, target = found["scheme"].lower(), found["host"].lower(), found["target"]
    return Place(
        scheme=scheme, host=host, port=port, target=target if target.startswith("/") else "/" + target
    )


def check_allowed(place: Place, allowed: Iterable[str]) -> None:
    """Raise `ToolError` ORIGIN_NOT_ALLOWED unless the allow-list names the origin of a place."""
    origins = _named(allowed)
    if place.origin not in origins:
        raise ToolError(
            "ORIGIN_NOT_ALLOWED",
            f"{place.origin} is not allowed; allowed: {', '.join(sorted(origins)) or 'none'}",
        )
    literal = _literal(place.host)
    if literal is None and place.host.rpartition(".")[2].isdigit():
        raise ToolError("URL_REFUSED", "write an IPv4 address as four decimal numbers")


def _named(allowed: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(parse(origin).origin for origin in allowed)
    except ToolError as cause:
        raise ToolError(
            "ORIGIN_NOT_ALLOWED", "the allow-list of this agent holds something that is no origin"
        ) from cause


def addresses(place: Place, allowed: Iterable[str]) -> list[str]:
    """Look a host up and return the addresses to connect to. Raises `ToolError` NOT_SENT or PRIVATE_ADDRESS."""
    literal = _literal(place.host)
    found = [literal] if literal else _lookup(place)
    named = _named(allowed)
    for address in found:
        if not _may_connect(address, place, named):
            raise ToolError(
                "PRIVATE_ADDRESS", f"{place.host} leads to {address}, which is not a public address"
            )
    return [str(address) for address in found[:MAX_ADDRESSES]]


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _lookup(place: Place) -> list[Address]:
    try:
        answers = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except OSError as cause:
        raise ToolError("NOT_SENT", f"{place.host} could not be looked up") from cause
    return [ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in dict.fromkeys(answers)]


def _may_connect(address: Address, place: Place, named: frozenset[str]) -> bool:
    if is_public(address):
        return True
    if place.host == "localhost" and address.is_loopback:
        return True
    shown = f"[{address}]" if address.version == 6 else str(address)
    return f"{place.scheme}://{shown}:{place.port}" in named


def is_public(address: Address) -> bool:
    """Tell whether an address, or the one that it stands for, belongs to the whole Internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(address.packed[-4:]))
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner:
            return is_public(inner)
        if address.packed[:12] == bytes(12):  # IPv4-compatible, long deprecated
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
