"""The one window: pages beside the sidebar, the first run, or the page while the daemon is away."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from potluck_control.api.schema import Status
from potluck_control.api.versions import Agreement
from potluck_control.methods.installation import SetupState, UpdatesState
from potluck_control.states import Reason
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QHideEvent, QKeyEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QStackedWidget, QWidget

from potluck.errors import PotluckError
from potluck_app.pages import catalogue
from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.catalogue import PageEntry
from potluck_app.pages.destination import Destination
from potluck_app.pages.page import Fold, Page
from potluck_app.shell.away import AwayPage
from potluck_app.shell.link import Absence
from potluck_app.shell.sidebar import Sidebar
from potluck_app.shell.warming import GatewayWarming
from potluck_app.widgets import style, theme
from potluck_app.widgets.parts import holder, row
from potluck_app.words import sentences

_CHAT = "chat"
_SIZE, _SMALLEST = QSize(960, 720), QSize(680, 400)  # the smallest fits 1280 x 720 at 150 %
_TITLE_BAR = 40  # height of what the desktop draws around the window


class MainWindow(QStackedWidget):
    """The window hides when it is closed while there is a tray icon, and quits the app otherwise.

    Signals: `closed_without_tray()`, `seen_changed(bool)` when it is shown or hidden, `restart_wanted()`, and
    `preference_changed(str, object)` of `Page`.
    """

    closed_without_tray = Signal()
    restart_wanted = Signal()
    seen_changed = Signal(bool)
    preference_changed = Signal(str, object)

    def __init__(self, link: DaemonCaller, log_file: Path | None = None) -> None:
        super().__init__()
        self._link, self._log_file = link, log_file
        self._warming = GatewayWarming(link)
        self._made: dict[str, Page] = {}
        self._build()
        self._add_shortcuts()
        self.has_tray, self._is_hidden = False, False
        self._front: QWidget | None = None
        self._key = catalogue.SIDEBAR[0].key
        self._part: tuple[Destination | None, str] = None, ""  # a part of the page to lead to once the page is shown
        self._agreement = ""
        self._standing = "", ""  # message and button on every page
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
                made.clear_problems()  # they were about a daemon that was away
        self._status = status
        self._refresh()

    def show_away(self, reason: str, absence: Absence = Absence.GONE) -> None:
        self._status, self._away = None, (reason, absence)
        self._refresh()

    def show_agreement(self, agreement: Agreement) -> None:
        """Warn on every page if the daemon is of another version."""
        self._agreement = sentences.difference(agreement)
        self._show_standing(self._agreement)

    def offer_restart(self, running: str, installed: str) -> None:
        """Offer a restart on every page if an update has exchanged the app under its window."""
        if installed == running:
            self._show_standing(self._agreement)
            return
        text = self.tr(
            "Potluck {installed} is installed, and this window still runs {running}. Restarting it ends your chat, but "
            "not your serving."
        )
        self._show_standing(text.format(installed=installed, running=running), self.tr("Restart"))

    def rebuild(self) -> None:
        """Make all pages again in another language; the user stays where they are."""
        before, front = self._made, self.page
        place = front.verticalScrollBar().value() if front is not None else 0
        leaving = [self.away, self._frame, *before.values()]
        self._made, self._front = {}, None
        self._build()
        for key, page in before.items():
            if page.is_unsaved and not (new := self._page(self._entry(key))).restore_from(page):
                self._put(self._entry(key), page)
                leaving[leaving.index(page)] = new
        self.show_theme()
        self.show_away(*self._away) if self._status is None else self._refresh()
        for widget in leaving:
            widget.deleteLater()
        if self.page is not None:
            QTimer.singleShot(0, self.page, partial(self.page.verticalScrollBar().setValue, place))

    def show_setup(self, state: SetupState) -> None:
        """Show how far the engine's set-up is."""
        for page in self._made.values():
            page.show_setup(state)

    def show_updates(self, state: UpdatesState) -> None:
        """Offer a newer version of Potluck."""
        self._updates = state
        for page in self._made.values():
            page.show_updates(state)

    def show_theme(self) -> None:
        """Follow the desktop's light or dark theme."""
        colours = theme.colours()
        QApplication.setPalette(theme.palette(colours))
        self.setStyleSheet(style.style_sheet(colours))
        self.setAutoFillBackground(True)
        self._refresh()

    def open(self, key: str, part: Destination | None = None, swarm: str = "") -> None:
        """Open a page of the sidebar, at a part of it if one is given."""
        self._key, self._part = key, (part, swarm)
        if key == _CHAT:
            self._warming.expect(is_likely=True)
        if self._status is not None:
            self._refresh()

    def go(self, part: Destination, swarm: str = "") -> None:
        """Go to a destination; `swarm` is the one whose link was opened, if a link led here."""
        key, name = part.value
        self.open(key, part if name else None, swarm)

    def raise_at(self, part: Destination, swarm: str = "") -> None:
        """Come to the front at a destination that was chosen in the menu, or by opening the link of `swarm`."""
        self.raise_window()
        self.go(part, swarm)

    def show_error(self, error: PotluckError) -> None:
        """Come to the front and show why a command of the menu failed."""
        self.raise_window()
        if self.page is not None:
            self.page.show_error(error)

    def raise_window(self) -> None:
        """Show the window in front, whatever it was before."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        """Let Enter press the button that has the keyboard, as Space does, and Escape close the fold around it.

        Qt brings here the keys that no widget used.
        """
        focused = self.focusWidget()
        around: QWidget | None = focused
        while around is not None and not (isinstance(around, Fold) and around.is_open):
            around = around.parentWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focused, QAbstractButton):
            focused.click()
        elif event.key() == Qt.Key.Key_Escape and isinstance(around, Fold):
            around.open(False)
            around.setFocus()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 (Qt's name)
        event.accept()
        if not self.has_tray:
            self.closed_without_tray.emit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        self._is_hidden, before = False, self._front
        self._warming.expect(is_likely=self._key == _CHAT)
        self._refresh()
        if self.page is not None and self.page is before:
            self.page.refresh()  # its answers are from before it was hidden
        self.seen_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._is_hidden = True
        self.seen_changed.emit(False)

    def _refresh(self) -> None:
        """Show the page that fits the status. A hidden window does so when it is shown."""
        status = self._status
        if status is None:
            is_updating = self._updates is not None and _is_installing(self._updates)
            self.away.show_reason(*self._away, is_updating=is_updating)
            self._turn_to(self.away)
            return
        if self._is_hidden:
            return
        first_run = self._made.get(catalogue.FIRST_RUN.key)
        is_first = status.reason is Reason.NO_SWARM or (first_run is not None and first_run.is_open)
        entry = catalogue.FIRST_RUN if is_first else self._entry(self._key)
        page = self._page(entry)
        page.show_status(status)
        self._sidebar.show_status(status)
        self._sidebar.show_page(entry.key)
        self._turn_to(page)
        (part, swarm), self._part = self._part, (None, "")
        if part is not None:
            page.go_to(part, swarm)
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
            page = entry.make(self._link)
            self._put(entry, page)
            self._connect(page)
        return self._made[entry.key]

    def _put(self, entry: PageEntry, page: Page) -> None:
        self._made[entry.key] = page
        (self if entry is catalogue.FIRST_RUN else self._pages).addWidget(page)

    def _connect(self, page: Page) -> None:
        """Connect a page's signals, and show on it what every page shows."""
        page.requested.connect(self.go)
        page.show_standing(*self._standing, self.restart_wanted.emit)
        page.finished.connect(self._refresh)
        page.preference_changed.connect(self._apply_preference)
        if self._updates is not None:
            page.show_updates(self._updates)

    def _apply_preference(self, name: str, value: object) -> None:
        if name == "theme":
            self.show_theme()
        self.preference_changed.emit(name, value)

    def _show_standing(self, message: str, button: str = "") -> None:
        self._standing = message, button
        for page in self._made.values():
            page.show_standing(message, button, self.restart_wanted.emit)

    def _add_shortcuts(self) -> None:
        """Let Ctrl+1 open the first page, and so on, and Ctrl+Page Down the next one."""
        for number, entry in enumerate(catalogue.SIDEBAR, start=1):
            shortcut = QShortcut(QKeySequence(f"Ctrl+{number}"), self)
            shortcut.activated.connect(lambda key=entry.key: self.open(key))
        for keys, step in (("Ctrl+PgDown", 1), ("Ctrl+PgUp", -1)):
            QShortcut(QKeySequence(keys), self).activated.connect(lambda step=step: self._open_beside(step))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Close), self).activated.connect(self.close)

    def _open_beside(self, step: int) -> None:
        """Open the page `step` places further in the sidebar."""
        keys = [entry.key for entry in catalogue.SIDEBAR]
        place = keys.index(self._key) if self._key in keys else 0
        self.open(keys[(place + step) % len(keys)])

    @staticmethod
    def _entry(key: str) -> PageEntry:
        return next(entry for entry in (*catalogue.SIDEBAR, catalogue.FIRST_RUN) if entry.key == key)

    def _build(self) -> None:
        self.away, self._sidebar, self._pages = AwayPage(self._log_file), Sidebar(catalogue.SIDEBAR), QStackedWidget()
        self._frame = holder(row(self._sidebar, (self._pages, 1), spacing=0))
        self.addWidget(self.away)
        self.addWidget(self._frame)
        self._sidebar.chosen.connect(self.open)


def _size_on(screen: QSize) -> QSize:
    """Return the size at which the window opens where the desktop leaves `screen` free."""
    return _SIZE.boundedTo(screen - QSize(0, _TITLE_BAR)).expandedTo(_SMALLEST)


def _is_installing(state: UpdatesState) -> bool:
    """Tell whether the daemon is about to go away for a moment and come back as a new version."""
    return state.progress is not None and state.offered is not None
