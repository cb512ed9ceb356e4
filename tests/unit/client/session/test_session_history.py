"""A history gives back what was put in, reordered and cut as the session was."""

import random

import pytest
import torch

from potluck.client.session.history import Cursor, History, Piece
from potluck.protocol.messages import Awaited


def tokens(batch: int, count: int, first: int) -> torch.Tensor:
    """[batch, count, 2]: each token knows its position and the row it was made in."""
    places = torch.arange(first, first + count, dtype=torch.float32)
    return torch.stack([places.expand(batch, -1), torch.arange(batch).float()[:, None].expand(-1, count)], dim=-1)


def test_the_latest_chunk_is_handed_out_without_a_copy() -> None:
    history = History()
    history.append(tokens(1, 4, 0))
    step = tokens(1, 1, 4)
    history.append(step)
    assert history.between(4, 5).data_ptr() == step.data_ptr()


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
            assert torch.equal(history.between(start, history.length), plain[:, start:])


def test_a_cursor_says_what_a_server_has_whatever_changes_while_pieces_are_on_their_way() -> None:
    """Random steps, rollbacks and reorders around a server that answers late."""
    rng = random.Random(1)
    before, cursor = History(), Cursor()
    history = History(before=before)  # changes come from the boundary before
    history.attach(cursor)
    server, sent = torch.zeros(3, 0, 2), list[tuple[int, torch.Tensor, torch.Tensor | None]]()
    for _ in range(2000):
        match rng.random():
            case chance if chance < 0.4:
                chunk = torch.rand(3, rng.choice([1, 1, 5]), 2)
                before.append(chunk)
                history.append(chunk)
            case chance if chance < 0.6 and cursor.sent < history.length:
                start, end = cursor.sent, rng.randint(cursor.sent + 1, history.length)
                sent.append((start, history.between(start, end), cursor.order))
                cursor.order = None
                cursor.flying.append(Piece(start, end, None, None, 0.0, None, end))
            case chance if chance < 0.8 and cursor.flying:
                start, hidden, order = sent.pop(0)
                kept = server[:, :start] if order is None else server[order][:, :start]
                server = torch.cat([kept, hidden], dim=1)
                cursor.position = max(cursor.position, cursor.flying.popleft().kept)
            case chance if chance < 0.9:
                before.truncate(max(0, before.length - rng.choice([0, 1, 2, 5])))
            case _ if not cursor.flying and history.length:  # a session whose rows change drops understudies
                before.reorder(torch.tensor([rng.randrange(3) for _ in range(3)]))
        assert history.length == before.length
        assert cursor.position <= cursor.sent <= history.length
        if cursor.position and not cursor.flying:
            has = server if cursor.order is None else server[cursor.order]
            assert torch.equal(has[:, : cursor.position], history.between(0, cursor.position))


def test_an_announced_piece_is_taken_back_before_its_inputs_are_here() -> None:
    history, cursor = History(), Cursor(position=3)
    history.attach(cursor)
    history.append(tokens(1, 3, 0))
    cursor.flying.append(Piece(3, 4, None, Awaited(1, 1, 1), 0.0, None, 4))  # its inputs come from the server before
    history.truncate(3)
    assert cursor.sent == 3


def test_many_small_chunks_are_merged() -> None:
    history = History()
    for position in range(1000):
        history.append(tokens(1, 1, position))
    assert len(history._chunks) < 300
    assert torch.equal(history.between(0, 1000), tokens(1, 1000, 0))


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
        history.between(2, 3)
