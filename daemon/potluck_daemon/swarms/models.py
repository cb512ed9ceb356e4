"""Finds the models that are stored on this computer and those that a swarm could have, on the disk and on the hub.

The layout of downloads is huggingface_hub's: a folder `models--OWNER--NAME` for each model with `blobs`, `refs` and
`snapshots`. A running engine can still read files that it has mapped after they were deleted. Everything but `search`
blocks.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods.machine import Device
from potluck_control.methods.models import ModelChoice, StoredModel
from potluck_control.processes.launch_spec import usual_memory_bytes
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.settings import ServeSettings

from potluck.errors import CheckpointError, UsageError
from potluck.files import disk_usage_bytes
from potluck.model_files import SMALL, files_of, has_model
from potluck.protocol.local_messages import FoundModel
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck_daemon.swarms.new_model import query_hub

_PREFIX = "models--"  # the beginning of the name of a model's folder
_PARTIAL = (".partial", ".incomplete")
_WEIGHTS_SHARE = 0.8  # the rest of the memory that a computer lends is for sessions and activations
_PARAMETER_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "int8": 1.0, "int4": 0.625}  # int4 with its scales
_INDEX_FILE = "model.safetensors.index.json"


def downloads(folder: Path) -> list[tuple[str, Path]]:
    """Return the name and folder of each download. A name without an owner is not one of the hub's."""
    found = (path for path in folder.glob(f"{_PREFIX}*") if path.is_dir())
    return sorted((path.name.removeprefix(_PREFIX).replace("--", "/", 1), path) for path in found)


def stored_models(folder: Path, swarms: Sequence[Swarm], served: str) -> tuple[StoredModel, ...]:
    """Return the models in `folder`, largest first.

    Args:
        swarms: the joined swarms.
        served: the name of the model that is served now.
    """
    found = []
    for name, path in downloads(folder):
        users = tuple(swarm.name for swarm in swarms if name in (swarm.model, swarm.draft_name))
        is_partial = any(file.name.endswith(_PARTIAL) for file in path.glob("blobs/*"))
        found.append(StoredModel(name, disk_usage_bytes(path), is_partial, users, is_served=name == served))
    return tuple(sorted(found, key=lambda model: -model.bytes))


def delete_folder(path: Path) -> int:
    """Delete a folder, if it is there, and return the bytes that were freed. Raises OSError."""
    taken = disk_usage_bytes(path)
    if path.is_dir():
        shutil.rmtree(path)
    return taken


@dataclass(frozen=True, slots=True)
class Lending:
    """What a computer lends to a model, and the bytes of a parameter in the number format that it computes in."""

    memory_bytes: int
    parameter_bytes: float

    def num_computers(self, num_parameters: int) -> int:
        """Return about how many such computers a model needs; 0: unknown."""
        room = self.memory_bytes * _WEIGHTS_SHARE
        return math.ceil(num_parameters * self.parameter_bytes / room) if num_parameters > 0 and room > 0 else 0


def lending(serve: ServeSettings, engine_limit_bytes: int, devices: Sequence[Device]) -> Lending:
    """Return what this computer lends.

    Args:
        engine_limit_bytes: what the running engine may use; 0: none runs, or it has no limit.
        devices: those of this computer, the best one first.
    """
    chosen = [device for device in devices if device.name in (serve.devices or (serve.device,))] or list(devices[:1])
    given = (serve.memory_limit_mb << 20) * max(len(serve.devices), 1)
    memory = engine_limit_bytes or given or sum(map(_usual_bytes, chosen))
    is_cpu = all(device.name == "cpu" for device in chosen)
    automatic = "float32" if is_cpu and serve.quantization == "none" else "bfloat16"
    computed = automatic if serve.dtype == "auto" else serve.dtype
    held = computed if serve.quantization == "none" else serve.quantization
    return Lending(memory, _PARAMETER_BYTES[held])


def on_disk(cache: Path, folder: str, checkpoint: str, lent: Lending) -> tuple[ModelChoice, ...]:
    """Return the models in a folder that the user names; without one, the downloads and the demo model.

    Args:
        cache: the folder of downloads.
        checkpoint: the folder that is served, if it is no download; those beside it are listed, too.

    Raises:
        UsageError: the named folder has no checkpoint.
    """
    if folder:
        path = Path(folder).expanduser()
        if not path.is_absolute():
            raise UsageError(sentence("the folder must be absolute"), hint=sentence("begin it with /"))
        found = tuple(_describe(str(item), item.name, item, lent) for item in _checkpoints(path))
        if not found:
            hint = sentence(
                "choose a folder with config.json and .safetensors files, or one that contains such folders"
            )
            raise UsageError(sentence("{path} has no model", path=str(path)), hint=hint)
        return found
    beside = _checkpoints(Path(checkpoint).parent) if checkpoint else ()
    return (
        *(_describe(str(item), item.name, item, lent) for item in beside),
        *(_describe(name, name, snapshot, lent) for name, snapshot in _downloads(cache)),
        _describe("", DEMO_MODEL, resource(DEMO_MODEL), lent),
    )


async def search(words: str, python: str, environment: Mapping[str, str], lent: Lending) -> tuple[ModelChoice, ...]:
    """Return the models on the hub whose names match. Raises PotluckError."""
    found = await query_hub([words], python, environment, FoundModel)
    return tuple(
        ModelChoice(
            *(model.name, model.name, model.bytes, model.licence, lent.num_computers(model.num_parameters)),
            is_here=False,
            is_gated=model.is_gated,
        )
        for model in found
    )


def _checkpoints(folder: Path) -> list[Path]:
    """Return the folder, if it is a checkpoint, else the checkpoints in it."""
    return [folder] if has_model(folder) else sorted(filter(has_model, folder.glob("*")))


def _downloads(cache: Path) -> Iterator[tuple[str, Path]]:
    """Yield the hub's name and the newest snapshot of each download."""
    for name, folder in downloads(cache):
        snapshots = [item for item in folder.glob("snapshots/*") if has_model(item)]
        if snapshots and "/" in name:
            yield name, max(snapshots, key=lambda item: item.stat().st_mtime)


def _describe(model: str, name: str, folder: Path, lent: Lending) -> ModelChoice:
    """Describe the checkpoint in a folder, without its licence: whoever has the files knows it."""
    config, is_here = _read_json(folder / "config.json"), True
    try:
        num_bytes = sum((folder / file).stat().st_size for file in files_of(folder) if not file.endswith(SMALL))
    except (CheckpointError, OSError):
        metadata, is_here = _read_json(folder / _INDEX_FILE).get("metadata"), False
        announced = metadata.get("total_size") if isinstance(metadata, dict) else None
        num_bytes = max(announced, 0) if isinstance(announced, int) else 0
    width = _PARAMETER_BYTES.get(str(config.get("dtype") or config.get("torch_dtype") or "bfloat16"), 2.0)
    num_computers = 0 if "quantization_config" in config else lent.num_computers(round(num_bytes / width))
    return ModelChoice(model, name, num_bytes, "", num_computers, is_here=is_here)


def _read_json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _usual_bytes(device: Device) -> int:
    """Return what an engine takes by default: of all memory of a GPU, or of the free RAM."""
    is_gpu = device.name != "cpu"
    return usual_memory_bytes(device.memory_bytes if is_gpu else device.free_bytes, is_gpu=is_gpu)
