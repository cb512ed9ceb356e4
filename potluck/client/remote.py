"""Defines the module in place of a model's blocks, which sends hidden states through the swarm.

With a `RemoteCache` it continues sessions; without one it is a differentiable function of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import signature
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from transformers import Cache

from potluck.checkpoint.families import CACHE_NAMES, MASKS_ONCE, cache_name
from potluck.client.cache import RemoteCache
from potluck.client.ends import JointCache
from potluck.client.rows import RowGroup, group_rows
from potluck.client.tuning.own_adapters import OwnAdapter, RemotePlace, collect_adapter
from potluck.errors import UsageError
from potluck.protocol.blocks import Span

if TYPE_CHECKING:
    from potluck.client.swarm_client import SwarmClient

IGNORED_LABEL = -100  # transformers' losses skip it
_OTHER_ATTENTION = ("is_causal", "cu_seq_lens_q", "cu_seq_lens_k", "seq_idx")  # arguments for attention

# Inputs of the model that its layers do not get. Context variables keep threads apart.
_mask: ContextVar[Tensor | None] = ContextVar("attention_mask", default=None)
_prompts: ContextVar[Tensor | None] = ContextVar("deep_prompts", default=None)


class RemoteBlocks(nn.Module):
    """Consecutive blocks of the model at servers of a swarm. `blocks[a:b]` is a part, counted from their first."""

    def __init__(self, client: SwarmClient, span: Span | None = None, *, places: tuple[RemotePlace, ...] = ()) -> None:
        """Store the settings.

        Args:
            span: None takes all blocks of the model.
            places: where peft puts LoRA for these blocks, and maybe for others.
        """
        super().__init__()
        self.places = places
        self._cache_name = ""  # the argument for the cache of the decoder around these blocks
        self.client = client
        self.span = span or Span(0, client.swarm.num_blocks)

    def __len__(self) -> int:
        return len(self.span)

    def __getitem__(self, index: int | slice) -> RemoteBlocks:
        """Return a module for some of these blocks. Raises IndexError if there are none, UsageError for gaps."""
        if isinstance(index, slice):
            chosen = range(len(self))[index]
            if len(chosen) > 1 and chosen.step != 1:
                raise UsageError("blocks are taken in their order, without gaps")
        else:
            chosen = range(len(self))[index : index + 1 or None]
        if not chosen:
            raise IndexError(f"there are {len(self)} blocks, and none at {index}")
        span = Span(self.span.start + chosen[0], self.span.start + chosen[-1] + 1)
        return RemoteBlocks(self.client, span, places=self.places)

    def new_cache(self, max_length: int | None = None) -> RemoteCache:
        """Return a cache for these blocks alone. `max_length`: tokens a row; None lets it grow."""
        return RemoteCache(self.client, max_length, span=self.span)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: RemoteCache | JointCache | None = None,
    ) -> Tensor:
        """Run hidden states through the blocks.

        Args:
            hidden_states: [batch, tokens, hidden_size].
            attention_mask: [batch, tokens so far], 0 for padding; within the model, None takes the model's.
            past_key_values: a cache for these blocks; without one, gradients flow to the input, to deep prompts and to
                LoRA that peft put at these blocks.
        Returns: the shape of `hidden_states`.
        """
        if isinstance(past_key_values, JointCache):
            return past_key_values.step(hidden_states)
        device = hidden_states.device
        hidden = hidden_states.to("cpu")
        mask, prompts = _mask.get() if attention_mask is None else attention_mask, _prompts.get()
        _mask.set(None)  # it applies to this call only
        if prompts is not None:
            self._check_prompts(prompts, hidden)
            prompts = prompts[self.span.start : self.span.end].to("cpu", hidden.dtype)
        cache = past_key_values
        if cache is not None:
            cache.check_belongs(self.client, self.span)
        if cache is not None and not cache.is_deferred:
            if hidden.requires_grad and torch.is_grad_enabled():
                raise UsageError("no gradients flow through a cache", hint="use torch.no_grad(), or no cache")
            own = None if cache.is_initialized else collect_adapter(self.places, self.span, cache.prefix)[0]
            return cache.step(hidden, mask, None if prompts is None else prompts.detach(), own).to(device)
        if not hidden.numel():
            raise UsageError("there are no tokens to compute")
        groups = group_rows(mask, hidden.shape[0], hidden.shape[1])
        own, values = collect_adapter(self.places, self.span, None if cache is None else cache.prefix)
        is_trained = torch.is_grad_enabled() and any(
            each is not None and each.requires_grad for each in (hidden, prompts, values)
        )
        given = hidden, prompts, values, own, self.client, self.span, groups, is_trained
        outputs: Tensor = _ThroughTheSwarm.apply(*given)  # type: ignore[no-untyped-call]
        if cache is not None:
            cache.keep_inputs(hidden.detach(), mask, None if prompts is None else prompts.detach(), own)
        return outputs.to(device)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def prepare_inputs(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Store the mask, provide a cache and refuse unsupported inputs. The decoder calls this before its forward."""
        config: Any = module.config
        _refuse_outputs(config, kwargs)
        _refuse_attention(kwargs)
        name = self._cache_name = self._cache_name or cache_name(module)
        for other in CACHE_NAMES:  # Transformers renames older names, but later
            if other != name and other in kwargs:
                kwargs[name] = kwargs.pop(other)
        cache, use_cache = kwargs.get(name), kwargs.get("use_cache")
        if isinstance(cache, JointCache):
            return args, kwargs
        if cache is not None and not isinstance(cache, RemoteCache):
            kwargs[name] = cache = RemoteCache(self.client, is_deferred=True, prefix=_prefix_in(cache))
        if cache is None and (config.use_cache if use_cache is None else use_cache):
            # Servers keep something only if the caller asked for it or continues the text.
            is_deferred = use_cache is None or torch.is_grad_enabled()
            kwargs[name] = cache = RemoteCache(self.client, is_deferred=is_deferred)
        mask = kwargs.get("attention_mask")
        if mask is not None and not (isinstance(mask, Tensor) and mask.dim() == 2):
            raise UsageError("attention masks must be [batch, tokens]: the swarm computes causal attention only")
        _refuse_positions(kwargs.get("position_ids"), mask, 0 if cache is None else cache.get_seq_length())
        if cache is not None and mask is not None:
            mask = cache.without_prefix(mask)
        if mask is None and cache is not None and config.model_type in MASKS_ONCE:
            mask = cache.mask_so_far(_new_tokens(args, kwargs))
        _mask.set(mask)
        return args, kwargs

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def mask_labels(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ignore labels that padding would have to predict, and refuse to train nothing; a pre-hook of the model."""
        labels = kwargs.get("labels")
        if labels is None:
            return args, kwargs
        given = signature(type(module).forward).bind_partial(module, *args, **kwargs).arguments
        sources = _prompts.get(), *(given.get(name) for name in ("inputs_embeds", *CACHE_NAMES))
        if module.training and torch.is_grad_enabled() and all(each is None for each in sources):
            _refuse_to_train_nothing(module)
        mask = given.get("attention_mask")
        if isinstance(mask, Tensor) and mask.dim() == labels.dim() == 2 and mask.shape[1] >= labels.shape[1]:
            is_padding = mask[:, -labels.shape[1] : -1].to(labels.device) == 0  # where the label is predicted
            kwargs["labels"] = torch.cat([labels[:, :1], labels[:, 1:].masked_fill(is_padding, IGNORED_LABEL)], dim=1)
        return args, kwargs

    def __reduce_ex__(self, protocol: object) -> Any:
        refuse_copies()

    @contextmanager
    def deep_prompts(self, prompts: Tensor | None) -> Iterator[None]:
        """Add `prompts` [num_blocks, batch or 1, prompt_tokens, hidden_size] to the first tokens of every block's input
        within this context."""
        token = _prompts.set(prompts)
        try:
            yield
        finally:
            _prompts.reset(token)

    def _check_prompts(self, prompts: Tensor, hidden: Tensor) -> None:
        blocks, rows, _, size = prompts.shape
        batch, _, hidden_size = hidden.shape
        if (blocks, size) != (self.client.swarm.num_blocks, hidden_size) or rows not in (1, batch):
            raise UsageError(
                f"deep prompts of shape {list(prompts.shape)}, expected "
                f"[{self.client.swarm.num_blocks}, {batch} or 1, prompt tokens, {hidden_size}]"
            )


def refuse_copies() -> NoReturn:
    """Raise UsageError, because connections are neither copied nor pickled."""
    raise UsageError(
        "a model in a swarm can be neither copied nor pickled", hint="load it with from_pretrained() in each process"
    )


class _ThroughTheSwarm(torch.autograd.Function):
    """A differentiable pass for hidden states, deep prompts and the values of an adapter."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        prompts: Tensor | None,
        values: Tensor | None,
        adapter: OwnAdapter | None,
        client: SwarmClient,
        span: Span,
        groups: tuple[RowGroup, ...],
        is_trained: bool,
    ) -> Tensor:
        work = client.passes.forward(hidden, prompts, span, groups, adapter, is_trained=is_trained)
        output, ctx.passed = client.run(work)
        ctx.client = client
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.client.run(ctx.client.passes.backward(grads[0], ctx.passed))
        return *found, None, None, None, None, None


def _prefix_in(cache: Any) -> Cache:
    """Return a local cache with trained keys and values, as peft's prefix tuning passes it. Raises UsageError."""
    if not (isinstance(cache, Cache) and cache.get_seq_length()):
        raise UsageError(
            f"a {type(cache).__name__} cannot hold what servers remember", hint="use the cache of model.session()"
        )
    return cache


def _new_tokens(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the number of tokens a row that a decoder was called with."""
    given = (*args[:1], kwargs.get("input_ids"), kwargs.get("inputs_embeds"))
    return int(next(each for each in given if each is not None).shape[1])


def _refuse_to_train_nothing(model: nn.Module) -> None:
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise UsageError(
            "this model has nothing to train: its blocks are at the servers",
            hint="add LoRA with peft's get_peft_model(), or tune prompts with PromptTuning; for the loss alone call "
            "model.eval()",
        )


def _refuse_outputs(config: Any, kwargs: dict[str, Any]) -> None:
    """Refuse outputs that only the servers of the blocks see."""
    for name in ("output_hidden_states", "output_attentions", "output_router_logits"):
        asked = kwargs.get(name)
        if getattr(config, name, False) if asked is None else asked:
            hint = "call model.blocks[a:b] for the states between blocks" if "states" in name else "leave it out"
            raise UsageError(f"{name}: the blocks are at servers, which return their last output only", hint=hint)


def _refuse_attention(kwargs: dict[str, Any]) -> None:
    for name in _OTHER_ATTENTION:
        value = kwargs.get(name)
        if not (value is None or value is True):
            raise UsageError(f"{name}: servers compute causal attention within each row only", hint="leave it out")


def _refuse_positions(given: Tensor | None, mask: Tensor | None, past: int) -> None:
    """Refuse positions that differ from those of the servers, which count from a row's first token or first column.

    Args:
        given: position_ids, [..., tokens], or None.
        mask: [batch, past + tokens], or None.
        past: tokens so far.
    """
    if given is None:
        return
    tokens = given.shape[-1]
    rows = given.reshape(-1, tokens).to("cpu")
    if bool((rows == torch.arange(past, past + tokens)).all()):
        return
    if mask is not None and mask.shape[1] == past + tokens:
        mask = mask.to("cpu", torch.int64)
        counted, is_real = (mask.cumsum(1) - 1)[:, past:], mask[:, past:].bool()
        if len(rows) in (1, len(counted)) and bool((rows == counted)[is_real].all()):
            return
    raise UsageError("position_ids that differ from those of the attention mask", hint="leave them out")
