"""`machine.*`, `login.*` and `programs.*`: this computer's devices, what starts at log-in, and running programs.

Programs are on the user's list of programs to give way to always, on that of programs to give way to never, or on none.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty, Method


class Device(Struct, frozen=True):
    """A device, named as in serve.device: cpu, cuda:0, ..."""

    name: str
    title: str  # "NVIDIA GeForce RTX 3090", "AMD Ryzen 7 5800X"
    memory_bytes: int  # memory of the GPU, or of the machine; 0: unknown
    free_bytes: int
    temperature_c: float | None = None  # None: nothing here reports it
    power_w: float | None = None  # the power it draws now


class DeviceList(Struct, frozen=True):
    """The devices of this computer. `best`: the one that the engine chooses.

    `has_engine` False: there is no environment to compute in; `potluck setup` makes one.
    """

    devices: tuple[Device, ...]
    best: str
    has_engine: bool = True


class LoginStart(Struct, frozen=True):
    """What the system does at log-in, read each time.

    `*_problem`: why it cannot be switched; empty: it can.
    """

    app: bool  # the tray app: an entry in the desktop's autostart folder
    daemon: bool  # the daemon: an enabled systemd unit of this user, or the machine's service
    app_problem: Sentence = NOTHING
    daemon_problem: Sentence = NOTHING


class LoginParams(Struct, frozen=True):
    """Changes of what starts at log-in. None: no change."""

    app: bool | None = None
    daemon: bool | None = None


class ProgramPlace(StrEnum):
    """The list that a program is on. ALWAYS outranks NEVER for a program on both."""

    NONE = "none"  # judged by what it does
    ALWAYS = "always"  # given way to whenever it runs: setting yield.always
    NEVER = "never"  # never given way to: setting yield.never


class RunningProgram(Struct, frozen=True):
    """All processes of the user with one name."""

    app: str  # the executable's name in lower case, as `programs.place` takes it
    title: str  # the name that people know; the executable's if there is none
    icon: str  # a name in the freedesktop icon theme, or a file's path; empty: none known
    is_desktop: bool  # it has an entry in the desktop's menu, so it is more likely what the user looks for
    memory_bytes: int  # resident, all its processes together
    place: ProgramPlace


class Programs(Struct, frozen=True):
    """Running programs and the user's lists.

    `running`: programs of the menu first, then by memory, at most 200. `always` and `never`: as in the settings.
    """

    running: tuple[RunningProgram, ...]
    always: tuple[str, ...]
    never: tuple[str, ...]


class PlaceParams(Struct, frozen=True):
    """Puts a program on one list, or on none."""

    app: str
    place: ProgramPlace

    def __post_init__(self) -> None:
        check_app(self.app)


class PlacedProgram(Struct, frozen=True):
    """The program's place now, and the one `before`, for the undo."""

    app: str
    place: ProgramPlace
    before: ProgramPlace


def check_app(app: str) -> None:
    """Raise ValueError for what cannot be a program's name on a list."""
    if not 1 <= len(app) <= 255 or "," in app or not app.isprintable() or app != app.strip():
        raise ValueError("a program's name has between 1 and 255 letters and no comma")


DEVICES = Method("machine.get", Empty, DeviceList)
LOGIN = Method("login.get", Empty, LoginStart)
SET_LOGIN = Method("login.set", LoginParams, LoginStart)
PROGRAMS = Method("programs.running", Empty, Programs)
PLACE_PROGRAM = Method("programs.place", PlaceParams, PlacedProgram)
