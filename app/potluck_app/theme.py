"""One type scale, one spacing scale, one accent, in light and dark. Everything drawn takes its colours from here."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_daemon.states import State
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette

SPACE_S, SPACE_M, SPACE_L, SPACE_XL = 6, 12, 20, 28  # logical pixels

_SMALL, _BODY, _LARGE, _TITLE = 0.88, 1.0, 1.25, 1.7  # of the desktop's own font


@dataclass(frozen=True, slots=True)
class Colours:
    """Roles, not hues; contrast of text on window is above 7:1, of muted text above 4.5:1, in both themes."""

    window: str
    card: str
    text: str
    muted: str
    line: str
    accent: str
    on_accent: str
    serving: str
    yielded: str
    error: str


LIGHT = Colours(
    window="#f6f5f2",
    card="#ffffff",
    text="#1d2321",
    muted="#5b6663",
    line="#dcdad3",
    accent="#0b6e63",
    on_accent="#ffffff",
    serving="#0b7a55",
    yielded="#8a5300",
    error="#b3261e",
)
DARK = Colours(
    window="#171b1a",
    card="#202625",
    text="#edf1ef",
    muted="#a3afab",
    line="#36403d",
    accent="#4cc2b0",
    on_accent="#08211d",
    serving="#5fd39f",
    yielded="#f0b35b",
    error="#ff8a80",
)

_chosen: Colours | None = None  # by the user; None: follow the desktop


def choose(name: str) -> None:
    """ "light" or "dark" whatever the desktop says, or "system" to follow it."""
    global _chosen
    _chosen = {"light": LIGHT, "dark": DARK}.get(name)


def colours() -> Colours:
    """The colours of the chosen theme, or of the desktop's present one."""
    if _chosen is not None:
        return _chosen
    return DARK if QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT


def colour_of(state: State | None, of: Colours) -> str:
    """The colour of a state; always shown together with its name and its own icon shape. None: the daemon is away."""
    if state is State.SERVING:
        return of.serving
    if state in (State.YIELDED, State.DRAINING):
        return of.yielded
    if state is State.ERROR:
        return of.error
    return of.muted


def palette(of: Colours) -> QPalette:
    """What Qt's own widgets are painted with."""
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
        QPalette.ColorRole.Mid: of.line,
    }
    for role, value in roles.items():
        result.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(of.muted))
    return result


def style_sheet(of: Colours) -> str:
    """What palettes cannot say: cards, the big button, quiet buttons."""
    return f"""
        QWidget {{ color: {of.text}; }}
        MainWindow {{ background: {of.window}; }}
        QFrame#card {{ background: {of.card}; border: 1px solid {of.line}; border-radius: 10px; }}
        QPushButton {{ background: {of.card}; border: 1px solid {of.line}; border-radius: 8px; padding: 8px 14px; }}
        QPushButton:focus {{ outline: none; }}
        QPushButton:hover, QPushButton:focus {{ border-color: {of.accent}; }}
        QPushButton:disabled {{ color: {of.muted}; }}
        QPushButton#primary {{ background: {of.accent}; color: {of.on_accent}; border: 2px solid {of.accent};
            padding: 12px 18px; font-weight: 600; }}
        QPushButton#primary:focus {{ border-color: {of.text}; }}
        QPushButton#primary:disabled {{ background: {of.line}; border-color: {of.line}; color: {of.muted}; }}
        QPushButton#quiet {{ background: transparent; border-color: transparent; color: {of.muted}; text-align: left;
            padding: 8px 19px; }}
        QPushButton#quiet:hover, QPushButton#quiet:focus {{ border-color: {of.accent}; color: {of.text}; }}
        QPushButton::menu-indicator {{ image: none; width: 0; }}
        QMenu {{ background: {of.card}; border: 1px solid {of.line}; padding: 6px; }}
        QMenu::item {{ padding: 8px 14px; border-radius: 6px; }}
        QMenu::item:selected {{ background: {of.accent}; color: {of.on_accent}; }}
        QScrollBar:vertical {{ background: transparent; width: 8px; }}
        QScrollBar::handle:vertical {{ background: {of.line}; border-radius: 4px; min-height: 24px; }}
        QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; }}
        QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}
        QPlainTextEdit {{ border: 1px solid {of.line}; border-radius: 8px; padding: 6px; background: {of.card}; }}
        QPlainTextEdit:focus {{ border-color: {of.accent}; }}
        QLabel#muted {{ color: {of.muted}; }}
        QLabel#error {{ color: {of.error}; }}
        QProgressBar {{ background: {of.line}; border: none; border-radius: 4px; max-height: 8px; }}
        QProgressBar::chunk {{ background: {of.accent}; border-radius: 4px; }}
    """


def small(base: QFont) -> QFont:
    return _scaled(base, _SMALL)


def large(base: QFont) -> QFont:
    return _scaled(base, _LARGE, QFont.Weight.DemiBold)


def title(base: QFont) -> QFont:
    return _scaled(base, _TITLE, QFont.Weight.DemiBold)


def _scaled(base: QFont, factor: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    font = QFont(base)
    font.setPointSizeF(max(base.pointSizeF(), 8.0) * factor)
    font.setWeight(weight)
    return font
