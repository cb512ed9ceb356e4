"""One answer of the chat, streamed from the gateway, which the daemon starts if it does not run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from msgspec import Struct
from potluck_control.api.schema import Status
from potluck_control.methods import gateway, installation, members
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.methods.installation import SetupState
from potluck_control.methods.members import MembersList, SwarmParams
from potluck_control.states import Reason, State
from PySide6.QtCore import QByteArray, QObject, QTimer, QUrl, Signal
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

from potluck.errors import PotluckError
from potluck.protocol.codec import CodecError, decode
from potluck.sentences import NOTHING, Sentence, verbatim
from potluck_app.pages.calls import DaemonCaller
from potluck_app.words import engine, formats, people, sentences
from potluck_app.words.language import tr

_POLL_MS = 200  # time between two looks at an engine or gateway that starts
_TIMEOUT_MS = 300_000  # longest silence; the servers read the whole prompt before the first word
_DATA, _DONE, _COMMENT = b"data: ", b"[DONE]", b": "
_MAX_BYTES = 16 << 20
_NAME_LETTERS = 40  # longest name of a person who answered


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of a conversation, as the gateway reads it. `role`: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatSampling:
    """The user's choice of how answers are drawn.

    Attributes:
        temperature: 0 takes the likeliest word.
        max_tokens: the longest answer; 0: as long as the gateway allows.
    """

    temperature: float = 0.0
    max_tokens: int = 0


class _Delta(Struct, frozen=True):
    content: str | None = None


class _Hop(Struct, frozen=True):
    """A server of the route. `name` is what it calls itself."""

    peer_id: str = ""
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
    """One event of the stream. `potluck` says why the answer has to wait."""

    choices: tuple[_Choice, ...] = ()
    error: _Error | None = None
    potluck: Sentence = NOTHING


class ChatAnswer(QObject):
    """The answer to a conversation, from the question to its end. It sends no signal after `stop`.

    Signals: `waits(str)` with what it waits for, `grew(str)` with the text so far, and at the end `ended()` or
    `failed(str)`.
    """

    waits = Signal(str)
    grew = Signal(str)
    ended = Signal()
    failed = Signal(str)

    def __init__(
        self,
        network: QNetworkAccessManager,
        link: DaemonCaller,
        messages: Sequence[ConversationMessage],
        sampling: ChatSampling,
        status: Status,
    ) -> None:
        """Store what to answer. `status` is the daemon's latest; the page replaces it by later ones."""
        super().__init__()
        self.status, self.text = status, ""
        self._network, self._link, self._messages, self._sampling = network, link, messages, sampling
        self._details: _Details | None = None
        self._people = MembersList("", (), (), False, False)
        self._reply: QNetworkReply | None = None
        self._unread, self._problem, self._is_done, self._is_over = b"", "", False, False

    def start(self) -> None:
        """Ask the gateway. It runs in the compute engine's environment, so wait for that first."""
        if self.status.reason is Reason.NO_ENGINE:
            self._link.call(installation.SETUP_STATE, None, done=self._handle_setup, failed=self._fail_with)
        else:
            self._start_gateway()

    def stop(self) -> None:
        """Give up. The gateway notices, and so do the servers."""
        self._is_over = True
        self.blockSignals(True)
        if self._reply is not None:
            self._reply.abort()

    @property
    def how(self) -> str:
        """Return the answer's speed and whose computers gave it, as far as they have names; "" before its end."""
        if self._details is None or not self._details.tokens_per_s > 0.0:
            return ""
        members = self._people.members
        text = {member.id: tr("you") if member.is_you else member.name for member in members}
        owners = {machine.peer_id: text[member.id] for member in members for machine in member.machines}
        # A server may call itself by a member's name, so its own name counts only where no owner is known.
        names = (_printable(owners.get(hop.peer_id, "") if owners else hop.name or "") for hop in self._details.route)
        named = list(dict.fromkeys(filter(None, names)))
        by = tr("answered by {names}").format(names=people.join_names(named, 0)) if named else ""
        return " · ".join(filter(None, (formats.rate(self._details.tokens_per_s), by)))

    def _start_gateway(self) -> None:
        self._link.call(gateway.START, StartParams(), done=self._handle_gateway, failed=self._retry_later)

    def _poll_gateway(self) -> None:
        self._link.call(gateway.STATUS, None, done=self._handle_gateway, failed=self._retry_later)

    def _handle_setup(self, state: SetupState) -> None:
        """Wait while the compute engine is set up; without a set-up there is nothing to wait for."""
        if state.progress is not None:
            self._wait(sentences.reason(state.progress.text), self.start)
        elif state.ready:  # the daemon is about to start the engine
            self._start_gateway()
        else:
            missing = tr("The compute engine is not set up yet. Set it up on the page Settings.")
            self._fail(sentences.problem(state.error) or missing)

    def _retry_later(self, error: PotluckError) -> None:
        """Try again while this computer is about to serve, for until then it may find nobody else; fail otherwise."""
        if self.status.state in (State.STARTING, State.JOINING) or self.status.reason is Reason.NO_ENGINE:
            self._wait(engine.getting_ready(tr("this computer starts")), self.start)
        else:
            self._fail_with(error)

    def _handle_gateway(self, status: GatewayStatus) -> None:
        if self._is_over:
            return
        if status.state is GatewayState.STARTING:
            self._wait(engine.getting_ready(sentences.translated(status.step)), self._poll_gateway)
        elif status.state is GatewayState.READY:
            self.waits.emit(tr("Waiting for the first word…"))
            self._post(status)
            self._link.call(members.LIST, SwarmParams(status.swarm), done=self._set_people)
        else:
            self._fail(sentences.reason(status.problem) or tr("The chat service was stopped."))

    def _wait(self, note: str, then: Callable[[], None]) -> None:
        """Show what the answer waits for, and call `then` in a moment."""
        self.waits.emit(note)
        QTimer.singleShot(_POLL_MS, self, lambda: None if self._is_over else then())

    def _set_people(self, found: MembersList) -> None:
        self._people = found

    def _fail_with(self, error: PotluckError) -> None:
        self._fail(sentences.failure(error))

    def _fail(self, problem: str) -> None:
        self._is_over = True
        self.deleteLater()
        self.failed.emit(problem)

    def _post(self, gateway: GatewayStatus) -> None:
        wanted = {
            "messages": [asdict(message) for message in self._messages],
            "stream": True,
            "with_details": True,
            "temperature": self._sampling.temperature,
        } | ({"max_tokens": self._sampling.max_tokens} if self._sampling.max_tokens else {})
        request = QNetworkRequest(QUrl(f"{gateway.url}/chat/completions"))
        request.setRawHeader(b"Authorization", QByteArray(b"Bearer " + gateway.token.encode()))
        request.setHeader(QNetworkRequest.KnownHeaders.ContentTypeHeader, "application/json")
        request.setTransferTimeout(_TIMEOUT_MS)
        self._reply = reply = self._network.post(request, QByteArray(json.dumps(wanted).encode()))
        reply.readyRead.connect(lambda: self._read(reply))
        reply.finished.connect(lambda: self._finish(reply))

    def _read(self, reply: QNetworkReply) -> None:
        self._unread += bytes(reply.readAll().data())
        if len(self._unread) + len(self.text) > _MAX_BYTES:
            self._problem = tr("The answer is too long.")
            reply.abort()
            return
        if _http_status(reply) != 200:
            return  # the answer is one object, complete at the end
        *lines, self._unread = self._unread.split(b"\n")
        before = self.text
        for line in lines:
            self._read_line(line.strip())
        if self.text != before:
            self.grew.emit(self.text)

    def _read_line(self, line: bytes) -> None:
        if line.startswith(_COMMENT):
            self.waits.emit(line.removeprefix(_COMMENT).decode(errors="replace"))
        if not line.startswith(_DATA):
            return
        if line == _DATA + _DONE:
            self._is_done = True
            return
        event, problem = _decode_event(line.removeprefix(_DATA))
        self._problem = self._problem or problem
        self.text += "".join(choice.delta.content or "" for choice in event.choices)
        for choice in event.choices:
            self._details = choice.potluck or self._details
        if event.potluck:
            self.waits.emit(sentences.translated(event.potluck))

    def _finish(self, reply: QNetworkReply) -> None:
        reply.deleteLater()
        self.deleteLater()
        if self._is_over:
            return
        if reply.isOpen():  # an aborted reply is closed
            self._read(reply)
        if _http_status(reply) not in (None, 200) and not self._problem:
            self._problem = _decode_event(self._unread)[1]
        if not self._is_done:
            self._fail(self._problem or _describe_failure(reply))
            return
        self._is_over = True
        self.ended.emit()


def _printable(name: str) -> str:
    """Return a name that somebody else chose as a short line."""
    return "".join(filter(str.isprintable, name))[:_NAME_LETTERS].strip()


def _http_status(reply: QNetworkReply) -> int | None:
    """Return the HTTP status, or None if nobody answered."""
    status = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    return status if isinstance(status, int) else None


def _describe_failure(reply: QNetworkReply) -> str:
    if reply.error() is QNetworkReply.NetworkError.OperationCanceledError:
        return tr("The answer took too long.")
    return tr("The connection was lost before the answer was complete.")


def _decode_event(data: bytes) -> tuple[_Event, str]:
    """Return an event, and what went wrong in the user's language."""
    try:
        event = decode(_Event, data)
    except CodecError:
        return _Event(), tr("Potluck received an answer that it does not understand.")
    if event.error is None:
        return event, ""
    return event, sentences.reason(event.error.potluck or verbatim(event.error.message))
