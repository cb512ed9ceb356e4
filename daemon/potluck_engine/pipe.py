"""Runs an engine as the daemon's child: commands come and events go over one pipe.

The engine ends when the daemon does: on SIGTERM, which the kernel sends then, at the end of the pipe, and, should its
own event loop hang, by a timer that needs neither loop nor interpreter lock.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import logging
import os
import signal
import threading

from potluck_control import engine_messages as messages
from potluck_control.engine_messages import MIN_DUTY

from potluck.errors import PotluckError
from potluck.protocol.blocks import PersonId
from potluck.protocol.receipts import Booking
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_engine.daemon_pipe import DaemonPipe
from potluck_engine.engine_reports import EngineReporter, prepared_report
from potluck_engine.fitting import resolved
from potluck_engine.receipts import Tabs
from potluck_engine.server import Engine

log = logging.getLogger(__name__)

HANG_S = 45.0  # above the daemon's own patience: it explains better
STOP_TIMEOUT_S = 7.0  # below the daemon's, so that a stubborn engine still ends with the right code


async def serve_pipe(handle: int) -> int:
    """Serve what the daemon at the other end of `handle` asks for. Return the exit code."""
    pipe = await DaemonPipe.open(handle)
    child = _Child(pipe)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, child.must_end.set)
    try:
        return await child.run()
    finally:
        pipe.close()


class _Child:
    def __init__(self, pipe: DaemonPipe) -> None:
        self.must_end = asyncio.Event()
        self._pipe = pipe
        self._orders: asyncio.Queue[messages.Drain | messages.Offload | messages.Restore] = asyncio.Queue()
        self._reporter: EngineReporter | None = None  # None: there is nothing to serve yet

    async def run(self) -> int:
        self._pipe.send(messages.Hello(pid=os.getpid()))
        tasks = [asyncio.create_task(work) for work in (self._work(), self._report(), self.must_end.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return 0
        except PotluckError as error:
            self._pipe.send(messages.Failed(error.message, error.hint))
            return 1
        finally:
            end_by_force_after(STOP_TIMEOUT_S)
            await cancel_and_wait(*tasks)

    async def _work(self) -> None:
        """Run an engine and carry out orders one after the other. Raises PotluckError; returns when told to end."""
        spec = await self._pipe.launch()
        if spec is None:
            return
        spec = await asyncio.to_thread(resolved, spec)
        tabs = Tabs(spec.outbox, self._tell_receipt)
        pipe = self._pipe
        engine = Engine(
            spec,
            self._tell,
            tabs=tabs,
            on_news=pipe.tell_news,
            on_leader=pipe.tell_leader,
            on_met=pipe.tell_met,
        )
        self._reporter = await asyncio.to_thread(EngineReporter, engine, self._pipe.send)
        tasks = [start_task(work) for work in (self._listen(engine), keep_running(self._reporter.watch_coverage))]
        try:
            await engine.start()
            gc.collect()
            gc.freeze()  # 400,000 objects of imports stay for good: looking at them again stops everything for 0.2 s
            await self._obey(engine)
        finally:
            await cancel_and_wait(*tasks)
            await engine.stop()

    async def _obey(self, engine: Engine) -> None:
        lost = asyncio.create_task(engine.wait_lost())
        try:
            while True:
                order = asyncio.create_task(self._orders.get())
                await asyncio.wait((order, lost), return_when=asyncio.FIRST_COMPLETED)
                if lost.done():
                    order.cancel()
                    return lost.result()
                match order.result():
                    case messages.Drain():
                        await engine.drain()
                    case messages.Offload():
                        await engine.offload()
                    case messages.Restore():
                        await engine.restore()
        finally:
            lost.cancel()

    async def _listen(self, engine: Engine) -> None:
        """Queue orders and pass the other commands on, until Stop or the end of the pipe."""
        try:
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
        finally:
            self.must_end.set()

    async def _report(self) -> None:
        while True:
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            self._pipe.send(prepared_report() if self._reporter is None else self._reporter.report())
            await asyncio.sleep(messages.REPORT_INTERVAL_S)

    def _tell(self, event: messages.EngineEvent) -> None:
        changes_coverage = messages.Online | messages.Reshaped | messages.Settled | messages.Offline
        if self._reporter is not None and isinstance(event, changes_coverage):
            self._reporter.look_now.set()
        self._pipe.send(event)

    def _tell_receipt(self, booking: Booking) -> None:
        self._pipe.send(messages.SignedReceipt(booking.receipt, booking.person))


def end_by_force_after(timeout_s: float) -> None:
    """End the process then, whatever hangs: nobody may be kept waiting for the memory."""
    timer = threading.Timer(timeout_s, os._exit, args=(1,))
    timer.daemon = True
    timer.start()
