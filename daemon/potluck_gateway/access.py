"""Admits only requests that show a key, and ends connections that show none.

Any program of any user of this computer can connect to a port on loopback, and so can web pages through a browser.
Therefore every request but a probe needs a key, its Host must be `localhost`, an IP address or one of `gateway.hosts`,
because other names can be made to point anywhere, and headers of a browser (`Origin`) are refused unless they name one
of `gateway.origins`. Programs that can send no header put the key in front of the path. A connection that has shown no
key ends soon. One that has shown a key stays until its program is silent for a minute.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import resource
from collections.abc import Callable
from typing import Any

from potluck_control.settings import GatewaySettings
from starlette.datastructures import Headers
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from potluck_gateway.exchange import BadRequestError

SOCKET_TIMEOUT_S = 60.0  # the longest silence of a client that neither sends nor reads
_MAX_UNPROVED = 2048
_PROBES = (("GET", "/health"), ("HEAD", "/"))  # they reveal only that the gateway is there
_BEARER = re.compile("bearer +", re.IGNORECASE)


class AccessControl:
    """Decides which requests are admitted, and how long a connection may take to show a key.

    Connections without a key may use half of the files that this process may open. Beyond that, the oldest one is
    aborted, but never before its first data has been read: that takes three rounds of the event loop, each of which
    accepts at most `backlog` connections.
    """

    proof_timeout_s = 5.0  # time from a connection to the key in its first request

    def __init__(self, is_key: Callable[[str], bool], settings: GatewaySettings) -> None:
        self._is_key = is_key
        self._settings = settings
        self._unproved: dict[asyncio.Transport, asyncio.TimerHandle] = {}  # the oldest first
        self._max_unproved = min(_MAX_UNPROVED, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, 4))
        self.backlog = self._max_unproved // 4

    def register(self, transport: asyncio.Transport) -> None:
        """Give a new connection its time to show a key. The oldest one without a key makes room if needed."""
        if len(self._unproved) >= self._max_unproved:
            oldest = next(iter(self._unproved))
            self.release(oldest)
            oldest.abort()
        until = asyncio.get_running_loop().call_later(self.proof_timeout_s, transport.abort)
        self._unproved[transport] = until

    def release(self, transport: asyncio.Transport) -> None:
        """Stop the timer of a connection that has shown a key or has ended."""
        if until := self._unproved.pop(transport, None):
            until.cancel()

    def admit(self, scope: Scope) -> Scope:
        """Return the request without the key in its path, and with the key as `key`; a probe has an empty one.

        Raises BadRequestError.
        """
        headers = Headers(scope=scope)
        self._check_host(headers.get("host", ""))
        page = headers.get("origin", headers.get("referer"))
        if page is not None and page not in self._settings.origins:
            raise BadRequestError(f"requests from web pages are refused unless gateway.origins names {page[:200]}", 403)
        if (scope["method"], scope["path"]) in _PROBES:
            return {**scope, "key": ""}
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        bearer = _BEARER.sub("", headers.get("authorization", ""), count=1)
        shown = (first, bearer, headers.get("x-api-key", ""), headers.get("api-key", ""))
        key = next(filter(self._is_key, shown), None)
        if key is None:
            raise BadRequestError("wrong key: send Authorization: Bearer KEY", 401, "invalid_api_key")
        self.release(scope["state"]["transport"])
        return {**scope, "key": key, "path": f"/{rest}" if key == first else scope["path"]}

    def _check_host(self, host: str) -> None:
        """Raise BadRequestError unless the Host may be served, with or without a port."""
        name = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
        if name.lower() in ("localhost", *self._settings.hosts):
            return
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            text = f"the Host must be localhost, an IP address or a name in gateway.hosts, not {name[:200]}"
            raise BadRequestError(text, 421) from None


class GatewayConnection(H11Protocol):  # type: ignore[misc]
    """A connection of uvicorn under access control. It ends when its program stops reading."""

    def __init__(self, access: AccessControl, **options: Any) -> None:
        super().__init__(**options)
        self._access = access

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.app_state = {"transport": transport}  # uvicorn copies it into the scope of each request
        self._access.register(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._access.release(self.transport)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(SOCKET_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stuck.cancel()
