"""Reads the active window of an X server: whose it is, and whether it fills the screen.

The process id that a window names is that of its own PID namespace, which is wrong for a sandbox. The server knows the
right one from the connection and tells it by the X-Resource extension.
Sources: https://specifications.freedesktop.org/wm-spec/latest; https://www.x.org/releases/current/doc/resourceproto
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from potluck_daemon.presence.windows import ActiveWindow

if TYPE_CHECKING:
    from Xlib.display import Display
    from Xlib.xobject.drawable import Window

_CLIENT_BITS = 0x1FE00000  # of a window's id: which client made it


def active_window(display: Display) -> ActiveWindow | None:
    """Return the active window; None without one, and for the desktop itself and its panels."""
    from Xlib.error import XError

    try:
        return _read(display)
    except XError:  # BadWindow: the window was closed while we asked
        return None


def covers_screen(root: Window, window: Window, monitors: Collection[tuple[int, int, int, int]]) -> bool:
    """Return whether the window has exactly the place of the whole screen or of one monitor."""
    geometry = window.get_geometry()
    corner = root.translate_coords(window, 0, 0)
    return (corner.x, corner.y, geometry.width, geometry.height) in monitors


def _read(display: Display) -> ActiveWindow | None:
    from Xlib import X

    root = display.screen().root
    active = _property(display, root, "_NET_ACTIVE_WINDOW")
    if not active or active[0] == X.NONE:
        return None
    window = display.create_resource_object("window", active[0])
    states = _property(display, window, "_NET_WM_STATE")
    is_full = display.intern_atom("_NET_WM_STATE_FULLSCREEN") in states
    if not is_full and not _is_maximised(display, states):  # without a panel a maximised window covers the screen, too
        is_full = covers_screen(root, window, _monitors(display))
    if _is_desktop(display, window):
        return None
    pid = _pid_of_client(display, window) or next(iter(_property(display, window, "_NET_WM_PID")), None)
    names = window.get_wm_class() or ("", "")
    bypass = _property(display, window, "_NET_WM_BYPASS_COMPOSITOR")
    wants_no_compositor = bool(bypass) and bypass[0] == 1
    return ActiveWindow(pid, names[1] or names[0] or f"process {pid}", is_full, wants_no_compositor)


def _is_maximised(display: Display, states: Collection[int]) -> bool:
    return all(display.intern_atom(f"_NET_WM_STATE_MAXIMIZED_{way}") in states for way in ("VERT", "HORZ"))


def _monitors(display: Display) -> list[tuple[int, int, int, int]]:
    from Xlib.ext import xinerama

    screen = display.screen()
    found = [(0, 0, screen.width_in_pixels, screen.height_in_pixels)]
    if display.has_extension(xinerama.extname):
        found += [(item.x, item.y, item.width, item.height) for item in xinerama.query_screens(screen.root).screens]
    return found


def _is_desktop(display: Display, window: Window) -> bool:
    kinds = _property(display, window, "_NET_WM_WINDOW_TYPE")
    return any(display.intern_atom(f"_NET_WM_WINDOW_TYPE_{kind}") in kinds for kind in ("DESKTOP", "DOCK"))


def _pid_of_client(display: Display, window: Window) -> int | None:
    """Return the id of the process that holds the connection, as our own PID namespace counts; None: not known."""
    from Xlib.error import XError
    from Xlib.ext import res

    if not display.has_extension(res.extname):
        return None
    spec = {"client": window.id & _CLIENT_BITS, "mask": res.LocalClientPIDMask}
    try:
        ids = display.res_query_client_ids([spec]).ids
    except XError:  # a server with version 1.0 of the extension
        return None
    return next((int(pid) for item in ids for pid in item.value if pid > 0), None)


def _property(display: Display, window: Window, name: str) -> Any:
    from Xlib import X

    found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
    return found.value if found is not None else ()
