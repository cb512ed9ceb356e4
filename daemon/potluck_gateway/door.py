"""Lets in only those who show a key, and ends connections that show none.

Any program of any user of this computer can connect to a port on loopback, and so can web pages through a browser.
Therefore every request needs a key, its Host must be `localhost` or an IP address, because names can be made to point
anywhere, and headers of a browser (`Origin`) are refused. Programs that can send no header put the key in front of the
path. A connection that has shown no key ends soon, and gives way to newer ones.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from potluck_gateway.requests import BadRequestError

MAX_UNPROVEN = 32  # connections that have not shown a key
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
        strangers = list(self._unproven)
        for stranger in strangers[: len(strangers) - MAX_UNPROVEN + 1]:
            self._end(stranger)
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

    def __init__(self, door: Door, is_key: Callable[[str], bool]) -> None:
        self._door = door
        self._is_key = is_key

    def admit(self, scope: Scope) -> Scope:
        """Return the request without a key in its path, and with it as `key`. Raises BadRequestError without one."""
        headers = Headers(scope=scope)
        _check_host(headers.get("host", ""))
        if "origin" in headers or "referer" in headers:
            raise BadRequestError("requests from web pages are refused", 403)
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        is_in_path = self._is_key(first)
        key = first if is_in_path else headers.get("authorization", "").removeprefix("Bearer ")
        if not is_in_path and not self._is_key(key):
            raise BadRequestError("wrong key: send Authorization: Bearer KEY", 401, "invalid_api_key")
        self._door.note_key(scope["client"])
        return {**scope, "key": key, "path": f"/{rest}" if is_in_path else scope["path"]}


def _check_host(host: str) -> None:
    """Raise BadRequestError unless the Host is `localhost` or an address, with or without a port."""
    name = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
    if name == "localhost":
        return
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        raise BadRequestError("the Host must be localhost or an IP address", 421) from None
