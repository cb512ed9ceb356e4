"""Generates several tokens in one round trip: drafted tokens travel with the last one, and the model checks them all.

    prompt     ->  its session at the servers, as in any generation
    draft      ->  one step of the last token and the drafted ones
    the model's own choice after each of them, in order  ->  kept up to the first that was drafted wrongly
    the rest   ->  forgotten; the next step tells the servers where it begins

So do several texts that share steps. A text that is alone does not wait for an answer before it goes on (`overlap.py`).

Each token is chosen as in plain decoding: by the same processors, with the same draw, and shown to the same streamer
before the next one. So greedy tokens are the same, and sampled ones too where the random state is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.generation.utils import GenerateDecoderOnlyOutput

from potluck.client import overlap
from potluck.client.cache import RemoteCache
from potluck.client.drafter import Drafter, Drawing
from potluck.client.drafts import MAX_DRAFT
from potluck.client.together import Decoding, Stepped, Together

_KEPT_NOISE = 2 * MAX_DRAFT  # tokens


def speculate(model: Any, drafter: Drafter, chosen: Chosen, model_kwargs: dict[str, Any]) -> Any:
    """Go on with a text of one row that has a `RemoteCache`, and return what transformers' decoding methods return.

    Args:
        model_kwargs: as `generate` gives them to a decoding method.
    """
    cache: RemoteCache = model_kwargs[model._cache_name]
    together: Together = model._together
    drafter.drawing = chosen.drawing(model.get_output_embeddings().weight.shape[0])
    mask, prompt_tokens = model_kwargs.get("attention_mask"), chosen.ids.shape[1]

    def prefill() -> Tensor:
        nonlocal model_kwargs, prompt_tokens
        computed_s, length, began_s = _compute_s(cache), cache.get_seq_length(), time.perf_counter()
        outputs = model._prefill(chosen.ids, chosen.config, model_kwargs)
        compute_s = min(max(_compute_s(cache) - computed_s, 0.0), time.perf_counter() - began_s)
        drafter.times.note_prompt(cache.get_seq_length() - length, compute_s)
        chosen.choose((), outputs.logits[:, -1:])
        model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs)
        prompt_tokens += 1
        return cache.output

    given = chosen.config._mask_length if mask is None else int(mask.sum())  # tokens, with those of the session
    with together.decoding():
        if together.may_fly(cache) and not drafter.times.is_near:
            with_prompt = cache.can_fly and given == prompt_tokens > cache.get_seq_length()
            overlap.fly(model, drafter, chosen, cache, None if with_prompt else prefill)
        else:
            drafter.note_hidden(prefill())
        while not chosen.is_done:
            if flies(drafter, together, cache, chosen):
                overlap.fly(model, drafter, chosen, cache)
            elif together.takes(cache):
                together.run(_decode(drafter, chosen, cache, lambda: flies(drafter, together, cache, chosen)), cache)
            else:
                more = lengthened(model_kwargs, chosen.ids.shape[1] - prompt_tokens)
                _decode_alone(model, _decode(drafter, chosen, cache), chosen, cache, more)
    if chosen.streamer is not None:
        chosen.streamer.end()
    if not chosen.config.return_dict_in_generate:
        return chosen.ids
    return GenerateDecoderOnlyOutput(
        sequences=chosen.ids,
        scores=chosen.scores if chosen.config.output_scores else None,
        logits=chosen.logits if chosen.config.output_logits else None,
        past_key_values=cache,
    )


def flies(drafter: Drafter, together: Together, cache: RemoteCache, chosen: Chosen) -> bool:
    """Tell whether windows of a text may leave now while others are on their way."""
    return overlap.can_fly(drafter, cache, chosen) and together.may_fly(cache)


def _decode(
    drafter: Drafter, chosen: Chosen, cache: RemoteCache, is_enough: Callable[[], bool] = lambda: False
) -> Decoding:
    """Go on with a text, step after step, until it ends or `is_enough`. One whose session has others is not drafted."""
    others = cache.get_seq_length() + 1 - chosen.ids.shape[1]  # tokens, such as trained ones
    while not chosen.is_done and not is_enough():
        before = chosen.ids.shape[1]
        drafted = () if others else drafter.draft(chosen.ids, chosen.config.max_length - before - 1)
        began_s, computed_s = time.perf_counter(), _compute_s(cache)
        stepped = yield [int(chosen.ids[0, -1]), *drafted]
        step_s, compute_s = time.perf_counter() - began_s, max(_compute_s(cache) - computed_s, 0.0)
        try:
            chosen.choose(drafted, stepped.logits, stepped.best)
        finally:
            cache.crop(min(chosen.ids.shape[1] - 1 + others - cache.get_seq_length(), 0))
        new = chosen.ids.shape[1] - before
        drafter.note(stepped.hidden[:, :new], new - 1, step_s, compute_s)


def _decode_alone(
    model: Any, steps: Decoding, chosen: Chosen, cache: RemoteCache, model_kwargs: dict[str, Any]
) -> None:
    """Run the steps of a text one by one, with the inputs that `generate` would give the model."""
    tokens = next(steps, None)
    while tokens is not None:
        before = chosen.ids.shape[1]
        outputs = model(**_inputs(model, chosen.ids, tokens[1:], model_kwargs), return_dict=True)
        try:
            tokens = steps.send(Stepped(outputs.logits[:, -len(tokens) :], cache.output))
        except StopIteration:
            return
        new = chosen.ids.shape[1] - before
        model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs, num_new_tokens=new)


def _compute_s(cache: RemoteCache) -> float:
    return sum(hop.compute_ms for route in cache.routes for hop in route.hops) / 1000


def lengthened(model_kwargs: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the keyword arguments of a model's call for `count` more tokens."""
    more = dict(model_kwargs)
    if count and (mask := more.get("attention_mask")) is not None:
        more["attention_mask"] = torch.cat([mask, mask.new_ones(1, count)], dim=1)
    if count and (positions := more.get("position_ids")) is not None:
        following = positions[..., -1:] + torch.arange(1, count + 1, device=positions.device)
        more["position_ids"] = torch.cat([positions, following], dim=-1)
    return more


class Chosen:
    """The text so far, and how its next tokens are chosen."""

    def __init__(self, ids: Tensor, processors: Any, criteria: Any, config: Any, streamer: Any) -> None:
        """Begin with the prompt `ids` [1, tokens]; the rest is what `generate` gives to a decoding method."""
        self.ids = ids
        self.config = config
        self.streamer = streamer
        self.is_done = False
        self.scores: tuple[Tensor, ...] = ()  # [1, vocabulary] for each new token, if they are asked for
        self.logits: tuple[Tensor, ...] = ()
        self._processors = processors
        self._is_plain = not (processors or config.do_sample or config.return_dict_in_generate)
        self._criteria = criteria

    def drawing(self, vocabulary: int) -> Drawing | None:
        """Return how the next tokens are drawn; None if the best ones are chosen."""
        if self.config.do_sample:
            return _TorchNoise(self.config.temperature or 1.0, vocabulary, self.ids.shape[1])
        return next((each for each in self._processors if isinstance(each, Drawing)), None)

    def choose(self, drafted: Sequence[int], logits: Tensor, best: Sequence[int] = ()) -> None:
        """Choose a token after each place of `logits` [1, drafted + 1, vocabulary], until one was not drafted.

        `best`: the likeliest token at each place, if that is known.
        """
        keeps = self.config.return_dict_in_generate
        for place in range(len(drafted) + 1):
            token = self.ids.new_tensor([[best[place]]]) if best and self._is_plain else self._drawn(logits[:, place])
            self.ids = torch.cat([self.ids, token], dim=1)
            if self.streamer is not None:
                self.streamer.put(token[0].cpu())
            self.is_done = bool(self._criteria(self.ids, self.scores if keeps else None).all())
            if self.is_done or place == len(drafted) or int(token) != drafted[place]:
                return

    def _drawn(self, logits: Tensor) -> Tensor:
        """Return the token [1, 1] that processors and sampling choose by `logits` [1, vocabulary]."""
        raw = logits.to(copy=True, dtype=torch.float32, device=self.ids.device)
        scores = self._processors(self.ids, raw)
        if self.config.return_dict_in_generate:
            self.scores, self.logits = (*self.scores, scores), (*self.logits, raw)
        return torch.multinomial(scores.softmax(-1), 1) if self.config.do_sample else scores.argmax(-1, keepdim=True)


class _TorchNoise:
    """The noise by which `torch.multinomial` draws the next tokens on a processor.

    It takes the token whose probability, divided by exponential noise, is largest. The noise is drawn here from a copy
    of the random state, so the state itself goes on as without drafts.
    """

    def __init__(self, temperature: float, vocabulary: int, position: int) -> None:
        """`position`: of the next token that will be drawn."""
        self._temperature, self._vocabulary, self._next = temperature, vocabulary, position
        self._generator = torch.Generator()
        self._generator.set_state(torch.get_rng_state())
        self._noise: dict[int, Tensor] = {}  # [vocabulary] by position

    def draw(self, logits: Tensor, position: int) -> int:
        """As of `Drawing`."""
        while self._next <= position:
            self._noise[self._next] = torch.empty(1, self._vocabulary).exponential_(generator=self._generator)[0]
            self._noise.pop(self._next - _KEPT_NOISE, None)
            self._next += 1
        chances = (logits[: self._vocabulary] / self._temperature).softmax(0)
        return int((chances / self._noise[position][: len(chances)]).argmax())


def _inputs(model: Any, ids: Tensor, drafted: Sequence[int], model_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of the step that checks `drafted` after the last token of `ids`."""
    tokens, count = torch.cat([ids, ids.new_tensor([drafted])], dim=1) if drafted else ids, len(drafted)
    more = lengthened(model_kwargs, count)
    inputs: dict[str, Any] = model.prepare_inputs_for_generation(tokens, next_sequence_length=count + 1, **more)
    if "logits_to_keep" in inputs:
        inputs["logits_to_keep"] = count + 1
    return inputs
