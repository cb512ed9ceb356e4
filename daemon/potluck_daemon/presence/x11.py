"""Connects to an X server, and reads its active window.

Xlib calls block, and a call to a hung X server (Xwayland does hang) blocks for ever, so each connection has a thread of
its own. Then only the thread hangs.

The process id that a window names is that of its own PID namespace, which is wrong for a sandbox. The server knows the
right one from the connection, and has the X-Resource extension for it, as every server since 2011 does.
Sources: https://specifications.freedesktop.org/wm-spec/latest; https://www.x.org/releases/current/doc/resourceproto
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from potluck.sentences import sentence
from potluck_daemon.presence.active_window import ActiveWindow
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Reading, Surroundings

if TYPE_CHECKING:
    from Xlib.display import Display
    from Xlib.xobject.drawable import Window

T = TypeVar("T")
LOOK_TIMEOUT_S = 5.0
_CLIENT_BITS = 0x1FE00000  # bits of a window's id that name the client that made it


class XScreen(Generic[T]):
    """A screen in a thread of its own, where `read` is called with the display."""

    def __init__(self, surroundings: Surroundings, read: Callable[[Display], T]) -> None:
        """Start the thread. Raises ProbeUnavailableError without an X11 display."""
        self._name = surroundings.environment.get("DISPLAY", "")
        self._authority = surroundings.environment.get("XAUTHORITY", "")
        if not self._name:
            raise ProbeUnavailableError(sentence("no X11 display"))
        self._read = read
        self._display: Display | None = None
        self._wanted: queue.SimpleQueue[Future[T] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="x11", daemon=True).start()  # it may hang for ever

    async def read(self) -> T:
        """Return what `read` finds. Raises ProbeUnavailableError if the server is gone, ProbeFailedError on a hang."""
        answer: Future[T] = Future()
        self._wanted.put(answer)
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise ProbeFailedError(sentence("the X server does not answer")) from None

    def close(self) -> None:
        self._wanted.put(None)

    def _work(self) -> None:
        while (answer := self._wanted.get()) is not None:
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(self._once())
            except ProbeUnavailableError as error:
                answer.set_exception(error)
            except Exception as error:  # the edge of this thread; Xlib raises many kinds
                why = " ".join(str(error).split())[:120] or type(error).__name__
                answer.set_exception(ProbeUnavailableError(sentence("no X11 display ({why})", why=why)))
                self._disconnect()
        self._disconnect()

    def _once(self) -> T:
        if self._display is None:
            from Xlib.display import Display

            if self._authority:  # Xlib reads only this, and a daemon older than its desktop lacks it
                os.environ["XAUTHORITY"] = self._authority
            self._display = Display(self._name)
            self._display.set_error_handler(lambda *_: None)  # errors of requests without an answer have no caller
        return self._read(self._display)

    def _disconnect(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            with contextlib.suppress(Exception):  # the connection was broken already, and Xlib says so in many ways
                display.close()


@contextlib.asynccontextmanager
async def x11_windows(at: Surroundings) -> AsyncIterator[Reading[ActiveWindow | None]]:
    """Connect to the X server, and yield a function that returns the active window."""
    with contextlib.closing(XScreen(at, _Follower())) as screen:
        yield screen.read


class _Follower:
    """Returns the active window. It reads the window again only when an event says that it may have changed."""

    def __init__(self) -> None:
        self._display: Display | None = None
        self._seen: ActiveWindow | None = None

    def __call__(self, display: Display) -> ActiveWindow | None:
        from Xlib import X

        is_new = display is not self._display
        if is_new:
            display.screen().root.change_attributes(event_mask=X.PropertyChangeMask)
        elif not display.pending_events():
            return self._seen  # nothing has changed, so the server need not be asked
        for _ in range(display.pending_events()):
            display.next_event()
        self._display, self._seen = display, active_window(display)
        return self._seen


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
    window.change_attributes(event_mask=X.PropertyChangeMask | X.StructureNotifyMask)
    states = _property(display, window, "_NET_WM_STATE")
    is_full = display.intern_atom("_NET_WM_STATE_FULLSCREEN") in states
    if not is_full and not _is_maximised(
        display, states
    ):  # a maximised window covers the screen, too, if there is no panel
        is_full = covers_screen(root, window, _monitors(display))
    if _is_desktop(display, window):
        return None
    pid = _pid_of_client(display, window)
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
    from Xlib.ext import res

    if not display.has_extension(res.extname):
        return None
    spec = {"client": window.id & _CLIENT_BITS, "mask": res.LocalClientPIDMask}
    ids = display.res_query_client_ids([spec]).ids
    return next((int(pid) for item in ids for pid in item.value if pid > 0), None)


def _property(display: Display, window: Window, name: str) -> Any:
    from Xlib import X

    found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
    return found.value if found is not None else ()
