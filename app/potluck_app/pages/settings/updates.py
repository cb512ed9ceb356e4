"""Updates: whether to look for them, the newer version, and installing it."""

from __future__ import annotations

from potluck_control.methods import installation
from potluck_control.methods.installation import Offered, UpdatesState

from potluck.errors import PotluckError
from potluck_app.pages.page import PageSection
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.parts import Card, PollTimer, caption, divider, muted, row, stack, strong, text
from potluck_app.widgets.progress import DownloadProgress
from potluck_app.widgets.row import Row
from potluck_app.words import formats, sentences


class UpdatesSection(PageSection):
    """The running version and the newer one.

    The daemon installs the update and becomes the new version; an open app follows by itself.
    """

    def __init__(self, page: SettingsForm) -> None:
        super().__init__(page)
        self._form = page
        self._check = Button(self.tr("Check now"), "refresh", act=self._call_check)
        self._running = Row(self.tr("Version"), "", self._check)
        message = self.tr("Once a day. The publisher sees your internet address.")
        self._row = page.flag("updates.check", self.tr("Look for updates"), message)
        self._missing = muted(self.tr("No update source. Set updates.url and updates.key to choose one."))
        self._error = Notice("problem", "error")
        self._heading, self._changes = strong(), text()
        self._meaning = caption()
        self._install = Button("", "save", "primary", self._call_install)
        self._bar = DownloadProgress(self.tr("Progress of the update"))
        self._poll = PollTimer(self, self.refresh)
        self._build()

    def refresh(self) -> None:
        self._form.show_again()
        self.page.call(installation.UPDATES_STATE, None, self.show_state)

    def show_state(self, state: UpdatesState) -> None:
        is_running = state.progress is not None
        looked = self.tr("{version}. Checked {time}.") if state.checked_at is not None else "{version}"
        at = formats.clock(state.checked_at) if state.checked_at is not None else ""
        self._running.show_help(looked.format(version=state.running, time=at))
        self._check.setEnabled(state.is_configured and not is_running)
        self._row.setVisible(state.is_configured)
        self._missing.setVisible(not state.is_configured)
        self._show_offer(state.offered, can_install=state.can_install, is_running=is_running)
        self._bar.show_work(state.progress)
        self._error.say("" if is_running else sentences.problem(state.error), self.tr("Try again"))
        self._poll.run_while(is_running)

    def _show_offer(self, offered: Offered | None, *, can_install: bool, is_running: bool) -> None:
        self._offer.setVisible(offered is not None)
        if offered is None:
            return
        message = self.tr("Version {version}, {day}")
        self._heading.setText(message.format(version=offered.version, day=formats.day(offered.issued_at)))
        self._changes.say("\n".join(f"• {change}" for change in offered.changes))
        self._install.setText(self.tr("Install version {version}").format(version=offered.version))
        self._install.setVisible(can_install and not is_running)
        if can_install:
            message = self.tr(
                "Open sessions get up to ten minutes to finish. If the new version does not start, Potluck returns to "
                "this one."
            )
        else:
            message = self.tr("Install this version the way you installed Potluck: with apt, or pip.")
        self._meaning.setText(message)

    def _call_check(self) -> None:
        self._check.setEnabled(False)
        self.page.link.call(installation.CHECK_FOR_UPDATE, None, done=self.show_state, failed=self._fail)

    def _call_install(self) -> None:
        self._install.setEnabled(False)
        self.page.link.call(installation.INSTALL_UPDATE, None, done=self._begun, failed=self._fail)

    def _begun(self, state: UpdatesState) -> None:
        self._install.setEnabled(True)
        self.show_state(state)

    def _fail(self, error: PotluckError) -> None:
        self._check.setEnabled(True)
        self._install.setEnabled(True)
        self._error.say(sentences.failure(error), self.tr("Try again"))

    def _build(self) -> None:
        self._check.setEnabled(False)
        self._error.pressed.connect(self._call_check)
        parts = (divider(), self._heading, self._changes, self._meaning, row(self._install, None))
        self._offer = stack(*parts, spacing=theme.SPACE_S)
        shown = (self._running, divider(), self._row, self._missing, self._error, self._offer, self._bar)
        self.fill(Card(self.tr("Updates"), *shown))
        for widget in (self._missing, self._offer, self._bar):
            widget.hide()
