"""Runs an engine in this process: signals and the event loop. Prints nothing; the caller gets events."""

from __future__ import annotations

import asyncio
import logging
import signal

from potluck_control.engine_messages import Failed, OnEvent
from potluck_control.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.processes import confine
from potluck.sentences import sentence
from potluck.tasks import first_of
from potluck_engine.fitting import resolved
from potluck_engine.server import Engine

log = logging.getLogger(__name__)


def run_engine(spec: LaunchSpec, on_event: OnEvent) -> signal.Signals:
    """Serve until SIGTERM or SIGINT, and return which it was.

    Raises:
        PotluckError: the engine could not start or go on. A Failed event was sent, as before any other exception.
    """
    try:
        confine()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(resolved(spec), on_event))
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
        arrived: signal.Signals = await first_of(_until_signal(), engine.run())
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
