"""`settings.*` of the control API."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from potluck_control.method import Empty
from potluck_control.methods import settings

from potluck.errors import UsageError
from potluck_daemon.control.server import Handler
from potluck_daemon.settings.accepted import accepted_data
from potluck_daemon.settings.page import settings_page
from potluck_daemon.settings.store import change
from potluck_daemon.topics.topic import Topic

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

log = logging.getLogger(__name__)


class SettingsTopic(Topic):
    def handlers(self) -> dict[str, Handler]:
        return {settings.GET.name: self._get, settings.SET.name: self._set}

    async def _get(self, _: Empty) -> settings.SettingsPage:
        daemon = self._daemon
        return settings_page(daemon.loaded, daemon.places.settings_file, daemon.environment)

    async def _set(self, params: settings.SetParams) -> settings.Changed:
        before = await change_settings(self._daemon, {item.key: item.value for item in params.changes})
        undo = tuple(settings.Change(key, value) for key, value in before.items())
        return settings.Changed(await self._get(Empty()), undo)


async def change_settings(daemon: Daemon, values: Mapping[str, object]) -> dict[str, Any]:
    """Change the file and obey it; returns the undo. Raises UsageError."""
    path = daemon.places.settings_file
    try:
        earlier = accepted_data(daemon.places)
        before = await asyncio.to_thread(change, path, values, earlier=earlier)  # another program may hold its lock
    except OSError as error:
        hint = "the system service's settings belong to root: sudo potluck config set ..."
        is_denied = isinstance(error, PermissionError)
        raise UsageError(
            f"cannot write {path}: {error.strerror}", hint=hint if is_denied else "is the disk full?"
        ) from error
    log.info("settings changed: %s", ", ".join(values))
    daemon.reload()
    return before
