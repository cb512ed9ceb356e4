"""What starts at log-in: two switches that show what the system really does."""

from __future__ import annotations

import sys

from msgspec import structs
from potluck_control.methods import machine
from PySide6.QtCore import QSignalBlocker

from potluck.sentences import NOTHING
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Switch
from potluck_app.widgets.parts import Card, divided
from potluck_app.widgets.row import Row
from potluck_app.windows.autostart import LAUNCHER, Autostart
from potluck_app.words import sentences


class LoginSection(PageSection):
    """The two switches. Each is disabled until the daemon says what the system does."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._windows = Autostart() if sys.platform == "win32" else None  # the daemon in WSL2 cannot do it there
        self._daemon, self._app = Switch(), Switch()
        self._rows = {
            self._daemon: Row(self.tr("Start donating"), self.tr("It follows your rules."), self._daemon),
            self._app: Row(self.tr("Show Potluck in the tray"), self.tr("Without a window."), self._app),
        }
        self._daemon.toggled.connect(lambda is_on: self._change(machine.LoginParams(daemon=is_on)))
        self._app.toggled.connect(lambda is_on: self._change(machine.LoginParams(app=is_on)))
        self.fill(Card(self.tr("When you log in"), *divided(self._rows.values())))
        for switch in self._rows:
            switch.setEnabled(False)  # `_show` enables it

    def refresh(self) -> None:
        self.page.call(machine.LOGIN, None, self._show)

    def _show(self, start: machine.LoginStart) -> None:
        if self._windows is not None:
            start = structs.replace(start, app=self._windows.is_on(), app_problem=NOTHING)
        shown = (
            (self._daemon, start.daemon, start.daemon_problem),
            (self._app, start.app, start.app_problem),
        )
        for switch, is_on, problem in shown:
            with QSignalBlocker(switch):
                switch.setChecked(is_on)
            switch.setEnabled(not problem)
            fixed = self.tr("Set up for all users of this computer.") if is_on else ""
            refused = fixed or self.tr("Not available on this computer.")
            self._rows[switch].show_problem(refused if problem else "")
            self._rows[switch].setToolTip(sentences.reason(problem))

    def _change(self, params: machine.LoginParams) -> None:
        if self._windows is not None and params.app is not None:
            self._windows.switch(f'"{LAUNCHER}" --hidden' if params.app else None)
            params = machine.LoginParams()
        self.page.call(machine.SET_LOGIN, params, self._show)
