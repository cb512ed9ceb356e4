"""Groups the two computing threads of an engine: one for the steps of sessions, one for stateless calls."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from potluck_control.launch_spec import ServingLimits

from potluck_engine.compute.call_thread import CallThread
from potluck_engine.compute.failures import IsLost, never_lost
from potluck_engine.compute.step_thread import ComputeThread
from potluck_engine.compute.turns import Shares, equal_shares


@dataclass(frozen=True, slots=True)
class Threads:
    """The computing threads of one engine."""

    compute: ComputeThread
    calls: CallThread

    @classmethod
    def of(
        cls, limits: ServingLimits, *, threads: int, shares: Shares = equal_shares, is_lost: IsLost = never_lost
    ) -> Threads:
        """Make both threads, not started; both call `shares` for clients that compete."""
        compute = ComputeThread(limits, threads=threads, shares=shares, is_lost=is_lost)
        calls = CallThread(
            limits, threads=threads, is_shared=lambda: compute.has_sessions, shares=shares, is_lost=is_lost
        )
        return cls(compute, calls)

    def start(self) -> None:
        self.compute.start()
        self.calls.start()

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time."""
        self.compute.throttle.duty = self.calls.throttle.duty = duty

    async def stop(self) -> None:
        """Refuse what waits, let running pieces end, and join both threads."""
        await asyncio.gather(self.compute.stop(), self.calls.stop())
