"""Notifications are rare: each piece of news once."""

from pathlib import Path

import pytest
from helpers.app_answers import ANSWERS
from helpers.app_states import MISSING, UPDATES
from msgspec import structs
from potluck_app.pages.preferences import NewsKind
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.notifier import ERRORS_APART_S, FORGOTTEN_S, MISSING_S, Notifier
from potluck_control.api.schema import Status, SwarmStatus, Transition
from potluck_control.api.versions import Agreement, Difference
from potluck_control.methods.installation import Offered, UpdatesState
from potluck_control.methods.members import Member, MembersList
from potluck_control.states import Reason, State

from potluck.protocol.codec import decode, encode
from potluck.sentences import sentence

FAILED = Status(State.ERROR, Reason.ENGINE_FAILED, sentence("The engine failed"), since=100.0, version="1")
PAUSED = structs.replace(FAILED, state=State.PAUSED, reason=Reason.USER, text=sentence("Paused by you"))
OLDER = Agreement(
    Difference.OLDER_DAEMON, sentence("The daemon runs version 1, this program is 2"), sentence("restart the daemon")
)


def test_an_engine_that_fails_again_and_again_is_told_once_an_hour() -> None:
    notifier = Notifier()
    assert notifier.status(FAILED, 100.0) is not None
    assert notifier.status(FAILED, 101.0) is None
    for later, is_told in ((200.0, False), (100.0 + ERRORS_APART_S, True)):
        assert (notifier.status(structs.replace(FAILED, since=later), later) is not None) is is_told


def test_only_a_pause_without_an_end_is_called_to_mind() -> None:
    for status, is_told in (
        (PAUSED, True),
        (structs.replace(PAUSED, until=1e9), False),
        (structs.replace(PAUSED, reason=Reason.TIMER), False),
        (structs.replace(PAUSED, state=State.SERVING), False),
    ):
        notifier, late = Notifier(), status.since + FORGOTTEN_S
        assert notifier.status(status, late - 1) is None
        assert (notifier.status(status, late) is not None) is is_told
        assert notifier.status(status, late + 1e6) is None


def test_a_milestone_is_told_when_it_is_passed_and_not_when_the_app_starts() -> None:
    notifier = Notifier()
    assert notifier.earned(1_500) is None
    assert notifier.earned(9_999) is None
    message = notifier.earned(10_000)
    assert "10,000 points" in message.text
    assert notifier.earned(10_001) is None


def seen(*coverage: int, swarm: str = "friday") -> Status:
    shown = SwarmStatus(swarm, "a/llama", len(coverage), coverage=coverage, is_live=bool(coverage))
    return structs.replace(FAILED, state=State.SERVING, swarm=shown)


def test_a_layer_that_stays_missing_is_told_and_so_is_the_complete_model() -> None:
    notifier = Notifier()
    assert notifier.coverage(seen(1, 2), 0.0) is None, "a model that was complete from the start is no news"
    assert notifier.coverage(seen(1, 0), 10.0) is None
    assert notifier.coverage(seen(1, 1), 10.0 + MISSING_S - 1) is None, "a server that starts again is no news"
    assert notifier.coverage(seen(0, 0), 100.0) is None
    missing = notifier.coverage(seen(1, 0), 100.0 + MISSING_S)
    assert (missing.text, missing.news) == ("Nobody serves layer 2. (llama)", NewsKind.MISSING)
    assert notifier.coverage(seen(1, 0), 1000.0) is None
    complete = notifier.coverage(seen(1, 1), 1001.0)
    assert (complete.heading, complete.news) == ("The model is complete", NewsKind.COMPLETE)
    assert notifier.coverage(seen(1, 1), 1002.0) is None


def test_another_swarm_begins_without_news_and_an_unknown_coverage_tells_nothing() -> None:
    notifier = Notifier()
    assert notifier.coverage(seen(0, 1), 0.0) is None
    assert notifier.coverage(seen(0, 1), MISSING_S) is not None
    for later, status in enumerate((structs.replace(FAILED, swarm=None), seen(), seen(1, 1, swarm="saturday")), 1):
        assert notifier.coverage(status, MISSING_S + later) is None
    old = seen(0, 1, swarm="sunday")
    old = structs.replace(old, swarm=structs.replace(old.swarm, is_live=False))
    for later in (0.0, 2 * MISSING_S):
        assert notifier.coverage(old, later) is None, "nobody looks while this computer is paused"


def test_a_friend_who_joins_is_told_once_and_those_who_were_there_are_not() -> None:
    notifier = Notifier()

    def people(*names: str, swarm: str = "friday") -> MembersList:
        found = [Member(name, name, "member", 0.0, "", name == "me", False, ()) for name in names]
        return structs.replace(ANSWERS["members.list"], swarm=swarm, members=tuple(found))

    assert notifier.people(people("me", "ana")) is None
    told = notifier.people(people("me", "ana", "ben", "eva"))
    assert (told.text, told.news) == ("ben, eva joined the swarm “friday”.", NewsKind.FRIEND)
    assert notifier.people(people("me", "ben")) is None
    assert notifier.people(people("me", "zoe", swarm="saturday")) is None, "another swarm's people are no news"


def test_those_for_whom_the_user_has_to_decide_are_told_once() -> None:
    notifier, before = Notifier(), structs.replace(ANSWERS["members.list"], asking="")
    guest = Member("Zoe", "ff", "guest", 0.0, "", False, True, ())
    assert notifier.people(before) is None
    joined = structs.replace(before, members=(*before.members, guest))
    assert notifier.people(joined).text == "Zoe joined the swarm “friday”."
    waits = structs.replace(before, members=(*before.members, structs.replace(guest, waits=True)))
    assert notifier.people(waits).text == "Waiting to be let into the swarm “friday”: Zoe. Decide on the page Swarm."
    asks = structs.replace(waits, asking="laptop")
    assert "laptop asks to be one of your computers." in notifier.people(asks).text
    assert notifier.people(asks) is None


def test_an_update_is_told_once_for_each_version() -> None:
    notifier = Notifier()
    state = UpdatesState("1.0", True, True, True)
    assert notifier.updates(state) is None
    offered = structs.replace(state, offered=Offered("1.1", (), 0))
    told = notifier.updates(offered)
    assert (told.text, told.news) == ("Potluck 1.1 is available.", NewsKind.UPDATE)
    assert notifier.updates(offered) is None
    assert notifier.updates(state) is None
    assert notifier.updates(offered) is None
    assert notifier.updates(structs.replace(state, offered=Offered("1.2", (), 0))) is not None


def test_a_daemon_of_another_version_is_told_once() -> None:
    notifier = Notifier()
    assert notifier.agreement(Agreement(Difference.NONE)) is None
    message = notifier.agreement(OLDER)
    assert "Restart the daemon." in message.text
    assert notifier.agreement(OLDER) is None


# -- what is heard while nobody looks ----------------------------------------------------------------------------------

SERVING = Status(State.SERVING, Reason.NONE, sentence("Serving"), since=5.0, version="1", tokens_per_s=3.0)
YIELDED = Transition(1.0, State.SERVING, State.YIELDED, Reason.GAME, sentence("Giving way to {who}", who="Doom"))


def is_wanted(link: DaemonLink, event: object) -> bool:
    return link._is_wanted(decode(object, encode(event)))


@pytest.fixture
def link() -> DaemonLink:
    made = DaemonLink(Path("/nowhere"))
    made.is_calm = True
    return made


def test_numbers_and_the_progress_of_a_set_up_are_no_news_to_nobody(link: DaemonLink) -> None:
    assert is_wanted(link, SERVING)
    assert not is_wanted(link, SERVING)
    assert not is_wanted(link, MISSING)
    assert not is_wanted(link, SERVING)  # the one between changed nothing
    assert is_wanted(link, UPDATES)
    assert is_wanted(link, YIELDED)


def test_somebody_who_looks_is_told_everything(link: DaemonLink) -> None:
    link.is_calm = False
    assert all(is_wanted(link, event) for event in (SERVING, SERVING, MISSING, UPDATES, YIELDED))
