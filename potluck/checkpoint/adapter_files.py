"""Adapters on disk: finds them, checks their headers, and identifies them by a hash. It reads no tensors.

An adapter is a folder, or a name on the hub, with `adapter_config.json` and `adapter_model.safetensors` as peft saves
them. A file of an older peft is a pickle and is never opened. Plain LoRA is accepted, everything else refused by name.
The names of tensors say which layers an adapter changes; the configuration gives ranks and scales. Regular expressions
in it are never run, because they may come from strangers: patterns may only be endings of names.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from potluck.checkpoint.hub import download_file
from potluck.checkpoint.shards import Shard, file_errors
from potluck.errors import CheckpointError
from potluck.protocol.adapters import LayerPlace, adapter_id
from potluck.sentences import sentence

T = TypeVar("T")

MAX_RANK = 1024
Rank = Annotated[int, Meta(ge=1, le=MAX_RANK)]
_MAX_CONFIG_BYTES = 1 << 20
_HINT = "train it again with a plain LoraConfig, or merge it into the model"
_WITHOUT_EFFECT = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "ensure_weight_tying",
        "eva_config",  # says how training began
        "exclude_modules",
        "fan_in_fan_out",  # says how the base layer stores its matrix, not the adapter
        "inference_mode",
        "layers_pattern",
        "lora_dropout",
        "megatron_core",
        "peft_version",
        "qalora_group_size",  # has an effect only with use_qalora
        "revision",
        "runtime_config",
        "task_type",
    }
)
_KEEPS_THE_BASE = (None, True, False, "gaussian", "orthogonal", "eva")
"""Ways to begin training that leave the model's own weights unchanged."""
_PLAIN = re.compile(r"\^?[\w.]{1,200}", re.ASCII)
CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
_NAME = re.compile(
    r"base_model\.model\.(?P<module>(?:\w+\.)*(?:layers|h|blocks|decoder_layers)\.(?P<block>\d{1,6})\.(?P<name>[\w.]+))"
    r"\.lora_(?P<side>[AB])\.weight",
    re.ASCII,
)


class AdapterConfig(msgspec.Struct, frozen=True):
    """The needed parts of a configuration, as peft names them.

    Attributes:
        target_modules: a text is a regular expression; the tensors then say which layers.
    """

    peft_type: str
    r: Rank = 8
    lora_alpha: float = 8.0
    use_rslora: bool | None = False
    rank_pattern: dict[str, Rank] | None = None
    alpha_pattern: dict[str, float] | None = None
    target_modules: list[str] | str | None = None
    layers_to_transform: list[int] | int | None = None
    bias: str | None = "none"
    init_lora_weights: bool | str | None = None

    @property
    def fingerprint(self) -> bytes:
        """Return bytes that change with everything that changes the results of the adapter, apart from its tensors."""
        fields = self.r, self.lora_alpha, bool(self.use_rslora), self.rank_pattern or {}, self.alpha_pattern or {}
        return json.dumps(fields, sort_keys=True).encode()

    def rank_of(self, module: str) -> int:
        """Return the rank of a layer, given by its name in the whole model."""
        return _match(self.rank_pattern or {}, module, self.r)

    def scale_of(self, module: str) -> float:
        """Return the factor for what the adapter adds to a layer."""
        rank, alpha = self.rank_of(module), _match(self.alpha_pattern or {}, module, self.lora_alpha)
        return alpha / math.sqrt(rank) if self.use_rslora else alpha / rank

    def changes(self, module: str, block: int) -> bool:
        """Return whether the configuration, as far as it is read, allows this layer."""
        targets, layers = self.target_modules, self.layers_to_transform
        if isinstance(targets, list) and not any(_ends_with(module, target) for target in targets):
            return False
        return layers is None or block in (layers if isinstance(layers, list) else [layers])


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
    pairs: Mapping[LayerPlace, Pair]

    def nbytes(self, places: Iterable[LayerPlace], itemsize: int) -> int:
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
                sentence(
                    "{folder} is not an adapter that can be served: it has no {file}", folder=name, file=path.name
                ),
                hint=sentence(
                    "adapters in .bin files are pickles and are never opened; save it again with a newer peft"
                ),
            )
    config, weights = _read_config(files[0]), files[1]
    pairs = _pairs(name, config, Shard(weights).shapes, num_blocks)
    with file_errors(weights), weights.open("rb") as content:
        digest = hashlib.file_digest(content, lambda: hashlib.sha256(config.fingerprint))
    return AdapterFile(adapter_id(folder.resolve().name if is_local else name, digest.hexdigest()), weights, pairs)


def _pairs(
    name: str, config: AdapterConfig, shapes: Mapping[str, tuple[int, ...]], num_blocks: int
) -> dict[LayerPlace, Pair]:
    modules: dict[tuple[LayerPlace, str], dict[str, str]] = {}
    for tensor, shape in shapes.items():
        match = _NAME.fullmatch(tensor)
        if match is None or len(shape) != 2:
            raise CheckpointError(
                sentence(
                    "{file} contains {what}, which does not belong to a layer of a block", file=name, what=tensor[:200]
                ),
                hint=sentence("only plain LoRA of linear parts of layers can be served"),
            )
        place, module = LayerPlace(int(match["block"]), match["name"]), match["module"]
        if place.block >= num_blocks or not config.changes(module, place.block):
            raise CheckpointError(
                sentence(
                    "{file} contains {what}, which its configuration or the model does not have",
                    file=name,
                    what=tensor[:200],
                ),
                hint=sentence("it was trained for another model, or its files do not belong together"),
            )
        modules.setdefault((place, module), {})[match["side"]] = tensor
    if not modules or len({place for place, _ in modules}) != len(modules):
        raise CheckpointError(
            sentence("{file} changes no layer, or changes one twice", file=name),
            hint=sentence("copy the adapter again"),
        )
    return {place: _pair(name, config, module, sides, shapes) for (place, module), sides in modules.items()}


def _pair(
    name: str, config: AdapterConfig, module: str, sides: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> Pair:
    rank = config.rank_of(module)
    if set(sides) != {"A", "B"} or shapes[sides["A"]][0] != rank or shapes[sides["B"]][1] != rank:
        raise CheckpointError(
            sentence(
                "{file} does not contain two matrices of rank {number} for {what}", file=name, number=rank, what=module
            ),
            hint=sentence("its configuration and its tensors do not belong together"),
        )
    in_features, out_features = shapes[sides["A"]][1], shapes[sides["B"]][0]
    return Pair(sides["A"], sides["B"], rank, in_features, out_features, config.scale_of(module))


def _read_config(path: Path) -> AdapterConfig:
    """Read and check a configuration. Raises CheckpointError for damage and for anything but plain LoRA."""
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            raise ValueError("it is too large")
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        _refuse_more_than_plain(content)
        config = msgspec.convert(content, AdapterConfig)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            sentence("{file} is damaged: {why}", file=path, why=error), hint=sentence("copy the adapter again")
        ) from error
    for name, pattern in (("rank_pattern", config.rank_pattern), ("alpha_pattern", config.alpha_pattern)):
        if not all(_PLAIN.fullmatch(key) for key in pattern or ()):
            raise CheckpointError(
                sentence("the adapter's {what} has a regular expression, which is never run", what=name), hint=_HINT
            )
    return config


def _refuse_more_than_plain(content: Mapping[str, Any]) -> None:
    kind = content.get("peft_type")
    if kind != "LORA":
        raise CheckpointError(
            sentence("adapters of the kind {what} are not supported, only LORA", what=repr(kind)), hint=_HINT
        )
    if content.get("bias", "none") != "none":
        raise CheckpointError(sentence("the adapter changes biases, which is not plain LoRA"), hint=_HINT)
    if content.get("init_lora_weights") not in _KEEPS_THE_BASE:
        raise CheckpointError(
            sentence(
                "the adapter began as {what}, which changes the model's own weights",
                what=repr(content["init_lora_weights"]),
            ),
            hint=_HINT,
        )
    for name, value in content.items():
        if name not in _WITHOUT_EFFECT.union(AdapterConfig.__struct_fields__) and value:
            raise CheckpointError(sentence("the adapter uses {what}, which is not plain LoRA", what=name), hint=_HINT)


def _match(pattern: Mapping[str, T], module: str, default: T) -> T:
    """Return the value of the first pattern that fits, as peft does, or the default."""
    return next((value for key, value in pattern.items() if _ends_with(module, key)), default)


def _ends_with(module: str, name: str) -> bool:
    if name.startswith("^"):
        return module == name[1:]
    return module == name or module.endswith(f".{name}")
