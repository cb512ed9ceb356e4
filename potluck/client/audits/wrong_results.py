"""Reports servers that returned wrong results: to the swarm's leaders, and to the owners of these servers.

The report names the people whose servers repeated the window, and says how far apart the results were. Everybody in the
swarm may read it. The window's inputs reveal the text, so they go only to leaders' servers of the same blocks, and only
if the user lets others see them. Such a server then repeats the window itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from potluck.client.calls import Calls
from potluck.client.servers import Servers
from potluck.membership.records import RecordError, WrongResults
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ForwardRequest
from potluck.routing.route import Needs, RouteHop
from potluck.tasks import BackgroundTasks

_log = logging.getLogger(__name__)

_AGAIN_S = 15.0  # time between two searches for leaders' servers
_BUSY_S = 120.0  # time before a server that was busy is sent the inputs again
_FOR_NOW = (Code.BUSY, Code.DRAINING, Code.UNREACHABLE)  # refusals that say nothing of another time
_KEPT_S = 1800.0  # how long inputs wait for leaders' servers
_MOST_KEPT = 4  # windows whose inputs are kept at a time
_MOST_BYTES = 16 << 20


class WrongResultReports:
    """The reports of one client. Lives in the client's event loop.

    Args:
        may_see: tells whether the user lets a server see inputs.
    """

    def __init__(self, host: Host, servers: Servers, calls: Calls, may_see: Callable[[PeerId], bool]) -> None:
        self._host = host
        self._servers = servers
        self._calls = calls
        self._may_see = may_see
        self._background = BackgroundTasks()

    def send(self, found: WrongResults, request: ForwardRequest, needs: Needs) -> None:
        """Publish a report, and let leaders' servers repeat the window by `request` in the background.

        Args:
            needs: demands on servers that can repeat it.
        """
        members, record = self._host.members, b""
        try:
            record = b"" if members is None else members.report(found)
        except RecordError as error:  # a clock in 1970 is one reason
            _log.warning("a server that returned wrong results cannot be reported: %s", error)
        if record and request.hidden.nbytes <= _MOST_BYTES and len(self._background) < _MOST_KEPT:
            request = replace(request, report=record)
            self._background.start(self._let_leaders_repeat(found.peer_id, request, needs))

    async def close(self) -> None:
        """Drop all inputs that wait for leaders' servers."""
        await self._background.cancel()

    async def _let_leaders_repeat(self, accused: PeerId, request: ForwardRequest, needs: Needs) -> None:
        loop, ask_at = asyncio.get_running_loop(), {accused: math.inf}
        until_s = loop.time() + _KEPT_S
        while loop.time() < until_s:
            for hop in self._leaders(request.span, needs):
                if loop.time() >= ask_at.get(hop.peer_id, 0.0):
                    ask_at[hop.peer_id] = await self._let_repeat(hop, request) + loop.time()
            await asyncio.sleep(_AGAIN_S)

    def _leaders(self, span: Span, needs: Needs) -> Iterable[RouteHop]:
        """Return the servers of leaders that can repeat the window and may see its inputs."""
        members = self._host.members
        assert members is not None
        for hop in self._servers.replicas(span, needs):
            owner = members.member(hop.peer_id)
            if owner is not None and owner.may_lead and self._may_see(hop.peer_id):
                yield hop

    async def _let_repeat(self, hop: RouteHop, request: ForwardRequest) -> float:
        """Have a leader's server repeat a window. Return in how many seconds to ask it again; infinite: never."""
        try:
            await self._calls.compute(hop, request)
        except RemoteError as error:
            _log.info("a leader's server did not repeat a window of layers %s: %s", hop.span.layers, error.message)
            if error.code in _FOR_NOW:
                return max(error.retry_after_s or 0.0, _BUSY_S)
        return math.inf
