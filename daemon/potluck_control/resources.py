"""Finds the files of `resources/` in the installed package or in the source tree.

One of them is a small model, from which a swarm whose model is called `DEMO_MODEL` is served without a download, and
`DEMO_DRAFT` drafts for it.
"""

from __future__ import annotations

from pathlib import Path

from potluck.errors import PotluckError
from potluck.sentences import sentence

DEMO_MODEL = "demo-model"
DEMO_DRAFT = "demo-draft"


def bundled_checkpoint(model: str) -> Path | None:
    """Return the folder of a model, or of one that drafts, if it comes with Potluck."""
    return resource(model) if model in (DEMO_MODEL, DEMO_DRAFT) else None


def resource(name: str) -> Path:
    """Return the path of a file or folder of `resources/`. Raises PotluckError if the installation lacks it."""
    here = Path(__file__).resolve().parent
    for folder in (here / "resources", here.parents[1] / "resources"):
        if (folder / name).exists():
            return folder / name
    raise PotluckError(sentence("this installation lacks {name}", name=name), hint=sentence("install Potluck again"))
