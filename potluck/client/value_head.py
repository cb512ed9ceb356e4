"""A value head as reinforcement learning uses it: a number for each token, computed from the last hidden states.

Source: `AutoModelForCausalLMWithValueHead` of trl, whose outputs and names of parameters these are.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from potluck.errors import UsageError

_caught: ContextVar[list[Tensor] | None] = ContextVar("last_hidden_states", default=None)


class ValueHead(nn.Module):
    """The value head of a model of `AutoDistributedModelForCausalLM`, or of a local one. It is here, and it trains.

    Parameters: `summary` [1, hidden_size] with a bias, in float32. The model is no submodule: its parameters are
    neither trained, saved nor moved with these.

    Args:
        dropout: applied to the hidden states while training.
    """

    model: Any

    def __init__(self, model: Any, *, dropout: float = 0.1) -> None:
        super().__init__()
        logits_of = model.get_output_embeddings()
        if logits_of is None:
            raise UsageError("a value head needs a model that generates", hint="use AutoDistributedModelForCausalLM")
        self.__dict__["model"] = model
        self.dropout = nn.Dropout(dropout)
        self.summary = nn.Linear(model.config.get_text_config().hidden_size, 1, device=model.device)
        logits_of.register_forward_pre_hook(_catch)

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None, Tensor]:
        """Call the model once; return logits, its loss for `labels`, and values [batch, tokens], float32."""
        caught: list[Tensor] = []
        token = _caught.set(caught)
        try:
            output = self.model(*args, **kwargs)
        finally:
            _caught.reset(token)
        hidden = caught[-1]  # [batch, tokens, hidden_size], after the final norm
        values: Tensor = self.summary(self.dropout(hidden.to(self.summary.weight.dtype))).squeeze(-1)
        return output.logits.float(), output.loss, values


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _catch(module: nn.Module, args: tuple[Any, ...]) -> None:
    caught = _caught.get()
    if caught is not None:
        caught.append(args[0])
