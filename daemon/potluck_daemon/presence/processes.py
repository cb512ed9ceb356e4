"""The running programs, kept up to date cheaply. Linux only.

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
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from potluck_daemon.presence.probe import Surroundings

FRESH_S = 0.05  # a look that another probe took just now is as good
YOUNG_S = 1.5  # a process this young may still execute another program
_FIRST_REREAD_S = 0.08  # after a process was seen first; then whenever its age has doubled
_MAX_NEW_IDS = 24  # to try one by one; listing /proc costs as much as trying these
REREAD_S = 10.0
_MAX_CHANGES = 256  # that are remembered, for probes that look seldom
_MAX_STAT_BYTES = 1024
_MAX_CMDLINE_BYTES = 8192
_MAX_ENVIRONMENT_BYTES = 64 * 1024
_JAVA_PATHS = ("-cp", "-classpath", "--class-path", "-p", "--module-path")
_INTERPRETERS = ("python", "perl", "ruby", "java", "mono", "node", "bash", "sh", "dash", "wine")


@dataclass(frozen=True, slots=True)
class Program:
    """A running process and what it goes by."""

    pid: int
    parent: int
    comm: str  # the kernel's name, 15 letters at most
    arguments: tuple[str, ...]
    execution: tuple[bytes, ...] = field(default=(), repr=False, compare=False)  # differs when it executes another file

    @property
    def names(self) -> tuple[str, ...]:
        """The names it goes by, in lower case: the executable, the first arguments, every .exe among them."""
        exes = (item for item in self.arguments if item.lower().endswith(".exe"))
        return tuple(base_name(item) for item in (self.comm, *self.arguments[:2], *exes) if item)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names of the program itself, in lower case, without what it was told to open."""
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


@dataclass(frozen=True, slots=True)
class _Young:
    """The times at which a young process was first seen and is to be read again."""

    first: float
    due: float


class ProcessTable:
    """All processes but our own. `version` counts the changes of processes.

    The end of a process that no probe found may be noticed only when all are read again.
    """

    def __init__(self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = str(surroundings.proc)
        self._own_pid = surroundings.own_pid
        self._clock = clock
        self._young: dict[int, _Young] = {}
        self._all: dict[int, Program] = {}  # with our own, to know what runs below us
        self._reread_at = 0.0
        self._looked_at = -math.inf
        self._last_pid = 0
        self._ours: set[int] = set()
        self._changes: deque[int] = deque(maxlen=_MAX_CHANGES)  # ids, the newest last
        self.programs: dict[int, Program] = {}
        self.version = 0

    def look(self, found: Collection[int] = ()) -> Mapping[int, Program]:
        """Return the processes of others by id; the end of one in `found` is noticed at once."""
        now = self._clock()
        if now - self._looked_at < FRESH_S:
            return self.programs
        self._looked_at = now
        last_pid = int(contents(f"{self._proc}/loadavg", 100).rsplit(b" ", 1)[-1])
        num_new, first_new = last_pid - self._last_pid, self._last_pid + 1
        self._last_pid = last_pid
        due = {pid for pid, young in self._young.items() if now >= young.due}
        if now >= self._reread_at:
            self._reread_at = now + REREAD_S
            listed = self._listed()
            self._read_again(listed | self._all.keys(), listed - self._all.keys(), now)
        elif 0 <= num_new <= _MAX_NEW_IDS:
            tried = set(range(first_new, last_pid + 1))
            self._read_again(tried | due | set(found), tried, now)
        else:
            listed = self._listed()
            gone, new = self._all.keys() - listed, listed - self._all.keys()
            self._read_again(gone | new | due | set(found), new, now)
        return self.programs

    def changed_since(self, version: int) -> set[int] | None:
        """Return the ids of the processes that changed after `version`; None: too many, so look at all."""
        num_changes = self.version - version
        if num_changes > len(self._changes):
            return None
        return {self._changes[-i] for i in range(1, num_changes + 1)}

    def variables(self, program: Program) -> Mapping[str, str]:
        """Return the environment that a program was started with; empty for another user's program."""
        return environment_of(self._proc, program.pid)

    def ancestors(self, program: Program) -> Iterator[Program]:
        """Yield its parent, the parent's parent, and so on."""
        for _ in range(len(self._all)):
            parent = self._all.get(program.parent)
            if parent is None:
                return
            yield parent
            program = parent

    def _listed(self) -> set[int]:
        return {int(entry) for entry in os.listdir(self._proc) if entry.isdigit()}

    def _read_again(self, pids: Collection[int], new: Collection[int], now: float) -> None:
        """Read some processes, of which some are `new`, and take over what has changed."""
        has_moved = False
        for pid in sorted(pids):
            known = self._all.get(pid)
            read = _read(self._proc, pid, known)
            self._note_age(pid, now, is_new=pid in new, is_there=read is not None)
            if read == known:  # the known one stays the same object: probes remember judgements by it
                continue
            if read is None:
                del self._all[pid]
            else:
                has_moved |= read.parent not in self._all or (known is not None and known.parent != read.parent)
                self._all[pid] = read
            self._take_over(pid, read)
        if has_moved:
            self._find_ours()

    def _take_over(self, pid: int, read: Program | None) -> None:
        """Enter a process that changed or ended; its descendants stay ours, or not, until they are read."""
        if read is not None and (pid == self._own_pid or read.parent in self._ours):
            self._ours.add(pid)
            self.programs.pop(pid, None)
        elif read is not None:
            self.programs[pid] = read
        else:
            self._ours.discard(pid)
            self.programs.pop(pid, None)
        self._note_change(pid)

    def _find_ours(self) -> None:
        """Find all that runs below us anew: a process has got another parent, or is known before its parent."""
        before = self.programs.keys()
        parents = {pid: program.parent for pid, program in self._all.items()}
        self._ours = {self._own_pid, *(pid for pid in parents if is_below(pid, {self._own_pid}, parents))}
        self.programs = {pid: program for pid, program in self._all.items() if pid not in self._ours}
        for pid in self.programs.keys() ^ before:
            self._note_change(pid)

    def _note_change(self, pid: int) -> None:
        self._changes.append(pid)
        self.version += 1

    def _note_age(self, pid: int, now: float, *, is_new: bool, is_there: bool) -> None:
        young = _Young(now, now + _FIRST_REREAD_S) if is_new else self._young.get(pid)
        if young is None:
            return
        if not is_there or now - young.first >= YOUNG_S:
            self._young.pop(pid, None)
        elif now >= young.due:
            self._young[pid] = replace(young, due=now + max(_FIRST_REREAD_S, now - young.first))
        else:
            self._young[pid] = young


def program_of(proc: Path, pid: int) -> Program | None:
    """Return one process; None if it is gone."""
    return _read(str(proc), pid)


def environment_of(proc: str, pid: int) -> dict[str, str]:
    try:
        text = contents(f"{proc}/{pid}/environ", _MAX_ENVIRONMENT_BYTES).decode(errors="replace")
    except OSError:  # another user's, or gone
        return {}
    return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)


def contents(path: str, max_bytes: int) -> bytes:
    """Return the beginning of a file of the kernel, in a third of the time that `open` takes."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, max_bytes)
    finally:
        os.close(handle)


def is_below(pid: int, roots: Collection[int], parents: Mapping[int, int]) -> bool:
    """Return whether a process is one of `roots` or descends from one; `parents` by process id."""
    for _ in range(len(parents) + 1):  # ids that were given anew may make a circle
        if pid in roots or pid not in parents:
            break
        pid = parents[pid]
    return pid in roots


def base_name(path: str) -> str:
    """Return the last part of a path of Linux or Windows, in lower case."""
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower()


def _script(interpreter: str, arguments: Iterable[str]) -> str:
    """Return what an interpreter runs: the first argument that is no option, nor a class path's value."""
    words = iter(arguments)
    for word in words:
        if interpreter.startswith("java") and word in _JAVA_PATHS:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _read(proc: str, pid: int, known: Program | None = None) -> Program | None:
    """Return a process; None if it has ended, or if the id is a thread's, whose folder can be opened but is not listed.

    The arguments of a `known` process are read only if it has executed another file or changed its name.
    """
    try:
        head, _, rest = contents(f"{proc}/{pid}/stat", _MAX_STAT_BYTES).rpartition(b")")
        fields = rest.split()  # from the third of proc(5) on
        state, parent, exit_signal = fields[0], int(fields[1]), fields[35]
        if state in b"ZX" or exit_signal == b"-1":  # -1: a thread's
            return None
        comm = head.partition(b"(")[2].decode(errors="replace")
        execution = (fields[19], *fields[23:26], *fields[45:47])  # start time, places of code, stack and arguments
        if known is not None and (known.execution, known.comm) == (execution, comm):
            arguments = known.arguments
        else:
            text = contents(f"{proc}/{pid}/cmdline", _MAX_CMDLINE_BYTES).decode(errors="replace")
            arguments = tuple(item for item in text.split("\0") if item)
    except OSError:  # it ended while we looked
        return None
    return Program(pid, parent, comm, arguments, execution)
