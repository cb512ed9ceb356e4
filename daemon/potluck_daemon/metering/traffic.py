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

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_INET_DIAG_INFO = 2
_ALL_STATES = 0xFFFFFFFF
_HEAD = struct.Struct("=IHHII")  # nlmsghdr
_MESSAGE_BYTES = 72  # inet_diag_msg
_ACKED_AT = 120  # tcp_info.tcpi_bytes_acked, tcpi_bytes_received


class TrafficMeter:
    """Counts traffic from the first look on."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, int]] = {}  # inode -> bytes that the connection sent and received

    def look(self, pids: set[int]) -> tuple[int, int]:
        """Return the bytes that these processes sent and received since the last look; 0 if the kernel doesn't say."""
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
        self._last = open_before | now  # the kernel may leave one out, whose bytes must not count twice
        return sent, received


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
