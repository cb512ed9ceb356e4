"""Runs one server of one session: its stream, and what the server has of the history of its inputs.

A hop sends its server whatever is in the history and not in the server's cache. That one rule covers normal steps,
prefill in pieces, rollback and the replay to a replacement server. The session chooses the servers. The server before
may push what this one lacks; the hop then announces the step, and sends the hidden states only if they do not come.
A step is one piece, and a long one several, of which some are at the server at a time (`pieces.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor

from potluck.client.calls import Calls, StepStream
from potluck.client.history import Cursor, History, Piece
from potluck.client.own_adapters import AdapterPart
from potluck.client.packing import speaks_packed
from potluck.client.pieces import IN_FLIGHT, LEAST_LONG, Course, Take, is_long, piece_tokens
from potluck.client.receipts import RECEIPT_S, RECEIPT_TOKENS, Tab
from potluck.client.report import HopReport
from potluck.client.windows import Windows
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, SessionOpening, StepReply, StepRequest
from potluck.protocol.records import ServerRecord
from potluck.routing.pace import Pace, opening_silence_s
from potluck.routing.route import RouteHop
from potluck.tasks import cancel_and_wait
from potluck.wire.packing import pack, pack_exactly
from potluck.wire.sessions import digest_of

_MESSAGE_TOKENS = 2048  # of a prompt at once, though servers take rows without a session whole
_SHORT_TOKENS = 32  # a decode step, with drafts; it takes a few times as long as one token at most
_IDLE_S = 60.0  # a stream that ends after a longer pause was idle, which is no failure


class PushDiffers(RemoteError):  # noqa: N818 (a difference)
    """The server computed with other values than the server before answered the client."""

    def __init__(self) -> None:
        super().__init__(Code.ROLLBACK, "the server before pushed other values than it answered")


Race = Callable[["Hop", Coroutine[Any, Any, StepReply | None], float], Awaitable[StepReply | None]]
"""Waits for the first answer of a hop, and for another server if the answer takes longer than so many seconds."""


@dataclass(slots=True, eq=False)
class Links:
    """The pushes from and to the servers before and after one server, while its stream lasts."""

    awaits: PushLink | None = None  # what the server was told, or is told next, of who pushes to it
    receiver: Links | None = None  # of whom it was told to push to
    untold: dict[str, PushLink] = field(default_factory=dict)  # what the next message says of these two
    can_push: bool = False  # by its last answer
    was_pushed: bool = False  # its last output, to the next server
    missed: bool = False  # what it was to get from the server before did not come in time
    number: int | None = None  # under which the next output is pushed


@dataclass(slots=True)
class _Line:
    """A stream to a server.

    Attributes:
        used_s: when something came last (monotonic).
        rows: of the session that was opened on it; 0: none yet.
        receipt: to be sent with the next message.
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
        """`is_fed_rounded`: its inputs were rounded so that they can travel packed."""
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
        self.links = Links()
        self.is_leaving = False  # by its last answer
        self.needs_another = False  # it leaves, or a step took long, since the session looked for another server
        self.is_spare = False  # it stands by for another server
        self.was_given = False  # the server got the step that failed
        self.race: Race | None = None  # for its first answer
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
                await self._calls.bring(record, self.opening, self._adapter)
            stream = await self._calls.open_steps(record)
            tab = self._calls.open_tab(self.part)
            self._line = _Line(stream, tab, used_s=time.monotonic())
        return self._line

    def enlarge(self, max_length: int) -> None:
        """Open a session of `max_length` tokens a row with the next `catch_up`, which replays the history."""
        self.abandon()
        self.opening = replace(self.opening, max_length=max_length, session_id=str(uuid.uuid4()))

    def abandon(self) -> None:
        """Drop the stream without a message; the next `catch_up` replays the history."""
        line, self._line = self._line, None
        if line is not None:
            line.stream.drop()
            line.tab.close()
        self.windows.clear()  # the server computes all of it anew
        self.cursor.reset()
        self.links = Links()

    async def close(self) -> None:
        """End the session at the server, so that it frees the cache at once."""
        line, self._line = self._line, None
        if line is not None:
            line.tab.close()
            await line.stream.finish()

    def can_take_whole(self, position: int, num_tokens: int) -> bool:
        """Tell whether a step from `position` on needs one message and nothing before it, so that it may be pushed."""
        line, cursor = self._line, self.cursor
        if line is None or not line.rows or cursor.position != position or cursor.order is not None:
            return False
        return num_tokens <= _largest_message(self.part.server.record) and (
            position > 0 or self.history.prompts is None
        )

    def lacks_much(self, end: int, rows: int) -> bool:
        """Tell whether the server lacks so many of the tokens before `end` that they should come in pieces."""
        lacking = end - self.cursor.position
        if lacking <= LEAST_LONG or self.opening.exact or not self.part.server.record.is_ours:
            return False  # an exact session's pieces would be computed otherwise
        return is_long(lacking, rows)

    def largest_piece(self, rows: int) -> int:
        """Return how many tokens of each row the server takes at once."""
        return max(_largest_message(self.part.server.record) // rows, 1)

    async def announce(self, awaited: Awaited) -> None:
        """Tell the server that its next inputs come from the server before; `catch_up` waits for the answer."""
        assert self._line is not None
        start, end = self.cursor.position, self.cursor.position + awaited.tokens
        await self._send(self._line, Piece(start, end, None, awaited, time.monotonic(), None, end), self.links.number)

    async def catch_up(self, start: int, *, is_pushed: bool = False) -> Tensor:
        """Send the server what it lacks and return the outputs of tokens [start, history.length).

        Args:
            is_pushed: the server before has sent what was announced.

        Returns: [batch, history.length - start, hidden_size], in the dtype of the history.
        Raises: as `follow`.
        """
        course = self.course(start, self.history.length)
        if is_pushed:
            course.pushed.add(self.cursor.position)
        await self.follow(course)
        return course.outputs[0] if len(course.outputs) == 1 else torch.cat(course.outputs, dim=1)

    def course(self, start: int, end: int, take: Take | None = None) -> Course:
        """Return how the server catches up with the first `end` tokens, of which it gets all from here."""
        rows = self.history.batch
        if not self.lacks_much(end, rows):
            return Course(self.history, rows, start, end, _MESSAGE_TOKENS, take)
        tokens = piece_tokens(end - self.cursor.position, rows)
        return Course(self.history, rows, start, end, tokens, take, IN_FLIGHT)

    async def follow(self, course: Course) -> None:
        """Send the server what it lacks while it comes, and hand on the outputs.

        Ends early, with the server as it is known here, if nothing more comes.

        Raises:
            RemoteError: the session at this server is gone; the history is intact.
        """
        cursor, began_s = self.cursor, time.monotonic()
        if cursor.position > course.start or (self._line is not None and self._line.rows not in (0, course.rows)):
            self.abandon()  # those outputs are gone, or the rows are others, so all is computed again
        self.was_given = self.links.missed = False
        sending: asyncio.Task[None] | None = None
        try:
            line = self._line or await self.open()
            if course.in_flight > 1:
                sending = asyncio.create_task(self._send_ahead(line, course))
                sending.add_done_callback(lambda _: course.wake())
            while cursor.position < course.end:
                if not cursor.flying and not await self._comes(line, course, sending):
                    break
                piece = cursor.flying[0]
                if course.history.length < piece.kept and not await course.reaches(piece.kept):
                    break  # an announced piece stays announced
                await self._read(line, course, piece)
            if sending is not None:
                try:
                    await sending
                except RemoteError:
                    if cursor.position < course.end:
                        raise  # else the next step finds the stream broken
        except BaseException as error:
            was_idle = self._line is not None and began_s - self._line.used_s > _IDLE_S
            self.abandon()
            await cancel_and_wait(sending)
            if isinstance(error, RemoteError):
                if error.code is Code.NO_ADAPTER and self._adapter is not None:
                    self._calls.note_missing(self.part.server.record, self._adapter.id.digest)
                if error.code is Code.UNREACHABLE and was_idle:
                    raise RemoteError(Code.ROLLBACK, "the session was closed in a pause") from error
            raise

    async def _comes(self, line: _Line, course: Course, sending: asyncio.Task[None] | None) -> bool:
        """Send the next piece, or wait until it is sent ahead; return False if there will be none."""
        if sending is None:
            return await self._send_piece(line, course)
        await course.until(lambda: bool(self.cursor.flying) or sending.done())
        return bool(self.cursor.flying)

    async def _send_ahead(self, line: _Line, course: Course) -> None:
        cursor = self.cursor
        while cursor.sent < course.end and not course.is_cut_short:
            if len(cursor.flying) < course.in_flight:
                if not await self._send_piece(line, course):
                    return
            else:
                await course.until(lambda: len(cursor.flying) < course.in_flight or course.is_cut_short)

    async def _send_piece(self, line: _Line, course: Course) -> bool:
        """Send or announce the next piece; return False if its inputs will not come."""
        start = self.cursor.sent if self.cursor.flying else self.cursor.position
        rows = course.rows
        tokens = min(course.tokens, self.largest_piece(rows))
        end = min(start + (tokens if start else max(tokens, self.history.prompt_tokens)), course.end)
        number = course.numbers.get(start)
        hidden = awaited = None
        if course.is_pushed and number is not None:
            awaited = Awaited(number, rows, end - start)
        elif course.history.length >= end or await course.reaches(end):
            hidden = self.history.between(start, end)
        else:
            return False
        wanted = max(end - max(course.start, start), 0)
        asked = wanted if wanted < end - start and self.part.server.record.is_ours else None
        piece = Piece(start, end, hidden, awaited, time.monotonic(), asked, end)
        await self._send(line, piece, number if course.pushes else self.links.number, course)
        return True

    async def _send(self, line: _Line, piece: Piece, push_number: int | None, course: Course | None = None) -> None:
        cursor, links, prompts = self.cursor, self.links, self.history.prompts
        request = StepRequest(
            piece.hidden,
            opening=None if line.rows else self.opening,
            prompts=prompts[: len(self.span)] if prompts is not None and piece.start == 0 else None,
            hypo_ids=cursor.order,
            start_from_position=piece.start,
            receipt=line.receipt,
            awaited=piece.awaited,
            push_number=push_number,
            push_to=links.untold.pop("push_to", None),
            pushed_by=links.untold.pop("pushed_by", None),
            answer_tokens=piece.answer_tokens,
            packed=self._packed(piece.hidden),
            is_spare=self.is_spare,
        )
        line.rows = line.rows or self.history.batch  # the first message is no announcement
        cursor.order = links.number = line.receipt = None
        cursor.flying.append(piece)  # first: the answer may come before the last byte has left
        self.was_given = True
        ahead = course if course is not None and course.in_flight > 1 else None
        if ahead is not None:
            ahead.wake()
        if piece.awaited is not None:
            with contextlib.suppress(RemoteError):  # the end of the stream is seen when the answer is read
                await line.stream.send(request, has_reader=True)
        else:
            await line.stream.send(request, has_reader=ahead is not None)

    async def _read(self, line: _Line, course: Course, piece: Piece) -> None:
        """Read the answer to the oldest piece, bring what the server before does not, and hand on the outputs."""
        cursor, hidden = self.cursor, piece.hidden
        if hidden is None:
            hidden = self.history.between(piece.start, piece.end)
        is_short = piece.start > 0 and piece.end - piece.start <= _SHORT_TOKENS and course.in_flight == 1
        on_late: Callable[[], Awaitable[None]] | None = None
        digest = b""
        if piece.awaited is not None:
            piece.sent_s = time.monotonic()
            if piece.start in course.pushed and not self.links.missed:
                on_late = partial(self._bring, line, piece.awaited, hidden)
                digest = digest_of(hidden)  # while the server computes
            else:
                await self._bring(line, piece.awaited, hidden, is_late=False)
        self.was_given = True
        answering = line.stream.answer(
            tuple(hidden.shape),
            lambda: self.pace.patience(self._calls.patience) if is_short else self._calls.patience,
            lambda: self._is_replaceable(self),
            on_late,
            answer_tokens=piece.answer_tokens,
        )
        race, self.race = self.race, None
        reply = await (answering if race is None else race(self, answering, self._opening_silence_s(hidden)))
        if reply is None:
            raise RemoteError(Code.UNREACHABLE, "the server closed the session")
        self._note(line, piece, reply, is_step=is_short and piece.end - piece.start == 1)
        if reply.input_digest is not None:
            self.report.pushed_steps += 1
            if reply.input_digest != (digest or digest_of(hidden)):
                raise PushDiffers
        cursor.flying.popleft()
        cursor.position = max(cursor.position, piece.kept)
        first = max(course.start, piece.start)
        if piece.kept > first:
            output = reply.hidden
            if output.shape[1] != piece.kept - first:  # slicing costs microseconds
                output = output[:, first - piece.end :][:, : piece.kept - first]
            if output.dtype is not hidden.dtype:
                output = output.to(hidden.dtype)
            if self.opening.packs and not self.speaks_packed:  # one of another implementation rounds nothing
                output = pack(output).values
            if course.take is None:
                course.outputs.append(output)
            else:
                course.take(first, output, reply.was_pushed)
        if course.in_flight > 1:
            course.wake()

    async def _bring(self, line: _Line, awaited: Awaited, hidden: Tensor, *, is_late: bool = True) -> None:
        """Send what was announced, because the server before did not, or is late."""
        self.links.missed |= is_late
        await line.stream.send(StepRequest(hidden, awaited=awaited, packed=self._packed(hidden)))

    def _packed(self, hidden: Tensor | None) -> tuple[Tensor | None, ...]:
        return (pack_exactly(hidden),) if hidden is not None and self.is_fed_rounded and self.speaks_packed else ()

    def _note(self, line: _Line, piece: Piece, reply: StepReply, *, is_step: bool) -> None:
        """Take down what an answer says of its server: load, links, work and times.

        Args:
            is_step: it was an ordinary decode step, whose time says how fast the server is.
        """
        began_s, now = max(piece.sent_s, line.used_s), time.monotonic()  # several may be in flight
        took_s, timing, tokens = now - began_s, reply.timing, piece.end - piece.start
        line.used_s = now
        self.links.can_push, self.links.was_pushed = reply.can_push, reply.was_pushed
        self.is_leaving = timing.is_leaving
        if is_step:
            self.pace.recent_s.append(took_s)
        if timing.is_leaving or (is_step and took_s > self.pace.slow_s):
            self.needs_another = True
        tab = line.tab
        if timing.tab is not None:
            tab.note(line.rows * tokens, timing)
        else:
            tab.tokens += line.rows * tokens
        unsigned = tab.tokens - tab.signed_tokens
        if tab.name is not None and (unsigned >= RECEIPT_TOKENS or now - tab.signed_at >= RECEIPT_S):
            line.receipt = tab.due() or line.receipt
        report = self.report
        report.steps += 1
        report.tokens += tokens
        report.wall_ms += 1000 * took_s
        report.queue_ms += timing.queue_ms
        report.compute_ms += timing.compute_ms

    def _opening_silence_s(self, hidden: Tensor) -> float:
        forward_tps = self.part.server.record.forward_tps
        compute_s = hidden.shape[0] * hidden.shape[1] * len(self.span) / max(forward_tps, 1.0)
        return opening_silence_s(self.part.cost_s, compute_s, hidden.nbytes)


def open_links(hops: Sequence[Hop], position: int, num_tokens: int) -> list[tuple[Hop, Hop]]:
    """Return the pairs between which the outputs of a step of `num_tokens`, all rows together, are pushed."""
    found = []
    for sender, receiver in pairwise(hops):
        out, into = sender.links, receiver.links
        is_open = out.receiver is into and out.can_push and not out.untold and not into.untold
        if is_open and sender.can_take_whole(position, num_tokens) and receiver.can_take_whole(position, num_tokens):
            found.append((sender, receiver))
    return found


def _largest_message(record: ServerRecord) -> int:
    """Return how many tokens, all rows together, a server takes in one message."""
    return min(record.max_batch_tokens, _MESSAGE_TOKENS)
