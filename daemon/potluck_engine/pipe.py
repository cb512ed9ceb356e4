"""Runs an engine as the daemon's child: commands come and events go over one pipe."""

from __future__ import annotations

import asyncio
import gc

from potluck_control import engine_messages as messages
from potluck_control.engine_messages import MIN_DUTY

from potluck.protocol.blocks import Booking, PersonId
from potluck.tasks import first_of, keep_running
from potluck_engine.daemon_pipe import DaemonPipe, end_at_once, end_by_force
from potluck_engine.engine_reports import EngineReporter, prepared_report
from potluck_engine.fitting import resolved
from potluck_engine.receipts import Tabs
from potluck_engine.server import Engine

_BETWEEN_S = 2.0  # for an end in the middle of a load: a game may wait for it, and nothing stops a kernel's compiler


async def serve_pipe(pipe: DaemonPipe) -> None:
    """Run an engine as the daemon says, until it says Stop or is gone. Raises PotluckError."""
    child = _Child(pipe)
    await first_of(child.work(), keep_running("reporting to the daemon", child.report))


class _Child:
    def __init__(self, pipe: DaemonPipe) -> None:
        self._pipe = pipe
        self._orders: asyncio.Queue[messages.Drain | messages.Offload | messages.Restore] = asyncio.Queue()
        self._reporter: EngineReporter | None = None  # None: there is nothing to serve yet

    async def work(self) -> None:
        pipe = self._pipe
        spec = await pipe.launch()
        if spec is None:
            return
        spec = await asyncio.to_thread(resolved, spec)
        tabs = Tabs(spec.outbox, self._tell_receipt)
        engine = Engine(spec, self._tell, tabs=tabs, callbacks=pipe.callbacks())
        self._reporter = await asyncio.to_thread(EngineReporter, engine, pipe.send)
        watching = keep_running("looking at the swarm", self._reporter.watch_coverage)
        try:
            await first_of(self._listen(engine), self._obey(engine), engine.wait_lost(), watching, on_end=end_by_force)
        finally:
            await engine.stop()

    async def _obey(self, engine: Engine) -> None:
        """Start the engine and carry out orders one after the other. Raises PotluckError."""
        await engine.start()
        gc.collect()
        gc.freeze()  # 400,000 objects of imports stay for good: looking at them again stops everything for 0.2 s
        while True:
            match await self._orders.get():
                case messages.Drain():
                    await engine.drain()
                case messages.Offload():
                    await engine.offload()
                case messages.Restore():
                    await engine.restore()

    async def _listen(self, engine: Engine) -> None:
        """Queue orders and pass the other commands on, until Stop or the end of the pipe."""
        while (message := await self._pipe.read()) is not None:
            match message:
                case messages.Drain() | messages.Offload() | messages.Restore():
                    self._orders.put_nowait(message)
                case messages.Network(caps):
                    engine.node.limit(caps)
                case messages.Throttle(duty):
                    engine.throttle(min(max(duty, MIN_DUTY), 1.0))
                case messages.Worth(people):
                    engine.tabs.value({PersonId(person): points for person, points in people})
                case messages.Members(records):
                    engine.node.publish(records)
                case messages.Stop():
                    break
        if engine.is_idle and await engine.leave():
            end_at_once()  # ending one part after the other would hold the memory
        if engine.is_between:
            end_by_force(_BETWEEN_S)

    async def report(self) -> None:
        while True:
            self._pipe.send(prepared_report() if self._reporter is None else self._reporter.report())
            await asyncio.sleep(messages.REPORT_INTERVAL_S)

    def _tell(self, event: messages.EngineEvent) -> None:
        changes_coverage = messages.Online | messages.Reshaped | messages.Settled | messages.Offline
        if self._reporter is not None and isinstance(event, changes_coverage):
            self._reporter.look_now.set()
        self._pipe.send(event)

    def _tell_receipt(self, booking: Booking) -> None:
        self._pipe.send(messages.SignedReceipt(booking.receipt, booking.person))
