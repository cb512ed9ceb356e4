"""Lets a process run as on a Mac, as far as Python can tell.

`sys.platform` says darwin, and what only Linux has is missing from the standard library and among the packages. What a
Mac alone has is not there: it shows what would fail at once on one, not that everything works.
"""

import asyncio
import importlib.abc
import mmap
import os
import platform
import select
import signal
import socket
import struct
import sys
import time
import types
from typing import Any

import psutil  # chooses its own half when it is imported, as do asyncio and platform

VERSION = "15.1"
_ONLY_LINUX: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (socket, ("AF_NETLINK", "AF_PACKET", "AF_VSOCK", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_BINDTODEVICE")),
    (os, ("O_PATH", "O_TMPFILE", "ST_NODEV", "ST_NOEXEC", "copy_file_range", "eventfd", "getrandom", "memfd_create")),
    (os, ("pidfd_open", "pipe2", "posix_fadvise", "sched_getaffinity", "sched_setaffinity", "setns", "splice")),
    (os, ("SCHED_BATCH", "SCHED_IDLE", "sched_setscheduler", "setresuid", "unshare")),
    (time, ("CLOCK_BOOTTIME", "CLOCK_TAI")),
    (select, ("epoll",)),
    (signal, ("SIGPWR", "SIGRTMAX", "SIGRTMIN", "SIGSTKFLT")),
    (mmap, ("MADV_HUGEPAGE", "MADV_NOHUGEPAGE", "MADV_REMOVE", "MADV_DONTFORK", "MADV_POPULATE_READ")),
)
_NOT_INSTALLED = ("Xlib",)  # `sys_platform == 'linux'` in pyproject.toml
_SO_PEERCRED = 17


class _Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name.split(".")[0] in _NOT_INSTALLED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def become_mac() -> None:
    """For the rest of this process."""
    assert psutil.LINUX
    assert asyncio.SelectorEventLoop
    for module, names in _ONLY_LINUX:
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.platform = "darwin"
    platform.system = lambda: "Darwin"
    platform.machine = lambda: "arm64"
    platform.libc_ver = lambda *_: ("", "")  # type: ignore[assignment]
    platform.mac_ver = lambda *_: (VERSION, ("", "", ""), "arm64")  # type: ignore[assignment]
    sys.modules["_scproxy"] = types.ModuleType("_scproxy")  # urllib asks macOS for its proxies there
    sys.modules["_scproxy"].__dict__.update(_get_proxy_settings=dict, _get_proxies=dict)
    sys.meta_path.insert(0, _Missing())
    _tell_peers()


def _tell_peers() -> None:
    """This kernel tells who connected in its own way."""
    from potluck_daemon.control import connection as peers

    def told(connection: socket.socket) -> peers.Peer:
        _, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, _SO_PEERCRED, 12))
        return peers.Peer(uid, gid)

    peers._local_peer_cred = told
