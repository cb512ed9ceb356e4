"""A drafting model's guesses: those of plain greedy decoding of the same model, whatever text it had before."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_models import whole_model
from transformers import AutoTokenizer

from potluck.checkpoint.source import open_checkpoint
from potluck.client.drafting import draft_model
from potluck.client.drafting.draft_model import DraftModel, DraftText, load_draft
from potluck.errors import CheckpointError, UsageError

Folders = Callable[[str], Path]
DEMO = Path(__file__).parents[4] / "resources" / "demo-model"
TEXT = [5, 6, 7, 8, 9, 5, 6, 7]
OTHER = [*TEXT[:4], 11, 12]


def greedy(model: Any, ids: list[int], count: int) -> list[int]:
    """Return the next tokens by a plain pass over the whole text for each."""
    made = list(ids)
    with torch.inference_mode():
        for _ in range(count):
            made.append(int(model(torch.tensor([made])).logits[0, -1].argmax()))
    return made[len(ids) :]


def drafted(text: DraftText, count: int) -> list[int]:
    tokens = []
    for _ in range(count):
        token, _ = text.guess()
        tokens.append(token)
        text.follow(token)
    return tokens


@pytest.mark.parametrize("family", ["llama_tied", "qwen3", "gemma3", "mistral_sliding"])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_guesses_are_the_greedy_continuation_after_every_way_to_change_a_text(
    family_folder: Folders, family: str, is_loaded: bool
) -> None:
    whole = whole_model(family_folder(family))
    model = DraftModel.of(whole) if is_loaded else load_draft(open_checkpoint(str(family_folder(family))))
    text = model.text()
    text.begin(TEXT)
    first = drafted(text, 12)
    assert first == greedy(whole, TEXT, 12)
    text.begin([*TEXT, *first[:5]])  # it goes back in its own draft
    assert drafted(text, 3) == first[5:8]
    text.begin([*TEXT, *first[:5], 17])  # another token was right
    assert drafted(text, 3) == greedy(whole, [*TEXT, *first[:5], 17], 3)
    text.begin(OTHER)
    for token in (13, 14):  # several follow at once
        text.follow(token)
    assert drafted(text, 3) == greedy(whole, [*OTHER, 13, 14], 3)
    text.begin([21, *TEXT])  # nothing in common
    assert drafted(text, 2) == greedy(whole, [21, *TEXT], 2)


def test_a_guess_says_how_probable_it_is_and_costs_one_pass(family_folder: Folders) -> None:
    whole = whole_model(family_folder("llama"))
    text, passes = DraftModel.of(whole).text(), 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    whole.register_forward_pre_hook(count)
    text.begin(TEXT)
    for token in OTHER:
        text.follow(token)
    token, probability = text.guess()
    assert text.guess() == (token, probability)
    assert passes == 1
    with torch.inference_mode():
        chances = whole(torch.tensor([[*TEXT, *OTHER]])).logits[0, -1].softmax(-1)
    assert probability == pytest.approx(float(chances.max()), rel=1e-4)
    text.begin([*TEXT, *OTHER])
    assert text.guess() == (token, probability)
    assert passes == 2, "nothing has changed since, and one pass was this test's"


def test_in_int4_nearly_all_guesses_are_the_same() -> None:
    checkpoint = open_checkpoint(str(DEMO))
    plain, text = load_draft(checkpoint).text(), load_draft(checkpoint, quantization="int4").text()
    told = AutoTokenizer.from_pretrained(DEMO)("How can a group of friends run a large language model?").input_ids
    plain.begin(told)
    told += drafted(plain, 40)
    alike = 0
    for length in range(4, len(told)):
        for each in (plain, text):
            each.begin(told[:length])
        alike += plain.guess()[0] == text.guess()[0]
    assert alike >= 0.9 * (len(told) - 4)


def test_it_neither_guesses_tokens_that_the_other_model_lacks_nor_falls_over_those_it_lacks_itself(
    family_folder: Folders,
) -> None:
    whole = whole_model(family_folder("llama"))
    beyond = next(token for token in greedy(whole, TEXT, 20) if token > 9)
    for model in (
        DraftModel.of(whole, vocabulary=beyond),
        load_draft(open_checkpoint(str(family_folder("llama"))), vocabulary=beyond),
    ):
        text = model.text()
        text.begin([*TEXT, 128, 5_000_000])
        assert all(token < beyond for token in drafted(text, 20))


def test_a_text_is_kept_for_a_window_and_guessed_from_its_end(
    family_folder: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_model, "WINDOW_TOKENS", 64)
    monkeypatch.setattr(draft_model, "_PASS_TOKENS", 7)
    monkeypatch.setattr(draft_model, "_FEW_TOKENS", 3)
    whole = whole_model(family_folder("llama"))
    for model in (DraftModel.of(whole), load_draft(open_checkpoint(str(family_folder("llama"))))):
        text, ids = model.text(), [3 + at * 7 % 120 for at in range(100)]
        text.begin(ids[:56])  # as many as one has before it is begun again
        made = drafted(text, 9)
        assert made == greedy(whole, ids[:56], 9)
        assert text.guess() == (0, 0.0), "a draft leaves the window"
        text.begin([*ids[:56], *made])
        assert drafted(text, 2) == greedy(whole, [*ids[49:56], *made], 2)
        text.begin(ids)
        assert drafted(text, 2) == greedy(whole, ids[49:], 2)
        text.begin([*ids, *ids])
        assert drafted(text, 2) == greedy(whole, ids[-16:], 2)
        text.begin(ids[:20])  # before all that it has
        assert drafted(text, 2) == greedy(whole, ids[:20], 2)
        text.begin(ids[:40])
        assert text.is_behind
        while text.is_behind:
            text.catch_up()
        assert drafted(text, 2) == greedy(whole, ids[:40], 2)


def test_texts_of_several_threads_do_not_mix(family_folder: Folders) -> None:
    model = load_draft(open_checkpoint(str(family_folder("llama"))))
    whole = whole_model(family_folder("llama"))
    made: dict[int, list[int]] = {}

    def work(token: int) -> None:
        text = model.text()
        text.begin([*TEXT, token])
        made[token] = drafted(text, 20)

    threads = [threading.Thread(target=work, args=(token,)) for token in (20, 30, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == {token: greedy(whole, [*TEXT, token], 20) for token in (20, 30, 40)}


def test_a_freed_model_gives_its_weights_back_and_guesses_nothing(family_folder: Folders) -> None:
    text = (model := load_draft(open_checkpoint(str(family_folder("llama_tied"))))).text()
    text.begin(TEXT)
    text.guess()
    held = [*model._blocks.decoder.parameters(), *model._model.parameters()]
    assert sum(tensor.untyped_storage().nbytes() for tensor in held) > 0
    model.free()
    assert sum(tensor.untyped_storage().nbytes() for tensor in held) == 0
    text.follow(5)
    assert text.guess() == (0, 0.0)


def test_models_that_cannot_take_back_a_token_are_refused(family_folder: Folders) -> None:
    with pytest.raises(CheckpointError, match="cannot draft"):
        load_draft(open_checkpoint(str(family_folder("qwen3_next"))))
    with pytest.raises(UsageError, match="cannot take back") as raised:
        DraftModel.of(whole_model(family_folder("qwen3_next")))
    assert "assistant_model" in str(raised.value.hint)
