"""rpc_inference: one stream, one session.

Two tasks a stream: one reads messages into the session's inbox, so that a client that leaves is noticed while its step
waits or runs; the other does the steps and answers. Whichever ends first ends the session, and its cache is free.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace

from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply, StepRequest
from potluck.wire import decode_step, encode_step_reply
from potluck_daemon.engine.scheduler import Priority
from potluck_daemon.engine.serving import Serving
from potluck_daemon.engine.sessions import Session

log = logging.getLogger(__name__)


_CLOSING = StepRequest(hidden=None)
"""Also what the end of input means: stock servers fail there, but only by an accident of their implementation."""


class _PeerLeftError(Exception):
    """The connection to the client is gone, or the client does not read."""


@dataclass(frozen=True, slots=True)
class InferenceHandler:
    """Serves the streams of rpc_inference."""

    serving: Serving

    async def __call__(self, stream: Stream, peer: PeerId) -> None:
        """A StreamHandler. Raises RemoteError, which the host sends as an error frame."""
        limits = self.serving.limits
        try:
            async with asyncio.timeout(limits.session_timeout_s) as age:
                body = await stream.receive(timeout_s=limits.step_timeout_s)
                if body is None:
                    return
                request = await self._decode(body, first=True)
                session = self._open(request, peer)
                try:
                    await self._run(stream, session, request)
                finally:
                    self.serving.sessions.remove(session)
                    session.lease.release()
                    log.info("a session over blocks %s ended after %d tokens", session.span, session.position)
        except TimeoutError:  # silence ends a session silently, age does not
            if age.expired():
                raise RemoteError(Code.ROLLBACK, f"a session lasts {limits.session_timeout_s:g} s at most") from None

    def _open(self, request: StepRequest, peer: PeerId) -> Session:
        opening = request.opening
        if opening is None or request.hidden is None:
            raise RemoteError(Code.BAD_REQUEST, "the first message must open a session")
        self.serving.admission.check(opening.prefix, opening.span, opening.caller, peer)
        session = Session(
            session_id=opening.session_id,
            span=opening.span,
            batch=request.hidden.shape[0],
            max_length=opening.max_length,
            alloc_timeout_s=min(opening.alloc_timeout_s, self.serving.limits.alloc_timeout_s),
            lease=self.serving.budget.lease(),
        )
        self.serving.sessions.add(session)
        log.info("a session over blocks %s, %d rows", session.span, session.batch)
        return session

    async def _run(self, stream: Stream, session: Session, first: StepRequest) -> None:
        worker = asyncio.create_task(self._work(stream, session, first))
        reader = asyncio.create_task(self._read(stream, session))
        try:
            await asyncio.wait((worker, reader), return_when=asyncio.FIRST_COMPLETED)
            if reader.done() and not worker.done():
                reader.result()  # a closing message has no say in what the worker still has to do; all else raises
            await worker
        except _PeerLeftError:
            log.debug("the client of a session over blocks %s left", session.span)
        finally:
            for task in (worker, reader):
                task.cancel()
            await asyncio.gather(worker, reader, return_exceptions=True)

    async def _read(self, stream: Stream, session: Session) -> None:
        """Messages into the inbox, up to and including the closing one."""
        while True:
            try:
                body = await stream.receive()
            except RemoteError as error:
                raise _PeerLeftError from error
            request = _CLOSING if body is None else await self._decode(body, first=False)
            await session.inbox.put(replace(request, pushed=False) if request.pushed else request)
            if request.hidden is None:
                return

    async def _work(self, stream: Stream, session: Session, request: StepRequest) -> None:
        """Steps one after the other, until a closing message."""
        limits = self.serving.limits
        while request.hidden is not None:
            reply = await self._step(session, request)
            if reply is not None:
                await self._send(stream, reply)
            request = await session.inbox.get(timeout_s=limits.step_timeout_s)

    async def _step(self, session: Session, request: StepRequest) -> StepReply | None:
        """None: nothing to answer, because the step was done before, or was pushed and does not fit."""
        if session.is_duplicate(request):
            return None
        begin = time.monotonic()
        try:
            plan = session.plan(request)
        except RemoteError as error:
            if request.pushed:  # what another server sends cannot end the client's session
                log.debug("a pushed step was ignored: %s", error.message)
                return None
            raise
        serving = self.serving
        assert request.hidden is not None
        tokens = plan.end - plan.start
        await session.lease.resize(session.token_blocks(plan.end), timeout_s=session.alloc_timeout_s)
        computed = await serving.compute.run(
            Priority.INFERENCE,
            lambda: session.pieces(request, plan, serving.blocks, serving.limits.piece_tokens),
            tokens=session.batch * max(tokens, 1),
            timeout_s=serving.limits.request_timeout_s,
        )
        session.finish(request, plan)
        if tokens == 1:
            serving.meter.add((time.monotonic() - begin) * 1e3)
        timing = replace(
            computed.timing, cache_tokens_left=serving.budget.free_tokens, is_leaving=serving.admission.leaving
        )
        return StepReply(computed.value, timing)

    async def _send(self, stream: Stream, reply: StepReply) -> None:
        try:
            await stream.send(*encode_step_reply(reply), timeout_s=self.serving.limits.send_timeout_s)
        except (TimeoutError, RemoteError) as error:
            raise _PeerLeftError from error

    async def _decode(self, body: bytes, *, first: bool) -> StepRequest:
        limits = self.serving.wire_limits
        return await self.serving.offload(len(body), lambda: decode_step(body, limits=limits, first=first))
