"""Runs one server of one session: its stream, its cache as the client knows it, and the history of its inputs.

A hop sends its server whatever is in the history and not in the server's cache. That one rule covers normal steps,
prefill in pieces, rollback and the replay to a replacement server. The session chooses the servers. The server before
may push what this one lacks; the hop then announces the step, and sends the hidden states only if they do not come.
Several pieces of a long step are in flight at a time (`pieces.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from potluck.client.calls import Calls, StepStream, Target
from potluck.client.history import History
from potluck.client.openings import first_to_answer
from potluck.client.own_adapters import AdapterPart
from potluck.client.packing import speaks_packed
from potluck.client.pieces import Course, Inflow, is_long, piece_tokens
from potluck.client.receipts import Tab
from potluck.client.report import HopReport
from potluck.client.windows import Windows
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, SessionOpening, StepReply, StepRequest
from potluck.routing import Pace, RouteHop, opening_silence_s
from potluck.wire.packing import pack, pack_exactly
from potluck.wire.pushes import digest_of

_MESSAGE_TOKENS = 2048  # of a prompt at once, though servers take rows without a session whole
_SHORT_TOKENS = 32  # a decode step, with drafts; it takes a few times as long as one token at most
_IN_FLIGHT = 8  # pieces at a server that are not answered; more would only fill the buffers of the way there
_ANNOUNCED = 3  # of these, announced ones: a server reads four steps ahead, and must get to what the client brings
_IDLE_S = 60.0  # a stream that ends after a longer pause was idle, which is no failure


class _Sent(NamedTuple):
    """A piece at the server: tokens [start, end), sent or announced, when, and how many outputs were asked for."""

    start: int
    end: int
    awaited: Awaited | None
    sent_s: float
    answer_tokens: int | None


class PushDiffers(RemoteError):  # noqa: N818 (a difference)
    """The server computed with other values than the server before answered the client."""

    def __init__(self) -> None:
        super().__init__(Code.ROLLBACK, "the server before pushed other values than it answered")


class Overtaken(RemoteError):  # noqa: N818 (it is the success of others)
    """Other servers answered the opening of the session first; `rivals` have it open."""

    def __init__(self, rivals: list[Hop]) -> None:
        super().__init__(Code.BUSY, "another server answered the opening of the session first")
        self.rivals = rivals


OpenRivals = Callable[["Hop"], Awaitable["list[Hop] | None"]]
"""Opens the session of a late hop at other servers, and returns them when they have answered; None: nobody did."""


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
        self.peer_id = record.peer_id
        self.span = part.span
        self.pins = part.pins  # a replacement must compute exactly this
        self.history = history
        self.is_fed_rounded = is_fed_rounded
        self.speaks_packed = speaks_packed(record)
        self.windows = Windows()
        self.report = HopReport(record.peer_id, part.span, record.public_name, record.format)
        self.pace = Pace(part.cost_s)
        self.is_leaving = False  # by its last answer
        self.was_given = False  # the server got the step that failed
        self.is_spare = False  # it stands by for another server
        self.yields = False  # by its last answer, which says that it knows that
        self.open_rivals: OpenRivals | None = None  # asked at most once, if the first answer is late
        self._record = record
        self._calls = calls
        self._opening = opening
        self._is_replaceable = is_replaceable
        self._adapter = adapter  # the caller's own
        self._stream: StepStream | None = None
        self._is_opened = False  # the opening was sent on this stream
        self._cached = 0  # tokens of the history that the server has
        self._order: Tensor | None = None  # beam reorder that the server has yet to apply
        self._last_used_s = 0.0
        self._tab = Tab()  # what this stream costs
        self.awaits: PushLink | None = None  # what the server was told, or is told next, of who pushes to it
        self.pushes: PushLink | None = None  # likewise, of whom it pushes to
        self.can_push = False  # by its last answer
        self.was_pushed = False  # its last output, to the next server
        self.missed_push = False  # what it was to get from the server before did not come in time
        self._untold: set[str] = set()  # of the links
        self._push_number: int | None = None  # under which the next output is pushed
        self._announced: deque[_Sent] = deque()  # what was announced and not answered

    @property
    def opening(self) -> SessionOpening:
        """Return how the session at this server was or will be opened."""
        return self._opening

    async def open(self) -> None:
        """Open the stream if there is none. Raises RemoteError UNREACHABLE."""
        if self._stream is None:
            if self._adapter is not None:
                await self._calls.bring(self._record, Target(self._opening.prefix, self.span), self._adapter)
            self._stream = await self._calls.open_steps(self._record)
            self._last_used_s = time.monotonic()
            self._tab = self._calls.open_tab(self.part)

    def restart(self, prompts: Tensor | None) -> None:
        """Start again at position 0 in the same session at the server."""
        self.history = History(prompts)
        self.windows.truncate(0)
        self._cached = 0
        self._order = None

    def roll_back(self, position: int) -> None:
        """Forget the tokens from `position` on, here and, with the next step, at the server."""
        if position < self.history.length:
            self.history.truncate(position)
            self.windows.truncate(position)
            self._cached = min(self._cached, position)

    def reorder(self, order: Tensor) -> None:
        """Continue row `order[i]` as row i; another number of rows needs a new session at the server."""
        if self.history.length == 0:
            return
        is_same_size = self.history.batch == order.shape[0]
        self.history.reorder(order)
        self.windows.clear()
        if not is_same_size:
            self.abandon()
        elif self._cached:
            self._order = order if self._order is None else self._order.index_select(0, order)

    def enlarge(self, max_length: int) -> None:
        """Open a session of `max_length` tokens a row with the next `catch_up`, which replays the history."""
        self.abandon()
        self._opening = replace(self._opening, max_length=max_length, session_id=str(uuid.uuid4()))

    def link_from(self, link: PushLink) -> None:
        """Tell the server with the next message who pushes to it."""
        self.awaits = link
        self._untold.add("pushed_by")

    def link_to(self, link: PushLink) -> None:
        """Tell the server with the next message whom it pushes to."""
        self.pushes, self.can_push = link, False
        self._untold.add("push_to")

    @property
    def is_told(self) -> bool:
        """Tell whether the server knows its links."""
        return not self._untold

    def can_take_whole(self, position: int, num_tokens: int) -> bool:
        """Tell whether a step from `position` on needs one message and nothing before it, so that it may be pushed."""
        return self.continues_at(position) and num_tokens <= min(self._record.max_batch_tokens, _MESSAGE_TOKENS)

    def continues_at(self, position: int) -> bool:
        """Tell whether the server has exactly the tokens before `position`, so that the next ones may be pushed."""
        is_first_of_prompts = position == 0 and self.history.prompts is not None
        return self._is_opened and self._cached == position and self._order is None and not is_first_of_prompts

    def lacks_much(self, end: int, *, at_once: int) -> bool:
        """Tell whether the server lacks so many of the tokens before `end` that they should come in pieces.

        Args:
            at_once: the rows.
        """
        is_alone = self._opening.exact or not self._record.is_ours  # the former would be computed otherwise
        is_cut = bool(self._announced) and self._announced[0].end < end
        return is_cut or (not is_alone and is_long(end - self._cached, at_once))

    def largest_piece(self, rows: int) -> int:
        """Return how many tokens of each row the server takes at once."""
        return max(min(self._record.max_batch_tokens, _MESSAGE_TOKENS) // rows, 1)

    def lacking_from(self) -> int:
        """Return the position of the first token that the server lacks."""
        return self._cached

    def push_next(self, number: int) -> None:
        """Have the server push the output of the next step."""
        self._push_number = number

    async def announce(self, awaited: Awaited, position: int) -> None:
        """Tell the server that its next inputs come from the server before; `catch_up` waits for the answer."""
        sent = _Sent(position, position + awaited.tokens, awaited, time.monotonic(), None)
        await self._announce(sent, self._push_number)

    @property
    def is_announced(self) -> bool:
        """Tell whether a step was announced and not answered."""
        return bool(self._announced)

    async def catch_up(self, start: int, *, is_pushed: bool = False) -> Tensor:
        """Send the server what it lacks and return the outputs of tokens [start, history.length).

        Args:
            is_pushed: the server before has sent what was announced.

        Returns: [batch, history.length - start, hidden_size], in the dtype of the history.
        Raises:
            RemoteError: the session at this server is gone; the history is intact.
        """
        outputs: list[Tensor] = []
        end, rows = self.history.length, self.history.batch
        if self.lacks_much(end, at_once=rows):
            course = Course(start, end, rows, piece_tokens(end - self._cached, rows))
            await self.flow(course, Inflow(self.history, end), lambda _, output, __: outputs.append(output))
        else:
            async with self._attempt(start):
                outputs = await self._feed(start, is_pushed=is_pushed)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)

    async def flow(self, course: Course, inflow: Inflow, take: Callable[[int, Tensor, bool], None]) -> None:
        """Send the server what it lacks while it comes, in pieces of which several are in flight.

        Ends early, with the server as it is known here, if nothing more comes.

        Args:
            take: called with a position, the outputs of the tokens from there on, and whether they were pushed on.

        Raises: as `catch_up`.
        """
        async with self._attempt(course.start):
            sent: asyncio.Queue[_Sent | Exception | None] = asyncio.Queue()
            flying = _Flying(_ANNOUNCED if course.is_pushed else _IN_FLIGHT)
            sending = asyncio.create_task(self._send_pieces(course, inflow, flying, sent))
            try:
                await self._read_pieces(course, inflow, flying, sent, take)
                flying.stop()
                await sending
            finally:
                sending.cancel()

    def abandon(self) -> None:
        """Drop the stream without a message; the next `catch_up` replays the history."""
        if self._stream is not None:
            self._stream.drop()
            self._stream = None
            self._tab.close()
        self._is_opened = False
        self.windows.clear()  # the server computes all of it anew
        self._cached = 0
        self._order = None
        self.awaits = self.pushes = self._push_number = None
        self._announced.clear()
        self.can_push = self.was_pushed = False
        self._untold.clear()

    async def close(self) -> None:
        """End the session at the server, so that it frees the cache at once."""
        if self._stream is not None:
            self._tab.close()
            await self._stream.finish()
            self._stream = None

    @contextlib.asynccontextmanager
    async def _attempt(self, start: int) -> AsyncIterator[None]:
        """Open the stream, and drop it if the body fails, with what the server has of this session."""
        if self._cached > start:  # those outputs are gone: compute them again
            self.abandon()
        self.was_given = self.missed_push = False
        try:
            await self.open()
            yield
        except RemoteError as error:
            if error.code is Code.NO_ADAPTER and self._adapter is not None:
                self._calls.note_missing(self._record, self._adapter.id.digest)
            self.abandon()
            raise
        except BaseException:
            self.abandon()
            raise

    async def _feed(self, start: int, *, is_pushed: bool) -> list[Tensor]:
        """Send the rest of the history in pieces, and return the outputs for the tokens from `start` on."""
        outputs: list[Tensor] = []
        pieces = self._pieces(self.history.since(self._cached))
        for piece in pieces:
            if self._announced:
                reply = await self._collect(piece, self._announced[0], is_pushed=is_pushed)
                self._announced.popleft()
            else:
                push_number = self._push_number if len(pieces) == 1 else None
                asked = 1 if self.is_spare and piece.shape[1] > 1 else None  # nobody needs its outputs yet
                reply = await self._exchange(self._request(piece, self._cached, push_number, asked))
            self._is_opened = True
            self._order = self._push_number = None
            self._cached += piece.shape[1]
            wanted = min(self._cached - start, piece.shape[1])
            if wanted > 0:
                outputs.append(self._taken(reply.hidden[:, -wanted:], piece.dtype))
        return outputs

    def _taken(self, output: Tensor, dtype: torch.dtype) -> Tensor:
        """Return an output as the session goes on with it; rounded, even if an older server didn't do it."""
        output = output if output.dtype is dtype else output.to(dtype)
        return pack(output).values if self._opening.packs and not self.speaks_packed else output

    def _packed(self, piece: Tensor) -> Tensor | None:
        return pack_exactly(piece) if self.is_fed_rounded and self.speaks_packed else None

    async def _send_pieces(
        self, course: Course, inflow: Inflow, flying: _Flying, sent: asyncio.Queue[_Sent | Exception | None]
    ) -> None:
        """Send or announce piece after piece, and tell the reader of each."""
        position = self._cached
        try:
            for each in self._announced:  # of a flow that ended early
                flying.take_now()
                sent.put_nowait(each)
                position = each.end
            while position < course.end and await flying.take():
                tokens = self._limit(course.piece_tokens, course.rows, position)
                end = min(position + tokens, course.end)
                wanted = max(end - max(course.start, position), 0)
                asked = wanted if wanted < end - position else None
                number = course.numbers.get(position)
                push_number = number if course.pushes else None
                if course.is_pushed and number is not None:
                    awaited = Awaited(number, course.rows, end - position)
                    piece = _Sent(position, end, awaited, time.monotonic(), asked)
                    await self._announce(piece, push_number)
                elif await inflow.reaches(end):
                    piece = _Sent(position, end, None, time.monotonic(), asked)
                    request = self._request(self.history.between(position, end), position, push_number, asked)
                    self._is_opened, self._order = True, None
                    sent.put_nowait(piece)  # first: the answer may come before the last byte has left
                    await self._send(request, has_reader=True)
                else:
                    break
                if piece.awaited is not None:
                    sent.put_nowait(piece)
                position = end
            sent.put_nowait(None)
        except Exception as error:  # whatever it is, the reader must not wait
            sent.put_nowait(error)

    async def _read_pieces(
        self,
        course: Course,
        inflow: Inflow,
        flying: _Flying,
        sent: asyncio.Queue[_Sent | Exception | None],
        take: Callable[[int, Tensor, bool], None],
    ) -> None:
        """Read the answer to each piece in order; bring pieces that are not pushed."""
        while (piece := await sent.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            if not await inflow.reaches(piece.end):
                return  # it stays announced
            hidden = self.history.between(piece.start, piece.end)
            if piece.awaited is None:
                reply = await self._answer(hidden, piece.sent_s, answer_tokens=piece.answer_tokens, is_prompt=True)
            else:
                is_pushed = inflow.was_pushed(piece.start) and not self.missed_push
                reply = await self._collect(hidden, piece, is_pushed=is_pushed)
                self._announced.popleft()
            flying.land()
            self._cached = piece.end
            wanted = piece.end - max(course.start, piece.start)
            if wanted > 0:
                output = reply.hidden[:, -wanted:]
                take(piece.end - wanted, self._taken(output, hidden.dtype), reply.was_pushed)

    def _request(
        self, piece: Tensor, position: int, push_number: int | None, answer_tokens: int | None = None
    ) -> StepRequest:
        untold, self._untold = self._untold, set()
        return StepRequest(
            hidden=piece,
            opening=None if self._is_opened else self._opening,
            prompts=self.history.prompts if position == 0 else None,
            hypo_ids=self._order,
            start_from_position=position,
            receipt=self._tab.due(),
            push_number=push_number,
            push_to=self.pushes if "push_to" in untold else None,
            pushed_by=self.awaits if "pushed_by" in untold else None,
            answer_tokens=answer_tokens,
            is_spare=self.is_spare,
            packed=self._packed(piece),
        )

    async def _announce(self, piece: _Sent, push_number: int | None) -> None:
        assert self._stream is not None
        self._announced.append(piece)
        request = StepRequest(
            None,
            start_from_position=piece.start,
            receipt=self._tab.due(),
            awaited=piece.awaited,
            push_number=push_number,
            answer_tokens=piece.answer_tokens,
        )
        with contextlib.suppress(RemoteError):  # the end of the stream is seen when the answer is read
            await self._stream.send(request, has_reader=True)

    def _pieces(self, rest: Tensor) -> tuple[Tensor, ...]:
        """Cut `rest` into messages of a size that the server takes; deep prompts have to fit into the first."""
        first = self._limit(_MESSAGE_TOKENS, rest.shape[0], self._cached)
        if rest.shape[1] <= first:
            return (rest,)
        limit = self._limit(_MESSAGE_TOKENS, rest.shape[0], self._cached + first)
        return rest[:, :first], *torch.split(rest[:, first:], limit, dim=1)

    def _limit(self, wanted: int, rows: int, position: int) -> int:
        """Return how many tokens a row a message from `position` on may have; deep prompts have to fit into it."""
        limit = min(wanted, self.largest_piece(rows))
        return limit if position else max(limit, self.history.prompt_tokens)

    async def _exchange(self, request: StepRequest) -> StepReply:
        assert self._stream is not None
        assert request.hidden is not None
        began_s = time.monotonic()
        await self._send(request)
        is_prompt = request.opening is not None
        return await self._answer(request.hidden, began_s, is_prompt=is_prompt, answer_tokens=request.answer_tokens)

    async def _collect(self, piece: Tensor, announced: _Sent, *, is_pushed: bool) -> StepReply:
        """Wait for the answer of an announced step; bring its hidden states if the server before does not."""
        awaited = announced.awaited
        assert awaited is not None
        assert (awaited.rows, awaited.tokens) == piece.shape[:2]
        began_s = time.monotonic()

        async def bring() -> None:
            self.missed_push |= is_pushed
            await self._send(StepRequest(piece, awaited=awaited, packed=self._packed(piece)))

        if not is_pushed:
            await bring()
        on_late = bring if is_pushed else None
        reply = await self._answer(piece, began_s, on_late=on_late, answer_tokens=announced.answer_tokens)
        if reply.input_digest is not None:
            self.report.pushed_steps += 1
            if reply.input_digest != digest_of(piece):
                raise PushDiffers
        return reply

    async def _send(self, request: StepRequest, *, has_reader: bool = False) -> None:
        assert self._stream is not None
        self.was_given = True
        with self._forgiving_pauses():
            await self._stream.send(request, has_reader=has_reader)

    async def _answer(
        self,
        piece: Tensor,
        began_s: float,
        *,
        is_prompt: bool = False,
        on_late: Callable[[], Awaitable[None]] | None = None,
        answer_tokens: int | None = None,
    ) -> StepReply:
        assert self._stream is not None
        self.was_given = True
        is_short = not is_prompt and piece.shape[1] <= _SHORT_TOKENS
        patience = self.pace.patience(self._calls.patience) if is_short else self._calls.patience
        with self._forgiving_pauses():
            answering = self._stream.answer(
                tuple(piece.shape), patience, lambda: self._is_replaceable(self), on_late, answer_tokens=answer_tokens
            )
            open_rivals, self.open_rivals = self.open_rivals, None
            if open_rivals is None:
                reply = await answering
            else:
                late_s = self._opening_silence_s(piece)
                reply, rivals = await first_to_answer(answering, late_s, lambda: open_rivals(self))
                if rivals is not None:
                    raise Overtaken(rivals)
            if reply is None:
                raise RemoteError(Code.UNREACHABLE, "the server closed the session")
        began_s = max(began_s, self._last_used_s)  # several may be in flight
        self._last_used_s = time.monotonic()
        self.is_leaving = reply.timing.is_leaving
        self.can_push, self.was_pushed, self.yields = reply.can_push, reply.was_pushed, reply.yields
        batch, tokens = piece.shape[:2]
        self._tab.note(batch * tokens, reply.timing)
        if is_short and tokens == 1:
            self.pace.add(self._last_used_s - began_s)
        self.report.add(tokens=tokens, wall_ms=1000 * (self._last_used_s - began_s), timing=reply.timing)
        return reply

    def _opening_silence_s(self, piece: Tensor) -> float:
        compute_s = piece.shape[0] * piece.shape[1] * len(self.span) / max(self._record.forward_tps, 1.0)
        return opening_silence_s(self.part.cost_s, compute_s, piece.nbytes)

    @contextlib.contextmanager
    def _forgiving_pauses(self) -> Iterator[None]:
        """Take the loss of a stream that was idle for long for the end of a pause, which is no failure."""
        idle_s = time.monotonic() - self._last_used_s
        try:
            yield
        except RemoteError as error:
            if error.code is Code.UNREACHABLE and idle_s > _IDLE_S:
                raise RemoteError(Code.ROLLBACK, "the session was closed in a pause") from error
            raise


class _Flying:
    """Bounds the pieces that are in flight."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._is_stopped = False
        self._news = asyncio.Event()

    def take_now(self) -> None:
        """Count a piece that is in flight already."""
        self._room -= 1

    async def take(self) -> bool:
        """Wait for room for one more piece; return False if no more should be sent."""
        while self._room <= 0 and not self._is_stopped:
            self._news.clear()
            await self._news.wait()
        self._room -= 1
        return not self._is_stopped

    def land(self) -> None:
        self._room += 1
        self._news.set()

    def stop(self) -> None:
        self._is_stopped = True
        self._news.set()
