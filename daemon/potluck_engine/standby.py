"""Keeps a computer's place in its swarm while no engine runs: the same identity and port, without torch.

A standby node admits newcomers, compares rosters, answers for the DHT and the directory, and relays where the user
allows it, so that a member who has paused is still a way in. It serves no blocks. It is a child of the daemon, with
the engine's pipe: Hello, then a LaunchSpec, then Members until Stop or the end of the pipe.

A node whose port another program had returns to it, so that old invites lead in again. It has no sessions to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging

from potluck_control.processes import engine_messages as messages
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.p2p.bare_hivemind import import_bare_hivemind
from potluck.p2p.listening import with_free_ports
from potluck.sentences import sentence
from potluck.tasks import run_until_first_ends
from potluck_engine.daemon_pipe import DaemonPipe
from potluck_engine.network.node import Node

log = logging.getLogger(__name__)

_PORT_LOOK_S, _PORT_LOOKS = 30.0, 2  # a program that is started anew keeps its port


async def stand_by(pipe: DaemonPipe) -> None:
    """Keep a node until the daemon says Stop or is gone. Raises PotluckError if the node ends by itself."""
    import_bare_hivemind()
    spec = await pipe.launch()
    while spec is not None and await _keep(spec, pipe):
        log.info("the port is free again")


async def _keep(spec: LaunchSpec, pipe: DaemonPipe) -> bool:
    """Keep a node, and return whether another one can have its port. Raises PotluckError if it ends by itself."""
    node = Node(spec, callbacks=pipe.callbacks())
    try:
        is_free: bool = await run_until_first_ends(_hold(node, pipe), _listen(node, pipe))
        return is_free
    finally:
        with contextlib.suppress(PotluckError):
            await node.stop()


async def _hold(node: Node, pipe: DaemonPipe) -> bool:
    """Join the swarm and tell where the node is found, until its port is free. Raises PotluckError if it is lost."""
    await node.start()
    pipe.send(messages.StandbyOnline(node.peer_id, await node.host.addresses()))
    gc.collect()
    gc.freeze()
    lost = asyncio.create_task(node.host.wait_lost())
    try:
        num_free = 0
        while num_free < _PORT_LOOKS:
            await asyncio.wait({lost}, timeout=_PORT_LOOK_S if node.taken else None)
            if lost.done():
                raise PotluckError(sentence("the peer-to-peer process ended unexpectedly"))
            num_free = num_free + 1 if with_free_ports(node.taken) == node.taken else 0
        return True
    finally:
        lost.cancel()


async def _listen(node: Node, pipe: DaemonPipe) -> bool:
    """Pass on what was signed on this computer, until Stop or the end of the pipe."""
    while (message := await pipe.read()) is not None:
        match message:
            case messages.MemberRecords(records):
                node.publish(records)
            case messages.Stop():
                break
    return False
