"""Decides which user a command runs as when root starts it.

The user of the daemon's service can write to the state folder, and so may plant links, programs and pipes there. A
command that root runs therefore becomes the owner of that folder first, unless it has a rule below. `start`, `join`,
`ledger`, `diag` and `autostart` need root for systemd or for a file that root names; they reach the folder through
`files_as_owner`, another process, or the daemon's socket alone.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from potluck_control.places import find_places, user_places
from potluck_daemon.host.owner import drop_root, drop_root_for_settings

from potluck_cli.swarm_choice import brings_invite

_STAYS = ("start", "join", "ledger", "diag", "autostart")
_OWN_FILES = ("serve", "bootstrap")  # their files belong to the person who typed the command
_SWARMS = ("generate", "swarm")  # their swarms are the service's, or the caller's if an invite names the swarm


def become_user_of(command: str, args: argparse.Namespace) -> None:
    """Become the user that `command` may run as, for good; nothing changes for anybody but root.

    Raises:
        UsageError: the folder that decides is a link, no folder, or nobody's.
    """
    _rule_of(command, args)()


def _rule_of(command: str, args: argparse.Namespace) -> Callable[[], None]:
    if command in _STAYS:
        return lambda: None
    if command in _OWN_FILES or (command in _SWARMS and brings_invite(args)):
        return lambda: drop_root(user_places())
    if command in _SWARMS:
        return _become_user_of_swarms
    if command == "config":
        return lambda: drop_root_for_settings(find_places())
    return lambda: drop_root(find_places())


def _become_user_of_swarms() -> None:
    """Become the service's user, for whom models lie where the service downloads them."""
    places = find_places()
    drop_root(places)
    if places.is_system and os.geteuid() != 0:
        os.environ.setdefault("HF_HOME", str(places.cache / "huggingface"))
