"""Launch specifications: a cheap engine on the CPU, and one with other values by the bare names of their fields."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.settings import ServeSettings, Settings

from potluck.membership.membership import Membership

PLAIN = ServeSettings(device="cpu", dtype="float32", threads=1, private_adapters_mb=0)
_SETTINGS = {item.name for item in fields(ServeSettings)}


def launch_of(checkpoint: Path | str, folder: Path, membership: Membership, **changes: Any) -> LaunchSpec:
    """Return a specification; `changes` are fields of it, or settings of `serve`."""
    return changed(LaunchSpec(membership, str(checkpoint), folder, Settings(serve=PLAIN)), **changes)


def changed(spec: LaunchSpec, **changes: Any) -> LaunchSpec:
    serve = {name: changes.pop(name) for name in _SETTINGS & changes.keys() if name not in ("checkpoint", "listen")}
    return replace(spec.with_serve(**serve), **changes)
