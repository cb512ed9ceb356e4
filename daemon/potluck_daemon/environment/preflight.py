"""Checks, before a byte is fetched, for anything that would make an installation fail half an hour later."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs
from potluck_control.methods.health import Subject

from potluck.files import existing, free_bytes
from potluck.sentences import Size, sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Severity
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.variants import Choice, TorchVariant

MIN_GLIBC = (2, 28)  # of the wheels' platform tag, manylinux_2_28
MIN_MACOS = (14, 0)  # of the only build for it, macosx_14_0_arm64
PYTHONS = ((3, 11), (3, 13))
_SYSTEM, _PYTHON, _FOLDER = sentence("system"), sentence("Python"), sentence("folder")
_DISK, _GPU = sentence("disk"), sentence("GPU")
_NO_PROGRAMS = getattr(os, "ST_NOEXEC", 0)  # macOS has no such flag
_MAX_PATH = 2000  # bytes: half of what Linux allows, because packages have deep folders and long names


@dataclass(frozen=True, slots=True)
class Site:
    """The place of an environment.

    Attributes:
        is_lost: somebody chose this folder, and it has disappeared.
    """

    folder: Path
    free_bytes: int
    is_writable: bool
    may_execute: bool
    is_lost: bool = False


def visit(folder: Path) -> Site:
    """Look at the folder, or at the nearest one above it that exists."""
    there = existing(folder)
    return Site(
        folder=folder,
        free_bytes=free_bytes(there) + _fetched_bytes(folder),
        is_writable=there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        may_execute=not os.statvfs(there).f_flag & _NO_PROGRAMS,
    )


def _fetched_bytes(folder: Path) -> int:
    """Return the size of the wheels that an earlier attempt left, which needn't be fetched again."""
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in (folder / "wheels").iterdir())
    return 0


def examine(machine: Hardware, choice: Choice, site: Site) -> list[Finding]:
    """Check everything that may stand in the way; an error means that it cannot work."""
    variant = choice.variant
    shown = {Subject.FOLDER: _folder(site), Subject.ROOM: _disk(variant, site), Subject.BUILD: _gpu(choice)}
    told = (structs.replace(finding, subject=subject) for subject, finding in shown.items())
    return [_system(machine, variant), _python(machine), *told]


def _system(machine: Hardware, variant: TorchVariant) -> Finding:
    if machine.macos is not None:
        return _mac(machine, machine.macos)
    if machine.glibc is None:
        text = sentence("torch is built for the GNU C library, which this system does not use")
        return Finding(_SYSTEM, Severity.ERROR, text, sentence("use a distribution with glibc, or the container image"))
    version = ".".join(map(str, machine.glibc))
    if machine.glibc < MIN_GLIBC:
        text = sentence("the C library {version} is too old for torch", version=version)
        return Finding(
            _SYSTEM,
            Severity.ERROR,
            text,
            sentence("it has been new enough since Debian 10 and Ubuntu 20.04"),
        )
    if machine.architecture not in variant.architectures:
        text = sentence("torch is not built for {architecture} processors", architecture=machine.architecture)
        return Finding(_SYSTEM, Severity.ERROR, text, sentence("choose variant cpu, or another machine"))
    return Finding(
        _SYSTEM,
        Severity.OK,
        sentence("{architecture}, C library {version}", architecture=machine.architecture, version=version),
    )


def _mac(machine: Hardware, version: tuple[int, int]) -> Finding:
    shown = f"{version[0]}.{version[1]}"
    if machine.architecture != "arm64":
        text = sentence("torch is not built for Macs with Intel processors any more")
        return Finding(
            _SYSTEM,
            Severity.ERROR,
            text,
            sentence("use this Mac to chat and to look; let another machine serve"),
        )
    if version < MIN_MACOS:
        text = sentence("macOS {version} is too old for torch", version=shown)
        return Finding(
            _SYSTEM,
            Severity.ERROR,
            text,
            sentence("update it to macOS {version} or newer", version=MIN_MACOS[0]),
        )
    return Finding(
        _SYSTEM,
        Severity.OK,
        sentence("macOS {version}, {architecture}", version=shown, architecture=machine.architecture),
    )


def _python(machine: Hardware) -> Finding:
    version = ".".join(map(str, machine.python))
    if PYTHONS[0] <= machine.python <= PYTHONS[1]:
        return Finding(_PYTHON, Severity.OK, verbatim(version))
    return Finding(
        _PYTHON,
        Severity.ERROR,
        sentence("Python {version} is not supported", version=version),
        sentence("use Python 3.11, 3.12 or 3.13"),
    )


def _folder(site: Site) -> Finding:
    path = str(site.folder)
    choose = sentence("choose another folder with --folder")
    if site.is_lost:
        text = sentence("{path}, where the engine was to be installed, does not exist", path=path)
        return Finding(_FOLDER, Severity.ERROR, text, sentence("is its disk connected? Else {advice}", advice=choose))
    if not path.isprintable() or len(os.fsencode(path)) > _MAX_PATH:
        text = sentence("the path {path} is too long or contains line breaks", path=repr(path[:80]))
        return Finding(_FOLDER, Severity.ERROR, text, choose)
    if not site.is_writable:
        return Finding(_FOLDER, Severity.ERROR, sentence("{path} cannot be written", path=path), choose)
    if not site.may_execute:
        return Finding(
            _FOLDER,
            Severity.ERROR,
            sentence("{path} is on a file system that does not run programs", path=path),
            choose,
        )
    return Finding(_FOLDER, Severity.OK, verbatim(path))


def _disk(variant: TorchVariant, site: Site) -> Finding:
    needed = variant.download_bytes + variant.disk_bytes
    text = sentence("{free} are free, {least} are needed at most", free=Size(site.free_bytes), least=Size(needed))
    if site.free_bytes < needed:
        return Finding(
            _DISK,
            Severity.ERROR,
            text,
            sentence("make room, or choose a folder on another disk with --folder"),
        )
    return Finding(_DISK, Severity.OK, text)


def _gpu(choice: Choice) -> Finding:
    severity = Severity.WARNING if choice.advice else Severity.OK
    return Finding(
        _GPU,
        severity,
        sentence("{why}: variant {what}", why=choice.why, what=choice.variant.name),
        choice.advice,
    )
