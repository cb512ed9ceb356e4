"""Finds models that a swarm could have, on this computer's disk and on the hub, and how many computers each needs.

A short-lived process asks the hub, so that the daemon stays small.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck_control.launch_spec import usual_memory_bytes
from potluck_control.methods.machine import Device
from potluck_control.methods.models import ModelChoice
from potluck_control.own_python import python_command
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.settings import ServeSettings

from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.manifest import files_of
from potluck.model_folder import SMALL, has_model
from potluck.protocol.hub import FoundModel
from potluck.sentences import sentence
from potluck_daemon.environment.interpreter import has_torch
from potluck_daemon.swarms.hub import ask_hub
from potluck_daemon.swarms.stored_models import PREFIX

_WEIGHTS_SHARE = 0.8  # of what a computer lends; the rest is for sessions and activations
_PARAMETER_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "int8": 1.0, "int4": 0.625}  # int4 with its scales
_MOST = 200  # models of one folder
_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]{1,64})", re.MULTILINE)
_HEAD_CHARS = 4096  # of a model card, where its licence stands
_INDEX_FILE = "model.safetensors.index.json"


@dataclass(frozen=True, slots=True)
class Lending:
    """What a computer lends to a model, and the bytes of a parameter in the number format that it computes in."""

    memory_bytes: int
    parameter_bytes: float

    def num_computers(self, num_parameters: int) -> int:
        """Return how many such computers hold a model, about; 0: not known."""
        room = self.memory_bytes * _WEIGHTS_SHARE
        return math.ceil(num_parameters * self.parameter_bytes / room) if num_parameters > 0 and room > 0 else 0


def lending(serve: ServeSettings, engine_limit_bytes: int, devices: Sequence[Device]) -> Lending:
    """Return what this computer lends.

    Args:
        engine_limit_bytes: what the engine may use that runs now; 0: none runs, or it has no limit.
        devices: of this computer, the best one first.
    """
    chosen = [device for device in devices if device.name in (serve.devices or (serve.device,))] or list(devices[:1])
    memory = engine_limit_bytes or (serve.memory_limit_mb << 20) * max(len(serve.devices), 1)
    if not memory:
        memory = sum(usual_memory_bytes(_free(device), is_gpu=_is_gpu(device)) for device in chosen)
    is_cpu = not any(map(_is_gpu, chosen))
    automatic = "float32" if is_cpu and serve.quantization == "none" else "bfloat16"
    computed = automatic if serve.dtype == "auto" else serve.dtype
    held = computed if serve.quantization == "none" else serve.quantization
    return Lending(memory, _PARAMETER_BYTES[held])


def on_disk(cache: Path, folder: str, checkpoint: str, lent: Lending) -> tuple[ModelChoice, ...]:
    """Return the models of a folder that the user names; without one, the downloads and what comes with Potluck.

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
        found = tuple(_described(str(item), item.name, item, lent) for item in _checkpoints(path))
        if not found:
            hint = sentence(
                "choose a folder with config.json and .safetensors files, or one that contains such folders"
            )
            raise UsageError(sentence("{path} has no model", path=str(path)), hint=hint)
        return found
    demo = resource(DEMO_MODEL)
    beside = _checkpoints(Path(checkpoint).parent) if checkpoint else ()
    return (
        *(_described(str(item), item.name, item, lent) for item in beside),
        *(_described(name, name, snapshot, lent) for name, snapshot in _downloads(cache)),
        _described("", DEMO_MODEL, demo, lent),
    )


async def search(words: str, python: str, environment: Mapping[str, str], lent: Lending) -> tuple[ModelChoice, ...]:
    """Return the models on the hub whose names match. Raises PotluckError."""
    if not has_torch(python):
        raise PotluckError(sentence("cannot search the hub without the compute engine"), hint="potluck setup")
    command = python_command(python, "-m", "potluck.checkpoint.search", words)
    return tuple(_found(model, lent) for model in await ask_hub(command, environment, FoundModel))


def _found(model: FoundModel, lent: Lending) -> ModelChoice:
    computers, gated = lent.num_computers(model.num_parameters), model.is_gated
    return ModelChoice(model.name, model.name, model.bytes, model.licence, computers, is_here=False, is_gated=gated)


def _checkpoints(folder: Path) -> Iterator[Path]:
    """Yield the folder, if it is a checkpoint, else those in it."""
    if has_model(folder):
        yield folder
        return
    try:
        inside = sorted(item for item in folder.iterdir() if item.is_dir())
    except OSError:
        return
    yield from [item for item in inside if has_model(item)][:_MOST]


def _downloads(cache: Path) -> Iterator[tuple[str, Path]]:
    """Yield the hub's name and the newest snapshot of each download; a name without an owner is not on the hub."""
    for folder in sorted(cache.glob(f"{PREFIX}*--*"))[:_MOST]:
        snapshots = [item for item in folder.glob("snapshots/*") if has_model(item)]
        if snapshots:
            yield (
                folder.name.removeprefix(PREFIX).replace("--", "/", 1),
                max(snapshots, key=lambda item: item.stat().st_mtime),
            )


def _described(model: str, name: str, folder: Path, lent: Lending) -> ModelChoice:
    sizes = list(_sizes(folder))
    whole = bool(sizes) and all(size >= 0 for size in sizes)
    num_bytes = sum(sizes) if whole else _announced_bytes(folder)
    computers = lent.num_computers(round(num_bytes / width)) if (width := _stored_width(folder)) else 0
    return ModelChoice(model, name, num_bytes, _licence(folder), computers, is_here=whole)


def _sizes(folder: Path) -> Iterable[int]:
    """Yield the size of each file of weights, -1 for one that is missing."""
    try:
        names = files_of(folder)
    except CheckpointError:
        return
    for name in names:
        if not name.endswith(SMALL):
            try:
                yield (folder / name).stat().st_size
            except OSError:
                yield -1


def _announced_bytes(folder: Path) -> int:
    metadata = _read_json(folder / _INDEX_FILE).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return total if isinstance(total, int) and total > 0 else 0


def _stored_width(folder: Path) -> float:
    """Return the bytes of a parameter in the files, as the configuration tells; 0: it doesn't."""
    config = _read_json(folder / "config.json")
    text = config.get("text_config")
    parts = [config, *([text] if isinstance(text, dict) else [])]
    if any("quantization_config" in part for part in parts):
        return 0.0
    named = (part.get(key) for part in parts for key in ("dtype", "torch_dtype"))
    return next((_PARAMETER_BYTES[name] for name in named if isinstance(name, str) and name in _PARAMETER_BYTES), 0.0)


def _licence(folder: Path) -> str:
    """Return the licence that the model card names in its head; empty: none."""
    try:
        with (folder / "README.md").open(errors="replace") as stream:
            head = stream.read(_HEAD_CHARS)
    except OSError:
        return ""
    found = _LICENCE.search(head.partition("\n---")[0]) if head.startswith("---") else None
    return found.group(1) if found else ""


def _read_json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_gpu(device: Device) -> bool:
    return device.name != "cpu"


def _free(device: Device) -> int:
    """Return the whole memory of a GPU, which is free while nobody plays; of a processor's, what is free now."""
    return device.memory_bytes if _is_gpu(device) else device.free_bytes
