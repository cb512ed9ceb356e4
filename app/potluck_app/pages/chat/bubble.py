"""One message of the chat, and the Markdown in it.

A question stands in a coloured box on the right, an answer as plain text as wide as the page. What models write is
never HTML, and nothing is loaded: no pictures, no files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from textwrap import dedent

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QEnterEvent, QTextDocument
from PySide6.QtWidgets import QFrame, QGraphicsOpacityEffect, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.copying import FixedText
from potluck_app.widgets.parts import Label, caption, column, holder, row, text
from potluck_app.widgets.theme import TextStyle

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_CODE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n?(.*?)(?:^[ \t]*\1[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"\n[ \t]*\n(?!\s|\Z|[-+*](\s|\Z)|\d+([.)]?\s|[.)]?\Z))")  # no item of a list follows
_LINE = re.compile(r"\n(?=[^\s|])")  # a line end before neither an indented line nor a row of a table
_BODY = re.compile(r"<body[^>]*>(.*)</body>", re.DOTALL)
_PICTURE = re.compile(r"<img [^>]*>")  # Qt writes a ">" in an address as an entity
_LINK = re.compile(r'<a href="([^"]*)">(?:<span[^>]*>)?(.*?)(?:</span>)?</a>', re.DOTALL)
_LONG = 1500  # a longer list is cut at the end of a line
_APART = theme.SPACE_M  # distance of paragraphs, the same as of the labels of a growing answer
_CODE_LINE = '<pre style="'
_ABOVE, _BELOW = re.compile(r"margin-top:\d+px"), re.compile(r"margin-bottom:\d+px(?!.*margin-bottom)", re.DOTALL)
_MARKS = re.compile(r"[*_`#|>~\[]|\n\n|^[ \t]*(?:[-+]|\d+[.)])\s", re.MULTILINE)  # what Markdown gives a meaning
_FOCUS = (QEvent.Type.FocusIn, QEvent.Type.FocusOut)


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A stretch of text, or the lines between two fences of code; it begins at the character `start`."""

    start: int
    content: str
    is_code: bool = False


def blocks(markdown: str, *, is_whole: bool) -> list[MarkdownBlock]:
    """Return the parts of an answer: code, and the text between. Text that still grows is cut into its paragraphs."""
    found, place = [], 0
    for code in _CODE.finditer(markdown):
        found += _texts(markdown, place, code.start(), is_whole)
        found.append(MarkdownBlock(code.start(), dedent(code[2]).strip("\n"), is_code=True))
        place = code.end()
    return found + _texts(markdown, place, len(markdown), is_whole)


def _texts(markdown: str, start: int, end: int, is_whole: bool) -> list[MarkdownBlock]:
    cuts = [start] if is_whole else [start, *(gap.end() for gap in _GAP.finditer(markdown, start, end))]
    while not is_whole and (line := _LINE.search(markdown, cuts[-1] + _LONG, end)):
        cuts.append(line.end())
    content = ((place, markdown[place:until].strip("\n")) for place, until in pairwise((*cuts, end)))
    return [MarkdownBlock(place, each) for place, each in content if each]


def as_html(markdown: str) -> str:
    """Return Markdown as the HTML that Qt's labels know, without room above and below.

    Line breaks stay, as in poems. Addresses follow the words of their links.
    """
    paragraphs = (block.content for block in blocks(markdown, is_whole=False))
    return "".join(_as_html(content, _APART if place else 0) for place, content in enumerate(paragraphs))


def _as_html(paragraph: str, above: int) -> str:
    """Return one paragraph as HTML, `above` pixels below the one before it."""
    document = QTextDocument()
    document.setMarkdown(_with_breaks(paragraph), _FEATURES)
    found = _BODY.search(document.toHtml())
    body = _PICTURE.sub("", found[1].strip()) if found is not None else ""
    body = _BELOW.sub("margin-bottom:0px", _ABOVE.sub(f"margin-top:{above}px", body, count=1), count=1)
    return _LINK.sub(_with_address, body).replace(_CODE_LINE, f"{_CODE_LINE}white-space: pre-wrap;")


def _with_breaks(markdown: str) -> str:
    """End each line of text with two spaces, by which Markdown keeps its end."""
    return "\n".join(f"{line.rstrip()}  " if line.strip() else line for line in markdown.split("\n"))


def _with_address(link: re.Match[str]) -> str:
    address, words = link.groups()
    return words if words == address else f"{words} ({address})"


class Bubble(QWidget):
    """A message by `name`, whose text can be selected and copied. An answer may have Markdown."""

    def __init__(self, name: str, content: str = "", *, is_question: bool) -> None:
        super().__init__()
        self.content, self._is_question = "", is_question
        self.parts: list[MessageText | MessageCode] = []
        self._last = 0  # the character at which the last part begins; those before it stay as they are
        self._note, self._problem = caption(), text(colour="error")
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
        self.show_text(content)
        self.show_note("")

    def offer(self, *buttons: QWidget) -> None:
        """Put `buttons` below the message. They show while the pointer is over it or one of them has the keyboard."""
        for button in buttons:
            self._offers.addWidget(button)
            button.installEventFilter(self)

    def show_text(self, content: str, *, is_whole: bool = True) -> None:
        """Show a message. While it grows, only its last paragraph is laid out again."""
        if is_whole or not content.startswith(self.content):
            self._last = 0
        kept = len(self.parts) - 1 if self._last else 0
        found = [MarkdownBlock(0, content)] if self._is_question else blocks(content[self._last :], is_whole=is_whole)
        for place, block in enumerate(found, start=kept):
            if place < len(self.parts) and isinstance(self.parts[place], MessageCode) is not block.is_code:
                self._drop(place)
            if place == len(self.parts):
                self.parts.append(MessageCode() if block.is_code else MessageText(is_question=self._is_question))
                self._column.addWidget(self.parts[-1])
            self.parts[place].show_block(block.content)
        self._drop(kept + len(found))
        self._last += found[-1].start if found else 0
        self.content = content

    def show_note(self, content: str, problem: str = "") -> None:
        """Show below the text what is going on, or a problem; "" for nothing."""
        self._note.say(content)
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


class MessageText(Label):
    """Some paragraphs of a message.

    A label lays out its text for each hint that a layout asks for. This one gives hints that cost nothing, and
    remembers its height for each width.
    """

    def __init__(self, *, is_question: bool) -> None:
        super().__init__()
        self.content, self._is_question = "", is_question
        self._heights: dict[int, int] = {}
        self.setWordWrap(True)
        self.setFont(theme.font(TextStyle.BODY))
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def show_block(self, content: str) -> None:
        self.content = content
        is_marked = not self._is_question and _MARKS.search(content) is not None
        self._heights.clear()
        self.setTextFormat(Qt.TextFormat.RichText if is_marked else Qt.TextFormat.PlainText)
        self.setText(as_html(content) if is_marked else content)
        self.setAccessibleName(content)

    def heightForWidth(self, width: int) -> int:  # noqa: N802 (Qt's name)
        if width not in self._heights:
            self._heights[width] = super().heightForWidth(width)
        return self._heights[width]

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        """Return the width of a question's longest line; an answer is as wide as the page anyway."""
        lines = self.content.split("\n") if self._is_question else ()
        width = max(map(self.fontMetrics().horizontalAdvance, lines), default=self.width() - 1)
        return QSize(1 + width, self.fontMetrics().lineSpacing())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(1, self.fontMetrics().lineSpacing())


class MessageCode(FixedText):
    """Lines of code, as high as they are many."""

    def __init__(self) -> None:
        super().__init__(self.tr("Code"))
        self.content = ""
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalScrollBar().rangeChanged.connect(self._fit)

    def show_block(self, content: str) -> None:
        before, self.content = self.content, content
        if content.startswith(before):
            end = self.textCursor()
            end.movePosition(end.MoveOperation.End)
            end.insertText(content[len(before) :])
        else:
            self.setPlainText(content)
        self._fit()

    def _fit(self) -> None:
        bar = theme.SCROLL_BAR if self.horizontalScrollBar().maximum() else 0
        around = 2 * (theme.SPACE_S + self.document().documentMargin() + self.frameWidth())
        self.setFixedHeight(int(self.fontMetrics().lineSpacing() * self.blockCount() + around) + bar + 1)
