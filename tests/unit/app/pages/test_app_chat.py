"""The chat page before a real gateway server over real sockets, whose model is a list of words."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.app_states import FETCHING
from helpers.app_texts import in_language
from helpers.application import Wait
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, confirm, shown
from helpers.words_model import TOKEN, WAITING, Words, running, server_of
from msgspec import structs
from potluck_app.pages.chat import answer, bubble
from potluck_app.pages.chat.answer import ConversationMessage
from potluck_app.pages.chat.bubble import Bubble, MessageCode, blocks
from potluck_app.pages.chat.conversations import ConversationFolder
from potluck_app.pages.chat.page import ChatPage
from potluck_app.pages.preferences import Preferences
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import NumberBox
from potluck_control.api.schema import Status, SwarmStatus
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.methods.installation import Problem, WorkProgress
from potluck_control.methods.members import Member, MemberMachine, MembersList
from potluck_control.states import Reason, State
from potluck_gateway.exchange import AnswerPart
from potluck_gateway.server import GatewayServer
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from potluck.errors import SwarmError, UsageError
from potluck.protocol.codec import builtins, encode
from potluck.sentences import sentence

SERVING = Status(
    State.SERVING, Reason.NONE, sentence("Serving"), since=0.0, version="1", swarm=SwarmStatus("friday", "a/demo", 4)
)
STARTING = GatewayStatus(GatewayState.STARTING, step=sentence("Loading embeddings"))


@pytest.fixture
def model() -> Words:
    return Words("Good ", "day")


@pytest.fixture
def server(model: Words) -> Iterator[GatewayServer]:
    with running(server_of(model), model) as made:
        yield made


@pytest.fixture
def link(server: GatewayServer) -> FakeLink:
    ready = GatewayStatus(GatewayState.READY, url=server.url, token=TOKEN)
    return FakeLink({"gateway.start": ready})


@pytest.fixture
def kept(tmp_path: Path) -> ConversationFolder:
    return ConversationFolder(tmp_path / "conversations")


@pytest.fixture
def page(link: FakeLink, kept: ConversationFolder, tmp_path: Path) -> ChatPage:
    made = ChatPage(link, kept, Preferences(str(tmp_path / "app.ini")))
    made.show_status(SERVING)
    made.refresh()
    return made


def ask(page: ChatPage, question: str) -> None:
    field = page._field
    field.setPlainText(question)
    field.sent.emit()


def test_before_the_first_question_the_page_says_who_reads_along(page: ChatPage) -> None:
    assert "Talk to demo" in shown(page)
    assert "People serving this model can read your messages." in shown(page)
    assert not button(page, "Send").isEnabled()


def test_without_a_swarm_there_is_nobody_to_talk_to(link: FakeLink) -> None:
    page = ChatPage(link)
    assert "No model to talk to yet" in shown(page)
    ask(page, "Hello")
    assert link.named("gateway.start") == []


def test_an_answer_comes_part_by_part_with_its_speed_and_servers_and_belongs_to_the_conversation(
    page: ChatPage, model: Words, wait: Wait
) -> None:
    model.may_begin.clear()
    ask(page, "Hello")
    wait(lambda: str(WAITING) in shown(page))
    model.may_begin.set()
    wait(lambda: "Good" in shown(page))
    assert not any("Waiting for a server" in said for said in shown(page))
    assert button(page, "Stop").isVisibleTo(page)
    model.may_end.set()
    wait(lambda: "Good day" in shown(page) and button(page, "Send").isVisibleTo(page))
    assert "12.5 tokens/s · answered by ana" in shown(page), "as far as they have names"
    ask(page, "And now?")
    wait(lambda: len(model.asked) == 2)
    said = [(said.role, said.content) for said in model.asked[1].messages]
    assert said == [("user", "Hello"), ("assistant", "Good day"), ("user", "And now?")]
    wait(lambda: button(page, "Send").isVisibleTo(page))


def test_a_gateway_that_starts_tells_how_far_it_is(page: ChatPage, link: FakeLink, model: Words, wait: Wait) -> None:
    ready = link.answers.pop("gateway.start")
    model.may_end.set()
    ask(page, "Hello")
    link.answer("gateway.start", STARTING)
    assert "Getting ready, usually within a minute: Loading embeddings…" in shown(page)
    wait(lambda: bool(link.named("gateway.status")))
    link.answer("gateway.status", ready)
    wait(lambda: "Good day" in shown(page))


def test_a_question_asked_while_the_engine_is_set_up_is_answered_when_this_computer_has_started(
    page: ChatPage, link: FakeLink, model: Words, wait: Wait
) -> None:
    ready = link.answers.pop("gateway.start")
    model.may_end.set()
    no_engine = structs.replace(SERVING, state=State.IDLE, reason=Reason.NO_ENGINE)
    page.show_status(no_engine)
    link.answers["setup.state"] = FETCHING
    ask(page, "Hello")
    assert "Downloading torch (3 of 40)." in shown(page)
    link.answers["setup.state"] = structs.replace(FETCHING, progress=WorkProgress(sentence("testing")))
    wait(lambda: "Testing." in shown(page))
    assert link.named("gateway.start") == []
    link.answers["setup.state"] = structs.replace(FETCHING, progress=None, ready=True)
    for status in (
        no_engine,
        structs.replace(SERVING, state=State.STARTING),
        structs.replace(SERVING, state=State.JOINING),
    ):
        page.show_status(status)
        wait(lambda: "gateway.start" in link._waiting)
        link.fail("gateway.start", UsageError("the swarm home cannot be found", hint="serve it"))
        assert "Getting ready, usually within a minute: this computer starts…" in shown(page)
    link.answers["gateway.start"] = ready
    wait(lambda: "Good day" in shown(page))


def test_a_question_without_an_engine_is_not_left_waiting(page: ChatPage, link: FakeLink) -> None:
    page.show_status(structs.replace(SERVING, state=State.IDLE, reason=Reason.NO_ENGINE))
    for error, said in (
        (None, "The compute engine is not set up yet. Set it up on the page Settings."),
        (Problem(sentence("the disk is full"), sentence("make room")), "The disk is full. Make room."),
    ):
        link.answers["setup.state"] = structs.replace(FETCHING, progress=None, error=error)
        ask(page, "Hello")
        assert said in shown(page)
        assert button(page, "Try again").isVisibleTo(page)


def test_a_gateway_that_fails_says_why_and_the_question_can_be_asked_again(
    page: ChatPage, link: FakeLink, model: Words, wait: Wait
) -> None:
    ready = link.answers.pop("gateway.start")
    ask(page, "Hello")
    link.answer("gateway.start", GatewayStatus(GatewayState.FAILED, problem=sentence("nobody serves block 3")))
    assert "Nobody serves block 3." in shown(page)
    link.answers["gateway.start"] = ready
    model.may_end.set()
    button(page, "Try again").click()
    wait(lambda: "Good day" in shown(page))
    assert [asked.sampling.temperature for asked in model.asked] == [0.0], "there was no other answer to differ from"
    assert shown(page).count("Hello") == 1
    assert "Nobody serves block 3." not in shown(page)


def test_a_failure_in_the_middle_is_said_and_half_an_answer_is_no_answer(
    page: ChatPage, model: Words, wait: Wait
) -> None:
    model.failure = SwarmError("the swarm went away", hint="try later")
    ask(page, "Hello")
    wait(lambda: "Good" in shown(page))
    model.may_end.set()
    wait(lambda: "The swarm went away (try later)." in shown(page))
    assert "Good" not in shown(page)
    assert [said.role for said in page.conversation] == ["user"]


def test_a_wrong_key_is_said_in_the_gateways_words(
    page: ChatPage, link: FakeLink, server: GatewayServer, wait: Wait
) -> None:
    link.answers["gateway.start"] = GatewayStatus(GatewayState.READY, url=server.url, token="other")
    ask(page, "Hello")
    wait(lambda: any("wrong key" in said.lower() for said in shown(page)))


def test_a_failure_of_the_gateway_is_said_in_the_language_of_the_user() -> None:
    said = sentence("Layer {number} is gone. Waiting for a server.", number=4)
    with in_language("de"):
        for error, german in (
            ({"message": said.text, "potluck": builtins(said)}, "Schicht 4 ist weg. Warte auf einen Server."),
            ({"message": "wrong key"}, "Wrong key."),  # of an older gateway
        ):
            assert answer._decode_event(encode({"error": error}))[1] == german


def test_stop_ends_the_work_and_keeps_what_was_said(page: ChatPage, model: Words, wait: Wait) -> None:
    ask(page, "Hello")
    wait(lambda: "Good" in shown(page))
    button(page, "Stop").click()
    assert {"Good", "Stopped."} <= set(shown(page))
    wait(model.is_cut.is_set)
    assert page.conversation[-1].content == "Good"


def test_a_question_that_was_stopped_is_not_asked_once_the_gateway_is_ready(
    page: ChatPage, link: FakeLink, model: Words, qtbot: QtBot
) -> None:
    ready = link.answers.pop("gateway.start")
    ask(page, "Hello")
    button(page, "Stop").click()
    link.answer("gateway.start", ready)
    qtbot.wait(0)
    assert (model.asked, page._answer, "Stopped." in shown(page)) == ([], None, True)


def test_a_new_conversation_leaves_the_old_one_in_the_list_with_half_an_answer(
    page: ChatPage, model: Words, kept: ConversationFolder, qtbot: QtBot, wait: Wait
) -> None:
    ask(page, "Hello")
    wait(lambda: "Good" in shown(page))
    button(page, "New chat").click()
    wait(model.is_cut.is_set)
    qtbot.wait(0)
    assert "Talk to demo" in shown(page)
    model.may_end.set()
    ask(page, "Another")
    wait(lambda: "Good day" in shown(page))
    assert [said.content for said in model.asked[1].messages] == ["Another"]
    assert [message.content for message in kept.listed()[1].messages] == ["Hello", "Good"]
    assert "Hello" not in json.dumps(shown(page))


def test_the_names_of_members_stand_under_their_answers_and_no_name_is_long_or_has_odd_letters(
    page: ChatPage, link: FakeLink, model: Words, wait: Wait
) -> None:
    def member(name: str, peer: str) -> Member:
        return Member(name, name, "member", 0.0, "", False, False, (MemberMachine("vm", peer),))

    for names, said in (
        (("Ana", "Bob"), "12.5 tokens/s · answered by Ana and Bob"),
        (("Ana", "Ana"), "12.5 tokens/s · answered by Ana"),
        (("Eve",), "12.5 tokens/s · answered by Eve"),
        (("Ana\n\u202e", "B" * 64), f"12.5 tokens/s · answered by Ana and {'B' * 40}"),
    ):
        people = tuple(member(name, peer) for name, peer in zip(names, ("12D3KooW", "12D3KooX"), strict=False))
        link.answers["members.list"] = MembersList("friends", people, (), False, False)
        answered(page, model, wait)
        assert said in shown(page)


def test_escape_stops_an_answer_and_up_takes_the_last_question_back(
    page: ChatPage, model: Words, qtbot: QtBot, wait: Wait
) -> None:
    page.show()
    ask(page, "Hello")
    wait(lambda: "Good" in shown(page))
    qtbot.keyClick(page._field, Qt.Key.Key_Escape)
    wait(model.is_cut.is_set)
    assert page.conversation[-1].content == "Good"
    qtbot.keyClick(page._field, Qt.Key.Key_Up)
    assert (page._field.toPlainText(), page.conversation) == ("Hello", [])


def test_the_list_stays_beside_a_wide_chat_and_opens_over_a_narrow_one(
    page: ChatPage, kept: ConversationFolder, qtbot: QtBot, wait: Wait
) -> None:
    kept.keep("", (ConversationMessage("user", "About soup"), ConversationMessage("assistant", "Good day")))
    page.refresh()
    page.resize(800, 600)
    with qtbot.waitActive(page):
        page.show()
    assert (page._list.isVisible(), page._lists.isVisible()) == (True, False)
    page.resize(480, 380)
    assert (page._list.isVisible(), page._lists.isVisible()) == (False, True)
    page._lists.click()
    assert page._list.isVisible()
    qtbot.keyClick(page._list.rows, Qt.Key.Key_Escape)
    assert not page._list.isVisible()
    page._lists.click()
    page._list.rows.itemActivated.emit(page._list.rows.item(0))
    assert not page._list.isVisible()
    wait(lambda: "About soup" in shown(page))


def test_what_can_be_done_with_a_message_shows_under_the_pointer_and_with_the_keyboard(
    page: ChatPage, model: Words, qtbot: QtBot, wait: Wait
) -> None:
    answered(page, model, wait)
    with qtbot.waitActive(page):
        page.show()
    bubble = page.findChildren(Bubble)[-1]
    assert bubble._veil.opacity() == 0.0
    copy = button(bubble, "Copy the answer")
    assert copy in page.tab_stops(), "Tab reaches it"
    copy.setFocus()
    assert bubble._veil.opacity() == 1.0


def test_return_sends_and_shift_with_return_begins_a_line(page: ChatPage, link: FakeLink, qtbot: QtBot) -> None:
    field = page._field
    qtbot.keyClicks(field, "a")
    qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert field.toPlainText() == "a\n"
    with qtbot.assertNotEmitted(field.sent, wait=0):
        qtbot.keyClicks(field, "b")
    with qtbot.waitSignal(field.sent):
        qtbot.keyClick(field, Qt.Key.Key_Return)


def answered(page: ChatPage, model: Words, wait: Wait, question: str = "Hello") -> None:
    model.may_end.set()
    ask(page, question)
    wait(lambda: page.conversation[-1].role == "assistant")


def test_a_suggestion_is_asked_and_the_demo_model_gets_its_own(page: ChatPage, model: Words, wait: Wait) -> None:
    model.may_end.set()
    button(page, "Write a haiku about sharing.").click()
    wait(lambda: "Good day" in shown(page))
    assert model.asked[0].messages[0].content == "Write a haiku about sharing."
    page.show_status(structs.replace(SERVING, swarm=SwarmStatus("demo", "demo-model", 12)))
    button(page, "New chat").click()
    assert button(page, "What is Potluck?").isVisibleTo(page)


def test_another_attempt_replaces_the_answer_and_is_drawn_with_more_variety(
    page: ChatPage, model: Words, wait: Wait
) -> None:
    answered(page, model, wait)
    button(page, "Try again").click()
    wait(lambda: len(model.asked) == 2 and page.conversation[-1].role == "assistant")
    assert [said.content for said in model.asked[1].messages] == ["Hello"]
    assert [asked.sampling.temperature for asked in model.asked] == [0.0, 0.7]
    assert [said.role for said in page.conversation] == ["user", "assistant"]


def test_an_edited_question_goes_back_into_the_field_and_what_came_after_is_gone(
    page: ChatPage, model: Words, wait: Wait
) -> None:
    answered(page, model, wait, "First")
    answered(page, model, wait, "Second")
    next(each for each in page.findChildren(Button) if each.text() == "Edit").click()
    assert page._field.toPlainText() == "First"
    assert page.conversation == []
    assert "Good day" not in shown(page)


def test_an_edited_question_that_had_failed_cannot_be_asked_again_as_it_was(page: ChatPage, link: FakeLink) -> None:
    link.answers["gateway.start"] = GatewayStatus(GatewayState.FAILED, problem=sentence("nobody serves block 3"))
    ask(page, "Hello")
    assert button(page, "Try again").isVisibleTo(page)
    button(page, "Edit").click()
    assert "Try again" not in buttons(page)
    assert page._field.toPlainText() == "Hello"


def test_options_reach_the_model_and_are_kept(page: ChatPage, model: Words, wait: Wait, tmp_path: Path) -> None:
    button(page, "Options").click()
    page._options.findChild(QPlainTextEdit).setPlainText("Be brief.")
    temperature, length = page._options.findChildren(NumberBox)
    temperature.setValue(0.5)
    length.setValue(20)
    button(page._options, "Close").click()
    answered(page, model, wait)
    said = [(said.role, said.content) for said in model.asked[0].messages]
    assert said == [("system", "Be brief."), ("user", "Hello")]
    assert (model.asked[0].sampling.temperature, model.asked[0].max_tokens) == (0.5, 20)
    assert [said.role for said in page.conversation] == ["user", "assistant"]
    now = Preferences(str(tmp_path / "app.ini"))
    assert (now.chat_instructions, now.chat_temperature, now.chat_max_tokens) == ("Be brief.", 0.5, 20)


def listed(page: ChatPage) -> list[str]:
    rows = page._list.rows
    return [rows.item(place).text() for place in range(rows.count())]


def test_conversations_are_kept_found_opened_with_a_click_renamed_and_deleted(
    page: ChatPage, model: Words, qtbot: QtBot, wait: Wait, kept: ConversationFolder, tmp_path: Path
) -> None:
    answered(page, model, wait, "About soup")
    answered(page, model, wait, "And salt?")
    button(page, "New chat").click()
    answered(page, model, wait, "About trains")
    assert [each.title for each in kept.listed()] == ["About trains", "About soup"]
    files = list((tmp_path / "conversations").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    assert listed(page) == ["About trains", "About soup"]
    page._list.search.setText("SALT soup")
    assert listed(page) == ["About soup"]
    rows = page._list.rows
    page.show()
    place = rows.visualItemRect(rows.item(0)).center()
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert [said.content for said in page.conversation] == ["About soup", "Good day", "And salt?", "Good day"]
    rows.item(0).setText("Dinner")
    answered(page, model, wait, "And pepper?")
    assert [(each.title, len(each.messages)) for each in kept.listed()] == [("Dinner", 6), ("About trains", 2)]
    next(action for action in rows.actions() if action.text() == "Delete").trigger()
    confirm(page, "Delete")
    assert [each.title for each in kept.listed()] == ["About trains"]
    assert page.conversation == [], "what was deleted is not shown any more, nor kept again"


def test_a_damaged_file_is_left_alone_and_what_cannot_be_kept_is_said(
    page: ChatPage, model: Words, wait: Wait, kept: ConversationFolder, tmp_path: Path
) -> None:
    folder = tmp_path / "conversations"
    kept.keep("", (ConversationMessage("user", "Hello"), ConversationMessage("assistant", "Good day")))
    (folder / "1.json").write_text("{")
    assert [each.title for each in kept.listed()] == ["Hello"]
    assert (folder / "1.json").exists()
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("a file in its place")
    answered(page, model, wait)
    assert "This conversation could not be kept. Is the disk full?" in shown(page)


def test_answers_are_markdown_without_html_pictures_or_files_and_code_scrolls(
    page: ChatPage, model: Words, wait: Wait
) -> None:
    model.parts = [
        AnswerPart("**Bold** <b>raw</b> ![picture](file:///etc/hostname) "),
        AnswerPart("[words](https://example.org)\n```python\nx = 1\n```\nBye"),
    ]
    answered(page, model, wait)
    (label,) = (each for each in page.findChildren(QLabel) if "Bold" in each.text())
    assert label.textFormat() is Qt.TextFormat.RichText
    said = label.text()
    assert ("<img" in said, "<a " in said) == (False, False)
    assert all(part in said for part in ("&lt;b&gt;raw", "words (https://example.org)", "font-weight:700"))
    (code,) = (each for each in page.findChildren(MessageCode) if not each.isHidden())
    assert (code.toPlainText(), code.lineWrapMode()) == ("x = 1", MessageCode.LineWrapMode.NoWrap)
    assert "Bye" in shown(page)


LONG = """# Steps

One *paragraph*,
two lines.

1. a

2. b

   more of b

   ```c
   int x;
   ```

| a | b |
|---|---|
| 1 | 2 |

*Then*

~~~

```
~~~
End."""


def test_a_growing_answer_looks_at_its_end_as_if_it_had_come_at_once(qtbot: QtBot) -> None:
    growing, whole = Bubble("demo", is_question=False), Bubble("demo", is_question=False)
    qtbot.addWidget(growing)
    qtbot.addWidget(whole)
    for end in range(len(LONG)):
        growing.show_text(LONG[:end], is_whole=False)
        parts = [block.content for block in blocks(LONG[:end], is_whole=False)]
        assert [part.content for part in growing.parts] == parts
    growing.show_text(LONG)
    whole.show_text(LONG)
    assert [part.content for part in growing.parts] == [part.content for part in whole.parts]
    assert [part.content for part in whole.parts if isinstance(part, MessageCode)] == ["int x;", "```"]


def test_a_new_token_changes_only_the_last_paragraph(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = bubble.as_html
    monkeypatch.setattr(bubble, "as_html", lambda said: drawn.append(said) or draw(said))
    answer = Bubble("demo", is_question=False)
    qtbot.addWidget(answer)
    said = ""
    for number in range(300):
        said += f"*{number}* and\n\n" if number % 10 == 9 else f"*{number}* and "
        answer.show_text(said, is_whole=False)
    assert max(map(len, drawn)) < 2 * len(said) // 30
