"""The kept conversations: one file each, readable by its user only, and their list beside the chat."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs
from msgspec import Struct
from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QCursor, QKeySequence
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QMenu, QWidget

from potluck.protocol.codec import CodecError, decode, encode
from potluck_app.pages.chat.answer import ConversationMessage
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import text_field
from potluck_app.widgets.dialogs import ConfirmDialog, write_file
from potluck_app.widgets.parts import column, muted
from potluck_app.words import formats

MOST_KEPT = 500  # the oldest beyond these are deleted
_MOST_BYTES = 16 << 20
_TITLE_LETTERS = 60
_KEY = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation of questions and answers in turn.

    Attributes:
        key: names its file.
        at: Unix seconds of the last message.
        name: what the user called it; "" if they did not.
    """

    key: str
    messages: tuple[ConversationMessage, ...]
    at: float
    name: str = ""

    @property
    def title(self) -> str:
        """Return its name, or the beginning of the first question, in one line."""
        first = " ".join((self.name or self.messages[0].content).split())
        return first if len(first) <= _TITLE_LETTERS else f"{first[: _TITLE_LETTERS - 1]}…"

    def has(self, words: str) -> bool:
        """Tell whether every one of `words` is in it, whatever their case."""
        text = "\n".join((self.name, *(message.content for message in self.messages))).casefold()
        return all(word in text for word in words.casefold().split())


class _Stored(Struct, frozen=True):
    """What a file holds."""

    at: float
    messages: tuple[ConversationMessage, ...]
    name: str = ""


class ConversationFolder:
    """The folder of conversations. It leaves a file that cannot be read alone, and does not list it."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take the user's own folder unless another one is given."""
        self._folder = folder or platformdirs.user_state_path("potluck") / "conversations"

    def keep(self, key: str, messages: tuple[ConversationMessage, ...]) -> str:
        """Write a conversation, a new one if `key` is "". Return its key, or "" if it could not be written."""
        before = self._read(self._path(key)) if key else None
        made = KeptConversation(key or str(time.time_ns()), messages, time.time(), before.name if before else "")
        if not self._write(made):
            return ""
        if not key:
            for old in self.listed()[MOST_KEPT:]:
                self.delete(old.key)
        return made.key

    def rename(self, conversation: KeptConversation, name: str) -> None:
        """Give a conversation another name; "" calls it by its first question again."""
        self._write(replace(conversation, name=name[:_TITLE_LETTERS].strip()))

    def listed(self) -> list[KeptConversation]:
        """Return all conversations, the latest first."""
        found = filter(None, map(self._read, self._folder.glob("*.json")))
        return sorted(found, key=lambda conversation: -conversation.at)

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _write(self, of: KeptConversation) -> bool:
        """Tell whether it could be written."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        data = encode(_Stored(of.at, of.messages, of.name))
        return not write_file(self._path(of.key), data, is_private=True)

    @staticmethod
    def _read(path: Path) -> KeptConversation | None:
        try:
            if path.stat().st_size <= _MOST_BYTES:
                stored = decode(_Stored, path.read_bytes())
                if stored.messages:
                    return KeptConversation(path.stem, stored.messages, stored.at, stored.name)
        except (OSError, CodecError):
            pass
        return None


class ConversationList(QFrame):
    """The list of conversations, to search, open, rename (F2) and delete (Del).

    A row's menu, which its button opens too, offers the same. Signals: `opened(KeptConversation)`, and `deleted(str)`
    with the key of a conversation that is about to go.
    """

    opened = Signal(object)
    deleted = Signal(str)

    def __init__(self, kept: ConversationFolder, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self._kept, self._chosen = kept, ""
        self._conversations: dict[str, KeptConversation] = {}
        self.search = text_field(self.tr("Search in conversations"), self.tr("Search"))
        self.rows, self._nothing = QListWidget(), muted()
        self.search.textChanged.connect(self._show_found)
        self.rows.setAccessibleName(self.tr("Conversations"))
        self.rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.setEditTriggers(QListWidget.EditTrigger.NoEditTriggers)
        self.rows.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.rows.setMouseTracking(True)
        self._more = Button("", "more", "quiet", self._open_menu, about=self.tr("Rename or delete"))
        self._more.setParent(self.rows.viewport())
        self._more.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the menu key opens the same
        self._more.hide()
        self._pointed = 0  # the row under the pointer
        self.rows.itemEntered.connect(self._point)
        self.rows.viewport().installEventFilter(self)
        self.rows.itemClicked.connect(self._open)
        self.rows.itemActivated.connect(self._open)
        self.rows.itemChanged.connect(self._rename)
        for name, key, act in (
            (self.tr("Rename"), "F2", lambda: self.rows.editItem(self.rows.currentItem())),
            (self.tr("Delete"), "Del", self._ask_delete),
        ):
            action = QAction(name, self.rows, shortcut=QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(act)
            self.rows.addAction(action)
        self.setLayout(column(self.search, self._nothing, (self.rows, 1), spacing=theme.SPACE_S, margin=theme.SPACE_S))
        self.setFocusProxy(self.rows)

    def refresh(self) -> None:
        """Read the conversations again."""
        self._conversations = {each.key: each for each in self._kept.listed()}
        self._show_found()

    def choose(self, key: str) -> None:
        """Mark the conversation that the page shows; "" marks none."""
        self._chosen = key
        marked = [row for row in range(self.rows.count()) if self.rows.item(row).data(_KEY) == key]
        self.rows.setCurrentRow(marked[0] if marked else -1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 (Qt's name)
        if event.type() in (QEvent.Type.Leave, QEvent.Type.Wheel):
            self._more.hide()
        return False

    def _show_found(self) -> None:
        words = self.search.text()
        found = [each for each in self._conversations.values() if each.has(words)]
        self._more.hide()
        with QSignalBlocker(self.rows):
            self.rows.clear()
            for each in found:
                item = QListWidgetItem(each.title)
                item.setData(_KEY, each.key)
                item.setToolTip(f"{each.title}\n{formats.date(each.at)}")
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
                self.rows.addItem(item)
        self.choose(self._chosen)
        nothing = self.tr("No conversation has these words.") if words else self.tr("No conversations yet.")
        self._nothing.say("" if found else nothing)

    def _point(self, item: QListWidgetItem) -> None:
        """Show the button of the row under the pointer."""
        place = self.rows.visualItemRect(item)
        self._pointed = self.rows.row(item)
        self._more.setGeometry(place.right() - place.height(), place.top(), place.height(), place.height())
        self._more.show()

    def _open_menu(self) -> None:
        self._more.hide()
        self.rows.setCurrentRow(self._pointed)
        menu = QMenu(self)
        menu.addActions(self.rows.actions())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(QCursor.pos())

    def _open(self, item: QListWidgetItem) -> None:
        self.opened.emit(self._conversations[item.data(_KEY)])

    def _rename(self, item: QListWidgetItem) -> None:
        self._kept.rename(self._conversations[item.data(_KEY)], item.text())
        self.refresh()

    def _ask_delete(self) -> None:
        item = self.rows.currentItem()
        if item is not None:
            asked, key = self.tr("Delete the conversation “{title}”?").format(title=item.text()), item.data(_KEY)
            ConfirmDialog(self, asked, "", self.tr("Delete"), lambda: self._delete(key)).open()

    def _delete(self, key: str) -> None:
        self.deleted.emit(key)
        self._kept.delete(key)
        self.refresh()
