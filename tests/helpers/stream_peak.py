"""Measure, in a process of its own, the memory that a streamed span takes while it is loaded and used.

Run as a script: `python stream_peak.py FOLDER BLOCKS_FOLDER files|copies DTYPE` prints a StreamPeak as JSON.
The limit is a quarter of the span. Imports and one load of another block come first and do not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

_INTERVAL_S = 0.0005
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class StreamPeak:
    """Bytes above those before the load."""

    span_bytes: int
    limit_bytes: int
    anonymous_bytes: int  # the highest of many samples
    resident_bytes: int  # the kernel's own high-water mark of anonymous memory and file pages together
    is_equal: bool  # the same outputs and gradients as resident blocks have


def measure_stream_peak(folder: Path, blocks_folder: Path, way: str, dtype: str) -> StreamPeak:
    command = [sys.executable, __file__, str(folder), str(blocks_folder), way, dtype]
    return StreamPeak(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def main(folder: str, blocks_folder: str, way: str, dtype_name: str) -> None:
    import torch

    from potluck.blocks import load_span, weights
    from potluck.blocks.residency import Room
    from potluck.checkpoint import open_checkpoint
    from potluck.protocol.blocks import Span

    weights._has_own_memory = lambda device: way == "copies"
    torch.set_num_threads(1)
    dtype = getattr(torch, dtype_name)
    checkpoint = open_checkpoint(folder)
    span = Span(0, checkpoint.num_blocks)
    one = load_span(checkpoint, Span(0, 1), dtype=dtype)
    size = sum(one.weights.placement.sizes) * len(span)
    token = torch.randn((1, 4, one.hidden_size), generator=torch.Generator().manual_seed(0)).to(dtype)
    _gradient(one, token)
    one.weights.free()

    before_anonymous = anonymous = _status_bytes("RssAnon")
    before_resident = _status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    done = threading.Event()

    def watch() -> None:
        nonlocal anonymous
        while not done.wait(_INTERVAL_S):
            anonymous = max(anonymous, _status_bytes("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    room = Room(size // 4, 0, size, Path(blocks_folder))
    blocks = load_span(checkpoint, span, dtype=dtype, room=room)
    cache = blocks.new_cache()
    with torch.inference_mode():
        outputs = [blocks.forward(token, cache) for _ in range(3)]
    gradient = _gradient(blocks, token)
    done.set()
    watcher.join()
    peak = _status_bytes("VmHWM") - before_resident

    resident = load_span(checkpoint, span, dtype=dtype)
    cache = resident.new_cache()
    with torch.inference_mode():
        expected = [resident.forward(token, cache) for _ in range(3)]
    pairs = [*zip(outputs, expected, strict=True), (gradient, _gradient(resident, token))]
    is_equal = all(torch.allclose(one, other, rtol=1e-4, atol=1e-4) for one, other in pairs)
    print(json.dumps(asdict(StreamPeak(size, size // 4, anonymous - before_anonymous, peak, is_equal))))


def _gradient(blocks, hidden):
    """As the engine does it: one block after the other, so that only one block's weights are needed at a time."""
    import torch

    hidden = hidden.clone().requires_grad_()
    output = blocks.forward(hidden)
    return torch.autograd.grad(output, hidden, torch.ones_like(output))[0]


def _status_bytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
