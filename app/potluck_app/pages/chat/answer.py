"""One answer of the chat: the daemon starts the gateway unless it runs, and Qt's network access receives the pieces."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from msgspec import Struct
from potluck_control.api.schema import Status
from potluck_control.methods import gateway, members
from potluck_control.methods import installation as setup
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.methods.installation import SetupState
from potluck_control.methods.members import MembersList, SwarmParams
from potluck_control.states import Reason, State
from PySide6.QtCore import QByteArray, QObject, QTimer, QUrl, Signal
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

from potluck.errors import PotluckError
from potluck.protocol.codec import CodecError, decode
from potluck.sentences import NOTHING, Sentence, verbatim
from potluck_app.pages.page import DaemonCaller
from potluck_app.words import engine, people, sentences
from potluck_app.words import formats as numbers
from potluck_app.words.language import tr
from potluck_app.words.sentences import translated

_LOOK_MS = 200  # while the engine is set up or the gateway starts
_TIMEOUT_MS = 300_000  # of silence: the first word needs the whole prompt
_DATA, _DONE, _COMMENT = b"data: ", b"[DONE]", b": "
_MAX_BYTES = 16 << 20
_NAME_LETTERS = 40  # of a person who answered


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of a conversation, as the gateway takes it. `role`: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatSampling:
    """How an answer is drawn: `temperature` 0 takes the likeliest word. `max_tokens` 0: as many as the gateway lets."""

    temperature: float = 0.0
    max_tokens: int = 0


class _Delta(Struct, frozen=True):
    content: str | None = None


class _Hop(Struct, frozen=True):
    """A server of the route. `name`: what it calls itself."""

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
    """One event of the stream. `potluck`: why the answer has to wait."""

    choices: tuple[_Choice, ...] = ()
    error: _Error | None = None
    potluck: Sentence = NOTHING


class ChatAnswer(QObject):
    """The answer to `said`, from the question until its end. There is no signal after `stop`.

    Signals: `waits(str)` with what there is to wait for, `grew(str)` with the text so far, and at the end `ended()` or
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
        said: Sequence[ConversationMessage],
        sampling: ChatSampling,
        status: Status,
    ) -> None:
        """`status`: the latest of the daemon, which later ones replace."""
        super().__init__()
        self.status, self.text = status, ""
        self._network, self._link, self._said, self._sampling = network, link, said, sampling
        self._details: _Details | None = None
        self._people = MembersList("", (), (), False, False)
        self._reply: QNetworkReply | None = None
        self._unread, self._problem, self._is_done, self._is_over = b"", "", False, False

    def start(self) -> None:
        """Ask, once the compute engine is there in which the gateway runs."""
        if self.status.reason is Reason.NO_ENGINE:
            failed = lambda error: self._fail(sentences.failure(error))  # noqa: E731
            self._link.call(setup.SETUP_STATE, None, done=self._hear_of_setup, failed=failed)
        else:
            self._start_gateway()

    def stop(self) -> None:
        """Give up; the gateway notices, and so do the servers."""
        self._is_over = True
        self.blockSignals(True)
        if self._reply is not None:
            self._reply.abort()

    @property
    def how(self) -> str:
        """How fast the answer came, and whose computers gave it, as far as they have names; known at its end."""
        if self._details is None or not self._details.tokens_per_s > 0.0:
            return ""
        members = self._people.members
        said = {member.id: tr("you") if member.is_you else member.name for member in members}
        owners = {machine.peer_id: said[member.id] for member in members for machine in member.machines}
        # What a server calls itself counts only where nobody knows its owner: it may take a member's name.
        names = (_printable(owners.get(hop.peer_id, "") if owners else hop.name or "") for hop in self._details.route)
        named = list(dict.fromkeys(filter(None, names)))
        by = tr("answered by {names}").format(names=people.join_names(named, 0)) if named else ""
        return " · ".join(filter(None, (numbers.rate(self._details.tokens_per_s), by)))

    # -- until the gateway is ready ------------------------------------------------------------------------------------

    def _start_gateway(self) -> None:
        self._link.call(gateway.START, StartParams(), done=self._hear_of_gateway, failed=self._try_later)

    def _look_again(self) -> None:
        self._link.call(gateway.STATUS, None, done=self._hear_of_gateway, failed=self._try_later)

    def _hear_of_setup(self, state: SetupState) -> None:
        """Wait while the compute engine is set up; without a set-up there is nothing to wait for."""
        if state.progress is not None:
            self._wait(sentences.reason(state.progress.text), self.start)
        elif state.ready:  # the daemon is about to start it, which a hidden page is not told
            self._start_gateway()
        else:
            missing = tr("The compute engine is not set up yet. Set it up on the page Settings.")
            self._fail(sentences.problem(state.error) or missing)

    def _try_later(self, error: PotluckError) -> None:
        """Wait for a computer that is about to serve: until then nobody may be found."""
        if self.status.state in (State.STARTING, State.JOINING) or self.status.reason is Reason.NO_ENGINE:
            self._wait(engine.getting_ready(tr("this computer starts")), self.start)
        else:
            self._fail(sentences.failure(error))

    def _hear_of_gateway(self, status: GatewayStatus) -> None:
        if self._is_over:
            return
        if status.state is GatewayState.STARTING:
            self._wait(engine.getting_ready(translated(status.step)), self._look_again)
        elif status.state is GatewayState.READY:
            self.waits.emit(tr("Waiting for the first word…"))
            self._ask(status)
            self._link.call(members.LIST, SwarmParams(status.swarm), done=self._know_people)
        else:
            self._fail(sentences.reason(status.problem) or tr("The chat service was stopped."))

    def _wait(self, note: str, then: Callable[[], None]) -> None:
        """Say what there is to wait for, and go on in a moment."""
        self.waits.emit(note)
        QTimer.singleShot(_LOOK_MS, self, lambda: None if self._is_over else then())

    def _know_people(self, found: MembersList) -> None:
        self._people = found

    def _fail(self, problem: str) -> None:
        self._is_over = True
        self.deleteLater()
        self.failed.emit(problem)

    # -- the stream ----------------------------------------------------------------------------------------------------

    def _ask(self, gateway: GatewayStatus) -> None:
        wanted = {
            "messages": [asdict(message) for message in self._said],
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
        event, problem = _understand(line.removeprefix(_DATA))
        self._problem = self._problem or problem
        self.text += "".join(choice.delta.content or "" for choice in event.choices)
        for choice in event.choices:
            self._details = choice.potluck or self._details
        if event.potluck:
            self.waits.emit(translated(event.potluck))

    def _finish(self, reply: QNetworkReply) -> None:
        reply.deleteLater()
        self.deleteLater()
        if self._is_over:
            return
        if reply.isOpen():  # one that was aborted is closed
            self._read(reply)
        if _http_status(reply) not in (None, 200) and not self._problem:
            self._problem = _understand(self._unread)[1]
        if not self._is_done:
            self._fail(self._problem or _why(reply))
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


def _why(reply: QNetworkReply) -> str:
    if reply.error() is QNetworkReply.NetworkError.OperationCanceledError:
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
