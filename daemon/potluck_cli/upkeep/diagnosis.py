"""Finds what is wrong, and writes a report for helpers: `potluck doctor` and `potluck diag`."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods.health import Bundle, Finding, Severity
from potluck_control.places import find_places
from potluck_daemon.doctor.bundle import create_bundle, fill_bundle, words_of_person
from potluck_daemon.doctor.checks import examine, read_scene
from potluck_daemon.host.owner import drop_root

from potluck_cli.daemon_access import status_or_reason
from potluck_cli.options import print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Style, Terminal, WaitNotice

_MARKS = {
    Severity.OK: ("✓", Style.GREEN),
    Severity.NOTE: ("·", Style.FAINT),
    Severity.WARNING: ("!", Style.YELLOW),
    Severity.ERROR: ("✗", Style.RED),
}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings. `works`: none is an error."""

    works: bool
    findings: tuple[Finding, ...]


def doctor(args: argparse.Namespace) -> int:
    """Find what stands in the way, and what to do about it.

    Answer questions about this machine, such as "Is the clock right?", and say what to do where the answer is bad.
    The exit code is 1 if something does not work, else 0. Nothing is changed, and only the addresses in your invite
    are contacted.

      potluck doctor
      potluck doctor --json | jq '.findings[] | select(.severity == "error")'
    """
    places, found = find_places(), status_or_reason()
    with WaitNotice("Checking this machine", 5):
        findings = tuple(examine(read_scene(places, found)))
    works = not any(finding.severity is Severity.ERROR for finding in findings)
    terminal = Terminal()
    print_result(
        args, DoctorReport(works, findings), (line for finding in findings for line in finding_lines(finding, terminal))
    )
    return 0 if works else 1


def finding_lines(finding: Finding, terminal: Terminal) -> list[str]:
    """Return the question with its answer, and below it what to do."""
    mark, style = _MARKS[finding.severity]
    first = f"{terminal.styled(mark, style)} {finding.check} {finding.text}"
    return [first, *([f"    {finding.advice}"] if finding.advice else [])]


def diag(args: argparse.Namespace) -> int:
    """Write one file that helps others to help you, without private data.

    Write one file with versions, the findings of `potluck doctor`, settings, status, history and the end of the
    log. Keys, invites, addresses, home folders and the names of people, machines and swarms are removed. Prompts
    are never in it. The history names programs that Potluck stepped aside for. Check the file before you send it.

      potluck diag
      potluck diag --output report.zip
    """
    path = args.output or Path(time.strftime("potluck-diag-%Y%m%d-%H%M%S.zip"))
    places, found, words = find_places(), status_or_reason(), words_of_person()
    handle = create_bundle(path, replaces=True)
    drop_root(places)  # root owns the file; its contents are read as the service's user
    with WaitNotice("Checking this machine", 5):
        written = fill_bundle(handle, path, read_scene(places, found), words)
    return print_result(args, written, [f"Wrote {path}: {', '.join(written.parts)}. Check it before you send it."])


COMMANDS = {
    "doctor": Subcommand(doctor, DoctorReport),
    "diag": Subcommand(
        diag,
        Bundle,
        argument("--output", metavar="FILE", type=Path, help="default: potluck-diag-DATE.zip here"),
    ),
}
