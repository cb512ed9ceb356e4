"""Adapters on disk: finds them, checks their headers, and identifies them by a hash. It reads no tensors.

An adapter is a folder, or a name on the hub, with `adapter_config.json` and `adapter_model.safetensors` as peft saves
them. A file of an older peft is a pickle and is never opened.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from potluck.checkpoint.adapter_config import AdapterConfig, read_config
from potluck.checkpoint.hub import download_file
from potluck.checkpoint.shards import Shard
from potluck.checkpoint.tensors import file_errors
from potluck.errors import CheckpointError
from potluck.protocol.adapters import adapter_id

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
_NAME = re.compile(
    r"base_model\.model\.(?P<module>(?:\w+\.)*(?:layers|h|blocks|decoder_layers)\.(?P<block>\d{1,6})\.(?P<name>[\w.]+))"
    r"\.lora_(?P<side>[AB])\.weight",
    re.ASCII,
)


class Place(NamedTuple):
    """A linear layer: the number of its block and its name in the block."""

    block: int
    name: str


class Pair(NamedTuple):
    """What is added to one layer, x -> scale * up(down(x)): the names of the two tensors, and their shapes.

    down [rank, in_features], up [out_features, rank].
    """

    down: str
    up: str
    rank: int
    in_features: int
    out_features: int
    scale: float


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """An adapter whose configuration and headers were checked."""

    id: str
    path: Path
    pairs: Mapping[Place, Pair]

    def nbytes(self, places: Iterable[Place], itemsize: int) -> int:
        """Return the bytes of its tensors for these layers."""
        found = [self.pairs[place] for place in places if place in self.pairs]
        return itemsize * sum(pair.rank * (pair.in_features + pair.out_features) for pair in found)


def open_adapter(name: str, *, num_blocks: int) -> AdapterFile:
    """Check the adapter in a folder or on the hub.

    Args:
        num_blocks: of the whole model.

    Raises:
        CheckpointError: it is missing or damaged, is not plain LoRA, or changes layers that the blocks do not have.
    """
    folder = Path(name).expanduser()
    is_local = folder.is_dir()
    files = [folder / file if is_local else download_file(name, file) for file in (CONFIG_FILE, WEIGHTS_FILE)]
    for path in files:
        if not path.is_file():
            raise CheckpointError(
                f"{name} is not an adapter that can be served: it has no {path.name}",
                hint="adapters in .bin files are pickles and are never opened; save it again with a newer peft",
            )
    config, weights = read_config(files[0]), files[1]
    pairs = _pairs(name, config, Shard(weights).shapes, num_blocks)
    with file_errors(weights), weights.open("rb") as content:
        digest = hashlib.file_digest(content, lambda: hashlib.sha256(config.fingerprint))
    return AdapterFile(adapter_id(folder.resolve().name if is_local else name, digest.hexdigest()), weights, pairs)


def _pairs(
    name: str, config: AdapterConfig, shapes: Mapping[str, tuple[int, ...]], num_blocks: int
) -> dict[Place, Pair]:
    modules: dict[tuple[Place, str], dict[str, str]] = {}
    for tensor, shape in shapes.items():
        match = _NAME.fullmatch(tensor)
        if match is None or len(shape) != 2:
            raise CheckpointError(
                f"{name} contains {tensor[:200]}, which does not belong to a layer of a block",
                hint="only plain LoRA of linear layers inside blocks can be served",
            )
        place, module = Place(int(match["block"]), match["name"]), match["module"]
        if place.block >= num_blocks or not config.changes(module, place.block):
            raise CheckpointError(
                f"{name} contains {tensor[:200]}, which its configuration or the model does not have",
                hint="it was trained for another model, or its files do not belong together",
            )
        modules.setdefault((place, module), {})[match["side"]] = tensor
    if not modules or len({place for place, _ in modules}) != len(modules):
        raise CheckpointError(f"{name} changes no layer, or changes one twice", hint="copy the adapter again")
    return {place: _pair(name, config, module, sides, shapes) for (place, module), sides in modules.items()}


def _pair(
    name: str, config: AdapterConfig, module: str, sides: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> Pair:
    rank = config.rank_of(module)
    if set(sides) != {"A", "B"} or shapes[sides["A"]][0] != rank or shapes[sides["B"]][1] != rank:
        raise CheckpointError(
            f"{name} does not contain two matrices of rank {rank} for {module}",
            hint="its configuration and its tensors do not belong together",
        )
    in_features, out_features = shapes[sides["A"]][1], shapes[sides["B"]][0]
    return Pair(sides["A"], sides["B"], rank, in_features, out_features, config.scale_of(module))
