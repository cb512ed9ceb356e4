from dataclasses import replace

from potluck_control.states import Certainty, Reason
from potluck_daemon.policy.model import Presence
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.tracking import Track, forget_quiet, observe

from potluck.sentences import verbatim

GAME = Sighting(Reason.GAME, "supertux2")
WINDOW = Sighting(Reason.FULL_SCREEN, "mystery", Certainty.LIKELY)
WEAK_WINDOW = Sighting(Reason.FULL_SCREEN, "Mystery", Certainty.WEAK, app="mystery")
WEAK_USE = Sighting(Reason.GPU_BUSY, "mystery", Certainty.WEAK, app="mystery")
ACTIVE = Sighting(Reason.USER_ACTIVE, "keyboard", Certainty.LIKELY)
AWAY = Sighting(Reason.AWAY, "nobody", Certainty.LIKELY)


def look(track: Track, probe: str, now: float, *sightings: Sighting) -> Track:
    return observe(track, verbatim(probe), sightings, now, likely_interval_s=1.0)


def who(track: Track) -> list[str]:
    return [evidence.who for evidence in track.presence.evidence]


def test_a_certain_sighting_counts_at_once() -> None:
    track = look(Track(), "gamemode", 10.0, GAME)
    assert who(track) == ["supertux2"]
    assert track.presence.evidence[0].since == 10.0


WEAKER = replace(WINDOW, certainty=Certainty.WEAK)


def test_a_likely_sighting_counts_when_a_second_likely_look_agrees() -> None:
    for looks, counts in (
        ([(10.0, WINDOW)], False),
        ([(10.0, WINDOW), (11.0, WINDOW)], True),
        ([(0.0, WINDOW), (0.8, WINDOW)], True),  # a timer may fire a little early
        ([(0.0, WINDOW), (0.79, WINDOW)], False),
        ([(10.0, WINDOW), (11.0, None), (12.0, WINDOW)], False),
        ([(10.0, WINDOW), (11.0, WEAKER)], False),
        ([(10.0, WINDOW), (11.0, WEAKER), (12.0, WINDOW)], True),  # a game that loads its next level is idle
        ([(10.0, WEAKER), (15.0, WINDOW)], False),
        ([(10.0, WEAKER), (15.0, WINDOW), (16.0, WINDOW)], True),
        ([(float(second), WEAKER) for second in range(100)], False),
    ):
        track = Track()
        for now, sighting in looks:
            track = look(track, "screen", now, *([sighting] if sighting else []))
        assert who(track) == (["mystery"] if counts else [])


def test_reports_of_other_probes_do_not_confirm_faster_than_the_interval() -> None:
    track = look(Track(), "screen", 10.0, WINDOW)
    for step in range(7):
        track = look(track, "list", 10.0 + step / 10)
    assert who(track) == []


def test_a_look_of_another_probe_is_no_second_look() -> None:
    """A program used the GPU for a moment; the next look at the GPU comes after one at the screen."""
    track = look(Track(), "gpu", 10.0, WINDOW)
    track = look(track, "screen", 11.5)
    assert who(track) == []
    assert look(track, "gpu", 12.0).presence == Presence()


def test_two_probes_that_weakly_see_the_same_program_make_it_likely() -> None:
    track = look(look(Track(), "screen", 0.0, WEAK_WINDOW), "gpu", 0.0, WEAK_USE)
    track = look(look(track, "screen", 0.8, WEAK_WINDOW), "gpu", 0.8, WEAK_USE)
    assert {evidence.certainty for evidence in track.presence.evidence} == {Certainty.LIKELY}


def test_weak_sightings_that_do_not_support_each_other_make_nothing() -> None:
    for window, use, probe in (
        (WEAK_WINDOW, replace(WEAK_USE, app="other"), "gpu"),  # different programs
        (replace(WEAK_WINDOW, app=""), replace(WEAK_USE, app=""), "gpu"),  # unknown programs
        (WEAK_WINDOW, WEAK_WINDOW, "screen"),  # one probe
    ):
        track = Track()
        for now in (10.0, 11.0, 12.0):
            track = look(look(track, "screen", now, window), probe, now, use)
        assert who(track) == []


LIKELY_GAME = replace(GAME, certainty=Certainty.LIKELY)


def test_of_two_probes_that_see_one_thing_the_more_certain_counts() -> None:
    for order in (
        (GAME, LIKELY_GAME),  # certain first
        (LIKELY_GAME, GAME),  # likely first
    ):
        track = Track()
        for now in (10.0, 11.0):
            for probe, sighting in zip(("one", "other"), order, strict=True):
                track = look(track, probe, now, sighting)
        assert [evidence.certainty for evidence in track.presence.evidence] == [Certainty.CERTAIN]


def test_of_two_equally_certain_probes_the_worse_level_counts_and_then_the_earlier() -> None:
    mild, hot = (Sighting(Reason.HEAT, "GPU", level=level) for level in (0.2, 0.5))
    track = look(look(Track(), "one", 10.0, hot), "other", 11.0, mild)
    assert [(evidence.level, evidence.since) for evidence in track.presence.evidence] == [(0.5, 10.0)]
    track = look(look(Track(), "one", 10.0, hot), "other", 11.0, hot)
    assert [evidence.since for evidence in track.presence.evidence] == [10.0]


def test_two_things_of_one_kind_are_both_kept() -> None:
    """The stronger one may be on a GPU that does not matter."""
    here = Sighting(Reason.GPU_BUSY, "a", Certainty.LIKELY, "a", gpu="0000:01:00.0")
    there = Sighting(Reason.GPU_BUSY, "b", Certainty.LIKELY, "b", gpu="0000:02:00.0")
    track = look(look(Track(), "gpu", 10.0, here, there), "gpu", 11.0, here, there)
    assert sorted(who(track)) == ["a", "b"]


def test_the_most_certain_comes_first() -> None:
    track = look(look(Track(), "screen", 8.0, WINDOW), "screen", 10.0, WINDOW)
    assert who(look(track, "gamemode", 11.0, GAME)) == ["supertux2", "mystery"]


def test_the_end_remembers_what_it_was_until_it_is_back_or_the_user_resumes() -> None:
    assert look(Track(), "gamemode", 10.0).presence == Presence()
    track = look(look(Track(), "gamemode", 10.0, GAME), "gamemode", 20.0)
    assert track.presence.evidence == ()
    (over,) = track.presence.over
    assert (over.evidence.who, over.ended_at) == ("supertux2", 20.0)
    assert look(track, "gamemode", 21.0, GAME).presence.over == ()
    assert forget_quiet(track).presence.over == ()


def test_the_list_of_what_is_over_stays_short() -> None:
    track = Track()
    for number in range(1000):
        track = look(track, "gamemode", float(number), Sighting(Reason.GAME, f"game {number}"))
    assert len(track.presence.over) < 100


def test_a_probe_that_fails_takes_back_what_it_said() -> None:
    track = look(Track(), "gamemode", 10.0, GAME)
    track = observe(track, verbatim("gamemode"), None, 11.0, likely_interval_s=1.0)
    assert who(track) == []
    assert len(track.presence.over) == 1


def test_heat_that_rises_is_one_thing_that_lasts() -> None:
    track = look(Track(), "heat", 10.0, Sighting(Reason.HEAT, "GPU", level=0.2))
    track = look(track, "heat", 15.0, Sighting(Reason.HEAT, "GPU", level=0.5))
    (evidence,) = track.presence.evidence
    assert (evidence.since, evidence.level, track.presence.over) == (10.0, 0.5, ())


LOCKED = Sighting(Reason.AWAY, "the screen is locked")
HINT = Sighting(Reason.USER_ACTIVE, "keyboard", Certainty.WEAK)


def test_use_is_told_by_the_most_certain_and_doubt_is_use() -> None:
    for sightings, is_away in (
        ([], None),
        ([ACTIVE], False),
        ([AWAY], True),
        ([ACTIVE, AWAY], False),  # Xwayland sees nothing, the compositor does
        ([HINT], False),
        ([HINT, AWAY], True),  # a hint that nobody sets
        ([ACTIVE, LOCKED], True),
        ([LOCKED, HINT], True),
    ):
        for order in (sightings, sightings[::-1]):
            track = Track()
            for number, sighting in enumerate(order):
                track = look(track, f"probe {number}", 10.0, sighting)
            assert track.presence.is_away is is_away


def test_when_use_began_is_kept() -> None:
    track = look(Track(), "idle", 10.0, ACTIVE)
    assert look(track, "idle", 20.0, ACTIVE).presence.use_since == 10.0
    assert look(track, "idle", 20.0, AWAY).presence.use_since == 20.0


def test_a_program_to_ask_about_is_no_evidence_even_if_it_uses_the_gpu() -> None:
    unsure = replace(WEAK_WINDOW, is_unsure=True)
    track = Track()
    for now in (10.0, 11.0, 12.0):
        track = look(look(track, "screen", now, unsure), "gpu", now, WEAK_USE)
    assert who(track) == []
    assert [(item.app, item.who) for item in track.presence.unsure] == [("mystery", "Mystery")]
    assert look(track, "screen", 13.0).presence.unsure == ()
