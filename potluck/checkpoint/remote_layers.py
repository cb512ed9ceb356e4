"""Stand for the layers of a model whose blocks are elsewhere: one module runs them all, and empty ones show what peft
looks for, the names and sizes of their linear layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers.pytorch_utils import Conv1D

from potluck.checkpoint.families import CACHE_NAMES
from potluck.errors import UsageError


class _Elsewhere(Tensor):
    """A weight that only has a shape and a dtype; computing with it raises an error."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ == "__get__":  # an attribute such as its dtype
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[no-untyped-call]
        raise UsageError(
            "the weights of remote blocks are at the servers",
            hint="save the adapter and merge it into a copy of the model, or begin with init_lora_weights=True",
        )


class RemoteLinear(nn.Linear):
    """A stand-in for a linear layer at the servers, with its size and dtype."""

    def __init__(self, in_features: int, out_features: int, dtype: torch.dtype) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = in_features, out_features
        self.weight = torch.empty((1, 1), dtype=dtype).expand(out_features, in_features).as_subclass(_Elsewhere)
        self.bias = None  # type: ignore[assignment]

    def forward(self, x: Tensor) -> NoReturn:
        raise UsageError("this layer is at the servers", hint="call the model or model.blocks[a:b]")


class RemoteStack(nn.Module):
    """A stand-in for the whole stack of layers; calls `blocks(hidden_states, past_key_values=...)`."""

    blocks: nn.Module

    def __init__(self, replaced: nn.Module) -> None:
        super().__init__()
        self.beside: tuple[None, ...] | None = None  # what the family's layers return with the hidden state, if a tuple
        for key, value in vars(replaced).items():  # loops read attributes such as `layer.attention_type`
            if isinstance(value, str | int | float) and not key.startswith("_") and key != "training":
                setattr(self, key, value)

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor | tuple[Tensor | None, ...]:
        output: Tensor = self.blocks(hidden_states, past_key_values=_cache_in(args, kwargs))
        return output if self.beside is None else (output, *self.beside)


class RemoteLayers(nn.ModuleList):
    """The list of layers. The family's loop finds one module, others `num_layers` blocks to choose from, and peft the
    linear layers of each.
    """

    def __init__(self, layers: nn.ModuleList, dtype: torch.dtype) -> None:
        self._num_layers = len(layers)
        super().__init__()
        self._modules["0"] = RemoteStack(layers[0])
        for index, layer in enumerate(layers):
            shown = self.stack if index == 0 else nn.Module()
            _show_linear_layers(layer, shown, dtype)
            self._modules[str(index)] = shown

    def __len__(self) -> int:
        return self._num_layers

    def __iter__(self) -> Iterator[nn.Module]:
        yield self.stack

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and range(self._num_layers)[index] == range(self._num_layers):
            return self  # loops take the first `num_hidden_layers`
        return self.stack.blocks[index]  # type: ignore[index]

    @property
    def stack(self) -> RemoteStack:
        return self._modules["0"]  # type: ignore[return-value]

    @property
    def shown(self) -> list[nn.Module]:
        """Return what shows the linear layers of each block."""
        return [module for module in self._modules.values() if module is not None]


def no_tables(replaced: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return what stands for a module of rotary tables, which only layers use."""

    def tables(x: Tensor, *args: object, **kwargs: object) -> tuple[Tensor, Tensor]:
        return x, x

    tables.layer_types = getattr(replaced, "layer_types", ())  # type: ignore[attr-defined]  # loops make one for each
    return tables


def _show_linear_layers(layer: nn.Module, shown: nn.Module, dtype: torch.dtype) -> None:
    """Give `shown` a `RemoteLinear` under the name of each linear layer of `layer`."""
    for path, module in layer.named_modules():
        if isinstance(module, Conv1D):
            out_features, in_features = module.weight.shape[1], module.weight.shape[0]
        elif isinstance(module, nn.Linear):
            out_features, in_features = module.out_features, module.in_features
        else:
            continue
        *parents, name = path.split(".")
        parent = shown
        for each in parents:
            if each not in parent._modules:
                parent.add_module(each, nn.Module())
            parent = parent.get_submodule(each)
        parent.add_module(name, RemoteLinear(in_features, out_features, dtype))


def _cache_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the cache that the family's loop passes to its layers, under any name or position."""
    for key in (*CACHE_NAMES, "layer_past", "past_key_value"):
        if kwargs.get(key) is not None:
            return kwargs[key]
    return next((value for value in args if isinstance(value, Cache)), None)
