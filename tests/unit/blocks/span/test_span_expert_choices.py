"""Layers' choices of experts are recorded as they are, and another run repeats them as far as a margin allows."""

import math

import pytest
import torch
from helpers import spans
from helpers.spans import FolderOf, random, span_of
from torch import Tensor, nn

from potluck.blocks.span.expert_choices import NO_EXPERT, GivenChoices, NotedChoices, Routers
from potluck.blocks.span.reshaping import part_of
from potluck.checkpoint.families import reports_choices
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

WHOLE = Span(0, 4)
FAMILIES = ["mixtral", "qwen3_moe", "gpt_oss", "deepseek_v3"]


class TinyExperts(nn.Module):
    """Answers with what it was given, so that tests see it."""

    num_experts = 4

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        return top_k_index


class Layer(nn.Module):
    """A layer that chooses two of four experts by their scores; in groups of two, if asked to."""

    def __init__(self, *, in_groups: bool = False) -> None:
        super().__init__()
        self.experts, self.in_groups = TinyExperts(), in_groups
        self.bias = nn.Parameter(torch.zeros(4))

    def forward(self, scores: Tensor) -> Tensor:
        scores = scores + self.bias
        if self.in_groups:
            best = scores.view(-1, 2, 2).amax(-1).topk(1, dim=-1).indices
            mask = torch.zeros(len(scores), 2, dtype=torch.bool).scatter_(1, best, True).repeat_interleave(2, 1)
            scores = scores.masked_fill(~mask, -math.inf)
        weights, indices = scores.topk(2, dim=-1)
        made: Tensor = self.experts(scores, indices, weights)
        return made


def chosen_by(layer: Layer, scores: Tensor, given: GivenChoices | None = None) -> list[list[int]]:
    layers = nn.ModuleList([layer])
    with Routers(layers).repeating(given):
        return [sorted(row) for row in layers[0](scores).tolist()]


def test_experts_within_the_margin_are_taken_and_others_are_not() -> None:
    scores = torch.tensor([[4.0, 3.0, 2.9, 0.0], [4.0, 3.0, 2.9, 0.0]])
    given = GivenChoices(torch.tensor([[[0, 2]], [[0, 3]]]), margin=0.2)
    assert chosen_by(Layer(), scores, given) == [[0, 2], [0, 1]]
    assert given.gap == pytest.approx(3.0 / 4.0)
    given = GivenChoices(torch.tensor([[[0, 2]], [[0, 3]]]), margin=math.inf)
    assert chosen_by(Layer(), scores, given) == [[0, 2], [0, 3]]


def test_what_a_router_chooses_itself_is_no_gap() -> None:
    scores = random(20, 4)
    own = torch.tensor(chosen_by(Layer(), scores))
    given = GivenChoices(own[:, None], margin=0.0)
    assert chosen_by(Layer(), scores, given) == own.tolist()
    assert given.gap == 0.0


def test_groups_of_given_experts_are_chosen_first() -> None:
    scores = torch.tensor([[3.0, 0.0, 2.9, 1.0]])
    assert chosen_by(Layer(in_groups=True), scores) == [[0, 1]]
    near = GivenChoices(torch.tensor([[[2, 3]]]), margin=0.2)
    assert chosen_by(Layer(in_groups=True), scores, near) == [[2, 3]]
    far = GivenChoices(torch.tensor([[[2, 3]]]), margin=0.01)
    assert chosen_by(Layer(in_groups=True), scores, far) == [[0, 1]]


def test_choices_of_experts_that_there_are_not_are_not_accepted() -> None:
    routers = Routers(nn.ModuleList([Layer(), nn.Identity()]))
    for chosen, is_right in (
        ([[0, 3], [NO_EXPERT, NO_EXPERT]], True),
        ([[0, 4], [NO_EXPERT, NO_EXPERT]], False),
        ([[0, -2], [NO_EXPERT, NO_EXPERT]], False),
        ([[0, 1], [0, NO_EXPERT]], False),
        ([[0, 1]], False),
    ):
        assert routers.accept(torch.tensor([chosen], dtype=torch.int16)) is is_right


@pytest.mark.parametrize("family", FAMILIES)
def test_shared_steps_sessions_alone_and_a_repeated_forward_choose_alike(family: str, family_folder: FolderOf) -> None:
    folder = family_folder(family)
    assert reports_choices(open_checkpoint(str(folder)).text_config)
    blocks = span_of(folder, WHOLE)
    one, other = random(20, 64), random(12, 64, seed=1)
    if blocks.is_ragged:
        memory = blocks.new_memory(100)
        rows = [memory.new_sequence() for _ in range(2)]
        spans.step(blocks, memory, [(rows[0], one[:12]), (rows[1], other)])
        first = blocks.routers.chosen
        assert first is not None
        spans.step(blocks, memory, [(rows[0], one[12:])])
        assert blocks.routers.chosen is not None
        noted = torch.cat((first[:12], blocks.routers.chosen))
    with torch.inference_mode():
        cache = blocks.new_cache()
        output = torch.cat([blocks.forward(one[None, :12], cache), blocks.forward(one[None, 12:], cache)], dim=1)
        cache = blocks.new_cache()
        blocks.forward(one[None], cache)
        alone = blocks.routers.chosen
        assert alone is not None
        if blocks.is_ragged:
            assert torch.equal(noted.sort().values, alone.sort().values)
        given = GivenChoices(alone, margin=0.01)
        with blocks.routers.repeating(given):
            assert spans.error(blocks.forward(one[None]), output) < 1e-5
        assert given.gap < 0.01
        others = (alone + (2 if family == "deepseek_v3" else 1)) % 4  # of the other group
        turned = GivenChoices(torch.where(alone >= 0, others, alone), margin=math.inf)
        with blocks.routers.repeating(turned):
            assert spans.error(blocks.forward(one[None]), output) > 1e-3
        assert turned.gap > 0.01


def test_rows_through_other_blocks_note_theirs_alone(family_folder: FolderOf) -> None:
    blocks = span_of(family_folder("mixtral"), WHOLE)
    memory, x = blocks.new_memory(100), random(12, 64)
    whole, part = memory.new_sequence(), memory.new_sequence(Span(2, 4))
    spans.step(blocks, memory, [(whole, x), (part, x)])
    chosen = blocks.routers.chosen
    assert chosen is not None
    assert bool((chosen[12:, :2] == NO_EXPERT).all())
    assert bool((chosen[:12] >= 0).all())
    alone = part_of(blocks, Span(2, 4))
    with torch.inference_mode():
        alone.forward(x[None], alone.new_cache())
    assert alone.routers.chosen is not None
    assert torch.equal(chosen[12:, 2:].sort().values, alone.routers.chosen.sort().values)
    assert torch.equal(blocks.routers.chosen, chosen)  # a part notes for itself


def test_a_model_without_experts_notes_nothing(family_folder: FolderOf) -> None:
    folder = family_folder("llama")
    blocks = span_of(folder, WHOLE)
    with torch.inference_mode():
        blocks.forward(random(4, 64)[None], blocks.new_cache())
    assert blocks.routers.chosen is None
    assert not reports_choices(open_checkpoint(str(folder)).text_config)


class Router(nn.Module):
    """Adds `nudge` to the scores, as another order of additions would."""

    def __init__(self) -> None:
        super().__init__()
        self.nudge = torch.zeros(4)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        values, indices = torch.topk(hidden + self.nudge, 2, dim=-1)
        return values, indices


def test_a_tie_is_decided_as_it_was_before() -> None:
    router, routers = Router(), Routers(nn.ModuleList([]))
    scores = torch.tensor([[5.0, 1.0, 1.0, 0.0], [0.0, 2.0, 2.0, 5.0], [1.0, 1.0, 1.0, 1.0]])
    routing = NotedChoices()
    with routing.noted(routers, tokens=3):
        routers.running = 1
        _, noted = router(scores)
    router.nudge = torch.tensor([0.0, -1e-3, 0.0, 1e-3])

    with routing.repeated(1, [2, 0]):
        values, repeated = router(scores[[2, 0]])

    assert repeated.tolist() == noted[[2, 0]].tolist()
    torch.testing.assert_close(values, (scores + router.nudge)[[2, 0]].gather(1, repeated))
    assert router(scores[[2, 0]])[1].tolist() != repeated.tolist()


def test_tokens_of_another_number_are_routed_afresh() -> None:
    router, routing = Router(), NotedChoices()
    with routing.noted(Routers(nn.ModuleList([])), tokens=2):
        router(torch.eye(4)[:2])
    with routing.repeated(0, [0]):
        assert router(torch.eye(4)[2:])[1][:, 0].tolist() == [2, 3]


def test_a_choice_among_groups_of_experts_does_not_take_the_place_of_the_next() -> None:
    class Grouped(nn.Module):
        def forward(self, scores: Tensor) -> Tensor:
            scores.view(-1, 2, 2).topk(1)  # as DeepSeek V3 ranks groups
            return scores.topk(1).indices

    router, routing, scores = Grouped(), NotedChoices(), torch.tensor([[5.0, 1.0, 1.0, 0.0], [0.0, 2.0, 1.0, 5.0]])
    with routing.noted(Routers(nn.ModuleList([])), tokens=2):
        router(scores)
    with routing.repeated(0, [1]):
        assert router(torch.tensor([[9.0, 0.0, 0.0, 0.0]])).tolist() == [[3]]
