"""Icons, drawn from our own SVG files in the colour that fits the theme.

The icon of each state differs in shape, not only in colour: a steaming pot, a closed one, one with bars, with an arrow,
with a mark. Glyphs are the small signs beside texts, one family on a grid of 24.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product

from potluck_control.states import State
from PySide6.QtCore import QByteArray, QRectF, QSize
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from potluck_app.widgets import theme
from potluck_app.words.language import resource_folder

_SIZES = (16, 22, 24, 32, 48, 64, 128)
_EDGE = 0.05  # width of the light edge, of the icon's
_GAP = 4  # extra distance between a glyph and its text, beside what the style leaves
GLYPH_SIZE = QSize(theme.GLYPH + _GAP, theme.GLYPH)
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


def name_of(state: State | None) -> str:
    """Return the file of a state; a daemon that is away looks like an error."""
    return "error" if state is None else _NAMES[state]


def icon(state: State | None) -> QIcon:
    """Return the icon of `state` for the tray, sharp at every usual size.

    Nobody tells the colour of a panel, so it is dark with a light edge: one of them stands out.
    """
    ink = theme.colour_of(state, theme.LIGHT)
    return _icon(name_of(state), theme.LIGHT.text if ink == theme.LIGHT.muted else ink)


def paint_state(painter: QPainter, place: QRectF, state: State | None, colours: theme.Colours) -> None:
    """Draw the icon of a state where a widget paints itself."""
    ink = colours.text if state is State.IDLE else theme.colour_of(state, colours)
    _renderer(name_of(state), ink).render(painter, place)


def paint(painter: QPainter, place: QRectF, name: str, ink: str) -> None:
    """Draw a glyph where a widget paints itself."""
    _renderer(f"glyphs/{name}", ink).render(painter, place)


@lru_cache(maxsize=64)
def _icon(name: str, ink: str) -> QIcon:
    result = QIcon()
    for size in _SIZES:
        pixmap = QPixmap(size, size)
        pixmap.fill(QColor(0, 0, 0, 0))
        edge = max(1.0, size * _EDGE)
        place = QRectF(pixmap.rect()).adjusted(edge, edge, -edge, -edge)
        painter = QPainter(pixmap)
        for x, y in product((-edge, 0.0, edge), repeat=2):
            _renderer(name, theme.LIGHT.card).render(painter, place.translated(x, y))
        _renderer(name, ink).render(painter, place)
        painter.end()
        result.addPixmap(pixmap)
    return result


@lru_cache(maxsize=64)
def glyph(name: str, ink: str, *, is_trailing: bool = False) -> QIcon:
    """Return a glyph of `GLYPH_SIZE` in a colour, with a gap to the text after it (or before it)."""
    result = QIcon()
    for scale in (1, 2):  # ordinary and sharp screens
        pixmap = QPixmap(GLYPH_SIZE * scale)
        pixmap.fill(QColor(0, 0, 0, 0))
        left = _GAP * scale if is_trailing else 0
        painter = QPainter(pixmap)
        paint(painter, QRectF(left, 0, theme.GLYPH * scale, theme.GLYPH * scale), name, ink)
        painter.end()
        result.addPixmap(pixmap)
    return result


@lru_cache(maxsize=64)
def _renderer(name: str, ink: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_source(name).replace(b"currentColor", ink.encode())))


@cache
def _source(name: str) -> bytes:
    return (resource_folder("icons") / f"{name}.svg").read_bytes()
