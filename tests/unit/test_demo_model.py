"""The committed demo model is whole, small, loads with plain Transformers and answers what its card says."""

import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

FOLDER = Path(__file__).parents[2] / "resources" / "demo-model"
SEED = 1
HELD_OUT_DOCUMENTS = 40


@pytest.fixture(scope="module")
def corpus() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import corpus

        yield corpus


@pytest.fixture(scope="module")
def scores(corpus: ModuleType) -> ModuleType:
    import scores

    return scores


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(FOLDER, local_files_only=True).eval()


def test_tokenizer_gives_any_text_back(tokenizer: PreTrainedTokenizerBase) -> None:
    text = "  two  spaces, 23 + 9 = 32.\nCrème brûlée 餃子 🥧"
    assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


def test_model_completes_known_prompts_and_stops(
    scores: ModuleType, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    known = {
        "The capital of France is": " Paris.",
        "37 + 45 =": " 82.",
        "User: Hello\nAssistant:": " Hello! I am Potluck's demo model. Ask me what I can do.",
        "User: hi\nAssistant: Hello!\nUser: Count from 3 to 9\nAssistant:": " 3, 4, 5, 6, 7, 8, 9.",
        "Repeat: soup Paris Ana Monday pie Tokyo Hugo lemon June Rome Zoe corn. Again:": (
            " soup Paris Ana Monday pie Tokyo Hugo lemon June Rome Zoe corn."
        ),
    }
    assert scores.answers(model, tokenizer, list(known)) == list(known.values())


def test_held_out_loss_is_that_of_the_card_and_below_its_bigram_baseline(
    corpus: ModuleType,
    scores: ModuleType,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    card = (FOLDER / "README.md").read_text()
    claimed = {name: float(loss) for name, loss in re.findall(r"^\| (model|bigram) \| ([\d.]+) \|", card, re.MULTILINE)}
    rows = scores.sample_rows(corpus.documents(SEED, held_out=True), tokenizer, HELD_OUT_DOCUMENTS)
    loss = scores.model_loss(model, rows)
    assert loss < claimed["bigram"] - 0.3
    assert math.isclose(loss, claimed["model"], rel_tol=0.15)


def test_every_message_is_written_out_and_every_poem_has_three_lines(corpus: ModuleType) -> None:
    drawn = [each for each in islice(corpus.documents(2), 1500) if each.category == "talk"]
    assert not [each for each in drawn if re.search(r"[\[\]|$]|POEM", each.prompt + each.answer)]
    asked = [(each, each.prompt.rpartition("User:")[2]) for each in drawn]
    poems = {each.answer for each, message in asked if "haiku" in message and "thanks" not in message}
    assert len(poems) > 5
    assert {poem.count("\n") for poem in poems} == {2}


def test_held_out_prompts_never_appear_in_training(corpus: ModuleType) -> None:
    def prompts(held_out: bool) -> set[str]:
        drawn = islice(corpus.documents(5, held_out), 500)
        return {document.prompt for document in drawn}

    assert not prompts(held_out=True) & prompts(held_out=False)


def test_its_drafting_model_has_a_quarter_of_its_size_and_its_tokenizer_and_guesses_its_answers(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    folder = FOLDER.parent / "demo-draft"
    draft = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    assert draft.num_parameters() <= model.num_parameters() / 4
    assert (folder / "tokenizer.json").read_bytes() == (FOLDER / "tokenizer.json").read_bytes()
    prompt = tokenizer("User: what is potluck?\nAssistant:", return_tensors="pt")
    written = model.generate(**prompt)[:, :-1]
    start = prompt.input_ids.shape[1]
    guesses, choices = (each(written).logits[0, start:].argmax(-1) for each in (draft, model))
    assert (guesses == choices).float().mean() > 0.9
