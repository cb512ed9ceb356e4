"""The icon of each state, drawn from our own SVG files in the colour that fits the theme.

Every state differs in shape, not only in colour: a steaming pot, a closed one, one with bars, with an
arrow, with a mark.
"""

from __future__ import annotations

from pathlib import Path

from potluck_daemon.states import State
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from potluck_app import theme

_SIZES = (16, 22, 24, 32, 48, 64, 128)
_NAMES = {
    State.SERVING: "serving",
    State.IDLE: "idle",
    State.STARTING: "idle",
    State.JOINING: "idle",
    State.PAUSED: "paused",
    State.YIELDED: "yielded",
    State.DRAINING: "yielded",
    State.ERROR: "error",
    State.UNKNOWN: "idle",
}
NAMES = ("serving", "idle", "paused", "yielded", "error")


def name_of(state: State | None) -> str:
    """The file that shows a state; a daemon that is away is shown as an error."""
    return "error" if state is None else _NAMES[state]


def icon(state: State | None, colours: theme.Colours) -> QIcon:
    """The icon of `state` in the given theme, sharp at every usual size."""
    ink = theme.colour_of(state, colours) if state is not State.IDLE else colours.text
    return _render(name_of(state), ink)


def _render(name: str, ink: str) -> QIcon:
    svg = (_folder() / f"{name}.svg").read_bytes().replace(b"currentColor", ink.encode())
    renderer = QSvgRenderer(QByteArray(svg))
    result = QIcon()
    for size in _SIZES:
        pixmap = QPixmap(size, size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        result.addPixmap(pixmap)
    return result


def _folder() -> Path:
    """In an installed wheel the icons lie in the package, in a checkout in resources/."""
    packaged = Path(__file__).parent / "icons"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "resources" / "icons"
