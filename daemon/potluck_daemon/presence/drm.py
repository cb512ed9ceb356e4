"""Programs that keep a GPU of AMD, Intel, Qualcomm or ARM busy, from the kernel's counters in /proc/PID/fdinfo.

Each open device counts the nanoseconds (or cycles) of its engines. Games use the graphics engine; computing doesn't
count there. Reading one descriptor costs 7 us (24 ms for 3,400 of them), so the probe remembers which ones are no GPU.
It sees processes of the same user only.
Source: https://docs.kernel.org/gpu/drm-usage-stats.html, and nvtop for the names of the engines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from potluck.sentences import sentence
from potluck_daemon.presence.desktop_programs import gpu_use
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings, next_look
from potluck_daemon.presence.processes import ProcessTable, contents

INTERVAL_S = 2.0
_MAX_FDINFO_BYTES = 8192
RELIST_EVERY = 5  # looks after which the descriptors of a process are listed again
REREAD_EVERY = 6  # lists after which all descriptors are read again, although they have the same numbers
_ENGINES_NS = ("drm-engine-gfx", "drm-engine-render", "drm-engine-gpu", "drm-engine-panthor")
_CYCLES, _TOTAL_CYCLES = "drm-cycles-rcs", "drm-total-cycles-rcs"


@dataclass(frozen=True, slots=True)
class Client:
    """One open GPU device of one process."""

    pid: int
    pci: str
    client_id: str  # several descriptors of one client count once
    busy_ns: int = 0
    cycles: int = 0
    total_cycles: int = 0  # of the engine; 0: it tells nanoseconds instead


@dataclass(frozen=True, slots=True)
class _Handles:
    """The open descriptors of a process: their numbers, and those of a GPU."""

    numbers: int  # the hash of all
    of_gpu: tuple[str, ...]


@dataclass(slots=True)
class DrmClients:
    """Finds the clients of all processes and remembers which descriptors are worth reading."""

    surroundings: Surroundings
    _handles: dict[int, _Handles] = field(default_factory=dict)  # by process
    _look: int = 0

    def look(self, pids: Mapping[int, object]) -> dict[tuple[str, str], Client]:
        """Return the clients of these processes by PCI address and client id."""
        self._look += 1
        self._handles = {pid: known for pid, known in self._handles.items() if pid in pids}
        found: dict[tuple[str, str], Client] = {}
        for pid in pids:
            for handle in self._gpu_handles(pid):
                client = _read(f"{self.surroundings.proc}/{pid}/fdinfo/{handle}", pid)
                if client is not None:
                    found[client.pci, client.client_id] = client
        return found

    def _gpu_handles(self, pid: int) -> tuple[str, ...]:
        known = self._handles.get(pid)
        turn, rest = divmod(self._look + pid, RELIST_EVERY)  # spread over the looks
        if known is None or rest == 0:
            if turn % REREAD_EVERY == 0:
                known = None
            self._handles[pid] = known = _list_handles(f"{self.surroundings.proc}/{pid}/fd", known)
        return known.of_gpu


class DrmUseProbe:
    """Likely evidence for a program that uses at least `busy_percent` of a graphics engine, weak evidence for less."""

    name = sentence("GPU use ({name})", name="DRM")

    def __init__(
        self,
        surroundings: Surroundings,
        table: ProcessTable,
        *,
        busy_percent: float,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._surroundings = surroundings
        self._table = table
        self._busy_percent = busy_percent
        self._interval_s = interval_s
        self._clock = clock
        self._clients = DrmClients(surroundings)
        self._last: dict[tuple[str, str], Client] = {}
        self._last_at = 0.0

    async def watch(self, report: Report, situation: Situation) -> None:
        if not any((self._surroundings.sys / "class/drm").glob("renderD*")):
            raise ProbeUnavailableError(sentence("no GPU with a DRM driver"))
        while True:
            report(self.look())
            await next_look(self._interval_s)

    def look(self) -> tuple[Sighting, ...]:
        programs = self._table.look()
        clients, now = self._clients.look(programs), self._clock()
        before, elapsed_s = self._last, now - self._last_at
        self._last, self._last_at = clients, now
        percent: dict[tuple[int, str], float] = {}
        for key, client in clients.items():
            if key in before:
                of = client.pid, client.pci
                percent[of] = percent.get(of, 0.0) + _percent(before[key], client, elapsed_s)
        found = (self._judge(pid, pci, share) for (pid, pci), share in percent.items())
        return tuple(dict.fromkeys(sighting for sighting in found if sighting is not None))

    def _judge(self, pid: int, pci: str, percent: float) -> Sighting | None:
        program = self._table.programs.get(pid)
        return gpu_use(program, percent, busy_percent=self._busy_percent, pci=pci) if program is not None else None


def _percent(before: Client, after: Client, elapsed_s: float) -> float:
    if after.total_cycles:
        total = after.total_cycles - before.total_cycles
        return 100.0 * (after.cycles - before.cycles) / total if total > 0 else 0.0
    return 100.0 * (after.busy_ns - before.busy_ns) / (elapsed_s * 1e9) if elapsed_s > 0 else 0.0


def _list_handles(folder: str, known: _Handles | None) -> _Handles:
    """List the descriptors of a process; the `known` ones are read again only if there are others than before."""
    try:
        handles = os.listdir(folder)
    except OSError:  # another user's, or gone
        handles = []
    numbers = hash(tuple(handles))
    if known is not None and known.numbers == numbers:
        return known
    return _Handles(numbers, tuple(handle for handle in handles if _is_gpu(f"{folder}/{handle}")))


def _is_gpu(handle: str) -> bool:
    try:
        return os.readlink(handle).startswith("/dev/dri/")
    except OSError:
        return False


def _read(path: str, pid: int) -> Client | None:
    try:
        text = contents(path, _MAX_FDINFO_BYTES).decode(errors="replace")
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in text.splitlines() if line.startswith("drm-") and ":" in line)
    if "drm-pdev" not in fields and "drm-client-id" not in fields:
        return None
    busy_ns = max((_number(fields.get(engine)) for engine in _ENGINES_NS), default=0)
    return Client(
        pid=pid,
        pci=fields.get("drm-pdev", "").strip().lower(),
        client_id=fields.get("drm-client-id", "").strip(),
        busy_ns=busy_ns,
        cycles=_number(fields.get(_CYCLES)),
        total_cycles=_number(fields.get(_TOTAL_CYCLES)),
    )


def _number(text: str | None) -> int:
    """Return the number in "12345 ns"; 0 if there is none."""
    first = text.split()[0] if text and text.strip() else "0"
    return int(first) if first.isdecimal() else 0
