"""Runs an engine in this process, in a terminal or as the daemon's child.

In a terminal the engine serves until a signal comes, and the caller gets its events. As the daemon's child it receives
commands over a pipe and sends events and, every second, a report: its load, its memory, and the swarm it sees.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import time
from collections.abc import Callable
from typing import Any

import torch
from potluck_control.api.schema import OneMore
from potluck_control.processes import engine_messages
from potluck_control.processes.engine_messages import MAX_SERVERS, MIN_DUTY, EngineReport, Failed, OnEvent, SwarmServers
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.blocks.accelerators import memory_of
from potluck.checkpoint.fetching import FETCHING
from potluck.errors import PotluckError
from potluck.processes import confine
from potluck.protocol.blocks import Booking, PersonId
from potluck.protocol.records import ServerState
from potluck.sentences import sentence, verbatim
from potluck.tasks import failing, keep_running, run_until_first_ends
from potluck_engine.daemon_pipe import DaemonPipe, exit_now, exit_soon
from potluck_engine.life.engine import Engine
from potluck_engine.placement.outlook import expected_answer_tps, one_more, seen_servers
from potluck_engine.serving.receipts import Tabs
from potluck_engine.weights.fitting import resolve_spec, total_limit_bytes

log = logging.getLogger(__name__)

_CHANGING_END_S = 2.0  # a load is broken off by force: a game may wait, and nothing stops a kernel's compiler
_COVERAGE_INTERVAL_S = 10.0


def run_in_terminal(spec: LaunchSpec, on_event: OnEvent) -> signal.Signals:
    """Serve until SIGTERM or SIGINT, and return which of them came.

    Raises:
        PotluckError: the engine could not start or go on. Before this or any other exception, a Failed event is sent.
    """
    try:
        confine()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(resolve_spec(spec), on_event))
    except PotluckError as error:
        on_event(Failed(error.sentence, error.advice))
        raise
    except Exception:
        unexpected = sentence("the engine failed unexpectedly")
        on_event(Failed(unexpected, sentence("its log has the reason; please report it")))
        raise


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # does not exist for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(spec: LaunchSpec, on_event: OnEvent) -> signal.Signals:
    """Serve until a signal comes, and return it. Raises PotluckError."""
    engine = Engine(spec, on_event)
    try:
        arrived: signal.Signals = await run_until_first_ends(_until_signal(), engine.run())
        return arrived
    finally:
        await engine.stop()


async def _until_signal() -> signal.Signals:
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, arrived.put_nowait, number)
    first = await arrived.get()
    log.info("asked to stop")
    return first


async def run_for_daemon(pipe: DaemonPipe) -> None:
    """Run an engine and follow the daemon's commands until it says Stop or is gone. Raises PotluckError."""
    child = _Child(pipe)
    await run_until_first_ends(child.work(), keep_running("reporting to the daemon", child.report))


class _Child:
    """The engine of a daemon: carries out its orders one by one, and its other commands at once."""

    def __init__(self, pipe: DaemonPipe) -> None:
        self._pipe = pipe
        self._orders: asyncio.Queue[engine_messages.Drain | engine_messages.Offload | engine_messages.Restore] = (
            asyncio.Queue()
        )
        self._reporter: EngineReporter | None = None  # None: there is nothing to serve yet

    async def work(self) -> None:
        pipe = self._pipe
        spec = await pipe.launch()
        if spec is None:
            return
        spec = await asyncio.to_thread(resolve_spec, spec)
        tabs = Tabs(spec.outbox, self._send_receipt)
        engine = Engine(spec, self._send_event, tabs=tabs, callbacks=pipe.callbacks())
        self._reporter = await asyncio.to_thread(EngineReporter, engine, pipe.send)
        watching = keep_running("watching the swarm's coverage", self._reporter.watch_coverage)
        try:
            await run_until_first_ends(
                self._listen(engine), self._obey(engine), engine.wait_lost(), watching, on_end=exit_soon
            )
        finally:
            await engine.stop()

    async def _obey(self, engine: Engine) -> None:
        """Start the engine and carry out orders one after the other. Raises PotluckError."""
        await engine.start()
        gc.collect()
        gc.freeze()  # a collection that visits the 400,000 objects of imports stops everything for 0.2 s
        while True:
            match await self._orders.get():
                case engine_messages.Drain():
                    await engine.drain()
                case engine_messages.Offload():
                    await engine.offload()
                case engine_messages.Restore():
                    await engine.restore()

    async def _listen(self, engine: Engine) -> None:
        """Queue orders and carry out the other commands, until Stop or the end of the pipe."""
        while (message := await self._pipe.read()) is not None:
            match message:
                case engine_messages.Drain() | engine_messages.Offload() | engine_messages.Restore():
                    self._orders.put_nowait(message)
                case engine_messages.Network(caps):
                    engine.node.limit(caps)
                case engine_messages.Throttle(duty):
                    engine.throttle(min(max(duty, MIN_DUTY), 1.0))
                case engine_messages.Worth(people):
                    engine.tabs.set_worth({PersonId(person): points for person, points in people})
                case engine_messages.MemberRecords(records):
                    engine.node.publish(records)
                case engine_messages.Stop():
                    break
        if engine.is_idle and await engine.leave():
            exit_now()  # an orderly end would hold the memory longer
        if engine.is_between:
            exit_soon(_CHANGING_END_S)

    async def report(self) -> None:
        while True:
            self._pipe.send(waiting_report() if self._reporter is None else self._reporter.report())
            await asyncio.sleep(engine_messages.REPORT_INTERVAL_S)

    def _send_event(self, event: engine_messages.EngineEvent) -> None:
        changes_coverage = (
            engine_messages.Online | engine_messages.Reshaped | engine_messages.Settled | engine_messages.Offline
        )
        if self._reporter is not None and isinstance(event, changes_coverage):
            self._reporter.refresh_now.set()
        self._pipe.send(event)

    def _send_receipt(self, booking: Booking) -> None:
        self._pipe.send(engine_messages.SignedReceipt(booking.receipt, booking.person))


def waiting_report() -> EngineReport:
    """Return the report of a process that is waiting for its launch specification."""
    memory = memory_of(torch.device("cpu"))
    return EngineReport(memory_used_bytes=memory.used, memory_total_bytes=memory.total)


class EngineReporter:
    """Makes reports on `engine`; they say how the swarm is covered while `watch_coverage` runs.

    Attributes:
        refresh_now: set it to have the coverage read at once.
    """

    def __init__(self, engine: Engine, on_servers: Callable[[SwarmServers], None]) -> None:
        """Raise UsageError if the engine's device is not there."""
        self.refresh_now = asyncio.Event()
        self._engine = engine
        self._on_servers = on_servers
        self._limit_bytes = total_limit_bytes(engine.spec)
        self._coverage: tuple[int, ...] = ()
        self._coverage_at = 0.0
        self._one_more: OneMore | None = None
        self._expected_tps = 0.0

    def report(self) -> EngineReport:
        engine, spec = self._engine, self._engine.spec
        engine.tabs.forget_old()
        metrics = engine.metrics()
        memory = engine.device.run(lambda: memory_of(torch.device(spec.serve.device)))
        blocks = None if engine.service is None else engine.service.blocks.whole
        lacking = None if blocks is None else blocks.no_kernels
        fetched, fetch_total = FETCHING.progress() or (0, 0)
        return EngineReport(
            sessions=metrics.sessions,
            total_tokens=engine.tabs.total_tokens,
            memory_used_bytes=memory.used * max(len(spec.serve.devices), 1),  # all ranks use about the same
            memory_limit_bytes=self._limit_bytes,
            memory_total_bytes=memory.total,
            metrics=metrics,
            gpu_percent=_gpu_percent(spec.serve.device),
            fetched_bytes=fetched,
            fetch_total_bytes=fetch_total,
            coverage=self._coverage,
            one_more=self._one_more,
            expected_tps=self._expected_tps,
            network=engine.node.report(),
            coverage_age_s=round(time.monotonic() - self._coverage_at, 1) if self._coverage else 0.0,
            gpu=_gpu_address(spec.serve.device) if len(spec.serve.devices) < 2 else "",
            runs_on=verbatim("" if blocks is None else blocks.step_ways),
            slow_why=verbatim("" if lacking is None else lacking.reason),
            runs_on_hint=verbatim("" if lacking is None else lacking.hint),
            failing=failing(),
        )

    async def watch_coverage(self) -> None:
        """Read the swarm's directory every few seconds, for people who look at the app."""
        while True:
            with contextlib.suppress(PotluckError):
                await self._refresh_coverage()
            self.refresh_now.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_COVERAGE_INTERVAL_S):
                    await self.refresh_now.wait()

    async def _refresh_coverage(self) -> None:
        if not self._engine.node.is_joined:
            return
        servers = await self._engine.node.directory.fetch()
        online = [item.span for item in servers if item.heartbeat.state is ServerState.ONLINE]
        num_blocks = self._engine.spec.swarm.num_blocks
        self._coverage = tuple(sum(block in span for span in online) for block in range(num_blocks))
        self._coverage_at = time.monotonic()
        self._one_more = one_more(servers, num_blocks)
        self._expected_tps = expected_answer_tps(servers, num_blocks, self._engine.node.peer_id)
        self._on_servers(SwarmServers(seen_servers(servers, self._engine.node.peer_id)[:MAX_SERVERS]))


def _gpu_percent(device: str) -> float | None:
    if not device.startswith("cuda"):
        return None
    try:
        return float(torch.cuda.utilization(device))
    except Exception:  # NVML's own error classes: some drivers, parts of cards and virtual machines don't report it
        return None


def _gpu_address(device: str) -> str:
    """Return the PCI address of a CUDA device as the kernel writes it, or "" where torch doesn't know it."""
    if not device.startswith("cuda"):
        return ""
    found: Any = torch.cuda.get_device_properties(device)  # older versions of torch have no address
    if not hasattr(found, "pci_domain_id"):
        return ""
    return f"{found.pci_domain_id:04x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"
