"""Explains in one sentence why an engine ended, and decides how long to wait before the next one is started. Pure."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from potluck_control.processes.engine_messages import Failed

from potluck.errors import PotluckError
from potluck.protocol.values import printable
from potluck.sentences import NOTHING, Sentence, sentence, verbatim

FIRST_DELAY_S = 1.0
DELAY_FACTOR = 2.0
LONGEST_DELAY_S = 300.0
STABLE_AFTER_S = 60.0  # an engine that served for so long failed for a new reason, so the first delay applies again
EXPLAINED_DELAY_S = 30.0  # the least delay after an explained failure, such as a missing checkpoint
MAX_LETTERS = 200  # the most letters of the last words
_MOST_EXPLAINED = 300  # letters of an engine's own explanation
_DUMP = (
    "Extension modules: ",
    "  File ",
    "Thread 0x",
    "Current thread 0x",
    "  ...",
)  # lines of a crash report, which belong in the log


def delay_s(failures: int, *, explained: bool) -> float:
    """Return the seconds to wait after this many failures in a row. `explained`: the engine gave a reason."""
    delay = min(FIRST_DELAY_S * DELAY_FACTOR ** (min(failures, 32) - 1), LONGEST_DELAY_S)
    return max(delay, EXPLAINED_DELAY_S) if explained else delay


@dataclass(frozen=True, slots=True)
class EngineExit:
    """The end of a process. `returncode` is negative for a signal, as in subprocess."""

    returncode: int
    last_lines: Sequence[str] = ()  # the end of its standard error
    failed: Failed | None = None  # its own explanation
    killed_because: Sentence = NOTHING  # why we killed it, e.g. "it stopped answering"; nothing: we did not
    memory_kills: int | None = None  # kills by the kernel meanwhile because memory ran out; None: unknown

    @property
    def ran_out_of_memory(self) -> bool:
        """True if an engine of the same size would end in the same way. A kill that nobody explains counts."""
        if self.failed is not None or self.killed_because:
            return False
        if self.returncode < 0:
            return self.returncode == -signal.SIGKILL and self.memory_kills != 0
        text = "\n".join(self.last_lines)
        return "out of memory" in text.lower() or "MemoryError" in text


def diagnose(end: EngineExit) -> Sentence:
    """Return why an engine ended in one sentence, with advice if there is any."""
    if end.failed is not None:
        why = end.failed.error
        line = printable(why.text, _MOST_EXPLAINED)
        if line != why.text:  # such as a driver's report of many lines
            why = verbatim(line)
        return PotluckError(sentence("The engine gave up: {why}", why=why), hint=end.failed.advice).whole
    if end.killed_because:
        return sentence("The engine was ended because {why}", why=end.killed_because)
    if end.ran_out_of_memory:
        return sentence(
            "Memory ran out, so the engine starts again with less (to choose how much: serve.memory_limit_mb)"
        )
    if end.returncode < 0:
        return _by_signal(-end.returncode, end.last_lines)
    return _by_code(end.returncode, end.last_lines)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _by_signal(number: int, last_lines: Sequence[str]) -> Sentence:
    if number == signal.SIGKILL:
        return sentence("The engine was killed by another program")
    name = signal_name(number)
    if number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT):
        what = _with_last_words(sentence("The engine crashed with {name}", name=name), last_lines)
        return PotluckError(what, hint=sentence("a driver or torch build that does not fit?")).whole
    return sentence("The engine was ended by signal {name}", name=name)


def _by_code(code: int, last_lines: Sequence[str]) -> Sentence:
    if any("ModuleNotFoundError" in line for line in last_lines):
        what = _with_last_words(sentence("The engine's packages are not installed"), last_lines)
        return PotluckError(what, hint=sentence("install potluck with the extra `engine`")).whole
    if code == 0:
        return sentence("The engine ended by itself")
    return _with_last_words(sentence("The engine ended with code {number}", number=code), last_lines)


def _with_last_words(what: Sentence, last_lines: Sequence[str]) -> Sentence:
    words = (" ".join(line.split()) for line in reversed(last_lines) if not line.startswith(_DUMP))
    last = next((line for line in words if line), "")
    if len(last) > MAX_LETTERS:
        last = last[: MAX_LETTERS - 1] + "…"
    return sentence("{what}: {why}", what=what, why=last) if last else what
