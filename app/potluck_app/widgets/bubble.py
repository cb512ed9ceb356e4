"""One message of the chat: a question in a coloured box on the right, an answer as plain text as wide as the page."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontDatabase
from PySide6.QtWidgets import QFrame, QGraphicsOpacityEffect, QPlainTextEdit, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import Label, text
from potluck_app.widgets.layout import column, holder, row
from potluck_app.widgets.markdown import Block, as_html, blocks
from potluck_app.widgets.theme import Type

_MARKS = re.compile(r"[*_`#|>~\[]|\n\n|^[ \t]*(?:[-+]|\d+[.)])\s", re.MULTILINE)  # of Markdown
_FOCUS = (QEvent.Type.FocusIn, QEvent.Type.FocusOut)


class Bubble(QWidget):
    """A message by `name`, whose text can be selected and copied. Answers may have Markdown."""

    def __init__(self, name: str, said: str = "", *, is_question: bool) -> None:
        super().__init__()
        self.said, self._is_question = "", is_question
        self.parts: list[Text | Code] = []
        self._last = 0  # the character at which the last part begins; those before it stay as they are
        self._note, self._problem = text("muted", kind=Type.CAPTION), text("error")
        self._offers = row(spacing=theme.SPACE_XS)
        self._column, frame = column(), QFrame()
        if is_question:
            frame.setObjectName("question")
            self._column.setContentsMargins(theme.SPACE_M, theme.SPACE_S, theme.SPACE_M, theme.SPACE_S)
        frame.setLayout(self._column)
        frame.setAccessibleName(name)
        offers = holder(self._offers)
        self._veil = QGraphicsOpacityEffect(offers)
        offers.setGraphicsEffect(self._veil)
        if is_question:
            self.setLayout(row(None, column(None, offers), frame, spacing=theme.SPACE_XS))
        else:
            below = row((column(self._problem, self._note), 1), offers)
            self.setLayout(column(frame, below, spacing=theme.SPACE_XS))
        self._unveil()
        self.show_text(said)
        self.show_note("")

    def offer(self, *buttons: QWidget) -> None:
        """Put `buttons` below the message, which the pointer over it and the keyboard's focus show."""
        for button in buttons:
            self._offers.addWidget(button)
            button.installEventFilter(self)

    def show_text(self, said: str, *, is_whole: bool = True) -> None:
        """Show a message. While it grows and is not whole, only its last paragraph is laid out again."""
        if is_whole or not said.startswith(self.said):
            self._last = 0
        kept = len(self.parts) - 1 if self._last else 0
        found = [Block(0, said)] if self._is_question else blocks(said[self._last :], is_whole=is_whole)
        for place, block in enumerate(found, start=kept):
            if place < len(self.parts) and isinstance(self.parts[place], Code) is not block.is_code:
                self._drop(place)
            if place == len(self.parts):
                self.parts.append(Code() if block.is_code else Text(is_question=self._is_question))
                self._column.addWidget(self.parts[-1])
            self.parts[place].show_block(block.said)
        self._drop(kept + len(found))
        self._last += found[-1].start if found else 0
        self.said = said

    def show_note(self, said: str, problem: str = "") -> None:
        """Write below the text what is going on, or what went wrong; "" for nothing."""
        self._note.say(said)
        self._problem.say(problem)
        self._unveil()

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 (Qt's name)
        self._unveil()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 (Qt's name)
        self._unveil()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 (Qt's name)
        if event.type() in _FOCUS:
            self._unveil()
        return False

    def _unveil(self) -> None:
        focused = self.focusWidget()
        is_wanted = self.underMouse() or self._problem.text() or (focused is not None and focused.hasFocus())
        self._veil.setOpacity(1.0 if is_wanted else 0.0)

    def _drop(self, place: int) -> None:
        """Remove the parts from `place` on."""
        for part in self.parts[place:]:
            part.hide()
            part.deleteLater()
        del self.parts[place:]


class Text(Label):
    """Some paragraphs of a message.

    A label lays its text out for each hint that a layout asks for. This one gives hints that cost nothing, and
    remembers its height for each width.
    """

    def __init__(self, *, is_question: bool) -> None:
        super().__init__()
        self.said, self._is_question = "", is_question
        self._heights: dict[int, int] = {}
        self.setWordWrap(True)
        self.setFont(theme.font(Type.BODY))
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def show_block(self, said: str) -> None:
        self.said = said
        is_marked = not self._is_question and _MARKS.search(said) is not None
        self._heights.clear()
        self.setTextFormat(Qt.TextFormat.RichText if is_marked else Qt.TextFormat.PlainText)
        self.setText(as_html(said) if is_marked else said)
        self.setAccessibleName(said)

    def heightForWidth(self, width: int) -> int:  # noqa: N802 (Qt's name)
        if width not in self._heights:
            self._heights[width] = super().heightForWidth(width)
        return self._heights[width]

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        """Be as wide as a question's longest line, where there is room; an answer gets all the room anyway."""
        lines = self.said.split("\n") if self._is_question else ()
        width = max(map(self.fontMetrics().horizontalAdvance, lines), default=self.width() - 1)
        return QSize(1 + width, self.fontMetrics().lineSpacing())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(1, self.fontMetrics().lineSpacing())


class Code(QPlainTextEdit):
    """Lines of code, as high as they are. Long ones scroll."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setAccessibleName(self.tr("Code"))
        self.horizontalScrollBar().rangeChanged.connect(self._fit)

    def show_block(self, said: str) -> None:
        before, self.said = self.said, said
        if said.startswith(before):
            end = self.textCursor()
            end.movePosition(end.MoveOperation.End)
            end.insertText(said[len(before) :])
        else:
            self.setPlainText(said)
        self._fit()

    def _fit(self) -> None:
        bar = theme.SCROLL_BAR if self.horizontalScrollBar().maximum() else 0
        around = 2 * (theme.SPACE_S + self.document().documentMargin() + self.frameWidth())
        self.setFixedHeight(int(self.fontMetrics().lineSpacing() * self.blockCount() + around) + bar + 1)
