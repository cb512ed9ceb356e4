"""Two ranks that hold a span of several checkpoints together, and what comes out of the first one.

Run as a script in two processes: `python rank_pair.py KIND RANK MEETING OUT SPAN FOLDER ...` writes, for rank 0, a
list of outcomes to OUT, one a folder, made to be compared with `outcome` of a span in one process. The first checkpoint
is loaded once more with room for two of its blocks only.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

TIMEOUT_S = 120.0


def run_pair(folders: Sequence[Path], span: str, scratch: Path, kind: str = "cpu") -> list[dict[str, Any]]:
    """Outcomes of two ranks, one for each checkpoint; a refusal is {"refused": message, "hint": hint}.

    Args:
        folders: of checkpoints, or with a folder for each rank, `rank0` and `rank1`.
        kind: "cpu", or "cuda" for the first two devices of that kind.
    """
    from tests.helpers.fork_server import start_python

    start = start_python if kind == "cpu" else _start_interpreter  # a machine with GPUs may lack what is preloaded
    rest = [str(scratch / "meeting"), str(scratch / "out.pt"), span, *map(str, folders)]
    ranks = [start([__file__, kind, str(rank), *rest]) for rank in range(2)]
    try:
        codes = [process.wait(TIMEOUT_S) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
            process.wait()
    assert codes == [0, 0], codes
    outcomes: list[dict[str, Any]] = torch.load(scratch / "out.pt")
    return outcomes


def _start_interpreter(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *arguments], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def outcome(blocks: Any) -> dict[str, Any]:
    """A prefill, a decode step and a gradient of a span, and a prefill of its middle block."""
    from potluck.blocks.span.reshaping import part_of
    from potluck.protocol.blocks import Span

    torch.manual_seed(0)
    hidden = (torch.randn(2, 9, blocks.hidden_size) * 0.5).to(blocks.device)
    token = (torch.randn(2, 1, blocks.hidden_size) * 0.5).to(blocks.device)
    middle = Span(blocks.span.start + 1, blocks.span.start + 2)
    with torch.inference_mode():
        cache = blocks.new_cache()
        prefill, decode = blocks.forward(hidden, cache), blocks.forward(token, cache)
        part = part_of(blocks, middle)
        of_part = part.forward(hidden, part.new_cache())
    leaf = hidden.clone().requires_grad_()
    (grad,) = torch.autograd.grad(blocks.forward(leaf), [leaf], hidden + 0.1)
    tensors = {"prefill": prefill, "decode": decode, "part": of_part, "grad": grad}
    return {
        "tensors": {name: tensor.cpu() for name, tensor in tensors.items()},
        "bytes": sum(parameter.nbytes for parameter in blocks.decoder.parameters()),
        "digests": blocks.digests,
    }


def _main(kind: str, rank: int, meeting: str, out: str, span: str, folders: list[str]) -> None:
    from transformers.utils import logging

    from potluck.blocks.span.block_span import load_span
    from potluck.blocks.span.ranks import join_ranks, leave_ranks
    from potluck.checkpoint.source import open_checkpoint
    from potluck.errors import PotluckError
    from potluck.protocol.blocks import Span

    torch.set_num_threads(1)
    logging.disable_progress_bar()
    device = kind if kind == "cpu" else f"{kind}:{rank}"
    ranks = join_ranks(rank, 2, device=device, meeting=Path(meeting), timeout_s=60.0)
    outcomes: list[dict[str, Any]] = []
    for folder in folders:
        own = Path(folder, f"rank{rank}")
        folder = str(own) if own.exists() else folder
        try:
            outcomes.append(outcome(load_span(open_checkpoint(folder), Span.parse(span), device=device, ranks=ranks)))
        except PotluckError as error:
            outcomes.append({"refused": error.message, "hint": error.hint})
    if kind == "cpu":
        outcomes[0]["streamed"] = outcome(_streamed(folders[0], Span.parse(span), ranks, Path(meeting).parent))[
            "tensors"
        ]
    leave_ranks()
    if rank == 0:
        torch.save(outcomes, out)


def _streamed(folder: str, span: Any, ranks: Any, scratch: Path) -> Any:
    from potluck.blocks.span.block_span import load_span
    from potluck.blocks.span.ranks import part_nbytes
    from potluck.blocks.streaming.placement import Room
    from potluck.checkpoint.source import open_checkpoint

    checkpoint = open_checkpoint(folder)
    block = part_nbytes(load_span(checkpoint, span, ranks=ranks).layers[0])
    room = Room(2 * block, ram_bytes=0, disk_bytes=1 << 24, folder=scratch / "prepared")
    blocks = load_span(checkpoint, span, ranks=ranks, room=room)
    assert blocks.weights.stream is not None
    return blocks


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6:])
