"""Keeps versions of an installation side by side, and switches between them so that it survives a power cut.

    ROOT/versions/0.1.0/, ROOT/versions/0.2.0/    each complete
    ROOT/current, ROOT/previous                   links to two of them
    ROOT/trial.json                               the version that has to prove itself, and how often it was started

A trial begins before the switch and ends when the new daemon has run for `PROVED_S`. Each start in between counts, and
too many of them lead back. Only the installer without root makes such an installation; other packages have tools of
their own for updates.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import msgspec

from potluck.errors import PotluckError, UsageError
from potluck.files import replace_link, write_atomically
from potluck.protocol.codec import decode, encode
from potluck.sentences import sentence

PROVED_S = 30.0  # how long its daemon must run for a version to prove itself

_MAX_STARTS = 2


class Trial(msgspec.Struct, frozen=True):
    """The switch from version `old` to `new`; `starts` counts how often `new` was started so far."""

    old: str
    new: str
    starts: int = 0


class Versions:
    """The versions of the installation at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    def folder(self, version: str) -> Path:
        return self.root / "versions" / version

    def current(self) -> str:
        return Path(os.readlink(self.root / "current")).name

    def previous(self) -> str | None:
        link = self.root / "previous"
        name = Path(os.readlink(link)).name if link.is_symlink() else None
        is_usable = name not in (None, self.current()) and self.folder(str(name)).is_dir()
        return name if is_usable else None

    def trial(self) -> Trial | None:
        """Return the running trial. A damaged note counts as none: the version in use stays."""
        try:
            return decode(Trial, self._trial_file.read_bytes())
        except (OSError, ValueError):
            return None

    def begin_trial(self, new: str) -> None:
        """Switch to `new`, which has to prove itself. Raises PotluckError if it is incomplete."""
        if not (self.folder(new) / "bin" / "potluckd").exists():
            raise PotluckError(
                sentence("version {version} is not complete", version=new), hint=sentence("update again")
            )
        old = self.current()
        self._note(Trial(old, new))
        self._link("previous", old)
        self._link("current", new)

    def note_start(self) -> bool:
        """Count a start of the current version; return whether it may run. If not, the earlier one is current again."""
        trial = self.trial()
        if trial is None or trial.new != self.current():
            return True
        if trial.starts >= _MAX_STARTS:
            self.roll_back()
            return False
        self._note(Trial(trial.old, trial.new, trial.starts + 1))
        return True

    def end_trial(self) -> None:
        """End the trial: the current version has proved itself. Remove all others but the one before."""
        self._trial_file.unlink(missing_ok=True)
        self.tidy()
        shutil.rmtree(self.downloads, ignore_errors=True)

    def tidy(self) -> None:
        """Remove every version but the current one and the one before, incomplete ones as well."""
        kept = {self.current(), self.previous()}
        for folder in (self.root / "versions").iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def roll_back(self) -> str:
        """Use the earlier version again and return it. Raises PotluckError if there is none."""
        trial = self.trial()
        old = trial.old if trial is not None else self.previous()
        if old is None or not self.folder(old).is_dir():
            raise PotluckError(sentence("there is no earlier version to go back to"))
        if self.current() != old:
            self._link("current", old)
        self._trial_file.unlink(missing_ok=True)
        return old

    @property
    def _trial_file(self) -> Path:
        return self.root / "trial.json"

    def _note(self, trial: Trial) -> None:
        write_atomically(self._trial_file, encode(trial), mode=0o644)

    def _link(self, name: str, version: str) -> None:
        replace_link(self.root / name, f"versions/{version}")


def not_ours() -> UsageError:
    """Return the error for an installation that another tool updates."""
    return UsageError(
        sentence("this installation is updated by the tool that installed it"),
        hint=sentence("apt, pip, ... as the docs say"),
    )


def own_versions(prefix: str = sys.prefix) -> Versions | None:
    """Return the installation that this program runs from; None if another tool updates it."""
    folder = Path(prefix)
    is_ours = folder.name == "current" or folder.parent.name == "versions"
    root = folder.parent if folder.name == "current" else folder.parent.parent
    return Versions(root) if is_ours and (root / "current").is_symlink() else None
