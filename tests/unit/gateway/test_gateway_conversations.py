"""Which session the gateway takes for a turn, how far it goes back, and when it gives sessions up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from potluck_gateway.answers.conversations import Conversation, Conversations, RememberedThinking, shared_tokens
from potluck_gateway.exchange import ChatMessage, ChatRequest, ToolCall

SYSTEM = list(range(100, 140))
FIRST = [*SYSTEM, *range(200, 260)]
ANSWER = [1, 2, 3, 4]


class FakeSession:
    """Has seen everything but the last token, as after a generation."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.position = 0
        self.closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        return self.closed.is_set()

    def rewind(self, position: int) -> None:
        assert position <= self.position
        self.position = position


class FakeModel:
    def __init__(self) -> None:
        self.opened: list[FakeSession] = []
        self.sharing: list[str] = []

    def longest_session(self) -> int:
        return 1000

    @contextmanager
    def session(
        self, *, max_length: int, max_wait_s: float | None, together: bool, sharing: str
    ) -> Iterator[FakeSession]:
        made = FakeSession(max_length)
        self.opened.append(made)
        self.sharing.append(sharing)
        yield made
        made.closed.set()


@pytest.fixture
def model() -> FakeModel:
    return FakeModel()


def asking(*said: str, owner: str = "ana", max_wait_s: float | None = None) -> ChatRequest:
    """Return a request; `said` by the user and the assistant in turn."""
    messages = tuple(ChatMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(said))
    return ChatRequest(messages, owner=owner, max_wait_s=max_wait_s)


RAW = asking()


def begin(kept: Conversations, prompt: list[int], asked: ChatRequest = RAW) -> Conversation:
    return kept.begin(torch.tensor(prompt), len(prompt) + 10, asked)


def turn(kept: Conversations, prompt: list[int], asked: ChatRequest = RAW) -> tuple[Conversation, int]:
    """A whole turn; returns how many tokens of the prompt were not computed again."""
    conversation = begin(kept, prompt, asked)
    reused = conversation.session.position
    conversation.session.position = len(prompt) + len(ANSWER) - 1  # type: ignore[misc]
    kept.keep(conversation, ANSWER)
    return conversation, reused


def test_a_turn_computes_only_what_is_new(model: FakeModel) -> None:
    kept = Conversations(model)
    assert turn(kept, FIRST)[1] == 0
    assert turn(kept, [*FIRST, *ANSWER, 50, 51])[1] == len(FIRST) + len(ANSWER) - 1
    assert turn(kept, FIRST)[1] == len(FIRST) - 1, "the same question again computes its last token"
    assert turn(kept, [*FIRST, 1, 9, 9, 9])[1] == len(FIRST) + 1, "a changed answer goes back to where it differs"
    assert len(model.opened) == 1


def test_a_session_answers_the_key_that_opened_it_and_no_other(model: FakeModel) -> None:
    kept = Conversations(model)
    turn(kept, FIRST)
    assert turn(kept, FIRST, asking(owner="ben"))[1] == 0
    assert turn(kept, FIRST)[1] == len(FIRST) - 1
    assert model.sharing == ["ana", "ben"], "servers don't share the beginnings either"


@pytest.mark.parametrize("prompt", [[*SYSTEM, 300, 301], [7] * 50])
def test_another_conversation_gets_a_session_of_its_own(model: FakeModel, prompt: list[int]) -> None:
    kept = Conversations(model)
    turn(kept, FIRST)
    assert turn(kept, prompt)[1] == 0
    assert turn(kept, [*FIRST, *ANSWER, 50])[1] > len(FIRST)


def test_a_session_that_is_too_small_or_waits_otherwise_is_not_taken(model: FakeModel) -> None:
    kept = Conversations(model)
    turn(kept, FIRST)
    assert model.opened[0].max_length == 2 * (len(FIRST) + 10)
    assert turn(kept, FIRST, asking(max_wait_s=5.0))[1] == 0
    assert turn(kept, FIRST * 6)[1] == 0
    assert model.opened[-1].max_length == 1000


def test_of_two_requests_at_once_neither_waits_and_each_keeps_its_session(model: FakeModel) -> None:
    kept = Conversations(model)
    turn(kept, FIRST, asking("Hi"))
    asked = [[*FIRST, *ANSWER, *range(first, first + 9)] for first in (300, 400)]
    both = [begin(kept, prompt, asking("Hi", "Yes?", str(prompt[-1]))) for prompt in asked]
    assert [one.session.position for one in both] == [len(FIRST) + len(ANSWER) - 1, 0]
    for prompt, one in zip(asked, both, strict=True):
        one.session.position = len(prompt)  # type: ignore[misc]
        kept.keep(one, ANSWER)
    assert [turn(kept, [*prompt, 7])[1] for prompt in asked] == [len(prompt) for prompt in asked]


def test_few_sessions_are_kept_and_not_for_long(model: FakeModel) -> None:
    kept = Conversations(model, max_kept=2)
    for word in range(3):
        turn(kept, [word] * 50)
    assert [one.is_closed for one in model.opened] == [True, False, False]
    brief = Conversations(model, keep_s=0.0)
    turn(brief, FIRST)
    assert model.opened[-1].is_closed


def test_one_timer_serves_all_kept_sessions(model: FakeModel) -> None:
    kept, before = Conversations(model), threading.active_count()
    for word in range(6):
        turn(kept, [word] * 50)
    assert threading.active_count() <= before + 1


def test_a_kept_session_ends_without_another_turn(model: FakeModel) -> None:
    kept = Conversations(model, keep_s=0.05)
    turn(kept, FIRST)
    turn(kept, [7] * 50)
    for session in model.opened:
        assert session.closed.wait(30)


@pytest.mark.parametrize(
    ("said", "reused"),
    [
        (("Hi", "Yes?", "Bye"), len(SYSTEM) + 1),  # the same one: nobody misses what its template shows no longer
        (("Hi again",), 0),  # another one leaves the first its session
    ],
)
def test_a_conversation_keeps_its_session_when_a_long_thought_is_shown_no_longer(
    model: FakeModel, said: tuple[str, ...], reused: int
) -> None:
    kept = Conversations(model)
    turn(kept, FIRST, asking("Hi"))
    assert turn(kept, [*SYSTEM, 200, *range(400, 500)], asking(*said))[1] == reused


@pytest.mark.parametrize("returned", ['{"a":1.0,"b":"é"}', '{"b": "\\u00e9", "a": 1}'])
def test_thoughts_come_back_however_a_program_writes_the_arguments_of_a_call(returned: str) -> None:
    def called(arguments: str) -> ChatMessage:
        return ChatMessage("assistant", "", (ToolCall("call_1", "add", arguments),))

    thoughts, asked = RememberedThinking(), asking("Hi")
    thoughts.remember(asked, replace(called('{"a": 1, "b": "é"}'), thinking="Hm."))
    again = replace(asked, messages=(*asked.messages, called(returned)))
    assert thoughts.restored(again).messages[1].thinking == "Hm."


def test_thoughts_come_back_to_the_answer_that_they_were_for_and_to_no_other_key() -> None:
    thoughts, asked = RememberedThinking(), asking("Hi")
    thoughts.remember(asked, ChatMessage("assistant", "Yes?", thinking="Hm."))

    def thinking(*said: str, owner: str = "ana") -> str:
        return thoughts.restored(asking(*said, owner=owner)).messages[1].thinking

    assert thinking("Hi", " Yes?\n", "Bye") == "Hm."
    assert thinking("Hi", "Yes?", owner="ben") == thinking("Hi", "No.") == thinking("Hello", "Yes?") == ""
    given = ChatRequest((*asked.messages, ChatMessage("assistant", "Yes?", thinking="Mine.")), owner="ana")
    assert thoughts.restored(given) == given
    for number in range(600):
        thoughts.remember(asking(str(number)), ChatMessage("assistant", "Yes?", thinking="Hm."))
    assert thinking("Hi", "Yes?") == "", "few are remembered"


@pytest.mark.parametrize(
    ("one", "other", "shared"), [([1, 2, 3], [1, 2, 4, 5], 2), ([1, 2], [1, 2, 3], 2), ([], [1], 0)]
)
def test_shared_tokens_end_at_the_first_difference(one: list[int], other: list[int], shared: int) -> None:
    assert shared_tokens(torch.tensor(one), torch.tensor(other)) == shared
