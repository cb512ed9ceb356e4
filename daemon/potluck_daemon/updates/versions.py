"""Keeps versions of an installation side by side, and switches between them so that it survives a power cut.

    ROOT/versions/0.1.0/, ROOT/versions/0.2.0/    each complete
    ROOT/current, ROOT/previous                   links to two of them
    ROOT/trial.json                               the version that has to prove itself, and how often it was started

A trial begins with the switch and ends when the new daemon has run for `PROVED_S`. The daemon counts its own starts:
after two failed ones, the third leads back to the earlier version, whoever starts it (systemd, the app or a person).
Only the installer without root makes such an installation; other packages have tools of their own for updates.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

import msgspec

from potluck.errors import PotluckError, UsageError
from potluck.files import replace_link, write_atomically
from potluck.protocol.codec import decode, encode
from potluck.sentences import NOTHING, Sentence, sentence

PROVED_S = 30.0  # how long its daemon must run for a version to prove itself
TRIAL_S = 120  # counts from the start of its process; a slow computer takes half of it to start a daemon
MAX_STARTS = 2


class Trial(msgspec.Struct, frozen=True):
    """The switch from version `old` to `new`, which was started `starts` times. It failed if `old` is current again."""

    old: str
    new: str
    starts: int = 0


class Versions:
    """The versions of the installation at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def is_writable(self) -> bool:
        """True if this user may update the installation, rather than only run what another user installed."""
        return os.access(self.root, os.W_OK)

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    def folder(self, version: str) -> Path:
        """Return where a version lies."""
        return self.root / "versions" / version

    def current(self) -> str:
        """Return the version in use."""
        return Path(os.readlink(self.root / "current")).name

    def previous(self) -> str | None:
        """Return the version before that; None if it is gone."""
        link = self.root / "previous"
        name = Path(os.readlink(link)).name if link.is_symlink() else None
        is_usable = name not in (None, self.current()) and self.folder(str(name)).is_dir()
        return name if is_usable else None

    def is_on_trial(self) -> bool:
        """Return whether the current version has yet to prove itself."""
        return self._current_trial() is not None

    def failed(self) -> str:
        """Return the version that the last update led to, if it was abandoned; else an empty name."""
        trial = self._trial()
        is_abandoned = trial is not None and trial.starts >= MAX_STARTS and trial.new != self.current()
        return trial.new if trial is not None and is_abandoned else ""

    def begin_trial(self, new: str) -> None:
        """Switch to `new`, which has to prove itself. Raises PotluckError if it is incomplete."""
        if not (self.folder(new) / "bin" / "potluckd").exists():
            raise PotluckError(
                sentence("version {version} is not complete", version=new), hint=sentence("update again")
            )
        trial = self._current_trial()
        old = trial.old if trial is not None else self.current()  # the last one that proved itself
        self._write(Trial(old, new))
        self._link("previous", old)
        self._link("current", new)

    def count_start(self) -> bool:
        """Count a start of the current version; return whether it may run. If not, the earlier one is current again."""
        trial = self._current_trial()
        if trial is None or not self.folder(trial.old).is_dir():
            return True
        if trial.starts >= MAX_STARTS:
            self.abandon()
            return False
        self._count(trial, trial.starts + 1)
        return True

    def take_back_start(self) -> None:
        """Subtract the last start, because its end proves nothing about the version."""
        if (trial := self._current_trial()) is not None:
            self._count(trial, max(trial.starts - 1, 0))

    def end_trial(self) -> None:
        """End the trial: the current version has proved itself. Remove all others but the one before."""
        self._trial_file.unlink(missing_ok=True)
        self.tidy()
        shutil.rmtree(self.downloads, ignore_errors=True)

    def abandon(self) -> None:
        """Return from a version on trial to the one before, and remember that it failed."""
        if (trial := self._current_trial()) is not None:
            self._count(trial, MAX_STARTS)
            self._link("current", trial.old)
            self.tidy()

    def earlier(self) -> str:
        """Return the version that `roll_back` leads to. Raises PotluckError if there is none."""
        if (old := self.previous()) is None:
            raise PotluckError(sentence("there is no earlier version to go back to"))
        return old

    def roll_back(self) -> None:
        """Use the earlier version again. Raises PotluckError if there is none."""
        self._link("current", self.earlier())
        self._trial_file.unlink(missing_ok=True)
        self.tidy()

    def tidy(self) -> None:
        """Remove every version but the current one and the one before, incomplete ones as well."""
        kept = {self.current(), self.previous()}
        for folder in (self.root / "versions").iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _current_trial(self) -> Trial | None:
        """Return the trial of the current version."""
        trial = self._trial()
        return trial if trial is not None and trial.new == self.current() else None

    def _trial(self) -> Trial | None:
        """Return the last trial that hasn't succeeded yet. A damaged file counts as none: the version in use stays."""
        try:
            return decode(Trial, self._trial_file.read_bytes())
        except (OSError, ValueError):
            return None

    @property
    def _trial_file(self) -> Path:
        return self.root / "trial.json"

    def _count(self, trial: Trial, starts: int) -> None:
        """Write how often the trial's version was started. A full disk keeps no daemon from starting."""
        with contextlib.suppress(OSError):
            self._write(msgspec.structs.replace(trial, starts=starts))

    def _write(self, trial: Trial) -> None:
        write_atomically(self._trial_file, encode(trial), mode=0o644)

    def _link(self, name: str, version: str) -> None:
        replace_link(self.root / name, f"versions/{version}")


def failed_update_notice(versions: Versions) -> Sentence:
    """Return a sentence about the last update if it failed; else nothing."""
    if not (failed := versions.failed()):
        return NOTHING
    return sentence("version {offered} failed; {number} is in use again", offered=failed, number=versions.current())


def other_tool_updates() -> UsageError:
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
