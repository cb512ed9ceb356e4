"""Finds the files of `resources/` in the installed package or in the source tree.

One of them is a small model, from which a swarm whose model is called `DEMO_MODEL` is served without a download.
"""

from __future__ import annotations

import json
from pathlib import Path

from potluck.errors import PotluckError

DEMO_MODEL = "demo-model"


def bundled_checkpoint(model: str) -> Path | None:
    """Return the folder of a swarm's model if it comes with Potluck."""
    return resource(DEMO_MODEL) if model == DEMO_MODEL else None


_NUM_BLOCKS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    *("layers_block_type", "hybrid_override_pattern"),  # a type for each block
)
"""What families call the number of their blocks, or a list with an entry for each."""


def num_blocks_of(folder: Path) -> int:
    """Return the number of blocks in a local checkpoint, read from its configuration without transformers.

    Raises:
        PotluckError: it is not a checkpoint of a decoder.
    """
    try:
        config = json.loads((folder / "config.json").read_text())
        config = config.get("text_config", config)
        found = next(config[name] for name in _NUM_BLOCKS if name in config)
        return int(found) if isinstance(found, int) else len(found)
    except (OSError, ValueError, AttributeError, StopIteration, TypeError) as error:
        raise PotluckError(f"{folder} is not a local checkpoint of a decoder") from error


def resource(name: str) -> Path:
    """Return the path of a file or folder of `resources/`. Raises PotluckError if the installation lacks it."""
    here = Path(__file__).resolve().parent
    for folder in (here / "resources", here.parents[1] / "resources"):
        if (folder / name).exists():
            return folder / name
    raise PotluckError(f"this installation lacks {name}", hint="install Potluck again")
