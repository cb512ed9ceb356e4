"""The demo model's held-out messages are 200 different ones, and their rule tells answers from nonsense."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "resources" / "demo-model"
TRAINING_SEED = 1
TRAINING_DOCUMENTS = 4_000
HAIKU = "Steam above the pot,\nevery friend has brought a bowl;\nsnow falls on the steps."


@pytest.fixture(scope="module")
def first_messages() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import first_messages

        yield first_messages


def test_there_are_200_different_messages_and_their_numbers_are_within_what_the_model_learned(
    first_messages: ModuleType,
) -> None:
    messages = first_messages.MESSAGES
    assert len({first_messages.said(message.text) for message in messages}) == 200
    for message in messages:
        if message.kind == "counting":
            assert len(message.right) <= 13
            assert all(0 <= int(number) < 100 for number in message.right)
        if message.kind == "sum":
            total, *terms = map(int, message.right)
            assert total == sum(terms)
            assert all(0 <= term < 50 for term in terms)


def test_how_a_message_is_typed_makes_no_difference(first_messages: ModuleType) -> None:
    typed = ("What's  up?!", "Please, count to 5", "hey, so what is 2+2 please", "hi", "Hey please!")
    said = [first_messages.said(each) for each in typed]
    assert said == ["whats up", "count to 5", "what is 2 2", "hi", "hey"]


def test_every_turn_of_a_conversation_is_a_message(first_messages: ModuleType) -> None:
    talk = "User: hi\nAssistant: Hello!\nUser: count\nto 5\nAssistant:"
    assert first_messages.messages_in(talk) == ["hi", "count\nto 5"]
    for prompt in ("count to 5", "Question: What is it?\nAnswer:"):
        assert first_messages.messages_in(prompt) == [prompt]


def test_no_message_occurs_in_training(first_messages: ModuleType) -> None:
    corpus = import_module("corpus")
    prompts = [document.prompt for document in islice(corpus.documents(TRAINING_SEED), TRAINING_DOCUMENTS)]
    trained = {first_messages.said(message) for prompt in prompts for message in first_messages.messages_in(prompt)}
    assert [message.text for message in first_messages.MESSAGES if first_messages.said(message.text) in trained] == []


GPU = ("no|not|without", "gpu|need*", "!^yes")
ORIGIN = ("potluck|project", "!openai")


SENSIBLE = [
    ("greeting", (), "Hey, nice to see you 🙂! Ask me for a capital 🥧."),
    ("small talk", ("fine|well",), "I'm fine, thanks."),
    ("itself", ORIGIN, "The Potluck project made me."),
    ("Potluck", GPU, "No, you don’t need one."),
    ("counting", ("20", "21", "22"), "Twenty, twenty-one, twenty-two."),
    ("fact", ("the capital of Brazil",), "Brasília."),
    ("fact", ("the opposite of sad", "glad"), "Glad"),
    ("sum", ("22", "17", "5"), "Seventeen plus five is twenty-two."),
    ("writing", ("haiku",), f"Here is one:\n\n{HAIKU}"),
    ("writing", ("poem",), HAIKU),
    ("writing", ("joke",), "Why did the model count sheep? It had learned the word lamb."),
    ("writing", ("story",), "On Monday, Ana asked Ben to a potluck. Ben brought a very large plum cake."),
    ("writing", ("story", "admission"), "I only know short texts, such as a haiku."),
    ("beyond", (), "Sorry, that is too hard for me."),
]
NONSENSE = [
    ("greeting", (), "I brought the soup. Hello."),
    ("greeting", (), "hello hello hello."),
    ("small talk", ("fine|well",), "The well-"),
    ("itself", ORIGIN, "I don't know that, ask the Potluck project."),
    ("Potluck", GPU, "Yes, you need a GPU, not a processor."),
    ("Potluck", GPU, "You need no GPU. You need no GPU."),
    ("Potluck", GPU, f"You need no GPU{' and a friend' * 20}."),
    ("counting", ("3", "4", "5"), "3, 4, 5, 6."),
    ("fact", ("the capital of Brazil",), "Brasilia or Lima."),
    ("fact", ("the capital of Brazil",), "It is not Brasilia."),
    ("sum", ("22", "17", "5"), "22 or 23."),
    ("writing", ("haiku",), "1, 2, 3, 4\n5, 6, 7, 8, 9\n1, 2, 3, 4, 5"),
    ("writing", ("joke",), "Hello! What can I count for you? Just ask me."),
    ("writing", ("story",), "I can count from one to ten. I can add two numbers up to ninety-eight."),
    ("beyond", (), "It is sunny and warm in Paris."),
]


@pytest.mark.parametrize(
    ("is_sensible", "kind", "right", "answer"),
    [*((True, *each) for each in SENSIBLE), *((False, *each) for each in NONSENSE)],
)
def test_only_a_sensible_answer_on_the_subject_is_accepted(
    first_messages: ModuleType, is_sensible: bool, kind: str, right: tuple[str, ...], answer: str
) -> None:
    message = first_messages.FirstMessage("", kind, right)
    assert first_messages.is_answered(message, answer) == is_sensible


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        ("", set()),
        ("...", set()),
        ("The capital of France is Paris.", set()),
        ("soup Paris Ana Monday pie Tokyo Hugo lemon June.", set()),
        ("Hello! Nice to meet you.", {"greeting", "small talk"}),
        ("I can't do that. I am a tiny model.", {"beyond", "itself", "writing"}),
        ("Potluck runs a large model on many computers together.", {"Potluck", "itself"}),
    ],
)
def test_one_answer_does_not_fit_every_kind(first_messages: ModuleType, answer: str, kinds: set[str]) -> None:
    fitting = [message for message in first_messages.MESSAGES if first_messages.is_answered(message, answer)]
    assert {message.kind for message in fitting} <= kinds
    assert len(fitting) <= 35
