"""Memory while a span is loaded: `load_peak`. Linux only: it reads and resets the kernel's own high-water mark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Measured
from benchmarks.models import checkpoint

HIDDEN_SIZE = 2048
NUM_BLOCKS = 8
FIRST, LAST = 2, 6
_LOAD = "import sys; from benchmarks.loading import load_and_report; load_and_report(sys.argv[1], sys.argv[2])"


def peak(soak: bool) -> Measured:
    """Half of the blocks, loaded as they are stored; in `detail` also converted to bfloat16."""
    folder = checkpoint(HIDDEN_SIZE, NUM_BLOCKS)
    ratios = {dtype: _in_child(folder, dtype) for dtype in ("float32", "bfloat16")}
    detail = {"hidden_size": HIDDEN_SIZE, "blocks": f"{FIRST}:{LAST} of {NUM_BLOCKS}", **_rounded(ratios)}
    return Measured(ratios["float32"], detail)


def load_and_report(folder: str, dtype: str) -> None:
    """In a fresh process: prints peak bytes and span bytes."""
    import torch

    from potluck.blocks.span.block_span import load_span
    from potluck.checkpoint.source import open_checkpoint
    from potluck.protocol.blocks import Span

    torch.set_num_threads(1)
    span = load_span(open_checkpoint(folder), Span(0, 1), dtype=getattr(torch, dtype))  # imports and pools
    _touch(span)
    del span
    source = open_checkpoint(folder)
    before = _reset_peak()
    span = load_span(source, Span(FIRST, LAST), dtype=getattr(torch, dtype))
    _touch(span)
    size = sum(p.numel() * p.element_size() for layer in span.layers for p in layer.parameters())
    print(_status_bytes("VmHWM") - before, size)


def _touch(span: object) -> None:
    """Run the blocks, so that mapped weights count."""
    import torch

    hidden = torch.zeros(1, 1, span.hidden_size, dtype=span.dtype)  # type: ignore[attr-defined]
    with torch.inference_mode():
        span.forward(hidden, span.new_cache())  # type: ignore[attr-defined]


def _in_child(folder: Path, dtype: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(folder), dtype], check=True, stdout=subprocess.PIPE, text=True
    )
    peak_bytes, span_bytes = map(int, done.stdout.split())
    return peak_bytes / span_bytes


def _reset_peak() -> int:
    """Resident bytes now, which become the high-water mark (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status_bytes("VmRSS")


def _status_bytes(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no {name}")


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
