"""What Windows knows of its user, read from its own libraries: idle time, full screen, power, programs, Steam.

Everything here is about the session of the user who runs the app; a service would see nothing of it. Values and
meanings: Microsoft's documentation of GetLastInputInfo, SHQueryUserNotificationState and GetForegroundWindow.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import NoReturn

import psutil


class Attention(IntEnum):
    """Whether Windows would show the user a message now (QUERY_USER_NOTIFICATION_STATE)."""

    UNKNOWN = 0
    NOT_PRESENT = 1  # locked, screen saver, or another user's session is shown
    BUSY = 2  # a full-screen program, or presentation settings
    FULL_SCREEN_3D = 3  # exclusive Direct3D
    PRESENTATION = 4
    ACCEPTS = 5
    QUIET_TIME = 6  # the first hour after an upgrade
    APP = 7  # an app from the store is shown full-screen


@dataclass(frozen=True, slots=True)
class UserSession:
    """The state of the user's session at one moment."""

    idle_s: float
    attention: Attention
    foreground: str  # file name of the program in front, in lower case; "": none, or another user's
    programs: frozenset[str]  # file names of all that run, in lower case
    is_on_battery: bool
    steam_game: str  # name of the game that Steam has started; "": none


class LastInput(ctypes.Structure):
    """The time of the last input (LASTINPUTINFO)."""

    _fields_ = (("cbSize", ctypes.c_uint32), ("dwTime", ctypes.c_uint32))


def read_session() -> UserSession:
    """Read the state of the session, which takes about ten milliseconds for the list of programs."""
    names = {item.pid: _file_name(item.info["name"]) for item in psutil.process_iter(["name"])}
    battery = psutil.sensors_battery()
    return UserSession(
        idle_seconds(_last_input_tick(), _tick()),
        _attention(),
        names.get(_foreground_pid(), ""),
        frozenset(names.values()),
        battery is not None and battery.power_plugged is False,
        _steam_game(),
    )


def idle_seconds(last_input: int, now: int) -> float:
    """Return the time since the last input; both are milliseconds in 32 bits, which wrap every 49.7 days."""
    return ((now - last_input) & 0xFFFFFFFF) / 1000.0


def _file_name(name: str | None) -> str:
    return (name or "").lower()


if sys.platform == "win32":
    import winreg
    from ctypes import wintypes

    def _last_input_tick() -> int:
        told = LastInput(ctypes.sizeof(LastInput), 0)
        if not ctypes.windll.user32.GetLastInputInfo(ctypes.byref(told)):
            return _tick()  # refused on the secure desktop: somebody is logging in
        return int(told.dwTime)

    def _tick() -> int:
        return int(ctypes.windll.kernel32.GetTickCount()) & 0xFFFFFFFF

    def _attention() -> Attention:
        state = ctypes.c_int()
        if ctypes.windll.shell32.SHQueryUserNotificationState(ctypes.byref(state)) != 0:
            return Attention.UNKNOWN
        return Attention(state.value) if state.value in list(Attention) else Attention.UNKNOWN

    def _foreground_pid() -> int:
        user32 = ctypes.windll.user32
        user32.GetForegroundWindow.restype = wintypes.HWND
        pid = wintypes.DWORD()
        user32.GetWindowThreadProcessId(wintypes.HWND(user32.GetForegroundWindow()), ctypes.byref(pid))
        return pid.value

    def _steam_game() -> str:
        steam = r"Software\Valve\Steam"
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, steam) as key:
                number = int(winreg.QueryValueEx(key, "RunningAppID")[0])
        except (OSError, ValueError):
            return ""
        if number == 0:
            return ""
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, rf"{steam}\Apps\{number}") as key:
                return str(winreg.QueryValueEx(key, "Name")[0])
        except OSError:
            return f"Steam game {number}"

else:

    def _windows_only(*_: object) -> NoReturn:
        raise NotImplementedError("Windows only")

    _last_input_tick = _tick = _attention = _foreground_pid = _steam_game = _windows_only
