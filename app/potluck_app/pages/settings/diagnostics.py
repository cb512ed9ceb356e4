"""Diagnostics: findings of a check-up, the detectors, a report for people who help, and the log."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from potluck_control.api import schema
from potluck_control.methods import health
from PySide6.QtCore import QSysInfo, Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QProgressBar

from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.copying import LogView
from potluck_app.widgets.dialogs import choose_file
from potluck_app.widgets.parts import (
    Card,
    ContentArea,
    Item,
    Placeholder,
    PollTimer,
    caption,
    divider,
    muted,
    row,
    strong,
    text,
)
from potluck_app.widgets.row import finding_line
from potluck_app.words import formats, sentences, states
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_GROUPS = {
    schema.ProbeState.SEEN: QT_TRANSLATE_NOOP("", "Detecting something now"),
    schema.ProbeState.FAILED: QT_TRANSLATE_NOOP("", "Not working"),
    schema.ProbeState.WATCHING: QT_TRANSLATE_NOOP("", "Active, nothing detected"),
    schema.ProbeState.ASLEEP: QT_TRANSLATE_NOOP("", "Resting while Potluck is not serving"),
    schema.ProbeState.UNAVAILABLE: QT_TRANSLATE_NOOP("", "Not available on this computer"),
    schema.ProbeState.OFF: QT_TRANSLATE_NOOP("", "Off in your settings"),
    schema.ProbeState.UNKNOWN: QT_TRANSLATE_NOOP("", "Known only to a newer version"),
}
_LINES = 200


class DetectorsCard(Card):
    """The detectors: which of them see a game or activity, and which fail. Hidden while the daemon has none."""

    def __init__(self) -> None:
        super().__init__()
        self._probes: Sequence[schema.ProbeStatus] = ()
        self._list = ContentArea()
        self.fill(self.tr("Detectors"), self._list)
        self.hide()

    def show_probes(self, probes: Sequence[schema.ProbeStatus]) -> None:
        if probes != self._probes:
            self._probes = probes
            parts = [_group(state, [probe for probe in probes if probe.state is state]) for state in _GROUPS]
            self._list.show_items(*(item for group in parts for item in group))
        self.setVisible(bool(probes))


def _group(state: schema.ProbeState, probes: Sequence[schema.ProbeStatus]) -> tuple[Item, ...]:
    """Return the heading of the detectors in a state, and what each of them says; nothing without any."""
    if not probes:
        return ()
    heading = strong(tr(_GROUPS[state]))
    if not any(probe.detail for probe in probes):
        return heading, muted(", ".join(sentences.translated(probe.name) for probe in probes))
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_S)
    grid.setColumnStretch(0, 1)
    grid.setColumnStretch(1, 3)
    for place, probe in enumerate(probes):
        name, detail = sentences.translated(probe.name), sentences.translated(probe.detail)
        why = text(detail, colour="error" if state is schema.ProbeState.FAILED else "muted")
        why.setAccessibleName(f"{name}: {detail}")
        grid.addWidget(text(name), place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(why, place, 1)
    return heading, grid


class DiagnosticsSection(PageSection):
    """The last check-up, the detectors of a `Status`, and the log. The user starts a new check-up."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._status: schema.Status | None = None
        self._shown: tuple[health.Finding, ...] | None = None
        self._check = Button(self.tr("Run a check-up"), "refresh", "primary", self._examine)
        self._progress, self._findings = QProgressBar(), ContentArea()
        self._when = caption()
        self._nothing = Placeholder(
            "diagnostics",
            self.tr("Not checked yet"),
            self.tr("A check-up covers the installation, disk, graphics card, network and swarm."),
        )
        self._detectors = DetectorsCard()
        self._log, self._log_path = LogView(), caption()
        self._poll = PollTimer(self, lambda: self.page.call(health.FINDINGS, None, self._show))
        self._build()

    def show_status(self, status: schema.Status) -> None:
        self._status = status
        place = self.page.verticalScrollBar().value()
        self._detectors.show_probes(status.probes)
        self.page.verticalScrollBar().setValue(place)  # the page must not scroll when a card changes its height

    def refresh(self) -> None:
        self.page.call(health.FINDINGS, None, self._show)
        self.page.call(schema.LOGS, schema.LogsParams(_LINES), self._show_log)

    def _show(self, examination: health.Examination) -> None:
        self._check.setText(self.tr("Checking…") if examination.is_running else self.tr("Run a check-up"))
        self._progress.setVisible(examination.is_running)
        self._progress.setRange(0, max(examination.num_checks, 1))
        self._progress.setValue(len(examination.findings))
        self._nothing.setVisible(not examination.at)
        if examination.is_running:
            done, every = len(examination.findings), examination.num_checks
            message = self.tr("Checked {done} of {all}…").format(done=done, all=every)
        else:
            message = self.tr("Checked {time}.").format(time=formats.clock(examination.at)) if examination.at else ""
        self._when.say(message)
        self._show_findings(examination.findings)
        self._poll.run_while(examination.is_running)

    def _show_findings(self, findings: tuple[health.Finding, ...]) -> None:
        if findings == self._shown:
            return
        self._shown = findings
        lines: list[Item] = []
        for severity in (health.Severity.ERROR, health.Severity.WARNING, health.Severity.NOTE):
            for finding in findings:
                if finding.severity is severity:
                    message = f"{sentences.translated(finding.check)} {sentences.answer(finding.text)}"
                    lines.extend((finding_line(severity, message, sentences.advice(finding.advice)), divider()))
        fine = [sentences.translated(finding.check) for finding in findings if finding.severity is health.Severity.OK]
        if fine:
            message = self.tr("%n check(s) found nothing wrong", "", len(fine))
            lines.append(finding_line(health.Severity.OK, message, " ".join(fine)))
        self._findings.show_items(*lines)

    def _show_log(self, logs: schema.Logs) -> None:
        self._log_path.setText(logs.path)
        self._log.show_lines(logs.lines)

    def _examine(self) -> None:
        self.page.call(health.EXAMINE, None, self._show)

    def _choose_file(self) -> None:
        name = f"potluck-report-{datetime.datetime.now():%Y-%m-%d-%H%M%S}.zip"
        file = choose_file(self, self.tr("Save a report"), name, self.tr("Report (*.zip)"))
        if file is not None:
            self.page.call(health.EXPORT, health.BundleParams(str(file)), self._show_bundle)

    def _show_bundle(self, bundle: health.Bundle) -> None:
        message = self.tr("Saved {file} ({size}): {parts}.")
        message = message.format(file=bundle.file, size=formats.size(bundle.bytes), parts=", ".join(bundle.parts))
        self.page.announce(message)

    def _copy(self) -> None:
        if self._status is not None:
            QGuiApplication.clipboard().setText(describe_installation(self._status))
            self.page.announce(self.tr("Copied, without keys or addresses."))

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
            Card(self.tr("Get help"), muted(note), row(save, copy, None)),
            self._detectors,
            Card(self.tr("Log"), self._log, self._log_path),
        )


def describe_installation(status: schema.Status) -> str:
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
    return "\n".join(f"{name}: {message}" for name, message in lines.items()).replace(str(Path.home()), "~")
