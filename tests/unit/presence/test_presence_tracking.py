from potluck_daemon.policy import Presence
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.tracking import Track, forget_quiet, observe
from potluck_daemon.states import Reason

GAME = Sighting(Reason.GAME, "supertux2", is_certain=True)
WINDOW = Sighting(Reason.FULL_SCREEN, "mystery", is_certain=False)


def look(track: Track, probe: str, now: float, *sightings: Sighting) -> Track:
    return observe(track, probe, sightings, now, likely_interval_s=1.0)


def test_a_certain_sighting_counts_at_once() -> None:
    track = look(Track(), "gamemode", 10.0, GAME)
    assert track.presence.evidence is not None
    assert track.presence.evidence.who == "supertux2"
    assert track.presence.since == 10.0


def test_a_likely_sighting_counts_when_a_second_look_agrees() -> None:
    track = look(Track(), "screen", 10.0, WINDOW)
    assert track.presence.evidence is None
    assert look(track, "screen", 11.0, WINDOW).presence.evidence is not None


def test_a_likely_sighting_with_a_gap_begins_again() -> None:
    track = look(Track(), "screen", 10.0, WINDOW)
    track = look(track, "screen", 11.0)
    track = look(track, "screen", 12.0, WINDOW)
    assert track.presence.evidence is None


def test_reports_of_other_probes_do_not_confirm_faster_than_the_interval() -> None:
    track = look(Track(), "screen", 10.0, WINDOW)
    for step in range(7):
        track = look(track, "list", 10.0 + step / 10)
    assert track.presence.evidence is None


def test_another_game_that_takes_over_keeps_the_beginning() -> None:
    track = look(Track(), "gamemode", 10.0, GAME)
    track = look(track, "list", 12.0, Sighting(Reason.EXCLUSIVE_APP, "blender", is_certain=True))
    track = look(track, "gamemode", 14.0)
    assert track.presence.evidence is not None
    assert track.presence.evidence.who == "blender"
    assert track.presence.since == 10.0


def test_the_end_remembers_what_it_was_until_the_user_resumes() -> None:
    track = look(look(Track(), "gamemode", 10.0, GAME), "gamemode", 20.0)
    assert track.presence.evidence is None
    assert track.presence.last is not None
    assert track.presence.ended_at == 20.0
    assert forget_quiet(track).presence.last is None


def test_nothing_seen_stays_nothing() -> None:
    assert look(Track(), "gamemode", 10.0).presence == Presence()
