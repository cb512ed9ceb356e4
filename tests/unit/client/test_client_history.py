"""A history gives back what was put in, reordered and cut as the session was."""

import random

import pytest
import torch

from potluck.client.history import History


def tokens(batch: int, count: int, first: int) -> torch.Tensor:
    """[batch, count, 2]: each token knows its position and the row it was made in."""
    places = torch.arange(first, first + count, dtype=torch.float32)
    return torch.stack([places.expand(batch, -1), torch.arange(batch).float()[:, None].expand(-1, count)], dim=-1)


def test_the_latest_chunk_is_handed_out_without_a_copy() -> None:
    history = History()
    history.append(tokens(1, 4, 0))
    step = tokens(1, 1, 4)
    history.append(step)
    assert history.since(4).data_ptr() == step.data_ptr()


def test_random_reorders_and_rollbacks_equal_doing_them_at_once() -> None:
    rng = random.Random(0)
    history, plain = History(), torch.zeros(3, 0, 2)
    for _ in range(300):
        match rng.random():
            case chance if chance < 0.7:
                chunk = tokens(plain.shape[0], rng.choice([1, 1, 1, 4]), plain.shape[1])
                history.append(chunk)
                plain = torch.cat([plain, chunk], dim=1)
            case chance if chance < 0.9 and plain.shape[1]:
                order = torch.tensor([rng.randrange(plain.shape[0]) for _ in range(rng.choice([2, 3, 4]))])
                history.reorder(order)
                plain = plain[order]
            case _:
                length = max(0, plain.shape[1] - rng.choice([0, 1, 2, 5]))
                history.truncate(length)
                plain = plain[:, :length]
        assert history.length == plain.shape[1]
        if plain.shape[1]:
            assert history.batch == plain.shape[0]
            start = rng.choice([0, plain.shape[1] - 1, rng.randrange(plain.shape[1])])
            assert torch.equal(history.since(start), plain[:, start:])


def test_many_small_chunks_are_merged() -> None:
    history = History()
    for position in range(1000):
        history.append(tokens(1, 1, position))
    assert len(history._chunks) < 300
    assert torch.equal(history.since(0), tokens(1, 1000, 0))


def test_deep_prompts_are_cut_and_reordered_with_the_tokens() -> None:
    prompts = torch.arange(2 * 2 * 4).float().view(2, 2, 4, 1)
    history = History(prompts)
    history.append(tokens(2, 6, 0))
    history.reorder(torch.tensor([1, 0]))
    assert torch.equal(history.prompts, prompts[:, [1, 0]])
    history.truncate(3)
    assert history.prompts.shape[2] == 3
    history.truncate(0)
    assert history.prompts is None


def test_nothing_after_the_end_is_a_mistake_of_ours() -> None:
    history = History()
    history.append(tokens(1, 2, 0))
    with pytest.raises(ValueError, match="nothing after"):
        history.since(2)
