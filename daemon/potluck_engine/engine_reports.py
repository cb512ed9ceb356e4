"""Makes the reports that an engine sends to the daemon every second: its load, its memory, and the swarm it sees."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch
from potluck_control.engine_messages import MAX_SERVERS, EngineReport, Servers
from potluck_control.schema import OneMore

from potluck.blocks.accelerators import memory_of
from potluck.checkpoint.fetching import FETCHING
from potluck.errors import PotluckError
from potluck.protocol.records import ServerState
from potluck.sentences import verbatim
from potluck.tasks import failing
from potluck_engine.answer_speed import expected_tps
from potluck_engine.fitting import total_limit_bytes
from potluck_engine.placement.swarm_outlook import one_more, seen_servers
from potluck_engine.server import Engine

_COVERAGE_INTERVAL_S = 10.0


def prepared_report() -> EngineReport:
    """Return the report of a process that waits for its launch specification."""
    memory = memory_of(torch.device("cpu"))
    return EngineReport(memory_used_bytes=memory.used, memory_total_bytes=memory.total)


class EngineReporter:
    """Reports on `engine`; the swarm's coverage is known while `watch_coverage` runs.

    Attributes:
        look_now: set to look at the swarm at once.
    """

    def __init__(self, engine: Engine, on_servers: Callable[[Servers], None]) -> None:
        """Raises UsageError: the engine's device is not there."""
        self.look_now = asyncio.Event()
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
            memory_used_bytes=memory.used * max(len(spec.serve.devices), 1),  # ranks are alike
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
        """Look at the swarm now and then, for the display."""
        while True:
            with contextlib.suppress(PotluckError):
                await self._look()
            self.look_now.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_COVERAGE_INTERVAL_S):
                    await self.look_now.wait()

    async def _look(self) -> None:
        if not self._engine.node.is_joined:
            return
        servers = await self._engine.node.directory.fetch()
        online = [item.span for item in servers if item.heartbeat.state is ServerState.ONLINE]
        num_blocks = self._engine.spec.swarm.num_blocks
        self._coverage = tuple(sum(block in span for span in online) for block in range(num_blocks))
        self._coverage_at = time.monotonic()
        self._one_more = one_more(servers, num_blocks)
        self._expected_tps = expected_tps(servers, num_blocks, self._engine.node.peer_id)
        self._on_servers(Servers(seen_servers(servers, self._engine.node.peer_id)[:MAX_SERVERS]))


def _gpu_percent(device: str) -> float | None:
    if not device.startswith("cuda"):
        return None
    try:
        return float(torch.cuda.utilization(device))
    except Exception:  # of NVML's own classes: a driver, a part of a card or a virtual machine that doesn't say
        return None


def _gpu_address(device: str) -> str:
    """Return the PCI address of a CUDA device as the kernel writes it; empty where torch doesn't know it."""
    if not device.startswith("cuda"):
        return ""
    found: Any = torch.cuda.get_device_properties(device)  # older versions have no address
    if not hasattr(found, "pci_domain_id"):
        return ""
    return f"{found.pci_domain_id:04x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"
