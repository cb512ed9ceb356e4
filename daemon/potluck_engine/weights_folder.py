"""Where the files of the swarm's model are on this computer, or come when they are fetched. Knows no torch."""

from __future__ import annotations

from pathlib import Path

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places
from potluck_control.resources import bundled_checkpoint

from potluck.manifest import Manifests, fetched_folder, has_model, hub_cache


def manifests() -> Manifests:
    """Return the manifests that this computer keeps."""
    return Manifests(user_places().state / "manifests")


def own_folder(spec: LaunchSpec) -> Path | None:
    """Return the folder that the user chose for the model; None: Potluck chooses."""
    chosen = Path(spec.checkpoint).expanduser()
    is_chosen = chosen.is_dir() and chosen not in (bundled_checkpoint(spec.swarm.model), fetched(spec))
    return chosen if is_chosen else None


def fetched(spec: LaunchSpec) -> Path:
    """Return the folder into which Potluck fetches the model."""
    return fetched_folder(spec.swarm, hub_cache())


def shared_folder(spec: LaunchSpec) -> Path:
    """Return the folder whose files other members may get."""
    found = own_folder(spec) or fetched(spec)
    bundled = bundled_checkpoint(spec.swarm.model)
    return bundled if bundled is not None and not has_model(found) else found
