"""How tokens are drawn, decoded and scored, on a small local model, and with drafts."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import tokenizers
import torch
from helpers.client_world import world
from helpers.golden import CHECKPOINT
from helpers.small_model import golden_with_tokenizer
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers import completion
from potluck_gateway.answers.completion import (
    Completion,
    DrawToken,
    Options,
    TextTokenizer,
    TokenDecoder,
    check_length,
    complete,
)
from potluck_gateway.answers.follower import Scorer
from potluck_gateway.exchange import (
    Sampling,
)
from tokenizers import decoders, models
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    SequenceBiasLogitsProcessor,
)
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from potluck.errors import CheckpointError, UsageError


def test_a_prompt_longer_than_the_model_is_refused_before_anything_is_computed() -> None:
    config = LlamaConfig(max_position_embeddings=4)
    check_length(torch.zeros(1, 3), config)
    with pytest.raises(UsageError, match="4 tokens, but this model can take 3 at most"):
        complete(SimpleNamespace(config=config), torch.zeros(1, 4), Options(1), lambda _: None)
    config.rope_parameters = {"rope_type": "longrope", "original_max_position_embeddings": 3}
    with pytest.raises(UsageError, match="this model can take 2 at most"):
        check_length(torch.zeros(1, 3), config)


def test_penalties_lower_what_the_answer_has_and_not_what_the_prompt_has() -> None:
    options = Options(1, sampling=Sampling(0.0, presence_penalty=1.0, frequency_penalty=0.5)).generate_options(2, None)
    (penalties,) = options["logits_processor"]
    lowered = penalties(torch.tensor([[0, 1, 2, 3, 3]]), torch.zeros(1, 5))
    assert lowered.tolist() == [[0.0, 0.0, -1.5, -2.0, 0.0]]


@pytest.mark.parametrize(
    ("asked", "limits"),
    [
        (Sampling(), (1.0, 20, 0.8, 0.1)),  # as the checkpoint says
        (Sampling(0.5), (0.5, 20, 0.8, 0.1)),
        (Sampling(1, top_p=1, top_k=0, min_p=0), (1.0, 0, 1.0, 0.0)),  # neutral values
        (Sampling(0), None),
        (Sampling(1e-40), None),  # the quotients would be infinite
    ],
)
def test_what_is_not_asked_for_comes_from_the_checkpoint(asked: Sampling, limits: tuple[float, ...] | None) -> None:
    defaults = GenerationConfig(do_sample=True, temperature=1.0, top_k=20, top_p=0.8, min_p=0.1)
    made = Options(1, sampling=asked).generate_options(1, defaults).get("logits_processor", [])
    assert [step.limits for step in made] == ([] if limits is None else [limits])
    assert "logits_processor" not in Options(1, sampling=Sampling()).generate_options(1, GenerationConfig())


@pytest.mark.parametrize("spread", [0.01, 3.0])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "min_p"),
    [
        *((1.0, 0, 1.0, 0.0), (0.7, 20, 0.8, 0.0), (1.3, 0, 0.9, 0.0), (0.8, 0, 1.0, 0.05), (0.6, 2000, 0.95, 0.02)),
        (1.0, 0, 0.0, 0.0),
    ],
)
def test_a_draw_leaves_what_the_warpers_of_transformers_leave(
    spread: float, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    scores = spread * torch.randn(1, 5000, generator=torch.Generator().manual_seed(3))
    scores[0, 100:200] = -torch.inf  # as a grammar forbids tokens
    warped: torch.Tensor = TemperatureLogitsWarper(temperature)(None, scores)
    for warper in (
        *([TopKLogitsWarper(top_k)] if top_k else []),
        *([TopPLogitsWarper(max(top_p, 1e-6))] if top_p < 1 else []),
        *([MinPLogitsWarper(min_p)] if min_p else []),
    ):
        warped = warper(None, warped)
    want = warped[0].softmax(0)
    draw = DrawToken(1, temperature, top_k, top_p, min_p)
    tokens, chances = draw._left(scores[0])
    got = torch.zeros(5000).index_add(0, torch.arange(5000) if tokens is None else tokens, chances / chances.sum())
    assert float((got - want).abs().sum()) < 1e-3
    assert all(want[int(draw(torch.zeros(1, 1), scores).argmax())] > 0 for _ in range(50))


def test_a_seed_draws_the_same_whatever_other_threads_draw() -> None:
    def drawn() -> list[int]:
        steps = Options(1, sampling=Sampling(1.0, seed=5)).generate_options(1, None)["logits_processor"]
        torch.rand(3)
        return [int(steps(torch.zeros(1, at, dtype=torch.int64), torch.zeros(1, 40)).argmax()) for at in range(9)]

    first = drawn()
    assert drawn() == first
    assert len(set(first)) > 2


def test_a_scorer_sees_the_scores_before_anything_changes_them() -> None:
    scorer, bias = Scorer(2, lambda token: bytes([65 + token])), SequenceBiasLogitsProcessor({(1,): 100.0})
    scores = torch.tensor([[1.0, 0.0, 3.0]])
    steps = Options(1, sampling=Sampling(2.0, seed=1), steps=(scorer, bias)).generate_options(1, None)[
        "logits_processor"
    ]
    assert int(steps(torch.zeros(1, 1, dtype=torch.int64), scores).argmax()) == 1
    wanted = scores[0].log_softmax(-1).tolist()
    found = scorer.score(1, 7)
    assert (found.token, found.logprob, found.offset) == (b"B", pytest.approx(wanted[1]), 7)
    assert [(one.token, one.logprob) for one in found.top] == [
        (b"C", pytest.approx(wanted[2])),
        (b"A", pytest.approx(wanted[0])),
    ]


@pytest.fixture(scope="module")
def model() -> object:
    return AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32).eval()


PROMPT = torch.tensor([[5, 6, 7]])


def test_greedy_is_what_generate_returns_without_the_prompt_and_each_token_is_told(model: object) -> None:
    seen: list[int] = []
    completion = complete(model, PROMPT, Options(6, min_new_tokens=6), lambda so_far: seen.append(so_far.tokens[-1]))
    whole = model.generate(PROMPT, max_new_tokens=6, min_new_tokens=6, do_sample=False)  # type: ignore[attr-defined]
    assert completion.tokens == seen == whole[0, 3:].tolist()
    assert completion.times_s == sorted(completion.times_s)


def test_speed_leaves_the_prefill_out() -> None:
    assert Completion([1, 2, 3], [10.0, 10.5, 11.0]).tokens_per_s == 2.0
    assert Completion([1], [10.0]).tokens_per_s == 0.0


@pytest.mark.parametrize("said", [None, {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}, "eos_token": "Z"}])
def test_tokenizer_json_is_enough_and_a_checkpoints_own_code_is_never_run(tmp_path: Path, said: object) -> None:
    folder = golden_with_tokenizer(tmp_path / "model")
    (folder / "own.py").write_text("raise SystemExit")
    (folder / "tokenizer_config.json").unlink()
    if said is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    text = TextTokenizer(folder)
    assert text.decode(text.encode("Hello")[0].tolist()) == "Hello"
    assert said is None or text.tokenizer.eos_token == "Z"


@pytest.mark.parametrize("decoder", ["bytes", "pieces"])
def test_a_text_and_how_it_goes_on_are_the_decode_of_all_tokens(tmp_path: Path, decoder: str) -> None:
    text = TextTokenizer(resource(DEMO_MODEL))
    if decoder == "pieces":  # as SentencePiece: a space at the beginning of a text is not written
        vocabulary = {"▁Once": 0, "▁upon": 1, "▁a": 2, "<0xC3>": 3, "<0xA4>": 4, "▁time": 5, "s": 6}
        made = tokenizers.Tokenizer(models.BPE(vocabulary, [], byte_fallback=True))
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        made.decoder = decoders.Sequence(steps)
        text.tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
        tokens = [0, 1, 2, 5, 6, 3, 4, 1]
    else:
        tokens = text.encode("Once upon a time, ä 日本 🎉 so")[0].tolist()
    for cut in range(1, len(tokens)):
        taken = TokenDecoder(text, tokens[:cut])
        said = "".join([*map(taken.add, tokens[cut:]), taken.flush()])
        if not text.decode(tokens[:cut]).endswith("\N{REPLACEMENT CHARACTER}"):
            assert text.decode(tokens[:cut]) + said == text.decode(tokens)
    assert "".join(text.pieces(tokens)) == text.decode(tokens)


def test_a_checkpoint_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no usable tokenizer"):
        TextTokenizer(tmp_path)


@pytest.mark.parametrize("few", [3, 1024])
def test_tokens_are_drawn_as_often_as_their_chances_say(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without tokens that count together."""
    monkeypatch.setattr(completion, "_SORTED", few)
    scores, draw = torch.tensor([0.5, -1.0, 1.5, 0.0, -0.5, 2.0]), DrawToken(11, 0.8, 0, 1.0, 0.0)
    drawn = torch.bincount(torch.tensor([draw.draw(scores, at) for at in range(6000)]), minlength=6)
    expected = 6000 * (scores / 0.8).softmax(0)
    assert float(((drawn - expected) ** 2 / expected).sum()) < 20.5  # one draw in a thousand would be further off


def test_a_drafter_that_is_nearly_right_draws_what_the_model_draws() -> None:
    scores = torch.randn(200, generator=torch.Generator().manual_seed(3))
    other = scores + 0.1 * torch.randn(200, generator=torch.Generator().manual_seed(4))
    draw = DrawToken(5, 1.0, 0, 0.9, 0.0)
    same = [draw.draw(scores, at) == draw.draw(other, at) for at in range(200)]
    assert sum(same) > 160
    assert len({draw.draw(scores, at) for at in range(200)}) > 30


REPEATED = torch.tensor([[5, 6, 7, 8, 9, 5, 6, 7]])
COPY = SequenceBiasLogitsProcessor({(token,): 9.0 for token in range(5, 10)})  # so that the text repeats itself


def test_a_checkpoint_that_switches_the_cache_off_is_generated_without_drafts() -> None:
    with world("0:2", "2:4") as there:
        there.model.generation_config.use_cache = False
        done = complete(there.model, REPEATED, Options(12, 12, steps=(COPY,), drafts=True), lambda _: None)
    assert len(done.tokens) == 12


@pytest.mark.parametrize(
    "options",
    [
        Options(40, steps=(COPY,)),
        Options(40, sampling=Sampling(0.9, 0.8, seed=5, presence_penalty=0.2, frequency_penalty=0.1), steps=(COPY,)),
    ],
    ids=["greedy", "seeded and with penalties"],
)
def test_tokens_and_scores_are_those_of_plain_decoding(options: Options) -> None:
    answers = []
    with world("0:2", "2:4") as there:
        for drafts in (False, True):
            scorer = Scorer(2, lambda token: bytes([token]))
            scores: list[float] = []

            def note(done: Completion, scorer: Scorer = scorer, scores: list[float] = scores) -> None:
                scores.append(scorer.score(done.tokens[-1], 0).logprob)

            changed = replace(options, min_new_tokens=40, steps=(scorer, *options.steps), drafts=drafts)
            taken = len(there.servers[0].steps)
            done = complete(there.model, REPEATED, changed, note)
            answers.append((done.tokens, scores, len(there.servers[0].steps) - taken))
    (plain, want, most), (drafted, got, fewer) = answers
    assert drafted == plain
    assert got == pytest.approx(want, abs=1e-4)
    assert fewer < most == 40
