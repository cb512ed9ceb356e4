"""Registers everything that an engine answers, and answers stateless calls.

Handlers decode, check whether the peer may ask for that, pass work to the step loop, and encode. They raise
RemoteErrors, which the host sends. Any other error is a fault of ours, which the host logs and answers as INTERNAL.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from msgspec.structs import replace
from torch import Tensor

from potluck.blocks.accelerators import trim_heap
from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache.pages import PAGE_TOKENS, pages_of
from potluck.blocks.span.expert_choices import NO_EXPERT, GivenChoices
from potluck.membership.records import Report
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    BackwardRequest,
    Caller,
    Choices,
    ChoicesRequest,
    ForwardRequest,
    Quote,
    ServerInfo,
    Settlement,
    TensorReply,
    Timing,
)
from potluck.wire import protocols, sessions
from potluck.wire.calls import CallCoding, CallRequest, RequestJoiner, UploadJoiner, decode_quote_request
from potluck.wire.message import ACCEPTED, MAX_FIELD_BYTES, PART_BYTES, Limits, PartJoiner, decode_request, encode
from potluck.wire.packing import can_pack, pack, pack_gradient
from potluck.wire.tensors import encode_tensors
from potluck_engine.compute.loaded_blocks import BACKWARD_COST
from potluck_engine.compute.passes import KEEP_S, CallInputs, Gradients, PassKey
from potluck_engine.compute.steps import Call
from potluck_engine.memory.private_adapters import HeldAdapter
from potluck_engine.serving.admission import StreamBudget, in_thread_if_large
from potluck_engine.serving.audits import FormatOf, Rechecks
from potluck_engine.serving.pushing import Pushes, receive_pushes
from potluck_engine.serving.service import Service
from potluck_engine.serving.session_stream import serve_session

if TYPE_CHECKING:  # loaded in open swarms only
    from potluck.petals.adapter import PetalsPeers

T = TypeVar("T")

_TRIM_AFTER_S = 5.0
_COMING_SHARE = 0.25  # the share of quoted rows to expect: clients ask along several routes and choose one
_MAX_LARGE_CALLS = 16  # concurrent calls of several frames; each may hold a whole message


@dataclass(slots=True)
class Handlers:
    """The handlers of one engine. They implement `potluck.petals.server.EngineCalls`."""

    state: Service
    host: Host
    version: str
    foreign: PetalsPeers | None
    format_of: FormatOf
    on_confirmed: Callable[[Report], None]
    _large_calls: int = field(default=0, init=False)
    _will_trim: bool = field(default=False, init=False)
    _pushes: Pushes = field(init=False)
    _rechecks: Rechecks = field(init=False)
    _rounding: torch.Generator = field(default_factory=torch.Generator, init=False)

    def __post_init__(self) -> None:
        self._pushes = Pushes(self.host, self.limits, self.state.limits.opening_timeout_s)
        self._rechecks = Rechecks(self.host, self._compute_for_leader, self.format_of, self.on_confirmed)
        self._rounding.seed()

    async def register(self) -> None:
        """Register all handlers with the host."""
        host = self.host
        for protocol, call in (
            (protocols.QUOTE, self.quote),
            (protocols.SETTLE, self.settle),
            (protocols.CHOICES, self.choices),
        ):
            await host.serve_unary(protocol, call)
        whole, part = self.limits.max_frame_bytes, PART_BYTES + MAX_FIELD_BYTES
        for protocol, stream_call, max_frame_bytes in (
            (protocols.SESSION, partial(self.serve_session, coding=sessions), whole),
            (protocols.PUSH, partial(receive_pushes, self._pushes), whole),
            (protocols.FORWARD, partial(self._answer, ForwardRequest), part),
            (protocols.BACKWARD, partial(self._answer, BackwardRequest), part),
            (protocols.ADAPTER, self.receive_adapter, part),
        ):
            await host.serve_stream(protocol, stream_call, max_frame_bytes=max_frame_bytes)
        if self.foreign is not None:
            await self.foreign.serve(host, self)

    async def _answer(self, kind: type[ForwardRequest | BackwardRequest], stream: Stream, peer: PeerId) -> None:
        await self.answer_call(stream, peer, RequestJoiner(kind, self.limits))

    async def receive_adapter(self, stream: Stream, peer: PeerId) -> None:
        """Receive a private adapter for later calls of this peer's person. Raises RemoteError."""
        state = self.state
        joiner = UploadJoiner(self.limits, max_bytes=state.private.largest_bytes)
        with ExitStack() as stack:
            held: list[HeldAdapter] = []

            async def begin() -> None:
                prefix, span, caller, layout = joiner.start()
                state.admission.check(prefix, span, caller)
                state.blocks.whole.check(layout)
                assert caller.private is not None
                person = state.admission.person_of(peer)
                reserving = state.private.reserving(person, caller.private.digest, span, joiner.num_bytes)
                held.append(stack.enter_context(reserving))

            async with self._received(stream, joiner, begin):
                upload = await self.in_thread_if_large(joiner.num_bytes, joiner.upload)
                state.admission.check_open()  # refuses if the device was given back meanwhile
                held[0].adapter = PrivateAdapter(upload.layout, upload.values.to(state.blocks.whole.device))
                await stream.send(ACCEPTED)

    async def quote(self, body: bytes, peer: PeerId) -> bytes:
        """Answer what a session would cost here now. Raises RemoteError, as its opening would.

        Nothing is computed. Memory is reserved for two seconds, so that the quote still holds when the client comes.
        Quoted rows count as load for the next client that asks, so that clients that ask at the same time do not all
        choose the same server.
        """
        request, state, now = decode_quote_request(body, limits=self.limits), self.state, time.monotonic()
        state.admission.check(request.prefix, request.span, request.caller)
        paging, load = state.stage.paging, state.load(now)
        reservations, per_page = paging.admission.reservations, paging.pages_per_token_page
        expected_rows, others, free = reservations.rows(now), reservations.pages(now), state.compute.page_counts.free
        pages = reservations.reserve(
            state.admission.person_of(peer),
            pages=request.rows * pages_of(request.tokens) * per_page,
            rows=request.rows,
            free=free,
            now=now,
        )
        return encode(
            Quote(
                batch=load.batch + math.ceil(_COMING_SHARE * expected_rows),
                step_ms=load.step_ms,
                queue_ms=load.queue_ms,
                free_tokens=max(free - others, 0) * PAGE_TOKENS // per_page,
                reserved_tokens=pages * PAGE_TOKENS // per_page,
            )
        )

    async def settle(self, body: bytes, peer: PeerId) -> bytes:
        """Accept the last receipt of a session or of some calls, which no later request can carry."""
        self.state.tabs.settle(peer, decode_request(body, Settlement).receipt)
        return b""

    async def choices(self, body: bytes, peer: PeerId) -> bytes:
        """Answer a session's client which experts were chosen in it."""
        request = decode_request(body, ChoicesRequest)
        experts = self.state.choices.choices_of(peer, request.session_id, request.row, request.tokens)
        return b"".join(encode_tensors(Choices(experts)))

    # -- also used by adapters for foreign peers -----------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        return self.state.wire_limits

    @property
    def span(self) -> Span:
        return self.state.blocks.span

    def describe(self) -> ServerInfo:
        state = self.state
        return ServerInfo(
            version=self.version,
            free_tokens=state.compute.free_tokens,
            hidden_size=state.blocks.hidden_size,
            dtype=str(state.blocks.dtype).removeprefix("torch."),
        )

    def check_served(self, prefix: str, span: Span) -> None:
        self.state.admission.check_served(prefix, span)

    async def serve_session(self, stream: Stream, peer: PeerId, coding: sessions.SessionCoding) -> None:
        try:
            await serve_session(self.state, self._pushes, stream, peer, coding)
        finally:
            self._trim_later()

    async def in_thread_if_large(self, num_bytes: int, code: Callable[[], T]) -> T:
        return await in_thread_if_large(num_bytes, code)

    async def answer_call(self, stream: Stream, peer: PeerId, coding: CallCoding) -> None:
        """Read one stateless call, compute it, and send the answer. Raises RemoteError."""
        budget = StreamBudget(self.state.admission.budgets, peer)

        async def begin() -> None:
            self.state.admission.check(*coding.target())
            await budget.reserve(coding.num_bytes, timeout_s=self.state.limits.request_timeout_s)

        with closing(budget):
            async with self._received(stream, coding, begin):
                request = await self.in_thread_if_large(coding.num_bytes, coding.request)
                reply = await self.compute(request, peer)
                for pieces in coding.encode_reply(reply):
                    await stream.send(*pieces)

    @asynccontextmanager
    async def _received(
        self, stream: Stream, parts: PartJoiner | CallCoding, begin: Callable[[], Awaitable[None]]
    ) -> AsyncIterator[None]:
        """Read a request of one or several frames; the body answers it. Raises RemoteError.

        Args:
            begin: checks what the first frame says and reserves room, before a stranger makes us keep the rest.
        """
        limits, is_first, is_large = self.state.limits, True, False
        try:
            async with asyncio.timeout(limits.request_timeout_s):
                while (frame := await stream.receive(silence_s=limits.opening_timeout_s)) is not None:
                    is_whole = parts.add(frame)
                    if is_first:
                        await begin()
                        is_first = False
                    if is_whole:
                        break
                    if not is_large:
                        self._begin_large_call()
                        is_large = True
            yield
        except TimeoutError:
            raise RemoteError(Code.BAD_REQUEST, "the stream stood still for too long") from None
        finally:
            if is_large:
                self._trim_later()
            self._large_calls -= is_large

    async def compute(self, request: CallRequest, peer: PeerId) -> TensorReply:
        """Compute a stateless call. Raises RemoteError."""
        state = self.state
        adapter = state.admission.check(request.prefix, request.span, request.caller)
        batch, tokens = request.hidden.shape[:2]
        if tokens == 0:
            raise RemoteError(Code.BAD_REQUEST, "hidden states of no tokens")
        if isinstance(request, ForwardRequest) and request.report:
            here = Caller(adapter, state.admission.digest_of(request.span))
            self._rechecks.receive(replace(request, caller=here), peer, state.format)
        person = state.admission.person_of(peer)
        tab = state.tabs.tab_of_calls(peer, request.span, request.caller.receipt)
        with (
            state.private.using(person, request.caller.private, request.span) as private,
            state.sessions.calling(request.span),
        ):
            inputs = CallInputs(request.span, request.hidden, request.prompts, private, self._given(request))
            call = self._call_of(request, inputs, person, adapter)
            result: Tensor | Gradients = await state.compute.call(call)
        queued_s = time.monotonic() - call.submitted_at - call.compute_s
        timing = Timing(max(queued_s, 0.0) * 1e3, call.compute_s * 1e3, cache_tokens_left=state.compute.free_tokens)
        for counts in (state.compute.counts, tab):
            if call.is_backward:
                counts.backward_tokens += batch * tokens
            else:
                counts.forward_tokens += batch * tokens
        if not tab.seq:  # nothing is signed yet, and an answer with the name may have been lost
            timing = replace(timing, tab=tab.name or None)
        found = result if isinstance(result, Gradients) else Gradients(result)
        hidden, packed = found.hidden, None
        if isinstance(request, ForwardRequest) and request.last_tokens is not None:
            hidden = hidden[:, tokens - request.last_tokens :].contiguous()
        if request.packs and can_pack(request.hidden.shape[-1]):
            packing = partial(pack_gradient, hidden, self._rounding) if call.is_backward else partial(pack, hidden)
            hidden, packed = await in_thread_if_large(hidden.nbytes, packing)
        tensors = (hidden,) if found.prompts is None else (hidden, found.prompts)
        gap = None if inputs.given is None else inputs.given.gap
        return TensorReply(tensors, timing, found.adapter, (packed,), gap)

    async def _compute_for_leader(self, request: ForwardRequest) -> Tensor:
        return (await self.compute(request, self.host.peer_id)).tensors[0]

    def _given(self, request: CallRequest) -> GivenChoices | None:
        """Return the experts that a request prescribes. Raises RemoteError if these blocks cannot choose them."""
        if not isinstance(request, ForwardRequest) or request.choices is None:
            return None
        whole, span = self.state.blocks.whole, request.span
        if not whole.repeats_choices:
            raise RemoteError(Code.NOT_SERVED, "this server repeats no choices of experts")
        tokens, layers, choices = request.choices.shape
        if layers == len(span):
            placed = request.choices.new_full((tokens, len(whole.span), choices), NO_EXPERT)
            first = span.start - whole.span.start
            placed[:, first : first + layers] = request.choices
            if whole.routers.accept(placed):
                return GivenChoices(request.choices, request.margin)
        raise RemoteError(Code.BAD_REQUEST, "these blocks have no such experts to choose")

    def _call_of(self, request: CallRequest, inputs: CallInputs, person: PersonId, adapter: str | None) -> Call:
        blocks, span, named = self.state.call_blocks, request.span, request.caller.private
        key = PassKey(person, span, adapter, None if named is None else named.digest)
        pieces: Generator[int, None, Any]
        if isinstance(request, BackwardRequest):
            cost, pieces = BACKWARD_COST, blocks.backward(inputs, request.grad, key)
        else:
            cost, pieces = 1, blocks.forward(inputs, key if request.is_trained else None)
            if request.is_trained:
                asyncio.get_running_loop().call_later(KEEP_S + 1, blocks.kept.forget_old)
        batch, tokens = request.hidden.shape[:2]
        now = time.monotonic()
        return Call(
            None,
            person,
            rows=1,
            tokens=math.ceil(cost * batch * tokens * len(span) / len(blocks.span)),
            submitted_at=now,
            deadline=now + self.state.limits.request_timeout_s,
            pieces=blocks.adapted(adapter, pieces),
            is_backward=cost > 1,
        )

    def _trim_later(self) -> None:
        """Return memory to the system some seconds after a session; glibc would keep 200 MB and more."""
        if not self._will_trim:
            self._will_trim = True
            asyncio.get_running_loop().call_later(_TRIM_AFTER_S, self._trim)

    def _trim(self) -> None:
        self._will_trim = False
        asyncio.get_running_loop().run_in_executor(None, trim_heap)

    def _begin_large_call(self) -> None:
        if self._large_calls >= _MAX_LARGE_CALLS:
            raise RemoteError(Code.BUSY, f"{_MAX_LARGE_CALLS} large calls are being served", retry_after_s=1.0)
        self._large_calls += 1
