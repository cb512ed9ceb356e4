"""The one window: pages beside the sidebar, the first run, or the page while the daemon is away."""

from __future__ import annotations

from pathlib import Path

from potluck_control.agreement import Agreement
from potluck_control.methods.setup import SetupState
from potluck_control.methods.updates import UpdatesState
from potluck_control.schema import Status
from potluck_control.states import Reason
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget

from potluck.errors import PotluckError
from potluck_app.pages import catalogue as pages
from potluck_app.pages.catalogue import PageEntry
from potluck_app.pages.first_run import FirstRunPage
from potluck_app.pages.home import HomePage
from potluck_app.pages.page import DaemonCaller, Page, Part
from potluck_app.pages.preferences_page import PreferencesPage
from potluck_app.shell.away import AwayPage
from potluck_app.shell.link import Absence
from potluck_app.shell.sidebar import Sidebar
from potluck_app.shell.warming import GatewayWarming
from potluck_app.widgets import style, theme
from potluck_app.widgets.layout import column, holder, row
from potluck_app.widgets.notice import Notice
from potluck_app.words import sentences

_CHAT, _INSTALLATION = "chat", "installation"
_SIZE, _SMALLEST = QSize(960, 720), QSize(680, 400)  # the smallest fits 1280 x 720 at 150 %
_TITLE_BAR = 40  # height of what the desktop draws around the window


class MainWindow(QStackedWidget):
    """Hides when it is closed while there is a tray icon, and quits the app otherwise.

    Signals: `closed_without_tray()`, `seen_changed(bool)` when it is shown or hidden, `restart_wanted()`,
    `notifications_changed(bool)`.
    """

    closed_without_tray = Signal()
    restart_wanted = Signal()
    seen_changed = Signal(bool)
    notifications_changed = Signal(bool)

    def __init__(self, link: DaemonCaller, log_file: Path | None = None) -> None:
        super().__init__()
        self._link = link
        self._warming = GatewayWarming(link)
        self._made: dict[str, Page] = {}
        self.away, self._sidebar, self._pages, self._notice = (
            AwayPage(log_file),
            Sidebar(pages.SIDEBAR),
            QStackedWidget(),
            Notice(),
        )
        self._frame = self._build_frame()
        self.addWidget(self.away)
        self.addWidget(self._frame)
        self._sidebar.chosen.connect(self.open)
        self._add_shortcuts()
        self.has_tray, self._is_hidden = False, False
        self._front: QWidget | None = None
        self._key = pages.SIDEBAR[0].key
        self._part: tuple[Part | None, str] = None, ""  # of the page, that is led to once the page is shown
        self._agreement = ""
        self._notice.pressed.connect(self.restart_wanted)
        self._status: Status | None = None
        self._away = (self.tr("Connecting…"), Absence.GONE)
        self._updates: UpdatesState | None = None
        self.setWindowTitle("Potluck")
        self.setMinimumSize(_SMALLEST)
        self.resize(_size_on(self.screen().availableSize()))
        QGuiApplication.styleHints().colorSchemeChanged.connect(self.show_theme)
        self.show_theme()

    @property
    def page(self) -> Page | None:
        """The page in front; None while the daemon is away."""
        return self._front if isinstance(self._front, Page) else None

    @property
    def is_unsaved(self) -> bool:
        """Tell whether closing the window would lose something that the user wrote."""
        return any(page.is_unsaved for page in self._made.values())

    def show_status(self, status: Status) -> None:
        if self._status is None:
            for made in self._made.values():
                made.forget_problems()  # of a daemon that was away
        self._status = status
        self._refresh()

    def show_away(self, reason: str, absence: Absence = Absence.GONE) -> None:
        self._status, self._away = None, (reason, absence)
        self._refresh()

    def show_agreement(self, agreement: Agreement) -> None:
        """Warn above every page of a daemon of another version."""
        self._agreement = sentences.difference(agreement)
        self._notice.say(self._agreement)

    def show_renewal(self, running: str, installed: str) -> None:
        """Offer a restart above every page if an update has exchanged the app under its window."""
        if installed == running:
            self._notice.say(self._agreement)
            return
        said = self.tr(
            "Potluck {installed} is installed, and this window still runs {running}. Restarting it ends your chat, but "
            "not your serving."
        )
        self._notice.say(said.format(installed=installed, running=running), self.tr("Restart"))

    def show_setup(self, state: SetupState) -> None:
        """Show on Home how far the engine's set-up is."""
        home = self._made.get("home")
        if isinstance(home, HomePage):
            home.show_setup(state.progress)

    def show_updates(self, state: UpdatesState) -> None:
        """Offer a newer version of Potluck on Home."""
        self._updates = state
        home = self._made.get("home")
        if isinstance(home, HomePage):
            home.show_offer(state.offered)

    def show_theme(self) -> None:
        """Follow the desktop's light or dark theme."""
        colours = theme.colours()
        QApplication.setPalette(theme.palette(colours))
        self.setStyleSheet(style.style_sheet(colours))
        self.setAutoFillBackground(True)
        self._refresh()

    def open(self, key: str, part: Part | None = None, swarm: str = "") -> None:
        """Open a page of the sidebar, or one that another page leads to; see `Page.lead_to`."""
        self._key, self._part = key, (part, swarm)
        if key == _CHAT:
            self._warming.expect(is_likely=True)
        if self._status is not None:
            self._refresh()

    def show_joining(self, swarm: str) -> None:
        """Come to the front where an invite is entered, because somebody opened the link of `swarm`."""
        self.raise_up()
        self.open("models", Part.JOIN, swarm)

    def show_installation(self) -> None:
        """Come to the front with the page Installation."""
        self.raise_up()
        self.open(_INSTALLATION)

    def ask_never(self) -> None:
        """Come to the front and ask whether to ignore the program that runs now."""
        self.raise_up()
        self.open("home")
        if isinstance(self.page, HomePage):
            self.page.never.ask()

    def complain(self, error: PotluckError) -> None:
        """Come to the front and show why a command of the menu failed."""
        self.raise_up()
        if self.page is not None:
            self.page.complain(error)

    def raise_up(self) -> None:
        """Show the window in front, whatever it was before."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 (Qt's name)
        event.accept()
        if not self.has_tray:
            self.closed_without_tray.emit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        self._is_hidden, before = False, self._front
        self._warming.expect(is_likely=self._key == _CHAT)
        self._refresh()
        if self.page is not None and self.page is before:
            self.page.refresh()  # what it asked for is as old as the time it was hidden
        self.seen_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._is_hidden = True
        self.seen_changed.emit(False)

    def _refresh(self) -> None:
        """Show the page that fits; a hidden window is brought up to date when it is shown."""
        status = self._status
        if status is None:
            is_updating = self._updates is not None and _is_installing(self._updates)
            self.away.show_reason(*self._away, is_updating=is_updating)
            self._turn_to(self.away)
            return
        if self._is_hidden:
            return
        first_run = self._made.get(pages.FIRST_RUN.key)
        is_first = status.reason is Reason.NO_SWARM or (isinstance(first_run, FirstRunPage) and first_run.is_open)
        entry = pages.FIRST_RUN if is_first else self._entry(self._key)
        page = self._page(entry)
        page.show_status(status)
        self._sidebar.show_status(status)
        self._sidebar.show_page(entry.key)
        self._turn_to(page)
        (part, swarm), self._part = self._part, (None, "")
        if part is not None:
            page.lead_to(part, swarm)
        self._warming.show_status(status)

    def _turn_to(self, page: QWidget) -> None:
        """Show a page, with the keyboard on its main control."""
        if page is self._front:
            return
        self._front = page
        if self._pages.indexOf(page) >= 0:
            self._pages.setCurrentWidget(page)
            self.setCurrentWidget(self._frame)
        else:
            self.setCurrentWidget(page)
        page.setFocus()
        if isinstance(page, Page):
            page.refresh()

    def _page(self, entry: PageEntry) -> Page:
        """Return the page, made when it is first needed."""
        if entry.key not in self._made:
            page = self._made[entry.key] = entry.make(self._link)
            (self if entry is pages.FIRST_RUN else self._pages).addWidget(page)
            self._connect(page)
        return self._made[entry.key]

    def _connect(self, page: Page) -> None:
        """Connect what leads from one page to another."""
        page.installation_wanted.connect(self.show_installation)
        match page:
            case HomePage():
                page.diagnostics_wanted.connect(lambda: self.open("diagnostics"))
                page.earnings_wanted.connect(lambda: self.open("earnings"))
                page.inviting_wanted.connect(lambda: self.open("people", Part.INVITE))
                page.show_offer(self._updates.offered if self._updates is not None else None)
            case PreferencesPage():
                page.theme_changed.connect(self.show_theme)
                page.notifications_changed.connect(self.notifications_changed)
                page.restart_wanted.connect(self.restart_wanted)
            case FirstRunPage():
                page.chat_wanted.connect(lambda: self.open("chat"))
                page.finished.connect(self._refresh)

    def _add_shortcuts(self) -> None:
        """Let Ctrl+1 open the first page, and so on; Ctrl+0 opens the tenth, and Ctrl+Page Down the next one."""
        for number, entry in enumerate(pages.SIDEBAR[:10], start=1):
            shortcut = QShortcut(QKeySequence(f"Ctrl+{number % 10}"), self)
            shortcut.activated.connect(lambda key=entry.key: self.open(key))
        for keys, step in (("Ctrl+PgDown", 1), ("Ctrl+PgUp", -1)):
            QShortcut(QKeySequence(keys), self).activated.connect(lambda step=step: self._open_beside(step))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Close), self).activated.connect(self.close)

    def _open_beside(self, step: int) -> None:
        """Open the page that stands `step` further in the sidebar."""
        keys = [entry.key for entry in pages.SIDEBAR]
        place = keys.index(self._key) if self._key in keys else 0
        self.open(keys[(place + step) % len(keys)])

    @staticmethod
    def _entry(key: str) -> PageEntry:
        return next(entry for entry in pages.SIDEBAR if entry.key == key)

    def _build_frame(self) -> QWidget:
        above = row(self._notice)
        above.setContentsMargins(theme.SPACE_XL, theme.SPACE_S, theme.SPACE_XL, 0)
        beside = column(above, (self._pages, 1), spacing=0)
        return holder(row(self._sidebar, (beside, 1), spacing=0))


def _size_on(screen: QSize) -> QSize:
    """Return the size at which the window opens on a screen of which `screen` is free."""
    return _SIZE.boundedTo(screen - QSize(0, _TITLE_BAR)).expandedTo(_SMALLEST)


def _is_installing(state: UpdatesState) -> bool:
    """Tell whether the daemon is about to go away for a moment and come back as a new version."""
    return state.progress is not None and state.offered is not None
