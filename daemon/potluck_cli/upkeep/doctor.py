"""`potluck doctor`: finds what stands in the way, and what to do about it.

Answer questions about this machine, such as "Is the clock right?", and say what to do where the answer is bad. The exit
code is 1 if something does not work, else 0. Nothing is changed, and only the addresses in your invite are contacted.

  potluck doctor
  potluck doctor --json | jq '.findings[] | select(.severity == "error")'
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from potluck_control.methods.health import Finding, Severity
from potluck_control.places import find_places
from potluck_daemon.doctor.checks import examine, read_scene

from potluck_cli.daemon_access import status_or_reason
from potluck_cli.options import print_result
from potluck_cli.terminal import Style, Terminal, WaitNotice

_MARKS = {
    Severity.OK: ("✓", Style.GREEN),
    Severity.NOTE: ("·", Style.FAINT),
    Severity.WARNING: ("!", Style.YELLOW),
    Severity.ERROR: ("✗", Style.RED),
}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """`works`: no finding is an error."""

    works: bool
    findings: tuple[Finding, ...]


RESULT = DoctorReport


def run(args: argparse.Namespace) -> int:
    places, found = find_places(), status_or_reason()
    with WaitNotice("Checking this machine", 5):
        findings = tuple(examine(read_scene(places, found)))
    works = not any(finding.severity is Severity.ERROR for finding in findings)
    terminal = Terminal()
    print_result(
        args, DoctorReport(works, findings), (line for finding in findings for line in lines(finding, terminal))
    )
    return 0 if works else 1


def lines(finding: Finding, terminal: Terminal) -> list[str]:
    """Return the question with its answer, and below it what to do."""
    mark, style = _MARKS[finding.severity]
    first = f"{terminal.styled(mark, style)} {finding.check} {finding.text}"
    return [first, *([f"    {finding.advice}"] if finding.advice else [])]
