"""Measures how busy the machine is and what serving uses: processor, energy, traffic, memory and disk.

Energy is what the user says, or what the GPU measures and an estimate for each busy processor core. Traffic is counted
on Linux only, by the kernel's own counters of the sockets of engine and p2pd: `sock_diag` over netlink needs no
privileges, and the inodes among a process's descriptors identify its sockets. Bytes that peers acknowledged count,
headers don't. The sum is a little low: it lacks UDP and what a connection carried between the last sample and its end.
Connections within this computer cost nothing and are left out.
Source: linux/inet_diag.h, linux/tcp.h.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from potluck_control.api.schema import LoadStatus
from potluck_control.methods.earnings import EnergySource
from potluck_control.settings import LimitSettings

from potluck.files import disk_usage_bytes, free_bytes
from potluck.sentences import sentence
from potluck_daemon.accounting.usage import Amounts
from potluck_daemon.policy.hours_and_caps import Disk

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_INET_DIAG_INFO = 2
_ALL_STATES = 0xFFFFFFFF
_HEAD = struct.Struct("=IHHII")  # nlmsghdr
_MESSAGE_BYTES = 72  # inet_diag_msg
_ACKED_AT = 120  # tcp_info.tcpi_bytes_acked, tcpi_bytes_received
DISK_INTERVAL_S = 60.0
MIN_INTERVAL_S = 0.5  # shorter samples are noise, and readers must not shorten each other's
LEAST_W = 0.5  # less is within the error of any meter or estimate, and counts as nothing


class TrafficMeter:
    """Counts the traffic of processes, from the first sample on."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, int]] = {}  # inode -> bytes that the connection sent and received

    def sample(self, pids: set[int]) -> tuple[int, int]:
        """Return the bytes that these processes sent and received since the last sample; 0 where unknown."""
        inodes = {inode for pid in pids for inode in _socket_inodes(pid)}
        if not inodes or not hasattr(socket, "AF_NETLINK"):  # nothing to count, or another system than Linux
            self._last = {}
            return 0, 0
        now: dict[int, tuple[int, int]] = {}
        with contextlib.suppress(OSError):
            for family in (socket.AF_INET, socket.AF_INET6):
                now |= {inode: traffic for inode, traffic in _connections(family) if inode in inodes}
        sent = received = 0
        for inode, (all_sent, all_received) in now.items():
            before_sent, before_received = self._last.get(inode, (0, 0))
            sent += max(all_sent - before_sent, 0)
            received += max(all_received - before_received, 0)
        open_before = {inode: traffic for inode, traffic in self._last.items() if inode in inodes}
        self._last = open_before | now  # a socket that the kernel leaves out once must not count twice
        return sent, received


@dataclass(frozen=True, slots=True)
class UseSample:
    """What engine and p2pd together have used."""

    amounts: Amounts
    memory_bytes: int
    sources: tuple[EnergySource, ...]


class UseMeter:
    """Samples the use of one engine after another; each sample covers the time since the one before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._traffic = TrafficMeter()
        self._pid: int | None = None
        self._processes: list[psutil.Process] = []
        self._core_s = 0.0  # core seconds that the engine used since the last sample
        self._sampled_at = self._looked_at = clock()
        self._load = LoadStatus(psutil.cpu_percent(None))

    def load(self, engine_pid: int | None) -> LoadStatus:
        """Return how busy the processor was since the last call. Calls in quick succession return the same."""
        self._follow(engine_pid)
        seconds = self._clock() - self._looked_at
        if seconds >= MIN_INTERVAL_S:
            self._looked_at += seconds
            cores = sum(map(_busy_cores, self._processes))
            self._core_s += cores * seconds
            self._load = LoadStatus(psutil.cpu_percent(None), round(100 * cores / (psutil.cpu_count() or 1), 1))
        return self._load

    def sample(self, engine_pid: int | None, limits: LimitSettings, gpu_w: float | None) -> UseSample:
        """Return what this engine has used since the last sample. `gpu_w`: what its GPU draws; None: unknown."""
        self.load(engine_pid)
        if engine_pid is not None:
            known = {process: process for process in self._processes}  # they remember their last processor time
            self._processes = [known.get(process, process) for process in _tree(engine_pid)]
        if not self._processes:
            return UseSample(Amounts(), 0, ())
        now, core_s = self._clock(), self._core_s
        seconds, self._sampled_at, self._core_s = now - self._sampled_at, now, 0.0
        traffic = self._traffic.sample({process.pid for process in self._processes})
        sources = power_sources(core_s / seconds if seconds > 0 else 0.0, gpu_w, limits)
        energy_wh = sum(source.watts for source in sources) * seconds / 3600
        return UseSample(Amounts(0.0, energy_wh, *traffic), sum(map(_memory_bytes, self._processes)), sources)

    def _follow(self, engine_pid: int | None) -> None:
        """Switch to the processes of another engine."""
        if engine_pid != self._pid:
            self._pid, self._processes = engine_pid, _tree(engine_pid) if engine_pid is not None else []
            self._sampled_at = self._looked_at = self._clock()
            self._core_s = 0.0
            for process in self._processes:
                _busy_cores(process)  # psutil measures from this call on


def power_sources(engine_cores: float, gpu_w: float | None, limits: LimitSettings) -> tuple[EnergySource, ...]:
    """Return where the power of serving comes from. `engine_cores`: how many cores the engine keeps busy. Pure."""
    if limits.serving_w > 0:
        return (EnergySource("given", sentence("given wattage"), limits.serving_w),)
    estimate = sentence("{number} W a busy core", number=f"{limits.cpu_core_w:g}")
    sources = (
        EnergySource("nvml", sentence("GPU"), gpu_w or 0.0),
        EnergySource("estimate", estimate, engine_cores * limits.cpu_core_w),
    )
    return tuple(source for source in sources if source.watts >= LEAST_W)


class DiskMeter:
    """Measures the download folder, at most once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = Path()
        self._clock = clock
        self._measured_at = -DISK_INTERVAL_S
        self._disk = Disk()

    def measure(self, folder: Path, *, with_taken: bool) -> Disk:
        """Return the free space and, `with_taken`, the size of our own files, each of which has to be looked at."""
        if self._clock() - self._measured_at >= DISK_INTERVAL_S or folder != self._folder:
            self._measured_at, self._folder = self._clock(), folder
            self._disk = Disk(free_bytes(folder), disk_usage_bytes(folder) if with_taken else None)
        return self._disk


def _connections(family: int) -> Iterator[tuple[int, tuple[int, int]]]:
    for message in _dump(family):
        address_bytes = 4 if family == socket.AF_INET else 16
        if not _is_within(ipaddress.ip_address(message[24 : 24 + address_bytes])):
            (inode,) = struct.unpack_from("=I", message, 68)
            yield inode, _counters(message)


def _is_within(peer: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether a connection does not leave the computer."""
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback


def _dump(family: int) -> Iterator[bytes]:
    """Yield inet_diag_msg with its attributes for all TCP sockets of a family. Raises OSError."""
    ask = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, _ALL_STATES) + bytes(48)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(1.0)
        link.send(_HEAD.pack(_HEAD.size + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + ask)
        while True:
            data = link.recv(1 << 17)
            while data:
                length, kind = _HEAD.unpack_from(data)[:2]
                if kind in (_DONE, _ERROR):
                    return
                if length < _HEAD.size + _MESSAGE_BYTES:
                    raise OSError("a netlink message is too short")
                yield data[_HEAD.size : length]
                data = data[(length + 3) & ~3 :]


def _counters(message: bytes) -> tuple[int, int]:
    at = _MESSAGE_BYTES
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _ACKED_AT + 16:
            sent, received = struct.unpack_from("=QQ", message, at + 4 + _ACKED_AT)
            return sent, received
        at += max((length + 3) & ~3, 4)
    return 0, 0


def _socket_inodes(pid: int) -> Iterator[int]:
    folder = f"/proc/{pid}/fd"
    try:
        handles = os.listdir(folder)
    except OSError:
        return
    for handle in handles:
        with contextlib.suppress(OSError):
            target = os.readlink(f"{folder}/{handle}")
            if target.startswith("socket:["):
                yield int(target[8:-1])


def _tree(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _busy_cores(process: psutil.Process) -> float:
    """Return how many cores the process used since the last call."""
    with contextlib.suppress(psutil.Error):
        return float(process.cpu_percent(None)) / 100
    return 0.0


def _memory_bytes(process: psutil.Process) -> int:
    """Return the memory that ends with the process, without mapped files, which the kernel drops when needed."""
    with contextlib.suppress(psutil.Error):
        memory = process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))
    return 0
