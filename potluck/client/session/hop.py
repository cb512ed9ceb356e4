"""Runs one server of one session: its stream, and what the server has of the history of its inputs.

A hop sends its server everything that the history has and the server's cache lacks. That one rule covers normal steps,
prefill in pieces, rollback and the replay to a replacement server. The session chooses the servers. The server before
may push what this one lacks; the hop then announces the step, and sends the hidden states only if the push does not
come. A step is one piece, and a long one several, of which some are at the server at a time (`pieces.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor

from potluck.client.audits.windows import Windows
from potluck.client.calls import Calls, StepStream
from potluck.client.packing import speaks_packed
from potluck.client.receipts import Tab
from potluck.client.session.history import Cursor, History, Piece
from potluck.client.session.pieces import (
    ANNOUNCED,
    IN_FLIGHT,
    LEAST_LONG,
    Answered,
    Course,
    OnAnswer,
    is_long,
    piece_tokens,
)
from potluck.client.session.reports import HopReport
from potluck.client.tuning.own_adapters import AdapterPart
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, SessionOpening, StepReply, StepRequest
from potluck.protocol.records import ServerRecord
from potluck.routing.experience import Pace, faded, opening_silence_s
from potluck.routing.route import RouteHop
from potluck.tasks import cancel_and_wait
from potluck.wire.packing import pack, pack_exactly
from potluck.wire.sessions import digest_of

_MESSAGE_TOKENS = 2048  # most tokens of a prompt at once, though servers take rows without a session whole
_SHORT_TOKENS = 32  # a decode step, with drafts; it takes a few times as long as one token at most
_MOST_AHEAD = 32  # limit of short steps at a server, even if it offers more
_IDLE_S = 60.0  # a stream that ends after a longer pause was idle, which is no failure


class PushDiffers(RemoteError):  # noqa: N818 (a difference)
    """The server computed with other values than the server before answered the client."""

    def __init__(self) -> None:
        super().__init__(Code.ROLLBACK, "the server before pushed other values than it answered")


Race = Callable[["Hop", Coroutine[Any, Any, StepReply | None], float], Awaitable[StepReply | None]]
"""Waits for the first answer of a hop, and for another server if the answer takes longer than so many seconds."""


@dataclass(slots=True, eq=False)
class HopLinks:
    """The state of the pushes to and from one server, while its stream lasts."""

    awaits: PushLink | None = None  # the peer that pushes to the server, as the latest or next message says
    receiver: HopLinks | None = None  # links of the server that gets its pushes
    pending: dict[str, PushLink] = field(default_factory=dict)  # fields of the next message that name these two
    can_push: bool = False  # its last answer says so
    was_pushed: bool = False  # its last output, to the next server
    missed: bool = False  # a push from the server before did not come in time
    number: int | None = None  # the number under which the next output is pushed


@dataclass(slots=True)
class _Line:
    """A stream to a server.

    Attributes:
        used_s: when the last answer came (monotonic).
        rows: rows of the session on it; 0: none was opened yet.
        receipt: goes with the next message.
    """

    stream: StepStream
    tab: Tab
    used_s: float
    rows: int = 0
    receipt: bytes | None = None


class Hop:
    """Blocks `span` of a session at one server."""

    def __init__(
        self,
        calls: Calls,
        part: RouteHop,
        opening: SessionOpening,
        history: History,
        is_replaceable: Callable[[Hop], bool],
        adapter: AdapterPart | None = None,
        *,
        is_fed_rounded: bool = False,
    ) -> None:
        """Store the settings. `is_fed_rounded`: its inputs were rounded so that they can travel packed."""
        record = part.server.record
        self.part = part
        self.opening = opening  # how the session at this server was or will be opened
        self.history = history
        self.cursor = Cursor()
        self.windows = Windows()
        history.attach(self.cursor)
        history.attach(self.windows)
        self.is_fed_rounded = is_fed_rounded
        self.report = HopReport(record.peer_id, part.span, record.public_name, record.format)
        self.pace = Pace(part.cost_s)
        self.links = HopLinks()
        self.is_leaving = False  # its last answer says so
        self.needs_another = False  # it leaves, or a step took long, since the session last compared servers
        self.is_spare = False  # it stands by for another server
        self.takes_ahead = 0  # short steps that may be at the server at once, as its last answer says
        self.short_s = 0.0  # seconds of a short step at the server
        self.was_given = False  # the server got the step that failed
        self.race: Race | None = None  # waits for its first answer
        self._calls = calls
        self._is_replaceable = is_replaceable
        self._adapter = adapter  # the caller's own
        self._line: _Line | None = None

    @property
    def peer_id(self) -> PeerId:
        return self.part.peer_id

    @property
    def span(self) -> Span:
        return self.part.span

    @property
    def speaks_packed(self) -> bool:
        return speaks_packed(self.part.server.record)

    async def open(self) -> _Line:
        """Open the stream if there is none. Raises RemoteError UNREACHABLE."""
        if self._line is None:
            record = self.part.server.record
            if self._adapter is not None:
                await self._calls.upload_adapter(record, self.opening, self._adapter)
            stream = await self._calls.open_steps(record)
            tab = self._calls.open_tab(self.part)
            self._line = _Line(stream, tab, used_s=time.monotonic())
        return self._line

    def enlarge(self, max_length: int) -> None:
        """Let the next `follow` open a session of `max_length` tokens a row and replay the history."""
        self.abandon()
        self.opening = replace(self.opening, max_length=max_length, session_id=str(uuid.uuid4()))

    def abandon(self) -> None:
        """Drop the stream without a message; the next `follow` replays the history."""
        line, self._line = self._line, None
        if line is not None:
            line.stream.drop()
            line.tab.close()
        self.windows.clear()  # the server computes all of it anew
        self.cursor.reset()
        self.links = HopLinks()

    async def close(self) -> None:
        """End the session at the server, so that it frees the cache at once."""
        line, self._line = self._line, None
        if line is not None:
            line.tab.close()
            await line.stream.finish()

    def can_take_whole(self, position: int, num_tokens: int) -> bool:
        """Tell whether a step from `position` on needs one message alone, so that it may be pushed."""
        line, cursor = self._line, self.cursor
        if line is None or not line.rows or cursor.flying or cursor.position != position or cursor.order is not None:
            return False
        return num_tokens <= _largest_message(self.part.server.record) and (
            position > 0 or self.history.prompts is None
        )

    def lacks_much(self, end: int, rows: int) -> bool:
        """Tell whether the server lacks so many of the tokens before `end` that they should come in pieces."""
        lacking = end - self.cursor.position
        if lacking <= LEAST_LONG or self.opening.exact or not self.part.server.record.is_ours:
            return False  # the numbers of a prompt in pieces are not exact
        return is_long(lacking, rows)

    def largest_piece(self, rows: int) -> int:
        """Return how many tokens of each row the server takes at once."""
        return max(_largest_message(self.part.server.record) // rows, 1)

    async def announce(self, awaited: Awaited) -> None:
        """Tell the server that its next inputs come from the server before; `follow` waits for the answer."""
        assert self._line is not None
        start, end = self.cursor.position, self.cursor.position + awaited.tokens
        await self._send(self._line, Piece(start, end, None, awaited, time.monotonic(), None, end), self.links.number)

    async def catch_up(self, start: int) -> Tensor:
        """Send the server what it lacks and return the outputs of tokens [start, history.length).

        Returns: [batch, history.length - start, hidden_size], in the dtype of the history.
        Raises: as `follow`.
        """
        course = self.course(start, self.history.length)
        await self.follow(course)
        return course.outputs[0] if len(course.outputs) == 1 else torch.cat(course.outputs, dim=1)

    def course(self, start: int, end: int, on_answer: OnAnswer | None = None) -> Course:
        """Return how the server catches up with the first `end` tokens, all of which the client sends."""
        rows = self.history.batch
        if not self.lacks_much(end, rows):
            return Course(self.history, rows, start, end, _MESSAGE_TOKENS, on_answer)
        tokens = piece_tokens(end - self.cursor.position, rows)
        return Course(self.history, rows, start, end, tokens, on_answer, IN_FLIGHT)

    async def follow(self, course: Course) -> None:
        """Send the server what it lacks as that becomes known, and pass the outputs on.

        It ends early if the inputs end; the cursor then says what the server has.

        Raises:
            RemoteError: the session at this server is gone; the history is intact.
        """
        cursor, began_s = self.cursor, time.monotonic()
        if cursor.position > course.start or (self._line is not None and self._line.rows not in (0, course.rows)):
            self.abandon()  # those outputs are gone, or the rows are others: all is computed again
        self.was_given = self.links.missed = False
        sending: asyncio.Task[None] | None = None
        try:
            line = self._line or await self.open()
            if course.leader is None:
                await self.send_known(course.pushed)
            if course.in_flight > 1:
                sending = asyncio.create_task(self._send_ahead(line, course))
                sending.add_done_callback(lambda _: course.wake())
            while course.is_open or cursor.flying or cursor.position < course.end:
                if not cursor.flying and not await self._comes(line, course, sending):
                    break
                if not await self._has_inputs(course, cursor.flying[0]):
                    break  # its announcement stays
                await self._read(line, course, cursor.flying[0])
            if sending is not None:
                try:
                    await sending
                except RemoteError:
                    if cursor.position < course.end:
                        raise  # otherwise the next step finds the stream broken
        except BaseException as error:
            was_idle = self._line is not None and began_s - self._line.used_s > _IDLE_S
            self.abandon()
            await cancel_and_wait(sending)
            if isinstance(error, RemoteError):
                if error.code is Code.NO_ADAPTER and self._adapter is not None:
                    self._calls.forget_upload(self.part.server.record, self._adapter.id.digest)
                if error.code is Code.UNREACHABLE and was_idle:
                    raise RemoteError(Code.ROLLBACK, "the session was closed in a pause") from error
            raise

    async def send_known(self, pushed: Collection[int] = ()) -> None:
        """Send the inputs of announced pieces that are known here, because the server before is gone.

        Args:
            pushed: positions of pieces that it has pushed before.
        """
        while self._line is not None and (piece := self._next_unsent(pushed)) is not None:
            with contextlib.suppress(RemoteError):  # the task that reads the answers raises it
                await self._send_inputs(self._line, piece, is_late=False)

    def _next_unsent(self, pushed: Collection[int]) -> Piece | None:
        """Return an announced piece whose inputs are known and were neither pushed nor sent."""
        for piece in self.cursor.flying:
            is_due = piece.awaited is not None and not piece.is_sent_here and piece.start not in pushed
            if is_due and piece.kept > piece.start and self._inputs_of(piece) is not None:
                return piece
        return None

    def _inputs_of(self, piece: Piece) -> Tensor | None:
        """Return those inputs of a piece that still count; None if they are not known."""
        if piece.hidden is None and piece.start < piece.kept <= self.history.length:
            piece.hidden, piece.end = self.history.between(piece.start, piece.kept), piece.kept
        return piece.hidden

    async def take_back(self) -> None:
        """Tell the server not to wait for announced inputs that do not count any more."""
        line, last = self._line, self.cursor.flying[-1] if self.cursor.flying else None
        if line is not None and last is not None and last.kept < last.end and self.takes_ahead:
            with contextlib.suppress(RemoteError):  # the task that reads the answers raises it
                await line.stream.send(StepRequest(start_from_position=self.cursor.sent), has_reader=True)

    async def _comes(self, line: _Line, course: Course, sending: asyncio.Task[None] | None) -> bool:
        """Send the next piece, or wait until another task has; return False if there will be none."""
        if sending is None:
            piece = self._next(course)
            if piece is not None:
                await self._send(line, piece, self.links.number)
        else:
            await course.until(lambda: bool(self.cursor.flying) or sending.done())
        return bool(self.cursor.flying)

    async def _has_inputs(self, course: Course, piece: Piece) -> bool:
        """Wait until the inputs of a piece that still count are here; return False if they will not come."""
        await course.until(lambda: course.history.length >= piece.kept or not course.grows)
        return course.history.length >= piece.kept

    async def _send_ahead(self, line: _Line, course: Course) -> None:
        def is_over() -> bool:
            return not course.is_open and (self.cursor.sent >= course.end or course.is_cut_short)

        while True:
            await self.send_known(course.pushed)
            if (piece := self._next(course)) is not None:
                cut = course.cuts.get(piece.start)
                await self._send(line, piece, None if cut is None else cut.number, course)
            elif is_over():
                return
            else:
                await course.wait()

    def _next(self, course: Course) -> Piece | None:
        """Return the next piece if it can be sent or announced now."""
        cursor, history, rows = self.cursor, self.history, course.rows
        start, in_flight = cursor.sent, sum(piece.kept > piece.start for piece in cursor.flying)
        if start >= course.end:
            return None
        number, cut = None, course.cuts.get(start)
        if cut is not None:
            end, number = cut
        else:
            tokens = min(course.tokens, self.largest_piece(rows))
            ends = (each.end for each in course.cuts.values() if each.end > start)
            end = min(start + (tokens if start else max(tokens, self.history.prompt_tokens)), course.end, *ends)
        is_here = history.length >= end
        is_pushed = number is not None and course.leader is not None and course.leader.sent >= end
        most = course.in_flight
        if end - start > _SHORT_TOKENS:
            most = min(most, ANNOUNCED if is_pushed else IN_FLIGHT)
        if in_flight >= most or not (is_here or is_pushed):
            return None
        hidden = history.between(start, end) if is_here else None
        awaited = Awaited(number, rows, end - start) if is_pushed and number is not None else None
        wanted = max(end - max(course.start, start), 0)
        asked = wanted if wanted < end - start and self.part.server.record.is_ours else None
        return Piece(start, end, hidden, awaited, time.monotonic(), asked, end)

    async def _send(self, line: _Line, piece: Piece, push_number: int | None, course: Course | None = None) -> None:
        cursor, links, prompts = self.cursor, self.links, self.history.prompts
        hidden = piece.hidden if piece.awaited is None else None
        request = StepRequest(
            hidden,
            opening=None if line.rows else self.opening,
            prompts=prompts[: len(self.span)] if prompts is not None and piece.start == 0 else None,
            hypo_ids=cursor.order,
            start_from_position=piece.start,
            receipt=line.receipt,
            awaited=piece.awaited,
            push_number=push_number if course is None or course.pushes else None,
            push_to=links.pending.pop("push_to", None),
            pushed_by=links.pending.pop("pushed_by", None),
            answer_tokens=piece.answer_tokens,
            packed=self._packed(hidden),
            is_spare=self.is_spare,
        )
        line.rows = line.rows or self.history.batch  # the first message opens it, and is no announcement
        cursor.order = links.number = line.receipt = None
        cursor.flying.append(piece)  # first: the answer may come before the last byte has left
        self.was_given = True
        if course is not None:
            course.wake()
        if piece.awaited is not None:
            with contextlib.suppress(RemoteError):  # reading the answer raises it
                await line.stream.send(request, has_reader=True)
        else:
            await line.stream.send(request, has_reader=course is not None)

    async def _read(self, line: _Line, course: Course, piece: Piece) -> None:
        """Read the answer to the oldest piece, send inputs that were not pushed, and pass the outputs on."""
        cursor, hidden, counts = self.cursor, self._inputs_of(piece), piece.kept > piece.start
        is_short = piece.start > 0 and piece.end - piece.start <= _SHORT_TOKENS
        on_late: Callable[[], Awaitable[None]] | None = None
        digest = b""
        if piece.awaited is not None and hidden is not None and counts:
            piece.sent_s = time.monotonic()
            if piece.start in course.pushed and not self.links.missed and not piece.is_sent_here:
                on_late = partial(self._send_inputs, line, piece)
                digest = digest_of(hidden)  # computed while the server computes
            elif not piece.is_sent_here:
                await self._send_inputs(line, piece, is_late=False)
        self.was_given = True
        answering = line.stream.answer(
            (course.rows, piece.end - piece.start, self.history.width),
            self.pace.patience(self._calls.patience) if is_short else self._calls.patience,
            lambda: self._is_replaceable(self),
            on_late,
            answer_tokens=piece.answer_tokens,
        )
        race, self.race = self.race, None
        reply = await (answering if race is None else race(self, answering, self._opening_silence_s(piece)))
        if reply is None:
            raise RemoteError(Code.UNREACHABLE, "the server closed the session")
        counts = piece.kept > piece.start
        if reply.is_dropped and counts:
            raise RemoteError(Code.BAD_REPLY, "the server dropped a step that the client did not take back")
        was_next = piece.sent_s >= line.used_s  # no other piece was before it at the server
        course.pushed.discard(piece.start)
        self._record(line, piece, reply, is_step=is_short and was_next and piece.end - piece.start == 1)
        if reply.input_digest is not None and counts:
            self.report.pushed_steps += 1
            if hidden is None or reply.input_digest != (digest or digest_of(hidden)):
                raise PushDiffers
        cursor.flying.popleft()
        cursor.position = max(cursor.position, piece.kept)
        if counts:
            self._pass_on(course, piece, reply)
        course.wake()

    def _pass_on(self, course: Course, piece: Piece, reply: StepReply) -> None:
        """Pass on the outputs of a piece that still count and that the session lacks."""
        first, whole = max(course.start, piece.start), reply.hidden
        if piece.kept <= first:
            return
        if whole.dtype is not self.history.dtype:
            whole = whole.to(self.history.dtype)
        if self.opening.packs and not self.speaks_packed:  # servers of other implementations round nothing
            whole = pack(whole).values
        output = whole
        if output.shape[1] != piece.kept - first:  # slicing costs microseconds
            output = output[:, first - piece.end :][:, : piece.kept - first]
        if course.on_answer is None:
            course.outputs.append(output)
        else:
            course.on_answer(Answered(piece, first, output, whole, reply.was_pushed, reply.timing.compute_ms / 1000))

    async def _send_inputs(self, line: _Line, piece: Piece, *, is_late: bool = True) -> None:
        """Send the inputs of an announced piece, because the server before did not, or is late."""
        self.links.missed |= is_late
        piece.is_sent_here = True
        await line.stream.send(StepRequest(piece.hidden, awaited=piece.awaited, packed=self._packed(piece.hidden)))

    def _packed(self, hidden: Tensor | None) -> tuple[Tensor | None, ...]:
        return (pack_exactly(hidden),) if hidden is not None and self.is_fed_rounded and self.speaks_packed else ()

    def _record(self, line: _Line, piece: Piece, reply: StepReply, *, is_step: bool) -> None:
        """Record what an answer says of its server: load, links, work and times.

        Args:
            is_step: it was an ordinary decode step, whose time says how fast the server is.
        """
        began_s, now = max(piece.sent_s, line.used_s), time.monotonic()  # several may be in flight
        took_s, timing, tokens = now - began_s, reply.timing, 0 if reply.is_dropped else piece.end - piece.start
        line.used_s = now
        self.links.can_push, self.links.was_pushed = reply.can_push, reply.was_pushed
        self.is_leaving, self.takes_ahead = timing.is_leaving, min(reply.takes_ahead, _MOST_AHEAD)
        if is_step:
            self.pace.recent_s.append(took_s)
        if timing.is_leaving or (is_step and took_s > self.pace.slow_s):
            self.needs_another = True
        line.tab.add(line.rows * tokens, timing)
        line.receipt = line.tab.due() or line.receipt
        if 0 < tokens <= _SHORT_TOKENS:
            self.short_s = faded(self.short_s, min(timing.compute_ms / 1000, took_s))
        report = self.report
        report.steps += 1
        report.tokens += tokens
        report.wall_ms += 1000 * took_s
        report.queue_ms += timing.queue_ms
        report.compute_ms += timing.compute_ms

    def _opening_silence_s(self, piece: Piece) -> float:
        forward_tps = self.part.server.record.forward_tps
        compute_s = self.history.batch * (piece.end - piece.start) * len(self.span) / max(forward_tps, 1.0)
        return opening_silence_s(self.part.cost_s, compute_s, 0 if piece.hidden is None else piece.hidden.nbytes)


def open_links(hops: Sequence[Hop], position: int, num_tokens: int) -> list[tuple[Hop, Hop]]:
    """Return the pairs of hops between which a step of `num_tokens`, all rows together, is pushed."""
    found = []
    for sender, receiver in pairwise(hops):
        out, into = sender.links, receiver.links
        is_open = out.receiver is into and out.can_push and not out.pending and not into.pending
        if is_open and sender.can_take_whole(position, num_tokens) and receiver.can_take_whole(position, num_tokens):
            found.append((sender, receiver))
    return found


def _largest_message(record: ServerRecord) -> int:
    """Return how many tokens, all rows together, a server takes in one message."""
    return min(record.max_batch_tokens, _MESSAGE_TOKENS)
