"""Makes the hops of one session, and finds servers to replace one that is lost, leaves or is slow, or to stand by."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.recovery import judge
from potluck.client.servers import RouteRequest, Servers, Wait
from potluck.client.session.history import History
from potluck.client.session.hop import Hop
from potluck.client.tuning.own_adapters import OwnAdapter
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError
from potluck.protocol.messages import SessionOpening
from potluck.routing.candidates import UNKNOWN_RTT_S
from potluck.routing.route import Needs, Route, RouteHop, Variant

_SOON_TOKENS: Final = 64  # tokens for which servers should reserve memory besides those sent at first
_WORTH_S: Final = 1.0  # a replay that takes longer is worth an idle server
_ROOM: Final = 2.0  # times the session's tokens that a server must have free to stand by
_IDLE_ROWS, _IDLE_QUEUE_MS = 4, 20.0  # limits of a server that counts as idle


def replay_s(part: RouteHop, tokens: int) -> float:
    """Return how long a server needs at least for all tokens of a session, by its announced speed."""
    record = part.server.record
    if record.forward_tps <= 0:
        return 0.0
    return tokens * (len(part.span) / record.forward_tps + (1 / record.network_tps if record.network_tps > 0 else 0.0))


def choose_idle(candidates: Sequence[RouteHop], tokens: int, rtts_s: Mapping[PeerId, float]) -> RouteHop | None:
    """Return the nearest server that is idle and has room, if a replay of so many tokens to it would take long.

    Servers of other implementations have no sessions that yield to others.
    """
    idle = [
        part
        for part in candidates
        if part.server.record.is_ours
        and (now := part.server.heartbeat).cache_tokens_left >= _ROOM * tokens
        and now.batch <= _IDLE_ROWS
        and now.queue_ms <= _IDLE_QUEUE_MS
        and replay_s(part, tokens) > _WORTH_S
    ]
    return min(idle, key=lambda part: rtts_s.get(part.peer_id, UNKNOWN_RTT_S), default=None)


@dataclass(slots=True, eq=False)
class Replacements:
    """Finds servers for one session.

    Attributes:
        max_length: tokens of a row of the session.
        adapter: the caller's own adapter.
        sharing: see `SessionOpening`.
        unwanted: servers that refuse this session.
    """

    servers: Servers
    calls: Calls
    config: ClientConfig
    prefix: str
    max_length: int
    adapter: OwnAdapter | None = None
    sharing: str = ""
    unwanted: frozenset[PeerId] = field(default_factory=frozenset)

    def needs(self, batch: int, pins: Mapping[int, Variant] | None = None) -> Needs:
        """Return the demands on a server for `batch` rows. `pins`: variants of blocks that it must compute alike."""
        return Needs(
            max_length=self.max_length,
            cache_tokens=batch * self.max_length,
            pins=pins or {},
            brings_adapter=self.adapter is not None,
        )

    def soon(self, tokens: int) -> int:
        """Return for how many tokens of each row servers should reserve memory if they get `tokens` at first."""
        return min(tokens + _SOON_TOKENS, self.max_length)

    def hop(self, part: RouteHop, history: History, *, is_fed_rounded: bool, packs: bool) -> Hop:
        """Return a hop that is not open yet."""
        record = part.server.record
        own = None if self.adapter is None else self.adapter.part(part.span)
        opening = SessionOpening(
            prefix=self.prefix,
            span=part.span,
            max_length=self.max_length,
            session_id=str(uuid.uuid4()),
            alloc_timeout_s=self.config.alloc_timeout_s,
            exact=self.config.exact,
            packs=packs,
            sharing=self.sharing,
            caller=self.calls.caller_for(record, part.span, own),
        )
        return Hop(self.calls, part, opening, history, self.is_replaceable, own, is_fed_rounded=is_fed_rounded)

    def hops(self, lead: Hop, route: Route) -> list[Hop]:
        """Return new hops for the blocks of `lead`, whose history the first one shares."""
        made: list[Hop] = []
        for part in route.hops:
            prompts = None if lead.history.prompts is None else lead.history.prompts[part.span.within(lead.span)]
            history = History(prompts, made[-1].history) if made else lead.history
            is_last = part is route.hops[-1]
            fed_rounded = lead.is_fed_rounded and not made
            made.append(self.hop(part, history, is_fed_rounded=fed_rounded, packs=lead.opening.packs and is_last))
        return made

    def is_replaceable(self, hop: Hop) -> bool:
        """Tell whether other servers that are known could take over from `hop`."""
        return self._best_known(hop) is not None

    def record_failure(self, peer: PeerId, error: RemoteError) -> None:
        """Record that a server failed which stands by for another."""
        verdict = judge(error)
        self.servers.record_failure(peer, verdict)
        if verdict.for_this_session:
            self.unwanted |= {peer}

    async def find(self, lost: Hop, wait: Wait) -> list[Hop]:
        """Return hops that replace a lost one. Raises NoRouteError after the wait."""
        needs = self.needs(lost.history.batch, lost.part.pins)
        return self.hops(lost, await self.servers.find_route(lost.span, needs, unwanted=self.unwanted, wait=wait))

    async def find_better(self, lead: Hop) -> list[Hop] | None:
        """Return hops to take over from a server that leaves or is slow; None if none is worth the move.

        Raises NoRouteError.
        """
        servers, rows = self.servers, lead.history.batch
        needs, unwanted = self.needs(rows, lead.part.pins), self.unwanted | {lead.peer_id}
        must_go = lead.is_leaving
        if must_go:
            await servers.refresh()
            if not servers.serves(lead.peer_id, lead.span):  # it may keep some of these blocks
                unwanted = self.unwanted
        else:
            servers.record_pace(lead.peer_id, lead.pace.ratio)
            known = self._best_known(lead)
            if known is None or not lead.pace.is_worth(known.cost_s):
                return None
        request = RouteRequest(rows, self.soon(lead.history.length), may_stay=not must_go)
        wait = Wait(self.config.max_wait_s, is_reported=False)
        route = await servers.compare_routes(lead.span, needs, request, unwanted=unwanted, wait=wait)
        return self.hops(lead, route) if must_go or lead.pace.is_worth(route.cost_s) else None

    def find_known(self, late: Hop) -> list[Hop] | None:
        """Return hops to the best known servers that could replace a late one."""
        route = self._best_known(late)
        return None if route is None else self.hops(late, route)

    def find_idle(self, lead: Hop, tokens: int) -> list[Hop] | None:
        """Return a hop to a server that could stand by for `lead`, which has so many tokens of each row."""
        history = lead.history
        if self.config.exact or self.adapter is not None or history.prompts is not None:
            return None  # their inputs can't travel in pieces
        if self.config.audits != "on":
            return None  # no other server may see the text
        others = self.servers.others_for(lead.part, self.needs(history.batch, lead.part.pins))
        asked = [each for each in others if each.peer_id not in self.unwanted]
        part = choose_idle(asked, history.batch * tokens, self.servers.round_trips_s)
        if part is None:
            return None
        hop = self.hop(part, history, is_fed_rounded=lead.is_fed_rounded, packs=lead.opening.packs)
        hop.is_spare = True
        return [hop]

    def _best_known(self, hop: Hop) -> Route | None:
        needs, unwanted = self.needs(hop.history.batch, hop.part.pins), self.unwanted | {hop.peer_id}
        return self.servers.best_known(hop.span, needs, unwanted=unwanted)
