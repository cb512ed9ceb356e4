"""Tells whether this program and its daemon understand each other, and which of them is older. Pure.

An update replaces the files of both while the daemon still runs, so differences are common. The user learns what to do
about one, and everything that both know goes on working.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from potluck.sentences import NOTHING, Sentence, sentence
from potluck_control.method import Method
from potluck_control.schema import API_VERSION, DaemonHello


class Difference(StrEnum):
    NONE = "none"
    OLDER_DAEMON = "older_daemon"  # the daemon still runs the program before an update
    NEWER_DAEMON = "newer_daemon"  # this program was started before an update
    OTHER_BUILD = "other_build"  # neither version is above the other


@dataclass(frozen=True, slots=True)
class Agreement:
    """`text` and `advice` are for people; both are empty without a difference."""

    difference: Difference
    text: Sentence = NOTHING
    advice: Sentence = NOTHING
    is_usable: bool = True  # False: it speaks another version of the API and must not be asked anything
    methods: tuple[str, ...] = ()

    def has(self, *methods: Method[Any, Any]) -> bool:
        """Tell whether the daemon answers all of these. An old daemon that does not list its methods is tried."""
        return not self.methods or all(method.name in self.methods for method in methods)


def agree(hello: DaemonHello, version: str) -> Agreement:
    """Compare the daemon that said `hello` with a program of this `version`."""
    difference = _difference(hello, version)
    text = sentence("The daemon runs version {theirs}, this program is {ours}", theirs=hello.version, ours=version)
    is_usable = hello.api == API_VERSION
    match difference:
        case Difference.NONE:
            return Agreement(difference, methods=hello.methods)
        case Difference.NEWER_DAEMON:
            return Agreement(difference, text, sentence("start this program again"), is_usable, hello.methods)
        case _:
            advice = sentence("restart the daemon: potluck drain, then potluck start")
            return Agreement(difference, text, advice, is_usable, hello.methods)


def _difference(hello: DaemonHello, version: str) -> Difference:
    if (hello.api, hello.version) == (API_VERSION, version):
        return Difference.NONE
    theirs, ours = (hello.api, *_numbers(hello.version)), (API_VERSION, *_numbers(version))
    if theirs == ours:
        return Difference.OTHER_BUILD
    return Difference.OLDER_DAEMON if theirs < ours else Difference.NEWER_DAEMON


def _numbers(version: str) -> tuple[int, ...]:
    """Return the same for `1.2.0` and `1.2.0+local`. A version without numbers is older than all others."""
    parts = version.partition("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())
