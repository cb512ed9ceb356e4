"""Keeps a computer's place in its swarm while no engine runs: the same identity and port, without torch.

A standby node admits newcomers, compares rosters, answers for the DHT and the directory, and relays where the user
allows it, so that newcomers can still join through a member who has paused. It serves no blocks. It is a child of the
daemon and uses the engine's pipe: Hello, then a LaunchSpec, then Members until Stop or the end of the pipe.

A node that found its port taken by another program moves back once the port is free, so that old invites work again.
It has no sessions that the move could end.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging

from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.p2p.bare_hivemind import import_bare_hivemind
from potluck.p2p.listening import with_free_ports
from potluck.sentences import sentence
from potluck.tasks import run_until_first_ends
from potluck_engine.daemon_pipe import DaemonPipe
from potluck_engine.network.node import Node

log = logging.getLogger(__name__)

_PORT_CHECK_S, _PORT_CHECKS = 30.0, 2  # a program that is being restarted keeps its port


async def stand_by(pipe: DaemonPipe) -> None:
    """Run a node until the daemon says Stop or is gone. Raises PotluckError if the node ends by itself."""
    import_bare_hivemind()
    spec = await pipe.launch()
    while spec is not None and await _keep(spec, pipe):
        log.info("the port is free again")


async def _keep(spec: LaunchSpec, pipe: DaemonPipe) -> bool:
    """Run one node. Return whether a new one should take its place because the wanted port is free.

    Raises PotluckError if the node ends by itself.
    """
    node = Node(spec, callbacks=pipe.callbacks())
    try:
        is_free: bool = await run_until_first_ends(_hold(node, pipe), _listen(node, pipe))
        return is_free
    finally:
        with contextlib.suppress(PotluckError):
            await node.stop()


async def _hold(node: Node, pipe: DaemonPipe) -> bool:
    """Join the swarm, report the node's addresses, and wait until the wanted port is free.

    Raises PotluckError if the peer-to-peer process is lost.
    """
    await node.start()
    pipe.send(engine_messages.StandbyOnline(node.peer_id, await node.host.addresses()))
    gc.collect()
    gc.freeze()
    lost = asyncio.create_task(node.host.wait_lost())
    try:
        num_free = 0
        while num_free < _PORT_CHECKS:
            await asyncio.wait({lost}, timeout=_PORT_CHECK_S if node.taken else None)
            if lost.done():
                raise PotluckError(sentence("the peer-to-peer process ended unexpectedly"))
            num_free = num_free + 1 if with_free_ports(node.taken) == node.taken else 0
        return True
    finally:
        lost.cancel()


async def _listen(node: Node, pipe: DaemonPipe) -> bool:
    """Publish records that were signed on this computer, until Stop or the end of the pipe."""
    while (message := await pipe.read()) is not None:
        match message:
            case engine_messages.MemberRecords(records):
                node.publish(records)
            case engine_messages.Stop():
                break
    return False
