"""Opens checkpoints, loads blocks and checks that they compute. Everything here blocks; run it in threads.

A mark on disk while kernels are tried, because a fault in one can end every process that tries them.

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
from potluck_control.resources import bundled_checkpoint

from potluck.blocks.accelerators import NoKernels, is_lost
from potluck.blocks.adapters import Adapters
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.ranks import Ranks
from potluck.checkpoint.adapter_files import open_adapter
from potluck.checkpoint.source import Checkpoint, open_checkpoint, open_folder
from potluck.checkpoint.stored import packing_of
from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.files import write_atomically
from potluck.model_files import Manifest, Manifests, downloaded, has_model, hub_cache, make_manifest, pinned_folder
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck_engine.weights import fitting
from potluck_engine.weights.member_files import known_manifests, own_folder
from potluck_engine.weights.pinned_files import MemberSource, PinnedFiles, wrong_weights

FAULT = NoKernels(
    "a trial of fast kernels made the GPU fail", "update the GPU's driver; they are tried again after a day"
)
_COUNTS_FOR_S = 86_400.0
_NAME = "kernels-on-trial"
_DRIVER = Path("/proc/driver/nvidia/version")  # not in WSL


@dataclass(frozen=True, slots=True)
class TrialMark:
    """Marks the trials of one rank in `folder`, which need not exist; `family` is that of the model."""

    folder: Path
    device: torch.device
    family: str

    @contextmanager
    def trying(self) -> Iterator[NoKernels | None]:
        """Mark in the body that kernels are tried, and give None; or give the reason against it and mark nothing."""
        tried = self._tried()
        path = self.folder / f"{_NAME}-{sha256(tried.encode()).hexdigest()[:16]}"
        if _ended_in(path, tried):
            yield FAULT
            return
        with contextlib.suppress(OSError):  # without a mark, a fault is met once more
            write_atomically(path, f"{os.getpid()} {os.getppid()}\n{tried}".encode())
        try:
            yield None
        finally:
            if not is_lost(self.device):
                _remove(path)

    def _tried(self) -> str:
        """Name everything with which a trial may end otherwise."""
        driver = ""
        with contextlib.suppress(OSError):
            driver = _DRIVER.read_text().partition("\n")[0]
        versions = (f"{name} {_version_of(name)}" for name in ("torch", "triton", "potluck"))
        card = torch.cuda.get_device_name(self.device)
        return "\n".join((str(self.device), card, driver, *versions, self.family))


def forget_marks(folder: Path) -> None:
    """Remove the marks of this process and of the ranks that it started. Call it when they are told to end, maybe in
    the middle of a trial.
    """
    for path in folder.rglob(f"{_NAME}-*"):
        with contextlib.suppress(OSError, ValueError):
            if str(os.getpid()) in path.read_text().partition("\n")[0].split():
                _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _ended_in(path: Path, tried: str) -> bool:
    """Return whether a process tried the same less than a day ago and ended without removing its mark."""
    try:
        pids, _, marked = path.read_text().partition("\n")
        pid, marked_at = int(pids.split()[0]), path.stat().st_mtime
    except (OSError, IndexError, ValueError):
        return False
    is_running = False
    with contextlib.suppress(psutil.Error, OverflowError):  # a later process may have its number
        is_running = pid != os.getpid() and psutil.Process(pid).create_time() <= marked_at
    return not is_running and marked == tried and 0.0 <= time.time() - marked_at < _COUNTS_FOR_S


def _version_of(name: str) -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version(name)
    return ""


log = logging.getLogger(__name__)

_MANIFEST_S, _LONG_S = 5.0, 120.0  # to wait for a member who has the manifest
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def open_for_swarm(config: LaunchSpec, members: MemberSource | None = None) -> Checkpoint:
    """Open the checkpoint and check that it is the swarm's model.

    Files that the swarm pins are fetched where they are missing, and checked before they are read. Of a swarm that pins
    none only the number of blocks can be checked.

    Raises:
        CheckpointError: missing, damaged, or of another depth than the swarm's model.
        UsageError: the span does not exist.
    """
    swarm = config.swarm
    revision = None if swarm.revision in ("main", "local") else swarm.revision
    if swarm.weights:
        checkpoint = _open_pinned(config, members)
    else:
        checkpoint = open_checkpoint(str(config.checkpoint), revision=revision)
    if checkpoint.num_blocks != swarm.num_blocks:
        raise CheckpointError(
            f"{config.checkpoint} has {checkpoint.num_blocks} layers, the swarm's model {swarm.num_blocks}",
            hint=f"serve the checkpoint of {swarm.model}",
        )
    if config.span is not None and config.span.end > checkpoint.num_blocks:
        raise UsageError(f"layers {config.span.layers} do not exist: the model has layers 1-{checkpoint.num_blocks}")
    return checkpoint


def _open_pinned(config: LaunchSpec, members: MemberSource | None) -> Checkpoint:
    swarm, known = config.swarm, known_manifests()
    here = own_folder(config) or bundled_checkpoint(swarm.model)
    manifest = _manifest(swarm, here or downloaded(swarm, hub_cache()), known, members)
    if here is not None and (own_folder(config) or _is_whole(here, manifest, known)):
        members = None  # what isn't ours is read and never written
    else:
        here = pinned_folder(swarm, hub_cache())
    files = PinnedFiles(swarm, manifest, known, here, members)
    for file in manifest.files:
        if file.is_small and members is not None:
            files.download(file.name)
    return open_folder(config.checkpoint, swarm.revision, here, files)


def _manifest(swarm: Swarm, here: Path | None, known: Manifests, members: MemberSource | None) -> Manifest:
    """Return the manifest from this computer, from members, or made of the files here, if they are the right ones."""
    found = known.find(swarm.weights)
    if found is not None:
        return found
    is_here, problem = here is not None and has_model(here), PotluckError("the list of the model's files is missing")
    if members is not None:
        patience_s = _MANIFEST_S if is_here else _LONG_S
        try:
            found = members.run(lambda files: files.manifest(patience_s=patience_s))
        except PotluckError as error:
            problem = error
    if found is None and here is not None and is_here:
        found = make_manifest(here)
        if found.digest.hex() != swarm.weights:
            raise wrong_weights(swarm, here)
    if found is None:
        raise CheckpointError(problem.message, hint=problem.hint)
    known.keep(found)
    return found


def _is_whole(folder: Path, manifest: Manifest, known: Manifests) -> bool:
    return all(known.is_right(folder / file.name, file) for file in manifest.files)


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
    """Return the folder for converted weights, and for marks of trials."""
    return user_places().cache / "blocks"


def check_blocks(blocks: BlockSpan) -> None:
    """Run a real token through all blocks. Raises CheckpointError unless it comes out finite."""
    token = torch.ones((1, 1, blocks.hidden_size), dtype=blocks.dtype, device=blocks.device)
    with torch.inference_mode():
        output = blocks.forward(token, blocks.new_cache())
        if not bool(torch.isfinite(output).all()):
            raise CheckpointError(
                "the layers do not compute finite numbers", hint=sentence("download the checkpoint again")
            )
