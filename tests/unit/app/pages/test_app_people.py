"""The page Swarm: who is shown, what a founder, an admin and a member may do, and what is asked before."""

import base64
import time
from pathlib import Path

import pytest
import segno
from helpers.app_answers import SERVING, SWARM
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, chosen_from, confirm, control, opened, picture, press, said, shown
from msgspec import structs
from potluck_app.pages.first_run.joining import OtherComputer
from potluck_app.pages.settings.backup import BackupForm
from potluck_app.pages.settings.page import PreferencesPage
from potluck_app.pages.swarm.layers import LayerStrip
from potluck_app.pages.swarm.members import may_remove
from potluck_app.pages.swarm.own_computers import OwnComputers
from potluck_app.pages.swarm.page import SwarmPage
from potluck_app.widgets import theme
from potluck_app.widgets.dialogs import ConfirmDialog
from potluck_app.words import layers
from potluck_app.words.people import current_work, helped_people, join_names, places_of, served_by
from potluck_control.api import schema
from potluck_control.api.schema import PauseParams, Status
from potluck_control.methods.earnings import Earned, Group
from potluck_control.methods.members import (
    Backup,
    ConfirmParams,
    EndInviteParams,
    MachineInvite,
    Member,
    MemberMachine,
    MemberParams,
    MembersChanged,
    MembersList,
    OpenInvite,
    PromoteParams,
    RecoveryCode,
    Restored,
    RestoreParams,
    SeenServer,
    WrongResultsReport,
)
from potluck_control.methods.swarms import Contact, InviteReach
from potluck_control.states import Reason, State
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError

DAY_S = 86400.0
MAY = 1_778_580_000.0  # 12 May 2026
ANA = Member("Ana", "aa11aa11", "founder", MAY, "", True, False, (MemberMachine("desktop", "12D3KooWana"),))
BOB = Member(
    "Bob", "bb22bb22", "member", MAY, "3fa9c2d1", False, False, (MemberMachine("tower", "12D3KooWbob"),), "Ana"
)
EVE = Member("Eve", "ee33ee33", "admin", MAY, "3fa9c2d1", False, False, (), "Ana")
INVITE = OpenInvite("3fa9c2d1", time.time() + 9 * DAY_S, 10, 2)
FOUNDER = MembersList("friends", (ANA, BOB, EVE), (INVITE,), may_lead=True, is_founder=True)
MEMBER = structs.replace(
    FOUNDER,
    members=(structs.replace(ANA, is_you=False), structs.replace(BOB, is_you=True), EVE),
    may_lead=False,
    is_founder=False,
)
DONE = MembersChanged("friends", "done", True)


def page_of(found: MembersList) -> tuple[SwarmPage, FakeLink]:
    return opened(SwarmPage, {"members.list": found})


def settings_of(found: MembersList) -> tuple[PreferencesPage, FakeLink]:
    return opened(PreferencesPage, {"members.list": found})


def test_people_are_shown_with_their_computers_and_by_whom_they_came() -> None:
    page, _ = page_of(FOUNDER)
    assert "Not known yet\nFounder · known since 12 May 2026\ndesktop" in shown(page)
    assert "Not known yet\nKnown since 12 May 2026 · invited by Ana\ntower" in shown(page)
    assert "Ana (you)" in shown(page)


def seen(member: Member, start: int, end: int, state: str = "online", ping_s: float | None = None) -> SeenServer:
    return SeenServer(member.machines[0].peer_id, start, end, state, 12.5, ping_s)


def lively(*servers: SeenServer) -> MembersList:
    return structs.replace(FOUNDER, servers=servers, servers_at=time.time())


def test_a_person_is_shown_with_what_their_computers_do() -> None:
    for found, words in (
        (FOUNDER, "Not known yet"),
        (lively(), "Away"),
        (lively(seen(BOB, 0, 4, ping_s=0.023)), "Serves layers 1–4 · 23 ms away"),
        (lively(seen(BOB, 3, 4)), "Serves layer 4"),
        (lively(seen(BOB, 0, 4, "offline")), "Stepped aside"),
        (lively(seen(BOB, 0, 4, "joining")), "Getting ready"),
    ):
        assert current_work(BOB, found, None) == words


def test_this_computer_is_shown_as_serving_before_the_directory_knows_it() -> None:
    here, found = structs.replace(SWARM, peer_id=ANA.machines[0].peer_id), lively(seen(BOB, 2, 4))
    ana, bob = places_of(found)[ANA.id], places_of(found)[BOB.id]
    assert served_by(found, here) == [(ana,), (ana,), (bob,), (bob,)]
    assert served_by(lively(seen(ANA, 0, 2)), here) == [(ana,), (ana,), (), ()], "once"
    assert current_work(ANA, found, SERVING) == "Getting ready"


def test_only_the_user_sees_the_game_that_their_computer_steps_aside_for() -> None:
    aside = structs.replace(SERVING, state=State.YIELDED, reason=Reason.GAME, app="doom", app_title="Doom")
    found = lively(seen(ANA, 0, 4, "offline"), seen(BOB, 0, 4, "offline"))
    assert current_work(ANA, found, aside) == "Stepped aside: Doom"
    assert current_work(BOB, found, aside) == "Stepped aside"


def test_layers_are_shown_with_the_people_who_serve_them() -> None:
    stranger = SeenServer("12D3KooWsomebody", 2, 3, "online", 1.0)
    found = lively(seen(ANA, 0, 2), seen(BOB, 1, 3), stranger, seen(BOB, 3, 4, "offline"))
    ana, bob = places_of(found)[ANA.id], places_of(found)[BOB.id]
    assert served_by(found, SWARM) == [(ana,), (ana, bob), (-1, bob), ()]
    page, link = page_of(structs.replace(found, swarm="friday"))
    page.show_status(SERVING)
    assert "Nobody serves layer 4. You serve 1–2." in shown(page)
    link.answers["members.list"] = FOUNDER
    page.refresh()
    assert "Nobody serves layer 3. You serve 1–2." in shown(page), "the people of another swarm"


@pytest.mark.parametrize(
    ("status", "own"),
    [
        (SERVING, (0, 2)),
        (structs.replace(SERVING, state=State.YIELDED, swarm=structs.replace(SWARM, span=None)), None),
        (structs.replace(SERVING, swarm=structs.replace(SWARM, name="new", span=None, coverage=())), None),
    ],
)
def test_only_what_is_served_now_in_this_swarm_is_underlined(status: Status, own: tuple[int, int] | None) -> None:
    page, _ = page_of(structs.replace(lively(seen(ANA, 0, 4)), swarm="friday"))
    page.show_status(SERVING)
    page.show_status(status)
    assert page.findChild(LayerStrip).own == own
    assert ("You serve none." in said(page)) is (own is None)
    assert ("4 layers, status unknown." in said(page)) is (status.swarm.name == "new")


def test_the_strip_has_the_colours_of_the_people_and_a_line_below_the_users_own_layers() -> None:
    strip = LayerStrip()
    strip.show_layers([(0,), (0, 1), ()], (0, 1), "said")
    image = picture(strip, 302, 34)
    first, second = (QColor(theme.colour_of_person(place)).rgb() for place in (0, 1))
    accent = QColor(theme.colours().accent).rgb()
    drawn = [image.pixel(x, y) for x, y in ((50, 5), (50, 22), (150, 5), (150, 22), (50, 32))]
    assert drawn == [first, first, first, second, accent]
    assert image.pixel(250, 5) not in (first, second)
    assert image.pixel(150, 32) != accent
    strip.show_layers([None] * 500, None, "said")
    assert picture(strip, 302, 34) != image


def test_one_more_computer_is_worth_what_is_said() -> None:
    for gain, coverage, words in (
        (1.0, (1, 1, 0, 1), "would serve layers 2–3 and complete the model."),
        (0.0, (0, 1, 0, 1), "would serve layers 2–3. Others would still be missing."),
        (0.5, (1, 1, 1, 1), "would serve layers 2–3 and let 50 % more answers run at once."),
        (0.0, (1, 1, 1, 1), "would serve layers 2–3, in case another one leaves."),
    ):
        more = schema.OneMore((1, 3), gain)
        assert layers.one_more(structs.replace(SWARM, coverage=coverage, one_more=more)).endswith(words)


def test_news_about_servers_leave_the_buttons_and_the_keyboard_where_they_are() -> None:
    page, link = page_of(FOUNDER)
    before = button(page, "Change Bob")
    link.answers["members.list"] = lively(seen(BOB, 0, 4))
    page.refresh()
    assert button(page, "Change Bob") is before
    assert any(text.startswith("Serves layers 1–4\n") for text in shown(page))


def test_those_who_were_helped_are_named_once_each() -> None:
    groups = [
        Group(BOB.id * 8, Earned(0, 0, tokens=5)),
        Group(EVE.id * 8, Earned(0, 0, tokens=7)),
        Group("12D3KooWprogram", Earned(0, 0, tokens=9)),
        Group(ANA.id * 8, Earned(0, 0, received=9)),  # helped you
    ]
    assert helped_people(groups, FOUNDER) == (["Eve", "Bob"], 1)


def test_names_stand_in_a_sentence() -> None:
    for names, others, words in (
        ((), 3, ""),
        (("Ana",), 0, "Ana"),
        (("Ana", "Bob"), 0, "Ana and Bob"),
        (("Ana", "Bob", "Eve"), 0, "Ana, Bob and Eve"),
        (("Ana",), 1, "Ana and 1 other"),
        (("Ana", "Bob", "Eve", "Kim"), 0, "Ana and 3 others"),
    ):
        assert join_names(names, others) == words


def test_a_swarm_without_others_says_so() -> None:
    for found, words in (
        (MembersList("all", (), (), may_lead=True, is_founder=False, is_open=True), "all is open to everybody"),
        (structs.replace(FOUNDER, members=(ANA,)), "Nobody else has joined yet."),
    ):
        page, _ = page_of(found)
        assert words in shown(page)
        assert ("Copy an invite" in buttons(page)) is not found.is_open


def test_many_people_are_found_by_name() -> None:
    crowd = tuple(structs.replace(BOB, name=f"Member {number}", id=f"{number:08x}") for number in range(80))
    page, _ = page_of(structs.replace(FOUNDER, members=(ANA, *crowd)))
    assert "31 more. Search for a name." in shown(page)
    search = control(page, "Search people by name")
    search.setText("member 77")
    assert "Member 77" in shown(page)
    assert "Member 1" not in shown(page)
    search.setText("nobody")
    assert "Nobody has that name." in shown(page)


def test_a_message_with_the_invite_is_copied_and_the_same_one_again() -> None:
    came = structs.replace(BOB, invite=INVITE.id)
    page, link = page_of(structs.replace(FOUNDER, members=(ANA, came), invites=(INVITE,)))
    assert any(text.startswith("2 of 10 used · until ") and text.endswith(" · Bob") for text in shown(page))
    press(page, "Copy an invite")
    link.answer("invite", schema.SwarmInvite("friends", "potluck4:abc", MAY, 10, "potluck:friends:00", 2))
    copied = QGuiApplication.clipboard().text()
    assert "install Potluck" in copied
    assert copied.endswith("\n\npotluck4:abc\n")
    press(page, "Copied")
    assert link.named("invite") == [schema.InviteParams(), schema.InviteParams()]
    control(page, "People").setValue(3)
    press(page, "Copied")
    assert link.named("invite")[-1] == schema.InviteParams(3, 14.0)


def test_an_invite_is_shown_as_a_code_with_the_swarms_link_until_the_page_is_left() -> None:
    page, link = page_of(FOUNDER)
    page.show()
    press(page, "Copy an invite")
    link.answer("invite", schema.SwarmInvite("friends", "potluck4:abc", MAY, 3, "potluck:friends:00"))
    code = control(page, "The invite as a QR code")
    assert not code.isVisible()
    press(page, "QR code and link")
    assert control(page, "The swarm's link").text() == "potluck:friends:00"
    image = code.grab().toImage()
    black = [[image.pixelColor(3 * x + 1, 3 * y + 1) == Qt.GlobalColor.black for x in range(29)] for y in range(29)]
    wanted = segno.make("potluck4:abc", error="l", micro=False, boost_error=False).matrix
    assert [row[4:-4] for row in black[4:-4]] == [list(map(bool, row)) for row in wanted]
    page.hide()
    page.show()
    assert not code.isVisible()
    assert "QR code and link" not in buttons(page)
    press(page, "Copied")
    link.answer("invite", schema.SwarmInvite("friends", "a" * 2954, MAY, 3, "potluck:friends:00"))
    press(page, "QR code and link")
    assert control(page, "The swarm's link").isVisible()
    assert not code.isVisible(), "no code holds so much"


def test_whether_others_reach_this_computer_is_said_before_an_invite_is_copied() -> None:
    page, link = page_of(FOUNDER)
    page.show_status(structs.replace(SERVING, ports=(31337,)))
    link.fail("swarms.contact", PotluckError("the swarm cannot be found by others yet"))
    assert "The swarm cannot be found by others yet." in shown(page)
    for reach, words in (
        (InviteReach.NEARBY, "elsewhere, let your router forward TCP port 31337."),
        (InviteReach.DIRECT, "Others reach this computer: members have tried."),
        (InviteReach.HERE, "This swarm is for this computer alone."),
        (InviteReach.NOWHERE, "Connect it to a network before you send an invite."),
    ):
        link.answers["swarms.contact"] = Contact("friends", "p", (), reach)
        page.refresh()
        assert words in said(page)


def test_an_invite_is_ended_after_a_question() -> None:
    page, link = page_of(FOUNDER)
    assert "2 of 10 used · until" in said(page)
    press(page, "End…")
    assert link.named("members.end_invite") == []
    confirm(page, "End the invite")
    assert link.named("members.end_invite") == [EndInviteParams("3fa9c2d1")]
    page, _ = page_of(
        structs.replace(FOUNDER, invites=(structs.replace(INVITE, used=10), structs.replace(INVITE, expires_at=1.0)))
    )
    assert "End…" not in buttons(page), "they are over"


def test_a_guest_is_shown_as_such_and_let_in_where_that_takes_a_decision() -> None:
    guest = structs.replace(BOB, rank="guest", is_on_probation=True)
    page, _ = page_of(structs.replace(FOUNDER, members=(ANA, guest)))
    assert any("\nNot confirmed yet · known since 12 May 2026 · invited by Ana" in text for text in shown(page))
    assert "Let in" not in buttons(page)
    assert [*chosen_from(page, "Change Bob")] == ["Remove…"]
    page, link = page_of(structs.replace(FOUNDER, members=(ANA, structs.replace(guest, waits=True))))
    assert any("\nWaits to be let in · " in text for text in shown(page))
    press(page, "Let Bob in")
    assert link.named("members.confirm") == [MemberParams("bb22bb22")]
    link.answers["members.list"] = FOUNDER
    link.answer("members.confirm", DONE)
    assert "Bob is a member now." in shown(page)


def test_removing_a_person_says_what_happens_and_ends_their_invite_too() -> None:
    for ticked, ended in ((True, [EndInviteParams("3fa9c2d1")]), (False, [])):
        page, link = page_of(FOUNDER)
        chosen_from(page, "Change Bob")["Remove…"].trigger()
        question = page.findChild(ConfirmDialog)
        assert question.text() == "Remove Bob from friends?"
        assert "Within a minute" in question.informativeText()
        question.checkBox().setChecked(ticked)
        confirm(page, "Remove")
        assert link.named("members.remove") == [MemberParams("bb22bb22")]
        assert link.named("members.end_invite") == ended
        link.answers["members.list"] = structs.replace(FOUNDER, members=(ANA, EVE))
        link.answer("members.remove", DONE)
        assert "Bob was removed." in shown(page)
        assert "Bob" not in shown(page)


def test_a_removal_that_nobody_knows_yet_says_so() -> None:
    page, link = page_of(FOUNDER)
    chosen_from(page, "Change Bob")["Make admin"].trigger()
    assert link.named("members.promote") == [PromoteParams("bb22bb22", is_admin=True)]
    link.answer("members.promote", structs.replace(DONE, is_known=False))
    assert "Bob is an admin now. The others learn of it when this computer serves again." in shown(page)
    chosen_from(page, "Change Eve")["Make ordinary member"].trigger()
    assert link.named("members.promote")[-1] == PromoteParams("ee33ee33", is_admin=False)


def test_members_see_whom_to_ask_and_remove_only_their_own_computers() -> None:
    page, link = page_of(MEMBER)
    assert "Only the founder and admins can invite people. Ask Ana, Eve." in shown(page)
    assert "Copy an invite" not in buttons(page)
    named = [item.accessibleName() for item in page.findChildren(QPushButton) if item.isVisibleTo(page)]
    assert [name for name in named if name.startswith(("Remove", "Change"))] == ["Remove tower"]
    press(page, "Remove tower")
    confirm(page, "Remove")
    assert link.named("members.remove") == [MemberParams("bb22bb22", "12D3KooWbob")]


def test_only_the_founder_removes_admins() -> None:
    others = ANA, structs.replace(BOB, is_you=False), EVE
    assert [may_remove(member, structs.replace(MEMBER, may_lead=True)) for member in others] == [False, True, False]
    assert may_remove(EVE, FOUNDER)


def test_the_recovery_code_is_shown_and_taken() -> None:
    page, link = settings_of(FOUNDER)
    press(page, "Show recovery code…")
    link.answer("members.recovery_code", RecoveryCode("ABCD-EFGH", "friends"))
    assert page.findChild(QMessageBox).text() == "ABCD-EFGH"
    page, link = settings_of(MEMBER)
    press(page, "I have a recovery code")
    code = control(page, "Recovery code")
    code.setText(" ABCD-EFGH ")
    assert page.is_unsaved
    press(page, "Become the founder again")
    assert link.named("members.recover") == [RecoveryCode("ABCD-EFGH")]
    assert not page.is_unsaved


# -- the user's own computers ------------------------------------------------------------------------------------------


def test_an_invite_for_one_machine_is_shown_until_the_computer_that_used_it_is_confirmed() -> None:
    page, link = page_of(FOUNDER)
    link.answers["computers.add"] = MachineInvite("friends", "potluck4:abc", time.time() + 600)
    press(page, "Add a computer…")
    invite, computers = control(page, "Invite for the other computer"), page.findChild(OwnComputers)
    assert invite.text() == "potluck4:abc"
    assert control(page, "Invite for the other computer as a QR code").isVisibleTo(page)
    assert "Add a computer…" not in buttons(page)
    link.answers["members.list"] = structs.replace(FOUNDER, asking="laptop")
    computers._check_invite()
    assert "laptop asks to be one of your computers" in shown(page)
    press(page, "Confirm laptop")
    assert link.named("computers.confirm") == [ConfirmParams("laptop")]
    link.answers["members.list"] = FOUNDER
    link.answer("computers.confirm", DONE)
    assert "laptop is one of your computers now." in shown(page)
    assert "laptop asks to be one of your computers" not in shown(page)
    assert not invite.isVisibleTo(page)
    assert invite.text() == ""


def test_an_invite_for_one_machine_is_gone_when_it_expired_or_the_page_is_left() -> None:
    for leave in (True, False):
        page, link = page_of(FOUNDER)
        page.show()
        link.answers["computers.add"] = MachineInvite("friends", "potluck4:abc", 0.0)
        press(page, "Add a computer…")
        if leave:
            page.hide()
            page.show()
        else:
            page.findChild(OwnComputers)._check_invite()
        assert not control(page, "Invite for the other computer").isVisible()
        assert "Add a computer…" in buttons(page)


def test_a_computer_without_the_persons_key_offers_nothing_that_needs_it() -> None:
    found = structs.replace(MEMBER, has_key=False)
    page, _ = page_of(found)
    assert "tower" in shown(page)
    assert not {"Add a computer…", "Remove…"} & set(buttons(page))
    assert "Save backup…" not in buttons(settings_of(found)[0])


def test_a_computer_that_asks_to_be_ones_own_is_shown_at_once() -> None:
    page, _ = page_of(structs.replace(FOUNDER, asking="laptop"))
    assert "laptop asks to be one of your computers" in shown(page)


def test_a_backup_needs_one_long_password_twice(tmp_path: Path) -> None:
    page, _ = settings_of(FOUNDER)
    first, second = control(page, "Password"), control(page, "Password again")
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


def test_a_computer_is_restored_from_a_backup(tmp_path: Path, qtbot: QtBot) -> None:
    link = FakeLink()
    form = OtherComputer(link)
    assert not button(form, "Restore backup…").isEnabled()
    file = tmp_path / "keys"
    file.write_bytes(b"sealed")
    control(form, "Password of the backup").setText("long enough to count")
    form.restore(file)
    link.fail("computers.restore", PotluckError("this password does not open the backup"))
    assert "This password does not open the backup." in shown(form)
    form.restore(file)
    assert link.named("computers.restore")[-1] == RestoreParams(
        base64.b64encode(b"sealed").decode(), "long enough to count"
    )
    with qtbot.waitSignal(form.joined):
        link.answer("computers.restore", Restored(("friends",)))
    assert not form.is_begun
    form.restore(tmp_path / "nowhere")
    assert "No such file or directory." in shown(form)


WRONG = WrongResultsReport("bb22bb22", "Bob", "tower", "12D3KooWbob", ("Cem", "Dora"))


def test_wrong_results_are_shown_with_who_found_them_and_a_leader_removes_or_dismisses() -> None:
    page, link = page_of(structs.replace(FOUNDER, wrong_results=(WRONG,)))
    assert "Bob's tower returned wrong results" in shown(page)
    assert "Found by Cem and Dora, not confirmed by your server." in shown(page)
    link.answers["members.list"] = structs.replace(FOUNDER, wrong_results=(structs.replace(WRONG, is_confirmed=True),))
    page.refresh()
    assert "Found by Cem and Dora, confirmed by your server." in shown(page)
    link.answers |= {"members.remove": DONE, "members.dismiss": DONE}
    press(page, "Remove Bob's tower")
    confirm(page, "Remove")
    press(page, "Dismiss the reports about Bob's tower")
    wanted = [MemberParams("bb22bb22", "12D3KooWbob")]
    assert link.named("members.remove") == link.named("members.dismiss") == wanted
    link.answers["members.list"] = FOUNDER
    page.refresh()
    assert "Wrong results" not in shown(page)


def test_the_accused_sees_what_was_checked_and_can_stop() -> None:
    own = structs.replace(WRONG, is_here=True)
    page, link = page_of(structs.replace(MEMBER, wrong_results=(own,)))
    assert "This computer returned wrong results" in shown(page)
    for found, words in (
        (structs.replace(own, checked_at=MAY), "found nothing wrong in its memory"),
        (structs.replace(own, checked_at=MAY, damaged="mlp.weight"), "Its memory was damaged"),
    ):
        link.answers["members.list"] = structs.replace(MEMBER, wrong_results=(found,))
        page.refresh()
        assert any(words in text for text in shown(page))
    link.answers["pause"] = SERVING
    press(page, "Stop serving")
    assert link.named("pause") == [PauseParams()]
