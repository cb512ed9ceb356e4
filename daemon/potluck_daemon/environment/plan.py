"""Plans an environment: the build of torch for this machine, the folder, and where its packages come from."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.methods.health import Finding
from potluck_control.resources import resource

from potluck.errors import UsageError
from potluck.sentences import sentence
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.preflight import examine
from potluck_daemon.environment.store import Store
from potluck_daemon.environment.variants import CPU, TORCH, VARIANTS, Choice, choose_variant, fallback

_ID_LETTERS = 10
_PYTHON = re.compile(r"python_version == '(\d+)\.(\d+)'")  # as `installer/lock.py` writes it


@dataclass(frozen=True, slots=True)
class EnvironmentPlan:
    """The environment to make. `wheels`: take all wheels from this folder."""

    store: Store
    machine: Hardware
    choice: Choice
    wheels: Path | None = None
    usual: Path | None = None  # where others look for the store; a link if it lies elsewhere

    @property
    def is_listed(self) -> bool:
        return list_for(self.choice.variant.name, self.machine) is not None

    @property
    def requirements(self) -> Path:
        return requirements_for(self.choice.variant.name, self.machine)

    @property
    def python(self) -> str:
        return ".".join(map(str, self.machine.python))

    @property
    def name(self) -> str:
        """The name of the environment's folder; other packages make another one."""
        return f"{self.choice.variant.name}-py{self.python.replace('.', '')}-{digest(self.requirements)}"

    @property
    def lock(self) -> Path:
        """The file that keeps what was found, with hashes."""
        return self.store.root / f"{self.name}.toml"

    @property
    def fallback(self) -> EnvironmentPlan | None:
        """The plan to try when the packages of this one are not to be had."""
        choice = fallback(self.machine, self.choice)
        return None if choice is None else replace(self, choice=choice)

    def findings(self) -> list[Finding]:
        """Check everything that may stand in the way; an error means that it cannot work."""
        root, usual = self.store.root, self.usual
        is_lost = usual is not None and usual.is_symlink() and not usual.exists() and usual.resolve() == root
        return examine(self.machine, self.choice, root, is_lost=is_lost)


def choose(machine: Hardware, variant: str) -> Choice:
    """Return the variant of that name, or the best one if the name is empty. Raises UsageError."""
    if not variant:
        return choose_variant(machine)
    if variant not in VARIANTS:
        raise UsageError(
            sentence("there is no variant {what}", what=repr(variant[:32])),
            hint=sentence("there are {what}", what=", ".join(VARIANTS)),
        )
    return Choice(VARIANTS[variant], sentence("as you asked"), is_asked=True)


def root_for(usual: Path, folder: Path | None) -> Path:
    """Return where environments would lie in `folder`, without changing anything. Raises UsageError."""
    if folder is None:
        return usual.resolve()
    chosen = (folder.expanduser().absolute() / "potluck-engines").resolve()
    if chosen != usual.resolve() and Store(usual.resolve()).current() is not None:
        hint = f"remove that first: rm -r {usual.resolve()} {usual}" if usual.is_symlink() else f"rm -r {usual}"
        raise UsageError(sentence("the environment lies in {path} already", path=str(usual.resolve())), hint=hint)
    return chosen


def settle_root(usual: Path, root: Path) -> None:
    """Make `root` the place of environments: the usual folder, or one that a link leads to. Raises OSError."""
    root.mkdir(parents=True, exist_ok=True)
    if usual.resolve() == root.resolve():
        return
    usual.parent.mkdir(parents=True, exist_ok=True)
    if usual.is_symlink():
        usual.unlink()
    elif usual.exists():  # left by an attempt that never finished
        with Store(usual).lock():
            shutil.rmtree(usual)
    usual.symlink_to(root)


def make_plan(
    usual: Path, machine: Hardware, variant: str, folder: Path | None, *, wheels: Path | None = None
) -> EnvironmentPlan:
    """Plan the environment for what a person asked for. Raises UsageError."""
    root = root_for(usual, folder)
    return EnvironmentPlan(Store(root), machine, choose(machine, variant), wheels, usual)


def requirements_of(variant: str) -> Path:
    """Return the file that lists the variant's packages. Not every version comes with all of them."""
    return resource("engine") / f"{variant}.txt"


def list_for(variant: str, machine: Hardware) -> Path | None:
    """Return this version's list for that variant; None if it has none with torch for that machine's Python."""
    path = requirements_of(variant)
    if not path.exists() or not VARIANTS[variant].exists_for(machine):
        return None
    entries = [line for line in path.read_text().splitlines() if line.startswith(f"torch=={TORCH}")]
    pythons = [{(int(one), int(two)) for one, two in _PYTHON.findall(line)} for line in entries]
    return path if all(not known or machine.python in known for known in pythons) else None


def requirements_for(variant: str, machine: Hardware) -> Path:
    """Return the variant's list; without one, the list whose versions it shares."""
    return list_for(variant, machine) or requirements_of(CPU)


def digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:_ID_LETTERS]
