"""Announces servers and tells who serves which blocks; each server signs its own announcements."""

from potluck.directory.announcer import Announcer
from potluck.directory.directory import HEARTBEAT_INTERVAL_S, RECORD_INTERVAL_S, Directory, SwarmView
from potluck.directory.seal import HEARTBEAT_TTL_S, RECORD_TTL_S, record_checks

__all__ = [
    "HEARTBEAT_INTERVAL_S",
    "HEARTBEAT_TTL_S",
    "RECORD_INTERVAL_S",
    "RECORD_TTL_S",
    "Announcer",
    "Directory",
    "SwarmView",
    "record_checks",
]
