"""Builds models on the meta device and fills the kept modules from a checkpoint.

The full configuration is used to build, so that types of layers, dense or expert layers and skipped position encodings
are right. Modules that are not kept are removed before anything is read. The conversions of transformers (experts fused
into one tensor, renamed keys) run on one group of tensors at a time, so that peak memory stays near the size of the
result.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import (
    Concatenate,
    MergeModulelist,
    WeightConverter,
    WeightRenaming,
    convert_and_load_state_dict_in_model,
    dot_natural_key,
    rename_source_key,
)
from transformers.modeling_utils import LoadStateDictConfig
from transformers.quantizers import HfQuantizer
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from potluck.checkpoint.packed import Packing
from potluck.errors import CheckpointError
from potluck.sentences import sentence

_POISON_INT = -(2**31)
_COMPUTED = re.compile(r"(^|\.)(rotary_emb\.inv_freq|position_ids)$")
_MASK = re.compile(r"(^|[._])(attn|attention)\.(masked_)?bias$")  # a real bias of this name has one dimension

log = logging.getLogger(__name__)


class Passthrough(nn.Module):
    """A module in place of an embedding or a norm that a span does not have.

    Hidden states pass through. For ids or positions it returns zeros that broadcast, because the real input replaces
    them later.
    """

    def __init__(self, hidden_size: int, dtype: torch.dtype) -> None:
        super().__init__()
        self._hidden_size = hidden_size
        self._dtype = dtype

    def forward(
        self, x: Tensor | None = None, *args: object, inputs_embeds: Tensor | None = None, **kwargs: object
    ) -> Tensor:
        x = inputs_embeds if x is None else x
        assert x is not None
        if x.is_floating_point() and x.shape[-1] == self._hidden_size:
            return x
        return torch.zeros((1, 1, self._hidden_size), dtype=self._dtype, device=x.device)


class Filler:
    """The filling of a model that was built on meta: one group of tensors after another, until none is missing.

    Args:
        stored: undoes the quantization of the checkpoint, see `potluck.checkpoint.stored`.
    """

    def __init__(
        self, model: Any, dtype: torch.dtype, device: str, stored: HfQuantizer | Packing | None = None
    ) -> None:
        self._model = model
        self._device = device
        self._packing = stored if isinstance(stored, Packing) else None
        self._settings: dict[str, Any] = {
            "dtype": dtype,
            "device_map": {"": device},
            "dtype_plan": model._get_dtype_plan(dtype),
            "hf_quantizer": None if isinstance(stored, Packing) else stored,
        }
        self.missing = set(model.state_dict().keys())
        self._ignored: set[str] = set()  # kinds of tensors that the log has named

    def fill(self, tensors: Mapping[str, Tensor]) -> None:
        """Load `tensors`, by their names in the checkpoint. Raises CheckpointError for wrong shapes or names."""
        if self._packing is not None:
            tensors = self._packing.expanded(tensors, self._settings["dtype"])
        mapping = get_model_conversion_mapping(self._model, hf_quantizer=self._settings["hf_quantizer"])
        config = LoadStateDictConfig(**self._settings, weight_mapping=mapping)
        with _no_progress_bar():
            info, _ = convert_and_load_state_dict_in_model(self._model, dict(tensors), config)
        self.missing &= info.missing_keys
        if info.mismatched_keys:
            name, found, wanted = sorted(info.mismatched_keys)[0]
            raise CheckpointError(
                sentence(
                    "{what} has the shape {number} in the checkpoint, but the configuration says {other}",
                    what=name,
                    number=str(list(found)),
                    other=str(list(wanted)),
                ),
                hint=sentence("config.json and the tensors belong to different models"),
            )
        if info.conversion_errors or info.error_msgs:
            problem = next(iter(info.conversion_errors.values()), None) or info.error_msgs[0]
            raise CheckpointError(
                sentence("a tensor cannot be converted: {why}", why=str(problem).strip().splitlines()[-1])
            )
        unknown = sorted(name for name in info.unexpected_keys if not self._is_needless(name, tensors.get(name)))
        if unknown:
            raise CheckpointError(
                sentence("the checkpoint has {what}, which the model does not know", what=unknown[0]),
                hint=sentence("config.json and the tensors belong to different models"),
            )
        kinds = {re.sub(r"\.\d+\.", ".*.", name) for name in info.unexpected_keys} - self._ignored
        if kinds:
            self._ignored |= kinds
            log.info("tensors that the model does not use are ignored: %s", ", ".join(sorted(kinds)))

    def _is_needless(self, name: str, tensor: Tensor | None) -> bool:
        """Return whether the model computes the same without a tensor that it does not know.

        Its class may say so, as for Transformers; earlier versions of the library stored masks, positions and
        frequencies; and GPTQ's packages store a bias of zeros for each matrix without one.
        """
        declared = self._model._keys_to_ignore_on_load_unexpected or ()
        if _COMPUTED.search(name) or any(re.search(pattern, name) for pattern in declared):
            return True
        if tensor is None or not name.endswith("bias"):
            return False
        is_mask = tensor.dim() != 1 and _MASK.search(name) is not None
        return is_mask or (self._packing is not None and not bool(tensor.any()))

    def merged(self, names: Iterable[str]) -> dict[str, list[tuple[str, ...]]]:
        """Return which of these tensors `fill` merges into one parameter of experts.

        Maps the parameter to the names of each expert's parts, whose rows follow one another.
        """
        mapping = get_model_conversion_mapping(self._model)
        renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
        converters = [entry for entry in mapping if isinstance(entry, WeightConverter)]
        wanted = self._model.state_dict()
        found: dict[str, dict[str, list[str]]] = {}
        for name in sorted(names, key=dot_natural_key):
            target, source = rename_source_key(name, renamings, converters, self._model.base_model_prefix, wanted)
            if source is not None:
                found.setdefault(target, {}).setdefault(source, []).append(name)
        merged = {}
        for target, sources in found.items():
            converter = next(each for each in converters if sources.keys() <= set(each.source_patterns))
            steps = [(type(step), getattr(step, "dim", None)) for step in converter.operations]
            parts = [sources.get(source, []) for source in converter.source_patterns]
            if steps == [(MergeModulelist, 0), (Concatenate, 1)][: len(parts)] and len(set(map(len, parts))) == 1:
                merged[target] = list(zip(*parts, strict=True))
        return merged

    def check(self, prefix: str = "") -> None:
        """Raise CheckpointError if a tensor whose name begins with `prefix` was never filled."""
        missing = sorted(name for name in self.missing if name.startswith(prefix))
        if missing:
            what = sentence("the checkpoint lacks {what}", what=missing[0])
            if len(missing) > 1:
                others = len(missing) - 1
                what = sentence("the checkpoint lacks {what} and {number} more", what=missing[0], number=others)
            raise CheckpointError(what, hint=sentence("download it again, or ask its author"))

    def finish(self) -> None:
        """Freeze the model and set it to evaluation. Raises CheckpointError if a tensor was never filled."""
        self.check()
        for parameter in self._model.parameters():
            parameter.requires_grad_(False)
        self._model.eval()


def rebuild_buffers(model: Any, device: str) -> None:
    """Compute every buffer that is on meta, because checkpoints lack some, such as rotary frequencies.

    A buffer built on meta holds arbitrary memory. So each is poisoned, computed by the family's own initialisation, and
    refused if the poison remains. Call it before tensors are loaded, while initialising a parameter on meta still has
    no effect. Frequencies that would change with the length of a text stay as they are.
    """
    for path, module in model.named_modules():
        names = [name for name, buffer in module.named_buffers(recurse=False) if buffer.is_meta]
        if not names:
            continue
        for name in names:
            module._buffers[name] = _poisoned(module._buffers[name], device)
        computed, around = sorted(module._non_persistent_buffers_set.intersection(names)), path
        with torch.no_grad():
            model._init_weights(module)
            while around and any(_is_poisoned(module._buffers[name]) for name in computed):
                around = around.rpartition(".")[0]  # some families compute a part's buffers in the module around it
                model._init_weights(model.get_submodule(around))
        for name in computed:
            if _is_poisoned(module._buffers[name]):
                raise CheckpointError(
                    sentence(
                        "{family} cannot be computed: models of this family are not supported", family=f"{path}.{name}"
                    )
                )
        _keep_frequencies(module)


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Hide the library's progress bar, which it draws for each group of tensors."""
    was_enabled = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            enable_progress_bar()


def _poisoned(buffer: Tensor, device: str) -> Tensor:
    filled = torch.empty_like(buffer, device=device)
    if buffer.is_floating_point():
        return filled.fill_(float("nan"))
    return filled.fill_(_POISON_INT if buffer.dtype in (torch.int32, torch.int64) else 0)


def _is_poisoned(buffer: Tensor) -> bool:
    if buffer.is_floating_point():
        return bool(torch.isnan(buffer).any())
    return buffer.dtype in (torch.int32, torch.int64) and bool((buffer == _POISON_INT).any())


def _keep_frequencies(module: Any) -> None:
    """Fix rotary frequencies for texts of all lengths; `longest_text` says how long texts may be."""
    kinds = getattr(module, "rope_type", None)
    if kinds is not None:
        module.rope_type = dict.fromkeys(kinds, "default") if isinstance(kinds, dict) else "default"
