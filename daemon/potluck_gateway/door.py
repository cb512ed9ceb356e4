"""Lets in only those who show a key, and ends connections that show none.

Any program of any user of this computer can connect to a port on loopback, and so can web pages through a browser.
Therefore every request but a probe needs a key, its Host must be `localhost`, an IP address or one of `gateway.hosts`,
because other names can be made to point anywhere, and headers of a browser (`Origin`) are refused unless they name one
of `gateway.origins`. Programs that can send no header put the key in front of the path. A connection that has shown no
key ends soon, and gives way to newer ones.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Callable, Collection
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from potluck_gateway.requests import BadRequestError

MAX_UNPROVEN = 128  # connections that have not shown a key: as many as the system lets in at once
_PROBES = (("GET", "/health"), ("HEAD", "/"))  # tell nothing but that the gateway is there
_BEARER = re.compile("bearer +", re.IGNORECASE)
_Address = tuple[str, int]


class Door:
    """The connections that have not shown a key."""

    proof_timeout_s = 5.0  # from a connection to the key in its first request

    def __init__(self) -> None:
        self._unproven: dict[_Address, tuple[asyncio.Transport, float]] = {}  # with when it must have shown a key

    def protocol(self, **options: Any) -> asyncio.Protocol:
        """Return uvicorn's protocol for a new connection."""
        return _Watched(H11Protocol(**options), self)

    def enter(self, address: _Address, transport: asyncio.Transport) -> None:
        """Admit a new connection. It takes the place of the oldest stranger, so that nobody is kept out."""
        if len(self._unproven) >= MAX_UNPROVEN:
            self._end(next(iter(self._unproven)))
        self._unproven[address] = transport, time.monotonic() + self.proof_timeout_s

    def note_key(self, address: _Address) -> None:
        """Let a connection that has shown a key stay for as long as it likes."""
        self._unproven.pop(address, None)

    def end_late(self) -> None:
        """End the connections that should have shown a key by now."""
        now = time.monotonic()
        for stranger, (_, until) in list(self._unproven.items()):
            if until < now:
                self._end(stranger)

    def _end(self, stranger: _Address) -> None:
        self._unproven.pop(stranger)[0].abort()


class _Watched(asyncio.Protocol):
    """Tells the door when a connection begins and ends; everything else is uvicorn's."""

    def __init__(self, inner: asyncio.Protocol, door: Door) -> None:
        self._inner = inner
        self._door = door
        self._address: _Address = ("", 0)
        self.data_received = inner.data_received  # type: ignore[method-assign]
        self.eof_received = inner.eof_received  # type: ignore[method-assign]
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._address = transport.get_extra_info("peername")[:2]
        self._door.enter(self._address, transport)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.note_key(self._address)
        self._inner.connection_lost(exc)


class Guard:
    """Decides whether a request may come in."""

    def __init__(
        self, door: Door, is_key: Callable[[str], bool], hosts: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        """`hosts`: further names that a Host may have. `origins`: those of web pages that may ask."""
        self._door = door
        self._is_key = is_key
        self._hosts = hosts
        self._origins = origins

    def admit(self, scope: Scope) -> Scope:
        """Return the request without a key in its path, and with it as `key`; a probe has an empty one.

        Raises BadRequestError.
        """
        headers = Headers(scope=scope)
        self._check_host(headers.get("host", ""))
        page = headers.get("origin", headers.get("referer"))
        if page is not None and page not in self._origins:
            raise BadRequestError(f"requests from web pages are refused unless gateway.origins names {page[:200]}", 403)
        if (scope["method"], scope["path"]) in _PROBES:
            return {**scope, "key": ""}
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        bearer = _BEARER.sub("", headers.get("authorization", ""), count=1)
        shown = (first, bearer, headers.get("x-api-key", ""), headers.get("api-key", ""))
        key = next(filter(self._is_key, shown), None)
        if key is None:
            raise BadRequestError("wrong key: send Authorization: Bearer KEY", 401, "invalid_api_key")
        self._door.note_key(scope["client"])
        return {**scope, "key": key, "path": f"/{rest}" if key == first else scope["path"]}

    def _check_host(self, host: str) -> None:
        """Raise BadRequestError unless the Host may be served, with or without a port."""
        name = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
        if name.lower() in ("localhost", *self._hosts):
            return
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            text = f"the Host must be localhost, an IP address or a name in gateway.hosts, not {name[:200]}"
            raise BadRequestError(text, 421) from None


def for_pages(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Return the app with the answers by which browsers let web pages of these origins use it."""
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "HEAD", "POST"),
        allow_headers=("*",),
        allow_private_network=True,
    )
