"""The engine as the daemon's child: commands come and events go over one pipe.

Ends itself when the daemon does: on SIGTERM (which the kernel sends then), on the end of the pipe, and, should its own
event loop hang, by a timer that needs neither loop nor interpreter lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import torch
from potluck_control import engine_messages as messages
from potluck_control.codec import CodecError
from potluck_control.engine_messages import MIN_DUTY
from potluck_control.engine_metrics import EngineMetrics
from potluck_control.launch_spec import LaunchSpec
from potluck_control.network_report import NetworkCaps, NetworkReport
from potluck_control.outbox import Booking
from potluck_control.schema import SwarmOutlook

from potluck.blocks.accelerators import memory_of
from potluck.checkpoint.fetching import FETCHING
from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId
from potluck.protocol.records import ServerState
from potluck_engine import fitting
from potluck_engine.placement.swarm_outlook import swarm_outlook
from potluck_engine.receipts import Tabs
from potluck_engine.server import Engine

log = logging.getLogger(__name__)

COVERAGE_INTERVAL_S = 10.0
HANG_S = 45.0  # above the daemon's own patience: it explains better
STOP_TIMEOUT_S = 7.0  # below the daemon's, so that a stubborn engine still ends with the right code
LAUNCH_TIMEOUT_S = 30.0


async def serve_pipe(handle: int) -> int:
    """Serve what the daemon at the other end of `handle` wants; returns the exit code."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=handle), limit=messages.MAX_LINE_BYTES)
    child = _Child(reader, writer)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, child.wanted.set)
    try:
        return await child.run()
    finally:
        writer.close()


class _Child:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.wanted = asyncio.Event()  # somebody wants us to end
        self._reader = reader
        self._writer = writer
        self._orders: asyncio.Queue[messages.Drain | messages.Offload | messages.Restore] = asyncio.Queue()
        self._engine: Engine | None = None
        self._spec: LaunchSpec | None = None
        self._limit_bytes = 0
        self._coverage: tuple[int, ...] = ()
        self._coverage_at = 0.0
        self._caps = NetworkCaps()
        self._outlook: SwarmOutlook | None = None
        self._look_now = asyncio.Event()

    async def run(self) -> int:
        self._send(messages.Hello(pid=os.getpid()))
        tasks = [asyncio.create_task(work) for work in (self._work(), self._report(), self._look_around())]
        ending = asyncio.create_task(self.wanted.wait())
        try:
            await asyncio.wait((tasks[0], ending), return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
            return 0
        except PotluckError as error:
            self._send(messages.Failed(error.message, error.hint))
            return 1
        finally:
            end_by_force_after(STOP_TIMEOUT_S)
            for task in (*tasks, ending):
                task.cancel()
            await asyncio.gather(*tasks, ending, return_exceptions=True)
            if self._engine is not None:
                await self._engine.stop()

    async def _work(self) -> None:
        """Start the engine and carry out orders one after the other. Raises PotluckError; returns when told to end."""
        async with asyncio.timeout(LAUNCH_TIMEOUT_S):
            launch = await self._read()
        if not isinstance(launch, LaunchSpec):
            return
        listening = asyncio.create_task(self._listen())
        try:
            self._spec = spec = await asyncio.to_thread(fitting.resolved, launch)
            self._limit_bytes = await asyncio.to_thread(fitting.total_limit_bytes, spec)
            tabs = Tabs(spec.outbox, self._tell_receipt, self._tell_vouchers) if spec.outbox else None
            self._engine = Engine(spec, self._tell, tabs=tabs)
            self._engine.node.limit(self._caps)
            await self._engine.start()
            gc.collect()
            gc.freeze()  # 400,000 objects of imports stay for good: looking at them again stops everything for 0.2 s
            await self._obey(self._engine)
        finally:
            listening.cancel()

    async def _obey(self, engine: Engine) -> None:
        lost = asyncio.create_task(engine.wait_lost())
        try:
            while True:
                order = asyncio.create_task(self._orders.get())
                await asyncio.wait((order, lost), return_when=asyncio.FIRST_COMPLETED)
                if lost.done():
                    order.cancel()
                    lost.result()
                    raise PotluckError("the peer-to-peer process ended unexpectedly")
                match order.result():
                    case messages.Drain():
                        await engine.drain()
                    case messages.Offload():
                        await engine.offload()
                    case messages.Restore():
                        await engine.restore()
        finally:
            lost.cancel()

    async def _listen(self) -> None:
        """Orders into the queue; the end of the pipe and Stop end everything."""
        while (message := await self._read()) is not None:
            if isinstance(message, messages.Drain | messages.Offload | messages.Restore):
                self._orders.put_nowait(message)
            elif isinstance(message, messages.Network):
                self._caps = message.caps
                if self._engine is not None:
                    self._engine.node.limit(message.caps)
            elif isinstance(message, messages.Throttle) and self._engine is not None:
                self._engine.throttle(min(max(message.duty, MIN_DUTY), 1.0))
            elif isinstance(message, messages.Booked | messages.Worth):
                self._hear_of_receipts(message)
            elif isinstance(message, messages.Stop):
                break
        self.wanted.set()

    def _hear_of_receipts(self, message: messages.Booked | messages.Worth) -> None:
        if self._engine is None or self._engine.tabs is None:
            return
        if isinstance(message, messages.Booked):
            self._engine.tabs.booked([(bytes.fromhex(tab), seq) for tab, seq in message.tabs])
        else:
            self._engine.tabs.value({PeerId(account): worth for account, worth in message.accounts})

    def _tell_receipt(self, booking: Booking) -> None:
        delegation = booking.delegation.hex() if booking.delegation is not None else ""
        self._send(messages.SignedReceipt(booking.data.hex(), delegation))

    def _tell_vouchers(self, vouchers: Sequence[bytes]) -> None:
        self._send(messages.Vouched(tuple(voucher.hex() for voucher in vouchers)))

    async def _read(self) -> messages.Message | None:
        """The next known message; None when the daemon is gone."""
        while True:
            try:
                line = await self._reader.readline()
                message = messages.decode(line) if line else None
            except (CodecError, ValueError, ConnectionError) as error:
                log.error("the daemon is not understood: %s", error)
                return None
            if message is not None or not line:
                return message

    def _tell(self, event: messages.EngineEvent) -> None:
        if isinstance(event, messages.Online | messages.Reshaped | messages.Settled | messages.Offline):
            self._look_now.set()
        self._send(event)

    async def _report(self) -> None:
        while True:
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            self._send(self._how_it_goes())
            await asyncio.sleep(messages.REPORT_INTERVAL_S)

    def _how_it_goes(self) -> messages.EngineReport:
        tabs = self._engine.tabs if self._engine is not None else None
        if tabs is not None:
            tabs.refresh()
        serving = self._engine.serving if self._engine is not None else None
        device = self._spec.device if self._spec is not None else "cpu"
        fetched, fetch_total = FETCHING.progress() or (0, 0)
        return messages.EngineReport(
            sessions=len(serving.sessions) if serving is not None else 0,
            total_tokens=self._engine.done_tokens if self._engine is not None else 0,
            memory_used_bytes=self._memory_used_bytes(),
            memory_limit_bytes=self._limit_bytes,
            memory_total_bytes=fitting.memory_total_bytes(device),
            metrics=self._engine.metrics() if self._engine is not None else EngineMetrics(),
            gpu_percent=_gpu_percent(device),
            fetched_bytes=fetched,
            fetch_total_bytes=fetch_total,
            coverage=self._coverage,
            outlook=self._outlook,
            network=self._engine.node.report() if self._engine is not None else NetworkReport(),
            coverage_age_s=round(time.monotonic() - self._coverage_at, 1) if self._coverage else 0.0,
            accounts=tabs.accounts()[: messages.MAX_ACCOUNTS] if tabs is not None else (),
            gpu=_gpu_address(device) if self._spec is not None and len(self._spec.devices) < 2 else "",
        )

    async def _look_around(self) -> None:
        """Who serves what, for the display."""
        while True:
            if self._engine is not None and self._engine.node.is_joined:
                with contextlib.suppress(PotluckError):
                    view = await self._engine.node.directory.fetch()
                    online = [item.span for item in view.servers if item.heartbeat.state is ServerState.ONLINE]
                    assert self._spec is not None
                    num_blocks = self._spec.swarm.num_blocks
                    self._coverage = tuple(sum(block in span for span in online) for block in range(num_blocks))
                    self._coverage_at = time.monotonic()
                    self._outlook = swarm_outlook(view.servers, num_blocks)
            self._look_now.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COVERAGE_INTERVAL_S):
                    await self._look_now.wait()

    def _memory_used_bytes(self) -> int:
        """Of the devices that compute: the whole process on a CPU, torch's share on a GPU; ranks are alike."""
        devices = self._spec.devices if self._spec is not None else ()
        device = torch.device(self._spec.device if self._spec is not None else "cpu")
        return memory_of(device).used * max(len(devices), 1)

    def _send(self, message: messages.Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(messages.encode(message))


def end_by_force_after(timeout_s: float) -> None:
    """Leave whatever hangs behind: nobody may be kept waiting for the memory."""
    timer = threading.Timer(timeout_s, os._exit, args=(1,))
    timer.daemon = True
    timer.start()


def _gpu_percent(device: str) -> float | None:
    if not device.startswith("cuda"):
        return None
    try:
        return float(torch.cuda.utilization(device))
    except (RuntimeError, ImportError):  # a driver or a virtual machine that does not tell
        return None


def _gpu_address(device: str) -> str:
    """The PCI address of a CUDA device as the kernel writes it; empty where torch does not tell."""
    if not device.startswith("cuda"):
        return ""
    found: Any = torch.cuda.get_device_properties(device)  # older ones know no address
    if not hasattr(found, "pci_domain_id"):
        return ""
    return f"{found.pci_domain_id:04x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"
