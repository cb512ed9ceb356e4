"""Plans an environment: the build of torch for this machine, the folder, the packages, and what would make it fail.

The checks run before a byte is fetched, because an installation that fails does so after half an hour. The app's first
run, its pages and `potluck setup` show the state of the environment that is in use beside the plan.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import Struct
from potluck_control.methods.health import Finding, Severity, Subject
from potluck_control.methods.installation import BeginParams, Plan, SetupState
from potluck_control.places import Places
from potluck_control.resources import resource

from potluck.errors import UsageError
from potluck.files import disk_usage_bytes, free_bytes, nearest_existing
from potluck.sentences import Sentence, Size, sentence, verbatim
from potluck_daemon.environment.hardware import Hardware
from potluck_daemon.environment.store import Store, engine_python, has_torch, read_manifest
from potluck_daemon.environment.variants import (
    CPU,
    TORCH,
    VARIANTS,
    Choice,
    TorchVariant,
    choose_variant,
    fallback,
    offered_variants,
)

MIN_MACOS = (14, 0)  # torch's only build for Macs is macosx_14_0_arm64
PYTHONS = ((3, 11), (3, 13))
_NO_PROGRAMS = getattr(os, "ST_NOEXEC", 0)  # macOS has no such flag
_Problem = tuple[Sentence, Sentence]
"""What is wrong, and what to do about it."""
_ID_LETTERS = 10
_PYTHON = re.compile(r"python_version == '(\d+)\.(\d+)'")  # the form in which `installer/lock.py` writes it


def preflight_findings(machine: Hardware, choice: Choice, folder: Path, *, is_lost: bool = False) -> list[Finding]:
    """Check everything that may make it fail. An error means that it cannot work.

    Args:
        folder: where the environment will lie.
        is_lost: somebody chose this folder, and it has disappeared.
    """
    needed = choice.variant.download_bytes + choice.variant.disk_bytes
    free = free_bytes(folder) + disk_usage_bytes(folder / "wheels")  # an earlier attempt may have fetched wheels
    room = sentence("{free} are free, {least} are needed at most", free=Size(free), least=Size(needed))
    more = sentence("make room, or choose a folder on another disk with --folder")
    chosen = sentence("{why}: variant {what}", why=choice.why, what=choice.variant.name)
    severity = Severity.WARNING if choice.advice else Severity.OK
    return [
        _finding(sentence("Can this system run PyTorch?"), _system(machine), _in_the_system(machine, choice.variant)),
        _finding(sentence("Does this Python fit?"), verbatim(".".join(map(str, machine.python))), _in_python(machine)),
        _finding(
            sentence("Can the folder be used?"), verbatim(str(folder)), _in_the_folder(folder, is_lost), Subject.FOLDER
        ),
        _finding(
            sentence("Is there room on the disk?"), room, iter([(room, more)] if free < needed else []), Subject.ROOM
        ),
        Finding(sentence("Can a GPU be used?"), severity, chosen, choice.advice, Subject.BUILD),
    ]


@dataclass(frozen=True, slots=True)
class EnvironmentPlan:
    """An environment to make. `wheels`: a folder to take all wheels from."""

    store: Store
    machine: Hardware
    choice: Choice
    wheels: Path | None = None
    usual: Path | None = None  # where others look for the store; a link if it lies elsewhere

    @property
    def is_listed(self) -> bool:
        """True if this version of Potluck lists the packages with torch."""
        return list_for(self.choice.variant.name, self.machine) is not None

    @property
    def requirements(self) -> Path:
        """The file that lists the packages."""
        return requirements_for(self.choice.variant.name, self.machine)

    @property
    def python(self) -> str:
        """The version of Python, such as `3.11`."""
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
        """The plan to try when no index has the packages of this one."""
        choice = fallback(self.machine, self.choice)
        return None if choice is None else replace(self, choice=choice)

    def findings(self) -> list[Finding]:
        """Check everything that may make it fail. An error means that it cannot work."""
        root, usual = self.store.root, self.usual
        is_lost = usual is not None and usual.is_symlink() and not usual.exists() and usual.resolve() == root
        return preflight_findings(self.machine, self.choice, root, is_lost=is_lost)


def variant_for(machine: Hardware, variant: str) -> Choice:
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
    """Return where environments would be if the user chose `folder`; change nothing. Raises UsageError."""
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
    """Plan the environment that a person asked for. Raises UsageError."""
    root = root_for(usual, folder)
    return EnvironmentPlan(Store(root), machine, variant_for(machine, variant), wheels, usual)


def requirements_of(variant: str) -> Path:
    """Return the file that lists the variant's packages. Not every version of Potluck has one for each variant."""
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
    """Return the beginning of a requirements file's hash."""
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:_ID_LETTERS]


class SetupRequest(Struct, frozen=True):
    """The request to the process that makes an environment. `engines`: the daemon's folder of environments."""

    engines: str
    asked: BeginParams = BeginParams()
    rolls_back: bool = False  # True: return to the environment before this one


def read_state(places: Places, named: str, machine: Hardware, asked: BeginParams) -> SetupState:
    """Read the state of the environment, and plan for what is `asked`. Blocks. `named`: the setting `serve.python`.

    Raises:
        UsageError: there is no such variant, or the folder cannot be chosen.
    """
    folder = Path(asked.folder) if asked.folder else None
    plan = make_plan(places.engines, machine, asked.variant, folder)
    choice, variant = plan.choice, plan.choice.variant
    store = Store(places.engines.resolve())
    current = store.current()
    made = read_manifest(current) if current is not None else None
    return SetupState(
        ready=has_torch(engine_python(places, named)),
        folder=str(plan.store.root),
        plan=Plan(
            variant.name, choice.why, choice.advice, variant.download_bytes, variant.disk_bytes, variant.is_verified
        ),
        variant=made.variant if made is not None else "",
        devices=made.devices if made is not None else (),
        outdated=made is not None and made.requirements != digest(requirements_for(made.variant, machine)),
        can_roll_back=store.previous() is not None,
        findings=tuple(plan.findings()),
        variants=offered_variants(machine),
    )


def _finding(
    check: Sentence, found: Sentence, problems: Iterator[_Problem], subject: Subject = Subject.UNKNOWN
) -> Finding:
    """Return a finding with the first problem, or with what was found if there is none."""
    problem = next(problems, None)
    if problem is None:
        return Finding(check, Severity.OK, found, subject=subject)
    return Finding(check, Severity.ERROR, *problem, subject)


def _system(machine: Hardware) -> Sentence:
    library, architecture = ".".join(map(str, machine.macos or machine.glibc or ())), machine.architecture
    if machine.macos is not None:
        return sentence("macOS {version}, {architecture}", version=library, architecture=architecture)
    return sentence("{architecture}, C library {version}", architecture=architecture, version=library)


def _in_the_system(machine: Hardware, variant: TorchVariant) -> Iterator[_Problem]:
    if machine.macos is not None and machine.architecture != "arm64":
        text = sentence("torch is not built for Macs with Intel processors any more")
        yield text, sentence("use this Mac to chat and to look; let another machine serve")
    elif machine.macos is not None and machine.macos < MIN_MACOS:
        text = sentence("macOS {version} is too old for torch", version=".".join(map(str, machine.macos)))
        yield text, sentence("update it to macOS {version} or newer", version=MIN_MACOS[0])
    elif machine.macos is None and machine.glibc is None:
        text = sentence("torch is built for the GNU C library, which this system does not use")
        yield text, sentence("use a distribution with glibc, or the container image")
    elif not variant.exists_for(machine):
        text = sentence("this version of Potluck has no torch of variant {what} for this computer", what=variant.name)
        yield text, sentence("choose another variant: {what}", what=", ".join(offered_variants(machine)) or "-")


def _in_python(machine: Hardware) -> Iterator[_Problem]:
    if not PYTHONS[0] <= machine.python <= PYTHONS[1]:
        text = sentence("Python {version} is not supported", version=".".join(map(str, machine.python)))
        yield text, sentence("use Python 3.11, 3.12 or 3.13")


def _in_the_folder(folder: Path, is_lost: bool) -> Iterator[_Problem]:
    there, choose = nearest_existing(folder), sentence("choose another folder with --folder")
    if is_lost:
        text = sentence("{path}, where the engine was to be installed, does not exist", path=str(folder))
        yield text, sentence("is its disk connected? Else {advice}", advice=choose)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield sentence("{path} cannot be written", path=str(folder)), choose
    if os.statvfs(there).f_flag & _NO_PROGRAMS:
        yield sentence("{path} is on a file system that does not run programs", path=str(folder)), choose
