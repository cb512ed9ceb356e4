"""The one window: Home, what is watched, the first-run page, or a word that the daemon is away."""

from __future__ import annotations

from potluck_daemon.control.schema import Status
from potluck_daemon.states import Reason
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from potluck_app import icons, theme, words
from potluck_app.first_run import FirstRunPage
from potluck_app.home import HomePage
from potluck_app.watching import WatchingPage


class AwayPage(QWidget):
    """Shown while nobody answers; comes and goes by itself. Signal: `start_wanted()`."""

    start_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._icon, self._reason = QLabel(), QLabel()
        self._button, self._failure = QPushButton("Start it"), QLabel()
        title = QLabel(words.AWAY)
        title.setFont(theme.title(self.font()))
        self._reason.setObjectName("muted")
        self._reason.setWordWrap(True)
        self._failure.setObjectName("error")
        self._failure.setWordWrap(True)
        self._button.setObjectName("primary")
        self._button.clicked.connect(self._press)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL, theme.SPACE_XL)
        column.setSpacing(theme.SPACE_M)
        column.addStretch(1)
        for widget in (self._icon, title, self._reason, self._failure):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(widget)
        column.addSpacing(theme.SPACE_M)
        self.setFocusProxy(self._button)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignCenter)
        column.addStretch(2)

    def show_reason(self, reason: str) -> None:
        self._icon.setPixmap(icons.icon(None, theme.colours()).pixmap(64, 64))
        self._reason.setText(reason)

    def show_failure(self, message: str) -> None:
        """What became of starting it; "" if it worked."""
        self._failure.setText(message)
        self._button.setEnabled(True)

    def _press(self) -> None:
        self._failure.clear()
        self._button.setEnabled(False)
        self.start_wanted.emit()


class MainWindow(QStackedWidget):
    """Closing hides it while there is a tray icon, and quits otherwise. Signal: `closed_without_tray()`."""

    closed_without_tray = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.home, self.first_run, self.away = HomePage(), FirstRunPage(), AwayPage()
        self.watching = WatchingPage()
        for page in (self.away, self.first_run, self.home, self.watching):
            self.addWidget(page)
        self.home.watching_wanted.connect(self._show_watching)
        self.watching.back_wanted.connect(self._turn_back)
        self.has_tray = False
        self._status: Status | None = None
        self._reason = "Looking for the daemon."
        self.setWindowTitle("Potluck")
        self.resize(560, 640)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self.show_theme)
        self.show_theme()

    def show_status(self, status: Status) -> None:
        self._status = status
        self._refresh()

    def show_away(self, reason: str) -> None:
        self._status, self._reason = None, reason
        self._refresh()

    def show_theme(self) -> None:
        """Follow the desktop's light or dark theme."""
        colours = theme.colours()
        QApplication.setPalette(theme.palette(colours))
        self.setStyleSheet(theme.style_sheet(colours))
        self.setAutoFillBackground(True)
        self.first_run.show_theme()
        self._refresh()

    def ask_never(self) -> None:
        """In front, with the question whether to ignore the program that runs now."""
        self.raise_up()
        if self._status is not None and self._status.reason is not Reason.NO_SWARM:
            self._turn_to(self.home)
            self.home.never.ask()

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

    def _refresh(self) -> None:
        status = self._status
        if status is None:
            self.away.show_reason(self._reason)
            self._turn_to(self.away)
        elif status.reason is Reason.NO_SWARM:
            self._turn_to(self.first_run)
        else:
            self.home.show_status(status)
            if self.currentWidget() is self.watching:
                self.watching.show_probes(status.probes)
            else:
                self._turn_to(self.home)

    def _show_watching(self) -> None:
        """Its many lines are made only when somebody looks."""
        if self._status is not None:
            self.watching.show_probes(self._status.probes)
            self._turn_to(self.watching)

    def _turn_back(self) -> None:
        self._turn_to(self.home)
        self.home.focus_watching()

    def _turn_to(self, page: QWidget) -> None:
        """Show a page; the keyboard goes to what one wants there first."""
        if self.currentWidget() is not page:
            self.setCurrentWidget(page)
            page.setFocus()
