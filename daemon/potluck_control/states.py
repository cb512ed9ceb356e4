"""The words for what the daemon does and why. The policy, the control API and every display share them.

A display may be older than its daemon. It reads a word that it does not know as `UNKNOWN`, and shows the daemon's
sentence beside it.
"""

from __future__ import annotations

from enum import StrEnum


class OpenEnum(StrEnum):
    """Words to which a newer daemon may add: one that is not known here is read as `UNKNOWN`."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        return cls("unknown") if isinstance(value, str) and value != "unknown" else None


class State(OpenEnum):
    """The state of the daemon."""

    IDLE = "idle"  # nothing to serve: no swarm joined, or outside the hours that the user chose
    STARTING = "starting"  # the engine starts and reads the checkpoint
    JOINING = "joining"  # the engine has reached the swarm and loads its blocks
    SERVING = "serving"
    DRAINING = "draining"  # giving the device back or leaving
    YIELDED = "yielded"  # somebody else uses the device
    PAUSED = "paused"  # the user paused it
    ERROR = "error"  # the engine failed; the next try is at `until`
    UNKNOWN = "unknown"  # a word of a newer daemon

    @property
    def is_working(self) -> bool:
        """Return whether the daemon serves or is about to."""
        return self in (State.STARTING, State.JOINING, State.SERVING)


class Certainty(StrEnum):
    """The weight of a sighting."""

    WEAK = "weak"  # counts only together with something else about the same program
    LIKELY = "likely"  # counts when a second look agrees
    CERTAIN = "certain"  # counts at once

    @property
    def rank(self) -> int:
        """Return the place in the order of weights, from 0."""
        return list(Certainty).index(self)


class Reason(OpenEnum):
    """The reason of a state, or of a sighting."""

    NONE = "none"
    START_UP = "start_up"  # the daemon has just started
    NO_SWARM = "no_swarm"
    REMOVED = "removed"  # a founder or an admin removed this computer from the swarm
    NOT_ADMITTED = "not_admitted"  # no member has been online who could let this computer in
    INVITE_OVER = "invite_over"  # it expired, ended or was used up before anybody let this computer in
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
    SCHEDULE = "schedule"  # outside the hours that the user chose
    UPLOAD_CAP = "upload_cap"
    DOWNLOAD_CAP = "download_cap"
    COST_CAP = "cost_cap"  # the cap on the cost of electricity
    DISK = "disk"  # no room for a checkpoint
    BATTERY = "battery"
    METERED = "metered"  # the network is paid by volume
    HEAT = "heat"
    POWER = "power"  # the power cap
    USER_ACTIVE = "user_active"  # somebody uses keyboard or mouse
    AWAY = "away"  # nobody does; a sighting, never the reason of a state
    QUIET_TIME = "quiet_time"  # the game has ended; waiting in case it comes back
    ENGINE_FAILED = "engine_failed"
    FILES = "files"  # a file of the weights changed on disk
    SHUTDOWN = "shutdown"
    UNKNOWN = "unknown"  # a word of a newer daemon
