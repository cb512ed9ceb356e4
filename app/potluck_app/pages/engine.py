"""What computes: the engine's environment, how it is made, and what can be done about the one that is there."""

from __future__ import annotations

from potluck_control.methods import setup
from potluck_control.methods.setup import BeginParams, Problem, SetupState
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import Page
from potluck_app.pages.set_up_plan import SetUpPlan
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Sign, text
from potluck_app.widgets.fetching import FetchBar
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.theme import Type
from potluck_app.words import engine, sentences

_LOOK_MS = 700  # while one is made


class EnginePanel(QWidget):
    """Asks by way of its page. Signal: `told(SetupState)`, each time the daemon says how it stands.

    Making an environment is the daemon's work: it goes on whatever page is open, and without the app.
    """

    told = Signal(object)

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._state: SetupState | None = None
        self._last = BeginParams()
        self._is_choosing = False
        self._looking = text("muted", said=self.tr("Looking at this computer…"))
        self._ready, self._detail = text(), text("muted", kind=Type.CAPTION)
        self._plan, self._bar = SetUpPlan(), FetchBar(self.tr("Progress of the installation"))
        self._error, self._cancel = Notice("problem", "error"), Button(self.tr("Cancel"), "close")
        self._renew = Button(self.tr("Renew it"), "refresh")
        self._back = Button(self.tr("Use the one before again"), "undo")
        self._other = Button(self.tr("Another build or folder…"), "more")
        self._again = QTimer(self)
        self._build()

    @property
    def state(self) -> SetupState | None:
        """As it was last told; None: not yet."""
        return self._state

    def refresh(self) -> None:
        self._page.ask(setup.STATE, None, self.show_state)

    def show_state(self, state: SetupState) -> None:
        self._state = state
        is_running = state.progress is not None
        is_planning = not is_running and (self._is_choosing or not state.ready)
        self._looking.hide()
        self._current.setVisible(state.ready)
        self._show_ready(state)
        self._plan.setVisible(is_planning)
        self._plan.show_state(state)
        self._running.setVisible(is_running)
        if state.progress is not None:
            self._bar.say(engine.progress(state.progress), state.progress.done, state.progress.total)
        self._show_error(state.error if not is_running else None, has_button=not is_planning)
        self._renew.setVisible(state.outdated)
        self._back.setVisible(state.can_roll_back)
        self._upkeep.setVisible(state.ready and not is_running and not self._is_choosing)
        if is_running and self.isVisible():
            self._again.start(_LOOK_MS)
        self.told.emit(state)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        if self._state is not None and self._state.progress is not None:
            self._again.start(_LOOK_MS)

    def _show_ready(self, state: SetupState) -> None:
        if not state.variant:
            self._ready.setText(self.tr("It computes in a Python that you look after yourself."))
            self._detail.setText("")
        else:
            names = ", ".join(map(engine.device, state.devices))
            self._ready.setText(self.tr("Ready. It computes on: {devices}.").format(devices=names))
            said = [
                self.tr("Build of torch: {variant}").format(variant=engine.variant(state.variant)),
                self.tr("Folder: {folder}").format(folder=state.folder),
            ]
            if state.outdated:
                said.append(self.tr("This version of Potluck comes with newer packages; renew it when it suits you."))
            self._detail.setText("\n".join(said))
        self._detail.setVisible(bool(self._detail.text()))

    def _show_error(self, error: Problem | None, *, has_button: bool) -> None:
        self._error.say(sentences.problem(error), self.tr("Try again") if has_button else "")

    def _begin(self, params: BeginParams) -> None:
        """A refusal is said where its button is."""
        self._last, self._is_choosing = params, False
        self._page.link.call(setup.BEGIN, params, done=self.show_state, failed=self._fail)

    def _fail(self, error: PotluckError) -> None:
        self._show_error(Problem(error.message, error.hint or ""), has_button=False)

    def _choose(self) -> None:
        self._is_choosing = True
        if self._state is not None:
            self.show_state(self._state)
        self._plan.setFocus()

    def _build(self) -> None:
        self.setFocusProxy(self._plan)
        self._plan.begun.connect(self._begin)
        self._error.pressed.connect(lambda: self._begin(self._last))
        self._cancel.clicked.connect(lambda: self._page.ask(setup.CANCEL, None, self.show_state))
        self._renew.clicked.connect(lambda: self._begin(BeginParams()))
        self._back.clicked.connect(lambda: self._page.ask(setup.ROLL_BACK, None, self.show_state))
        self._other.clicked.connect(self._choose)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.refresh)
        self._current, self._running, self._upkeep = self._build_current(), self._build_running(), self._build_upkeep()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        parts = (self._looking, self._current, self._error, self._plan, self._running, self._upkeep)
        for widget in parts:
            column.addWidget(widget)
        for widget in (self._current, self._plan, self._running, self._upkeep):
            widget.hide()

    def _build_current(self) -> QWidget:
        around, row, texts = QWidget(), QHBoxLayout(), QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._ready)
        texts.addWidget(self._detail)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.SPACE_M)
        row.addWidget(Sign("good", "serving"), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        around.setLayout(row)
        return around

    def _build_running(self) -> QWidget:
        around, row = QWidget(), QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.SPACE_XL)
        row.addWidget(self._bar, 1)
        row.addWidget(self._cancel)
        around.setLayout(row)
        return around

    def _build_upkeep(self) -> QWidget:
        """In two rows: in some languages three buttons are too wide for a small window."""
        around, column = QWidget(), QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        for buttons in ((self._renew, self._back), (self._other,)):
            row = QHBoxLayout()
            row.setSpacing(theme.SPACE_M)
            for button in buttons:
                row.addWidget(button)
            row.addStretch(1)
            column.addLayout(row)
        around.setLayout(column)
        return around
