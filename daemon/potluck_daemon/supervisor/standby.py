"""Runs the small process that keeps this computer's place in its swarm while no engine does.

    hold(launch)  ->  process, LaunchSpec  ->  Reachable  |  after a failure: again, after growing delays
    hold(None)    ->  Stop, and by force after STOP_TIMEOUT_S, or at once before it got its launch

Identity and port are one node's at a time, so `leave` returns when they are free for the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_daemon.supervisor.failures import diagnose
from potluck_daemon.supervisor.process import EngineProcess

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 3.0

OnMessage = Callable[[LaunchSpec, engine_messages.Said], None]
"""Called with what the node of a launch says."""


class Standby:
    """Holds at most one standby process.

    Args:
        on_message: called with what the node says.
    """

    def __init__(self, on_message: OnMessage) -> None:
        self._on_message = on_message
        self._held: tuple[LaunchSpec, Sequence[str]] | None = None
        self._life: asyncio.Task[None] | None = None
        self._process: EngineProcess | None = None
        self.swarm: Swarm | None = None  # the swarm of the process that runs, or ran last
        self.addresses: tuple[str, ...] = ()  # where others find it; empty: it is not in the swarm
        self.nearby: tuple[str, ...] | None = None  # None: no process runs

    @property
    def is_held(self) -> bool:
        """True if a process runs, or is about to."""
        return self._held is not None

    def hold(self, launch: LaunchSpec | None, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Begin to keep a node of `launch` in the swarm, or end the node if `launch` is None. Don't wait."""
        held = (launch, command) if launch is not None else None
        if held == self._held:
            return
        self._held = held
        before = self._life
        if launch is None:
            self._life = start_task(cancel_and_wait(before))
        else:
            keep = partial(self._keep, before, launch, command, environment)
            self._life = start_task(keep_running("keeping a node in the swarm", keep))

    async def leave(self) -> None:
        """End the node, and return when its identity and port are free."""
        self.hold(None, (), {})
        if self._life is not None:
            await asyncio.wait({self._life})

    def send(self, message: engine_messages.MemberRecords) -> None:
        """Send records that were signed on this computer to a node that runs."""
        if self._process is not None:
            self._process.send(message)

    async def _keep(
        self,
        before: asyncio.Task[None] | None,
        launch: LaunchSpec,
        command: Sequence[str],
        environment: Mapping[str, str],
    ) -> None:
        """Run one process to its end, or end it when cancelled. Raises PotluckError with the reason of its end."""
        await cancel_and_wait(before)
        process = await EngineProcess.start(command, environment, lambda message: self._apply(launch, message))
        self._process, self.swarm = process, launch.swarm
        try:
            raise PotluckError(diagnose(await asyncio.shield(process.ended)))
        except asyncio.CancelledError:
            process.stop()
            await _wait_or_kill(process)
            raise
        finally:
            self._process = None
            self.addresses = ()
            self.nearby = None

    def _apply(self, launch: LaunchSpec, message: engine_messages.Said) -> None:
        match message:
            case engine_messages.Hello() if self._process is not None:
                self._process.send(engine_messages.Launch(launch))
            case engine_messages.StandbyOnline(_, addresses):
                log.info("the standby node is in the swarm")
                self.addresses = addresses
            case engine_messages.Nearby(found):
                self.nearby = found
        self._on_message(launch, message)


async def _wait_or_kill(process: EngineProcess) -> None:
    """Wait until a process that was asked to stop has ended; kill it if it takes long."""
    done, _ = await asyncio.wait({process.ended}, timeout=STOP_TIMEOUT_S)
    if not done:
        process.kill(sentence("it did not stop"))
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.shield(process.ended)
