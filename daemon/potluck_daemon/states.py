"""The words for what the daemon is doing and why; the policy, the control API and every display share them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    IDLE = "idle"  # nothing to serve: no swarm joined, or serving switched off
    STARTING = "starting"  # the engine starts and reads the checkpoint
    JOINING = "joining"  # the engine is up, its blocks are loaded or loading, not announced as online yet
    SERVING = "serving"
    DRAINING = "draining"  # giving the device back, or leaving
    YIELDED = "yielded"  # the device belongs to somebody else just now
    PAUSED = "paused"  # by the user
    ERROR = "error"  # the engine failed; `until` says when it is tried again

    @property
    def is_working(self) -> bool:
        return self in (State.STARTING, State.JOINING, State.SERVING)


class Reason(StrEnum):
    NONE = "none"
    START_UP = "start_up"  # the daemon has just started
    NO_SWARM = "no_swarm"
    SWITCHED_OFF = "switched_off"  # `serve.enabled = false` in the settings
    USER = "user"  # paused until resumed
    TIMER = "timer"  # paused until a time
    GAME = "game"  # GameMode has a client
    EXCLUSIVE_APP = "exclusive_app"  # a program of the user's always-yield list runs
    FULL_SCREEN = "full_screen"  # a full-screen window that keeps the device busy
    QUIET_TIME = "quiet_time"  # the game is over; waiting in case it comes back
    ENGINE_FAILED = "engine_failed"
    SHUTDOWN = "shutdown"
