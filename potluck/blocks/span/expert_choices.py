"""Records which experts a span's layers choose for each token, and makes another run repeat the choices.

In half precision two experts often score alike for a token, so the smallest difference makes a router choose another
one, and the results say nothing about errors. Experts get their tokens' choices as a tensor, which is recorded there;
routers choose by `topk`, whose results are replaced where a run repeats others' choices.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from potluck.checkpoint.families import accepts_choices

NO_EXPERT = -1
"""Stands for the choices of a layer without experts."""


@dataclass(slots=True)
class GivenChoices:
    """Choices for a run to repeat.

    Shapes: chosen [tokens, layers, choices], with `NO_EXPERT` where nothing is to be repeated.

    Attributes:
        margin: how far below the last one that its own router chooses an expert may score, relative to the token's
            largest score. Where a given expert is further below, the router's own choice counts.
        gap: the largest such distance that was met.
    """

    chosen: Tensor
    margin: float
    gap: float = 0.0

    def cut(self, start: int, end: int) -> GivenChoices:
        """Return the choices of some of the layers."""
        return GivenChoices(self.chosen[:, start:end], self.margin)


class Routers:
    """Watches the layers of a span that send tokens to some of their experts. It is false if there are none.

    Each run keeps references to tensors that exist anyway, which costs next to nothing. `collect` copies them before
    the next run.

    Attributes:
        noted: what each layer chose last, by its index. Shapes: [tokens, choices].
        running: index of the layer that computes, as its caller says.
    """

    def __init__(self, layers: nn.ModuleList) -> None:
        self._layers = layers
        self._num_experts: dict[int, int] = {}  # layer -> number of its experts
        self.noted: dict[int, Tensor] = {}
        self.running = 0
        self._chosen: Tensor | None = None
        for index, layer in enumerate(layers):
            for module in layer.modules():
                if accepts_choices(type(module)):
                    experts: Any = module
                    self._num_experts[index] = getattr(experts, "total_experts", 0) or experts.num_experts
                    experts.forward = _Noting(self.noted, index, experts.forward)

    def __bool__(self) -> bool:
        return bool(self._num_experts)

    @property
    def chosen(self) -> Tensor | None:
        """Return which experts each token was sent to in the last step, or forward with a cache; None without experts.

        Shapes: [tokens of all rows, layers, choices] int16 on the CPU, `NO_EXPERT` where a layer chose none.
        """
        return None if self._chosen is None else self._chosen.cpu()

    def begin(self) -> None:
        """Forget what was collected, before a run."""
        self._chosen = None

    def collect(self, num_tokens: int, layers: range, tokens: Tensor | None = None) -> None:
        """Copy what these layers have just chosen for a run's tokens.

        Args:
            num_tokens: of the whole run.
            tokens: which of them the layers were given; None: all.
        """
        for index in layers:
            noted = self.noted.pop(index, None)  # popped before the next run: it may be a graph's memory
            if noted is None:
                continue
            if self._chosen is None:
                shape = num_tokens, len(self._layers), noted.shape[-1]
                self._chosen = torch.full(shape, NO_EXPERT, dtype=torch.int16, device=noted.device)
            found = noted[:num_tokens].to(torch.int16)
            self._chosen[slice(None) if tokens is None else tokens, index] = found

    def accept(self, chosen: Tensor) -> bool:
        """Return whether choices [tokens, layers, choices] name existing experts, and only of layers that have some."""
        if chosen.shape[1] != len(self._layers):
            return False
        limits = torch.tensor([self._num_experts.get(index, 0) for index in range(len(self._layers))])
        return bool(((chosen >= NO_EXPERT) & (chosen < limits[:, None])).all())

    @contextmanager
    def repeating(self, given: GivenChoices | None) -> Iterator[None]:
        """Make the layers choose as `given` within the context, as far as its margin allows; None: by themselves."""
        if given is None:
            yield
            return
        device = next(self._layers.parameters()).device
        chosen = given.chosen.to(device, torch.int64)

        def repeat(scores: Tensor, dim: int, choose: Callable[[], Any]) -> Any:
            own, num_experts = choose(), self._num_experts.get(self.running, 0)
            if scores.dim() != 2 or dim not in (-1, 1) or len(scores) != len(chosen) or not num_experts:
                return own
            size, count = scores.shape[1], own.indices.shape[1]
            is_of_experts = size == num_experts and count == chosen.shape[2]
            is_of_groups = count < size < num_experts and num_experts % size == 0  # groups are chosen first
            if not is_of_experts and not is_of_groups:
                return own
            return _repeated(scores, _mask(chosen[:, self.running], size, num_experts // size), given, own)

        with _Choosing(repeat):
            yield


class _Noting:
    """The forward of a layer's experts, which records the choices that it gets. A hook would cost more."""

    def __init__(self, noted: dict[int, Tensor], index: int, own: Callable[..., Any]) -> None:
        self._noted = noted
        self._index = index
        self.own = own

    def __call__(self, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Any:
        self.note(chosen)
        return self.own(hidden, chosen, weights)

    def note(self, chosen: Tensor) -> None:
        self._noted[self._index] = chosen.view(-1, chosen.shape[-1])

    @property
    def is_plain(self) -> bool:
        """Tell whether the forward is that of the experts' class, which nothing replaces."""
        return isinstance(self.own, MethodType)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Give a copied module its own forward: the copy belongs to another span."""
        return copy.deepcopy(self.own, memo)


def _mask(chosen: Tensor, size: int, of_each: int) -> Tensor:
    """Return [tokens, size] of the experts, or groups of `of_each` experts, that hold a chosen one."""
    mask = torch.zeros((len(chosen), size + 1), dtype=torch.bool, device=chosen.device)
    return mask.scatter_(1, torch.where(chosen < 0, size, chosen // of_each), True)[:, :size]


def _repeated(scores: Tensor, wanted: Tensor, given: GivenChoices, own: Any) -> Any:
    """Return the result of `topk` if the wanted experts come first, as far as the margin allows."""
    plain = scores.detach().float()
    largest = torch.where(plain.isfinite(), plain, 0.0).abs().amax(dim=-1, keepdim=True).clamp_min(1e-9)
    below = (own.values.detach().float().amin(dim=-1, keepdim=True) - plain) / largest
    given.gap = max(given.gap, float(torch.where(wanted, below, 0.0).amax()))
    ranked = torch.where(wanted & (below <= given.margin), plain + 3.0 * largest, plain)  # ranks above all others
    indices = ranked.topk(own.indices.shape[-1], dim=-1).indices
    return torch.return_types.topk((scores.gather(-1, indices), indices))


class NotedChoices:
    """The choices of each layer in one run, call by call. Shapes: [tokens, choices]."""

    def __init__(self) -> None:
        self._chosen: dict[int, list[Tensor]] = defaultdict(list)

    @contextmanager
    def noted(self, routers: Routers, tokens: int) -> Iterator[None]:
        """Record what the layers choose for so many tokens within the context."""

        def note(scores: Tensor, dim: int, choose: Callable[[], Any]) -> Any:
            found = choose()
            if found.indices.numel() // found.indices.shape[-1] == tokens:
                self._chosen[routers.running].append(found.indices.reshape(tokens, -1))
            return found

        with _Choosing(note):
            yield

    @contextmanager
    def repeated(self, layer: int, tokens: Sequence[int]) -> Iterator[None]:
        """Repeat within the context what `layer` chose for these tokens of the recorded run."""
        chosen = iter(self._chosen[layer])

        def repeat(scores: Tensor, dim: int, choose: Callable[[], Any]) -> Any:
            is_alike = dim in (-1, scores.dim() - 1) and scores.shape[:-1].numel() == len(tokens)
            noted = next(chosen, None) if is_alike else None  # scores of groups of experts have other shapes
            if noted is None:
                return choose()
            indices = noted[torch.as_tensor(tokens, device=noted.device)].view(*scores.shape[:-1], -1)
            return torch.return_types.topk((scores.gather(-1, indices), indices))

        with _Choosing(repeat):
            yield


class _Choosing(TorchFunctionMode):
    """Passes each call of `topk` to `answer`, as scores, dimension, and a function that makes the call."""

    def __init__(self, answer: Callable[[Tensor, int, Callable[[], Any]], Any]) -> None:
        super().__init__()
        self._answer = answer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func not in (torch.topk, Tensor.topk):
            return func(*args, **kwargs)
        dim = kwargs.get("dim", args[2] if len(args) > 2 else -1)
        scores = args[0] if args else kwargs["input"]
        return self._answer(scores, dim, lambda: func(*args, **kwargs))
