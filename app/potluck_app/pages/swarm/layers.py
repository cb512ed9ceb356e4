"""The model as a strip of layers in the colours of the people who serve them, and what that means for the user."""

from __future__ import annotations

import time
from collections.abc import Sequence

from potluck_control.api.schema import Status
from potluck_control.methods import members
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.parts import Card, caption, muted, text
from potluck_app.widgets.progress import DownloadProgress
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats, layers
from potluck_app.words.people import served_by

_OLD_S = 60  # the card shows the time of an older list of servers
_RADIUS = 3.0  # corners of a wide cell
_HEIGHT, _MARK, _GAP = 34, 4.0, 2.0
_MOST_BANDS = 4  # more bands in a cell are too thin to tell apart


class LayerStrip(QWidget):
    """A cell for each layer, with a band for each computer that serves it.

    A layer that nobody serves is hatched; one of which nothing is known is empty. The layers that this computer serves
    are underlined.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[tuple[layers.Layer, ...], tuple[int, int] | None] = (), None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Layers of the model"))

    @property
    def own(self) -> tuple[int, int] | None:
        """The layers [start, end) that are underlined."""
        return self._shown[1]

    def show_layers(self, served: Sequence[layers.Layer], own: tuple[int, int] | None, message: str) -> None:
        """Draw who serves each layer, and a line below `own`, a range [start, end); `message` says it in words."""
        self.setAccessibleDescription(message)
        self.setToolTip(message)
        if (tuple(served), own) != self._shown:
            self._shown = tuple(served), own
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(360, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        served, own = self._shown
        if not served:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        gap = min(_GAP, self.width() / len(served) / 4)
        step = (self.width() + gap) / len(served)
        for number, people in enumerate(served):
            _paint_cell(painter, QRectF(number * step, 0.0, step - gap, self.height() - 2 * _MARK), people)
        if own is not None:
            start, end = own
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colours().accent))
            mark = QRectF(start * step, self.height() - _MARK, (end - start) * step - gap, _MARK)
            painter.drawRoundedRect(mark, _MARK / 2, _MARK / 2)


class LayersCard(PageSection):
    """The swarm's model as a strip of layers, who serves them, and what that means for the user."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._status: Status | None = None
        self._found: members.MembersList | None = None
        self._name, self._strip, self._message = text(style=TextStyle.HEADING), LayerStrip(), text()
        self._more, self._when = muted(), caption()
        self._bar = DownloadProgress(self.tr("Download progress"))
        self.fill(Card("", self._name, self._strip, self._message, self._more, self._when, self._bar))
        self.hide()

    def show_status(self, status: Status) -> None:
        before, self._status = self._status, status
        if before is None or before.swarm is None or status.swarm is None or before.swarm.prefix != status.swarm.prefix:
            self._found = None  # it was about another swarm or model
        self._draw()

    def show_members(self, found: members.MembersList) -> None:
        self._found = found
        self._draw()

    def _draw(self) -> None:
        status = self._status
        self.setVisible(status is not None and status.swarm is not None)
        if status is None or status.swarm is None:
            return
        swarm, found = status.swarm, self._found
        if found is not None and (found.swarm != swarm.name or found.servers_at is None):
            found = None
        served = served_by(found, swarm)
        counts = [len(people) for people in served if people is not None]
        message = layers.summary(counts, swarm.num_blocks, swarm.span)
        self._name.setText(self.tr("{swarm} runs {model}").format(swarm=swarm.name, model=layers.model(swarm.model)))
        self._strip.show_layers(served, swarm.span, message)
        self._message.setText(message)
        self._more.say(layers.one_more(swarm))
        at = found.servers_at if found is not None else swarm.coverage_at
        is_old = at is not None and at < time.time() - _OLD_S
        self._when.say(self.tr("As of {time}.").format(time=formats.clock(at)) if at is not None and is_old else "")
        self._bar.setVisible(status.loading is not None)
        if status.loading is not None:
            self._bar.say(self.tr("Downloading…"), status.loading.done_bytes, status.loading.total_bytes)


def _paint_cell(painter: QPainter, cell: QRectF, people: layers.Layer) -> None:
    colours, radius = theme.colours(), min(_RADIUS, cell.width() / 3)
    if people:
        height = cell.height() / len(people[:_MOST_BANDS])
        painter.setPen(Qt.PenStyle.NoPen)
        for number, place in enumerate(people[:_MOST_BANDS]):
            painter.setBrush(QColor(colours.outline if place == layers.STRANGER else theme.colour_of_person(place)))
            painter.drawRect(QRectF(cell.left(), cell.top() + number * height, cell.width(), height))
        return
    edge = QColor(colours.line if people is None else colours.error)
    painter.setPen(QPen(edge, 1.0))
    painter.setBrush(Qt.BrushStyle.NoBrush if people is None else QBrush(edge, Qt.BrushStyle.BDiagPattern))
    painter.drawRoundedRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
