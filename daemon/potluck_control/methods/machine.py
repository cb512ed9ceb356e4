"""`machine.*` and `login.*`: the processor and GPUs, their speed, and what starts at log-in."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method


@dataclass(frozen=True, slots=True)
class Device:
    """A device, named as in serve.device: cpu, cuda:0, ... Speeds are 0 until they are measured."""

    name: str
    title: str  # "NVIDIA GeForce RTX 3090", "AMD Ryzen 7 5800X"
    memory_bytes: int  # of the GPU, or of the machine
    free_bytes: int
    problem: str = ""  # why it cannot be used, and what to do about it
    memory_gb_s: float = 0.0  # 10^9 bytes a second, which limits decoding
    compute_tflops: float = 0.0  # 10^12 operations a second in `dtype`, which limits prefill
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class SpeedProgress:
    """A line from the process that measures."""

    progress: float
    step: str
    device: Device | None = None  # that has been measured


@dataclass(frozen=True, slots=True)
class Machine:
    """`best`: the device that the engine chooses. `progress`: of measuring, 0 to 1; None: nothing is measured.

    `has_engine` False: there is no environment to compute in; `potluck setup` makes one.
    """

    devices: tuple[Device, ...]
    best: str
    progress: float | None = None
    step: str = ""  # what is being measured, for people
    measured_at: float = 0.0  # Unix; 0: never
    problem: str = ""  # why measuring failed
    has_engine: bool = True


@dataclass(frozen=True, slots=True)
class LoginStart:
    """What the system does at log-in, read each time.

    `*_problem`: why it cannot be switched; empty: it can. `*_by`: the file that starts it; empty: none.
    """

    app: bool  # the tray app: an entry in the desktop's autostart folder
    daemon: bool  # the daemon: an enabled systemd unit of this user, or the machine's service
    app_problem: str = ""
    daemon_problem: str = ""
    app_by: str = ""
    daemon_by: str = ""


@dataclass(frozen=True, slots=True)
class LoginParams:
    """None: no change."""

    app: bool | None = None
    daemon: bool | None = None


GET = Method("machine.get", Empty, Machine)
MEASURE = Method("machine.measure", Empty, Machine)  # returns at once; ask `machine.get`; some seconds a device
LOGIN = Method("login.get", Empty, LoginStart)
SET_LOGIN = Method("login.set", LoginParams, LoginStart)
