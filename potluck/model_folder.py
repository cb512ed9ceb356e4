"""Where the files of a swarm's model are: in one folder of the cache, named by the digest of their manifest.

`model_folder` is the only place that turns a model into a folder, and `inside` the only one that turns a name into a
path in it. What an invite, a leader or a member says can't lead out of that folder. The layout is huggingface_hub's, so
that the same pages list, move and delete these models and the hub's. Knows neither torch nor the network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from potluck.errors import CheckpointError
from potluck.protocol.swarm import Swarm, is_model_name, is_revision

SMALL = (".json", ".txt", ".model", ".jinja")
"""How names of configuration and tokenizer files end."""


def hub_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return huggingface_hub's folder of downloads without importing it."""
    named = environment.get("HF_HUB_CACHE")
    if named:
        return Path(named)
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(environment.get("HF_HOME") or Path(cache, "huggingface")) / "hub"


def model_folder(model: str, version: str, cache: Path) -> Path:
    """Return the folder of one version of a model. Nothing is made.

    Args:
        version: the digest of its manifest; of files that the hub's library keeps, their commit.

    Raises:
        CheckpointError: it would lie outside the cache.
    """
    if not is_model_name(model) or not is_revision(version):
        raise CheckpointError("the swarm's model has a name or a version that would lead out of the cache")
    return inside(cache, f"models--{model.replace('/', '--')}", "snapshots", version)


def inside(folder: Path, *names: str) -> Path:
    """Return a path in a folder. Raises CheckpointError if a name or a link leads elsewhere."""
    try:
        root = folder.resolve()
        path = root.joinpath(*names)
        if path != root and path.is_relative_to(root) and path.resolve() == path:
            return path
    except (OSError, ValueError, RuntimeError):  # a name too long, one with a zero byte, and a circle of links
        pass
    raise CheckpointError(f"a file of the model would lie outside {folder}", hint="remove the link that leads out")


def pinned_folder(swarm: Swarm, cache: Path) -> Path:
    """Return the folder of the files that a swarm pins. Raises CheckpointError."""
    return model_folder(swarm.model, swarm.weights, cache)


def hub_folder(swarm: Swarm, cache: Path) -> Path:
    """Return where the hub's library has files of the model. It is only read. Raises CheckpointError."""
    return model_folder(swarm.model, swarm.revision, cache)


def fetched_folders(swarm: Swarm, cache: Path) -> tuple[Path, ...]:
    """Return where files that a swarm pins may have come, the best place first."""
    return (pinned_folder(swarm, cache), hub_folder(swarm, cache)) if swarm.weights else ()


def downloaded(swarm: Swarm, cache: Path) -> Path | None:
    """Return the folder with the files that a swarm pins, as far as they have come; None: none are here."""
    return next(filter(has_model, fetched_folders(swarm, cache)), None)


def has_model(folder: Path) -> bool:
    """Return whether a folder holds a checkpoint, as far as its configuration shows."""
    return (folder / "config.json").is_file()
