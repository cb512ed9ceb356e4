"""The first run: welcome, compute engine, swarm, and what starts at log-in.

The steps about the compute engine and the swarm are left out where one is there.
"""

from __future__ import annotations

from potluck_control.api import schema
from potluck_control.methods.installation import SetupState
from potluck_control.states import Reason, State
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QProgressBar, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.engine import EngineSection
from potluck_app.pages.first_run.joining import JoinForm
from potluck_app.pages.first_run.login import LoginSection
from potluck_app.pages.page import Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.parts import (
    Card,
    Glyph,
    StateIcon,
    append,
    beside,
    caption,
    column,
    muted,
    row,
    stack,
    strong,
    text,
)
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import engine, layers, sentences
from potluck_app.words.people import guest_notice

_POT, _SIGN = 56, 24
_SIGNS = {Reason.NOT_ADMITTED: ("info", "accent"), Reason.INVITE_OVER: ("problem", "error")}
_WELCOME, _COMPUTE, _SWARM, _READY = range(4)


class FirstRunPage(Page):
    """The page while no swarm is joined, and as long as `is_open`.

    Every step has a default that works: people who only press Continue donate politely. Those who only try Potluck, in
    a swarm of their own, are led to the chat before the page has `finished`.
    """

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.is_open = False
        self._status: schema.Status | None = None
        self._step = _WELCOME
        self._needs_engine, self._has_engine, self._is_computing_begun = False, True, False
        self._is_trying = False
        self._title, self._lead = text(style=TextStyle.TITLE), muted()
        self._where = caption()
        self._bar = QProgressBar()
        self._computing = EngineSection(self)
        self._joining, self._login = JoinForm(self.link), LoginSection(self)
        self._member = text()
        self._sign = Glyph("good", "serving", _SIGN)
        self._joined = Card("", row(self._sign, (self._member, 1)))
        self._back = Button(self.tr("Back"), "back", "quiet", lambda: self._go(self._beside(-1)))
        self._next = Button(self.tr("Continue"), "", "primary", self._continue)
        self._later = Button(self.tr("Later"), "", "quiet", self._continue)
        self._try = Button(self.tr("Try it on this computer"), "chat", act=self._press_try)
        self._download = caption()
        self._steps = (
            self._build_welcome(),
            self._computing,
            self._joining,
            stack(self._joined, self._login, spacing=theme.SPACE_L),
        )
        self._build()
        self._go(_WELCOME)

    @property
    def is_unsaved(self) -> bool:
        """Tell whether somebody is half-way through and would have to start over."""
        return self.is_open or self._joining.is_begun

    def show_status(self, status: schema.Status) -> None:
        before, self._status = self._status, status
        if self._step == _SWARM and self._is_in:
            self._go(_READY)
        elif before is None or self._membership(before) != self._membership(status):
            self._show_step()
        self._end_trial()

    def go_to(self, part: Destination, swarm: str = "") -> None:
        """Go to the step that joins a swarm."""
        if part is Destination.JOIN:
            self._go(_SWARM)
            self._joining.ask_invite(swarm)

    def refresh(self) -> None:
        self._computing.refresh()
        self._login.refresh()

    @property
    def _is_member(self) -> bool:
        return self._status is not None and self._status.swarm is not None

    @property
    def _is_in(self) -> bool:
        """Tell whether no invite is missing."""
        return self._status is not None and self._is_member and self._status.reason is not Reason.INVITE_OVER

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
            (self._joining if self._step == _SWARM else self._next).setFocus()

    def _path(self) -> tuple[int, ...]:
        """Return the steps that this computer needs."""
        is_needed = {_COMPUTE: self._needs_engine, _SWARM: not self._is_in}
        return tuple(step for step in range(len(self._steps)) if step == self._step or is_needed.get(step, True))

    def _show_engine(self, state: SetupState) -> None:
        """Take the state of the engine. The step stays in the path while the environment is being made."""
        was_ready, self._has_engine = not self._needs_engine, state.ready
        self._needs_engine = self._needs_engine or not state.ready
        self._is_computing_begun = state.ready or state.progress is not None
        self._download.setText(self._trial_note(state))
        if (was_ready and self._needs_engine) or self._step in (_WELCOME, _COMPUTE):
            self._show_step()
        self._end_trial()

    def _trial_note(self, state: SetupState) -> str:
        """Return what a trial downloads, or "" for nothing."""
        if state.ready:
            return ""
        sizes = engine.download_sizes(state.plan.download_bytes, state.plan.disk_bytes)
        return self.tr("Trying it sets up the compute engine first. {sizes}").format(sizes=sizes)

    def _show_step(self) -> None:
        message = (
            (self.tr("Welcome to Potluck"), self.tr("Lend a swarm the power that you do not need.")),
            (self.tr("Compute engine"), self.tr("Potluck chooses the PyTorch build that fits this computer.")),
            (self.tr("Choose a swarm"), self.tr("A swarm is a group of people who run a model together.")),
            (
                self.tr("You come first"),
                self.tr(
                    "Potluck takes what is free and steps aside for games. The page Rules changes how much, and when."
                ),
            ),
        )
        for number, widget in enumerate(self._steps):
            widget.setVisible(number == self._step)
        self._title.setText(message[self._step][0])
        self._lead.setText(message[self._step][1])
        counted = sorted({*self._path(), _SWARM})  # the swarm's step counts even after it is done
        place = counted.index(self._step) + 1
        self._bar.setRange(0, len(counted))
        self._bar.setValue(place)
        self._where.setText(self.tr("{step} of {all}").format(step=place, all=len(counted)))
        self._back.setVisible(self._step > _WELCOME)
        is_unset = self._step == _COMPUTE and not self._is_computing_begun
        self._later.setVisible(is_unset)
        self._next.setVisible(not is_unset and self._step != _SWARM)
        may_try = self._step == _WELCOME and not self._is_member
        self._try.setVisible(may_try)
        self._download.setVisible(may_try and bool(self._download.text()))
        self._next.setText(self.tr("Done") if self._step == _READY else self.tr("Continue"))
        reason = self._status.reason if self._status is not None else Reason.NONE
        self._joined.setVisible(self._is_member)
        self._member.setText(self._membership(self._status))
        self._sign.show_glyph(*_SIGNS.get(reason, ("good", "serving")))

    def _membership(self, status: schema.Status | None) -> str:
        """Return what the user is in the swarm, or "" without one."""
        if status is None or status.swarm is None:
            return ""
        if status.reason in _SIGNS:
            return sentences.reason(status.text)
        message = self.tr("You are in the swarm “{swarm}”, which runs {model}.")
        message = message.format(swarm=status.swarm.name, model=layers.model(status.swarm.model))
        return " ".join(filter(None, (message, guest_notice(status))))

    def _continue(self) -> None:
        if self._step == _READY or (self._step == _COMPUTE and self._is_trying):
            self._leave()
        else:
            self._go(self._beside(1))

    def _press_try(self) -> None:
        """Start a swarm with the demo model, and chat with it once the engine is there."""
        self._try.setEnabled(False)
        self.link.call(schema.CREATE, schema.CreateParams(), done=self._begin_trial, failed=self._fail_trial)

    def _begin_trial(self, _: schema.Joined) -> None:
        self._try.setEnabled(True)
        self.clear_problems()
        self._is_trying = True
        if self._has_engine:
            self._leave()
        else:
            self._go(_COMPUTE)
            self._computing.begin()

    def _end_trial(self) -> None:
        """Lead to the chat those who try Potluck, once the engine is there and the daemon knows it."""
        is_known = self._status is not None and self._status.reason is not Reason.NO_ENGINE
        if self._is_trying and self._step == _COMPUTE and self._has_engine and is_known:
            QTimer.singleShot(0, self, self._finish_trial)  # the window is about to show this page

    def _finish_trial(self) -> None:
        if self._is_trying:
            self._leave()

    def _fail_trial(self, error: PotluckError) -> None:
        self._try.setEnabled(True)
        self.show_error(error)

    def _leave(self) -> None:
        wants_chat, self._is_trying = self._is_trying, False
        if wants_chat:
            self.requested.emit(Destination.CHAT)
        self._go(_WELCOME)
        self.finished.emit()

    def _beside(self, by: int) -> int:
        path = self._path()
        return path[path.index(self._step) + by]

    def _build(self) -> None:
        self.setFocusProxy(self._next)
        self._computing.state_changed.connect(self._show_engine)
        self._joining.joined.connect(lambda: self._go(_READY))
        texts = column(self._title, self._lead, spacing=2)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(_POT * 2)
        self._bar.setAccessibleName(self.tr("Steps"))
        head = row(StateIcon(_POT, State.SERVING), (texts, 1), spacing=theme.SPACE_L)
        foot = row(self._bar, (self._where, 1), self._back, self._try, self._later, self._next)
        append(self.column, head, *self._steps, self._download, foot)

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
        return stack(what, who, spacing=theme.SPACE_L)


def _points(heading: str, *points: tuple[str, str, str]) -> Card:
    """Return a card of points, each with a glyph, a title and a sentence or two."""
    lines = []
    for glyph, title, message in points:
        lines.append(beside(Glyph(glyph, "accent", _SIGN), strong(title), muted(message)))
    return Card(heading, *lines)
