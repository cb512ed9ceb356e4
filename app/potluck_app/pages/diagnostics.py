"""Diagnostics: findings of a check-up, the detectors, a report for people who help, and the log."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version
from pathlib import Path

from potluck_control import schema
from potluck_control.methods import health
from potluck_control.methods.health import Bundle, BundleParams, Examination, Finding, Severity
from potluck_control.schema import Logs, LogsParams, Status
from PySide6.QtCore import QSysInfo, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QProgressBar

from potluck_app.pages.detectors_card import DetectorsCard
from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, line, text
from potluck_app.widgets.findings import finding_line
from potluck_app.widgets.layout import Item, Poll, Slot, column, holder, row
from potluck_app.widgets.log_view import LogView
from potluck_app.widgets.placeholder import Placeholder
from potluck_app.widgets.saving import choose_file
from potluck_app.widgets.theme import Type
from potluck_app.words import dates, numbers, sentences, states
from potluck_app.words.daemon_texts import translated

_LINES = 200


class Diagnostics(Section):
    """Shows the last check-up; the user starts a new one. The detectors are those of a `Status`."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._status: Status | None = None
        self._shown: tuple[Finding, ...] | None = None
        self._check = Button(self.tr("Run a check-up"), "refresh", "primary", self._examine)
        self._progress, self._findings = QProgressBar(), Slot()
        self._when = text("muted", kind=Type.CAPTION)
        self._nothing = Placeholder(
            "diagnostics",
            self.tr("Not checked yet"),
            self.tr("A check-up covers the installation, disk, graphics card, network and swarm."),
        )
        self._detectors = DetectorsCard()
        self._log, self._log_path = LogView(), text("muted", kind=Type.CAPTION)
        self._poll = Poll(self, lambda: self.page.ask(health.FINDINGS, None, self._show))
        self._build()

    def show_status(self, status: Status) -> None:
        self._status = status
        place = self.page.verticalScrollBar().value()
        self._detectors.show_probes(status.probes)
        self.page.verticalScrollBar().setValue(place)  # it stays where the user has scrolled

    def refresh(self) -> None:
        self.page.ask(health.FINDINGS, None, self._show)
        self.page.ask(schema.LOGS, LogsParams(_LINES), self._show_log)

    def _show(self, examination: Examination) -> None:
        self._check.setText(self.tr("Checking…") if examination.is_running else self.tr("Run a check-up"))
        self._progress.setVisible(examination.is_running)
        self._progress.setRange(0, max(examination.num_checks, 1))
        self._progress.setValue(len(examination.findings))
        self._nothing.setVisible(not examination.at)
        if examination.is_running:
            done, every = len(examination.findings), examination.num_checks
            said = self.tr("Checked {done} of {all}…").format(done=done, all=every)
        else:
            said = self.tr("Checked {time}.").format(time=dates.clock(examination.at)) if examination.at else ""
        self._when.say(said)
        self._show_findings(examination.findings)
        self._poll.run_while(examination.is_running)

    def _show_findings(self, findings: tuple[Finding, ...]) -> None:
        if findings == self._shown:
            return
        self._shown = findings
        lines: list[Item] = []
        for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
            for finding in findings:
                if finding.severity is severity:
                    said = f"{translated(finding.check)} {sentences.answer(finding.text)}"
                    lines.extend((finding_line(severity, said, sentences.advice(finding.advice)), line()))
        fine = [translated(finding.check) for finding in findings if finding.severity is Severity.OK]
        if fine:
            said = self.tr("%n check(s) found nothing wrong", "", len(fine))
            lines.append(finding_line(Severity.OK, said, " ".join(fine)))
        self._findings.show_content(holder(column(*lines)))

    def _show_log(self, logs: Logs) -> None:
        self._log_path.setText(logs.path)
        self._log.show_lines(logs.lines)

    def _examine(self) -> None:
        self.page.ask(health.EXAMINE, None, self._show)

    def _choose_file(self) -> None:
        name = f"potluck-report-{datetime.datetime.now():%Y-%m-%d-%H%M%S}.zip"
        file = choose_file(self, self.tr("Save a report"), name, self.tr("Report (*.zip)"))
        if file is not None:
            self.page.ask(health.EXPORT, BundleParams(str(file)), self._tell_bundle)

    def _tell_bundle(self, bundle: Bundle) -> None:
        said = self.tr("Saved {file} ({size}): {parts}.")
        self.page.tell(said.format(file=bundle.file, size=numbers.size(bundle.bytes), parts=", ".join(bundle.parts)))

    def _copy(self) -> None:
        if self._status is not None:
            QGuiApplication.clipboard().setText(describe(self._status))
            self.page.tell(self.tr("Copied, without keys or addresses."))

    def _build(self) -> None:
        self.setFocusProxy(self._check)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Check-up progress"))
        self._progress.hide()
        self._when.hide()
        parts = (self._nothing, self._progress, self._findings, row(self._check, (self._when, 1), None))
        note = self.tr("A report holds settings, history and log, without keys, invites, addresses or your user name.")
        save = Button(self.tr("Save a report…"), "save", act=self._choose_file)
        copy = Button(self.tr("Copy system info"), "copy", act=self._copy)
        self.fill(
            Card(self.tr("Check-up"), *parts),
            Card(self.tr("Get help"), text("muted", said=note), row(save, copy, None)),
            self._detectors,
            Card(self.tr("Log"), self._log, self._log_path),
        )


def describe(status: Status) -> str:
    """Describe the installation in English, for people who read many such reports."""
    swarm = status.swarm
    lines = {
        "Potluck": f"app {version('potluck')}, daemon {status.version}",
        "System": f"{QSysInfo.prettyProductName()}, {QSysInfo.kernelVersion()}, {QSysInfo.currentCpuArchitecture()}",
        "Python, Qt": f"{platform.python_version()}, {qVersion()} on {QGuiApplication.platformName()}",
        "State": f"{status.state}, {status.reason}: {status.text}",
        "Engine": f"{'running' if status.engine.pid else 'ended'}, restarts {status.engine.restarts}",
        "Last failure": status.engine.last_failure or "none",
        "Model": "none" if swarm is None else f"{swarm.model}, blocks {swarm.span} of {swarm.num_blocks}",
        "Memory": states.memory(status),
        "Watching": "; ".join(f"{probe.name}: {probe.state}" for probe in status.probes) or "not told",
        "Notices": "; ".join(map(str, status.notices)) or "none",
    }
    return "\n".join(f"{name}: {said}" for name, said in lines.items()).replace(str(Path.home()), "~")
