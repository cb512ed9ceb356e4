"""Checks, before a byte is fetched, for anything that would make an installation fail half an hour later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from potluck_control.methods.health import Finding, Severity, Subject

from potluck.files import existing, free_bytes, taken_bytes
from potluck.sentences import Sentence, Size, sentence, verbatim
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.variants import Choice, TorchVariant, offered

MIN_MACOS = (14, 0)  # of the only build for it, macosx_14_0_arm64
PYTHONS = ((3, 11), (3, 13))
_NO_PROGRAMS = getattr(os, "ST_NOEXEC", 0)  # macOS has no such flag
_Problem = tuple[Sentence, Sentence]
"""What is wrong, and what to do about it."""


def examine(machine: Hardware, choice: Choice, folder: Path, *, is_lost: bool = False) -> list[Finding]:
    """Check everything that may stand in the way; an error means that it cannot work.

    Args:
        folder: where the environment will lie.
        is_lost: somebody chose this folder, and it has disappeared.
    """
    needed = choice.variant.download_bytes + choice.variant.disk_bytes
    free = free_bytes(folder) + taken_bytes(folder / "wheels")  # which an earlier attempt fetched
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


def _finding(
    check: Sentence, found: Sentence, problems: Iterator[_Problem], subject: Subject = Subject.UNKNOWN
) -> Finding:
    """Return the first problem, or what was found."""
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
        yield text, sentence("choose another variant: {what}", what=", ".join(offered(machine)) or "-")


def _in_python(machine: Hardware) -> Iterator[_Problem]:
    if not PYTHONS[0] <= machine.python <= PYTHONS[1]:
        text = sentence("Python {version} is not supported", version=".".join(map(str, machine.python)))
        yield text, sentence("use Python 3.11, 3.12 or 3.13")


def _in_the_folder(folder: Path, is_lost: bool) -> Iterator[_Problem]:
    there, choose = existing(folder), sentence("choose another folder with --folder")
    if is_lost:
        text = sentence("{path}, where the engine was to be installed, does not exist", path=str(folder))
        yield text, sentence("is its disk connected? Else {advice}", advice=choose)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield sentence("{path} cannot be written", path=str(folder)), choose
    if os.statvfs(there).f_flag & _NO_PROGRAMS:
        yield sentence("{path} is on a file system that does not run programs", path=str(folder)), choose
