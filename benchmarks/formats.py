"""What int8 and int4 weights save and cost: `format_int8_memory`, `format_int4_memory`, `format_int8_speed`,
`format_int4_speed`, `format_int4_prefill`, `format_peak`. All against the same blocks in bfloat16. Linux only.

CPU times of one thread, the least of several: what other programs do counts little. `detail` has the errors of one
block against float32: of its output, and of the gradient of its input.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Measured
from benchmarks.models import checkpoint

HIDDEN_SIZE = 2048
NUM_BLOCKS = 4
_CONTEXT_TOKENS, _PREFILL_TOKENS = 64, 256
_DECODE_STEPS, _PREFILLS = 20, 3
_LOAD = "import sys; from benchmarks.formats import load_and_report; load_and_report(*sys.argv[1:])"
_SAMPLE_S = 0.001


def int8_memory(soak: bool) -> Measured:
    return _ratio("int8", lambda packed, plain: packed["bytes"] / plain["bytes"])


def int4_memory(soak: bool) -> Measured:
    return _ratio("int4", lambda packed, plain: packed["bytes"] / plain["bytes"])


def int8_speed(soak: bool) -> Measured:
    return _ratio("int8", lambda packed, plain: plain["decode_ms"] / packed["decode_ms"])


def int4_speed(soak: bool) -> Measured:
    return _ratio("int4", lambda packed, plain: plain["decode_ms"] / packed["decode_ms"])


def int4_prefill(soak: bool) -> Measured:
    return _ratio("int4", lambda packed, plain: plain["prefill_ms"] / packed["prefill_ms"])


def peak(soak: bool) -> Measured:
    """What is needed beside the result while a span is loaded, in blocks of bfloat16."""
    return _ratio(
        "int4", lambda packed, plain: (packed["peak_bytes"] - packed["bytes"]) / (plain["bytes"] / NUM_BLOCKS)
    )


def _ratio(quantization: str, ratio: Callable[[dict[str, float], dict[str, float]], float]) -> Measured:
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    plain, packed = (_in_child(folder, each) for each in ("none", quantization))
    detail = {"hidden_size": HIDDEN_SIZE, "blocks": NUM_BLOCKS, "bfloat16": plain, quantization: packed}
    return Measured(ratio(packed, plain), detail)


def _in_child(folder: Path, quantization: str) -> dict[str, float]:
    command = [sys.executable, "-c", _LOAD, str(folder), quantization]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def load_and_report(folder: str, quantization: str) -> None:
    """In a fresh process: prints sizes, times and errors as JSON."""
    import torch

    from potluck.blocks.span.block_span import load_span
    from potluck.checkpoint.source import open_checkpoint
    from potluck.protocol.blocks import Span

    torch.set_num_threads(1)
    source, whole = open_checkpoint(folder), Span(0, NUM_BLOCKS)
    load_span(source, Span(0, 1), dtype=torch.bfloat16, quantization=quantization)  # imports and pools
    with _PeakOfMemory() as memory:
        blocks = load_span(source, whole, dtype=torch.bfloat16, quantization=quantization)
    times = _times(blocks)
    first = load_span(source, Span(0, 1), dtype=torch.bfloat16, quantization=quantization)
    exact = load_span(source, Span(0, 1), dtype=torch.float32)
    print(
        json.dumps(
            {
                "bytes": sum(parameter.nbytes for parameter in blocks.layers.parameters()),
                "peak_bytes": memory.peak_bytes,
                **times,
                **_errors(first, exact),
            }
        )
    )


def _times(blocks: Any) -> dict[str, float]:
    import torch

    some = torch.Generator().manual_seed(0)
    hidden = torch.randn((1, _PREFILL_TOKENS, HIDDEN_SIZE), generator=some).to(blocks.dtype)
    with torch.inference_mode():
        cache = blocks.new_cache()
        blocks.forward(hidden[:, :_CONTEXT_TOKENS], cache)
        decode_ms = _least_ms(lambda: blocks.forward(hidden[:, :1], cache), _DECODE_STEPS)
        prefill_ms = _least_ms(lambda: blocks.forward(hidden, blocks.new_cache()), _PREFILLS)
    return {"decode_ms": decode_ms, "prefill_ms": prefill_ms}


def _errors(blocks: Any, exact: Any) -> dict[str, float]:
    """Relative errors of the output and of the gradient of the input."""
    import torch

    some = torch.Generator().manual_seed(1)
    hidden, grad = torch.randn((2, 1, 32, HIDDEN_SIZE), generator=some)
    results = []
    for each in (blocks, exact):
        leaf = hidden.to(each.dtype).requires_grad_()
        output = each.forward(leaf)
        (found,) = torch.autograd.grad(output, [leaf], grad.to(each.dtype))
        results.append((output.detach().float(), found.float()))
    errors = [float((a - b).norm() / b.norm()) for a, b in zip(*results, strict=True)]
    return {"output_error": round(errors[0], 4), "gradient_error": round(errors[1], 4)}


def _least_ms(run: Callable[[], object], count: int) -> float:
    run()
    times = []
    for _ in range(count):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return round(min(times) * 1e3, 3)


class _PeakOfMemory:
    """Anonymous memory at its highest within the context, over what it was before; mapped files do not count."""

    peak_bytes = 0

    def __enter__(self) -> _PeakOfMemory:
        self._before = _anonymous_bytes()
        self._done = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._done.wait(_SAMPLE_S):
            self.peak_bytes = max(self.peak_bytes, _anonymous_bytes() - self._before)


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status does not tell RssAnon")
