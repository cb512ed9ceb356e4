"""Where the files of the swarm's model are on this computer, or come when they are fetched. Knows no torch."""

from __future__ import annotations

from pathlib import Path

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places
from potluck_control.resources import bundled_checkpoint

from potluck.manifest import Manifests
from potluck.model_folder import fetched_folders, hub_cache, inside, pinned_folder


def manifests() -> Manifests:
    """Return the manifests that this computer keeps."""
    return Manifests(user_places().state / "manifests")


def own_folder(spec: LaunchSpec) -> Path | None:
    """Return the folder that the user chose for the model; None: Potluck chooses.

    Only a user's folder is absolute: the name of a model can't be.
    """
    chosen = Path(spec.checkpoint).expanduser()
    ours = (bundled_checkpoint(spec.swarm.model), *fetched_folders(spec.swarm, hub_cache()))
    return chosen if chosen.is_absolute() and chosen.is_dir() and chosen not in ours else None


def file_of_model(spec: LaunchSpec, name: str) -> Path:
    """Return where a file of the swarm's model is, or would come. Raises CheckpointError if that is outside."""
    own = own_folder(spec)
    if own is not None:
        return own / name
    fetched = inside(pinned_folder(spec.swarm, hub_cache()), name)
    bundled = bundled_checkpoint(spec.swarm.model)
    return bundled / name if bundled is not None and not fetched.exists() else fetched
