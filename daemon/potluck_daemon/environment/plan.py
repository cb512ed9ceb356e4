"""Plans an environment: the build of torch for this machine, the folder, and where its packages come from."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.resources import resource

from potluck.errors import UsageError
from potluck.sentences import sentence
from potluck_daemon.doctor.finding import Finding, Severity
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.preflight import PYTHONS, Site, examine, visit
from potluck_daemon.environment.store import Store, read_manifest
from potluck_daemon.environment.variants import CPU, TORCH, VARIANTS, Choice, choose_variant, fallbacks

_ID_LETTERS = 10
_MAC = "mps"
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
    def is_listed(self) -> bool:
        return is_listed(self.choice.variant.name, self.machine)

    @property
    def requirements(self) -> Path:
        """The list of packages: one that came with Potluck, else one that set-up makes."""
        name = self.choice.variant.name
        return requirements_of(name) if self.is_listed else looked_up_list(self.store, name, self.machine.python)

    @property
    def own_build(self) -> str:
        """The variant if its requirements need that build's own index of torch; empty for the default index."""
        name = self.choice.variant.name
        is_made_here = not self.is_listed and name != _MAC
        return name if is_made_here or f"\ntorch=={TORCH}+{name} " in self.requirements.read_text() else ""

    @property
    def fallbacks(self) -> tuple[EnvironmentPlan, ...]:
        """Return the plans to try when the packages of this one are not to be had, the best first."""
        found = (replace(self, choice=choice) for choice in fallbacks(self.machine, self.choice))
        return tuple(plan for plan in found if is_offered(plan.choice.variant.name, self.machine))

    def findings(self) -> list[Finding]:
        """Check everything that may stand in the way; an error means that it cannot work."""
        return [*examine(self.machine, self.choice, self.site), self._packages()]

    def _packages(self) -> Finding:
        name, python = self.choice.variant.name, ".".join(map(str, self.machine.python))
        others = [other for other in VARIANTS if other != name and is_offered(other, self.machine)]
        if self.is_listed:
            return Finding(
                sentence("packages"),
                Severity.OK,
                sentence(
                    "torch {version}, variant {what}, for Python {python}", version=TORCH, what=name, python=python
                ),
            )
        if is_offered(name, self.machine):
            text = sentence(
                "torch {version}, variant {what}, for Python {python}: looked up during set-up, and kept with hashes",
                version=TORCH,
                what=name,
                python=python,
            )
            return Finding(sentence("packages"), Severity.NOTE, text)
        text = sentence("this version of Potluck has no torch of variant {what} for this computer", what=name)
        advice = (
            sentence("choose another variant: {what}", what=", ".join(others))
            if others
            else sentence("install a newer version of Potluck")
        )
        return Finding(sentence("packages"), Severity.ERROR, text, advice)


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
    site = replace(visit(root), is_lost=is_lost)
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


def is_offered(variant: str, machine: Hardware) -> bool:
    """Return whether set-up can make that variant, by a list or by looking it up."""
    has_build = variant != _MAC and machine.macos is None and machine.architecture in VARIANTS[variant].architectures
    return is_listed(variant, machine) or (has_build and PYTHONS[0] <= machine.python <= PYTHONS[1])


def looked_up_list(store: Store, variant: str, python: tuple[int, int] | str) -> Path:
    """Return the file of a list that set-up makes; another version of the common packages makes another one."""
    version = python.replace(".", "") if isinstance(python, str) else "".join(map(str, python))
    return store.root / f"{variant}-py{version}-{digest(requirements_of(CPU))}.txt"


def digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:_ID_LETTERS]


def is_outdated(store: Store) -> bool:
    """Return whether the environment in use was made from other requirements than those of this version."""
    folder = store.current()
    manifest = read_manifest(folder) if folder is not None else None
    if manifest is None:
        return False
    lists = (requirements_of(manifest.variant), looked_up_list(store, manifest.variant, manifest.python))
    return all(not path.exists() or digest(path) != manifest.requirements for path in lists)
