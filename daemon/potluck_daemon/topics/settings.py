"""`settings.*` of the control API."""

from __future__ import annotations

from potluck_control.method import Empty
from potluck_control.methods import settings

from potluck_daemon.settings.page import settings_page
from potluck_daemon.topics.topic import Topic, answers


class SettingsTopic(Topic):
    @answers(settings.GET)
    async def _get(self, _: Empty) -> settings.SettingsPage:
        configuration = self._configuration
        return settings_page(configuration.loaded, configuration.places.settings_file, configuration.environment)

    @answers(settings.SET)
    async def _set(self, params: settings.SetParams) -> settings.Changed:
        before = await self._configuration.change({item.key: item.value for item in params.changes})
        undo = tuple(settings.Change(key, value) for key, value in before.items())
        return settings.Changed(await self._get(Empty()), undo)
