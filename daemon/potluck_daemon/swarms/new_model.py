"""Finds out what a swarm needs to know about its model, from a folder or from the hub, and pins its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from potluck_control.own_python import python_command
from potluck_control.resources import DEMO_MODEL, resource

from potluck.errors import CheckpointError, UsageError
from potluck.manifest import Manifests, make_manifest
from potluck.membership.leadership import SwarmModel
from potluck.protocol.hub import OpenedModel
from potluck.protocol.swarm import LOCAL_REVISION
from potluck.sentences import sentence
from potluck_daemon.swarms.hub import ask_hub

_ASK = """
import sys
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import PotluckError
from potluck.protocol.codec import encode
from potluck.protocol.hub import HubRefusal, OpenedModel
try:
    found = open_checkpoint(sys.argv[1])
    said = OpenedModel(found.name, found.num_blocks, found.revision, str(found.folder))
except PotluckError as error:
    said = HubRefusal(error.sentence, error.advice)
print(encode(said).decode())
"""

_NUM_BLOCKS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    *("layers_block_type", "hybrid_override_pattern"),  # a type for each block
)
"""What families call the number of their blocks, or a list with an entry for each."""


class NewModel(OpenedModel, frozen=True):
    """A model for a swarm."""

    folder: str = ""  # of a checkpoint that is not on the hub

    def pinned(self, manifests: Manifests) -> SwarmModel:
        """Return the model for a swarm, pinned if all of its files are here. Reads 2 GB in a second. Blocks.

        Raises:
            PotluckError: files of a folder are missing; those of a model on the hub may be.
        """
        weights = b""
        try:
            manifest = make_manifest(Path(self.files))
            manifests.keep(manifest)
            weights = manifest.digest
        except CheckpointError:
            if self.revision == LOCAL_REVISION:
                raise
        return SwarmModel(self.name, self.num_blocks, self.revision, weights)


async def find_model(wanted: str, python: str, environment: Mapping[str, str]) -> NewModel:
    """Describe the model `wanted`: a folder, a name on the hub, or nothing (or its name) for the demo model.

    Args:
        python: the engine's interpreter, which has what it takes to ask the hub, and its environment.

    Raises:
        PotluckError: it is no model that can be split, or the hub can't be asked.
    """
    if wanted in ("", DEMO_MODEL):
        folder = resource(DEMO_MODEL)
        return NewModel(DEMO_MODEL, num_blocks_of(folder), LOCAL_REVISION, files=str(folder))
    if wanted.startswith(("/", "~", ".")):
        return _in_folder(wanted)
    (found,) = await ask_hub(python_command(python, "-c", _ASK, wanted), environment, NewModel)
    return found


def _in_folder(wanted: str) -> NewModel:
    folder = Path(wanted).expanduser()
    if not folder.is_absolute() or "\0" in wanted:
        raise UsageError(sentence("the folder of a checkpoint must be absolute"), hint=sentence("begin it with / or ~"))
    folder = folder.resolve()
    return NewModel(folder.name, num_blocks_of(folder), LOCAL_REVISION, str(folder), str(folder))


def num_blocks_of(folder: Path) -> int:
    """Return the number of blocks in a local checkpoint, read from its configuration without transformers.

    Raises:
        CheckpointError: it is not a checkpoint of a decoder.
    """
    try:
        config = json.loads((folder / "config.json").read_text())
        config = config.get("text_config", config)
        found = next(config[name] for name in _NUM_BLOCKS if name in config)
        return int(found) if isinstance(found, int) else len(found)
    except (OSError, ValueError, AttributeError, StopIteration, TypeError) as error:
        raise CheckpointError(f"{folder} is not a local checkpoint of a decoder") from error
