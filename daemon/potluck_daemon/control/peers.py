"""Asks the kernel who is at the other end of a Unix socket, and decides whether they may call this daemon."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import struct
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The rule for callers: the daemon's own user, and for a system service also root and one group."""

    uid: int
    group: str | None = None

    def allows(self, peer: Peer) -> bool:
        if peer.uid == self.uid:
            return True
        return self.group is not None and (peer.uid == 0 or _is_member(peer, self.group))


def peer_of(connection: socket.socket) -> Peer:
    """Return the credentials that the kernel noted when the peer connected.

    Raises:
        OSError: this platform has no way to ask.
    """
    if sys.platform == "linux":
        _pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(uid, gid)
    return _local_peer_cred(connection)


def _local_peer_cred(connection: socket.socket) -> Peer:
    """macOS and the BSDs: `struct xucred` of <sys/ucred.h> by getsockopt(SOL_LOCAL = 0, LOCAL_PEERCRED = 1)."""
    raw = connection.getsockopt(0, 1, 76)
    _version, uid, num_groups, gid = struct.unpack_from("=IIh2xI", raw)
    if num_groups < 1:
        raise OSError("the peer has no groups")
    return Peer(uid, gid)


def _is_member(peer: Peer, group: str) -> bool:
    try:
        wanted = grp.getgrnam(group).gr_gid
        name = pwd.getpwuid(peer.uid).pw_name
    except KeyError:
        return False
    return peer.gid == wanted or wanted in os.getgrouplist(name, peer.gid)
