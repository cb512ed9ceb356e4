"""Loads blocks, tries out their kernels, and checks that they compute. Everything here blocks, so run it in threads.

A mark on disk shows that kernels are being tried, because a fault in one can end every process that tries them:

    a trial begins -> the mark is written -> the trial ends, and the device still works -> the mark is removed

A process that finds the mark of one that ended in the middle of the same trial tries nothing for a day, and computes
without kernels. Each device, family and rank has a mark of its own; ranks use kernels only if all of them do.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
import torch
from potluck_control.places import user_places
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.blocks.accelerators import NoKernels, is_lost
from potluck.blocks.adapters import Adapters
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.ranks import Ranks
from potluck.checkpoint.adapter_files import open_adapter
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import packing_of
from potluck.errors import CheckpointError, UsageError
from potluck.files import write_atomically
from potluck.protocol.blocks import Span
from potluck.sentences import sentence
from potluck_engine.weights import fitting

FAULT = NoKernels(
    "a trial of fast kernels made the GPU fail", "update the GPU's driver; they are tried again after a day"
)
_COUNTS_FOR_S = 86_400.0
_NAME = "kernels-on-trial"
_DRIVER = Path("/proc/driver/nvidia/version")  # not in WSL


@dataclass(frozen=True, slots=True)
class TrialMark:
    """Marks the trials of one rank in `folder`, which need not exist. `family` is the model's."""

    folder: Path
    device: torch.device
    family: str

    @contextmanager
    def trying(self) -> Iterator[NoKernels | None]:
        """Mark a trial while the body runs, and give it None; or give it the reason why there must be no trial."""
        tried = self._tried()
        path = self.folder / f"{_NAME}-{sha256(tried.encode()).hexdigest()[:16]}"
        if _ended_in(path, tried):
            yield FAULT
            return
        with contextlib.suppress(OSError):  # if there is no mark, a fault can happen again
            write_atomically(path, f"{os.getpid()} {os.getppid()}\n{tried}".encode())
        try:
            yield None
        finally:
            if not is_lost(self.device):
                _remove(path)

    def _tried(self) -> str:
        """Return a text that names everything on which a trial's outcome may depend."""
        driver = ""
        with contextlib.suppress(OSError):
            driver = _DRIVER.read_text().partition("\n")[0]
        versions = (f"{name} {_version_of(name)}" for name in ("torch", "triton", "potluck"))
        card = torch.cuda.get_device_name(self.device)
        return "\n".join((str(self.device), card, driver, *versions, self.family))


def forget_marks(folder: Path) -> None:
    """Remove the marks of this process and of the ranks that it started, which are about to end, maybe in a trial."""
    for path in folder.rglob(f"{_NAME}-*"):
        with contextlib.suppress(OSError, ValueError):
            if str(os.getpid()) in path.read_text().partition("\n")[0].split():
                _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _ended_in(path: Path, tried: str) -> bool:
    """Return whether a process that tried the same less than a day ago ended without removing its mark."""
    try:
        pids, _, marked = path.read_text().partition("\n")
        pid, marked_at = int(pids.split()[0]), path.stat().st_mtime
    except (OSError, IndexError, ValueError):
        return False
    is_running = False
    with contextlib.suppress(psutil.Error, OverflowError):  # a later process may have the same number
        is_running = pid != os.getpid() and psutil.Process(pid).create_time() <= marked_at
    return not is_running and marked == tried and 0.0 <= time.time() - marked_at < _COUNTS_FOR_S


def _version_of(name: str) -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version(name)
    return ""


log = logging.getLogger(__name__)

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_blocks(checkpoint: Checkpoint, span: Span, config: LaunchSpec, ranks: Ranks | None = None) -> BlockSpan:
    """Load the span, or this rank's part. Raises CheckpointError, and UsageError for a missing dtype or device."""
    dtype = _DTYPES.get(config.serve.dtype)
    if dtype is None:
        raise UsageError(f"unknown number format {config.serve.dtype!r}", hint=f"one of {', '.join(_DTYPES)}")
    fitting.find_device(config.serve.device)
    torch.set_num_threads(config.serve.threads)
    opened = [open_adapter(name, num_blocks=checkpoint.num_blocks) for name in config.serve.adapters]
    if config.serve.quantization == "none" and packing_of(checkpoint.config) is not None:
        log.info("expanding weights that are stored in few bits; serve.quantization int4 keeps those of 4 bits")
    room = fitting.weight_room(checkpoint, span, config, folder=blocks_folder())
    if ranks is not None:
        room = fitting.share_of_room(room, ranks.rank, ranks.size, is_shared=config.serve.device == "cpu")
    mark = TrialMark(room.folder, torch.device(config.serve.device), checkpoint.text_config.model_type)
    return load_span(
        checkpoint,
        span,
        room=room,
        dtype=dtype,
        device=config.serve.device,
        ranks=ranks,
        quantization=config.serve.quantization,
        cache_quantization=config.serve.cache_quantization,
        adapters=Adapters(opened) if opened else None,
        trying=mark.trying,
    )


def blocks_folder() -> Path:
    """Return the folder for converted weights and for the marks of trials."""
    return user_places().cache / "blocks"


def check_blocks(blocks: BlockSpan) -> None:
    """Run a token through all blocks. Raises CheckpointError unless the output is finite."""
    token = torch.ones((1, 1, blocks.hidden_size), dtype=blocks.dtype, device=blocks.device)
    with torch.inference_mode():
        output = blocks.forward(token, blocks.new_cache())
        if not bool(torch.isfinite(output).all()):
            raise CheckpointError(
                "the layers do not compute finite numbers", hint=sentence("download the checkpoint again")
            )
