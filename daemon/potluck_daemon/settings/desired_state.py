"""Reads the desired state from the files that users and their tools may change: settings and joined swarms."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import Places
from potluck_control.resources import bundled_checkpoint
from potluck_control.settings import Settings, for_engine

from potluck.membership.joined import chosen_swarm
from potluck.membership.membership import Membership
from potluck.p2p.ports import everywhere
from potluck.protocol.swarm import Swarm
from potluck.sentences import Sentence
from potluck_daemon.settings.store import Loaded


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Settings, the swarm to serve, how to start an engine for them, and what is wrong with the files."""

    settings: Settings = field(default_factory=Settings)
    membership: Membership | None = None
    launch: LaunchSpec | None = None
    notices: tuple[Sentence, ...] = ()

    @property
    def swarm(self) -> Swarm | None:
        return None if self.membership is None else self.membership.swarm


def read_desired_state(loaded: Loaded, places: Places, *, port: int, served: str = "") -> DesiredState:
    """Return the desired state; mistakes in the files become notices.

    Args:
        port: for settings that name none.
        served: the swarm that is served, in which this computer stays unless the settings name another one.
    """
    chosen, notices = chosen_swarm(places.swarms_file, loaded.settings.serve.swarm, served)
    launch = _launch(loaded.settings, chosen, places, port) if chosen is not None else None
    return DesiredState(loaded.settings, chosen, launch, loaded.problems + loaded.notices + notices)


def chosen_checkpoint(chosen: str, swarm: Swarm) -> str:
    """Return the folder that the user chose, or nothing if it holds another model since the swarm changed its own."""
    names = (swarm.model, swarm.model.rpartition("/")[2])
    return chosen if not swarm.weights or Path(chosen).name in names else ""


def stamps(places: Places) -> tuple[tuple[int, int] | None, ...]:
    """Return a value that changes with the files, and when the engine's environment is made or exchanged."""
    return tuple(_stamp(path) for path in (places.settings_file, places.swarms_file, places.engine_manifest))


def _launch(settings: Settings, membership: Membership, places: Places, port: int) -> LaunchSpec:
    serve, swarm = settings.serve, membership.swarm
    return LaunchSpec(
        membership=membership.for_node(),
        checkpoint=chosen_checkpoint(serve.checkpoint, swarm) or str(bundled_checkpoint(swarm.model) or swarm.model),
        runtime_dir=places.socket.parent / "nodes",
        identity_path=places.identity_file,
        outbox=places.receipts,
        settings=for_engine(settings),
        listen=serve.listen or everywhere(port),
        may_move_port=True,
    )


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
