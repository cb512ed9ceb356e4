"""Checkpoints that are stored quantised: which formats are read, and why others are refused.

Formats that transformers can restore while loading (FP8, MXFP4, compressed-tensors) are restored one block at a time by
its own conversions; GPTQ, AWQ, and compressed-tensors with codes in words, by `packed`. The blocks then compute like
any others and can be held in fewer bits again, see `formats`. Formats that need the kernels of one library are refused
by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers.quantizers import HfQuantizer
from transformers.quantizers.auto import AutoHfQuantizer

from potluck.checkpoint.packed import Packing, is_packed_weight
from potluck.errors import CheckpointError
from potluck.sentences import sentence

_READ = frozenset({"fp8", "mxfp4", "mxfp8", "compressed-tensors"})
_NEEDS = {"bitsandbytes": sentence("kernels of the {what} package", what="bitsandbytes")}
_HINT = sentence(
    "choose a checkpoint in bfloat16, float16, FP8, GPTQ or AWQ; --quantization holds its weights in fewer bits"
)


def stored_format(config: Any) -> HfQuantizer | Packing | None:
    """Return what undoes the quantization of a checkpoint, or None if it is not quantised.

    Raises:
        CheckpointError: the format is not supported, or needs a package that is not installed.
    """
    packing = packing_of(config)
    if packing is not None:
        return packing
    settings = _quantization_settings(config)
    if not settings:
        return None
    method = settings.get("quant_method")
    if method not in _READ:
        why = sentence("which is not supported")
        if method in _NEEDS:
            why = sentence("which needs {what}", what=_NEEDS[method])
        raise CheckpointError(
            sentence("this checkpoint is stored quantised ({format}), {why}", format=method or "?", why=why), hint=_HINT
        )
    try:
        quantizer: HfQuantizer = AutoHfQuantizer.from_config({**settings, "dequantize": True}, pre_quantized=True)
        if method == "compressed-tensors":
            quantizer.validate_environment()  # sets what its conversions read; others would check too much
        return quantizer
    except ImportError as error:
        raise CheckpointError(
            sentence(
                "this checkpoint is stored quantised ({format}), and the package that reads it is not installed",
                format=method,
            ),
            hint=sentence("install the missing package: pip install {what}", what=method),
        ) from error
    except Exception as error:  # configuration classes raise exceptions of many kinds
        raise CheckpointError(
            sentence("the checkpoint's quantization_config is not valid: {why}", why=str(error).splitlines()[0]),
            hint=_HINT,
        ) from error


def packing_of(config: Any) -> Packing | None:
    """Return how a checkpoint's matrices are packed, if `packed` knows its format. Raises CheckpointError."""
    return Packing.of(_quantization_settings(config))


def refuse_packed_ends(tensors: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError if an embedding, norm or head is stored in fewer than 16 bits for each value."""
    for name, tensor in tensors.items():
        if tensor.itemsize < 2 or is_packed_weight(name):
            raise CheckpointError(
                sentence("{what} is stored quantised, which is supported for layers alone", what=name), hint=_HINT
            )


def _quantization_settings(config: Any) -> dict[str, Any]:
    settings = getattr(config, "quantization_config", None) or getattr(
        config.get_text_config(decoder=True), "quantization_config", None
    )
    if not settings:
        return {}
    found: dict[str, Any] = settings if isinstance(settings, dict) else settings.to_dict()
    return found
