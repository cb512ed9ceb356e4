"""Describes a model for a swarm and the model that drafts for it, and pins their files.

A short-lived process asks the hub, so that the daemon stays small. It prints one structure a line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from potluck_control.processes.python_command import python_command
from potluck_control.resources import DEMO_DRAFT, DEMO_MODEL, resource

from potluck.draft_pairs import NO_DRAFT, known_draft
from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.membership.leadership import ChosenModel
from potluck.model_files import Manifests, make_manifest
from potluck.protocol.codec import decode
from potluck.protocol.local_messages import HubRefusal, OpenedModel
from potluck.protocol.swarm import LOCAL_REVISION
from potluck.sentences import sentence
from potluck_daemon.child_process import running_child
from potluck_daemon.environment.store import has_torch

T = TypeVar("T")

TIMEOUT_S = 28.0  # the control server's own limit is 30 s
_NUM_BLOCKS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    *("layers_block_type", "hybrid_override_pattern"),  # a type for each block
)
"""What families call the number of their blocks, or a list with an entry for each."""


async def query_hub(question: Sequence[str], python: str, environment: Mapping[str, str], kind: type[T]) -> list[T]:
    """Ask the hub, and return the lines of the process that does so as values of `kind`.

    Args:
        question: arguments of `potluck.checkpoint.search`.
        python: the engine's interpreter, which has the packages that ask the hub.
        environment: the environment variables of the process.

    Raises:
        PotluckError: the hub cannot be asked, or refuses.
    """
    if not has_torch(python):
        raise PotluckError(sentence("cannot search the hub without the compute engine"), hint="potluck setup")
    command, answers = python_command(python, "-m", "potluck.checkpoint.search", *question), []
    try:
        async with running_child(command, environment) as child, asyncio.timeout(TIMEOUT_S):
            while line := await child.read_line():
                refusal = decode(HubRefusal, line)
                if refusal.message:
                    raise PotluckError(refusal.message, hint=refusal.hint)
                answers.append(decode(kind, line))
            if why := await child.failure():
                raise PotluckError(sentence("cannot ask the hub: {why}", why=why), hint="potluck doctor")
    except TimeoutError:
        raise PotluckError(sentence("the hub did not answer in time"), hint=sentence("try again")) from None
    except OSError as error:
        raise PotluckError(
            sentence("cannot start {path}: {why}", path=command[0], why=str(error.strerror)), hint="potluck setup"
        ) from error
    except ValueError as error:
        raise PotluckError(sentence("the hub's answer cannot be read"), hint=sentence("try other words")) from error
    return answers


class NewModel(OpenedModel, frozen=True):
    """A model for a swarm."""

    folder: str = ""  # the folder of a checkpoint that is not on the hub

    def pinned(self, manifests: Manifests) -> ChosenModel:
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
        return ChosenModel(self.name, self.num_blocks, self.revision, weights)


async def find_model(wanted: str, python: str, environment: Mapping[str, str]) -> NewModel:
    """Describe the model `wanted`: a folder, a name on the hub, or an empty name for the demo model.

    Args:
        python, environment: as for `query_hub`.

    Raises:
        PotluckError: it is no model that can be split, or the hub can't be asked.
    """
    if wanted in ("", DEMO_MODEL):
        return _bundled(DEMO_MODEL)
    if wanted.startswith(("/", "~", ".")):
        return _in_folder(wanted)
    (found,) = await query_hub(["", wanted, ""], python, environment, NewModel)
    return found


async def find_draft(model: NewModel, wanted: str, python: str, environment: Mapping[str, str]) -> NewModel | None:
    """Describe the small model that drafts for `model`: the one on the hub that is `wanted`, or one known to fit.

    Args:
        wanted: empty: one that is known to fit; `NO_DRAFT`: none.
        python, environment: as for `find_model`.

    Raises:
        PotluckError: its tokenizer is another one, or the hub can't be asked.
    """
    if model.name == DEMO_MODEL and wanted in ("", DEMO_DRAFT):
        return _bundled(DEMO_DRAFT)
    name = wanted or known_draft(model.name)
    if name in ("", NO_DRAFT):
        return None
    if name.startswith(("/", "~", ".")):
        raise UsageError(
            sentence("members get a drafting model from the hub, not from a folder"),
            hint=sentence("put it on the hub, and give its name there"),
        )
    place = (model.files, "") if model.revision == LOCAL_REVISION else (model.name, model.revision)
    (found,) = await query_hub(["", *place, name], python, environment, NewModel)
    return found


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
        raise CheckpointError(
            sentence("{folder} is not a local checkpoint of a decoder", folder=str(folder))
        ) from error


def _bundled(name: str) -> NewModel:
    folder = resource(name)
    return NewModel(name, num_blocks_of(folder), LOCAL_REVISION, files=str(folder))


def _in_folder(wanted: str) -> NewModel:
    folder = Path(wanted).expanduser()
    if not folder.is_absolute() or "\0" in wanted:
        raise UsageError(sentence("the folder of a checkpoint must be absolute"), hint=sentence("begin it with / or ~"))
    folder = folder.resolve()
    return NewModel(folder.name, num_blocks_of(folder), LOCAL_REVISION, str(folder), str(folder))
