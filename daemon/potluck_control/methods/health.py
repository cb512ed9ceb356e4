"""`doctor.*` and `diag.export`: the doctor's findings as they come, and a bundle for somebody who helps."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.api.method import Empty, Method
from potluck_control.states import OpenEnum


class Severity(StrEnum):
    """The weight of a finding."""

    OK = "ok"
    NOTE = "note"  # good to know
    WARNING = "warning"  # it works, but worse than it could
    ERROR = "error"  # it does not work


class Subject(OpenEnum):
    """What a finding is about, as far as a page treats it on its own."""

    FOLDER = "folder"  # the folder of the engine's environment
    ROOM = "room"  # free space on that folder's disk
    BUILD = "build"  # the build of PyTorch, as the set-up's plan says
    UNKNOWN = "unknown"  # anything else


class Finding(Struct, frozen=True):
    """The answer to one question. `advice`: what to do; empty: nothing."""

    check: Sentence  # the question
    severity: Severity
    text: Sentence
    advice: Sentence = NOTHING
    subject: Subject = Subject.UNKNOWN


class Examination(Struct, frozen=True):
    """The findings so far, one for each check. `at`: when it began, in Unix seconds; 0: never."""

    findings: tuple[Finding, ...] = ()
    num_checks: int = 0
    is_running: bool = False
    at: float = 0.0


class BundleParams(Struct, frozen=True):
    """The bundle to write. `path`: absolute, of a file that does not exist yet."""

    path: Annotated[str, Meta(max_length=4096, pattern=r"^/[^\0]*\Z")]


class Bundle(Struct, frozen=True):
    """The bundle that was written. `parts`: names of the files in it."""

    file: str
    bytes: int
    parts: tuple[str, ...] = ()


EXAMINE = Method("doctor.run", Empty, Examination)  # begins unless one runs; `doctor.findings` has the results
FINDINGS = Method("doctor.findings", Empty, Examination)
EXPORT = Method("diag.export", BundleParams, Bundle)
