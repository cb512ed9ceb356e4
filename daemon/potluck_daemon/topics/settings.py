"""`settings.*` of the control API: the declared settings with the values in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import groupby
from pathlib import Path

from potluck_control.api.method import Empty
from potluck_control.methods import settings
from potluck_control.methods.settings import Section, Setting, SettingKind, SettingsPage
from potluck_control.settings import SettingEntry, Settings, entries, value_of

from potluck_daemon.settings.store import Loaded
from potluck_daemon.topics.topic import Topic, answers

_KINDS = {
    bool: SettingKind.FLAG,
    int: SettingKind.WHOLE,
    float: SettingKind.NUMBER,
    str: SettingKind.TEXT,
    tuple: SettingKind.LIST,
}


def settings_page(loaded: Loaded, path: Path, environment: Mapping[str, str]) -> SettingsPage:
    """Return the page of the settings in force. `environment`: the daemon's environment variables."""
    titles = {item.metadata.get("name", item.name): _title(item.name) for item in fields(Settings)}
    sections = tuple(
        Section(name, titles[name], tuple(_setting(loaded.settings, entry, environment) for entry in part))
        for name, part in groupby(entries(), key=lambda entry: entry.section)
    )
    return SettingsPage(str(path), sections, loaded.problems, loaded.notices)


class SettingsTopic(Topic):
    """The page of settings, and changes of them."""

    @answers(settings.GET)
    async def _get(self, _: Empty) -> settings.SettingsPage:
        configuration = self._configuration
        return settings_page(configuration.loaded, configuration.places.settings_file, configuration.environment)

    @answers(settings.SET)
    async def _set(self, params: settings.SetParams) -> settings.Changed:
        before = await self._configuration.change({item.key: item.value for item in params.changes})
        undo = tuple(settings.Change(key, value) for key, value in before.items())
        return settings.Changed(await self._get(Empty()), undo)


def _title(attribute: str) -> str:
    """Return the first sentence of the docstring of the section's class."""
    return (type(getattr(Settings(), attribute)).__doc__ or "").split("\n")[0].partition(".")[0]


def _setting(settings: Settings, entry: SettingEntry, environment: Mapping[str, str]) -> Setting:
    return Setting(
        key=entry.key,
        kind=SettingKind.CHOICE if entry.choices else _KINDS[type(entry.default)],
        value=value_of(settings, entry),
        default=entry.default,
        help=entry.help,
        unit=entry.unit,
        low=entry.low,
        high=entry.high,
        choices=entry.choices,
        restarts_engine=entry.restarts_engine,
        overridden_by=entry.variable if entry.variable in environment else "",
    )
