"""The page Chat, to try the swarm's model. A question starts the gateway unless it runs; it ends by itself."""

from __future__ import annotations

from typing import TypeVar

from potluck_control.methods import earnings, gateway
from potluck_control.methods.earnings import Earnings
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.schema import Method, Status, SwarmStatus
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkProxy
from PySide6.QtWidgets import QFrame, QLayout, QPlainTextEdit

from potluck_app.pages.answer import Answer, Said
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.widgets import theme
from potluck_app.widgets.bubble import Bubble
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.placeholder import Placeholder
from potluck_app.widgets.theme import Type
from potluck_app.words import layers, numbers, sentences
from potluck_app.words.daemon_texts import translated

P = TypeVar("P")

_LOOK_MS = 400  # while the gateway starts
_FIELD_HEIGHT = 60
_WIDEST = 860  # as the page


class ChatPage(Page):
    """Holds one `conversation`, without answers that failed. It is written nowhere and ends with the window."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Chat"))
        self._network = QNetworkAccessManager(self)
        self._network.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._swarm: SwarmStatus | None = None
        self.conversation: list[Said] = []
        self._bubbles: list[Bubble] = []
        self._answer: Answer | None = None
        self._turn = 0  # grows with each question and each end; answers to an earlier one are dropped
        self._is_busy = False
        self._new, self._problem = Button(self.tr("New conversation"), "plus"), Notice("problem", "error")
        self._empty = Placeholder("chat", "")
        self._field, self._send = QuestionField(), Button(self.tr("Send"), "send", "primary")
        self._stop, self._points = Button(self.tr("Stop"), "close"), text("muted", kind=Type.CAPTION)
        self._composer_parts, self._composer = self._build_composer()
        self._build()
        self._show_state()

    @property
    def is_unsaved(self) -> bool:
        return bool(self._bubbles or self._field.toPlainText())

    def show_status(self, status: Status) -> None:
        before, self._swarm = self._swarm, status.swarm
        if before is None or (before.name if before else "") != (self._swarm.name if self._swarm else ""):
            self._show_state()

    def refresh(self) -> None:
        self.ask(earnings.SUMMARY, None, self._show_points)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 (Qt's name)
        """Keep the field at the lower edge, while the conversation scrolls above it."""
        super().resizeEvent(event)
        self._place_composer()

    def ask_model(self, question: str) -> None:
        """Ask `question`; the answer comes by signals."""
        self.conversation.append(Said("user", question))
        self._add(Bubble(self.tr("You"), question, is_question=True))
        self._begin()

    def _begin(self) -> None:
        """Begin an answer to the last message."""
        self._problem.say("")
        self._turn += 1
        self._is_busy = True
        self._add(Bubble(layers.model(self._swarm.model if self._swarm else ""), is_question=False))
        self._bubbles[-1].show_note(self.tr("Asking…"))
        self._show_state()
        self._ask_gateway(gateway.START, StartParams())

    def _ask_gateway(self, method: Method[P, GatewayStatus], params: P | None) -> None:
        turn = self._turn
        self.link.call(
            method,
            params,
            done=lambda status: self._hear(status) if turn == self._turn else None,
            failed=lambda error: self._fail(sentences.failure(error)) if turn == self._turn else None,
        )

    def _hear(self, status: GatewayStatus) -> None:
        turn = self._turn
        if status.state is GatewayState.STARTING:
            step = translated(status.step or "Starting")
            self._bubbles[-1].show_note(self.tr("Getting ready: {step}…").format(step=step))
            QTimer.singleShot(_LOOK_MS, lambda: self._ask_gateway(gateway.STATUS, None) if turn == self._turn else None)
        elif status.state is GatewayState.READY:
            self._bubbles[-1].show_note(self.tr("Waiting for the first word…"))
            self._answer = answer = Answer(self._network, status, tuple(self.conversation), self)
            answer.grew.connect(self._grow)
            answer.waits.connect(lambda said: self._bubbles[-1].show_note(translated(said)))
            answer.ended.connect(self._end)
            answer.failed.connect(self._fail)
        else:
            self._fail(status.problem or self.tr("The chat service was stopped."))

    def _grow(self, said: str) -> None:
        bar = self.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum() - theme.SPACE_XL
        self._bubbles[-1].show_text(said.strip())
        self._bubbles[-1].show_note("")
        if is_at_end:
            self._scroll_down()

    def _end(self, note: str = "") -> None:
        """Keep what has come of the answer, even if it was stopped."""
        said = self._answer.text.strip() if self._answer is not None else ""
        self._turn += 1
        self._answer, self._is_busy = None, False
        if said:
            self.conversation.append(Said("assistant", said))
        elif not note:
            note = self.tr("No answer. A small model only continues a text: begin a sentence.")
        self._bubbles[-1].show_note(note)
        self._show_state()
        self._field.setFocus()
        self.refresh()

    def _fail(self, problem: str) -> None:
        """Drop half an answer, and offer to ask the question again."""
        self._turn += 1
        self._answer, self._is_busy = None, False
        self._remove(self._bubbles.pop())
        self._problem.say(sentences.sentence(translated(problem)), self.tr("Ask again"))
        self._show_state()
        self._scroll_down()

    def _press_stop(self) -> None:
        if self._answer is not None:
            self._answer.stop()
        self._end(self.tr("Stopped."))

    def _press_send(self) -> None:
        question = self._field.toPlainText().strip()
        if question and not self._is_busy and self._swarm is not None:
            self._field.clear()
            self.ask_model(question)

    def _start_anew(self) -> None:
        if self._answer is not None:
            self._answer.stop()
        self._turn += 1
        self._answer, self._is_busy = None, False
        self.conversation = []
        for bubble in self._bubbles:
            self._remove(bubble)
        self._bubbles = []
        self._problem.say("")
        self._show_state()
        self._field.setFocus()

    def _show_state(self) -> None:
        can_ask = self._swarm is not None
        if self._swarm is None:
            said = self.tr("Join or start a swarm to chat.")
            self._empty.say(self.tr("No model to talk to yet"), said)
        else:
            said = self.tr("People serving this model can read your messages. Questions spend your points.")
            model = layers.model(self._swarm.model)
            self._empty.say(self.tr("Talk to {model}").format(model=model), said)
        self._empty.setVisible(not self._bubbles)
        self._new.setEnabled(bool(self._bubbles))
        self._field.setEnabled(can_ask)
        self._send.setVisible(not self._is_busy)
        self._send.setEnabled(can_ask and bool(self._field.toPlainText().strip()))
        self._stop.setVisible(self._is_busy)

    def _show_points(self, sums: Earnings) -> None:
        said = self.tr("People serving this model can read your messages. Your points: {points}")
        self._points.setText(said.format(points=numbers.points(sums.balance)))
        self._place_composer()

    def _add(self, bubble: Bubble) -> None:
        self._bubbles.append(bubble)
        self._talk.addWidget(bubble)
        self._scroll_down()

    def _remove(self, bubble: Bubble) -> None:
        bubble.hide()
        bubble.deleteLater()

    def _scroll_down(self) -> None:
        """Scroll once the new text has its place."""
        QTimer.singleShot(0, lambda: self.verticalScrollBar().setValue(self.verticalScrollBar().maximum()))

    def _build(self) -> None:
        self.head.addWidget(self._new)
        self._new.clicked.connect(self._start_anew)
        self._send.clicked.connect(self._press_send)
        self._stop.clicked.connect(self._press_stop)
        self._field.sent.connect(self._press_send)
        self._field.textChanged.connect(self._show_state)
        self._problem.pressed.connect(self._begin)
        self.setFocusProxy(self._field)
        self._talk = column()
        self.column.addWidget(self._empty)
        self.column.addLayout(self._talk)
        self.column.addWidget(self._problem)

    def _build_composer(self) -> tuple[QLayout, QFrame]:
        frame = QFrame(self)
        frame.setObjectName("composer")
        parts = column(
            row((self._field, 1), column(None, self._send, self._stop)), self._points, spacing=theme.SPACE_XS
        )
        parts.setContentsMargins(theme.SPACE_XL, theme.SPACE_S, theme.SPACE_XL, theme.SPACE_M)
        frame.setLayout(parts)
        return parts, frame

    def _place_composer(self) -> None:
        width = min(self.width(), _WIDEST)
        height = self._composer_parts.totalHeightForWidth(width)  # the texts below the field may take two lines
        self.setViewportMargins(0, 0, 0, height)
        self._composer.setGeometry((self.width() - width) // 2, self.height() - height, width, height)


class QuestionField(QPlainTextEdit):
    """A field that Return sends; Shift with Return begins a line. Signal: `sent()`."""

    sent = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(_FIELD_HEIGHT)
        self.setTabChangesFocus(True)
        self.setPlaceholderText(self.tr("Ask something"))
        self.setAccessibleName(self.tr("Question"))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.sent.emit()
        else:
            super().keyPressEvent(event)
