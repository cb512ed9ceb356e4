"""Measure how much memory loading a span takes at its peak, and streaming one, in forks of a process of its own.

Run as a script: `python memory_peaks.py JOBS`, JSON lists of "load" or "stream" and its arguments, prints a Peak a job.
Imports and one load of another block come first and do not count.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_INTERVAL_S = 0.0005


@dataclass(slots=True)
class Peak:
    """Bytes above those before the load."""

    span_bytes: int = 0
    limit_bytes: int = 0  # of a streamed span: a quarter of it
    anonymous_bytes: int = 0  # the highest of many samples
    resident_bytes: int = 0  # the kernel's own high-water mark of anonymous memory and file pages together

    @property
    def ratio(self) -> float:
        return self.anonymous_bytes / self.span_bytes


def load(folder: Path, span: str, dtype: str, quantization: str = "none") -> list[str]:
    return ["load", str(folder), span, dtype, quantization]


def stream(folder: Path, blocks_folder: Path, way: str, dtype: str) -> list[str]:
    """way: "files" or "copies", where blocks that stream from RAM come from."""
    return ["stream", str(folder), str(blocks_folder), way, dtype]


def load_in_ranks(folder: Path, span: str, dtype: str, meeting: Path) -> list[str]:
    """Two ranks that load the span together, with a Peak each."""
    return ["ranks", str(folder), span, dtype, "none", str(meeting)]


def measure(*jobs: list[str]) -> list[Peak]:
    """Raises CalledProcessError if a span cannot be loaded."""
    done = subprocess.run([sys.executable, __file__, json.dumps(jobs)], check=True, stdout=subprocess.PIPE, text=True)
    return [Peak(**json.loads(line)) for line in done.stdout.splitlines()]


def _load(folder: str, span_text: str, dtype_name: str, quantization: str, meeting: str = "", rank: str = "") -> Peak:
    import torch

    from potluck.blocks.span.block_span import load_span
    from potluck.blocks.span.ranks import join_ranks
    from potluck.checkpoint.source import open_checkpoint
    from potluck.protocol.blocks import Span

    checkpoint, dtype = open_checkpoint(folder), getattr(torch, dtype_name)
    ranks = join_ranks(int(rank), 2, device="cpu", meeting=Path(meeting), timeout_s=60.0) if meeting else None
    load_span(checkpoint, Span(0, 1), dtype=dtype, ranks=ranks, quantization=quantization)
    with _watched() as peak:
        blocks = load_span(checkpoint, Span.parse(span_text), dtype=dtype, ranks=ranks, quantization=quantization)
    peak.span_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
    return peak


def _stream(folder: str, blocks_folder: str, way: str, dtype_name: str) -> Peak:
    import torch

    from potluck.blocks.span.block_span import load_span
    from potluck.blocks.streaming import weights
    from potluck.blocks.streaming.placement import Room
    from potluck.checkpoint.source import open_checkpoint
    from potluck.protocol.blocks import Span

    weights._has_own_memory = lambda device: way == "copies"
    checkpoint, dtype = open_checkpoint(folder), getattr(torch, dtype_name)
    span = Span(0, checkpoint.num_blocks)
    one = load_span(checkpoint, Span(0, 1), dtype=dtype)
    size = sum(one.weights.placement.sizes) * len(span)
    token = torch.randn((1, 4, one.hidden_size), generator=torch.Generator().manual_seed(0)).to(dtype)

    def compute(blocks):
        """Do a step, and a gradient, for which only one block's weights are needed at a time."""
        with torch.inference_mode():
            blocks.forward(token, blocks.new_cache())
        hidden = token.clone().requires_grad_()
        output = blocks.forward(hidden)
        torch.autograd.grad(output, hidden, torch.ones_like(output))

    compute(one)
    one.weights.free()
    with _watched() as peak:
        room = Room(size // 4, 0, size, Path(blocks_folder))
        compute(load_span(checkpoint, span, dtype=dtype, room=room))
    peak.span_bytes, peak.limit_bytes = size, size // 4
    return peak


@contextmanager
def _watched() -> Iterator[Peak]:
    peak, done = Peak(), threading.Event()
    before_anonymous, before_resident = _status_bytes("RssAnon"), _status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")

    def watch() -> None:
        while not done.wait(_INTERVAL_S):
            peak.anonymous_bytes = max(peak.anonymous_bytes, _status_bytes("RssAnon") - before_anonymous)

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield peak
    done.set()
    watcher.join()
    peak.anonymous_bytes = max(peak.anonymous_bytes, _status_bytes("RssAnon") - before_anonymous)
    peak.resident_bytes = _status_bytes("VmHWM") - before_resident


def _status_bytes(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


def _fork(kind: str, arguments: list[str]) -> int:
    """Do a job in a child that prints what it measured; return the child's pid."""
    child = os.fork()
    if child == 0:
        try:
            print(json.dumps(asdict(_WORK[kind](*arguments))) + "\n", end="", flush=True)  # ranks write at one time
            os._exit(0)
        finally:
            os._exit(1)
    return child


_WORK: dict[str, Callable[..., Peak]] = {"load": _load, "ranks": _load, "stream": _stream}


def main(jobs: list[list[str]]) -> None:
    import torch
    from transformers.models.llama import modeling_llama  # noqa: F401 (so that no fork has to)

    import potluck.blocks  # noqa: F401

    torch.set_num_threads(1)
    for kind, *arguments in jobs:
        ranks = [["0"], ["1"]] if kind == "ranks" else [[]]
        for child in [_fork(kind, arguments + rank) for rank in ranks]:
            _, status = os.waitpid(child, 0)
            if status:
                sys.exit(f"{kind} {arguments} failed")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
