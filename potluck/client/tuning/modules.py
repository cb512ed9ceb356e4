"""Trains modules through the swarm, whose parameters are here: soft prompts before the text, and a value head after it.

The model does not change. The user's own torch optimiser trains the parameters.

Source: Lester et al. 2021 (prompt tuning); Li and Liang 2021, Liu et al. 2021 (deep prompts). The value head has the
outputs and names of parameters of `AutoModelForCausalLMWithValueHead` of trl.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from potluck.client.remote import IGNORED_LABEL
from potluck.client.rows import AFTER_PROMPT_HINT
from potluck.errors import UsageError

_caught: ContextVar[list[Tensor] | None] = ContextVar("last_hidden_states", default=None)


class PromptTuning(nn.Module):
    """The soft prompts for a model of `AutoDistributedModelForCausalLM`.

    Parameters: `prompt` [prompt_tokens, hidden_size], starting as embeddings of random tokens; `deep_prompts`
    [num_blocks, 1, prompt_tokens, hidden_size], starting as zeros, added to each block's input at the prompt's places.
    """

    model: Any

    def __init__(self, model: Any, prompt_tokens: int, *, deep: bool = False, seed: int = 0) -> None:
        super().__init__()
        if prompt_tokens < 1:
            raise UsageError("a prompt needs at least one token")
        self.__dict__["model"] = model  # not a submodule: its weights are not trained, saved or moved with ours
        embeddings = model.get_input_embeddings()
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(model.config.get_text_config().vocab_size, (prompt_tokens,), generator=generator)
        with torch.no_grad():
            start = embeddings(tokens.to(embeddings.weight.device))
        self.prompt = nn.Parameter(start.detach().clone())
        num_blocks = model.blocks.client.swarm.num_blocks
        shape = (num_blocks, 1, prompt_tokens, start.shape[-1])
        self.deep_prompts = nn.Parameter(torch.zeros(shape, dtype=start.dtype)) if deep else None

    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **kwargs: Any) -> Any:
        """Return the model's output for prompt and text; `labels` [batch, tokens] cover the text.

        Logits also cover the prompt: [batch, prompt_tokens + tokens, vocabulary].
        """
        if labels is not None:
            ignored = labels.new_full((labels.shape[0], self.prompt.shape[0]), IGNORED_LABEL)
            labels = torch.cat([ignored, labels], dim=1)
        with self.model.blocks.deep_prompts(self.deep_prompts):
            return self.model(inputs_embeds=self._embed(input_ids), labels=labels, **self._widened(kwargs))

    def generate(self, input_ids: Tensor, **kwargs: Any) -> Tensor:
        """Return new tokens [batch, new tokens]; options as in transformers' `generate`."""
        with torch.no_grad(), self.model.blocks.deep_prompts(self.deep_prompts):
            embeddings = self._embed(input_ids)
            kwargs.setdefault("attention_mask", input_ids.new_ones(input_ids.shape))
            return self.model.generate(inputs_embeds=embeddings, **self._widened(kwargs))  # type: ignore[no-any-return]

    def _embed(self, input_ids: Tensor) -> Tensor:
        text = self.model.get_input_embeddings()(input_ids)
        return torch.cat([self.prompt.to(text.dtype).expand(len(text), -1, -1), text], dim=1)

    def _widened(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the options with an attention mask that covers the prompt."""
        mask = kwargs.get("attention_mask")
        if mask is None:
            return kwargs
        if not bool(mask[:, 0].all()):
            raise UsageError("the prompt comes directly before the text", hint=AFTER_PROMPT_HINT)
        return {**kwargs, "attention_mask": torch.cat([mask.new_ones(len(mask), len(self.prompt)), mask], dim=1)}


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
