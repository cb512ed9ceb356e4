"""Runs an inference session: rows of equal length that pass through a chain of servers step by step.

When a server dies, hangs or refuses, another one gets its inputs so far; the other servers keep their caches, and the
outputs stay the same. All of this follows from one rule in `Hop.catch_up`: a server is sent whatever it lacks, and its
outputs are what the next one lacks. A server that announces its leaving is replaced between two steps by one that got
the same inputs while the old one still served.

Where a server can push its outputs to the next one (`ring.py`), a step goes around all servers at once, and the client
reads their answers in order. It keeps the same histories as if it had sent everything itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from torch import Tensor

from potluck.client.audits import Audits
from potluck.client.beginnings import fingerprints
from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.flow import flow
from potluck.client.history import History
from potluck.client.hop import Hop, Overtaken, PushDiffers
from potluck.client.own_adapters import OwnAdapter
from potluck.client.packing import Load, choose_ways
from potluck.client.pieces import Course, piece_tokens
from potluck.client.recovery import Action, FaultCount, Verdict, judge
from potluck.client.report import RouteReport
from potluck.client.ring import Ring
from potluck.client.servers import RouteRequest, Servers, Wait
from potluck.client.spares import Spares, choose_spare
from potluck.client.succession import Successions
from potluck.errors import SwarmError, UsageError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, SessionOpening
from potluck.routing import Needs, Route, RouteHop, Variant
from potluck.wire.packing import pack

_log = logging.getLogger(__name__)

_LEAVING = RemoteError(Code.DRAINING, "the server announced that it is leaving")
_SOON_TOKENS = 64  # for which servers should reserve memory besides those sent at first


class InferenceSession:
    """One session of a client. Lives in the client's event loop and takes one step at a time."""

    def __init__(
        self,
        servers: Servers,
        calls: Calls,
        config: ClientConfig,
        prefix: str,
        span: Span,
        max_length: int,
        audits: Audits,
        *,
        may_grow: bool = False,
        adapter: OwnAdapter | None = None,
        sharing: str = "",
    ) -> None:
        self.max_length = max_length  # tokens a row; servers reserve memory for as many
        self._may_grow = may_grow
        self.route = RouteReport()
        self._servers = servers
        self._calls = calls
        self._config = config
        self._audits = audits
        self._prefix = prefix
        self._span = span
        self._adapter = adapter
        self._sharing = sharing
        self._hops: list[Hop] = []
        self._ring = Ring()
        self._successions = Successions(self._prepare_successors)
        self._spares = Spares(self._find_spare, lambda peer, error: servers.note_failure(peer, judge(error)))
        self._objected = False  # a server has rejected the request since the last answer
        self._reopened: Hop | None = None  # at most once without an answer in between
        self._unwanted: frozenset[PeerId] = frozenset()  # servers that refuse this session

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
            self._grow(position + hidden.shape[1])
        if not self._hops:
            await self._open(hidden, prompts)
        self._change_over()
        self._rewind(position, order)
        if not hidden.shape[1]:
            return hidden
        if position == 0:
            for hop in self._hops:
                hop.restart(_prompts_of(prompts, hop.span, self._span))
        wait = Wait(self._config.max_wait_s)
        try:
            await self._leave_wrong(hidden.shape[0], wait)
            if self._hops[0].is_fed_rounded:
                hidden = pack(hidden).values
            await self._send_around(position, hidden)
            self._hops[0].history.append(hidden)
            output = await self._advance(position, wait)
        finally:
            self._servers.end_wait(wait)
        if order is None:  # a beam search reorders again before a successor could be ready
            self._spares.tend(self._hops, position)
            self._successions.begin([hop for hop in self._hops if not (hop.is_leaving and self._spares.stand_by(hop))])
        return output

    async def close(self) -> None:
        """End the session everywhere. Never raises for what a server does."""
        hops, self._hops = self._hops, []
        self._end_audits(hops)
        await asyncio.gather(self._successions.close(), self._spares.close(), *(hop.close() for hop in hops))

    async def _open(self, hidden: Tensor, prompts: Tensor | None) -> None:
        rows, tokens = hidden.shape[:2]
        beginning = fingerprints(hidden) if prompts is None and not self._config.exact else ()
        request = RouteRequest(rows, min(tokens + _SOON_TOKENS, self.max_length), beginning)
        wait = Wait(self._config.max_wait_s)
        try:
            route = await self._servers.compare_routes(self._span, self._needs(rows), request, wait=wait)
        finally:
            self._servers.end_wait(wait)
        self._servers.remember(beginning, route.parts)
        load = Load(rows * tokens, hidden.shape[2], hidden.element_size())
        ways = self._servers.ways([part.server for part in route.hops], hidden.shape[2])
        rounded = choose_ways(self._config, load, [part.server.record for part in route.hops], ways)
        hops = [
            self._new_hop(part, History(), is_fed_rounded=before, packs=after, may_race=True)
            for part, (before, after) in zip(route.hops, pairwise(rounded), strict=True)
        ]
        self._put(slice(None), hops)
        # Streams are opened side by side; one that does not open is dealt with when its turn comes.
        await asyncio.gather(*(hop.open() for hop in self._hops), return_exceptions=True)

    def _grow(self, tokens: int) -> None:
        """Make room for `tokens` a row: the next step opens larger sessions and replays the history into them."""
        if not self._may_grow:
            raise UsageError(
                f"this session holds at most {self.max_length} tokens, not {tokens}",
                hint="open it with a larger max_length",
            )
        self.max_length = max(tokens, min(2 * self.max_length, self._servers.longest(self._span)))
        self._call_off()
        for hop in self._hops:
            hop.enlarge(self.max_length)

    def _change_over(self) -> None:
        """Replace servers that are leaving or slow by successors that are ready."""
        for hop in list(self._hops):
            successors = self._successions.take(hop)
            if successors is None and hop.is_leaving:
                successors = self._spares.take_warm(hop)
            if successors is None:
                continue
            if hop.is_leaving:
                self._servers.note_failure(hop.peer_id, judge(_LEAVING))
                self._replace(hop, successors, _reason(_LEAVING))
            else:
                self._replace(hop, successors, f"slow: steps took {1000 * hop.pace.seen_s:.0f} ms")
            self._successions.dismiss(hop)

    async def _leave_wrong(self, batch: int, wait: Wait) -> None:
        """Replace servers that were found to compute wrongly, and compute again what came after them."""
        for hop in list(self._hops):
            if not self._servers.is_distrusted(hop.peer_id):
                continue
            self._call_off()
            needs = self._needs(batch, hop.pins)
            route = await self._servers.find_route(hop.span, needs, unwanted=self._unwanted, wait=wait)
            self._replace(hop, self._successor_hops(hop, route, may_race=True), "it returned wrong results")
            self._successions.dismiss(hop)
            for follower in self._hops:
                if follower.span.start >= hop.span.end:
                    follower.restart(follower.history.prompts)

    def _rewind(self, position: int, order: Tensor | None) -> None:
        if order is not None or position == 0:
            self._call_off()
        elif any(position < hop.history.length for hop in self._hops):  # as after most drafts
            self._successions.roll_back(position)
            self._spares.roll_back(position)
        for hop in self._hops:
            hop.roll_back(position)
            if order is not None:
                hop.reorder(order)

    def _call_off(self) -> None:
        """Drop whatever was given inputs that have changed."""
        self._successions.call_off()
        self._spares.call_off()

    async def _send_around(self, position: int, hidden: Tensor) -> None:
        """Announce the step to every server that gets its inputs from the server before."""
        rows, tokens = hidden.shape[:2]
        for hop in self._hops:
            if hop.is_announced:  # of a step that failed
                hop.abandon()
        self._ring.tell(self._hops, time.monotonic())
        if self._hops[0].lacks_much(position + tokens, at_once=rows):
            return  # `_flow` announces piece after piece
        links = self._ring.open_links(self._hops, position, rows * tokens)
        number = self._ring.next_number()
        for sender, _ in links:
            sender.push_next(number)
        for _, receiver in links:
            await receiver.announce(Awaited(number, rows, tokens), position)

    async def _advance(self, position: int, wait: Wait) -> Tensor:
        """Let every hop catch up from first to last, and return the last one's outputs from `position` on."""
        index = 0
        attempts = FaultCount(self._config)
        done = History()  # outputs of the last hop that a flow brought before it failed
        while True:
            hop = self._hops[index]
            follower = self._hops[index + 1] if index + 1 < len(self._hops) else None
            leader = self._hops[index - 1] if index else None
            try:
                start = follower.history.length if follower else position + done.length
                if follower is not None and hop.lacks_much(hop.history.length, at_once=hop.history.batch):
                    index, error = await self._flow(index, position, done)
                    if error is not None:
                        hop, leader = self._hops[index], self._hops[index - 1] if index else None
                        raise error
                    return done.since(0)
                output = await hop.catch_up(start, is_pushed=leader is not None and leader.was_pushed)
            except RemoteError as error:
                if leader is not None and isinstance(error, PushDiffers):
                    self._ring.distrust(leader, hop)
                now, verdict = time.monotonic(), judge(error)
                wait.note_failure(error, now)
                attempts.note(verdict, was_given=hop.was_given)
                is_last_try = attempts.is_enough(wait.left_s(now)) and not isinstance(error, Overtaken)
                await self._recover(index, error, verdict, wait, is_last_try=is_last_try)
                continue
            self._servers.note_success(hop.peer_id)
            if leader is not None and hop.missed_push:
                self._ring.note_failure(leader, hop, time.monotonic())
            if self._adapter is None:  # nobody else has it
                self._audits.note(hop, start, output)
            self._reopened, self._objected = None, False
            if wait.why is not None:
                self._servers.end_wait(wait)
            if follower is None:
                done.append(output)
                return done.since(0)
            follower.history.append(output)
            index += 1

    async def _flow(self, first: int, position: int, done: History) -> tuple[int, RemoteError | None]:
        """Let all hops from `first` on catch up side by side, and add the last one's outputs to `done`.

        Returns: which hop failed and why, the first one if several did; or the last hop and None.
        """
        hops = self._hops[first:]
        rows, end = hops[0].history.batch, hops[0].history.length
        lacking = end - min(hop.lacking_from() for hop in hops)
        tokens = min(piece_tokens(lacking, rows), *(hop.largest_piece(rows) for hop in hops))
        links = self._ring.open_links(hops, position, 0)
        numbers = {at: self._ring.next_number() for at in range(position, end, tokens)} if links else {}
        ends = [*(hop.history for hop in hops[1:]), None]
        courses = [
            Course(
                start=position + done.length if outputs is None else outputs.length,
                end=end,
                rows=rows,
                piece_tokens=tokens,
                numbers=numbers,
                is_pushed=any(hop is receiver for _, receiver in links),
                pushes=any(hop is sender for sender, _ in links),
            )
            for hop, outputs in zip(hops, ends, strict=True)
        ]

        def take(index: int, at: int, output: Tensor) -> None:
            if self._adapter is None:
                self._audits.note(hops[index], at, output)
            if index + 1 == len(hops):
                done.append(output)

        errors = await flow(hops, courses, take)
        for leader, hop in pairwise(hops):
            if hop.missed_push:
                self._ring.note_failure(leader, hop, time.monotonic())
        for hop, error in zip(hops, errors, strict=True):
            if error is None:
                self._servers.note_success(hop.peer_id)
        self._reopened, self._objected = None, False
        failed = next((index for index, error in enumerate(errors) if error is not None), None)
        for error in errors[(failed or 0) + 1 :]:
            if isinstance(error, Overtaken):  # that hop opens its session again when its turn comes
                for rival in error.rivals:
                    rival.abandon()
        return (len(self._hops) - 1, None) if failed is None else (first + failed, errors[failed])

    async def _recover(
        self, index: int, error: RemoteError, verdict: Verdict, wait: Wait, *, is_last_try: bool
    ) -> None:
        """Replace hop `index` by one or several servers, or open it again."""
        hop = self._hops[index]
        _log.info("blocks %s: %s (%s)", hop.span, error.message, error.code)
        self._servers.note_failure(hop.peer_id, verdict)
        if verdict.action is Action.GIVE_UP:  # a second server must confirm it
            if self._objected or not self._is_replaceable(hop):
                raise error
            self._objected = True
        if is_last_try:
            raise SwarmError(f"blocks {hop.span} failed again and again; last error: {error.message}")
        if verdict.action is Action.REOPEN and self._reopened is not hop:
            self._reopened = hop
            return
        if verdict.for_this_session or verdict.action is not Action.REPLACE:
            self._unwanted |= {hop.peer_id}
        successors = error.rivals if isinstance(error, Overtaken) else self._successions.take(hop)
        if successors is None:
            self._successions.call_off()
            successors = await self._spares.take(hop)
        if successors is None:
            needs = self._needs(hop.history.batch, hop.pins)
            route = await self._servers.find_route(hop.span, needs, unwanted=self._unwanted, wait=wait)
            successors = self._successor_hops(hop, route, may_race=True)
        self._replace(hop, successors, _reason(error))

    def _successor_hops(self, lost: Hop, route: Route, *, may_race: bool = False) -> list[Hop]:
        """Return new hops for the blocks of `lost`, whose histories only hold their prompts.

        Args:
            may_race: see `_new_hop`.
        """
        prompts = lost.history.prompts
        successors = [
            self._new_hop(
                part,
                History(_prompts_of(prompts, part.span, lost.span)),
                is_fed_rounded=lost.is_fed_rounded and part is route.hops[0],
                packs=lost.opening.packs and part is route.hops[-1],
                may_race=may_race,
            )
            for part in route.hops
        ]
        for successor in successors:
            successor.report.replayed_tokens = lost.history.length
        return successors

    def _replace(self, lost: Hop, successors: list[Hop], why: str) -> None:
        """Put successors in the place of `lost`. The first gets its history, the others may lack outputs."""
        lost.history.keep_prompts(len(successors[0].span))
        successors[0].history = lost.history
        lost.report.replaced_because = why
        self.route.replaced.append(lost.report)
        index = self._hops.index(lost)
        self._put(slice(index, index + 1), successors)

    async def _prepare_successors(self, leaver: Hop) -> list[Hop] | None:
        """Return other servers that have the inputs of `leaver`, which goes on serving meanwhile.

        Returns None if it is not leaving and no other server is worth the move.
        """
        given = leaver.history.since(0)
        needs, unwanted = self._needs(given.shape[0], leaver.pins), self._unwanted | {leaver.peer_id}
        must_go = leaver.is_leaving
        if must_go:
            await self._servers.refresh()
            if not self._servers.serves(leaver.peer_id, leaver.span):  # it keeps the blocks that it still announces
                unwanted = self._unwanted
        else:
            self._servers.note_pace(leaver.peer_id, leaver.pace.ratio)
            known = self._servers.best_known(leaver.span, needs, unwanted=unwanted)
            if known is None or not leaver.pace.is_worth(known.cost_s):
                return None
        tokens = min(given.shape[1] + _SOON_TOKENS, self.max_length)
        request = RouteRequest(given.shape[0], tokens, may_stay=not must_go)
        wait = Wait(self._config.max_wait_s, is_told=False)
        route = await self._servers.compare_routes(leaver.span, needs, request, unwanted=unwanted, wait=wait)
        if not must_go and not leaver.pace.is_worth(route.cost_s):
            return None
        successors = self._successor_hops(leaver, route)
        await _feed(successors, given)
        return successors

    async def _open_rivals(self, late: Hop) -> list[Hop] | None:
        """Open the session at the next best servers, too, with a token that they take back."""
        needs, unwanted = self._needs(late.history.batch, late.pins), self._unwanted | {late.peer_id}
        route = self._servers.best_known(late.span, needs, unwanted=unwanted)
        if route is None:
            return None
        _log.info("blocks %s: the first answer is late; opening the session elsewhere, too", late.span)
        rivals = self._successor_hops(late, route)
        try:
            await _feed(rivals, late.history.between(0, max(late.history.prompt_tokens, 1)))
        except RemoteError as error:
            _log.info("blocks %s: no other server answers either: %s", late.span, error.message)
            return None
        for rival in rivals:
            rival.restart(rival.history.prompts)
        return rivals

    def _find_spare(self, lead: Hop, tokens: int) -> Hop | None:
        """Return a hop at a server that could stand by for `lead`, which has so many tokens of each row."""
        history = lead.history
        if self._config.exact or self._adapter is not None or history.prompts is not None:
            return None  # they can't be given in pieces
        if self._config.audits != "on":
            return None  # nobody else is to see the text
        others = self._servers.others_for(lead.part, self._needs(history.batch, lead.pins))
        part = choose_spare(others, history.batch * tokens, self._servers.round_trips_s)
        if part is None:
            return None
        return self._new_hop(part, History(), is_fed_rounded=lead.is_fed_rounded, packs=lead.opening.packs)

    def _needs(self, batch: int, pins: Mapping[int, Variant] | None = None) -> Needs:
        return Needs(
            max_length=self.max_length,
            cache_tokens=batch * self.max_length,
            pins=pins or {},
            brings_adapter=self._adapter is not None,
        )

    def _new_hop(
        self, part: RouteHop, history: History, *, is_fed_rounded: bool, packs: bool, may_race: bool = False
    ) -> Hop:
        """Return a hop that is not open yet.

        Args:
            may_race: the session waits for it, so others are asked, too, if its first answer is late.
        """
        record = part.server.record
        own = None if self._adapter is None else self._adapter.part(part.span)
        opening = SessionOpening(
            prefix=self._prefix,
            span=part.span,
            max_length=self.max_length,
            session_id=str(uuid.uuid4()),
            alloc_timeout_s=self._config.alloc_timeout_s,
            exact=self._config.exact,
            packs=packs,
            sharing=self._sharing,
            caller=replace(self._calls.caller_for(record, part.span), private=None if own is None else own.id),
        )
        hop = Hop(self._calls, part, opening, history, self._is_replaceable, own, is_fed_rounded=is_fed_rounded)
        if may_race and own is None and record.forward_tps > 0:  # bringing somebody's adapter takes long
            hop.open_rivals = self._open_rivals
        return hop

    def _is_replaceable(self, hop: Hop) -> bool:
        """Tell whether others could take over from `hop`, by present knowledge."""
        needs, unwanted = self._needs(hop.history.batch, hop.pins), self._unwanted | {hop.peer_id}
        return self._servers.best_known(hop.span, needs, unwanted=unwanted) is not None

    def _end_audits(self, hops: Iterable[Hop]) -> None:
        """Let the last tokens of servers that are left be audited, too."""
        for hop in hops:
            if self._adapter is None:
                self._audits.end(hop)

    def _put(self, place: slice, hops: list[Hop]) -> None:
        self._end_audits(hop for hop in self._hops[place] if hop not in hops)
        self._hops[place] = hops
        self.route.hops = [hop.report for hop in self._hops]


async def _feed(successors: list[Hop], given: Tensor) -> None:
    """Let new hops, the first of which gets `given`, compute it in turn; drop them all if one fails. Raises as it."""
    successors[0].history.append(given)
    try:
        for successor, follower in pairwise([*successors, None]):
            assert successor is not None
            output = await successor.catch_up(0 if follower else given.shape[1] - 1)
            if follower:
                follower.history.append(output)
    except BaseException:
        for successor in successors:
            successor.abandon()
        raise


def _reason(error: RemoteError) -> str:
    return f"{error.code}: {error.message}"


def _prompts_of(prompts: Tensor | None, span: Span, whole: Span) -> Tensor | None:
    return None if prompts is None else prompts[span.start - whole.start : span.end - whole.start]
