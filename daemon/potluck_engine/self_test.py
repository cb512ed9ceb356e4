"""Tests whether this interpreter computes correctly on each of its devices: `python -m potluck_engine.self_test`.

It imports what an engine needs, multiplies matrices on every device, sends tokens through one block of the demo model,
and runs a Triton kernel on GPUs. The expected output was made by Transformers (`installer/reference.py`). The result is
printed as a `SelfTest`. Installed daemons start this module by its name, so it has to keep it.
"""

from __future__ import annotations

import sys

import torch
from potluck_control.processes.engine_messages import SelfTest
from potluck_control.resources import DEMO_MODEL, resource
from safetensors.torch import load_file

from potluck.blocks.kernels.support import why_no_kernels
from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.protocol.codec import encode

BLOCK = 1  # the block of the demo model that is tested
_MATRIX_SIZE = 256
_TOLERANCE = 2e-3  # relative; GPUs multiply float32 matrices in fewer bits


def main() -> int:
    try:
        devices = find_devices()
        for device in devices:
            check_matrices(device)
            check_block(device)
        names = [name_of(device) for device in devices]
    except Exception as error:  # any error means that the installation does not work
        reason = error.message if isinstance(error, PotluckError) else f"{type(error).__name__}: {error}"
        print(encode(SelfTest((), " ".join(reason.split())[:500])).decode())
        return 1
    print(encode(SelfTest(tuple(names))).decode())
    return 0


def find_devices() -> list[torch.device]:
    """Return the GPUs, or the processor if there are none."""
    found = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    if not found and hasattr(torch, "xpu"):
        found = [torch.device("xpu", index) for index in range(torch.xpu.device_count())]
    if not found and torch.backends.mps.is_available():
        found = [torch.device("mps")]
    return found or [torch.device("cpu")]


def name_of(device: torch.device) -> str:
    """Return the device's name, with the reason why it is slow if it is a GPU that cannot run kernels."""
    if device.type != "cuda":
        return str(device)
    lacking = why_no_kernels(device)
    name: str = torch.cuda.get_device_name(device)
    return name if lacking is None else f"{name} (slow: {lacking.reason})"


def check_matrices(device: torch.device) -> None:
    """Multiply matrices on the device.

    Raises PotluckError if the product is wrong, and torch's own error if torch has no kernels for the device.
    """
    ones = torch.full((_MATRIX_SIZE, _MATRIX_SIZE), 0.5)
    for dtype in (torch.float32, torch.bfloat16):
        product = ones.to(device, dtype) @ ones.to(device, dtype)
        if not bool((product == _MATRIX_SIZE / 4).all()):
            raise PotluckError(f"{device} multiplies {dtype} matrices wrongly")


def check_block(device: torch.device) -> None:
    """Run one block. Raises PotluckError if its output differs from that of Transformers."""
    expected = load_file(resource("engine") / "block.safetensors")["output"]
    span = Span(BLOCK, BLOCK + 1)
    blocks = load_span(open_checkpoint(str(resource(DEMO_MODEL))), span, dtype=torch.float32, device=str(device))
    with torch.inference_mode():
        output = blocks.forward(block_input(*expected.shape).to(device)).cpu()
    error = float((output - expected).norm() / expected.norm())
    if not error < _TOLERANCE:
        raise PotluckError(f"{device} computes a layer wrongly: {error:.1e} away from what it should be")


def block_input(batch: int, tokens: int, hidden_size: int) -> torch.Tensor:
    """Return hidden states that are equal on all machines. Shape: [batch, tokens, hidden_size], float32."""
    return torch.sin(torch.arange(batch * tokens * hidden_size, dtype=torch.float32)).reshape(
        batch, tokens, hidden_size
    )


if __name__ == "__main__":
    sys.exit(main())
