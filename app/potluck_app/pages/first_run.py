"""The first run: what this is, what computes, a swarm, the device, how much to give, and starting at log-in.

The step of what computes is left out where that is installed already.
"""

from __future__ import annotations

from potluck_control.methods.setup import SetupState
from potluck_control.schema import Status
from potluck_control.states import State
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from potluck_app.pages.devices import Devices
from potluck_app.pages.engine import EnginePanel
from potluck_app.pages.join_form import JoinForm
from potluck_app.pages.login import Login
from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.pages.share import SharePanel
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Pot, Sign, card, text
from potluck_app.widgets.theme import Type
from potluck_app.words import layers

_POT, _SIGN = 56, 24
_WELCOME, _COMPUTE, _SWARM, _DEVICE, _GIVE, _START = range(6)


class FirstRunPage(Page):
    """The window shows it while no swarm is joined, and as long as `is_open`. Signal: `finished()`, when it was.

    Every step has a default that works: whoever only presses Continue donates politely.
    """

    finished = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, "")
        self.is_open = False
        self._status: Status | None = None
        self._step, self._measured = _WELCOME, False
        self._needs_engine, self._is_computing_begun = False, False
        self._title, self._lead = text(kind=Type.TITLE), text("muted")
        self._where = text("muted", kind=Type.CAPTION)
        self._bar = QProgressBar()
        self._computing = EnginePanel(self)
        self._joining, self._devices = JoinForm(link), Devices(self, has_switches=False)
        self._giving, self._login = SharePanel(self), Login(self)
        self._joined = self._build_joined()
        self._back = Button(self.tr("Back"), "back", "quiet")
        self._next, self._later = Button(self.tr("Continue"), "", "primary"), Button(self.tr("Later"), "", "quiet")
        self._steps = (
            self._build_welcome(),
            self._in_card("", self._computing),
            self._build_swarm(),
            self._in_card(self.tr("This computer"), self._devices),
            self._in_card(self.tr("How much, and when"), self._giving),
            self._in_card(self.tr("When you log in"), self._login),
        )
        self._build()
        self._go(_WELCOME)

    @property
    def is_unsaved(self) -> bool:
        """Half-way through it one would have to begin anew."""
        return self.is_open or self._joining.is_begun

    def show_status(self, status: Status) -> None:
        before, self._status = self._status, status
        if before is None or (before.swarm is None) != (status.swarm is None):
            self._show_step()

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
        if step == _SWARM and not self._measured:
            self._measured = True
            self._devices.measure()  # before anything is served, which would slow it down
        self._focus()

    def _focus(self) -> None:
        """The keyboard to what one wants in this step."""
        if self._step == _COMPUTE and not self._next.isVisibleTo(self):
            self._computing.setFocus()
        else:
            (self._joining if self._step == _SWARM and not self._is_member else self._next).setFocus()

    def _path(self) -> tuple[int, ...]:
        """The steps that there are for this computer."""
        return tuple(step for step in range(len(self._steps)) if step != _COMPUTE or self._needs_engine)

    def _show_engine(self, state: SetupState) -> None:
        """An environment that is made while somebody looks stays a step; measuring waits for it."""
        was_ready = not self._needs_engine
        self._needs_engine = self._needs_engine or not state.ready
        self._is_computing_begun = state.ready or state.progress is not None
        if state.ready and self._needs_engine:
            self._devices.refresh()
        if (was_ready and self._needs_engine) or self._step == _COMPUTE:
            self._show_step()

    def _show_step(self) -> None:
        said = (
            (self.tr("Bring a few blocks to the table"), self.tr("Lend a swarm what your computer does not need.")),
            (self.tr("What computes"), self.tr("Potluck takes the build of torch that fits this computer.")),
            (self.tr("Which swarm?"), self.tr("People who run one model together. An invite is the key to it.")),
            (self.tr("What you bring"), self.tr("Measuring takes a moment; you need not wait for it.")),
            (self.tr("You come first"), self.tr("Change it whenever you like, under When to donate and Limits.")),
            (self.tr("From now on"), self.tr("Nothing starts by itself unless you switch it on.")),
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
        is_waiting = self._step == _COMPUTE and not self._is_computing_begun
        self._later.setVisible(is_waiting)
        self._next.setVisible(not is_waiting and (self._step != _SWARM or self._is_member))
        self._next.setText(self.tr("Done") if self._step == _START else self.tr("Continue"))
        self._joining.setVisible(not self._is_member)
        self._joined.setVisible(self._is_member)
        swarm = self._status.swarm if self._status is not None else None
        if swarm is not None:
            member = self.tr("You are in the swarm “{swarm}”, which runs {model}.")
            self._member.setText(member.format(swarm=swarm.name, model=layers.model(swarm.model)))

    def _continue(self) -> None:
        if self._step == _START:
            self._go(_WELCOME)
            self.finished.emit()
        else:
            self._go(self._beside(1))

    def _beside(self, by: int) -> int:
        path = self._path()
        return path[path.index(self._step) + by]

    def _build(self) -> None:
        self.setFocusProxy(self._next)
        self._back.clicked.connect(lambda: self._go(self._beside(-1)))
        self._next.clicked.connect(self._continue)
        self._later.clicked.connect(self._continue)
        self._computing.told.connect(self._show_engine)
        self._devices.setup_wanted.connect(lambda: self._go(_COMPUTE))
        self._joining.joined.connect(lambda: self._go(_DEVICE))
        head, texts, foot = QHBoxLayout(), QVBoxLayout(), QHBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._title)
        texts.addWidget(self._lead)
        head.setSpacing(theme.SPACE_L)
        head.addWidget(Pot(_POT, State.SERVING))
        head.addLayout(texts, 1)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(_POT * 2)
        self._bar.setAccessibleName(self.tr("Steps"))
        foot.setSpacing(theme.SPACE_M)
        foot.addWidget(self._bar)
        foot.addWidget(self._where, 1)
        foot.addWidget(self._back)
        foot.addWidget(self._later)
        foot.addWidget(self._next)
        self.column.addLayout(head)
        for widget in self._steps:
            self.column.addWidget(widget)
        self.column.addLayout(foot)

    def _build_welcome(self) -> QWidget:
        around, column = _column()
        column.addWidget(
            _points(
                self.tr("What this is"),
                (
                    "models",
                    self.tr("Together you run what nobody can run alone"),
                    self.tr(
                        "A large language model is cut into blocks. Your computer serves a few of them, others serve "
                        "the rest, and everybody in the swarm can use the whole."
                    ),
                ),
                (
                    "game",
                    self.tr("Your games come first"),
                    self.tr(
                        "When one starts, its graphics memory is free within a second. Later it goes on by itself."
                    ),
                ),
                (
                    "earnings",
                    self.tr("What you give, you get back"),
                    self.tr("Work for others earns credit. It is no money: it lets your own requests go first."),
                ),
            )
        )
        column.addWidget(
            _points(
                self.tr("What others can see"),
                (
                    "info",
                    self.tr("Members of your swarm"),
                    self.tr(
                        "Your internet address, which blocks you serve and how fast. If you chat, those who serve the "
                        "model can read what you write. Never send what they must not know."
                    ),
                ),
                (
                    "good",
                    self.tr("Nobody else"),
                    self.tr("No account and no telemetry. Your files stay yours: no code comes from others."),
                ),
            )
        )
        return around

    def _build_swarm(self) -> QWidget:
        around, column = _column()
        column.addWidget(self._joining)
        column.addWidget(self._joined)
        return around

    def _build_joined(self) -> QFrame:
        frame, column = card()
        self._member = text()
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_M)
        row.addWidget(Sign("good", "serving", _SIGN))
        row.addWidget(self._member, 1)
        column.addLayout(row)
        return frame

    def _in_card(self, heading: str, part: QWidget) -> QWidget:
        frame, column = card(heading)
        column.addWidget(part)
        return frame


def _points(heading: str, *points: tuple[str, str, str]) -> QFrame:
    """Each: a glyph, a line, and a sentence or two."""
    frame, column = card(heading)
    for glyph, title, said in points:
        texts, row = QVBoxLayout(), QHBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(text(kind=Type.STRONG, said=title))
        texts.addWidget(text("muted", said=said))
        row.setSpacing(theme.SPACE_M)
        row.addWidget(Sign(glyph, "accent", _SIGN), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        column.addLayout(row)
    return frame


def _column() -> tuple[QWidget, QVBoxLayout]:
    around, column = QWidget(), QVBoxLayout()
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(theme.SPACE_L)
    around.setLayout(column)
    return around, column
