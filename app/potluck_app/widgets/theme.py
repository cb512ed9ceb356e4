"""The sizes of texts, distances and colours of everything that is drawn, in light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from potluck_control.states import State
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette

SPACE_XS, SPACE_S, SPACE_M, SPACE_L, SPACE_XL, SPACE_XXL = 4, 8, 12, 16, 24, 32  # logical pixels
RADIUS_S, RADIUS_M, RADIUS_L = 4, 8, 12  # corners of marks, controls and cards
GLYPH = 18  # side of an icon beside text
CONTROL = 36  # height of buttons and fields
SCROLL_BAR = 8  # width
LINK = 24  # height of buttons that look like a word in a heading
PEOPLE_LIGHT = ("#1f6f8b", "#a03d6a", "#6a5acd", "#9a5b13", "#2e7d32", "#b0413e", "#4a6572", "#7b4fa3")
PEOPLE_DARK = ("#6cc5e0", "#f099bf", "#b3a8ff", "#e9b26b", "#86d18a", "#ff9d94", "#a9c0cb", "#d3a9f2")
"""A colour for each person; `window` is readable on it, 4.5:1. Nobody is known by colour alone."""
_chosen: Colours | None = None  # None: follow the desktop


class TextStyle(Enum):
    """The size and weight of a text: a factor on the desktop's own font, and a weight."""

    CAPTION = (0.9, QFont.Weight.Normal)
    BODY = (1.0, QFont.Weight.Normal)
    STRONG = (1.0, QFont.Weight.DemiBold)
    HEADING = (1.15, QFont.Weight.DemiBold)
    FIGURE = (1.45, QFont.Weight.DemiBold)
    TITLE = (1.75, QFont.Weight.DemiBold)


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours by role, not by hue. The contrast of text on `window` is above 7:1, of muted text above 4.5:1."""

    window: str
    sidebar: str
    card: str
    hover: str  # background under the pointer
    chosen: str  # background of what is chosen; `accent` is readable on it
    text: str
    muted: str
    line: str
    outline: str  # edges of controls; 3:1 against card and window
    accent: str
    on_accent: str
    serving: str
    yielded: str
    error: str


LIGHT = Colours(
    window="#f7f6f3",
    sidebar="#efede8",
    card="#ffffff",
    hover="#e6e3dc",
    chosen="#d9ebe7",
    text="#1d2321",
    muted="#5a6562",
    line="#e0ddd6",
    outline="#8b928f",
    accent="#0b6e63",
    on_accent="#ffffff",
    serving="#0b7a55",
    yielded="#8a5300",
    error="#b3261e",
)
DARK = Colours(
    window="#171b1a",
    sidebar="#121615",
    card="#202625",
    hover="#2a3230",
    chosen="#1d3a36",
    text="#edf1ef",
    muted="#a3afab",
    line="#323b38",
    outline="#74807c",
    accent="#4cc2b0",
    on_accent="#08211d",
    serving="#5fd39f",
    yielded="#f0b35b",
    error="#ff8a80",
)


def choose(name: str) -> None:
    """Use the theme "light" or "dark", or follow the desktop with "system"."""
    global _chosen
    _chosen = {"light": LIGHT, "dark": DARK}.get(name)


def colours() -> Colours:
    """Return the colours of the chosen theme, or of the desktop's."""
    if _chosen is not None:
        return _chosen
    return DARK if QGuiApplication.styleHints().colorScheme().name == "Dark" else LIGHT


def colour_of_person(place: int) -> str:
    """Return the colour of the person at a place of the list, which is the same in the next run."""
    of = PEOPLE_DARK if colours() is DARK else PEOPLE_LIGHT
    return of[place % len(of)]


def colour_of(state: State | None, of: Colours) -> str:
    """Return the colour of a state, which never stands without its name and icon. None: the daemon is away."""
    if state is State.SERVING:
        return of.serving
    if state in (State.YIELDED, State.DRAINING):
        return of.yielded
    if state is State.ERROR:
        return of.error
    return of.muted


def font(kind: TextStyle) -> QFont:
    """Return the desktop's font in one of our sizes."""
    factor, weight = kind.value
    result = QFont(QGuiApplication.font())
    result.setPointSizeF(max(result.pointSizeF(), 8.0) * factor)
    result.setWeight(weight)
    return result


def palette(of: Colours) -> QPalette:
    """Return the colours of Qt's own widgets."""
    result = QPalette()
    roles = {
        QPalette.ColorRole.Window: of.window,
        QPalette.ColorRole.WindowText: of.text,
        QPalette.ColorRole.Base: of.card,
        QPalette.ColorRole.AlternateBase: of.window,
        QPalette.ColorRole.Text: of.text,
        QPalette.ColorRole.PlaceholderText: of.muted,
        QPalette.ColorRole.Button: of.card,
        QPalette.ColorRole.ButtonText: of.text,
        QPalette.ColorRole.ToolTipBase: of.card,
        QPalette.ColorRole.ToolTipText: of.text,
        QPalette.ColorRole.Highlight: of.accent,
        QPalette.ColorRole.HighlightedText: of.on_accent,
        QPalette.ColorRole.Accent: of.accent,
        QPalette.ColorRole.Link: of.accent,
        QPalette.ColorRole.Mid: of.line,
    }
    for role, value in roles.items():
        result.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(of.muted))
    return result
