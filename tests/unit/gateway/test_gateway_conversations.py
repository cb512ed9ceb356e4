"""Which session the gateway takes for a turn, how far it goes back, and when it gives sessions up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from potluck_gateway.answers.conversations import Conversation, Conversations, shared_tokens

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


def turn(
    kept: Conversations, prompt: list[int], *, max_wait_s: float | None = None, owner: str = "ana"
) -> tuple[Conversation, int]:
    """A whole turn; returns how many tokens of the prompt were not computed again."""
    conversation = kept.begin(prompt, len(prompt) + 10, max_wait_s, owner)
    reused = conversation.session.position
    tokens = prompt + ANSWER
    conversation.session.position = len(tokens) - 1  # type: ignore[misc]
    kept.keep(conversation, tokens)
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
    assert turn(kept, FIRST, owner="ben")[1] == 0
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
    assert turn(kept, FIRST, max_wait_s=5.0)[1] == 0
    assert turn(kept, FIRST * 6)[1] == 0
    assert model.opened[-1].max_length == 1000


def test_nobody_takes_a_session_that_answers(model: FakeModel) -> None:
    kept = Conversations(model)
    turn(kept, FIRST)
    kept.begin(FIRST, 110, None, "ana")
    assert kept.begin(FIRST, 110, None, "ana").session.position == 0


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


def test_shared_tokens_end_at_the_first_difference() -> None:
    assert shared_tokens([1, 2, 3], [1, 2, 4, 5]) == 2
    assert shared_tokens([1, 2], [1, 2, 3]) == 2
    assert shared_tokens([], [1]) == 0
