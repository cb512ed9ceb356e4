"""Runs one server of one session: its stream, its cache as the client knows it, and the history of its inputs.

A hop sends its server whatever is in the history and not in the server's cache. That one rule covers normal steps,
prefill in pieces, rollback and the replay to a replacement server. The session chooses the servers. The server before
may push what this one lacks; the hop then announces the step, and sends the hidden states only if they do not come.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from potluck.client.calls import Calls, StepStream
from potluck.client.history import History
from potluck.client.receipts import Tab
from potluck.client.report import HopReport
from potluck.client.windows import Windows
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, SessionOpening, StepReply, StepRequest
from potluck.routing import Pace, RouteHop
from potluck.wire.pushes import digest_of

_MESSAGE_TOKENS = 2048  # of a prompt at once, though servers take rows without a session whole
_SHORT_TOKENS = 32  # a decode step, with drafts; it takes a few times as long as one token at most
_IDLE_S = 60.0  # a stream that ends after a longer pause was idle, which is no failure


@dataclass(frozen=True, slots=True)
class Parked:
    """The part of a session that a leaving server keeps in case it comes back."""

    peer_id: PeerId
    span: Span
    session_id: str | None
    tokens: int

    def cut(self, tokens: int) -> Parked:
        """Return it without what comes after the first `tokens`."""
        return replace(self, tokens=min(self.tokens, tokens))


class PushDiffers(RemoteError):  # noqa: N818 (a difference)
    """The server computed with other values than the server before answered the client."""

    def __init__(self) -> None:
        super().__init__(Code.ROLLBACK, "the server before pushed other values than it answered")


class Hop:
    """Blocks `span` of a session at one server."""

    def __init__(
        self,
        calls: Calls,
        part: RouteHop,
        opening: SessionOpening,
        history: History,
        is_replaceable: Callable[[Hop], bool],
    ) -> None:
        record = part.server.record
        self.part = part
        self.peer_id = record.peer_id
        self.span = part.span
        self.pins = part.pins  # a replacement must compute exactly this
        self.history = history
        self.windows = Windows()
        self.report = HopReport(record.peer_id, part.span, record.public_name, record.format)
        self.pace = Pace(part.cost_s)
        self.is_leaving = False  # by its last answer
        self.was_given = False  # the server got the step that failed
        self.parked: Parked | None = None  # kept by a server that left
        self._record = record
        self._calls = calls
        self._opening = opening
        self._is_replaceable = is_replaceable
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
        self._awaited: Awaited | None = None  # of the step that was announced and not answered

    @property
    def opening(self) -> SessionOpening:
        """Return how the session at this server was or will be opened."""
        return self._opening

    async def open(self) -> None:
        """Open the stream if there is none. Raises RemoteError UNREACHABLE."""
        if self._stream is None:
            self._stream = await self._calls.open_steps(self._record)
            self._last_used_s = time.monotonic()
            self._tab = self._calls.signer.open_tab(self.peer_id, self.span)

    def restart(self, prompts: Tensor | None) -> None:
        """Start again at position 0 in the same session at the server."""
        self.history = History(prompts)
        self.windows.truncate(0)
        self._cached = 0
        self._order = None

    def resume(self, parked: Parked) -> None:
        """Continue with what the server kept, so that it only lacks the inputs since then."""
        self._opening = replace(self._opening, session_id=parked.session_id, resume=True)
        self._cached = parked.tokens

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
        is_first_of_prompts = position == 0 and self.history.prompts is not None
        is_ready = self._is_opened and self._cached == position and self._order is None and not is_first_of_prompts
        return is_ready and num_tokens <= min(self._record.max_batch_tokens, _MESSAGE_TOKENS)

    def push_next(self, number: int) -> None:
        """Have the server push the output of the next step."""
        self._push_number = number

    async def announce(self, awaited: Awaited, position: int) -> None:
        """Tell the server that its next inputs come from the server before; `catch_up` waits for the answer."""
        assert self._stream is not None
        self._awaited = awaited
        request = StepRequest(
            None,
            start_from_position=position,
            receipt=self._tab.due(),
            awaited=awaited,
            push_number=self._push_number,
        )
        with contextlib.suppress(RemoteError):  # the end of the stream is seen when the answer is read
            await self._stream.send(request)

    @property
    def is_announced(self) -> bool:
        """Tell whether a step was announced and not answered."""
        return self._awaited is not None

    async def catch_up(self, start: int, *, is_pushed: bool = False) -> Tensor:
        """Send the server what it lacks and return the outputs of tokens [start, history.length).

        Args:
            is_pushed: the server before has sent what was announced.

        Returns: [batch, history.length - start, hidden_size], in the dtype of the history.
        Raises:
            RemoteError: the session at this server is gone; the history is intact.
        """
        if self._cached > start:  # those outputs are gone: compute them again
            self.abandon()
        self.was_given = self.missed_push = False
        try:
            await self.open()
            outputs = await self._feed(start, is_pushed=is_pushed)
        except RemoteError as error:
            if error.code is Code.DRAINING and self._cached and self._order is None:
                self.parked = Parked(self.peer_id, self.span, self._opening.session_id, self._cached)
            self.abandon()
            raise
        except BaseException:
            self.abandon()
            raise
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)

    def abandon(self) -> None:
        """Drop the stream without a message; the next `catch_up` replays the history."""
        if self._stream is not None:
            self._stream.drop()
            self._stream = None
            self._tab.close()
        self._is_opened = False
        self._opening = replace(self._opening, resume=False)
        self._cached = 0
        self._order = None
        self.awaits = self.pushes = self._awaited = self._push_number = None
        self.can_push = self.was_pushed = False
        self._untold.clear()

    async def close(self) -> None:
        """End the session at the server, so that it frees the cache at once."""
        if self._stream is not None:
            self._tab.close()
            await self._stream.finish()
            self._stream = None

    async def _feed(self, start: int, *, is_pushed: bool) -> list[Tensor]:
        """Send the rest of the history in pieces, and return the outputs for the tokens from `start` on."""
        outputs: list[Tensor] = []
        pieces = self._pieces(self.history.since(self._cached))
        for piece in pieces:
            if self._awaited is not None:
                reply = await self._collect(piece, self._awaited, is_pushed=is_pushed)
            else:
                reply = await self._exchange(self._request(piece, is_only=len(pieces) == 1))
            self._is_opened = True
            self._order = self._awaited = self._push_number = None
            unwanted = max(start - self._cached, 0)
            self._cached += piece.shape[1]
            if self._cached > start:
                output = reply.hidden[:, unwanted:] if unwanted else reply.hidden
                outputs.append(output if output.dtype is piece.dtype else output.to(piece.dtype))
        return outputs

    def _request(self, piece: Tensor, *, is_only: bool) -> StepRequest:
        untold, self._untold = self._untold, set()
        return StepRequest(
            hidden=piece,
            opening=None if self._is_opened else self._opening,
            prompts=self.history.prompts if self._cached == 0 else None,
            hypo_ids=self._order,
            start_from_position=self._cached,
            receipt=self._tab.due(),
            push_number=self._push_number if is_only else None,
            push_to=self.pushes if "push_to" in untold else None,
            pushed_by=self.awaits if "pushed_by" in untold else None,
        )

    def _pieces(self, rest: Tensor) -> tuple[Tensor, ...]:
        """Cut `rest` into messages of a size that the server takes; deep prompts have to fit into the first."""
        limit = max(min(self._record.max_batch_tokens, _MESSAGE_TOKENS) // rest.shape[0], 1)
        first = limit if self._cached else max(limit, self.history.prompt_tokens)
        if rest.shape[1] <= first:
            return (rest,)
        return rest[:, :first], *torch.split(rest[:, first:], limit, dim=1)

    async def _exchange(self, request: StepRequest) -> StepReply:
        assert self._stream is not None
        assert request.hidden is not None
        began_s = time.monotonic()
        await self._send(request)
        return await self._answer(request.hidden, began_s, is_prompt=request.opening is not None)

    async def _collect(self, piece: Tensor, awaited: Awaited, *, is_pushed: bool) -> StepReply:
        """Wait for the answer of the announced step; bring its hidden states if the server before does not."""
        assert (awaited.rows, awaited.tokens) == piece.shape[:2]
        began_s = time.monotonic()

        async def bring() -> None:
            self.missed_push = is_pushed
            await self._send(StepRequest(piece, awaited=awaited))

        if not is_pushed:
            await bring()
        reply = await self._answer(piece, began_s, on_late=bring if is_pushed else None)
        if reply.input_digest is not None:
            self.report.pushed_steps += 1
            if reply.input_digest != digest_of(piece):
                raise PushDiffers
        return reply

    async def _send(self, request: StepRequest) -> None:
        assert self._stream is not None
        self.was_given = True
        with self._forgiving_pauses():
            await self._stream.send(request)

    async def _answer(
        self,
        piece: Tensor,
        began_s: float,
        *,
        is_prompt: bool = False,
        on_late: Callable[[], Awaitable[None]] | None = None,
    ) -> StepReply:
        assert self._stream is not None
        self.was_given = True
        is_short = not is_prompt and piece.shape[1] <= _SHORT_TOKENS
        patience = self.pace.patience(self._calls.patience) if is_short else self._calls.patience
        with self._forgiving_pauses():
            reply = await self._stream.answer(
                tuple(piece.shape), patience, lambda: self._is_replaceable(self), on_late=on_late
            )
            if reply is None:
                raise RemoteError(Code.UNREACHABLE, "the server closed the session")
        self._last_used_s = time.monotonic()
        self.is_leaving = reply.timing.is_leaving
        self.can_push, self.was_pushed = reply.can_push, reply.was_pushed
        batch, tokens = piece.shape[:2]
        self._tab.note(batch * tokens, reply.timing, held_tokens=batch * (self._cached + tokens))
        if is_short and tokens == 1:
            self.pace.add(self._last_used_s - began_s)
        self.report.add(tokens=tokens, wall_ms=1000 * (self._last_used_s - began_s), timing=reply.timing)
        return reply

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
