"""What the app on Windows reports of its user. Looks are made up; what makes them is tried only on Windows."""

import ctypes
from dataclasses import replace

import pytest
from potluck_app.windows.presence import (
    LIFETIME_S,
    REPEAT_S,
    SETTINGS_S,
    PresenceReporter,
    PresenceSettings,
    presence_reports,
    presence_settings,
)
from potluck_app.windows.user_session import Attention, LastInput, UserSession, idle_seconds
from potluck_control.api import schema
from potluck_control.api.client import DaemonAwayError
from potluck_control.api.schema import PresenceParams
from potluck_control.methods import settings
from potluck_control.settings import entries
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.agents import REPORTABLE

AT_WORK = UserSession(1.0, Attention.ACCEPTS, "explorer.exe", frozenset({"explorer.exe"}), False, "")
DEFAULTS = PresenceSettings()


def reported(seen: UserSession, chosen: PresenceSettings = DEFAULTS) -> dict[Reason, PresenceParams]:
    return {item.reason: item for item in presence_reports(seen, chosen)}


def test_somebody_is_there_or_not_or_the_screen_is_locked() -> None:
    assert reported(AT_WORK).keys() == {Reason.USER_ACTIVE}
    assert reported(replace(AT_WORK, is_on_battery=True)).keys() == {Reason.USER_ACTIVE, Reason.BATTERY}
    assert reported(replace(AT_WORK, idle_s=301.0)).keys() == {Reason.AWAY}
    locked = reported(replace(AT_WORK, attention=Attention.NOT_PRESENT))
    assert (locked.keys(), locked[Reason.AWAY].certainty) == ({Reason.AWAY}, Certainty.CERTAIN)
    assert reported(replace(AT_WORK, idle_s=50.0), PresenceSettings(idle_after_s=40.0)).keys() == {Reason.AWAY}


def test_a_game_that_has_the_screen_for_itself_or_that_steam_started_is_certain() -> None:
    for seen, who in (
        (replace(AT_WORK, attention=Attention.FULL_SCREEN_3D, foreground="hades2.exe"), "hades2"),
        (replace(AT_WORK, steam_game="Factorio"), "Factorio"),  # though it has a window only
    ):
        game = reported(seen)[Reason.GAME]
        assert (game.who, game.certainty) == (who, Certainty.CERTAIN)


def test_a_full_screen_program_is_likely_a_game_unless_it_is_a_film_or_a_browser() -> None:
    full = replace(AT_WORK, attention=Attention.BUSY)
    assert reported(replace(full, foreground="hades2.exe"))[Reason.FULL_SCREEN].certainty is Certainty.LIKELY
    for program in ("vlc.exe", "msedge.exe", "powerpnt.exe", "explorer.exe", ""):
        assert Reason.FULL_SCREEN not in reported(replace(full, foreground=program))


def test_the_users_lists_outrank_guesses() -> None:
    running = replace(AT_WORK, programs=frozenset({"blender.exe", "explorer.exe"}))
    listed = reported(running, PresenceSettings(always=frozenset({"blender.exe"})))[Reason.EXCLUSIVE_APP]
    assert (listed.who, listed.app) == ("blender", "blender.exe")
    never = PresenceSettings(never=frozenset({"hades2.exe"}))
    for attention in (Attention.BUSY, Attention.FULL_SCREEN_3D):
        seen = replace(AT_WORK, attention=attention, foreground="hades2.exe")
        assert reported(seen, never).keys() == {Reason.USER_ACTIVE}


def test_all_reports_are_such_as_the_daemon_takes() -> None:
    everything = UserSession(0.0, Attention.BUSY, "x" * 300 + ".exe", frozenset({"blender.exe"}), True, "G" * 500)
    for seen in (everything, replace(everything, steam_game="", foreground="game.exe")):
        assert {
            item.reason for item in presence_reports(seen, PresenceSettings(always=frozenset({"blender.exe"})))
        } <= REPORTABLE


def test_the_clock_of_32_bits_may_begin_anew() -> None:
    assert idle_seconds(1_000, 61_000) == 60.0
    assert idle_seconds(0xFFFFFFFF - 999, 1_000) == 2.0
    assert (ctypes.sizeof(LastInput), LastInput.dwTime.offset) == (8, 4)  # winuser.h


class Daemon:
    """Stands in for the client: notes what is called."""

    def __init__(self) -> None:
        self.told: list[PresenceParams] = []
        self.is_away = False
        self.always: tuple[str, ...] = ()

    def call(self, method: schema.Method, params: PresenceParams | None = None) -> object:
        if self.is_away:
            raise DaemonAwayError("gone")
        if method is settings.GET:
            always = settings.Setting("yield.always", settings.SettingKind.LIST, self.always, (), "")
            return settings.SettingsPage("", (settings.Section("yield", "", (always,)),))
        assert method is schema.PRESENCE
        self.told.append(params)
        return schema.Empty()


class Desk:
    """An agent, what it sees, and its clock."""

    def __init__(self) -> None:
        self.daemon, self.seen, self.now = Daemon(), AT_WORK, 100.0
        self.agent = PresenceReporter(self.daemon, lambda: self.seen, lambda: self.now)  # type: ignore[arg-type]

    def report(self, after_s: float = 1.0) -> list[tuple[Reason, float]]:
        """What is told in one round."""
        self.now += after_s
        self.daemon.told.clear()
        self.agent.report()
        return [(item.reason, item.lifetime_s) for item in self.daemon.told]


def test_what_changed_is_told_at_once_what_holds_is_repeated_what_ended_is_taken_back() -> None:
    desk = Desk()
    assert desk.report() == [(Reason.USER_ACTIVE, LIFETIME_S)]
    assert desk.report() == []
    desk.seen = replace(AT_WORK, steam_game="Factorio")
    assert desk.report() == [(Reason.GAME, LIFETIME_S)]
    assert desk.report(REPEAT_S) == [(Reason.USER_ACTIVE, LIFETIME_S), (Reason.GAME, LIFETIME_S)]
    desk.seen = replace(AT_WORK, idle_s=999.0)
    assert sorted(desk.report()) == [(Reason.AWAY, LIFETIME_S), (Reason.GAME, 0.0), (Reason.USER_ACTIVE, 0.0)]
    desk.seen = replace(AT_WORK, programs=frozenset({"blender.exe"}))
    desk.daemon.always = ("Blender",)
    assert (Reason.EXCLUSIVE_APP, LIFETIME_S) in desk.report(SETTINGS_S), "a change of the list is heard of"


def test_a_daemon_that_came_back_is_told_everything_again() -> None:
    desk = Desk()
    desk.report()
    desk.daemon.is_away = True
    desk.seen = replace(AT_WORK, steam_game="Factorio")
    with pytest.raises(DaemonAwayError):
        desk.report()
    desk.agent.forget()
    desk.daemon.is_away = False
    assert [reason for reason, _ in desk.report()] == [Reason.USER_ACTIVE, Reason.GAME]


def test_the_settings_that_matter_are_there_under_their_names() -> None:
    known = {entry.key for entry in entries()}
    assert known >= {"yield.always", "yield.never", "when.idle_after_s"}
    one = settings.Setting("when.idle_after_s", settings.SettingKind.NUMBER, 60.0, 300.0, "")
    lists = settings.Setting("yield.always", settings.SettingKind.LIST, ("Blender", "Game.EXE"), (), "")
    page = settings.SettingsPage("", (settings.Section("when", "", (one,)), settings.Section("yield", "", (lists,))))
    assert presence_settings(page) == PresenceSettings(frozenset({"blender.exe", "game.exe"}), frozenset(), 60.0)
