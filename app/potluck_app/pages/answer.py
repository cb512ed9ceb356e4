"""One answer of the chat gateway, received piece by piece through Qt's network access."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from potluck_control.methods.gateway import GatewayStatus
from PySide6.QtCore import QByteArray, QObject, QUrl, Signal
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

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


class Answer(QObject):
    """Asks at once. There is no signal after `stop`.

    Signals: `grew(str)` with the text so far, `waits(str)` with a sentence when servers are missing, and at the end
    `ended()` or `failed(str)`. `details` are known at the end.
    """

    grew = Signal(str)
    waits = Signal(str)
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
            self.waits.emit(line.removeprefix(_COMMENT).decode(errors="replace"))
        if not line.startswith(_DATA):
            return
        if line == _DATA + _DONE:
            self._is_done = True
            return
        part, problem, details = _understand(line.removeprefix(_DATA))
        self.text += part
        self.details = details or self.details
        self._problem = self._problem or problem

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


def _understand(data: bytes) -> tuple[str, str, Details | None]:
    """Return a part of the text, what went wrong, and how the answer was made if this tells it."""
    try:
        event = json.loads(data)
        if "error" in event:
            return "", str(event["error"]["message"]), None
        choices = event["choices"]
        told = next((_read_details(choice["potluck"]) for choice in choices if "potluck" in choice), None)
        return "".join(choice["delta"].get("content") or "" for choice in choices), "", told
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", tr("Potluck received an answer that it does not understand."), None


def _read_details(told: Any) -> Details:
    names = (hop["name"] for hop in told["route"])
    return Details(float(told["tokens_per_s"]), tuple(dict.fromkeys(str(name) for name in names if name)))
