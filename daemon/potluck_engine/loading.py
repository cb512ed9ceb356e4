"""Opens checkpoints, loads blocks and checks that they compute. Everything here blocks; run it in threads."""

from __future__ import annotations

import logging
from pathlib import Path

import torch
from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places
from potluck_control.resources import bundled_checkpoint

from potluck.blocks.adapters import Adapters
from potluck.blocks.parallel import Ranks
from potluck.blocks.span import BlockSpan, load_span
from potluck.checkpoint.adapter_files import open_adapter
from potluck.checkpoint.source import Checkpoint, open_checkpoint, open_folder
from potluck.checkpoint.stored import packing_of
from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.manifest import Manifest, Manifests, make_manifest
from potluck.model_folder import downloaded, has_model, hub_cache, pinned_folder
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence
from potluck_engine import fitting
from potluck_engine.pinned_files import MemberSource, PinnedFiles, other_weights
from potluck_engine.sharing import manifests, own_folder
from potluck_engine.trial_mark import TrialMark

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
    swarm, known = config.swarm, manifests()
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
            raise other_weights(swarm, here)
    if found is None:
        raise CheckpointError(problem.message, hint=problem.hint)
    known.keep(found)
    return found


def _is_whole(folder: Path, manifest: Manifest, known: Manifests) -> bool:
    return all(known.is_right(folder / file.name, file) for file in manifest.files)


def load(checkpoint: Checkpoint, span: Span, config: LaunchSpec, ranks: Ranks | None = None) -> BlockSpan:
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


def check(blocks: BlockSpan) -> None:
    """Run a real token through all blocks. Raises CheckpointError unless it comes out finite."""
    token = torch.ones((1, 1, blocks.hidden_size), dtype=blocks.dtype, device=blocks.device)
    with torch.inference_mode():
        output = blocks.forward(token, blocks.new_cache())
        if not bool(torch.isfinite(output).all()):
            raise CheckpointError(
                "the layers do not compute finite numbers", hint=sentence("download the checkpoint again")
            )
