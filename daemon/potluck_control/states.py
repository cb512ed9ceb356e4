"""The words for what the daemon is doing and why; the policy, the control API and every display share them.

A display may be older than its daemon: a word it does not know is read as `UNKNOWN`, and the daemon's sentence beside
it is shown.
"""

from __future__ import annotations

from enum import StrEnum


class OpenEnum(StrEnum):
    """Words to which a newer daemon may add: one that is not known here is read as `UNKNOWN`."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        return cls("unknown") if isinstance(value, str) and value != "unknown" else None


class State(OpenEnum):
    IDLE = "idle"  # nothing to serve: no swarm joined, or serving switched off
    STARTING = "starting"  # the engine starts and reads the checkpoint
    JOINING = "joining"  # the engine is up, its blocks are loaded or loading, not announced as online yet
    SERVING = "serving"
    DRAINING = "draining"  # giving the device back, or leaving
    YIELDED = "yielded"  # the device belongs to somebody else just now
    PAUSED = "paused"  # by the user
    ERROR = "error"  # the engine failed; `until` says when it is tried again
    UNKNOWN = "unknown"  # what a newer daemon says; this one never does

    @property
    def is_working(self) -> bool:
        return self in (State.STARTING, State.JOINING, State.SERVING)


class Certainty(StrEnum):
    """How far something seen is to be believed."""

    WEAK = "weak"  # counts only together with something else about the same program
    LIKELY = "likely"  # counts when a second look agrees
    CERTAIN = "certain"  # counts at once

    @property
    def rank(self) -> int:
        return list(Certainty).index(self)


class Reason(OpenEnum):
    NONE = "none"
    START_UP = "start_up"  # the daemon has just started
    NO_SWARM = "no_swarm"
    SWITCHED_OFF = "switched_off"  # `serve.enabled = false` in the settings
    NO_ENGINE = "no_engine"  # the engine's environment is not there yet
    USER = "user"  # paused until resumed
    TIMER = "timer"  # paused until a time
    SLEEP = "sleep"  # the computer is about to sleep
    GAME = "game"  # GameMode, Steam, Proton, gamescope or an agent says so
    EXCLUSIVE_APP = "exclusive_app"  # a program of the user's always-yield list runs
    FULL_SCREEN = "full_screen"  # a full-screen window that keeps the device busy
    GPU_BUSY = "gpu_busy"  # another program keeps a GPU busy
    VRAM_PRESSURE = "vram_pressure"  # another program needs the GPU's memory
    RAM_PRESSURE = "ram_pressure"  # other programs need the memory
    OTHER_USER = "other_user"  # somebody else sits at the computer
    SCHEDULE = "schedule"  # outside of the hours that the user chose
    UPLOAD_CAP = "upload_cap"
    DOWNLOAD_CAP = "download_cap"
    COST_CAP = "cost_cap"  # of electricity
    DISK = "disk"  # no room for a checkpoint
    BATTERY = "battery"
    METERED = "metered"  # the network is paid by volume
    HEAT = "heat"
    POWER = "power"  # the power cap
    USER_ACTIVE = "user_active"  # somebody uses keyboard or mouse
    AWAY = "away"  # nobody does; only probes say this, it is never why the daemon is in a state
    QUIET_TIME = "quiet_time"  # it is over; waiting in case it comes back
    ENGINE_FAILED = "engine_failed"
    SHUTDOWN = "shutdown"
    UNKNOWN = "unknown"  # as of State
