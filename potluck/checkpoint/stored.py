"""Checkpoints that are stored quantised: which of them are read, and why the others are not.

What transformers can make whole while it loads (FP8, MXFP4, compressed-tensors) is made whole, one block at a time, by
its own conversions; blocks are then computed like any others, and may be held in fewer bits again, see `formats`.
Formats that live on kernels of one vendor's library are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers.quantizers import HfQuantizer
from transformers.quantizers.auto import AutoHfQuantizer

from potluck.errors import CheckpointError

_READ = frozenset({"fp8", "mxfp4", "mxfp8", "compressed-tensors"})
_NEEDS = {
    "awq": "kernels of the gptqmodel package",
    "gptq": "kernels of the gptqmodel package",
    "bitsandbytes": "kernels of the bitsandbytes package",
}
_HINT = "choose a checkpoint in bfloat16, float16 or FP8; --quantization holds its weights in fewer bits"


def stored_format(config: Any) -> HfQuantizer | None:
    """What undoes the quantization of a checkpoint with this configuration; None if there is none to undo.

    Raises:
        CheckpointError: by name, for a format that is not read here, or that needs a package that is not installed.
    """
    said = getattr(config, "quantization_config", None) or getattr(
        config.get_text_config(decoder=True), "quantization_config", None
    )
    if not said:
        return None
    said = said if isinstance(said, dict) else said.to_dict()
    method = said.get("quant_method")
    if method not in _READ:
        why = f"which needs {_NEEDS[method]}" if method in _NEEDS else "which blocks are not built from"
        raise CheckpointError(f"this checkpoint is stored quantised ({method or '?'}), {why}", hint=_HINT)
    try:
        quantizer: HfQuantizer = AutoHfQuantizer.from_config({**said, "dequantize": True}, pre_quantized=True)
        if method == "compressed-tensors":
            quantizer.validate_environment()  # decides what its conversions look at; others ask for more than they need
        return quantizer
    except ImportError as error:
        raise CheckpointError(
            f"this checkpoint is stored quantised ({method}), and the package that reads it is not installed",
            hint=f"pip install {method}",
        ) from error
    except Exception as error:  # configuration classes validate with exceptions of many kinds
        raise CheckpointError(
            f"the checkpoint's quantization_config is not valid: {str(error).splitlines()[0]}", hint=_HINT
        ) from error


def refuse_packed_ends(tensors: Mapping[str, Tensor]) -> None:
    """Raises CheckpointError if an embedding, norm or head is stored in fewer than 16 bits a value."""
    for name, tensor in tensors.items():
        if tensor.itemsize < 2:
            raise CheckpointError(f"{name} is stored quantised, which is read for blocks only", hint=_HINT)
