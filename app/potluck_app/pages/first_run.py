"""The first run: welcome, compute engine, swarm, device, how much to donate, and starting at log-in.

The step about the compute engine is left out where one is installed.
"""

from __future__ import annotations

from potluck_control import schema
from potluck_control.methods.setup import SetupState
from potluck_control.schema import Status
from potluck_control.states import Reason, State
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.devices import Devices
from potluck_app.pages.engine import EnginePanel
from potluck_app.pages.join_form import JoinForm
from potluck_app.pages.login import Login
from potluck_app.pages.page import DaemonCaller, Page, Part
from potluck_app.pages.share import SharePanel
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, Pot, Sign, text
from potluck_app.widgets.layout import column, holder, row
from potluck_app.widgets.theme import Type
from potluck_app.words import engine, layers, sentences
from potluck_app.words.people import unconfirmed

_POT, _SIGN = 56, 24
_WELCOME, _COMPUTE, _SWARM, _DEVICE, _GIVE, _START = range(6)


class FirstRunPage(Page):
    """The page while no swarm is joined, and as long as `is_open`.

    Every step has a default that works: people who only press Continue donate politely.

    Signals: `finished()`, and before it `chat_wanted()` by those who only try it out, in a swarm of their own.
    """

    finished = Signal()
    chat_wanted = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.is_open = False
        self._status: Status | None = None
        self._step = _WELCOME
        self._needs_engine, self._has_engine, self._is_computing_begun = False, True, False
        self._is_trying = False
        self._title, self._lead = text(kind=Type.TITLE), text("muted")
        self._where = text("muted", kind=Type.CAPTION)
        self._bar = QProgressBar()
        self._computing = EnginePanel(self)
        self._joining, self._devices = JoinForm(link), Devices(self)
        self._giving, self._login = SharePanel(self), Login(self)
        self._member = text()
        self._sign = Sign("good", "serving", _SIGN)
        self._joined = Card("", row(self._sign, (self._member, 1)))
        self._back = Button(self.tr("Back"), "back", "quiet", lambda: self._go(self._beside(-1)))
        self._next = Button(self.tr("Continue"), "", "primary", self._continue)
        self._later = Button(self.tr("Later"), "", "quiet", self._continue)
        self._try = Button(self.tr("Try it on this computer"), "chat", act=self._press_try)
        self._download = text("muted", kind=Type.CAPTION)
        self._steps = (
            self._build_welcome(),
            Card("", self._computing),
            holder(column(self._joining, self._joined)),
            Card(self.tr("This computer"), self._devices),
            Card(self.tr("How much, and when"), self._giving),
            Card(self.tr("When you log in"), self._login),
        )
        self._build()
        self._go(_WELCOME)

    @property
    def is_unsaved(self) -> bool:
        """Tell whether somebody is half-way through and would have to begin anew."""
        return self.is_open or self._joining.is_begun

    def show_status(self, status: Status) -> None:
        before, self._status = self._status, status
        if before is None or self._membership(before) != self._membership(status):
            self._show_step()
        self._end_trial()

    def lead_to(self, part: Part, swarm: str = "") -> None:
        """Go to the step that joins a swarm."""
        if part is Part.JOIN:
            self._go(_SWARM)
            self._joining.ask_invite(swarm)

    def refresh(self) -> None:
        for part in (self._computing, self._devices, self._giving, self._login):
            part.refresh()

    @property
    def _is_member(self) -> bool:
        return self._status is not None and self._status.swarm is not None

    def _go(self, step: int) -> None:
        self._step = step
        self.is_open = step > _WELCOME
        self._show_step()
        self.verticalScrollBar().setValue(0)
        self._focus()

    def _focus(self) -> None:
        """Move the keyboard to the main control of this step."""
        if self._step == _COMPUTE and not self._next.isVisibleTo(self):
            self._computing.setFocus()
        else:
            (self._joining if self._step == _SWARM and not self._is_member else self._next).setFocus()

    def _path(self) -> tuple[int, ...]:
        """Return the steps that this computer needs."""
        return tuple(step for step in range(len(self._steps)) if step != _COMPUTE or self._needs_engine)

    def _show_engine(self, state: SetupState) -> None:
        """Keep the step of an environment that is being made."""
        was_ready, self._has_engine = not self._needs_engine, state.ready
        self._needs_engine = self._needs_engine or not state.ready
        self._is_computing_begun = state.ready or state.progress is not None
        self._download.setText(self._trial_note(state))
        if state.ready and self._needs_engine:
            self._devices.refresh()
        if (was_ready and self._needs_engine) or self._step in (_WELCOME, _COMPUTE):
            self._show_step()
        self._end_trial()

    def _trial_note(self, state: SetupState) -> str:
        """Return what trying it downloads; empty: nothing."""
        if state.ready:
            return ""
        sizes = engine.sizes(state.plan.download_bytes, state.plan.disk_bytes)
        return self.tr("Trying it sets up the compute engine first. {sizes}").format(sizes=sizes)

    def _show_step(self) -> None:
        said = (
            (self.tr("Welcome to Potluck"), self.tr("Lend a swarm the power that you do not need.")),
            (self.tr("Compute engine"), self.tr("Potluck chooses the PyTorch build that fits this computer.")),
            (self.tr("Choose a swarm"), self.tr("A swarm is a group of people who run a model together.")),
            (self.tr("Your computer"), self.tr("Potluck computes on the device marked here.")),
            (self.tr("You come first"), self.tr("You can change this later in When to donate and Limits.")),
            (self.tr("Start at log-in"), self.tr("Nothing starts by itself unless you turn it on.")),
        )
        for number, widget in enumerate(self._steps):
            widget.setVisible(number == self._step)
        self._title.setText(said[self._step][0])
        self._lead.setText(said[self._step][1])
        path = self._path()
        place = path.index(self._step) + 1
        self._bar.setRange(0, len(path))
        self._bar.setValue(place)
        self._where.setText(self.tr("{step} of {all}").format(step=place, all=len(path)))
        self._back.setVisible(self._step > _WELCOME)
        is_unset = self._step == _COMPUTE and not self._is_computing_begun
        self._later.setVisible(is_unset)
        self._next.setVisible(not is_unset and (self._step != _SWARM or self._is_member))
        may_try = self._step == _WELCOME and not self._is_member
        self._try.setVisible(may_try)
        self._download.setVisible(may_try and bool(self._download.text()))
        self._next.setText(self.tr("Done") if self._step == _START else self.tr("Continue"))
        self._joining.setVisible(not self._is_member)
        self._joined.setVisible(self._is_member)
        self._member.setText(self._membership(self._status))
        is_waiting = self._status is not None and self._status.reason is Reason.NOT_ADMITTED
        self._sign.show_glyph(*(("info", "accent") if is_waiting else ("good", "serving")))

    def _membership(self, status: Status | None) -> str:
        """Return what the user is in the swarm; empty without one."""
        if status is None or status.swarm is None:
            return ""
        if status.reason is Reason.NOT_ADMITTED:
            return sentences.reason(status.text)
        said = self.tr("You are in the swarm “{swarm}”, which runs {model}.")
        said = said.format(swarm=status.swarm.name, model=layers.model(status.swarm.model))
        return " ".join(filter(None, (said, unconfirmed(status))))

    def _continue(self) -> None:
        if self._step == _START or (self._step == _COMPUTE and self._is_trying):
            self._leave()
        else:
            self._go(self._beside(1))

    def _press_try(self) -> None:
        """Start a swarm with the demo model, and chat with it once the engine is there."""
        self._try.setEnabled(False)
        self.link.call(schema.CREATE, schema.CreateParams(), done=self._begin_trial, failed=self._fail_trial)

    def _begin_trial(self, _: schema.Joined) -> None:
        self._try.setEnabled(True)
        self.notice.say("")
        self._is_trying = True
        if self._has_engine:
            self._leave()
        else:
            self._go(_COMPUTE)
            self._computing.begin()

    def _end_trial(self) -> None:
        """Lead those who try it to the chat once the engine is there and the daemon knows it: then it soon answers."""
        is_known = self._status is not None and self._status.reason is not Reason.NO_ENGINE
        if self._is_trying and self._step == _COMPUTE and self._has_engine and is_known:
            QTimer.singleShot(0, self, self._finish_trial)  # the window is about to show this page

    def _finish_trial(self) -> None:
        if self._is_trying:
            self._leave()

    def _fail_trial(self, error: PotluckError) -> None:
        self._try.setEnabled(True)
        self.notice.say(sentences.failure(error))

    def _leave(self) -> None:
        wants_chat, self._is_trying = self._is_trying, False
        if wants_chat:
            self.chat_wanted.emit()
        self._go(_WELCOME)
        self.finished.emit()

    def _beside(self, by: int) -> int:
        path = self._path()
        return path[path.index(self._step) + by]

    def _build(self) -> None:
        self.setFocusProxy(self._next)
        self._computing.told.connect(self._show_engine)
        self._devices.setup_wanted.connect(lambda: self._go(_COMPUTE))
        self._joining.joined.connect(lambda: self._go(_DEVICE))
        texts = column(self._title, self._lead, spacing=2)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(_POT * 2)
        self._bar.setAccessibleName(self.tr("Steps"))
        self.column.addLayout(row(Pot(_POT, State.SERVING), (texts, 1), spacing=theme.SPACE_L))
        for widget in self._steps:
            self.column.addWidget(widget)
        self.column.addWidget(self._download)
        self.column.addLayout(row(self._bar, (self._where, 1), self._back, self._try, self._later, self._next))

    def _build_welcome(self) -> QWidget:
        what = _points(
            self.tr("How it works"),
            (
                "models",
                self.tr("Run large models together"),
                self.tr("Your computer serves some layers of a model. Others serve the rest, and all can use it."),
            ),
            (
                "game",
                self.tr("Your games come first"),
                self.tr("When a game starts, Potluck frees the graphics memory within a second."),
            ),
            (
                "earnings",
                self.tr("Earn points"),
                self.tr("Serving others earns points, which move your requests up the queue. They are not money."),
            ),
        )
        who = _points(
            self.tr("What others can see"),
            (
                "info",
                self.tr("Members of your swarm"),
                self.tr(
                    "They see your internet address, your layers and your speed. People serving a model can read the "
                    "messages you send to it."
                ),
            ),
            (
                "good",
                self.tr("Nobody else"),
                self.tr("No account, no telemetry. Your files stay private, and nobody can run code here."),
            ),
        )
        return holder(column(what, who, spacing=theme.SPACE_L))


def _points(heading: str, *points: tuple[str, str, str]) -> Card:
    """Return a card of points, each with a glyph, a title and a sentence or two."""
    lines = []
    for glyph, title, said in points:
        texts = column(text(kind=Type.STRONG, said=title), text("muted", said=said), spacing=2)
        lines.append(row(column(Sign(glyph, "accent", _SIGN), None), (texts, 1)))
    return Card(heading, *lines)
