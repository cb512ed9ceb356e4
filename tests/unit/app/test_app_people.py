"""The page People: who is shown, what a founder, an admin and a member may do, and what is asked before."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from pathlib import Path

import pytest
import segno
from helpers.app_answers import SERVING
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, control, opened, picture, press, said, shown
from potluck_app.pages.home import HomePage
from potluck_app.pages.members_card import may_remove
from potluck_app.pages.other_computer import OtherComputer
from potluck_app.pages.own_computers import BackupForm, OwnComputers
from potluck_app.pages.people import PeoplePage
from potluck_app.widgets import theme
from potluck_app.widgets.number_box import NumberBox
from potluck_app.widgets.people_strip import PeopleStrip
from potluck_app.widgets.question import Question
from potluck_app.words.people import Helped, doing, helped, named, places_of, served_by
from potluck_control import schema
from potluck_control.methods.computers import Adding, Backup, CodeParams, Restored, RestoreParams
from potluck_control.methods.earnings import Earned, Group
from potluck_control.methods.members import (
    Member,
    MemberMachine,
    MemberParams,
    MembersChanged,
    MembersList,
    OpenInvite,
    PromoteParams,
    RecoverParams,
    RecoveryCode,
    SeenServer,
    SwarmParams,
    WithdrawParams,
)
from potluck_control.methods.swarms import Contact, Reach
from potluck_control.states import Reason, State
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError

DAY_S = 86400.0
MAY = 1_778_580_000.0  # 12 May 2026
ANA = Member("Ana", "aa11aa11", "founder", MAY, "", True, False, (MemberMachine("desktop", "12D3KooWana", MAY),))
BOB = Member(
    "Bob", "bb22bb22", "member", MAY, "3fa9c2d1", False, False, (MemberMachine("tower", "12D3KooWbob", MAY),), "Ana"
)
EVE = Member("Eve", "ee33ee33", "admin", MAY, "3fa9c2d1", False, False, (), "Ana")
INVITE = OpenInvite("3fa9c2d1", MAY, time.time() + 9 * DAY_S, 10, 2)
FOUNDER = MembersList("friends", (ANA, BOB, EVE), (INVITE,), may_lead=True, is_founder=True)
MEMBER = replace(
    FOUNDER, members=(replace(ANA, is_you=False), replace(BOB, is_you=True), EVE), may_lead=False, is_founder=False
)
DONE = MembersChanged("friends", "done", True)


def page_of(found: MembersList) -> tuple[PeoplePage, FakeLink]:
    return opened(PeoplePage, {"members.list": found})


def confirm(page: PeoplePage, wanted: str) -> None:
    """Answer the question that is open."""
    question = page.findChildren(Question)[-1]
    next(item for item in question.findChildren(QAbstractButton) if item.text() == wanted).click()


def test_people_are_shown_with_their_computers_and_by_whom_they_came() -> None:
    page, _ = page_of(FOUNDER)
    assert "Not known yet\nFounder · joined 12 May 2026\ndesktop" in shown(page)
    assert "Not known yet\nJoined 12 May 2026 · invited by Ana\ntower" in shown(page)
    assert "Ana (you)" in shown(page)


def seen(member: Member, start: int, end: int, state: str = "online", ping_s: float | None = None) -> SeenServer:
    return SeenServer(member.machines[0].peer_id, start, end, state, 12.5, ping_s)


def lively(*servers: SeenServer) -> MembersList:
    return replace(FOUNDER, servers=servers, servers_at=time.time())


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (FOUNDER, "Not known yet"),
        (lively(), "Away"),
        (lively(seen(BOB, 0, 4, ping_s=0.023)), "Serves layers 1–4 · 12.5 tokens/s · 23 ms away"),
        (lively(seen(BOB, 3, 4)), "Serves layer 4 · 12.5 tokens/s"),
        (lively(seen(BOB, 0, 4, "offline")), "Stepped aside"),
        (lively(seen(BOB, 0, 4, "joining")), "Getting ready"),
    ],
)
def test_a_person_is_shown_with_what_their_computers_do(found: MembersList, said: str) -> None:
    assert doing(BOB, found, None) == said


def test_only_the_user_sees_the_game_that_their_computer_steps_aside_for() -> None:
    aside = replace(SERVING, state=State.YIELDED, reason=Reason.GAME, app="doom", app_title="Doom")
    found = lively(seen(ANA, 0, 4, "offline"), seen(BOB, 0, 4, "offline"))
    assert doing(ANA, found, aside) == "Stepped aside: Doom"
    assert doing(BOB, found, aside) == "Stepped aside"


def test_layers_are_shown_with_the_people_who_serve_them() -> None:
    stranger = SeenServer("12D3KooWsomebody", 2, 3, "online", 1.0)
    found = lively(seen(ANA, 0, 2), seen(BOB, 1, 3), stranger, seen(BOB, 3, 4, "offline"))
    ana, bob = places_of(found)[ANA.id], places_of(found)[BOB.id]
    assert served_by(found, 4) == [(ana,), (ana, bob), (-1, bob), ()]
    page, link = page_of(replace(found, swarm="friday"))
    page.show_status(SERVING)
    assert "Nobody serves layer 4. Served by Bob and 2 others." in shown(page)
    link.answers["members.list"] = FOUNDER
    page.refresh()
    assert "Who serves the model" not in shown(page)  # of another swarm


def test_the_strip_has_the_colours_of_the_people() -> None:
    strip = PeopleStrip()
    strip.show_layers([(0,), (0, 1), ()], "said")
    image = picture(strip, 302, 34)
    first, second = (QColor(theme.colour_of_person(place)).rgb() for place in (0, 1))
    assert [image.pixel(50, 5), image.pixel(50, 30), image.pixel(150, 5), image.pixel(150, 30)] == [
        first,
        first,
        first,
        second,
    ]
    assert image.pixel(250, 5) not in (first, second)


def test_news_about_servers_leave_the_buttons_and_the_keyboard_where_they_are() -> None:
    page, link = page_of(FOUNDER)
    before = button(page, "Remove Bob")
    link.answers["members.list"] = lively(seen(BOB, 0, 4))
    page.refresh()
    assert button(page, "Remove Bob") is before
    assert any(text.startswith("Serves layers 1–4 · 12.5 tokens/s\n") for text in shown(page))


def test_those_who_were_helped_are_named_once_each() -> None:
    tower = MemberMachine("laptop", "12D3KooWbob2", MAY)
    found = replace(FOUNDER, members=(ANA, replace(BOB, machines=(*BOB.machines, tower)), EVE))
    groups = [
        Group("12D3KooWana", Earned(0, 0, tokens=50)),  # you
        Group("12D3KooWbob", Earned(0, 0, tokens=5)),
        Group("12D3KooWbob2", Earned(0, 0, tokens=7)),
        Group("12D3KooWprogram", Earned(0, 0, tokens=9)),
        Group("12D3KooWserver", Earned(0, 0, spent=9)),  # helped you
    ]
    assert helped(groups, found) == Helped(("Bob",), 1)


@pytest.mark.parametrize(
    ("names", "others", "said"),
    [
        ((), 3, ""),
        (("Ana",), 0, "Ana"),
        (("Ana", "Bob"), 0, "Ana and Bob"),
        (("Ana", "Bob", "Eve"), 0, "Ana, Bob and Eve"),
        (("Ana",), 1, "Ana and 1 other"),
        (("Ana", "Bob", "Eve", "Kim"), 0, "Ana and 3 others"),
    ],
)
def test_names_stand_in_a_sentence(names: tuple[str, ...], others: int, said: str) -> None:
    assert named(names, others) == said


def test_a_page_says_that_it_waits_and_why_it_failed() -> None:
    page, link = opened(PeoplePage)
    assert "Loading…" in shown(page)
    link.fail("members.list", PotluckError("no swarm is joined", hint="join one with: potluck join"))
    assert "No swarm is joined. Join one with: potluck join." in shown(page)
    link.answers["members.list"] = FOUNDER
    press(page, "Try again")
    assert "Bob" in shown(page)
    assert "Loading…" not in shown(page)


def test_an_open_swarm_has_no_members_to_show() -> None:
    page, _ = page_of(MembersList("all", (), (), may_lead=True, is_founder=False, is_open=True))
    assert "all is open to everybody" in shown(page)
    assert "Copy invite" not in buttons(page)


def test_somebody_alone_is_told_so() -> None:
    page, _ = page_of(replace(FOUNDER, members=(ANA,)))
    assert "Nobody else has joined yet." in shown(page)


def test_many_people_are_found_by_name() -> None:
    crowd = tuple(replace(BOB, name=f"Member {number}", id=f"{number:08x}") for number in range(80))
    page, _ = page_of(replace(FOUNDER, members=(ANA, *crowd)))
    assert "31 more. Search for a name." in shown(page)
    search = control(page, "Search people by name")
    assert isinstance(search, QLineEdit)
    search.setText("member 77")
    assert "Member 77" in shown(page)
    assert "Member 1" not in shown(page)
    search.setText("nobody")
    assert "Nobody has that name." in shown(page)


def test_an_invite_is_copied_for_so_many_people_and_days() -> None:
    page, link = page_of(FOUNDER)
    people, days = control(page, "People"), control(page, "Days")
    assert isinstance(people, NumberBox)
    assert isinstance(days, NumberBox)
    people.setValue(3)
    days.setValue(2)
    press(page, "Copy invite")
    assert link.named("invite") == [schema.InviteParams(3, 2.0)]
    link.answer("invite", schema.SwarmInvite("friends", "potluck2:abc", MAY, 3))
    assert QGuiApplication.clipboard().text() == "potluck2:abc"
    assert "Invite copied. 3 people can join with it until 12 May 2026." in shown(page)


def test_a_new_invite_is_shown_as_a_code_with_the_swarms_link_until_the_page_is_left() -> None:
    page, link = page_of(FOUNDER)
    page.show()
    press(page, "Copy invite")
    link.answer("invite", schema.SwarmInvite("friends", "potluck2:abc", MAY, 3, "potluck:friends:00"))
    code, address = control(page, "The invite as a QR code"), control(page, "The swarm's link")
    assert isinstance(address, QLineEdit)
    assert address.text() == "potluck:friends:00"
    modules = [
        [code.grab().toImage().pixelColor(3 * column + 1, 3 * row + 1) == Qt.GlobalColor.black for column in range(29)]
        for row in range(29)
    ]
    assert [row[4:-4] for row in modules[4:-4]] == [
        list(map(bool, row)) for row in segno.make("potluck2:abc", error="l", micro=False, boost_error=False).matrix
    ]
    page.hide()
    page.show()
    assert not code.isVisible()


def test_an_invite_that_no_code_holds_is_copied_without_one() -> None:
    page, link = page_of(FOUNDER)
    page.show()
    press(page, "Copy invite")
    link.answer("invite", schema.SwarmInvite("friends", "a" * 2954, MAY, 3, "potluck:friends:00"))
    assert control(page, "The swarm's link").isVisible()
    assert not control(page, "The invite as a QR code").isVisible()
    assert QGuiApplication.clipboard().text() == "a" * 2954


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Reach.NEARBY,
            "Only computers in your own network can reach this one. For friends elsewhere, "
            "let your router forward TCP port 31337.",
        ),
        (Reach.DIRECT, "Others reach this computer: members have tried."),
    ],
)
def test_whether_others_reach_this_computer_is_said_before_an_invite_is_copied(found: Reach, words: str) -> None:
    page, link = page_of(FOUNDER)
    page.show_status(replace(SERVING, ports=(31337,)))
    link.answer("swarms.contact", Contact("friends", "p", (), found))
    assert words in shown(page)
    assert link.named("invite") == []


def test_a_computer_that_nobody_can_find_yet_says_so_beside_the_invite() -> None:
    page, link = page_of(FOUNDER)
    link.fail("swarms.contact", PotluckError("the swarm cannot be found by others yet"))
    assert "The swarm cannot be found by others yet." in shown(page)


def test_an_invite_is_withdrawn_after_a_question() -> None:
    page, link = page_of(FOUNDER)
    assert "2 of 10 used · until" in said(page)
    press(page, "Withdraw…")
    assert link.named("members.withdraw") == []
    confirm(page, "Withdraw")
    assert link.named("members.withdraw") == [WithdrawParams("3fa9c2d1")]


def test_invites_that_have_ended_are_not_offered_to_be_withdrawn() -> None:
    used, expired = replace(INVITE, used=10), replace(INVITE, expires_at=1.0)
    page, _ = page_of(replace(FOUNDER, invites=(used, expired)))
    assert "Withdraw…" not in buttons(page)


@pytest.mark.parametrize(("ticked", "withdrawn"), [(True, [WithdrawParams("3fa9c2d1")]), (False, [])])
def test_removing_a_person_says_what_happens_and_ends_their_invite_too(
    ticked: bool, withdrawn: list[WithdrawParams]
) -> None:
    page, link = page_of(FOUNDER)
    press(page, "Remove Bob")
    question = page.findChild(Question)
    assert question.text() == "Remove Bob from friends?"
    assert "Within a minute" in question.informativeText()
    question.checkBox().setChecked(ticked)
    confirm(page, "Remove")
    assert link.named("members.remove") == [MemberParams("bb22bb22")]
    assert link.named("members.withdraw") == withdrawn
    link.answers["members.list"] = replace(FOUNDER, members=(ANA, EVE))
    link.answer("members.remove", DONE)
    assert "Bob was removed." in shown(page)
    assert "Bob" not in shown(page)


def test_a_removal_that_nobody_knows_yet_says_so() -> None:
    page, link = page_of(FOUNDER)
    press(page, "Make Bob an admin")
    assert link.named("members.promote") == [PromoteParams("bb22bb22", is_admin=True)]
    link.answer("members.promote", replace(DONE, is_known=False))
    assert "Bob is an admin now. The others learn of it when this computer serves again." in shown(page)
    press(page, "Make Eve an ordinary member")
    assert link.named("members.promote")[-1] == PromoteParams("ee33ee33", is_admin=False)


def test_members_see_whom_to_ask_and_remove_only_their_own_computers() -> None:
    page, link = page_of(MEMBER)
    assert "Only the founder and admins can invite people. Ask Ana, Eve." in shown(page)
    assert "Copy invite" not in buttons(page)
    named = [item.accessibleName() for item in page.findChildren(QPushButton) if item.isVisibleTo(page)]
    assert [name for name in named if name.startswith(("Remove", "Make"))] == ["Remove tower"]
    press(page, "Remove tower")
    confirm(page, "Remove")
    assert link.named("members.remove") == [MemberParams("bb22bb22", "12D3KooWbob")]


def test_only_the_founder_removes_admins() -> None:
    admins_list = replace(MEMBER, may_lead=True)
    assert [may_remove(member, admins_list) for member in (ANA, replace(BOB, is_you=False), EVE)] == [
        False,
        True,
        False,
    ]
    assert may_remove(EVE, FOUNDER)


def test_the_recovery_code_is_shown_and_taken() -> None:
    page, link = page_of(FOUNDER)
    press(page, "Show recovery code…")
    link.answer("members.recovery_code", RecoveryCode("friends", "ABCD-EFGH"))
    assert page.findChild(QMessageBox).text() == "ABCD-EFGH"
    page, link = page_of(MEMBER)
    press(page, "I have a recovery code")
    code = control(page, "Recovery code")
    assert isinstance(code, QLineEdit)
    code.setText(" ABCD-EFGH ")
    assert page.is_unsaved
    press(page, "Become the founder again")
    assert link.named("members.recover") == [RecoverParams("ABCD-EFGH")]
    assert not page.is_unsaved


def test_home_offers_an_invite_only_to_those_who_can_make_one() -> None:
    page, link = opened(HomePage)
    page.show_status(SERVING)
    assert link.named("members.list") == [SwarmParams("friday")]
    link.answer("members.list", replace(MEMBER, swarm="friday"))
    assert "Invite someone" not in buttons(page)
    assert "Only the founder and admins can invite people. Ask Ana, Eve." in shown(page)
    page.refresh()
    link.answer("members.list", replace(FOUNDER, swarm="friday"))
    assert button(page, "Invite someone").isVisibleTo(page)
    assert "Only the founder and admins" not in said(page)


# -- the user's own computers ------------------------------------------------------------------------------------------

CODE = "ABCD-EFGH-JKMN-PQRS-TVWX"


def test_a_code_is_shown_until_another_computer_used_it() -> None:
    page, link = page_of(FOUNDER)
    press(page, "Add a computer…")
    link.answer("computers.add", Adding("friends", CODE, MAY))
    assert CODE in shown(page)
    assert "Add a computer…" not in buttons(page)
    page.findChild(OwnComputers)._show_code(Adding("friends", "", MAY, added="laptop"))
    assert "laptop is one of your computers now." in shown(page)
    assert CODE not in shown(page)
    assert "Add a computer…" in buttons(page)


def test_a_code_that_ended_says_why_and_one_can_be_cancelled() -> None:
    page, link = page_of(FOUNDER)
    press(page, "Add a computer…")
    link.answer("computers.add", Adding("friends", CODE, MAY))
    page.findChild(OwnComputers)._show_code(Adding("friends", "", MAY, problem="nobody used the code in time"))
    assert "Nobody used the code in time." in shown(page)
    press(page, "Add a computer…")
    link.answer("computers.add", Adding("friends", CODE, MAY))
    assert "Nobody used the code in time." not in shown(page)
    press(page, "Cancel")
    link.answer("computers.cancel", Adding())
    assert CODE not in shown(page)


def test_a_computer_without_the_persons_key_offers_nothing_that_needs_it() -> None:
    page, _ = page_of(replace(MEMBER, has_key=False))
    assert "tower" in shown(page)
    assert not {"Add a computer…", "Save backup…", "Remove…"} & set(buttons(page))


def test_a_backup_needs_one_long_password_twice(tmp_path: Path) -> None:
    page, _ = page_of(FOUNDER)
    first, second = control(page, "Password"), control(page, "Password again")
    assert isinstance(first, QLineEdit)
    assert isinstance(second, QLineEdit)
    save = button(page, "Save backup…")
    assert not save.isEnabled()
    first.setText("short")
    assert "The password needs at least 10 letters." in shown(page)
    first.setText("long enough to count")
    second.setText("something else")
    assert "The two passwords differ." in shown(page)
    assert not save.isEnabled()
    second.setText("long enough to count")
    assert save.isEnabled()
    file = tmp_path / "keys"
    file.write_bytes(b"an older backup")
    page.findChild(BackupForm).write(file, Backup(base64.b64encode(b"sealed").decode()))
    assert file.read_bytes() == b"sealed"
    assert file.stat().st_mode & 0o777 == 0o600
    assert not page.is_unsaved
    page.findChild(BackupForm).write(tmp_path / "nowhere" / "keys", Backup(""))
    assert "No such file" in said(page)


def test_a_computer_is_added_by_its_code_or_restored_from_a_backup(tmp_path: Path, qtbot: QtBot) -> None:
    link = FakeLink()
    form = OtherComputer(link)
    code, password = control(form, "Code from the other computer"), control(form, "Password of the backup")
    assert isinstance(code, QLineEdit)
    assert isinstance(password, QLineEdit)
    assert not button(form, "Add this computer").isEnabled()
    code.setText(f" {CODE} ")
    press(form, "Add this computer")
    assert link.named("computers.join") == [CodeParams(CODE)]
    link.fail("computers.join", PotluckError("the code has a wrong letter in it"))
    assert "The code has a wrong letter in it." in shown(form)
    file = tmp_path / "keys"
    file.write_bytes(b"sealed")
    password.setText("long enough to count")
    form.restore(file)
    assert link.named("computers.restore") == [
        RestoreParams(base64.b64encode(b"sealed").decode(), "long enough to count")
    ]
    with qtbot.waitSignal(form.joined):
        link.answer("computers.restore", Restored(("friends",)))
    assert not form.is_begun
    form.restore(tmp_path / "nowhere")
    assert "No such file or directory." in shown(form)
