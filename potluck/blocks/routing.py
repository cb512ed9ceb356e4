"""Holds the choice of experts fixed while two ways of computing a layer are compared.

In half precision two experts often score alike for a token, so the smallest difference makes a router choose another
one and the results say nothing about errors. Routers choose by `topk`: the first run notes what was chosen for each
token, and the second run repeats it, with its own scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


class Routing:
    """What was chosen in each layer, call by call. Shapes: [tokens, choices]."""

    def __init__(self) -> None:
        self._chosen: dict[int, list[Tensor]] = defaultdict(list)

    @contextmanager
    def noted(self, layers: nn.ModuleList, tokens: int) -> Iterator[None]:
        """Note what the layers choose for so many tokens in the body."""
        running = [0]

        def entering(index: int) -> Callable[..., None]:
            return lambda *_: running.__setitem__(0, index)

        def note(found: Any) -> Any:
            if found.indices.numel() // found.indices.shape[-1] == tokens:
                self._chosen[running[0]].append(found.indices.reshape(tokens, -1))
            return found

        hooks = [layer.register_forward_pre_hook(entering(index)) for index, layer in enumerate(layers)]
        try:
            with _Choosing(lambda scores, dim, choose: note(choose())):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def repeated(self, layer: int, tokens: Sequence[int]) -> Iterator[None]:
        """Repeat in the body what `layer` chose for these tokens of the noted run."""
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
