"""Each argument of `forward` and `generate` does what it does to a local model, or is refused; nothing is ignored."""

import copy
import inspect
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers
from helpers.client_world import World, local_model, prompt, world
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import (
    GenerationConfig,
    GenerationMixin,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    pipeline,
)

from benchmarks.equality import generate_matrix
from benchmarks.equality.generate_matrix import judge, modes
from potluck.client.remote import RemoteBlocks
from potluck.errors import UsageError

_MODES = modes(local_model())
REFUSED = {
    *(f"generate: {name}" for name in ("cache_implementation", "quantized cache", "a cache of its own")),
    *(f"generate: output_{what}" for what in ("hidden_states", "attentions")),
    *(f"generate: {name}" for name in ("padding on the right", "assistant_early_exit")),
    *(f"forward: a mask {how}" for how in ("of every pair", "with holes")),
    *(f"forward: {how} position_ids" for how in ("packed", "shifted")),
    *(f"forward: output_{what}" for what in ("hidden_states", "attentions")),
    *(f"forward: {name}" for name in ("a cache of its own", "no tokens", "is_causal", "ends of packed rows")),
    "forward: use_cache and a forgotten mask",
}
REFUSED_BY_TRANSFORMERS = {
    *(f"generate: {name}" for name in ("penalty_alpha", "dola_layers", "num_beam_groups", "force_words_ids")),
    *(f"generate: {name}" for name in ("constraints", "use_mtp", "a typing error", "stop_strings without a tokenizer")),
}
OF_THE_LOGITS = {  # Transformers' own loop applies these, and sees only logits: the benchmark tries them as well
    *(f"generate: {name}" for name in ("min_new_tokens", "min_length", "max_time", "remove_invalid_values", "top_k")),
    *(f"generate: {name}" for name in ("encoder_no_repeat_ngram_size", "repetition_penalty", "bad_words_ids", "top_p")),
    *(f"generate: {name}" for name in ("encoder_repetition_penalty", "no_repeat_ngram_size", "sequence_bias", "min_p")),
    *(f"generate: {name}" for name in ("suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id", "top_h")),
    *(f"generate: {name}" for name in ("forced_eos_token_id", "exponential_decay_length_penalty", "typical_p")),
    *(f"generate: {name}" for name in ("prefix_allowed_tokens_fn", "logits_processor", "epsilon_cutoff", "eta_cutoff")),
    *(f"generate: {name}" for name in ("stopping_criteria", "watermarking_config", "generation_config", "temperature")),
    *(f"generate: {name}" for name in ("stop_strings", "token_healing", "output_logits", "beams that stop early")),
}
OF_THE_MACHINE = {"compile_config", "disable_compile", "continuous_batching_config", "cache_config", "synced_gpus"}
OF_OTHER_MODELS = {"decoder_start_token_id", "is_assistant"}
NO_ARGUMENTS = {"self", "kwargs", "inputs", "transformers_version"}


@pytest.fixture(scope="module")
def there() -> Iterator[World]:
    with world("0:2", "2:4") as made:
        yield made


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in OF_THE_LOGITS else name for name in _MODES]
)
def test_it_equals_the_local_model_or_is_refused(name: str, there: World, local: PreTrainedModel) -> None:
    expected = "refused" if name in REFUSED | REFUSED_BY_TRANSFORMERS else "equal"
    assert judge(_MODES[name], local, there.model) == expected


def test_no_argument_is_left_out(local: PreTrainedModel) -> None:
    arguments = {name for name in GenerationConfig().to_dict() if not name.startswith("_")}
    arguments |= set(inspect.signature(GenerationMixin.generate).parameters)
    arguments |= set(inspect.signature(type(local).forward).parameters) - {"input_ids"}
    told = inspect.getsource(generate_matrix)
    left_out = {name for name in arguments if f'"{name}":' not in told and f"{name}=" not in told}
    assert left_out == OF_THE_MACHINE | OF_OTHER_MODELS | NO_ARGUMENTS


def test_a_session_grows_with_its_text(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there, torch.no_grad():
        out, expected = there.model(prompt(), use_cache=True), local(prompt(), use_cache=True)
        for tokens in (300, 200):
            more = prompt(tokens=tokens, seed=tokens)
            out = there.model(more, past_key_values=out.past_key_values)
            expected = local(more, past_key_values=expected.past_key_values)
            assert torch.allclose(out.logits, expected.logits, atol=1e-4)
        sizes = [step.opening.max_length for step in there.servers[1].steps if step.opening is not None]
        assert sizes == [7 + 256, 512], "at most what the servers take"


def test_a_pass_that_nobody_goes_on_with_opens_no_session(there: World) -> None:
    before = [len(server.steps) for server in there.servers]
    assert there.model(prompt()).past_key_values.get_seq_length() == 7
    assert [len(server.steps) for server in there.servers] == before


def test_text_that_no_server_takes_is_refused_with_the_limit() -> None:
    with world("0:2", max_length=64) as there:
        there.add_server(there.servers[0].blocks.span)
        there.add_server(type(there.servers[0].blocks.span)(2, 4), max_length=32)
        with pytest.raises(UsageError, match=r"40 tokens are too many: the servers of layers 1-4 take 32 at most"):
            there.model.generate(prompt(tokens=20), max_new_tokens=20, pad_token_id=0)


def test_gradients_that_a_cache_would_lose_are_refused(there: World) -> None:
    with torch.no_grad():
        seen = there.model(prompt(), use_cache=True)
    embedded = there.model.get_input_embeddings()(prompt()).requires_grad_()
    with pytest.raises(UsageError, match="no gradients flow through a cache"):
        there.model(inputs_embeds=embedded, past_key_values=seen.past_key_values)


def test_text_is_generated_where_gradient_checkpoints_are_on(local: PreTrainedModel) -> None:
    with world("0:4") as there:
        there.model.gradient_checkpointing_enable()
        generated = there.model.generate(prompt(), max_new_tokens=4, pad_token_id=0)
    assert torch.equal(generated, local.generate(prompt(), max_new_tokens=4, pad_token_id=0))


def test_pipelines_know_the_family(there: World, caplog: pytest.LogCaptureFixture) -> None:
    vocabulary = Tokenizer(WordLevel({str(token): token for token in range(256)}, unk_token="0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=vocabulary, pad_token="0")
    transformers.utils.logging.enable_propagation()
    try:
        said = pipeline("text-generation", model=there.model, tokenizer=tokenizer)("3", max_new_tokens=2)
    finally:
        transformers.utils.logging.disable_propagation()
    assert said[0]["generated_text"].startswith("3")
    assert "not supported" not in caplog.text


@pytest.mark.parametrize("lookup", [None, 4])
def test_sessions_of_another_swarms_model_are_refused(there: World, lookup: int | None) -> None:
    asked = {"max_new_tokens": 4, "prompt_lookup_num_tokens": lookup, "pad_token_id": 0}
    with world("0:4") as others, others.model.session(max_length=32) as session:
        others.model.generate(prompt(), session=session, **asked)
        with pytest.raises(UsageError, match="another model's"):
            there.model.generate(prompt(tokens=20), session=session, **asked)


def test_a_model_without_trained_ends_is_not_saved_and_its_attention_is_not_chosen(
    there: World, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot be saved") as refusal:
        there.model.save_pretrained(tmp_path)
    assert str(there.folder) in str(refusal.value.hint)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="chooses its own attention"):
        there.model.set_attn_implementation("eager")


def test_a_model_is_neither_copied_nor_pickled(there: World) -> None:
    for copying in (copy.deepcopy, pickle.dumps):
        with pytest.raises(UsageError, match="neither copied nor pickled"):
            copying(there.model)


def test_a_fork_is_told_to_load_its_own_model(there: World) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            there.model(prompt())
        except UsageError as error:
            os.write(writing, str(error).encode())
            there.model.close()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        assert "before this process was forked" in said.read()
    os.waitpid(child, 0)
    assert there.model(prompt()).logits.shape[1] == 7


def test_it_compiles_around_the_blocks(there: World, local: PreTrainedModel) -> None:
    compiled = torch.compile(there.model, backend="eager")
    assert torch.allclose(compiled(prompt()).logits, local(prompt()).logits, atol=1e-5)


def test_any_blocks_are_a_differentiable_module(there: World, local: PreTrainedModel) -> None:
    blocks, layers = there.model.blocks, there.model.model.layers
    hidden = torch.randn(2, 5, 64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    twin = hidden.detach().clone().requires_grad_()
    scale = torch.nn.Parameter(torch.tensor(1.5))
    output = layers[3](blocks[1:3](hidden) * scale)
    rotary = local.model.rotary_emb(twin, torch.arange(5)[None])
    expected, factor = twin, torch.nn.Parameter(torch.tensor(1.5))
    for index in (1, 2, 3):
        expected = expected * factor if index == 3 else expected
        expected = local.model.layers[index](expected, position_embeddings=rotary)
    assert torch.allclose(output, expected, atol=1e-5)
    output.square().sum().backward()
    expected.square().sum().backward()
    assert hidden.grad is not None
    assert twin.grad is not None
    assert torch.allclose(hidden.grad, twin.grad, rtol=1e-3, atol=1e-3)
    assert torch.allclose(scale.grad, factor.grad, rtol=1e-3)


def test_blocks_have_caches_of_their_own(there: World) -> None:
    hidden = torch.randn(1, 6, 64, generator=torch.Generator().manual_seed(0))
    some = there.model.blocks[1:3]
    cache = some.new_cache()
    parts = [some(hidden[:, :4], past_key_values=cache), some(hidden[:, 4:], past_key_values=cache)]
    assert torch.allclose(torch.cat(parts, dim=1), some(hidden), atol=1e-5)
    with pytest.raises(UsageError, match=r"a cache of blocks 1:3 for blocks 0:2"):
        there.model.blocks[0:2](hidden, past_key_values=cache)


def test_blocks_are_indexed_as_a_list_without_gaps(there: World) -> None:
    blocks = there.model.blocks
    assert len(there.model.model.layers) == len(blocks) == there.model.config.num_hidden_layers == 4
    assert isinstance(blocks[-1], RemoteBlocks)
    assert blocks[-1].span.start == 3
    for index in (slice(2, 2), slice(4, 9), 4, -5):
        with pytest.raises(IndexError):
            blocks[index]
    with pytest.raises(UsageError, match="without gaps"):
        blocks[::2]
