"""Measure, in a process of its own, how much anonymous memory loading a span takes at its peak.

Run as a script: `python load_peak.py FOLDER START:END DTYPE QUANTIZATION [RANK MEETING]` prints {"peak_bytes",
"span_bytes"} as JSON, of one process or of one of two ranks. The imports and one load of another block come first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

_INTERVAL_S = 0.0005


@dataclass(frozen=True, slots=True)
class LoadPeak:
    peak_bytes: int
    span_bytes: int

    @property
    def ratio(self) -> float:
        return self.peak_bytes / self.span_bytes


def measure_load_peak(folder: Path, span: str, dtype: str, quantization: str = "none") -> LoadPeak:
    """Raises CalledProcessError if the span cannot be loaded."""
    command = [sys.executable, __file__, str(folder), span, dtype, quantization]
    return LoadPeak(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def measure_rank_peaks(folder: Path, span: str, dtype: str, meeting: Path) -> list[LoadPeak]:
    """The same of two ranks that load the span together."""
    command = [sys.executable, __file__, str(folder), span, dtype, "none"]
    ranks = [
        subprocess.Popen([*command, str(rank), str(meeting)], stdout=subprocess.PIPE, text=True) for rank in range(2)
    ]
    return [LoadPeak(**json.loads(process.communicate()[0])) for process in ranks]


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status does not tell RssAnon")


def main(folder: str, span_text: str, dtype_name: str, quantization: str, rank: str = "", meeting: str = "") -> None:
    import torch

    from potluck.blocks import load_span
    from potluck.blocks.parallel import join_ranks
    from potluck.checkpoint import open_checkpoint
    from potluck.protocol.blocks import Span

    torch.set_num_threads(1)
    span, dtype = Span.parse(span_text), getattr(torch, dtype_name)
    checkpoint = open_checkpoint(folder)
    ranks = join_ranks(int(rank), 2, device="cpu", meeting=Path(meeting), timeout_s=60.0) if meeting else None
    load_span(checkpoint, Span(0, 1), dtype=dtype, ranks=ranks, quantization=quantization)
    before = peak = _anonymous_bytes()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_INTERVAL_S):
            peak = max(peak, _anonymous_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    blocks = load_span(checkpoint, span, dtype=dtype, ranks=ranks, quantization=quantization)
    done.set()
    watcher.join()
    peak = max(peak, _anonymous_bytes())
    span_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
    print(json.dumps({"peak_bytes": peak - before, "span_bytes": span_bytes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
