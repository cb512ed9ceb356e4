"""Buttons with a glyph, a button with a menu, and the switch: all follow the theme by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QMenu, QPushButton, QSizePolicy, QWidget

from potluck_app.widgets import icons, theme

_TRACK_W, _TRACK_H, _KNOB = 38, 22, 16


class Button(QPushButton):
    """A push button with a glyph before its text.

    Args:
        style: "" for an ordinary button, "primary" for the main one of a page, "quiet" for what is rarely needed,
            "link" for the way to another page.
        act: called when the button is pressed.
        about: what screen readers call it; "": its text.
        is_trailing: put the glyph after the text, to say that more follows.
    """

    def __init__(
        self,
        label: str = "",
        glyph: str = "",
        style: str = "",
        act: Callable[[], object] | None = None,
        *,
        about: str = "",
        is_trailing: bool = False,
    ) -> None:
        super().__init__(label)
        self.setAccessibleName(about)
        if act is not None:
            self.clicked.connect(lambda: act())
        if is_trailing:
            self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.setObjectName(style)
        self._glyph = glyph
        self._is_trailing = is_trailing
        self.setIconSize(icons.GLYPH_SIZE)
        self._draw()

    def show_glyph(self, name: str) -> None:
        if name != self._glyph:
            self._glyph = name
            self._draw()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 (Qt's name)
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.EnabledChange):
            self._draw()

    def _draw(self) -> None:
        if not self._glyph:
            return
        colours = theme.colours()
        ink = {"primary": colours.on_accent, "quiet": colours.muted, "link": colours.accent}.get(
            self.objectName(), colours.text
        )
        self.setIcon(
            icons.glyph(self._glyph, ink if self.isEnabled() else colours.muted, is_trailing=self._is_trailing)
        )


class MenuButton(Button):
    """A menu of what is rarely done: texts, and what each calls. `about`: what screen readers call the button."""

    def __init__(self, about: str, items: Iterable[tuple[str, Callable[[], object]]]) -> None:
        super().__init__("", "more", "quiet", about=about, is_trailing=True)
        menu = QMenu(self)
        for label, act in items:
            menu.addAction(label).triggered.connect(lambda _checked=False, act=act: act())
        self.setMenu(menu)


class DisclosureButton(Button):
    """A link that shows `part` and hides it again; `part` is hidden at first."""

    def __init__(self, label: str, part: QWidget) -> None:
        super().__init__(label, "down", "link", is_trailing=True)
        self.setCheckable(True)
        self.toggled.connect(part.setVisible)
        part.hide()


class Switch(QCheckBox):
    """A switch that takes effect at once; one without a text needs an accessible name."""

    def __init__(self, label: str = "") -> None:
        super().__init__(label)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        words = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(_TRACK_W + (theme.SPACE_S + words if words else 0) + 4, _TRACK_H + 6)

    def hitButton(self, _pos: object) -> bool:  # noqa: N802 (Qt's name)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        """Show by colour, by the knob's place and by a tick whether the switch is on."""
        colours, painter = theme.colours(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.isEnabled():
            painter.setOpacity(0.45)
        track = QRectF(2, (self.height() - _TRACK_H) / 2, _TRACK_W, _TRACK_H)
        is_on = self.isChecked()
        painter.setPen(QPen(QColor(colours.accent if is_on else colours.outline), 1.5))
        painter.setBrush(QColor(colours.accent if is_on else colours.card))
        painter.drawRoundedRect(track, _TRACK_H / 2, _TRACK_H / 2)
        margin = (_TRACK_H - _KNOB) / 2
        left = track.right() - margin - _KNOB if is_on else track.left() + margin
        knob = QRectF(left, track.top() + margin, _KNOB, _KNOB)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.on_accent if is_on else colours.outline))
        painter.drawEllipse(knob)
        if is_on:
            icons.paint(painter, knob.adjusted(2, 2, -2, -2), "check", colours.accent)
        if self.text():
            painter.setPen(QColor(colours.text))
            place = self.rect().adjusted(_TRACK_W + theme.SPACE_S + 2, 0, 0, 0)
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self.text())
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.text), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(track.adjusted(-1.2, -1.2, 1.2, 1.2), _TRACK_H / 2 + 1, _TRACK_H / 2 + 1)
