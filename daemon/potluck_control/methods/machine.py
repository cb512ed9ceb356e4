"""`machine.*` and `login.*`: the processor and GPUs, and what starts at log-in."""

from __future__ import annotations

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.method import Empty, Method


class Device(Struct, frozen=True):
    """A device, named as in serve.device: cpu, cuda:0, ..."""

    name: str
    title: str  # "NVIDIA GeForce RTX 3090", "AMD Ryzen 7 5800X"
    memory_bytes: int  # of the GPU, or of the machine; 0: unknown
    free_bytes: int
    temperature_c: float | None = None  # None: nothing here reports it
    power_w: float | None = None  # that it draws now


class DeviceList(Struct, frozen=True):
    """`best`: the device that the engine chooses.

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
    """None: no change."""

    app: bool | None = None
    daemon: bool | None = None


GET = Method("machine.get", Empty, DeviceList)
LOGIN = Method("login.get", Empty, LoginStart)
SET_LOGIN = Method("login.set", LoginParams, LoginStart)
