"""A window that behaves like a game: `game_window.py NAME [full|borderless|maximised|small] [bypass] [busy]`.

Prints a line when it is mapped and active; ends when it is terminated, or by its alarm after ten minutes.
"""

import os
import signal
import sys
import time

from Xlib import X, Xatom
from Xlib.display import Display
from Xlib.protocol.event import ClientMessage

PATIENCE_S = 60.0
_FROM_A_PAGER = 2  # a wish of the user's, as the specification of _NET_ACTIVE_WINDOW has it; window managers obey it


def main(name: str, options: list[str]) -> None:
    signal.alarm(600)
    display = Display()
    screen = display.screen()
    is_small = "small" in options
    size = (300, 200) if is_small else (screen.width_in_pixels, screen.height_in_pixels)
    is_borderless = "borderless" in options
    window = screen.root.create_window(0, 0, *size, 0, screen.root_depth, event_mask=X.StructureNotifyMask)
    window.set_wm_class(name, name)
    window.set_wm_name(name)
    window.change_property(display.intern_atom("_NET_WM_PID"), Xatom.CARDINAL, 32, [os.getpid()])
    if "full" in options:
        state = display.intern_atom("_NET_WM_STATE_FULLSCREEN")
        window.change_property(display.intern_atom("_NET_WM_STATE"), Xatom.ATOM, 32, [state])
    if "maximised" in options:  # without a panel it has the place of the whole screen
        states = [display.intern_atom(f"_NET_WM_STATE_MAXIMIZED_{way}") for way in ("VERT", "HORZ")]
        window.change_property(display.intern_atom("_NET_WM_STATE"), Xatom.ATOM, 32, states)
    if "bypass" in options:
        window.change_property(display.intern_atom("_NET_WM_BYPASS_COMPOSITOR"), Xatom.CARDINAL, 32, [1])
    if is_borderless or "maximised" in options:  # as SDL does it: hints that ask for no decoration
        hints = display.intern_atom("_MOTIF_WM_HINTS")
        window.change_property(hints, hints, 32, [2, 0, 0, 0, 0])
    window.map()
    wait_active(display, window)
    print("mapped", flush=True)
    while "busy" in options:
        pass
    signal.pause()


def wait_active(display: Display, window: object) -> None:
    """Ask for the focus until it is given: a window manager may keep it where it is, however new a window is."""
    active = display.intern_atom("_NET_ACTIVE_WINDOW")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        wish = ClientMessage(window=window, client_type=active, data=(32, [_FROM_A_PAGER, X.CurrentTime, 0, 0, 0]))
        display.screen().root.send_event(wish, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        found = display.screen().root.get_full_property(active, X.AnyPropertyType)
        if found is not None and found.value and found.value[0] == window.id:  # type: ignore[attr-defined]
            return
        time.sleep(0.1)
    raise SystemExit("the window manager does not make the window active")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
