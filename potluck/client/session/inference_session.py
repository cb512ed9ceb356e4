"""Runs an inference session: rows of equal length that pass through a chain of servers step by step.

When a server dies, hangs or refuses, another one gets its inputs so far; the other servers keep their caches, and the
outputs stay the same. All of this follows from one rule of `Hop`: each server gets what it lacks, and its outputs are
what the next one lacks. A server that announces its leaving is replaced between two steps by its understudy.

A long step passes through all servers at once, piece after piece: each computes one while the next one comes. So do
the windows of a flight (`flight.py`), of which more come while it lasts. Where a server can push its outputs to the
next one (`ring.py`), a step goes around all servers at once, and the client reads their answers in order. Its histories
are the same as if it had sent everything itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, TypeVar

import torch
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.client.audits.auditing import Audits
from potluck.client.loop import side_by_side
from potluck.client.packing import Payload, choose_packed_paths
from potluck.client.recovery import Action, judge
from potluck.client.servers import Failures, RouteRequest, Wait
from potluck.client.session.flight import Flight, Outputs, Window
from potluck.client.session.history import History
from potluck.client.session.hop import Hop, PushDiffers, open_links
from potluck.client.session.pieces import (
    ANNOUNCED,
    IN_FLIGHT,
    Answered,
    Course,
    Cut,
    OnAnswer,
    is_long,
    page_fingerprints,
    piece_tokens,
)
from potluck.client.session.replacements import Replacements
from potluck.client.session.reports import RouteReport
from potluck.client.session.ring import Ring
from potluck.client.session.understudies import Overtaken, Understudies
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited
from potluck.tasks import BackgroundTasks, cancel_and_wait
from potluck.wire.packing import pack

T = TypeVar("T")


_LANDING_S = 1.0  # time for void windows to be answered before a session is closed
_LEAVING = RemoteError(Code.DRAINING, "the server announced that it is leaving")


class InferenceSession:
    """One session of a client. Lives in the client's event loop and takes one step at a time."""

    def __init__(self, others: Replacements, span: Span, audits: Audits | None, *, may_grow: bool = False) -> None:
        """Store the settings. `others` finds servers; `audits` is None where no other server can compute the same."""
        self.route = RouteReport()
        self._may_grow = may_grow
        self._servers = others.servers
        self._config = others.config
        self._audits = audits
        self._span = span
        self._others = others
        self._understudies = Understudies(others)
        self._hops: list[Hop] = []
        self._ring = Ring()
        self._number = 0  # number of the latest step that was pushed
        self._delivered = 0  # tokens whose outputs the caller has
        self._computed_s: dict[int, float] = {}  # start of a piece -> seconds that the servers so far computed for it
        self._goodbyes = BackgroundTasks()  # end the sessions at servers that were replaced
        self._was_rejected = False  # a server has rejected the request since the last answer
        self._reopened: Hop | None = None  # a hop is reopened at most once without an answer in between
        self._turn = asyncio.Lock()
        self._stepping: asyncio.Task[object] | None = None
        self._flight: Flight | None = None  # the present flight, or the last one
        self._is_closed = False

    async def step(
        self, hidden: Tensor, position: int, *, order: Tensor | None = None, prompts: Tensor | None = None
    ) -> Tensor:
        """Run new tokens through all blocks.

        Args:
            hidden: [batch, tokens, hidden_size], on the CPU.
            position: tokens that went before; fewer than were sent so far means a rollback.
            order: [batch] int64, row i continues what was row `order[i]`.
            prompts: deep prompts [blocks, batch or 1, prompt_tokens, hidden_size], only at position 0.
        Returns: the same shape as `hidden`.
        Raises:
            SwarmError: no server was found within the time limit; the session can be stepped again.
            RemoteError: the request itself is wrong, as two servers say, or the only one.
            UsageError: the session is full, or closed, perhaps by another task in the middle of the step.
        """
        return await self._in_turn(self._step(hidden, position, order, prompts))

    async def fly(self, flight: Flight) -> None:
        """Run the windows of a flight through all blocks until it is over. It gets the errors that `step` raises."""
        self._flight = flight
        try:
            await self._in_turn(self._fly(flight))
        except Exception as error:  # the caller's thread raises it
            flight.fail(error)
        except BaseException:
            flight.fail(UsageError("this session was closed"))
            raise

    async def _in_turn(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            async with self._turn:
                task = self._stepping = asyncio.current_task()
                try:
                    return await work
                except asyncio.CancelledError:
                    if not self._is_closed or task is None or task.uncancel():
                        raise
                    raise UsageError("this session was closed") from None
                finally:
                    self._stepping = None
        finally:
            work.close()  # if its turn never came

    async def close(self) -> None:
        """End the session everywhere, with the step that runs. Never raises for what a server does."""
        self._is_closed = True
        if (stepping := self._stepping) is not None:
            if self._flight is not None and self._flight.is_over:
                await asyncio.wait({stepping}, timeout=_LANDING_S)
            stepping.cancel()
        async with self._turn:
            hops, self._hops = self._hops, []
        self._end_audits(hops)
        await asyncio.gather(self._understudies.close(), self._goodbyes.wait(), *(hop.close() for hop in hops))

    async def _step(self, hidden: Tensor, position: int, order: Tensor | None, prompts: Tensor | None) -> Tensor:
        rows, tokens = hidden.shape[:2]
        await self._prepare(hidden, position, order, prompts)
        if not tokens:
            return hidden
        await self._announce(position, rows, tokens)
        done: list[Tensor] = []  # outputs of the last hop
        self._hops[0].history.append(self._rounded(hidden))
        self._delivered = position
        self._computed_s.clear()
        await self._advance(lambda answered: done.append(answered.hidden))
        if order is None and not self._understudies.settled <= position < self._understudies.due_at:
            self._understudies.prepare(self._hops, position)  # reordered rows are so again before one could be ready
        return done[0] if len(done) == 1 else torch.cat(done, dim=1)

    async def _prepare(self, hidden: Tensor, position: int, order: Tensor | None, prompts: Tensor | None) -> None:
        """Rewind to `position`, and make the changes of servers and size that are due between two steps."""
        tokens = hidden.shape[1]
        if self._is_closed:
            raise UsageError("this session is closed")
        if position + tokens > self._others.max_length:
            self._grow(position + tokens)
        if not self._hops:
            await self._open(hidden, prompts)
        if self._understudies.are_urgent:
            self._change_over()
        self._rewind(position, order)
        if position == 0:
            for hop in self._hops:
                hop.history.restart(None if prompts is None else prompts[hop.span.within(self._span)])
        if self._servers.distrusted:
            await self._leave_distrusted()
        for hop in self._hops:
            if hop.cursor.flying:  # left over from a step that failed
                hop.abandon()

    def _rounded(self, hidden: Tensor) -> Tensor:
        return pack(hidden).values if self._hops[0].is_fed_rounded else hidden

    async def _fly(self, flight: Flight) -> None:
        while True:
            await flight.wait()
            if flight.is_over:
                break
            window = flight.waiting[0]
            await self._prepare(window.hidden, window.position, None, None)
            self._delivered = min(self._delivered, window.position)
            self._computed_s.clear()
            await self._advance(partial(self._deliver, flight), flight)
        if self._hops:
            self._rewind(flight.end, None)

    def _deliver(self, flight: Flight, answered: Answered) -> None:
        flight.most_windows = self.most_windows
        flight.slowest_s = max(hop.short_s for hop in self._hops)
        flight.deliver(Outputs(answered.position, answered.hidden, flight.turn, answered.compute_s))

    @property
    def most_windows(self) -> int:
        """Return how many windows may be on their way, if as many void ones still take room at the servers."""
        return max(min((hop.takes_ahead // 2 - 1 for hop in self._hops), default=1), 1)

    async def _open(self, hidden: Tensor, prompts: Tensor | None) -> None:
        rows, tokens = hidden.shape[:2]
        beginning = page_fingerprints(hidden) if prompts is None and not self._config.exact else ()
        request = RouteRequest(rows, self._others.soon(tokens), beginning)
        needs, wait = self._others.needs(rows), Wait(self._config.max_wait_s)
        route = await self._servers.compare_routes(self._span, needs, request, wait=wait)
        self._servers.remember(beginning, route.parts)
        load = Payload(rows * tokens, hidden.shape[2], hidden.element_size())
        ways = self._servers.paths([part.server for part in route.hops], hidden.shape[2])
        rounded = choose_packed_paths(self._config, load, [part.server.record for part in route.hops], ways)
        hops: list[Hop] = []
        for part, (before, after) in zip(route.hops, pairwise(rounded), strict=True):
            history = History(before=hops[-1].history if hops else None)
            hops.append(self._others.hop(part, history, is_fed_rounded=before, packs=after))
        self._put(slice(None), hops, may_race=True)
        # Streams are opened side by side; the hop of one that does not open fails when its turn comes.
        await asyncio.gather(*(hop.open() for hop in self._hops), return_exceptions=True)

    def _grow(self, tokens: int) -> None:
        """Make room for `tokens` of a row: the next step opens larger sessions and replays the history into them."""
        if not self._may_grow:
            raise UsageError(
                f"this session holds at most {self._others.max_length} tokens, not {tokens}",
                hint="open it with a larger max_length",
            )
        self._others.max_length = max(tokens, min(2 * self._others.max_length, self._servers.longest(self._span)))
        self._understudies.drop_all()
        for hop in self._hops:
            hop.enlarge(self._others.max_length)

    def _change_over(self) -> None:
        """Replace servers that are leaving or slow by understudies that are ready."""
        for hop in list(self._hops):
            understudy = self._understudies.release_ready(hop)
            if understudy is None:
                continue
            why = f"slow: steps took {1000 * hop.pace.seen_s:.0f} ms"
            if hop.is_leaving:
                self._servers.record_failure(hop.peer_id, judge(_LEAVING))
                why = _reason(_LEAVING)
            self._replace(hop, understudy, why)
            self._goodbyes.start(hop.close())

    async def _leave_distrusted(self) -> None:
        """Replace servers that returned wrong results, and compute again what came after them."""
        self._understudies.drop_distrusted()
        for hop in list(self._hops):
            if not self._servers.is_distrusted(hop.peer_id):
                continue
            self._understudies.drop_all()
            others = await self._others.find(hop, Wait(self._config.max_wait_s))
            self._replace(hop, others, "it returned wrong results", may_race=True)
            self._goodbyes.start(hop.close())
            after = [each.history for each in self._hops if each.span.start >= hop.span.end]
            for history, prompts in [(history, history.prompts) for history in after]:
                history.restart(prompts)

    def _rewind(self, position: int, order: Tensor | None) -> None:
        history = self._hops[0].history  # the others follow it
        if order is not None or position == 0:
            self._understudies.drop_all()
        history.truncate(position)
        if order is not None:
            history.reorder(order)

    async def _announce(self, position: int, rows: int, tokens: int) -> None:
        """Announce the step to every server that gets its inputs from the server before."""
        self._connect_links()
        if len(self._hops) == 1 or self._hops[0].lacks_much(position + tokens, rows):
            return  # `_flow` announces piece after piece
        links = open_links(self._hops, position, rows * tokens)
        self._number += 1
        for sender, _ in links:
            sender.links.number = self._number
        for _, receiver in links:
            await receiver.announce(Awaited(self._number, rows, tokens))

    def _connect_links(self) -> None:
        for sender, receiver in pairwise(self._hops):
            if sender.links.receiver is not receiver.links or not sender.links.can_push:
                self._ring.connect(sender, receiver, time.monotonic())

    async def _advance(self, deliver: OnAnswer, flight: Flight | None = None) -> None:
        """Let all hops catch up, from first to last, and deliver the last one's outputs.

        The windows of a flight go on coming until something fails or a change is due.
        """
        index, failures = 0, None
        while index < len(self._hops):
            hop = self._hops[index]
            try:
                is_first = index == 0 and flight is not None
                if is_first or (index + 1 < len(self._hops) and hop.lacks_much(hop.history.length, hop.history.batch)):
                    index, error = await self._flow(index, deliver, flight if is_first else None)
                    hop = self._hops[index]
                    if error is not None:
                        raise error
                else:
                    await self._catch_up(index, deliver)
            except RemoteError as error:
                if index and isinstance(error, PushDiffers):
                    self._ring.distrust(self._hops[index - 1], hop)
                failures = failures or Failures(self._servers, self._config)
                await self._recover(hop, error, failures)
                continue
            if hop.report.steps == 1 or (self._servers.failed and hop.peer_id in self._servers.failed):
                self._servers.record_success(hop.peer_id)
            self._reopened, self._was_rejected = None, False
            if hop.needs_another:
                self._understudies.due_at = self._understudies.settled
            if failures is not None:
                failures.end()
            index += 1

    async def _catch_up(self, index: int, deliver: OnAnswer) -> None:
        """Let one hop catch up, and pass its outputs on."""
        hop, leader = self._hops[index], self._hops[index - 1] if index else None
        take = partial(self._pass_on, index, deliver, None)
        course = hop.course(self._wanted_from(index), hop.history.length, take)
        if leader is not None and leader.links.was_pushed:
            course.pushed.add(hop.cursor.position)
        await hop.follow(course)
        if leader is not None and hop.links.missed:
            self._ring.record_failure(leader, hop, time.monotonic())

    def _wanted_from(self, index: int) -> int:
        """Return the position of the first output of a hop that neither the next hop nor the caller has."""
        return self._hops[index + 1].history.length if index + 1 < len(self._hops) else self._delivered

    def _pass_on(self, index: int, deliver: OnAnswer, follower: Course | None, answered: Answered) -> None:
        """Pass outputs of a hop on to the next one, or to the caller."""
        self._record_outputs(self._hops[index], answered.position, answered.hidden)
        before_s = self._computed_s.pop(answered.piece.start, 0.0) if index else 0.0  # other entries are of void pieces
        answered = answered._replace(compute_s=before_s + answered.compute_s)
        if index + 1 == len(self._hops):
            self._delivered = answered.position + answered.hidden.shape[1]
            deliver(answered)
            return
        self._computed_s[answered.piece.start] = answered.compute_s
        after = self._hops[index + 1]
        for piece in after.cursor.flying:
            if piece.hidden is None and (piece.start, piece.end) == (answered.piece.start, answered.piece.end):
                piece.hidden = answered.whole
        if follower is None:
            after.history.append(answered.hidden)
        else:
            follower.add_inputs(answered)

    def _record_outputs(self, hop: Hop, start: int, outputs: Tensor) -> None:
        """Keep outputs of the tokens from `start` on for audits."""
        if self._audits is None:
            return
        if not hop.windows.steps:
            self._audits.used.add(hop.peer_id)
        hop.windows.steps.append((start, outputs))
        if start // WINDOW_TOKENS != (start + outputs.shape[1]) // WINDOW_TOKENS:
            self._audits.on_window(hop)

    async def _flow(self, first: int, deliver: OnAnswer, flight: Flight | None) -> tuple[int, RemoteError | None]:
        """Let all hops from `first` on catch up side by side, and deliver the last one's outputs.

        A failure ends the flow behind it in good order, so that every other server keeps what it has.

        Args:
            flight: goes on adding windows; None: the history has everything.

        Returns: the index of the first hop that failed and its error; or the last index and None.
        """
        hops = self._hops[first:]
        rows, end = hops[0].history.batch, hops[0].history.length
        lacking = end - min(hop.cursor.position for hop in hops)
        tokens = min(piece_tokens(max(lacking, 1), rows), *(hop.largest_piece(rows) for hop in hops))
        links = open_links(hops, self._delivered, 0)
        courses: list[Course] = []
        cuts: dict[int, Cut] = {}
        if links:
            self._cut(cuts, self._delivered, end, tokens, is_pushed=True)

        async def run(index: int) -> RemoteError | None:
            try:
                await hops[index].follow(courses[index])
            except RemoteError as error:
                if feeding is not None:
                    feeding.cancel()
                for after in hops[index + 1 : index + 2]:
                    await after.send_known()
                for after in hops[index + 1 :]:
                    await after.take_back()
                return error
            finally:
                for course in courses[index + 1 : index + 2]:
                    course.stop()
            return None

        for index, hop in enumerate(hops):
            is_pushed = any(hop is receiver for _, receiver in links)
            courses.append(
                Course(
                    hop.history,
                    rows,
                    start=self._wanted_from(first + index),
                    end=end,
                    tokens=tokens,
                    in_flight=ANNOUNCED if is_pushed or hop.cursor.flying else IN_FLIGHT,
                    grows=index > 0 if flight is not None else hop.history.length < end,
                    is_open=flight is not None,
                    leader=hops[index - 1].cursor if is_pushed else None,
                    pushes=any(hop is sender for sender, _ in links),
                    cuts=cuts,
                )
            )
        for index, (course, follower) in enumerate(zip_longest(courses, courses[1:])):
            course.on_answer = partial(self._pass_on, first + index, deliver, follower)
        feeding: asyncio.Task[None] | None = None
        if flight is not None:
            feeding = asyncio.create_task(self._feed(flight, courses, cuts, is_pushed=bool(links)))
        try:
            errors = await side_by_side([run(index) for index in range(len(hops))])
        finally:
            await cancel_and_wait(feeding)
        if feeding is not None and not feeding.cancelled():
            feeding.result()  # raises an error of the feeding task itself
        for leader, hop in pairwise(hops):
            if hop.links.missed:
                self._ring.record_failure(leader, hop, time.monotonic())
        for hop, error in zip(hops, errors, strict=True):
            if error is None:
                self._servers.record_success(hop.peer_id)
        failed = next((index for index, error in enumerate(errors) if error is not None), len(hops) - 1)
        for hop, error in zip(hops[failed + 1 :], errors[failed + 1 :], strict=True):
            if isinstance(error, Overtaken):  # it opens its session again when its turn comes
                self._understudies.drop(hop)
        return first + failed, errors[failed]

    def _cut(self, cuts: dict[int, Cut], start: int, end: int, tokens: int, *, is_pushed: bool) -> None:
        """Cut the tokens [start, end) into pieces that all servers get alike."""
        for at in range(start, end, tokens):
            self._number += is_pushed
            cuts[at] = Cut(min(at + tokens, end), self._number if is_pushed else None)

    async def _feed(self, flight: Flight, courses: Sequence[Course], cuts: dict[int, Cut], *, is_pushed: bool) -> None:
        """Let the windows of a flight leave until it is over or a change is due; then close the courses."""
        has_begun, num_links = False, self._num_links()
        try:
            while True:
                await flight.wait()
                if flight.is_over or flight.waiting[0].end > self._others.max_length:  # also after a failure
                    break
                if has_begun and self._must_pause(num_links):
                    break
                self._leave(flight.waiting.popleft(), flight, courses, cuts, is_pushed=is_pushed)
                has_begun = True
            if flight.is_over:
                self._go_back(flight.end, courses, cuts)
                for hop in self._hops:
                    await hop.take_back()
        finally:
            for course in courses:
                course.is_open = False
                course.wake()

    def _leave(
        self, window: Window, flight: Flight, courses: Sequence[Course], cuts: dict[int, Cut], *, is_pushed: bool
    ) -> None:
        """Append a window to the first server's inputs, and cut it for all servers."""
        self._go_back(window.position, courses, cuts)
        flight.turn, rows, tokens = window.turn, courses[0].rows, window.end - window.position
        for past in [at for at, cut in cuts.items() if cut.end <= self._hops[-1].cursor.position]:
            del cuts[past]
        most = min(hop.largest_piece(rows) for hop in self._hops)
        most = min(piece_tokens(tokens, rows), most) if is_long(tokens, rows) else most
        self._cut(cuts, window.position, window.end, most, is_pushed=is_pushed)
        self._connect_links()
        self._hops[0].history.append(self._rounded(window.hidden))
        for course in courses:
            course.in_flight = max(self.most_windows, 2)
            course.end = window.end
            course.wake()
        if any(hop.needs_another for hop in self._hops):
            self._understudies.due_at = window.settled
        if not self._understudies.settled <= window.settled < self._understudies.due_at:
            self._understudies.prepare(self._hops, window.settled)

    def _go_back(self, position: int, courses: Sequence[Course], cuts: dict[int, Cut]) -> None:
        """Forget the tokens from `position` on, and shorten pieces beyond it that have not left."""
        if self._hops[0].history.length <= position:
            return
        self._hops[0].history.truncate(position)
        self._delivered = min(self._delivered, position)
        for at, cut in list(cuts.items()):
            if at >= position:
                del cuts[at]
            elif cut.end > position:
                cuts[at] = Cut(position, None)
        for course in courses:
            course.go_back(position)
            course.wake()

    def _num_links(self) -> int:
        return sum(one.links.receiver is other.links and one.links.can_push for one, other in pairwise(self._hops))

    def _must_pause(self, num_links: int) -> bool:
        """Tell whether the windows on their way should arrive before the next one leaves."""
        return (
            self._num_links() > num_links
            or any(hop.links.missed or self._understudies.is_ready(hop) for hop in self._hops)
            or (bool(self._servers.distrusted) and any(self._servers.is_distrusted(hop.peer_id) for hop in self._hops))
        )

    async def _recover(self, hop: Hop, error: RemoteError, failures: Failures) -> None:
        """Replace a hop by others, or let it open a new session at the same server."""
        may_end = not isinstance(error, Overtaken)
        verdict = failures.record(hop.part, error, was_given=hop.was_given, may_end=may_end)
        if verdict.action is Action.GIVE_UP:  # a second server must confirm it
            if self._was_rejected or not self._others.is_replaceable(hop):
                raise error
            self._was_rejected = True
        if verdict.action is Action.REOPEN and self._reopened is not hop:
            self._reopened = hop
            return
        if verdict.for_this_session or verdict.action is not Action.REPLACE:
            self._others.unwanted |= {hop.peer_id}
        understudy = await self._understudies.release(hop)
        if understudy is not None:
            self._replace(hop, understudy, _reason(error))
        else:
            self._replace(hop, await self._others.find(hop, failures.wait), _reason(error), may_race=True)

    def _replace(self, lost: Hop, others: list[Hop], why: str, *, may_race: bool = False) -> None:
        """Put others in the place of `lost`. The first one shares its history; the next ones may lack inputs."""
        for hop in others:
            hop.report.replayed_tokens = lost.history.length - hop.cursor.position
        lost.report.replaced_because = why
        self.route.replaced.append(lost.report)
        self._understudies.drop(lost)
        index = self._hops.index(lost)
        self._put(slice(index, index + 1), others, may_race=may_race)

    def _put(self, place: slice, hops: list[Hop], *, may_race: bool) -> None:
        """Put hops into the session at `place`.

        Args:
            may_race: the session waits for them; if a first answer is late, other servers race for it.
        """
        for hop in hops if may_race and self._others.adapter is None else ():  # uploading an adapter takes long
            if hop.part.server.record.forward_tps > 0:
                hop.race = self._understudies.race
        self._end_audits(hop for hop in self._hops[place] if hop not in hops)
        self._hops[place] = hops
        self.route.hops = [hop.report for hop in self._hops]

    def _end_audits(self, hops: Iterable[Hop]) -> None:
        """Offer the last tokens of servers that the session leaves to audits."""
        if self._audits is not None:
            for hop in hops:
                self._audits.on_leave(hop)


def _reason(error: RemoteError) -> str:
    return f"{error.code}: {error.message}"
