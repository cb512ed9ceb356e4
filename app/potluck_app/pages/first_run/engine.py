"""Setting up the compute engine's environment: the plan, its progress, updates of it, and the way back."""

from __future__ import annotations

from functools import partial

from potluck_control.methods import installation
from potluck_control.methods.health import Finding, Severity, Subject
from potluck_control.methods.installation import BeginParams, SetupState
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.parts import (
    Card,
    ContentArea,
    Glyph,
    PollTimer,
    beside,
    caption,
    column,
    divider,
    holder,
    muted,
    row,
    stack,
    text,
)
from potluck_app.widgets.progress import DownloadProgress
from potluck_app.widgets.row import Row, finding_line
from potluck_app.words import engine, sentences

_OF_PLACE = (Subject.FOLDER, Subject.ROOM)  # such findings say nothing about a folder chosen after them


class SetUpPlan(QWidget):
    """The plan of a set-up, which the user may change: the build and why it fits, the downloads, and the folder.

    Signal: `begun(BeginParams)`, when the user starts.
    """

    begun = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._folder = ""  # chosen here; "": the usual one
        self._state: SetupState | None = None
        self._found = ContentArea()
        self._variant = ""  # chosen here; "": the best one
        self._variants, about = QMenu(self), self.tr("Another folder for the compute engine")
        choose = Button(self.tr("Another folder…"), "folder", act=self._choose_folder, about=about)
        another = Button(self.tr("Another build"), "down", is_trailing=True)
        another.setMenu(self._variants)
        self._build_row = Row(self.tr("PyTorch build"), "", another)
        self._folder_row = Row(self.tr("Folder"), "", choose)
        self._sizes, self._begin = caption(), Button("", "save", "primary", self._press_begin)
        self.setFocusProxy(self._begin)
        foot = row(self._begin, (self._sizes, 1))
        self.setLayout(column(self._found, divider(), self._build_row, self._folder_row, divider(), foot))

    def show_state(self, state: SetupState) -> None:
        self._state = state
        self._show_variants(state)
        self._show_found()
        self._folder_row.show_help(self._folder or state.folder)
        self._begin.setText(self.tr("Download and install") if state.error is None else self.tr("Try again"))
        self._begin.show_glyph("save" if state.error is None else "refresh")

    def _show_variants(self, state: SetupState) -> None:
        """Offer the builds, the best one first; it is chosen unless the user chooses another."""
        best = [name for name in state.variants if name == state.plan.variant]
        offered = best + [name for name in state.variants if name != state.plan.variant]
        if [action.data() for action in self._variants.actions()] != offered:
            self._variants.clear()
            for name in offered:
                action = self._variants.addAction(engine.variant(name))
                action.setData(name)
                action.triggered.connect(lambda _checked=False, name=name: self._choose_variant(name))
        if self._variant not in offered:
            self._variant = offered[0] if offered else ""
        self._build_row.setVisible(len(offered) > 1)

    def _choose_variant(self, variant: str) -> None:
        self._variant = variant
        self._show_found()

    def _show_found(self) -> None:
        if self._state is None:
            return
        plan, other = self._state.plan, self._other_variant()
        severity = Severity.WARNING if plan.advice else Severity.OK
        lines = [finding_line(severity, sentences.reason(plan.why), sentences.reason(plan.advice))]
        for item in self._findings():
            lines.append(finding_line(item.severity, sentences.reason(item.text), self._advice(item)))
        if plan.variant not in self._state.variants:
            message = self.tr("This version of Potluck lacks the packages of the best build ({variant}).")
            lines.append(finding_line(Severity.WARNING, message.format(variant=engine.variant(plan.variant))))
        elif not other and not plan.is_verified:
            message = self.tr("Potluck has not been tested with this build. It is used only if it passes a test here.")
            lines.append(finding_line(Severity.NOTE, message))
        self._build_row.show_help(engine.variant(self._variant))
        self._found.show_items(*lines)
        self._sizes.setText("" if other else engine.download_sizes(plan.download_bytes, plan.disk_bytes))

    def _findings(self) -> list[Finding]:
        """Return the findings about obstacles and free space."""
        known = self._state.findings if self._state is not None else ()
        left_out = (Subject.BUILD, *_OF_PLACE) if self._folder else (Subject.BUILD,)
        worth = [item for item in known if item.severity is not Severity.OK or item.subject is Subject.ROOM]
        return [item for item in worth if item.subject not in left_out]

    def _advice(self, of: Finding) -> str:
        """Return the daemon's advice, or what the button for the folder does."""
        if of.subject in _OF_PLACE and of.severity is not Severity.OK:
            return self.tr("Free some space, or choose another folder below.")
        return sentences.reason(of.advice)

    def _other_variant(self) -> str:
        """Return the build chosen instead of the best one; "" for the best one."""
        is_best = self._state is not None and self._variant == self._state.plan.variant
        return "" if is_best else self._variant

    def _choose_folder(self) -> None:
        before = self._folder or (self._state.folder if self._state is not None else "")
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder for the compute engine"), before)
        if chosen:
            self._folder = chosen
            self._folder_row.show_help(chosen)
            self._show_found()

    def _press_begin(self) -> None:
        self.begun.emit(BeginParams(self._other_variant(), self._folder))


class EngineSection(PageSection):
    """The state of the compute engine's environment, and the buttons that change it.

    The daemon does the work, whatever page is open, and even without the app. Signal: `state_changed(SetupState)`, with
    each answer of the daemon.
    """

    state_changed = Signal(object)

    def __init__(self, page: Page, heading: str = "") -> None:
        super().__init__(page)
        self._state: SetupState | None = None
        self._last = BeginParams()
        self._is_choosing = False
        self._looking = muted(self.tr("Looking at this computer…"))
        self._ready, self._detail = text(), caption()
        self._plan, self._bar = SetUpPlan(), DownloadProgress(self.tr("Installation progress"))
        self._error, self._renew = Notice("problem", "error"), Button(self.tr("Update"), "refresh", act=self.begin)
        back = partial(page.call, installation.ROLL_BACK_SETUP, None, self.show_state)
        self._back = Button(self.tr("Go back to the previous one"), "undo", act=back)
        self._other = Button(self.tr("Change build or folder…"), "more", act=self._choose)
        self._poll = PollTimer(self, self.refresh)
        self._build(heading)

    def refresh(self) -> None:
        self.page.call(installation.SETUP_STATE, None, self.show_state)

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
        self._bar.show_work(state.progress)
        again = "" if is_planning else self.tr("Try again")
        self._error.say("" if is_running else sentences.problem(state.error), again)
        self._renew.setVisible(state.outdated)
        self._back.setVisible(state.can_roll_back)
        self._upkeep.setVisible(state.ready and not is_running and not self._is_choosing)
        self._poll.run_while(is_running)
        self.state_changed.emit(state)

    def _show_ready(self, state: SetupState) -> None:
        if not state.variant:
            self._ready.setText(self.tr("Using your own Python environment."))
            self._detail.say("")
        else:
            names = ", ".join(map(engine.device, state.devices))
            self._ready.setText(self.tr("Ready: {devices}.").format(devices=names))
            message = [
                self.tr("PyTorch build: {variant}").format(variant=engine.variant(state.variant)),
                self.tr("Folder: {folder}").format(folder=state.folder),
            ]
            if state.outdated:
                message.append(self.tr("Newer packages are available. Update when it suits you."))
            self._detail.say("\n".join(message))

    def begin(self) -> None:
        """Set up what fits best, without another question."""
        self._begin(BeginParams())

    def _begin(self, params: BeginParams) -> None:
        """Start a set-up; a refusal is shown beside the button."""
        self._last, self._is_choosing = params, False
        self.page.link.call(installation.BEGIN_SETUP, params, done=self.show_state, failed=self._fail)

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
        cancel = partial(self.page.call, installation.CANCEL_SETUP, None, self.show_state)
        self._current = holder(beside(Glyph("good", "serving"), self._ready, self._detail))
        stop = Button(self.tr("Cancel"), "close", act=cancel)
        self._running = holder(row((self._bar, 1), stop, spacing=theme.SPACE_XL))
        # Two rows: in some languages three buttons are too wide for a small window.
        self._upkeep = stack(row(self._renew, self._back, None), row(self._other, None))
        parts = (self._plan, self._running, self._upkeep)
        self.fill(Card(heading, self._looking, self._current, self._error, *parts))
        for widget in (self._current, *parts):
            widget.hide()
