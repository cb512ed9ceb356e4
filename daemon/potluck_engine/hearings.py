"""Repeats windows that others accuse a server of, as low-priority work, and signs what was found.

An accuser brings the evidence itself. This server repeats the window in one prefill and in the steps that the accused
server took, and says whether it was wrong. Each accuser gets a few hearings a day, and one is under way at a time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor

from potluck.audit import WINDOW_TOKENS, Apart, Differences, difference, widest_limit
from potluck.audit.accusations import Finding, may_hear
from potluck.audit.evidence import charge_terms
from potluck.audit.limits import narrowest_limit
from potluck.audit.verdicts import judge_window
from potluck.errors import PotluckError
from potluck.membership.gate import MembersGate
from potluck.membership.membership import read_all
from potluck.membership.statements import Attestation, Charge, Statement, sign
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller
from potluck.wire.hearings import HearingJoiner, HearingRequest, encode_attestation
from potluck.wire.packing import pack
from potluck_engine.compute.call_scheduler import Priority
from potluck_engine.in_thread import in_thread_if_large
from potluck_engine.memory.session_memory import SessionMemory, SessionStep
from potluck_engine.span_state import SpanState

log = logging.getLogger(__name__)

_MAX_AGE_S = 86_400.0  # of what a server signed, when somebody is accused of it
_MAX_AHEAD_S = 300.0  # by which clocks may differ
_DAY_S = 86_400.0


class Hearings:
    """The hearings of one engine.

    Args:
        state: returns what is served now.
    """

    def __init__(self, state: Callable[[], SpanState], members: MembersGate) -> None:
        self._state = state
        self._members = members
        self._heard: defaultdict[PersonId, list[float]] = defaultdict(list)
        self._one_at_a_time = asyncio.Lock()

    async def hear(self, stream: Stream, peer: PeerId) -> None:
        """Answer one accuser. Raises RemoteError."""
        state = self._state()
        joiner = HearingJoiner(state.wire_limits)
        accuser = state.admission.person_of(peer)
        now_s = time.time()
        self._heard[accuser] = [at_s for at_s in self._heard[accuser] if now_s - at_s < _DAY_S]
        if self._one_at_a_time.locked() or not may_hear(self._heard[accuser], now_s):
            raise RemoteError(Code.BUSY, "this server repeats enough windows for now", retry_after_s=60.0)
        self._heard[accuser].append(now_s)
        async with self._one_at_a_time:
            async with asyncio.timeout(state.limits.request_timeout_s):
                while (frame := await stream.receive(silence_s=state.limits.opening_timeout_s)) is not None:
                    if joiner.add(frame):
                        break
            request = await in_thread_if_large(joiner.num_bytes, joiner.request)
            charge = self._charge(state, request, accuser)
            await asyncio.to_thread(_require_sound, charge, request)
            finding = await self._repeat(state, request, accuser)
        if finding is None:
            await stream.send(encode_attestation(b""))
            return
        log.info("a window of blocks %s of another server is %s", request.evidence.terms.span, finding)
        attestation = Attestation(charge.digest, finding is Finding.WRONG, int(time.time()))
        said = sign(self._members.roster.swarm_key, attestation, self._members.signing_key)
        self._members.publish([charge, said])
        await stream.send(encode_attestation(said.data))

    def _charge(self, state: SpanState, request: HearingRequest, accuser: PersonId) -> Statement:
        """Return the charge if it is in order and this server can judge it. Raises RemoteError."""
        evidence, roster = request.evidence, self._members.roster
        terms, form = evidence.terms, evidence.terms.format
        statement = next(iter(read_all(roster.swarm_key, [request.charge])), None)
        charge = None if statement is None else statement.content
        if statement is None or not isinstance(charge, Charge):
            raise RemoteError(Code.BAD_REQUEST, "this is not a charge")
        author, accused = roster.member_of_key(statement.authors[0]), roster.owner_of_key(charge.machine)
        judge = roster.member_of_key(self._members.signing_key.public_key().public_bytes_raw())
        if author is None or author.id != accuser or accused is None or judge is None:
            raise RemoteError(Code.BAD_REQUEST, "the charge is not the caller's, or not about a member's server")
        if judge.id in (author.id, accused.id):
            raise RemoteError(Code.NOT_SERVED, "nobody judges themselves")
        if (charge.blocks, charge.weights, charge.form) != charge_terms(evidence.terms):
            raise RemoteError(Code.BAD_REQUEST, "the charge names other blocks than its evidence")
        age_s = time.time() - evidence.commitment.at_s
        if not -_MAX_AHEAD_S < age_s < _MAX_AGE_S or abs(charge.at_s - time.time()) > _MAX_AGE_S:
            raise RemoteError(Code.BAD_REQUEST, "the evidence is too old")
        if terms.swarm != state.admission.swarm_id or form != state.format:
            raise RemoteError(Code.NOT_SERVED, "this server computes in another number format")
        caller = Caller(adapter=terms.adapter or None, revision_digest=terms.weights)
        state.admission.check(request.prefix, terms.span, caller)
        return statement

    async def _repeat(self, state: SpanState, request: HearingRequest, accuser: PersonId) -> Finding | None:
        terms, inputs = request.evidence.terms, request.inputs
        adapter = terms.adapter or None
        widest = widest_limit(state.format, has_experts=state.has_experts, packs=terms.packs)
        if widest is None:
            return None

        blocks = state.call_blocks
        with state.sessions.calling(terms.span):
            computed = await state.calls.run(
                Priority.FORWARD,
                lambda: blocks.adapted(adapter, blocks.forward(terms.span, inputs, None)),
                client=accuser,
                tokens=inputs.shape[1],
                timeout_s=state.limits.request_timeout_s,
            )
            steps = await _in_steps(state, request, accuser)
        if terms.packs:  # the accused server's steps were rounded, too
            steps = pack(steps).values
        prefill = computed.value[0, -WINDOW_TOKENS:]
        narrowest = narrowest_limit(state.format, widest)
        return await asyncio.to_thread(_compare, request.outputs[0], prefill, steps, narrowest, widest)


def _require_sound(statement: Statement, request: HearingRequest) -> None:
    """Raise RemoteError unless the charge is about this evidence, and the accused server signed it."""
    charge, evidence = statement.content, request.evidence
    if not isinstance(charge, Charge) or charge.evidence != evidence.digest:
        raise RemoteError(Code.BAD_REQUEST, "the charge is not about this evidence")
    if not evidence.is_sound(charge.machine):
        raise RemoteError(Code.BAD_REQUEST, "the accused server did not sign this window")


def _compare(claimed: Tensor, prefill: Tensor, steps: Tensor, narrowest: float, widest: Apart) -> Finding | None:
    claim, whole, stepped = (each.float().numpy() for each in (claimed, prefill, steps))
    apart, honest = difference(claim, whole), difference(stepped, whole)
    found = Differences(claims=apart, steps=difference(claim, stepped), prefills=apart, honest=honest)
    return judge_window(found, narrowest, widest)


async def _in_steps(state: SpanState, request: HearingRequest, accuser: PersonId) -> Tensor:
    """Return the window [WINDOW_TOKENS, hidden_size] as a session computes it in these steps. Raises RemoteError."""
    terms, inputs = request.evidence.terms, request.inputs
    memory = SessionMemory(
        client=PeerId(""),
        person=accuser,
        span=terms.span,
        rows=1,
        is_alone=terms.is_exact or not state.is_ragged,
        adapter=terms.adapter or None,
    )
    position, outputs = 0, []
    begin = inputs.shape[1] - WINDOW_TOKENS
    try:
        for tokens in ((begin,) if begin else ()) + request.evidence.pieces:
            output = await _step(state, memory, inputs[:, position : position + tokens], position)
            outputs.append(output)
            position += tokens
    finally:
        state.compute.close(memory, None)
    return torch.cat(outputs[1:] if begin else outputs, dim=1)[0]


async def _step(state: SpanState, memory: SessionMemory, hidden: Tensor, start: int) -> Tensor:
    done: asyncio.Future[Tensor] = asyncio.get_running_loop().create_future()

    def settle(step: SessionStep, error: PotluckError | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(step.result())
        else:
            done.set_exception(error if isinstance(error, RemoteError) else RemoteError(Code.INTERNAL, error.message))

    now, timeout_s = time.monotonic(), state.limits.request_timeout_s
    state.compute.submit(
        SessionStep(
            session=memory,
            client=memory.person,
            rows=1,
            tokens=hidden.shape[1],
            submitted_at=now,
            deadline=now + timeout_s + state.limits.alloc_timeout_s,
            is_alone=memory.is_alone,
            memory=memory,
            alloc_deadline=now + state.limits.alloc_timeout_s,
            start=start,
            hidden=hidden,
            prompts=None,
            order=None,
            on_done=settle,
        )
    )
    return await done
