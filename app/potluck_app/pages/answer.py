"""One answer of the chat gateway, received piece by piece through Qt's network access."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from msgspec import Struct
from potluck_control.methods.gateway import GatewayStatus
from PySide6.QtCore import QByteArray, QObject, QUrl, Signal
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

from potluck.protocol.codec import CodecError, decode
from potluck.sentences import NOTHING, Sentence, verbatim
from potluck_app.words import sentences
from potluck_app.words.language import tr

_TIMEOUT_MS = 300_000  # of silence: the first word needs the whole prompt
_DATA, _DONE, _COMMENT = b"data: ", b"[DONE]", b": "
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation, as the gateway takes it. `role`: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Details:
    """How an answer was made. `servers`: the names of those that have one."""

    tokens_per_s: float = 0.0
    servers: tuple[str, ...] = ()


class _Delta(Struct, frozen=True):
    content: str | None = None


class _Hop(Struct, frozen=True):
    name: str | None = None


class _Details(Struct, frozen=True):
    tokens_per_s: float
    route: tuple[_Hop, ...]


class _Choice(Struct, frozen=True):
    delta: _Delta
    potluck: _Details | None = None


class _Error(Struct, frozen=True):
    message: str
    potluck: Sentence = NOTHING  # the message as data; an older gateway has none


class _Event(Struct, frozen=True):
    """One event of the stream. `potluck`: why the answer has to wait."""

    choices: tuple[_Choice, ...] = ()
    error: _Error | None = None
    potluck: Sentence = NOTHING


class Answer(QObject):
    """Asks at once. There is no signal after `stop`.

    Signals: `grew(str)` with the text so far, `waits(Sentence)` when servers are missing, and at the end `ended()` or
    `failed(str)`. `details` are known at the end.
    """

    grew = Signal(str)
    waits = Signal(object)
    ended = Signal()
    failed = Signal(str)

    def __init__(
        self,
        network: QNetworkAccessManager,
        gateway: GatewayStatus,
        said: Sequence[Said],
        temperature: float,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.text = ""
        self.details = Details()
        self._unread, self._problem, self._is_done = b"", "", False
        messages = [asdict(message) for message in said]
        wanted = {"messages": messages, "stream": True, "with_details": True, "temperature": temperature}
        body = json.dumps(wanted).encode()
        request = QNetworkRequest(QUrl(f"{gateway.url}/chat/completions"))
        request.setRawHeader(b"Authorization", QByteArray(b"Bearer " + gateway.token.encode()))
        request.setHeader(QNetworkRequest.KnownHeaders.ContentTypeHeader, "application/json")
        request.setTransferTimeout(_TIMEOUT_MS)
        self._reply = network.post(request, QByteArray(body))
        self._reply.readyRead.connect(self._read)
        self._reply.finished.connect(self._finish)

    def stop(self) -> None:
        """Give up; the gateway notices, and so do the servers."""
        self.blockSignals(True)
        self._reply.abort()

    def _read(self) -> None:
        self._unread += bytes(self._reply.readAll().data())
        if len(self._unread) + len(self.text) > _MAX_BYTES:
            self._problem = tr("The answer is too long.")
            self._reply.abort()
            return
        if self._status() != 200:
            return  # one object, complete at the end
        *lines, self._unread = self._unread.split(b"\n")
        before = self.text
        for line in lines:
            self._hear(line.strip())
        if self.text != before:
            self.grew.emit(self.text)

    def _hear(self, line: bytes) -> None:
        if line.startswith(_COMMENT):
            self.waits.emit(verbatim(line.removeprefix(_COMMENT).decode(errors="replace")))
        if not line.startswith(_DATA):
            return
        if line == _DATA + _DONE:
            self._is_done = True
            return
        event, problem = _understand(line.removeprefix(_DATA))
        self._problem = self._problem or problem
        self.text += "".join(choice.delta.content or "" for choice in event.choices)
        for told in (choice.potluck for choice in event.choices if choice.potluck is not None):
            names = dict.fromkeys(hop.name for hop in told.route if hop.name)
            self.details = Details(told.tokens_per_s, tuple(names))
        if event.potluck:
            self.waits.emit(event.potluck)

    def _finish(self) -> None:
        if self._reply.isOpen():  # one that was aborted is closed
            self._read()
        if self._status() not in (None, 200) and not self._problem:
            self._problem = _understand(self._unread)[1]
        self._reply.deleteLater()
        self.deleteLater()
        if self._is_done:
            self.ended.emit()
        else:
            self.failed.emit(self._problem or self._why())

    def _status(self) -> int | None:
        """Return the HTTP status, or None if nobody answered."""
        status = self._reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
        return status if isinstance(status, int) else None

    def _why(self) -> str:
        if self._reply.error() is QNetworkReply.NetworkError.OperationCanceledError:
            return tr("The answer took too long.")
        return tr("The connection was lost before the answer was complete.")


def _understand(data: bytes) -> tuple[_Event, str]:
    """Return an event, and what went wrong in the user's language."""
    try:
        event = decode(_Event, data)
    except CodecError:
        return _Event(), tr("Potluck received an answer that it does not understand.")
    if event.error is None:
        return event, ""
    return event, sentences.reason(event.error.potluck or verbatim(event.error.message))
