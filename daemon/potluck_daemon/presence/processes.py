"""Keeps a table of the running programs, cheaply. Linux only.

The last process id in /proc/loadavg changes when anything starts, so a look that finds it unchanged costs one small
read. The kernel gives ids in rising order, so a look reads only the ids between the last one and this one. A young
process is read again a few times, because its name changes when it executes the program. All processes are read again
now and then, because an old one may execute another program, too; their arguments only if they did. Each look checks
those that a probe found.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.probe import ProbeUnavailableError, Surroundings

FRESH_S = 0.05  # a look that another probe took just now is as good
YOUNG_S = 1.5  # a process that was not read at this age or later may still execute another program
_MAX_NEW_IDS = 24  # more new ids than this make listing /proc cheaper than trying each one
REREAD_S = 10.0
_MAX_STAT_BYTES = 1024
_MAX_CMDLINE_BYTES = 8192
_MAX_ENVIRONMENT_BYTES = 64 * 1024
_JAVA_PATHS = ("-cp", "-classpath", "--class-path", "-p", "--module-path")
_INTERPRETERS = ("python", "perl", "ruby", "java", "mono", "node", "bash", "sh", "dash", "wine")


@dataclass(frozen=True, slots=True)
class Program:
    """A running process and its names."""

    pid: int
    parent: int
    comm: str  # the kernel's name, 15 letters at most
    arguments: tuple[str, ...]
    execution: tuple[bytes, ...] = field(default=(), repr=False, compare=False)  # differs when it executes another file

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the executable, the first arguments and every .exe among them, in lower case."""
        exes = (item for item in self.arguments if item.lower().endswith(".exe"))
        return tuple(base_name(item) for item in (self.comm, *self.arguments[:2], *exes) if item)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names of the program itself, in lower case, without those of files that it opens."""
        return tuple(base_name(item) for item in (self.comm, *self.arguments[:1], self.app) if item)

    @property
    def app(self) -> str:
        """The one name that the user would put on a list."""
        exes = [name for name in self.names if name.endswith(".exe")]
        if exes:
            return exes[-1]
        first = base_name(self.arguments[0]) if self.arguments else ""
        if first.startswith(_INTERPRETERS):
            return base_name(_script(first, self.arguments[1:])) or first
        return first if first.startswith(self.comm.lower()) else self.comm.lower()


class ProcessTable:
    """All processes but our own. `version` changes when `programs` does.

    The end of a process that no probe has found may be noticed only when all are read again.
    """

    def __init__(self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
        self.proc = surroundings.proc
        self._own_pid = surroundings.own_pid
        self._clock = clock
        self._young: dict[int, tuple[float, float]] = {}  # when a young process was first seen, and is due again
        self._all: dict[int, Program] = {}  # own processes included, to know which ones this daemon started
        self._reread_at = 0.0
        self._looked_at = -math.inf
        self._last_pid = 0
        self.programs: dict[int, Program] = {}
        self.version = 0

    def refresh(self, found: Collection[int] = ()) -> Mapping[int, Program]:
        """Return all processes but our own by id. Those in `found` are checked for their end.

        Raises:
            ProbeUnavailableError: the list cannot be read.
        """
        now = self._clock()
        if now - self._looked_at < FRESH_S:
            return self.programs
        self._looked_at = now
        due = {pid for pid, (_, due_at) in self._young.items() if now >= due_at}
        try:
            last_pid = int(contents(f"{self.proc}/loadavg", 100).rsplit(b" ", 1)[-1])
            if 0 <= last_pid - self._last_pid <= _MAX_NEW_IDS and now < self._reread_at:
                new, gone = set(range(self._last_pid + 1, last_pid + 1)), set[int]()
            else:
                listed = {int(entry) for entry in os.listdir(self.proc) if entry.isdigit()}
                new, gone = listed - self._all.keys(), self._all.keys() - listed
        except OSError as error:
            raise ProbeUnavailableError(
                sentence("the list of processes cannot be read ({why})", why=str(error.strerror))
            ) from error
        self._last_pid = last_pid
        again = new | gone | due | set(found)
        if now >= self._reread_at:
            self._reread_at = now + REREAD_S
            again |= self._all.keys()
        self._young |= {
            pid: (self._young[pid][0], 2 * now - self._young[pid][0]) for pid in due
        }  # the next reading is due at twice its age
        self._young |= dict.fromkeys(new, (now, now))
        self._read_again(again)
        self._young = {
            pid: times for pid, times in self._young.items() if pid in self._all and times[1] - times[0] < 2 * YOUNG_S
        }
        return self.programs

    def variables(self, program: Program) -> Mapping[str, str]:
        """Return the environment that a program was started with; empty for another user's program."""
        try:
            text = contents(f"{self.proc}/{program.pid}/environ", _MAX_ENVIRONMENT_BYTES).decode(errors="replace")
        except OSError:  # another user's, or gone
            return {}
        return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)

    def tree(self, root: int) -> set[int]:
        """Return the ids of a process and of all below it; empty if it is gone."""
        found: set[int] = set()
        more = self._all.keys() & {root}
        while more:
            found |= more
            more = {pid for pid, program in self._all.items() if program.parent in found and pid not in found}
        return found

    def _read_again(self, pids: Collection[int]) -> None:
        """Read some processes again, and store what has changed."""
        has_changed = False
        for pid in sorted(pids):
            known = self._all.get(pid)
            read = read_program(self.proc, pid, known)
            if read is known:  # the known one stays the same object: probes remember judgements by it
                continue
            has_changed = True
            if read is None:
                del self._all[pid]
            else:
                self._all[pid] = read
        if has_changed:
            ours = self.tree(self._own_pid)
            self.programs = {pid: program for pid, program in self._all.items() if pid not in ours}
            self.version += 1


def contents(path: str, max_bytes: int) -> bytes:
    """Return the beginning of a file of the kernel, in a third of the time that `open` takes."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, max_bytes)
    finally:
        os.close(handle)


def base_name(path: str) -> str:
    """Return the last part of a path of Linux or Windows, in lower case."""
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower()


def _script(interpreter: str, arguments: Iterable[str]) -> str:
    """Return what an interpreter runs: the first argument that is neither an option nor the value of a class path."""
    words = iter(arguments)
    for word in words:
        if interpreter.startswith("java") and word in _JAVA_PATHS:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def read_program(proc: Path, pid: int, known: Program | None = None) -> Program | None:
    """Return a process; None if it has ended, or if the id is a thread's, whose folder is not listed but can be opened.

    The arguments of a `known` process are read only if it has executed another file or changed its name.
    """
    try:
        head, _, rest = contents(f"{proc}/{pid}/stat", _MAX_STAT_BYTES).rpartition(b")")
        fields = rest.split()  # proc(5) numbers the first of these 3
        state, parent, exit_signal = fields[0], int(fields[1]), fields[35]
        if state in b"ZX" or exit_signal == b"-1":  # -1: a thread's
            return None
        comm = head.partition(b"(")[2].decode(errors="replace")
        execution = (fields[19], *fields[23:26], *fields[45:47])  # start time, places of code, stack and arguments
        is_same = known is not None and (known.execution, known.comm) == (execution, comm)
        if known is not None and is_same and known.parent == parent:
            return known
        if known is not None and is_same:
            arguments = known.arguments
        else:
            text = contents(f"{proc}/{pid}/cmdline", _MAX_CMDLINE_BYTES).decode(errors="replace")
            arguments = tuple(item for item in text.split("\0") if item)
    except OSError:  # it ended while we looked
        return None
    return Program(pid, parent, comm, arguments, execution)
