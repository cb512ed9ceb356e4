"""Explains why the engine ended in one sentence, from its exit code and its last words. Pure."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from potluck_control.engine_messages import Failed

MAX_LETTERS = 300
_DUMP = (
    "Extension modules: ",
    "  File ",
    "Thread 0x",
    "Current thread 0x",
    "  ...",
)  # lines of a crash report, which belong in the log


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a process. `returncode` is negative for a signal, as in subprocess."""

    returncode: int
    last_lines: Sequence[str] = ()  # of its standard error
    failed: Failed | None = None  # its own explanation
    killed_because: str | None = None  # why we killed it, e.g. "it stopped answering"
    memory_kills: int | None = None  # that the kernel made meanwhile because memory ran out; None: unknown

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether an engine of the same size would end in the same way. A kill that nobody explains counts."""
        if self.failed is not None or self.killed_because is not None:
            return False
        if self.returncode < 0:
            return self.returncode == -signal.SIGKILL and self.memory_kills != 0
        text = "\n".join(self.last_lines)
        return "out of memory" in text.lower() or "MemoryError" in text


def diagnose(end: Exit) -> str:
    """Return one sentence, with advice if there is any."""
    if end.failed is not None:
        hint = f" ({end.failed.advice})" if end.failed.advice else ""
        return _one_line(f"The engine gave up: {end.failed.error}{hint}")
    if end.killed_because is not None:
        return _one_line(f"The engine was ended because {end.killed_because}")
    if end.ran_out_of_memory:
        return "Memory ran out, so the engine starts again with less (to choose how much: serve.memory_limit_mb)"
    if end.returncode < 0:
        return _one_line(_by_signal(-end.returncode, end.last_lines))
    return _one_line(_by_code(end.returncode, end.last_lines))


def _by_signal(number: int, last_lines: Sequence[str]) -> str:
    if number == signal.SIGKILL:
        return "The engine was killed by another program"
    name = signal_name(number)
    if number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT):
        return f"The engine crashed with {name}{_said(last_lines)} (a driver or torch build that does not fit?)"
    return f"The engine was ended by signal {name}"


def signal_name(number: int) -> str:
    """Return what a signal is called: SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _by_code(code: int, last_lines: Sequence[str]) -> str:
    text = "\n".join(last_lines)
    if "ModuleNotFoundError" in text:
        return f"The engine's packages are not installed{_said(last_lines)} (install potluck with the extra `engine`)"
    if code == 0:
        return "The engine ended by itself"
    return f"The engine ended with code {code}{_said(last_lines)}"


def _said(last_lines: Sequence[str]) -> str:
    words = (line.strip() for line in reversed(last_lines) if not line.startswith(_DUMP))
    last = next((line for line in words if line), "")
    return f": {last}" if last else ""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LETTERS else line[: MAX_LETTERS - 1] + "…"
