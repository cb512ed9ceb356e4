"""The page Chat, to talk to the swarm's model, with the kept conversations beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from potluck_control.api.schema import Status
from potluck_control.resources import DEMO_MODEL
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkProxy
from PySide6.QtWidgets import QFrame, QMessageBox, QPlainTextEdit, QWidget

from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.chat.answer import ChatAnswer, ConversationMessage
from potluck_app.pages.chat.bubble import Bubble
from potluck_app.pages.chat.conversations import ConversationFolder, ConversationList, KeptConversation
from potluck_app.pages.chat.options import ChatOptions
from potluck_app.pages.page import Page
from potluck_app.pages.preferences import Preferences
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.copying import CopyButton
from potluck_app.widgets.parts import ContentArea, Placeholder, caption, column, row, strong
from potluck_app.words import layers
from potluck_app.words.language import tr

_OF_THE_DEMO = ("What can you do?", "What is Potluck?", "Count from 3 to 9", "Write a haiku")
_FEWEST_LINES, _MOST_LINES = 2, 8  # height of the question field
_WIDEST = 860  # same width as the cards of other pages
_BESIDE, _LIST = 620, 200  # smallest width of a page with the list beside the chat; width of the list
_AGAIN_TEMPERATURE = 0.7  # lowest for another attempt, which would give the same answer at 0


def suggestions(model: str) -> tuple[str, ...]:
    """Return questions that the swarm's model can answer. The demo model understands English alone."""
    if model == DEMO_MODEL:
        return _OF_THE_DEMO
    return (
        tr("Explain language models in three sentences."),
        tr("Suggest a dinner for five friends."),
        tr("Write a haiku about sharing."),
    )


class ChatPage(Page):
    """The page of one `conversation`, without failed answers. It is saved whenever an answer is complete."""

    def __init__(
        self, link: DaemonCaller, kept: ConversationFolder | None = None, preferences: Preferences | None = None
    ) -> None:
        super().__init__(link, "")
        self.setAccessibleName(self.tr("Chat"))
        self._network = QNetworkAccessManager(self)
        self._network.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._status: Status | None = None
        self.conversation: list[ConversationMessage] = []
        self._bubbles: list[Bubble] = []
        self._answer: ChatAnswer | None = None
        self._kept, self._key = kept or ConversationFolder(), ""
        self._list, self._options = ConversationList(self._kept, self), ChatOptions(preferences or Preferences(), self)
        self._lists = Button(glyph="when", style="quiet", about=self.tr("Conversations"))
        self._lists.setCheckable(True)
        self._lists.clicked.connect(self._show_list)
        self._new = Button(self.tr("New chat"), "plus", "quiet", self._start_anew)
        self._model = strong()
        self._gear = Button(glyph="settings", style="quiet", act=self._options.open, about=self.tr("Options"))
        for button in (self._lists, self._gear):
            button.setToolTip(button.accessibleName())
        self._empty, self._suggestions, self._talk = Placeholder("chat", ""), ContentArea(), column()
        self._field, self._send = QuestionField(), Button(self.tr("Send"), "send", "primary", self._press_send)
        self._stop = Button(self.tr("Stop"), "close", act=self._press_stop)
        self._more = Button(self.tr("More"), style="link", act=self._explain, about=self.tr("Who can read along"))
        self._bar, self._composer = QFrame(self), QFrame(self)
        self._follows = True  # whether the page scrolls as the conversation grows
        self._build()
        self._show_state()

    @property
    def is_unsaved(self) -> bool:
        return bool(self._bubbles or self._field.toPlainText())

    def show_status(self, status: Status) -> None:
        before, self._status = self._status, status
        if self._answer is not None:
            self._answer.status = status
        if before is None or before.swarm is None or status.swarm is None or before.swarm.model != status.swarm.model:
            self._show_suggestions()
            self._show_state()

    def refresh(self) -> None:
        self._list.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 (Qt's name)
        super().resizeEvent(event)
        self._place_parts()

    def tab_stops(self) -> list[QWidget]:
        above = (self._lists, self._new, self._gear, self._list.search, self._list.rows)
        return [*above, *super().tab_stops(), self._field, self._send, self._stop, self._more]

    def restore_from(self, before: Page) -> bool:
        assert isinstance(before, ChatPage)
        if before._answer is not None:
            before._press_stop()
        if before._status is not None:
            self.show_status(before._status)  # the name of its model stands above the answers
        self._key = before._key
        self._show_messages(before.conversation)
        self._show_state()
        self._field.setPlainText(before._field.toPlainText())
        return True

    def ask_model(self, question: str) -> None:
        """Ask `question`; the answer comes by signals."""
        if len(self._bubbles) > len(self.conversation):  # the last answer failed
            self._cut(self._bubbles[-1], len(self.conversation))
        self._show_question(question)
        self._begin()

    def _show_question(self, question: str) -> None:
        before = len(self.conversation)
        self.conversation.append(ConversationMessage("user", question))
        bubble = self._add(Bubble(self.tr("You"), question, is_question=True))
        bubble.offer(Button(self.tr("Edit"), "edit", "quiet", lambda: self._edit(bubble, before)))

    def _begin(self, least_temperature: float = 0.0) -> None:
        """Begin an answer to the last message."""
        assert self._status is not None
        sampling, text = self._options.sampling, self._options.instructions
        sampling = replace(sampling, temperature=max(sampling.temperature, least_temperature))
        messages = [*([ConversationMessage("system", text)] if text else []), *self.conversation]
        bubble = self._add_answer()
        bubble.show_note(self.tr("Asking…"))
        self._answer = answer = ChatAnswer(self._network, self.link, messages, sampling, self._status)
        answer.waits.connect(bubble.show_note)
        answer.grew.connect(partial(self._grow, bubble))
        answer.ended.connect(lambda: self._end(answer.how))
        answer.failed.connect(self._fail)
        self._show_state()
        answer.start()

    def _grow(self, bubble: Bubble, text: str) -> None:
        bubble.show_text(text.strip(), is_whole=False)
        bubble.show_note("")

    def _end(self, note: str = "") -> None:
        """Keep what has come of the answer, even if it was stopped."""
        assert self._answer is not None
        text, self._answer = self._answer.text.strip(), None
        if text:
            self._finish_answer(text)
            self._key = self._kept.keep(self._key, tuple(self.conversation))
            self.refresh()
            self._list.choose(self._key)
            if not self._key:
                note = self.tr("This conversation could not be kept. Is the disk full?")
        elif not note:
            note = self.tr("No answer. A small model only continues a text: begin a sentence.")
        self._bubbles[-1].show_note(note)
        self._show_state()

    def _finish_answer(self, text: str) -> None:
        bubble, copy = self._bubbles[-1], CopyButton(self.tr("Copy the answer"), style="quiet")
        bubble.show_text(text)
        copy.show_content(text)
        bubble.offer(copy, self._retry_button(bubble))
        self.conversation.append(ConversationMessage("assistant", text))

    def _fail(self, problem: str) -> None:
        """Drop half an answer, show why, and offer to ask the question again."""
        self._answer = None
        bubble = self._bubbles[-1]
        bubble.show_text("")
        bubble.show_note("", problem)
        bubble.offer(self._retry_button(bubble))
        self._show_state()

    def _retry_button(self, bubble: Bubble) -> Button:
        """Return what answers a question once more, with more variety, and takes away what came after it."""
        before = len(self.conversation)

        def retry() -> None:
            if self._answer is None:
                has_failed = len(self.conversation) == before
                self._cut(bubble, before)
                self._begin(0.0 if has_failed else _AGAIN_TEMPERATURE)

        return Button(self.tr("Try again"), "refresh", "quiet", retry)

    def _edit(self, bubble: Bubble, before: int) -> None:
        """Put a question back into the field, and remove what came after it."""
        if self._answer is not None:
            self._press_stop()
        self._cut(bubble, before)
        self._field.setPlainText(bubble.content)
        self._field.setFocus()

    def _edit_last(self) -> None:
        """Edit the last question."""
        asked = [place for place, text in enumerate(self.conversation) if text.role == "user"]
        if asked:
            self._edit(self._bubbles[asked[-1]], asked[-1])

    def _cut(self, bubble: Bubble, messages: int) -> None:
        """Keep the first `messages`, and the bubbles before `bubble`."""
        place = self._bubbles.index(bubble)
        for gone in self._bubbles[place:]:
            gone.hide()
            gone.deleteLater()
        del self._bubbles[place:], self.conversation[messages:]
        self._show_state()

    def _press_stop(self) -> None:
        if self._answer is not None:
            self._answer.stop()
            self._end(self.tr("Stopped."))

    def _press_escape(self) -> None:
        if self._lists.isChecked():
            self._show_list(False)
        else:
            self._press_stop()

    def _show_list(self, is_shown: bool) -> None:
        """Show or hide the list over a narrow chat."""
        self._lists.setChecked(is_shown)
        self._place_parts()
        (self._list if is_shown else self._field).setFocus()

    def _press_send(self) -> None:
        self._ask(self._field.toPlainText().strip())

    def _ask(self, question: str) -> None:
        """Ask, unless an answer runs or there is nobody to ask."""
        if question and self._send.isVisibleTo(self) and self._field.isEnabled():
            self._field.clear()
            self.ask_model(question)

    def _start_anew(self) -> None:
        """Begin another conversation; this one is kept, with what has come of its answer."""
        self._press_stop()
        self._key = ""
        if self._bubbles:
            self._cut(self._bubbles[0], 0)
        self._list.choose("")
        self._show_list(False)

    def _open(self, conversation: KeptConversation) -> None:
        """Show a kept conversation, to go on with it."""
        if conversation.key != self._key:
            self._start_anew()
            self._key = conversation.key
            self._show_messages(conversation.messages)
            self._list.choose(self._key)
            self._show_state()
        self._show_list(False)

    def _show_messages(self, messages: Sequence[ConversationMessage]) -> None:
        for message in messages:
            if message.role == "user":
                self._show_question(message.content)
            else:
                self._add_answer()
                self._finish_answer(message.content)

    def _leave_deleted(self, key: str) -> None:
        """Leave a conversation that was deleted."""
        if key == self._key:
            self._start_anew()

    def _show_suggestions(self) -> None:
        model = self._status.swarm.model if self._status is not None and self._status.swarm is not None else ""
        buttons = [
            row(None, Button(question, act=partial(self._ask, question)), None)
            for question in (suggestions(model) if model else ())
        ]
        self._suggestions.show_items(*buttons, spacing=theme.SPACE_S)
        self._model.setText(layers.model(model) if model else "")

    def _show_state(self) -> None:
        can_ask = self._status is not None and self._status.swarm is not None
        if can_ask:
            self._empty.say(self.tr("Talk to {model}").format(model=self._model.text()))
        else:
            self._empty.say(self.tr("No model to talk to yet"), self.tr("Join or start a swarm to chat."))
        self._empty.setVisible(not self._bubbles)
        self._suggestions.setVisible(not self._bubbles)
        self._field.setEnabled(can_ask)
        self._send.setVisible(self._answer is None)
        self._stop.setVisible(self._answer is not None)
        self._show_send()
        self.order_tabs()

    def _show_send(self) -> None:
        self._send.setEnabled(self._field.isEnabled() and bool(self._field.toPlainText().strip()))

    def _add_answer(self) -> Bubble:
        return self._add(Bubble(self._model.text(), is_question=False))

    def _add(self, bubble: Bubble) -> Bubble:
        self._bubbles.append(bubble)
        self._talk.addWidget(bubble)
        self._follows = True
        return bubble

    def _explain(self) -> None:
        """Show who can read what is written here."""
        text = self.tr(
            "Your messages pass through the computers that serve this model. Their owners can read them, and nobody "
            "else can. Don't write what they should not know.\n\nConversations are kept on this computer only."
        )
        box = QMessageBox(QMessageBox.Icon.NoIcon, self.tr("Who can read along"), text, parent=self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _build(self) -> None:
        bar = row(self._lists, self._new, (self._model, 1), self._gear, spacing=theme.SPACE_S)
        bar.setContentsMargins(theme.SPACE_S, theme.SPACE_S, theme.SPACE_M, theme.SPACE_S)
        self._bar.setLayout(bar)
        note = caption(self.tr("People serving this model can read your messages."))
        parts = column(
            row((self._field, 1), column(None, self._send, self._stop)),
            row((note, 1), self._more, spacing=theme.SPACE_XS),
            spacing=theme.SPACE_XS,
        )
        parts.setContentsMargins(theme.SPACE_XL, theme.SPACE_S, theme.SPACE_XL, theme.SPACE_S)
        self._composer.setObjectName("composer")
        self._composer.setLayout(parts)
        self._composer_parts = parts
        self._list.opened.connect(self._open)
        self._list.deleted.connect(self._leave_deleted)
        self._field.sent.connect(self._press_send)
        self._field.edit_wanted.connect(self._edit_last)
        self._field.textChanged.connect(self._show_send)
        self._field.grew.connect(self._place_parts)
        for keys, act in ((QKeySequence.StandardKey.New, self._start_anew), (Qt.Key.Key_Escape, self._press_escape)):
            QShortcut(QKeySequence(keys), self, act, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        bar_beside = self.verticalScrollBar()
        bar_beside.valueChanged.connect(self._follow_if_at_end)
        bar_beside.rangeChanged.connect(self._follow)
        self.setFocusProxy(self._field)
        self.add(self._empty, self._suggestions, self._talk)

    def _follow(self, _least: int, most: int) -> None:
        if self._follows and self._bubbles:
            self.verticalScrollBar().setValue(most)

    def _follow_if_at_end(self, value: int) -> None:
        self._follows = value >= self.verticalScrollBar().maximum() - theme.SPACE_XL

    def _place_parts(self) -> None:
        """Put the bar above the conversation, the field below it, and the list beside it, or over a narrow one."""
        width, height, above = self.width(), self.height(), self._bar.sizeHint().height()
        is_wide = width >= _BESIDE
        self._lists.setVisible(not is_wide)
        self._lists.setChecked(self._lists.isChecked() and not is_wide)
        self._list.setVisible(is_wide or self._lists.isChecked())
        left = _LIST if is_wide else 0
        beside = min(width - left, _WIDEST)
        self._composer_parts.activate()  # the field may be higher now
        below = self._composer_parts.totalHeightForWidth(beside)  # the note may take two lines
        self.setViewportMargins(left, above, 0, below)
        self._bar.setGeometry(0, 0, width, above)
        self._list.setGeometry(0, above, left or width - theme.SCROLL_BAR, height - above)
        self._composer.setGeometry(left + (width - left - beside) // 2, height - below, beside, below)
        self._list.raise_()


class QuestionField(QPlainTextEdit):
    """A field that grows with its lines. Return sends it, Shift with Return begins a line.

    Signals: `sent()`, `edit_wanted()` when the user wants the last question again, `grew()` when its height changed.
    """

    sent = Signal()
    edit_wanted = Signal()
    grew = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setPlaceholderText(self.tr("Ask something"))
        self.setAccessibleName(self.tr("Question"))
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.sent.emit()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.edit_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        lines = max(_FEWEST_LINES, min(round(self.document().size().height()), _MOST_LINES))
        height = self.fontMetrics().lineSpacing() * lines + 2 * (
            theme.SPACE_S + round(self.document().documentMargin())
        )
        if height != self.height():
            self.setFixedHeight(height)
            self.grew.emit()
