"""Random interleavings of what sessions go through, with the step loops of two servers turned by hand.

Clients of a chain of two servers, or of the first one alone, send steps, several in flight, roll back, reorder, push,
leave, close and come back with a replay, while pages are few, so that steps wait and sessions are spilled, and servers
now and then end all sessions, as before an offload. Whatever is answered is compared with a session alone, and whatever
is held after the last session ended is counted. All choices follow from a seed, time is made up, and no thread runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random
from types import SimpleNamespace

import torch
from helpers.engine_peers import HIDDEN, SWARM, load
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.threads import Threads
from potluck_engine.serving import admission, session_stream
from potluck_engine.serving.handlers import Handlers
from potluck_engine.serving.pushing import receive_pushes
from potluck_engine.serving.service import Service
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, SessionOpening, StepRequest
from potluck.wire import protocols, sessions

SPANS = (Span(0, 1), Span(1, 2))
_TOLERANCE = 1e-4  # of numbers summed in another order, relative to the largest
_MAX_TOKENS = 72  # of a row
_STALLED = 30_000  # rounds of the world in which no client hears anything
_LATE = 150  # rounds after which a client brings what should have been pushed
_REFUSALS = {Code.DRAINING, Code.BUSY, Code.NO_MEMORY, Code.ROLLBACK, Code.UNREACHABLE}
_DRAINING = RemoteError(Code.DRAINING, "this server comes back in a moment")


@dataclass(slots=True)
class Outcome:
    """What one interleaving came to; `faults` says what differed or was left."""

    faults: list[str] = field(default_factory=list)
    answers: int = 0
    met: Counter[str] = field(default_factory=Counter)  # what happened, by kind


@cache
def _blocks(span: Span) -> BlockSpan:
    return load(span)


@cache
def _alone(span: Span) -> BlockSpan:
    return load(span)


def _expected(span: Span, inputs: Tensor) -> Tensor:
    blocks = _alone(span)
    with torch.inference_mode():
        return blocks.forward(inputs, blocks.new_cache())


class _Server:
    """Handlers of one span whose step loop the world turns."""

    def __init__(self, world: World, span: Span, folder: Path) -> None:
        rng = world.rng
        limits = ServingLimits(
            cache_tokens=16 * rng.randint(5, 10),
            piece_tokens=rng.choice((8, 16, 64)),
            max_sessions=rng.choice((3, 64)),
        )
        self.world = world
        self.span = span
        self.host = world.network.start()
        threads = Threads.of(limits, threads=1, clock=world.clock)  # not started: the world turns the loop
        self.serving = Service(_blocks(span), SWARM, limits, threads, spill_folder=folder)
        self.handlers = Handlers(self.serving, self.host, "0", None, _no_format, lambda _: None)

    async def start(self) -> None:
        performing = asyncio.create_task(self.serving.compute.serve(self.serving.stage))
        while not performing.done():
            self.turn()
            await asyncio.sleep(0)
        session = partial(self.handlers.serve_session, coding=sessions)
        pushes = partial(receive_pushes, self.handlers._pushes)
        await self.host.serve_stream(protocols.SESSION, session, max_frame_bytes=1 << 24)
        await self.host.serve_stream(protocols.PUSH, pushes, max_frame_bytes=1 << 24)

    def turn(self) -> None:
        self.serving.compute.turn(self.world.clock())

    async def offload(self) -> None:
        """End all sessions, as before the weights are freed; clients come back later."""
        self.serving.admission.leaving = True
        await self.serving.sessions.end_all(_DRAINING, timeout_s=600.0)
        self.serving.admission.leaving = False

    def left(self) -> list[str]:
        """Say what is held though no session is open."""
        serving, paging = self.serving, self.serving.stage.paging
        paging.drop_prefixes()
        budgets = serving.admission.budgets
        held = {
            "sessions": len(serving.sessions),
            "holders of pages": len(paging.admission.holders),
            "requests for pages": paging.admission.num_waiting,
            "pages": paging.admission.num_pages - paging.free_pages,
            "spilled bytes": 0 if paging._spills is None else paging._spills.held_bytes,
            "queued steps": serving.compute.queued_steps,
            "expected pushes": len(self.handlers._pushes.expected),
            "streams": len(self.host._streams),
            "tasks": len(self.host._tasks),
            "bytes in the room": sum(account.work_bytes for account in budgets._persons.values()),
        }
        return [f"{number} {what} are left at blocks {self.span}" for what, number in held.items() if number]


async def _no_format(_: object) -> None:
    return None


_Plan = list[tuple[int, Awaited | None]]
"""Where a step starts at each server, and what that awaits."""


@dataclass(slots=True, eq=False)
class _Hop:
    """A client's session at one server; no stream: it has to be opened."""

    server: _Server
    stream: Stream | None = None
    cached: int = 0
    order: Tensor | None = None  # that the server has yet to apply
    links: dict[str, PushLink] = field(default_factory=dict)  # to be told with the next message

    def roll_back(self, tokens: int) -> None:
        self.cached = min(self.cached, tokens)


class _Client:
    """One session after the other of one person, through one server or both."""

    def __init__(self, world: World, host: FakeHost) -> None:
        self.world = world
        self.rng = Random(world.rng.random())
        self.host = host
        self.hops: list[_Hop] = []

    async def run(self) -> None:
        for _ in range(self.rng.choice((1, 1, 2))):
            self._begin()
            for _ in range(self.rng.randint(1, 4)):
                try:
                    await self._steps()
                except RemoteError as error:
                    self._refused(error)
                if self.rng.random() < 0.15:
                    await self._drop("left between steps")
            await self._close()

    def _begin(self) -> None:
        rng = self.rng
        self.rows = rng.choice((1, 1, 2, 3))
        self.is_spare = rng.random() < 0.15
        self.history = torch.empty(self.rows, 0, HIDDEN)
        num_hops = rng.choice((1, 2))
        self.hops = [_Hop(server) for server in self.world.servers[:num_hops]]
        self.is_exact = num_hops == 1 and rng.random() < 0.15
        self.alloc_timeout_s = rng.choice((0.0, 100.0, 100.0))

    async def _steps(self) -> None:
        """Send steps, several in flight if they can be, and compare their answers. Raises RemoteError."""
        rng = self.rng
        if rng.random() < 0.3:
            self.is_spare = False
        is_pushed = len(self.hops) == 2 and rng.random() < 0.6
        wanted = rng.randint(1, 3) if len(self.hops) == 1 or is_pushed else 1
        sent = []
        for _ in range(wanted):
            self._change(may_reorder=not is_pushed)
            sent.append(await self._send(is_pushed=is_pushed))
            await self.world.pause(rng.randint(0, 6))
            if rng.random() < 0.04:
                await self._drop("left in a step")
                return
            if len(self.hops) == 2 and sent[-1][1][1][1] is None:  # the second server gets its inputs from the client
                break
        for index, each in enumerate(sent):
            await self._collect(*each, [plan for _, plan in sent[index + 1 :]])
        if rng.random() < 0.3:
            await self.world.pause(rng.randint(0, 60))

    def _change(self, *, may_reorder: bool) -> None:
        """Roll back, reorder and append, in this order, as a step of beam search or after rejected drafts does."""
        rng, length = self.rng, self.history.shape[1]
        if length and rng.random() < 0.3:
            length = rng.randint(0, length)
            self.history = self.history[:, :length]
            for hop in self.hops:
                hop.roll_back(length)
        if length and self.rows > 1 and may_reorder and rng.random() < 0.6:
            order = torch.tensor([rng.randrange(self.rows) for _ in range(self.rows)])
            self.history = self.history[order]
            for hop in self.hops:
                hop.order = None if not hop.cached else order if hop.order is None else hop.order[order]
        tokens = rng.choice((1, 1, 1, 2, 5, 16, 33, 40))
        if length == 0 and rng.random() < 0.5:  # a beginning that others may have, too
            new = self.world.beginnings[: self.rows, : max(tokens, 16)]
        else:
            new = torch.randn(self.rows, tokens, HIDDEN, generator=self.world.numbers)
        if length + new.shape[1] > _MAX_TOKENS:
            self.history = self.history[:, :0]
            for hop in self.hops:
                hop.roll_back(0)
                hop.order = None
        self.history = torch.cat([self.history, new], dim=1)

    async def _send(self, *, is_pushed: bool) -> tuple[Tensor, _Plan]:
        """Send what the first server lacks, and announce or send it to the second one."""
        self.world.met["steps"] += 1
        end, plan = self.history.shape[1], _Plan()
        if len(self.hops) == 2 and any(hop.stream is None for hop in self.hops) and self.rng.random() < 0.8:
            self._link()
        number = None
        if is_pushed:
            self.world.numbered += 1
            number = self.world.numbered
        first, *others = self.hops
        is_announced = is_pushed and self.rng.random() < 0.9 and all(hop.stream and hop.order is None for hop in others)
        is_announced = is_announced and all(hop.cached == first.cached for hop in others)
        awaited = Awaited(number or 0, self.rows, end - first.cached) if is_announced else None
        for hop in others:
            plan.append((hop.cached, awaited))
            if awaited is not None:
                await self._say(hop, StepRequest(None, start_from_position=hop.cached, awaited=awaited))
                hop.cached = end
        start = first.cached
        await self._say(first, self._request(first, self.history[:, start:], number))
        return self.history, [(start, None), *plan]

    def _link(self) -> None:
        secret = self.rng.randbytes(16)
        first, second = self.hops
        first.links["push_to"] = PushLink(second.server.host.peer_id, secret)
        second.links["pushed_by"] = PushLink(first.server.host.peer_id, secret)

    def _request(self, hop: _Hop, hidden: Tensor, number: int | None = None) -> StepRequest:
        opening = None
        if hop.stream is None:
            opening = SessionOpening(
                "golden", hop.server.span, 256, alloc_timeout_s=self.alloc_timeout_s, exact=self.is_exact
            )
        links, hop.links = hop.links, {}
        order, hop.order = hop.order, None
        request = StepRequest(
            hidden,
            opening,
            hypo_ids=order if hop.cached else None,
            start_from_position=hop.cached,
            push_number=number,
            is_spare=self.is_spare,
            push_to=links.get("push_to"),
            pushed_by=links.get("pushed_by"),
        )
        hop.cached += hidden.shape[1]
        return request

    async def _say(self, hop: _Hop, request: StepRequest) -> None:
        if hop.stream is None:
            assert request.opening is not None
            hop.stream = await self.host.open_stream(
                hop.server.host.peer_id, protocols.SESSION, timeout_s=600, max_frame_bytes=1 << 24
            )
        await hop.stream.send(*sessions.encode_step(request))

    async def _collect(self, history: Tensor, plan: _Plan, later: list[_Plan]) -> None:
        """Read the answers to one step, hop after hop; `later` ones are under way. Raises RemoteError."""
        hidden, was_pushed = history, False
        for index, (hop, (start, awaited)) in enumerate(zip(self.hops, plan, strict=True)):
            given = hidden[:, start:]
            if hop is not self.hops[0]:
                if awaited is None:
                    await self._say(hop, self._request(hop, given))
                elif not was_pushed or self.rng.random() < 0.2:
                    await self._say(hop, StepRequest(given, awaited=awaited))
                    awaited = None
            assert hop.stream is not None
            reply = await self._answer(hop, given, awaited)
            was_pushed = reply.was_pushed
            whole = _expected(hop.server.span, hidden)
            expected = whole[:, start:]
            self.world.outcome.answers += 1
            if reply.is_dropped:
                self.world.met["dropped"] += 1
                if all(each[index][0] > start for each in later):
                    self.world.outcome.faults.append(f"a step at {start} was dropped, which nobody took back")
            elif not (reply.hidden - expected).abs().max() <= _TOLERANCE * expected.abs().max():
                text = f"tokens {start}-{history.shape[1]} of {self.rows} rows differ at blocks {hop.server.span}"
                self.world.outcome.faults.append(text)
            hidden = whole

    async def _answer(self, hop: _Hop, given: Tensor, awaited: Awaited | None) -> sessions.StepReply:
        assert hop.stream is not None
        reading = asyncio.ensure_future(hop.stream.receive())
        try:
            if awaited is not None:
                for _ in range(_LATE):
                    if reading.done():
                        break
                    await asyncio.sleep(0)
                else:
                    self.world.met["late pushes"] += 1
                    await self._say(hop, StepRequest(given, awaited=awaited))
            body = await reading
        finally:
            reading.cancel()
        self.world.heard()
        if body is None:
            raise RemoteError(Code.UNREACHABLE, "the server closed the stream")
        return sessions.decode_step_reply(body, like=tuple(given.shape))

    def _refused(self, error: RemoteError) -> None:
        """Open everything again with the next step, which replays the history."""
        self.world.met[f"refused: {error.code}"] += 1
        is_granted = error.code is Code.NO_MEMORY and not error.message.startswith("no room in the cache")
        if error.code not in _REFUSALS or is_granted:
            self.world.outcome.faults.append(f"a session ended: {error.code} {error.message}")
        self._hang_up()
        if error.code is Code.NO_MEMORY:
            self.history = self.history[:, : self.history.shape[1] // 2]

    async def _drop(self, how: str) -> None:
        self.world.met[how] += 1
        self._hang_up()
        await self.world.pause(self.rng.randint(0, 30))

    def _hang_up(self) -> None:
        for hop in self.hops:
            if hop.stream is not None:
                self.world.closing.append(asyncio.ensure_future(hop.stream.close()))
            hop.stream, hop.cached, hop.order, hop.links = None, 0, None, {}

    async def _close(self) -> None:
        with contextlib.suppress(RemoteError):
            for hop in self.hops:
                if hop.stream is not None:
                    await hop.stream.send(*sessions.encode_step(StepRequest()))
                    while await hop.stream.receive() is not None:
                        pass
                    self.world.heard()
        self._hang_up()


class World:
    """Two servers, their clients, and the order in which they get on."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = Random(seed)
        self.numbers = torch.Generator().manual_seed(seed)
        self.beginnings = torch.randn(3, 48, HIDDEN, generator=self.numbers)
        self.outcome = Outcome()
        self.met = self.outcome.met
        self.numbered = 0  # pushes
        self.closing: list[asyncio.Future[None]] = []
        self._now = 1000.0
        self._silent = 0
        self.network = FakeNetwork(person_of=lambda peer, ticket=b"": self.persons.get(peer, PersonId(peer)))
        self.persons: dict[object, PersonId] = {}
        self.servers = [_Server(self, span, folder) for span in SPANS]

    def clock(self) -> float:
        self._now += 0.0005
        return self._now

    def heard(self) -> None:
        self._silent = 0

    async def pause(self, rounds: int) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)

    async def run(self) -> Outcome:
        for server in self.servers:
            await server.start()
        hosts = [self.network.start() for _ in range(3)]
        self.persons |= {host.peer_id: PersonId(f"person {index // 2}") for index, host in enumerate(hosts)}
        clients = [_Client(self, self.rng.choice(hosts)) for _ in range(self.rng.randint(2, 3))]
        tasks = [asyncio.ensure_future(client.run()) for client in clients]
        try:
            await self._until_done(tasks)
            for task in tasks:
                task.result()
            await asyncio.gather(*self.closing)
            await self._settle()
        finally:
            for task in tasks:
                task.cancel()
        for server in self.servers:
            self.outcome.faults += server.left()
            self.met["spills"] += server.serving.compute.counts.spills
            self.met["returns"] += server.serving.compute.counts.returns
            self.met["shared"] += server.serving.compute.counts.shared_tokens > 0
            await server.host.close()
        for host in hosts:
            await host.close()
        return self.outcome

    async def _until_done(self, tasks: list[asyncio.Future[None]]) -> None:
        rng, offloading = self.rng, None
        while not all(task.done() for task in tasks):
            for server in self.servers:
                if rng.random() < 0.4:
                    server.turn()
                self.met["waits for pages"] += bool(server.serving.stage.paging.admission.num_waiting)
            if rng.random() < 0.03:
                self._now += rng.choice((0.05, 1.1, 3.0))
            if rng.random() < 0.001 and (offloading is None or offloading.done()):
                self.met["offloads"] += 1
                offloading = asyncio.ensure_future(rng.choice(self.servers).offload())
            self._silent += 1
            if self._silent > _STALLED:
                self.outcome.faults.append("a client waits for ever")
                return
            await asyncio.sleep(0)
        if offloading is not None:
            self.closing.append(offloading)

    async def _settle(self) -> None:
        for _ in range(60):
            for server in self.servers:
                server.turn()
            await asyncio.sleep(0)


@contextlib.contextmanager
def _changed_engine(world: World) -> Iterator[None]:
    before = session_stream.time, admission.SMALL_BYTES
    session_stream.time = SimpleNamespace(monotonic=world.clock)  # type: ignore[assignment]
    admission.SMALL_BYTES = 0  # all bytes are counted
    try:
        yield
    finally:
        session_stream.time, admission.SMALL_BYTES = before


async def interleave(seed: int, folder: Path) -> Outcome:
    """Let one world run to its end; files of spilled sessions go into `folder`."""
    world = World(seed, folder)
    with _changed_engine(world):
        return await world.run()
