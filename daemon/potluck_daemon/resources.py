"""Where the files of `resources/` are: inside the installed package, or in the source tree beside it."""

from __future__ import annotations

from pathlib import Path

from potluck.errors import PotluckError


def resource(name: str) -> Path:
    """The path of a file or folder of `resources/`. Raises PotluckError for an installation without it."""
    here = Path(__file__).resolve().parent
    for folder in (here / "resources", here.parents[1] / "resources"):
        if (folder / name).exists():
            return folder / name
    raise PotluckError(f"this installation lacks {name}", hint="install Potluck again")
