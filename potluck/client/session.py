"""An inference session: rows of equal length that go through a chain of servers step by step.

When a server dies, hangs or refuses in mid-session, its part is given to another by replaying what it was given so far;
the other servers keep their caches, and the outputs are those that would have come. All of this follows from one rule,
kept by `Hop.catch_up`: a server is fed whatever it lacks, and its outputs are what the next one lacks.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence

from torch import Tensor

from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.history import History
from potluck.client.hop import Hop
from potluck.client.recovery import Action, judge
from potluck.client.report import RouteReport
from potluck.client.servers import Servers
from potluck.errors import SwarmError, UsageError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.messages import SessionOpening
from potluck.routing import Hop as RouteHop
from potluck.routing import Needs, Variant

_log = logging.getLogger(__name__)


class InferenceSession:
    """Lives in the client's event loop; one step at a time."""

    def __init__(
        self, servers: Servers, calls: Calls, config: ClientConfig, prefix: str, span: Span, max_length: int
    ) -> None:
        self.max_length = max_length
        self.route = RouteReport()
        self._servers = servers
        self._calls = calls
        self._config = config
        self._prefix = prefix
        self._span = span
        self._hops: list[Hop] = []
        self._objected = False  # a server called the request wrong since the last answer
        self._reopened: Hop | None = None  # once is fair; who asks for it again without an answer never gives one
        self._unwanted: frozenset[PeerId] = frozenset()  # they refuse this session, others may be welcome

    async def step(
        self, hidden: Tensor, position: int, *, order: Tensor | None = None, prompts: Tensor | None = None
    ) -> Tensor:
        """Run new tokens through all blocks.

        Args:
            hidden: [batch, tokens, hidden_size], on the CPU.
            position: tokens that went before; fewer than were sent so far means a rollback.
            order: [batch] int64, row i goes on as what was row `order[i]`.
            prompts: deep prompts [blocks, batch or 1, prompt_tokens, hidden_size], only at position 0.
        Returns: the same shape as `hidden`.
        Raises:
            SwarmError: nobody could be found to do it within the time limit; the session can be stepped again.
            RemoteError: a server says that the request itself is wrong.
        """
        if position + hidden.shape[1] > self.max_length:
            raise UsageError(
                f"this session holds at most {self.max_length} tokens, not {position + hidden.shape[1]}",
                hint="open it with a larger max_length",
            )
        if not self._hops:
            await self._open(hidden.shape[0])
        self._rewind(position, order)
        if not hidden.shape[1]:
            return hidden
        if position == 0:
            for hop in self._hops:
                hop.restart(_prompts_of(prompts, hop.span, self._span))
        self._hops[0].history.append(hidden)
        return await self._advance(position)

    async def close(self) -> None:
        """End the session everywhere. Never raises for what a server does."""
        hops, self._hops = self._hops, []
        await asyncio.gather(*(hop.close() for hop in hops))

    async def _open(self, batch: int) -> None:
        route = await self._servers.find_route(self._span, self._needs(batch))
        self._put(slice(None), [self._new_hop(part, History()) for part in route])
        # Streams are opened side by side; one that does not open is dealt with when its turn comes.
        await asyncio.gather(*(hop.open() for hop in self._hops), return_exceptions=True)

    def _rewind(self, position: int, order: Tensor | None) -> None:
        for hop in self._hops:
            hop.roll_back(position)
            if order is not None:
                hop.reorder(order)

    async def _advance(self, position: int) -> Tensor:
        """Let every hop catch up, first to last; the last one's outputs from `position` on."""
        index = 0
        recoveries = 0
        while True:
            hop = self._hops[index]
            follower = self._hops[index + 1] if index + 1 < len(self._hops) else None
            try:
                output = await hop.catch_up(follower.history.length if follower else position)
            except RemoteError as error:
                recoveries += 1
                await self._recover(index, error, is_last_try=recoveries > self._config.max_recoveries)
                continue
            self._servers.note_success(hop.peer_id)
            self._reopened, self._objected = None, False
            if follower is None:
                return output
            follower.history.append(output)
            index += 1

    async def _recover(self, index: int, error: RemoteError, *, is_last_try: bool) -> None:
        """Put another server, or several, or the same one anew, in the place of hop `index`."""
        hop = self._hops[index]
        verdict = judge(error)
        _log.warning("blocks %s: %s (%s)", hop.span, error.message, error.code)
        self._servers.note_failure(hop.peer_id, verdict)
        if verdict.action is Action.GIVE_UP:  # a second server is asked before one is believed
            objected = self._objected or not self._servers.has_route(
                hop.span, self._needs(hop.history.batch, hop.pins), unwanted=self._unwanted | {hop.peer_id}
            )
            if objected:
                raise error
            self._objected = True
        if is_last_try:
            raise SwarmError(
                f"blocks {hop.span} failed {self._config.max_recoveries} times in one step, at last: {error.message}"
            )
        if verdict.action is Action.REOPEN and self._reopened is not hop:
            self._reopened = hop
            return
        if verdict.for_this_session or verdict.action is not Action.REPLACE:
            self._unwanted |= {hop.peer_id}
        route = await self._servers.find_route(
            hop.span, self._needs(hop.history.batch, hop.pins), unwanted=self._unwanted, why=error
        )
        hop.report.replaced_because = f"{error.code}: {error.message}"
        self.route.replaced.append(hop.report)
        self._put(slice(index, index + 1), self._heirs(hop, route))

    def _heirs(self, lost: Hop, route: Sequence[RouteHop]) -> list[Hop]:
        """The first heir has all that the lost hop was given; the others lack the outputs of the one before."""
        prompts = lost.history.prompts
        histories = [History(_prompts_of(prompts, part.span, lost.span)) for part in route]
        lost.history.keep_prompts(len(route[0].span))
        histories[0] = lost.history
        heirs = [self._new_hop(part, history) for part, history in zip(route, histories, strict=True)]
        for heir in heirs:
            heir.report.replayed_tokens = lost.history.length
        return heirs

    def _needs(self, batch: int, pins: Mapping[int, Variant] | None = None) -> Needs:
        return Needs(max_length=self.max_length, cache_tokens=batch * self.max_length, pins=pins or {})

    def _new_hop(self, part: RouteHop, history: History) -> Hop:
        record = part.server.record
        opening = SessionOpening(
            prefix=self._prefix,
            span=part.span,
            max_length=self.max_length,
            session_id=str(uuid.uuid4()),
            alloc_timeout_s=self._config.alloc_timeout_s,
            caller=self._calls.caller_for(record, part.span),
        )
        return Hop(self._calls, part, opening, history)

    def _put(self, place: slice, hops: list[Hop]) -> None:
        self._hops[place] = hops
        self.route.hops = [hop.report for hop in self._hops]


def _prompts_of(prompts: Tensor | None, span: Span, whole: Span) -> Tensor | None:
    return None if prompts is None else prompts[span.start - whole.start : span.end - whole.start]
