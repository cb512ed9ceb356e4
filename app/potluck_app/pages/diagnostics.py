"""The Diagnostics page: what a check-up finds and what to do about it, a report for somebody who helps, and the log."""

from __future__ import annotations

import datetime
from pathlib import Path

from potluck_control import schema
from potluck_control.methods import health
from potluck_control.methods.health import Bundle, BundleParams, Examination, Finding, Severity
from potluck_control.schema import Logs, LogsParams, Status
from PySide6.QtCore import QStandardPaths, QTimer
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QPlainTextEdit, QProgressBar, QVBoxLayout, QWidget

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, line, text
from potluck_app.widgets.findings import finding_line
from potluck_app.widgets.placeholder import Placeholder
from potluck_app.widgets.theme import Type
from potluck_app.words import dates, numbers, sentences, system_info
from potluck_app.words.daemon_texts import translated

_LOOK_MS = 700  # while a check-up runs
_LINES, _LOG_HEIGHT = 200, 220


class DiagnosticsPage(Page):
    """Looks at the last check-up; a new one runs when the user wants it."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Diagnostics"))
        self._status: Status | None = None
        self._shown: tuple[Finding, ...] | None = None
        self._check = Button(self.tr("Check now"), "refresh", "primary")
        self._progress, self._findings = QProgressBar(), QWidget()
        self._when = text("muted", kind=Type.CAPTION)
        self._nothing = Placeholder(
            "diagnostics",
            self.tr("Not checked yet"),
            self.tr("A check-up looks at the installation, the disk, the graphics card, the network and the swarm."),
        )
        self._log, self._log_path = QPlainTextEdit(), text("muted", kind=Type.CAPTION)
        self._again = QTimer(self)
        self._build()

    def show_status(self, status: Status) -> None:
        self._status = status

    def refresh(self) -> None:
        self.ask(health.FINDINGS, None, self._show)
        self.ask(schema.LOGS, LogsParams(_LINES), self._show_log)

    def _show(self, examination: Examination) -> None:
        self._check.setText(self.tr("Checking…") if examination.is_running else self.tr("Check now"))
        self._progress.setVisible(examination.is_running)
        self._progress.setRange(0, max(examination.num_checks, 1))
        self._progress.setValue(examination.num_done)
        self._nothing.setVisible(not examination.at)
        if examination.is_running:
            said = self.tr("Checked {done} of {all}…").format(done=examination.num_done, all=examination.num_checks)
        else:
            said = self.tr("Checked at {time}.").format(time=dates.clock(examination.at)) if examination.at else ""
        self._when.setText(said)
        self._when.setVisible(bool(said))
        self._show_findings(examination.findings)
        if examination.is_running:
            self._again.start(_LOOK_MS)

    def _show_findings(self, findings: tuple[Finding, ...]) -> None:
        if findings == self._shown:
            return
        self._shown = findings
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
            for finding in findings:
                if finding.severity is severity:
                    column.addLayout(
                        finding_line(
                            severity,
                            sentences.capital(translated(finding.text)),
                            sentences.advice(translated(finding.advice)),
                        )
                    )
                    column.addWidget(line())
        fine = [finding.check for finding in findings if finding.severity is Severity.OK]
        if fine:
            said = self.tr("%n check(s) found nothing wrong", "", len(fine))
            column.addLayout(finding_line(Severity.OK, said, ", ".join(fine)))
        self._check_card.replaceWidget(self._findings, shown)
        self._findings.setParent(None)
        self._findings = shown

    def _show_log(self, logs: Logs) -> None:
        self._log_path.setText(logs.path)
        said = "\n".join(logs.lines)
        if said != self._log.toPlainText():
            self._log.setPlainText(said)
            bar = self._log.verticalScrollBar()
            bar.setValue(bar.maximum())

    def _examine(self) -> None:
        self.ask(health.EXAMINE, None, self._show)

    def _choose_file(self) -> None:
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        name = f"potluck-report-{datetime.datetime.now():%Y-%m-%d-%H%M%S}.zip"
        kinds = self.tr("Report (*.zip)")
        chosen, _ = QFileDialog.getSaveFileName(self, self.tr("Save a report"), str(Path(folder) / name), kinds)
        if chosen:
            self.ask(health.EXPORT, BundleParams(chosen), self._tell_bundle)

    def _tell_bundle(self, bundle: Bundle) -> None:
        said = self.tr("Saved {file} ({size}): {parts}.")
        self.tell(said.format(file=bundle.file, size=numbers.size(bundle.bytes), parts=", ".join(bundle.parts)))

    def _copy(self) -> None:
        if self._status is not None:
            QGuiApplication.clipboard().setText(system_info.describe(self._status))
            self.tell(self.tr("Copied. It names versions, devices and what is watched, no keys and no addresses."))

    def _build(self) -> None:
        self.head.addWidget(self._check)
        self.setFocusProxy(self._check)
        self._check.clicked.connect(self._examine)
        self._again.setSingleShot(True)
        self._again.timeout.connect(lambda: self.ask(health.FINDINGS, None, self._show))
        for widget in (self._build_check(), self._build_report(), self._build_log()):
            self.column.addWidget(widget)

    def _build_check(self) -> QFrame:
        frame, self._check_card = card(self.tr("Check-up"))
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Progress of the check-up"))
        self._progress.hide()
        self._when.hide()
        for widget in (self._nothing, self._progress, self._findings, self._when):
            self._check_card.addWidget(widget)
        return frame

    def _build_report(self) -> QFrame:
        frame, column = card(self.tr("For somebody who helps you"))
        note = self.tr(
            "A report holds the settings, the history and the log. Keys, invites, addresses and your user name are "
            "taken out."
        )
        save, copy = Button(self.tr("Save a report…"), "save"), Button(self.tr("Copy system info"), "copy")
        save.clicked.connect(self._choose_file)
        copy.clicked.connect(self._copy)
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_M)
        row.addWidget(save)
        row.addWidget(copy)
        row.addStretch(1)
        column.addWidget(text("muted", said=note))
        column.addLayout(row)
        return frame

    def _build_log(self) -> QFrame:
        frame, column = card(self.tr("Log"))
        self._log.setReadOnly(True)
        self._log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._log.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._log.setFixedHeight(_LOG_HEIGHT)
        self._log.setTabChangesFocus(True)
        self._log.setAccessibleName(self.tr("Log of the daemon"))
        column.addWidget(self._log)
        column.addWidget(self._log_path)
        return frame
