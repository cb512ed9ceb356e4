"""The kept conversations, to search, open and delete."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from potluck_app.pages.conversations import Conversation, Conversations
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.question import Question
from potluck_app.widgets.row import Row
from potluck_app.words import dates

_MOST_SHOWN = 30


class ConversationList(Card):
    """Signals: `opened(Conversation)`, and `deleted(str)` with the key of one that is gone."""

    opened = Signal(object)
    deleted = Signal(str)

    def __init__(self, kept: Conversations) -> None:
        super().__init__()
        self._kept = kept
        self._conversations: list[Conversation] = []
        self._search, self._rows = QLineEdit(), Slot()
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setAccessibleName(self.tr("Search in conversations"))
        self._search.textChanged.connect(self._show_found)
        note = text("muted", said=self.tr("Conversations are kept on this computer only."))
        self.fill(self.tr("Conversations"), self._search, self._rows, note)
        self.setFocusProxy(self._search)

    def refresh(self) -> None:
        """Read the conversations again."""
        self._conversations = self._kept.listed()
        self._show_found()

    def _show_found(self) -> None:
        words = self._search.text()
        found = [each for each in self._conversations if each.has(words)]
        rows: list[QWidget] = [self._row(each) for each in found[:_MOST_SHOWN]]
        if not found:
            said = self.tr("No conversation has these words.") if words else self.tr("No conversations yet.")
            rows = [text("muted", said=said)]
        elif len(found) > _MOST_SHOWN:
            rows.append(text("muted", said=self.tr("Search to find older ones.")))
        self._rows.show_content(holder(column(*divided(rows))))

    def _row(self, conversation: Conversation) -> Row:
        title = conversation.title
        about = self.tr("Open “{title}”").format(title=title)
        open_it = Button(self.tr("Open"), "", "quiet", lambda: self.opened.emit(conversation), about=about)
        about = self.tr("Delete “{title}”").format(title=title)
        delete = Button("", "trash", "quiet", lambda: self._ask_delete(conversation), about=about)
        delete.setToolTip(self.tr("Delete"))
        return Row(title, dates.date(conversation.at), holder(row(open_it, delete)))

    def _ask_delete(self, conversation: Conversation) -> None:
        asked = self.tr("Delete the conversation “{title}”?").format(title=conversation.title)
        Question(self, asked, "", self.tr("Delete"), lambda: self._delete(conversation.key)).open()

    def _delete(self, key: str) -> None:
        self._kept.delete(key)
        self.refresh()
        self.deleted.emit(key)
