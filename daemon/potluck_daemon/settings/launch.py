"""Makes the specification of an engine from the files that users and their tools may change: settings and swarms."""

from __future__ import annotations

import os
from pathlib import Path

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import Places
from potluck_control.resources import bundled_checkpoint
from potluck_control.settings import Settings, for_engine

from potluck.membership.membership import Membership
from potluck.p2p.ports import everywhere
from potluck.protocol.swarm import Swarm


def launch_of(settings: Settings, membership: Membership, places: Places, port: int) -> LaunchSpec:
    """Return how to start an engine. `port`: for settings that name none."""
    serve, swarm, gateway = settings.serve, membership.swarm, settings.gateway
    return LaunchSpec(
        membership=membership.for_node(),
        checkpoint=chosen_checkpoint(serve.checkpoint, swarm) or str(bundled_checkpoint(swarm.model) or swarm.model),
        runtime_dir=places.nodes,
        head_socket=places.head_socket,
        keeps_head=gateway.start_with_daemon and gateway.swarm in ("", swarm.name),
        identity_path=places.identity_file,
        outbox=places.receipts,
        settings=for_engine(settings),
        listen=serve.listen or everywhere(port),
        may_move_port=True,
    )


def chosen_checkpoint(chosen: str, swarm: Swarm) -> str:
    """Return the folder that the user chose, or nothing if it holds another model since the swarm changed its own."""
    names = (swarm.model, swarm.model.rpartition("/")[2])
    return chosen if not swarm.weights or Path(chosen).name in names else ""


def stamps(places: Places) -> tuple[tuple[int, int] | None, ...]:
    """Return a value that changes with the files, and when the engine's environment is made or exchanged."""
    return tuple(_stamp(path) for path in (places.settings_file, places.swarms_file, places.engine_manifest))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
