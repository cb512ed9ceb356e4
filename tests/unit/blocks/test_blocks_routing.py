"""The choice of experts, noted in one run and repeated in another."""

import torch
from torch import Tensor, nn

from potluck.blocks.span.expert_choices import NotedChoices, Routers


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
