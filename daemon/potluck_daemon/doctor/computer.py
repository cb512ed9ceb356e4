"""Checks of this computer: Potluck's own parts, the hardware and the desktop.

Functions that measure find what the scene does not hold. Judges are pure.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

from potluck_control.api.schema import ProbeState
from potluck_control.states import State

from potluck.allowance import Memory
from potluck.errors import PotluckError
from potluck.files import free_bytes, nearest_existing
from potluck.sentences import Size, sentence, verbatim
from potluck_daemon.accounting.account import models_folder
from potluck_daemon.doctor.finding import ERROR, NOTE, OK, WARNING, Diagnosis, Scene
from potluck_daemon.environment.hardware import Hardware
from potluck_daemon.environment.store import engine_python, has_torch
from potluck_daemon.environment.variants import choose_variant
from potluck_daemon.presence.lookout import GAME_GROUPS, WAYLAND_WINDOWS, X11_WINDOWS, SessionProbe

STATE_BYTES = 100 << 20
CACHE_BYTES = 10 << 30  # a few blocks of a large model
ENGINE_BYTES = 2_000_000_000  # imports, the node and a few small blocks need it
EARLIEST = 1_780_000_000  # 2026-05-28: this program is newer

_UNSYNCHRONISED = 0x40  # STA_UNSYNC of <sys/timex.h>
_STATUS_OFFSET = 40  # where struct timex has `status` if long has 64 bits
_TIMEX_BYTES = 512  # larger than the structure on any platform
_WORKS = (ProbeState.WATCHING, ProbeState.SEEN)


class Disks(NamedTuple):
    """The disks of state and downloads."""

    state: Path
    is_state_writable: bool
    state_free_bytes: int
    cache: Path
    cache_free_bytes: int


class Clock(NamedTuple):
    """What this computer's clock says."""

    now: float  # Unix seconds
    is_synchronised: bool | None = None  # None: the kernel does not report it


def judge_settings(scene: Scene, _: None) -> Diagnosis:
    """Judge by mistakes and oddities in the settings file."""
    for problem in scene.loaded.problems:
        return Diagnosis(ERROR, problem, verbatim("potluck config edit"))
    for notice in scene.loaded.notices:
        return Diagnosis(NOTE, notice, verbatim("potluck config edit"))
    return Diagnosis(OK, sentence("the settings file has no mistakes"))


def judge_daemon(scene: Scene, installed: str) -> Diagnosis:
    """Judge by the daemon's answer and version."""
    status = scene.status
    if status is None:
        away = scene.away or PotluckError(sentence("the daemon is not running"), hint="potluck start")
        return Diagnosis(WARNING, away.sentence, away.advice or verbatim("potluck logs"))
    if status.version != installed:
        text = sentence(
            "the daemon runs version {theirs}, but {ours} is installed", theirs=status.version, ours=installed
        )
        return Diagnosis(WARNING, text, verbatim("potluck drain, then potluck start"))
    if status.state is State.ERROR:
        return Diagnosis(ERROR, status.text, verbatim("potluck logs"))
    return Diagnosis(OK, sentence("version {version} runs", version=installed))


def is_engine_installed(scene: Scene) -> bool:
    """Return whether the engine's Python has torch."""
    return has_torch(engine_python(scene.places, scene.loaded.settings.serve.python))


def judge_engine(_: Scene, is_installed: bool) -> Diagnosis:
    """Judge whether an engine can be started."""
    if not is_installed:
        text = sentence("the engine needs {names}, which is not installed", names="torch")
        return Diagnosis(ERROR, text, verbatim("potluck setup"))
    return Diagnosis(OK, sentence("the engine's packages are installed"))


def judge_graphics(scene: Scene, machine: Hardware) -> Diagnosis:
    """Judge by the build of torch that fits the machine's GPUs and driver."""
    choice, wanted = choose_variant(machine), scene.loaded.settings.serve.device
    if machine.driver_problem:
        text = sentence("there is a GPU, but its driver does not answer: {why}", why=machine.driver_problem)
        return Diagnosis(ERROR, text, sentence("install or repair NVIDIA's driver, then restart the machine"))
    uses_processor = choice.variant.name == "cpu"
    if uses_processor and wanted.startswith("cuda"):
        text = sentence("serve.device is {name}, but no GPU is found", name=repr(wanted))
        return Diagnosis(ERROR, text, verbatim("potluck config unset serve.device"))
    if choice.advice:
        return Diagnosis(WARNING, choice.why, choice.advice)
    return Diagnosis(NOTE if uses_processor else OK, choice.why)


def judge_memory(scene: Scene, ram: Memory) -> Diagnosis:
    """Judge by the RAM that an engine needs."""
    text = sentence("{free} of {all} available", free=Size(ram.available), all=Size(ram.total))
    if ram.total < ENGINE_BYTES:
        return Diagnosis(ERROR, text, sentence("an engine needs 2 GB; this machine can only use a swarm"))
    has_engine = scene.status is not None and scene.status.engine.pid is not None  # its memory counts as used
    if ram.available < ENGINE_BYTES and not has_engine:
        return Diagnosis(WARNING, text, sentence("close other programs, or serve fewer layers: serve.num_blocks"))
    return Diagnosis(OK, text)


def read_disks(scene: Scene) -> Disks:
    """Return the free space for state and downloads."""
    state = nearest_existing(scene.places.state)
    cache = nearest_existing(models_folder(scene.loaded.settings, os.environ))
    return Disks(state, os.access(state, os.W_OK), free_bytes(state), cache, free_bytes(cache))


def judge_disks(scene: Scene, disks: Disks) -> Diagnosis:
    """Judge whether the state can be written, and a model downloaded."""
    if not disks.is_state_writable:
        advice = sentence("as root if the daemon is the system's; else: chown it to yourself")
        return Diagnosis(ERROR, sentence("{path} cannot be written", path=disks.state), advice)
    if disks.state_free_bytes < STATE_BYTES:
        text = sentence("only {free} free at {path}", free=Size(disks.state_free_bytes), path=disks.state)
        return Diagnosis(ERROR, text, sentence("make room: settings and history cannot be kept"))
    text = sentence("{free} free for models at {path}", free=Size(disks.cache_free_bytes), path=disks.cache)
    downloads = not scene.loaded.settings.serve.checkpoint  # a checkpoint in a folder needs no download
    if downloads and disks.cache_free_bytes < CACHE_BYTES:
        remedy = sentence("make room, or use another disk: potluck config set serve.models_folder DIR")
        return Diagnosis(WARNING, text, remedy)
    return Diagnosis(OK, text)


def read_clock(_: Scene) -> Clock:
    """Read the time and ask the kernel by adjtimex whether it is synchronised; no other machine is asked."""
    now = time.time()
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return Clock(now)
    timex = ctypes.create_string_buffer(_TIMEX_BYTES)  # modes 0: only read
    try:
        failed = ctypes.CDLL(None).adjtimex(timex) < 0
    except (OSError, AttributeError):
        return Clock(now)
    return Clock(now, None if failed else not ctypes.c_int.from_buffer(timex, _STATUS_OFFSET).value & _UNSYNCHRONISED)


def judge_clock(_: Scene, clock: Clock) -> Diagnosis:
    """Announcements carry the time at which they expire, so a wrong clock makes them worthless."""
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(clock.now))
    if clock.now < EARLIEST:
        advice = sentence("set the clock: others ignore announcements from the past")
        return Diagnosis(ERROR, sentence("the clock says {time}, which is in the past", time=shown), advice)
    if clock.is_synchronised is False:
        advice = sentence("timedatectl set-ntp true, and compare with another clock now")
        return Diagnosis(WARNING, sentence("the clock is not synchronised; it says {time}", time=shown), advice)
    return Diagnosis(OK, sentence("it says {time}", time=shown))


def judge_desktop(scene: Scene, _: None) -> Diagnosis:
    """Judge by the daemon's detectors whether windows can be seen; not every desktop shows them."""
    states = {probe.name: probe.state for probe in scene.status.probes} if scene.status is not None else {}
    session = states.get(SessionProbe.name)
    if session is ProbeState.FAILED:
        text = sentence(
            "a desktop runs, but its windows cannot be seen: games that do not announce themselves are missed"
        )
        return Diagnosis(ERROR, text, sentence("run `potluck start` in a terminal of the desktop"))
    if session not in _WORKS:
        return Diagnosis(OK, sentence("no desktop is watched"))
    if any(states.get(name) in _WORKS for name in (X11_WINDOWS, WAYLAND_WINDOWS)):
        return Diagnosis(OK, sentence("windows can be seen"))
    if states.get(GAME_GROUPS) in _WORKS:
        text = sentence("this desktop shows no windows: games of its menu are noticed when they are busy")
        return Diagnosis(NOTE, text, sentence("`potluck programs always NAME` for a game that is missed"))
    text = sentence("nothing shows windows here: games that do not announce themselves are missed")
    return Diagnosis(ERROR, text, sentence("`potluck programs always NAME` for each game"))
