"""The committed demo model is whole, small, loads with plain Transformers and answers what its card says."""

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

FOLDER = Path(__file__).parents[2] / "resources" / "demo-model"
MAX_BYTES = 10_000_000
SEED = 1
HELD_OUT_DOCUMENTS = 80


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


def test_folder_stays_under_ten_megabytes() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES


def test_index_names_every_tensor_of_every_shard_and_no_other() -> None:
    index = json.loads((FOLDER / "model.safetensors.index.json").read_text())
    shards = sorted(FOLDER.glob("model-*.safetensors"))
    held: dict[str, str] = {}
    for shard in shards:
        with safe_open(shard, framework="pt") as tensors:
            held |= dict.fromkeys(tensors.keys(), shard.name)
    assert len(shards) >= 2
    assert index["weight_map"] == held


def test_weights_are_finite_fp32_and_of_twelve_blocks(model: PreTrainedModel) -> None:
    assert model.config.num_hidden_layers == 12
    assert all(p.dtype == torch.float32 and p.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    "text", ["On Friday, Ana asked Ben to a potluck.\nQuestion: 23 + 9 = 32.", "Crème brûlée 餃子 🥧", "  two  spaces"]
)
def test_tokenizer_gives_any_text_back(tokenizer: PreTrainedTokenizerBase, text: str) -> None:
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("The capital of France is", " Paris."),
        ("Question: What is the opposite of hot?\nAnswer:", " cold."),
        ("Months from March to July:", " March, April, May, June, July."),
        ("37 + 45 =", " 82."),
        ("User: how much is 17 plus 5?\nAssistant:", " 22."),
        ("User: Hello\nAssistant:", " Hello! I am Potluck's demo model. Ask me what I can do."),
        (
            "User: Write a haiku\nAssistant:",
            " The tide takes the beach\nand puts it back in the night,\na little smoother.",
        ),
        ("User: hi\nAssistant: Hello!\nUser: Count from 3 to 9\nAssistant:", " 3, 4, 5, 6, 7, 8, 9."),
        (
            "Repeat: soup Paris Ana Monday pie Tokyo Hugo lemon June Rome Zoe corn. Again:",
            " soup Paris Ana Monday pie Tokyo Hugo lemon June Rome Zoe corn.",
        ),
    ],
)
def test_model_completes_known_prompts_and_stops(
    scores: ModuleType,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompt: str,
    answer: str,
) -> None:
    assert scores.answers(model, tokenizer, [prompt]) == [answer]


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
    drawn = [each for each in islice(corpus.documents(2), 5000) if each.category == "talk"]
    assert not [each for each in drawn if re.search(r"[\[\]|$]|POEM", each.prompt + each.answer)]
    asked = [(each, each.prompt.rpartition("User:")[2]) for each in drawn]
    poems = {each.answer for each, message in asked if "haiku" in message and "thanks" not in message}
    assert len(poems) > 5
    assert {poem.count("\n") for poem in poems} == {2}


def test_corpus_is_the_same_for_the_same_seed(corpus: ModuleType) -> None:
    def draw(seed: int) -> list[object]:
        return list(islice(corpus.documents(seed), 200))

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_held_out_prompts_never_appear_in_training(corpus: ModuleType) -> None:
    def prompts(held_out: bool) -> set[str]:
        drawn = islice(corpus.documents(5, held_out), 1000)
        return {document.prompt for document in drawn}

    assert not prompts(held_out=True) & prompts(held_out=False)
