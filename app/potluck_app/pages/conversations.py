"""The conversations of the chat page, kept on this computer: one file each, readable by its user only."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs
from msgspec import Struct
from PySide6.QtCore import QFileDevice, QSaveFile

from potluck.protocol.codec import CodecError, decode, encode
from potluck_app.pages.answer import Said

MOST_KEPT = 500  # then the oldest is deleted
_MOST_BYTES = 16 << 20
_TITLE_LETTERS = 60
_OWN = QFileDevice.Permission.ReadOwner | QFileDevice.Permission.WriteOwner


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages by turns, the first one a question. `key` names its file; `at`: Unix seconds of the last message.

    `name`: what the user called it, if they did.
    """

    key: str
    messages: tuple[Said, ...]
    at: float
    name: str = ""

    @property
    def title(self) -> str:
        """Return its name, or the beginning of the first question, in one line."""
        first = " ".join((self.name or self.messages[0].content).split())
        return first if len(first) <= _TITLE_LETTERS else f"{first[: _TITLE_LETTERS - 1]}…"

    def has(self, words: str) -> bool:
        """Tell whether every one of `words` is in it, whatever their case."""
        said = "\n".join((self.name, *(message.content for message in self.messages))).casefold()
        return all(word in said for word in words.casefold().split())


class _Stored(Struct, frozen=True):
    """What a file holds."""

    at: float
    messages: tuple[Said, ...]
    name: str = ""


class Conversations:
    """The folder of conversations. A file that cannot be read is left alone and not listed."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` None: the usual place."""
        self._folder = folder or platformdirs.user_state_path("potluck") / "conversations"

    def keep(self, key: str, messages: tuple[Said, ...]) -> str:
        """Write a conversation, a new one if `key` is empty. Return its key; empty if it could not be written."""
        before = self._read(self._path(key)) if key else None
        made = Conversation(key or str(time.time_ns()), messages, time.time(), before.name if before else "")
        if not self._write(made):
            return ""
        if not key:
            for old in self.listed()[MOST_KEPT:]:
                self.delete(old.key)
        return made.key

    def rename(self, conversation: Conversation, name: str) -> None:
        """Call a conversation by `name` from now on; empty: by its first question again."""
        self._write(replace(conversation, name=name[:_TITLE_LETTERS].strip()))

    def listed(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        found = filter(None, map(self._read, self._folder.glob("*.json")))
        return sorted(found, key=lambda conversation: -conversation.at)

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _write(self, of: Conversation) -> bool:
        """Tell whether it could be written."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        file = QSaveFile(str(self._path(of.key)))
        if not file.open(QSaveFile.OpenModeFlag.WriteOnly):
            return False
        file.setPermissions(_OWN)
        file.write(encode(_Stored(of.at, of.messages, of.name)))
        return file.commit()

    @staticmethod
    def _read(path: Path) -> Conversation | None:
        try:
            if path.stat().st_size <= _MOST_BYTES:
                stored = decode(_Stored, path.read_bytes())
                if stored.messages:
                    return Conversation(path.stem, stored.messages, stored.at, stored.name)
        except (OSError, CodecError):
            pass
        return None
