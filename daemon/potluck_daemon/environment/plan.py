"""Plans an environment: the build of torch for this machine, the folder, and where its packages come from."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.resources import resource

from potluck.errors import UsageError
from potluck_daemon.doctor.finding import Finding, Severity
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.preflight import Site, examine, visit
from potluck_daemon.environment.store import Store, read_manifest
from potluck_daemon.environment.variants import TORCH, VARIANTS, Choice, choose_variant

_ID_LETTERS = 10
_PYTHON = re.compile(r"python_version == '(\d+)\.(\d+)'")  # as `installer/lock.py` writes it


@dataclass(frozen=True, slots=True)
class EnvironmentPlan:
    """The environment to make. `wheels`: take all wheels from this folder. `by`: the one who makes it, for messages."""

    store: Store
    machine: Hardware
    choice: Choice
    site: Site
    wheels: Path | None = None
    index: str = ""  # has the variant's torch; empty: where uv looks by default
    by: str = ""
    usual: Path | None = None  # where others look for the store; a link if it lies elsewhere

    @property
    def requirements(self) -> Path:
        return requirements_of(self.choice.variant.name)

    @property
    def own_build(self) -> str:
        """The variant if its requirements need that build's own index of torch; empty for the default index."""
        name = self.choice.variant.name
        return name if f"\ntorch=={TORCH}+{name} " in self.requirements.read_text() else ""

    def findings(self) -> list[Finding]:
        """Check everything that may stand in the way; an error means that it cannot work."""
        return [*examine(self.machine, self.choice, self.site), self._packages()]

    def _packages(self) -> Finding:
        name, path, python = self.choice.variant.name, self.requirements, ".".join(map(str, self.machine.python))
        others = [other for other in VARIANTS if other != name and is_listed(other, self.machine)]
        advice = (
            f"choose another variant, which computes on the processor at least: {', '.join(others)}" if others else ""
        )
        if not path.exists():
            text = f"this version of Potluck comes without the packages of variant {name}"
            return Finding("packages", Severity.ERROR, text, advice or "install a newer version of Potluck")
        if not is_listed(name, self.machine):
            text = f"this version of Potluck has no torch of variant {name} for Python {python}"
            return Finding("packages", Severity.ERROR, text, advice or "run Potluck with Python 3.11")
        return Finding("packages", Severity.OK, f"torch {TORCH}, variant {name}, for Python {python}")


def choose(machine: Hardware, variant: str) -> Choice:
    """Return the variant of that name, or the best one if the name is empty. Raises UsageError."""
    if not variant:
        return choose_variant(machine)
    if variant not in VARIANTS:
        raise UsageError(f"there is no variant {variant[:32]!r}", hint=f"there are {', '.join(VARIANTS)}")
    return Choice(VARIANTS[variant], "as you asked")


def root_for(usual: Path, folder: Path | None) -> Path:
    """Return where environments would lie in `folder`, without changing anything. Raises UsageError."""
    if folder is None:
        return usual.resolve()
    chosen = (folder.expanduser().absolute() / "potluck-engines").resolve()
    if chosen != usual.resolve() and Store(usual.resolve()).current() is not None:
        hint = f"remove that first: rm -r {usual.resolve()} {usual}" if usual.is_symlink() else f"rm -r {usual}"
        raise UsageError(f"the environment lies in {usual.resolve()} already", hint=hint)
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
        Store(usual).remove()
    usual.symlink_to(root)


def make_plan(
    usual: Path,
    machine: Hardware,
    variant: str,
    folder: Path | None,
    *,
    wheels: Path | None = None,
    index: str = "",
    by: str = "",
) -> EnvironmentPlan:
    """Plan the environment for what a person asked for. Raises UsageError."""
    root = root_for(usual, folder)
    is_lost = folder is None and usual.is_symlink() and not usual.exists()
    site = replace(visit(root, {} if wheels is not None else os.environ), is_lost=is_lost)
    return EnvironmentPlan(Store(root), machine, choose(machine, variant), site, wheels, index, by, usual)


def requirements_of(variant: str) -> Path:
    """Return the file that lists the variant's packages. Not every version comes with all of them."""
    return resource("engine") / f"{variant}.txt"


def is_listed(variant: str, machine: Hardware) -> bool:
    """Return whether this version lists torch of that variant for that processor and Python."""
    path = requirements_of(variant)
    if not path.exists() or machine.architecture not in VARIANTS[variant].architectures:
        return False
    entries = [line for line in path.read_text().splitlines() if line.startswith(f"torch=={TORCH}")]
    pythons = [{(int(one), int(two)) for one, two in _PYTHON.findall(line)} for line in entries]
    return all(not known or machine.python in known for known in pythons)


def digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:_ID_LETTERS]


def is_outdated(store: Store) -> bool:
    """Return whether the environment in use was made from other requirements than those of this version."""
    folder = store.current()
    manifest = read_manifest(folder) if folder is not None else None
    if manifest is None:
        return False
    path = requirements_of(manifest.variant)
    return path.exists() and digest(path) != manifest.requirements
