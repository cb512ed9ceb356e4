"""Families whose cache has another name or class than most: generation through the swarm is the local one."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.client_world import local_model, prompt, world
from helpers.tiny_models import NUM_BLOCKS
from torch import Tensor


@pytest.mark.parametrize("family", ["mamba", "bamba", "minimax"])
def test_generation_with_padding_and_in_a_session_is_the_local_one(
    family: str, family_folder: Callable[[str], Path]
) -> None:
    folder = family_folder(family)
    local = local_model(folder)
    ids, mask = prompt(batch=3, tokens=8, vocab=128), torch.ones(3, 8, dtype=torch.int64)
    ids[0, :3], mask[0, :3] = 0, 0

    def generate(model: object, **options: object) -> Tensor:
        return model.generate(ids, attention_mask=mask, max_new_tokens=5, do_sample=False, **options)  # type: ignore[attr-defined, no-any-return]

    with world("0:2", "2:6", folder=folder, num_blocks=NUM_BLOCKS) as there:
        assert torch.equal(generate(there.model), generate(local))
        beams = generate(local, num_beams=2, use_cache=False)  # MiniMax's own cache does not reorder its states
        assert torch.equal(generate(there.model, num_beams=2), beams)
        with there.model.session(max_length=32) as session:
            for length in (8, 12):
                text = ids[1:2].repeat(1, 2)[:, :length]
                told = there.model.generate(text, session=session, max_new_tokens=2, do_sample=False)
                assert torch.equal(told, local.generate(text, max_new_tokens=2, do_sample=False))
                session.rewind(0)
        name = there.model._cache_name
        first = there.model(ids[1:, :6])
        rest = there.model(ids[1:, 6:], **{name: first[name]}).logits
        torch.testing.assert_close(rest, local(ids[1:]).logits[:, 6:], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["llama_longrope", "llama_dynamic"])
def test_a_long_text_changes_no_positions_of_a_short_one(family: str, family_folder: Callable[[str], Path]) -> None:
    folder = family_folder(family)
    ids = prompt(batch=1, tokens=24, vocab=128)
    wanted = [local_model(folder).generate(ids[:, :n], max_new_tokens=8, do_sample=False) for n in (24, 5)]
    with world("0:2", "2:6", folder=folder, num_blocks=NUM_BLOCKS) as there, there.model.session(max_length=32) as long:
        there.model.generate(ids[:, :20], session=long, max_new_tokens=4, do_sample=False)
        short = there.model.generate(ids[:, :5], max_new_tokens=8, do_sample=False)
        long.rewind(20)
        found = there.model.generate(ids, session=long, max_new_tokens=8, do_sample=False)
    assert [found.tolist(), short.tolist()] == [each.tolist() for each in wanted]
