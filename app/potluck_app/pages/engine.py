"""The compute engine's environment: setting it up, renewing it, and going back."""

from __future__ import annotations

from potluck_control.methods import setup
from potluck_control.methods.setup import BeginParams, SetupState
from PySide6.QtCore import Signal

from potluck.errors import PotluckError
from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.pages.set_up_plan import SetUpPlan
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, Sign, text
from potluck_app.widgets.fetching import FetchBar
from potluck_app.widgets.layout import Poll, column, holder, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.theme import Type
from potluck_app.words import engine, sentences


class EngineSection(Section):
    """Signal: `told(SetupState)`, with each answer of the daemon.

    The daemon sets up the environment, whatever page is open, and without the app.
    """

    told = Signal(object)

    def __init__(self, page: Page, heading: str = "") -> None:
        super().__init__(page)
        self._state: SetupState | None = None
        self._last = BeginParams()
        self._is_choosing = False
        self._looking = text("muted", said=self.tr("Looking at this computer…"))
        self._ready, self._detail = text(), text("muted", kind=Type.CAPTION)
        self._plan, self._bar = SetUpPlan(), FetchBar(self.tr("Installation progress"))
        self._error, self._cancel = Notice("problem", "error"), Button(self.tr("Cancel"), "close")
        self._renew = Button(self.tr("Update"), "refresh", act=self.begin)
        self._back = Button(self.tr("Go back to the previous one"), "undo")
        self._other = Button(self.tr("Change build or folder…"), "more", act=self._choose)
        self._poll = Poll(self, self.refresh)
        self._build(heading)

    def refresh(self) -> None:
        self.page.ask(setup.STATE, None, self.show_state)

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
            self._bar.say(sentences.reason(state.progress.text), state.progress.done, state.progress.total)
        again = "" if is_planning else self.tr("Try again")
        self._error.say("" if is_running else sentences.problem(state.error), again)
        self._renew.setVisible(state.outdated)
        self._back.setVisible(state.can_roll_back)
        self._upkeep.setVisible(state.ready and not is_running and not self._is_choosing)
        self._poll.run_while(is_running)
        self.told.emit(state)

    def _show_ready(self, state: SetupState) -> None:
        if not state.variant:
            self._ready.setText(self.tr("Using your own Python environment."))
            self._detail.say("")
        else:
            names = ", ".join(map(engine.device, state.devices))
            self._ready.setText(self.tr("Ready: {devices}.").format(devices=names))
            said = [
                self.tr("PyTorch build: {variant}").format(variant=engine.variant(state.variant)),
                self.tr("Folder: {folder}").format(folder=state.folder),
            ]
            if state.outdated:
                said.append(self.tr("Newer packages are available. Update when it suits you."))
            self._detail.say("\n".join(said))

    def begin(self) -> None:
        """Set up what fits best, for those who have said that they want it."""
        self._begin(BeginParams())

    def _begin(self, params: BeginParams) -> None:
        """A refusal is said where its button is."""
        self._last, self._is_choosing = params, False
        self.page.link.call(setup.BEGIN, params, done=self.show_state, failed=self._fail)

    def _fail(self, error: PotluckError) -> None:
        self._error.say(sentences.failure(error))

    def _choose(self) -> None:
        self._is_choosing = True
        if self._state is not None:
            self.show_state(self._state)
        self._plan.setFocus()

    def _build(self, heading: str) -> None:
        self.setFocusProxy(self._plan)
        self._plan.begun.connect(self._begin)
        self._error.pressed.connect(lambda: self._begin(self._last))
        self._cancel.clicked.connect(lambda: self.page.ask(setup.CANCEL, None, self.show_state))
        self._back.clicked.connect(lambda: self.page.ask(setup.ROLL_BACK, None, self.show_state))
        self._current = holder(
            row(column(Sign("good", "serving"), None), (column(self._ready, self._detail, spacing=2), 1))
        )
        self._running = holder(row((self._bar, 1), self._cancel, spacing=theme.SPACE_XL))
        # Two rows: in some languages three buttons are too wide for a small window.
        self._upkeep = holder(column(row(self._renew, self._back, None), row(self._other, None)))
        hidden = (self._current, self._plan, self._running, self._upkeep)
        parts = (self._looking, self._current, self._error, self._plan, self._running, self._upkeep)
        self.fill(Card(heading, *parts))
        for widget in hidden:
            widget.hide()
