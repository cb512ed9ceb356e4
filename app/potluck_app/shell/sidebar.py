"""The sidebar: the pages, and below them what this computer does right now, whatever page is open."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.api.schema import Status
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QScrollArea, QSizePolicy

from potluck_app.pages.catalogue import PageEntry
from potluck_app.widgets import icons, theme
from potluck_app.widgets.parts import StateIcon, caption, column, row, stack, strong
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats, states

_WIDTH, _ITEM_HEIGHT, _LOWEST_ITEM, _POT = 200, 38, 30, 28


class NavigationItem(QAbstractButton):
    """The button of one page: its glyph and its name."""

    def __init__(self, entry: PageEntry) -> None:
        super().__init__()
        self._glyph = entry.glyph
        self.setText(entry.title)
        self.setAccessibleName(entry.title)
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(_WIDTH - 2 * theme.SPACE_M, _ITEM_HEIGHT)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(0, _LOWEST_ITEM)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter, colours = QPainter(self), theme.colours()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        behind = colours.chosen if self.isChecked() else colours.hover if self.underMouse() else ""
        painter.setPen(QPen(QColor(colours.accent), 2.0) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(behind) if behind else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, theme.RADIUS_M, theme.RADIUS_M)
        ink = colours.accent if self.isChecked() else colours.muted
        top = (self.height() - theme.GLYPH) / 2
        icons.paint(painter, QRectF(theme.SPACE_M, top, theme.GLYPH, theme.GLYPH), self._glyph, ink)
        painter.setFont(theme.font(TextStyle.STRONG if self.isChecked() else TextStyle.BODY))
        painter.setPen(QColor(colours.accent if self.isChecked() else colours.text))
        place = self.rect().adjusted(2 * theme.SPACE_M + theme.GLYPH, 0, -theme.SPACE_S, 0)
        text = QFontMetrics(painter.font()).elidedText(self.text(), Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


class Sidebar(QFrame):
    """The list of pages, which scrolls in a low window. Signal: `chosen(str)` with the key of the chosen page."""

    chosen = Signal(str)

    def __init__(self, entries: Sequence[PageEntry]) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.setFixedWidth(_WIDTH)
        self.setAccessibleName(self.tr("Pages"))
        self._keys = [entry.key for entry in entries]
        self._items = QButtonGroup(self)
        self._pot, self._state, self._speed = (
            StateIcon(_POT),
            strong(),
            caption(),
        )
        items = []
        for place, entry in enumerate(entries):
            items.append(NavigationItem(entry))
            self._items.addButton(items[-1], place)
        state = row(self._pot, (column(self._state, self._speed, spacing=0), 1))
        state.setContentsMargins(theme.SPACE_S, 0, 0, 0)
        self._pages = QScrollArea()
        self._pages.setWidget(stack(*items, None, spacing=2))
        self._pages.setWidgetResizable(True)
        self._pages.setFrameShape(QFrame.Shape.NoFrame)
        self._pages.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._pages.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        parts = column((self._pages, 1), state, spacing=theme.SPACE_S)
        parts.setContentsMargins(theme.SPACE_M, theme.SPACE_L, theme.SPACE_M, theme.SPACE_L)
        self.setLayout(parts)
        self._items.idClicked.connect(lambda place: self.chosen.emit(self._keys[place]))

    def show_status(self, status: Status) -> None:
        self._pot.show_state(status.state)
        self._state.setText(states.title(status))
        self._speed.say(formats.rate(status.tokens_per_s) if status.tokens_per_s >= 0.05 else "")

    def show_page(self, key: str) -> None:
        """Mark the open page, if it is listed."""
        self._items.setExclusive(False)
        for place, known in enumerate(self._keys):
            self._items.button(place).setChecked(known == key)
            if known == key:
                self._pages.ensureWidgetVisible(self._items.button(place))
        self._items.setExclusive(True)
