"""The page Chat, to talk to the swarm's model. A question starts the gateway unless it runs; it ends by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from potluck_control.methods import gateway, setup
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.methods.setup import SetupState
from potluck_control.schema import Method, Status, SwarmStatus
from potluck_control.states import Reason, State
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkProxy
from PySide6.QtWidgets import QFrame, QLayout, QPlainTextEdit, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.answer import Answer, Details, Said
from potluck_app.pages.chat_options import ChatOptions
from potluck_app.pages.conversation_list import ConversationList
from potluck_app.pages.conversations import Conversation, Conversations
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.preferences import Preferences
from potluck_app.widgets import theme
from potluck_app.widgets.bubble import Bubble
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import text
from potluck_app.widgets.copy_field import CopyButton
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.placeholder import Placeholder
from potluck_app.widgets.theme import Type
from potluck_app.words import engine, layers, numbers, prompts, sentences
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import tr

P = TypeVar("P")
R = TypeVar("R")

_LOOK_MS = 400  # while the engine is set up or the gateway starts
_FIELD_HEIGHT = 60
_WIDEST = 860  # as the page
_AGAIN_TEMPERATURE = 0.7  # at least: at 0 another attempt would give the same answer


class ChatPage(Page):
    """Holds one `conversation`, without answers that failed. It is kept in a file whenever an answer is complete."""

    def __init__(
        self, link: DaemonCaller, kept: Conversations | None = None, preferences: Preferences | None = None
    ) -> None:
        super().__init__(link, self.tr("Chat"))
        self._network = QNetworkAccessManager(self)
        self._network.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._swarm: SwarmStatus | None = None
        self._state, self._reason = State.UNKNOWN, Reason.NONE
        self.conversation: list[Said] = []
        self._bubbles: list[Bubble] = []
        self._answer: Answer | None = None
        self._turn = 0  # grows with each question and each end; answers to an earlier one are dropped
        self._is_busy, self._least_temperature = False, 0.0
        self._kept, self._key = kept or Conversations(), ""
        self._list, self._options = ConversationList(self._kept), ChatOptions(preferences or Preferences())
        self._older, self._options_button = Button(glyph="when"), Button(glyph="settings")
        self._new, self._problem = Button(self.tr("New conversation"), "plus"), Notice("problem", "error")
        self._empty, self._suggestions = Placeholder("chat", ""), Slot()
        self._field, self._send = QuestionField(), Button(self.tr("Send"), "send", "primary", self._press_send)
        self._stop = Button(self.tr("Stop"), "close", act=self._press_stop)
        self._composer_parts, self._composer = self._build_composer()
        self._build()
        self._show_state()

    @property
    def is_unsaved(self) -> bool:
        return bool(self._bubbles or self._field.toPlainText())

    def show_status(self, status: Status) -> None:
        before, self._swarm = self._swarm, status.swarm
        self._state, self._reason = status.state, status.reason
        if before is None or (before.name if before else "") != (self._swarm.name if self._swarm else ""):
            self._show_suggestions()
            self._show_state()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 (Qt's name)
        """Keep the field at the lower edge, while the conversation scrolls above it."""
        super().resizeEvent(event)
        self._place_composer()

    def ask_model(self, question: str) -> None:
        """Ask `question`; the answer comes by signals."""
        self._show_question(question)
        self._begin()

    def _show_question(self, question: str) -> None:
        before = len(self.conversation)
        self.conversation.append(Said("user", question))
        bubble = Bubble(self.tr("You"), question, is_question=True)
        bubble.offer(Button(self.tr("Edit"), "edit", "quiet", lambda: self._edit(bubble, before)))
        self._add(bubble)

    def _finish_answer(self, said: str) -> None:
        before = len(self.conversation)
        self.conversation.append(Said("assistant", said))
        bubble = self._bubbles[-1]
        copy = CopyButton(self.tr("Copy the answer"))
        copy.setObjectName("quiet")
        copy.show_content(said)
        again = partial(self._try_again_from, bubble, before)
        bubble.offer(copy, Button(self.tr("Try again"), "refresh", "quiet", again))

    def _edit(self, bubble: Bubble, before: int) -> None:
        """Put a question back into the field, and take away what came after it."""
        if self._is_busy:
            self._press_stop()
        self._cut(bubble, before)
        self._problem.say("")  # its "Ask again" would ask nothing
        self._field.setPlainText(bubble.said)
        self._show_state()
        self._field.setFocus()

    def _try_again_from(self, bubble: Bubble, before: int) -> None:
        """Answer a question once more, with more variety, and take away what came after it."""
        if not self._is_busy:
            self._cut(bubble, before)
            self._begin(least_temperature=_AGAIN_TEMPERATURE)

    def _cut(self, bubble: Bubble, messages: int) -> None:
        """Keep the first `messages`, and the bubbles before `bubble`."""
        place = self._bubbles.index(bubble)
        for gone in self._bubbles[place:]:
            self._remove(gone)
        del self._bubbles[place:], self.conversation[messages:]

    def _begin(self, least_temperature: float = 0.0) -> None:
        """Begin an answer to the last message."""
        self._problem.say("")
        self._turn += 1
        self._is_busy, self._least_temperature = True, least_temperature
        self._add_answer().show_note(self.tr("Asking…"))
        self._show_state()
        self._start_gateway()

    def _start_gateway(self) -> None:
        """Start the gateway, once the compute engine is there that it runs in."""
        if self._reason is Reason.NO_ENGINE:
            self._call(setup.STATE, None, self._hear_of_setup, lambda error: self._fail(sentences.failure(error)))
        else:
            self._call(gateway.START, StartParams(), self._hear, self._try_later)

    def _call(
        self, method: Method[P, R], params: P | None, done: Callable[[R], None], failed: Callable[[PotluckError], None]
    ) -> None:
        """Call the daemon, and drop its answer if the question is not waited for any more."""
        turn = self._turn
        self.link.call(
            method,
            params,
            done=lambda result: done(result) if turn == self._turn else None,
            failed=lambda error: failed(error) if turn == self._turn else None,
        )

    def _hear_of_setup(self, state: SetupState) -> None:
        """Wait while the compute engine is set up; without a set-up there is nothing to wait for."""
        if state.progress is not None:
            self._wait(engine.progress(state.progress), self._start_gateway)
        elif state.ready:  # the daemon is about to start it, which a hidden page is not told
            self._call(gateway.START, StartParams(), self._hear, self._try_later)
        else:
            missing = self.tr("The compute engine is not set up yet. Set it up on the page Installation.")
            self._fail(sentences.problem(state.error) or missing)

    def _try_later(self, error: PotluckError) -> None:
        """Wait for a computer that is about to serve: until then nobody may be found."""
        if self._state in (State.STARTING, State.JOINING) or self._reason is Reason.NO_ENGINE:
            self._wait(engine.getting_ready(self.tr("this computer starts")), self._start_gateway)
        else:
            self._fail(sentences.failure(error))

    def _wait(self, note: str, then: Callable[[], None]) -> None:
        """Say what there is to wait for, and go on in a moment."""
        turn = self._turn
        self._bubbles[-1].show_note(note)
        QTimer.singleShot(_LOOK_MS, lambda: then() if turn == self._turn else None)

    def _hear(self, status: GatewayStatus) -> None:
        if status.state is GatewayState.STARTING:
            note = engine.getting_ready(translated(status.step))
            self._wait(note, lambda: self._call(gateway.STATUS, None, self._hear, self._try_later))
        elif status.state is GatewayState.READY:
            self._bubbles[-1].show_note(self.tr("Waiting for the first word…"))
            sampling = self._options.sampling
            instructions = [Said("system", sampling.instructions)] if sampling.instructions else []
            temperature = max(sampling.temperature, self._least_temperature)
            said = (*instructions, *self.conversation)
            self._answer = answer = Answer(self._network, status, said, temperature, self)
            answer.grew.connect(self._grow)
            answer.waits.connect(lambda said: self._bubbles[-1].show_note(translated(said)))
            answer.ended.connect(self._end)
            answer.failed.connect(self._fail)
        else:
            self._fail(sentences.reason(status.problem) or self.tr("The chat service was stopped."))

    def _grow(self, said: str) -> None:
        bar = self.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum() - theme.SPACE_XL
        self._bubbles[-1].show_text(said.strip())
        self._bubbles[-1].show_note("")
        if is_at_end:
            self._scroll_down()

    def _end(self, note: str = "") -> None:
        """Keep what has come of the answer, even if it was stopped."""
        answer = self._answer
        said = answer.text.strip() if answer is not None else ""
        self._turn += 1
        self._answer, self._is_busy = None, False
        if said:
            self._finish_answer(said)
            self._key = self._kept.keep(self._key, tuple(self.conversation))
            note = note or (_how(answer.details) if answer is not None else "")
            if not self._key:
                note = self.tr("This conversation could not be kept. Is the disk full?")
        elif not note:
            note = self.tr("No answer. A small model only continues a text: begin a sentence.")
        self._bubbles[-1].show_note(note)
        self._show_state()
        self._field.setFocus()
        self.refresh()

    def _fail(self, problem: str) -> None:
        """Drop half an answer, say why, and offer to ask the question again."""
        self._turn += 1
        self._answer, self._is_busy = None, False
        self._remove(self._bubbles.pop())
        self._problem.say(problem, self.tr("Ask again"))
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
        self.conversation, self._key = [], ""
        for bubble in self._bubbles:
            self._remove(bubble)
        self._bubbles = []
        self._problem.say("")
        self._list.hide()
        self._show_state()
        self._field.setFocus()

    def _open(self, conversation: Conversation) -> None:
        """Show a kept conversation, to go on with it."""
        self._start_anew()
        self._key = conversation.key
        for message in conversation.messages:
            if message.role == "user":
                self._show_question(message.content)
            else:
                self._add_answer().show_text(message.content)
                self._finish_answer(message.content)
        self._show_state()

    def _forget(self, key: str) -> None:
        """Let a conversation whose file was deleted be written anew, if it goes on."""
        if key == self._key:
            self._key = ""

    def _toggle(self, card: QWidget) -> None:
        """Show the list or the options, or hide it."""
        for each in (self._list, self._options):
            each.setVisible(each is card and each.isHidden())
        if not self._list.isHidden():
            self._list.refresh()
        if not card.isHidden():
            card.setFocus()
            self.verticalScrollBar().setValue(0)

    def _show_suggestions(self) -> None:
        buttons = []
        for question in prompts.suggestions(self._swarm.model) if self._swarm is not None else ():
            button = Button(question, act=partial(self._take_suggestion, question))
            buttons.append(row(None, button, None))
        self._suggestions.show_content(holder(column(*buttons, spacing=theme.SPACE_S)))

    def _take_suggestion(self, question: str) -> None:
        if not self._is_busy and self._swarm is not None:
            self.ask_model(question)

    def _show_state(self) -> None:
        can_ask = self._swarm is not None
        if self._swarm is None:
            said = self.tr("Join or start a swarm to chat.")
            self._empty.say(self.tr("No model to talk to yet"), said)
        else:
            model = layers.model(self._swarm.model)
            self._empty.say(self.tr("Talk to {model}").format(model=model), "")
        self._empty.setVisible(not self._bubbles)
        self._suggestions.setVisible(not self._bubbles)
        self._new.setEnabled(bool(self._bubbles))
        self._field.setEnabled(can_ask)
        self._send.setVisible(not self._is_busy)
        self._send.setEnabled(can_ask and bool(self._field.toPlainText().strip()))
        self._stop.setVisible(self._is_busy)

    def _add_answer(self) -> Bubble:
        bubble = Bubble(layers.model(self._swarm.model if self._swarm else ""), is_question=False)
        self._add(bubble)
        return bubble

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
        for button, card in ((self._older, self._list), (self._options_button, self._options)):
            self.head.addWidget(button)
            button.setAccessibleName(card.accessibleName())
            button.setToolTip(card.accessibleName())
            button.clicked.connect(lambda _=False, card=card: self._toggle(card))
            card.hide()
        self._list.opened.connect(self._open)
        self._list.deleted.connect(self._forget)
        self.head.addWidget(self._new)
        self._new.clicked.connect(self._start_anew)
        self._field.sent.connect(self._press_send)
        self._field.textChanged.connect(self._show_state)
        self._problem.pressed.connect(self._begin)
        self.setFocusProxy(self._field)
        self._talk = column()
        for part in (self._list, self._options, self._empty, self._suggestions):
            self.column.addWidget(part)
        self.column.addLayout(self._talk)
        self.column.addWidget(self._problem)

    def _build_composer(self) -> tuple[QLayout, QFrame]:
        frame = QFrame(self)
        frame.setObjectName("composer")
        note = text("muted", kind=Type.CAPTION, said=self.tr("People serving this model can read your messages."))
        parts = column(row((self._field, 1), column(None, self._send, self._stop)), note, spacing=theme.SPACE_XS)
        parts.setContentsMargins(theme.SPACE_XL, theme.SPACE_S, theme.SPACE_XL, theme.SPACE_M)
        frame.setLayout(parts)
        return parts, frame

    def _place_composer(self) -> None:
        width = min(self.width(), _WIDEST)
        height = self._composer_parts.totalHeightForWidth(width)  # the texts below the field may take two lines
        self.setViewportMargins(0, 0, 0, height)
        self._composer.setGeometry((self.width() - width) // 2, self.height() - height, width, height)


def _how(details: Details) -> str:
    """Return how fast an answer came, and from whom as far as servers have names."""
    if not details.tokens_per_s:
        return ""
    by = tr("answered by {names}").format(names=", ".join(details.servers)) if details.servers else ""
    return " · ".join(filter(None, (numbers.rate(details.tokens_per_s), by)))


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
