"""Reads peft's `adapter_config.json`: accepts plain LoRA and refuses everything else by name.

The names of tensors say which layers an adapter changes; the configuration gives ranks and scales. Regular expressions
in it are never run, because they may come from strangers: patterns may only be endings of names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from potluck.errors import CheckpointError

T = TypeVar("T")

MAX_RANK = 1024
_MAX_CONFIG_BYTES = 1 << 20
_HINT = "train it again with a plain LoraConfig, or merge it into the model"
_WITHOUT_EFFECT = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "corda_config",  # this one and the next three say how training began
        "eva_config",
        "loftq_config",
        "lora_ga_config",
        "ensure_weight_tying",
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
_READ = frozenset(
    {
        "alpha_pattern",
        "bias",
        "init_lora_weights",
        "layers_to_transform",
        "lora_alpha",
        "peft_type",
        "r",
        "rank_pattern",
        "target_modules",
        "use_rslora",
    }
)
_KEEPS_THE_BASE = (None, True, False, "gaussian", "orthogonal", "eva")
"""Ways to begin training that leave the model's own weights unchanged."""
_PLAIN = re.compile(r"\^?[\w.]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """The needed parts of a configuration. `targets` is None for a regular expression; the tensors then say which
    layers.
    """

    rank: int
    alpha: float
    is_rank_stabilised: bool
    rank_pattern: Mapping[str, int]
    alpha_pattern: Mapping[str, float]
    targets: tuple[str, ...] | None
    layers: frozenset[int] | None

    @property
    def fingerprint(self) -> bytes:
        """Bytes that change with everything that changes the results of the adapter, apart from its tensors."""
        fields = (self.rank, self.alpha, self.is_rank_stabilised, *(dict(p) for p in self._patterns))
        return json.dumps(fields, sort_keys=True).encode()

    @property
    def _patterns(self) -> tuple[Mapping[str, float], ...]:
        return self.rank_pattern, self.alpha_pattern

    def rank_of(self, module: str) -> int:
        """Return the rank of a layer, given by its name in the whole model."""
        return _match(self.rank_pattern, module, self.rank)

    def scale_of(self, module: str) -> float:
        """Return the factor for what the adapter adds to a layer."""
        rank, alpha = self.rank_of(module), _match(self.alpha_pattern, module, self.alpha)
        return alpha / math.sqrt(rank) if self.is_rank_stabilised else alpha / rank

    def changes(self, module: str, block: int) -> bool:
        """Return whether the configuration, as far as it is read, allows this layer."""
        is_target = self.targets is None or any(_ends_with(module, target) for target in self.targets)
        return is_target and (self.layers is None or block in self.layers)


def read_config(path: Path) -> AdapterConfig:
    """Read and check a configuration. Raises CheckpointError for damage and for anything but plain LoRA."""
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            raise ValueError("it is too large")
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
        _refuse_more_than_plain(content)
        return _read(content)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}", hint="copy the adapter again") from error


def _refuse_more_than_plain(content: Mapping[str, Any]) -> None:
    kind = content.get("peft_type")
    if kind != "LORA":
        raise CheckpointError(f"adapters of the kind {kind!r} are not supported, only LORA", hint=_HINT)
    if content.get("bias", "none") != "none":
        raise CheckpointError("the adapter changes biases, which is not plain LoRA", hint=_HINT)
    if content.get("init_lora_weights") not in _KEEPS_THE_BASE:
        raise CheckpointError(
            f"the adapter began as {content['init_lora_weights']!r}, which changes the model's own weights", hint=_HINT
        )
    for name, value in content.items():
        if name not in _WITHOUT_EFFECT | _READ and value:
            raise CheckpointError(f"the adapter uses {name}, which is not plain LoRA", hint=_HINT)


def _read(content: Mapping[str, Any]) -> AdapterConfig:
    targets = content.get("target_modules")
    layers = content.get("layers_to_transform")
    layers = [layers] if type(layers) is int else layers
    if layers is not None and not (isinstance(layers, list) and all(type(layer) is int for layer in layers)):
        raise ValueError("layers_to_transform is not a list of numbers")
    if isinstance(targets, list) and not all(isinstance(target, str) for target in targets):
        raise ValueError("target_modules is not a list of names")
    return AdapterConfig(
        rank=_rank(content.get("r", 8)),
        alpha=_alpha(content.get("lora_alpha", 8)),
        is_rank_stabilised=content.get("use_rslora", False) is True,
        rank_pattern={key: _rank(value) for key, value in _pattern(content, "rank_pattern").items()},
        alpha_pattern={key: _alpha(value) for key, value in _pattern(content, "alpha_pattern").items()},
        targets=tuple(targets) if isinstance(targets, list) else None,
        layers=None if layers is None else frozenset(layers),
    )


def _pattern(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    pattern = content.get(name) or {}
    if not isinstance(pattern, dict):
        raise ValueError(f"{name} is not an object")
    for key in pattern:
        if not _PLAIN.fullmatch(key):
            raise CheckpointError(f"the adapter's {name} has a regular expression, which is never run", hint=_HINT)
    return pattern


def _rank(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_RANK:
        raise ValueError(f"a rank must be a whole number from 1 to {MAX_RANK}, not {value!r}")
    return value


def _alpha(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"lora_alpha must be a number, not {value!r}")
    return float(value)


def _match(pattern: Mapping[str, T], module: str, default: T) -> T:
    """Return the value of the first pattern that fits, as peft does, or the default."""
    return next((value for key, value in pattern.items() if _ends_with(module, key)), default)


def _ends_with(module: str, name: str) -> bool:
    if name.startswith("^"):
        return module == name[1:]
    return module == name or module.endswith(f".{name}")
