"""Counts what a process sends and receives over TCP, by the kernel's own counters of its sockets. Linux only.

`sock_diag` over netlink needs no privileges; the inodes among the process's descriptors identify its sockets. Bytes
that peers acknowledged count, headers don't. The sum is a little low: it lacks UDP and what a connection carried
between the last look and its end. Connections within this computer cost nothing and are left out.
Source: linux/inet_diag.h, linux/tcp.h.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_INET_DIAG_INFO = 2
_ALL_STATES = 0xFFFFFFFF
_HEAD = struct.Struct("=IHHII")  # nlmsghdr
_MESSAGE_BYTES = 72  # inet_diag_msg
_ACKED_AT = 120  # tcp_info.tcpi_bytes_acked, tcpi_bytes_received


@dataclass(frozen=True, slots=True)
class NetworkUse:
    sent_bytes: int = 0
    received_bytes: int = 0


class TrafficMeter:
    """Counts traffic from the first look on. `count_local`: include connections within the computer, for tests."""

    def __init__(self, *, count_local: bool = False) -> None:
        self._count_local = count_local
        self._last: dict[int, NetworkUse] = {}  # inode -> counters of the connection

    def look(self, pids: set[int]) -> NetworkUse:
        """Return the traffic of these processes since the last look; nothing if the kernel doesn't report it."""
        inodes = {inode for pid in pids for inode in _socket_inodes(pid)}
        if not inodes or not hasattr(socket, "AF_NETLINK"):  # nothing to count, or another system than Linux
            self._last = {}
            return NetworkUse()
        now: dict[int, NetworkUse] = {}
        with contextlib.suppress(OSError):
            for family in (socket.AF_INET, socket.AF_INET6):
                now |= {inode: traffic for inode, traffic in self._connections(family) if inode in inodes}
        sent = received = 0
        for inode, traffic in now.items():
            before = self._last.get(inode, NetworkUse())
            sent += max(traffic.sent_bytes - before.sent_bytes, 0)
            received += max(traffic.received_bytes - before.received_bytes, 0)
        self._last = now
        return NetworkUse(sent, received)

    def _connections(self, family: int) -> Iterator[tuple[int, NetworkUse]]:
        for message in _dump(family):
            address_bytes = 4 if family == socket.AF_INET else 16
            peer = ipaddress.ip_address(message[24 : 24 + address_bytes])
            mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
            if self._count_local or not (mapped or peer).is_loopback:
                (inode,) = struct.unpack_from("=I", message, 68)
                yield inode, _counters(message)


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


def _counters(message: bytes) -> NetworkUse:
    at = _MESSAGE_BYTES
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _ACKED_AT + 16:
            return NetworkUse(*struct.unpack_from("=QQ", message, at + 4 + _ACKED_AT))
        at += max((length + 3) & ~3, 4)
    return NetworkUse()


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
