"""Brings the window of a program to the front and gives it a form, as the shortcuts of a window manager do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from potluck_daemon.presence.x11 import active_window
from Xlib import X
from Xlib.display import Display
from Xlib.error import XError
from Xlib.protocol.event import ClientMessage

FULL_SCREEN, MAXIMISED, NORMAL = "full-screen", "maximised", "in a window"
_STATES = {
    FULL_SCREEN: ("_NET_WM_STATE_FULLSCREEN",),
    MAXIMISED: ("_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"),
    NORMAL: (),
}
_ADD, _FROM_A_PAGER = 1, 2


def make_active_window(display_name: str, session: int, form: str, timeout_s: float) -> bool:
    """Wait until a program of this session has the active window in this form; False: it did not get there.

    A request may come while the window is replaced or not ready, so it is repeated.
    """
    display = Display(display_name)
    display.set_error_handler(lambda *_: None)  # windows come and go
    try:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = active_window(display)
            if found is not None and found.pid is not None and _session_of(found.pid) == session:
                if form != FULL_SCREEN or found.is_full_screen:
                    _form(display, form)
                    return True
                _form(display, form)
            else:
                _activate_any(display)
            time.sleep(0.1)
        return False
    finally:
        display.close()


def _session_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[3])
    except OSError:
        return 0


def _activate_any(display: Display) -> None:
    """Ask for the focus for the newest window, because window managers may refuse it to programs."""
    root = display.screen().root
    try:
        clients = root.get_full_property(display.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
        for window in reversed(clients.value if clients is not None else ()):
            _ask(display, window, "_NET_ACTIVE_WINDOW", [_FROM_A_PAGER, X.CurrentTime, 0, 0, 0])
            break
    except XError:
        return


def _form(display: Display, form: str) -> None:
    root = display.screen().root
    active = root.get_full_property(display.intern_atom("_NET_ACTIVE_WINDOW"), X.AnyPropertyType)
    states = [display.intern_atom(name) for name in _STATES[form]]
    if active is not None and states:
        _ask(display, active.value[0], "_NET_WM_STATE", [_ADD, *states, *[0] * (3 - len(states)), 0][:5])


def _ask(display: Display, window: int, kind: str, data: list[Any]) -> None:
    target = display.create_resource_object("window", window)
    event = ClientMessage(window=target, client_type=display.intern_atom(kind), data=(32, data))
    display.screen().root.send_event(event, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
    display.sync()
