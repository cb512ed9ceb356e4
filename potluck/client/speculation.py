"""Generates several tokens in one round trip: drafted tokens travel with the last one, and the model checks them all.

    prompt     ->  its session at the servers, as in any generation
    draft      ->  one step of the last token and the drafted ones
    the model's own choice after each of them, in order  ->  kept up to the first that was drafted wrongly
    the rest   ->  forgotten; the next step tells the servers where it begins

Each token is chosen as in plain decoding: by the same processors, with the same draw, and shown to the same streamer
before the next one. So greedy tokens are the same, and sampled ones too where the random state is the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers.generation.utils import GenerateDecoderOnlyOutput

from potluck.client.drafts import Drafted, Lookup, Payoff, StepTimes


class Drafter(Protocol):
    """Guesses how a text goes on."""

    def draft(self, ids: Tensor, most: int) -> Sequence[int]:
        """Return at most `most` tokens that may follow `ids` [1, tokens]."""

    def note(self, ids: Tensor, drafted: int, right: int, seconds: float) -> None:
        """Note how many of the drafted tokens were right, and the time of the step. `ids`: with the new tokens."""


class LookupDrafter:
    """Drafts what followed the last tokens where they occurred before."""

    def __init__(self, times: StepTimes, most: int) -> None:
        """`times`: of this model's steps; `most`: tokens in a draft."""
        self._lookup = Lookup()
        self._payoff = Payoff(times)
        self._times = times
        self._most = most
        self._drafted: Sequence[Drafted] = ()

    def draft(self, ids: Tensor, most: int) -> Sequence[int]:
        self._lookup.extend(ids[0, self._lookup.length :].tolist())
        self._drafted = self._payoff.worth(self._lookup.draft(min(most, self._most)))
        return [token for token, _ in self._drafted]

    def note(self, ids: Tensor, drafted: int, right: int, seconds: float) -> None:
        self._times.note(drafted, seconds)
        self._payoff.note(self._drafted, right)


class ModelDrafter:
    """Drafts with a small model, by a candidate generator of transformers that has it."""

    def __init__(self, candidates: Any) -> None:
        candidates.generation_config.do_sample = False  # the likeliest token is the best guess of a drawn one, too
        self._candidates = candidates

    def draft(self, ids: Tensor, most: int) -> Sequence[int]:
        drafted: list[int] = self._candidates.get_candidates(ids)[0][0, ids.shape[1] :].tolist()
        return drafted[:most]

    def note(self, ids: Tensor, drafted: int, right: int, seconds: float) -> None:
        self._candidates.update_candidate_strategy(ids, torch.empty(1, drafted + 1, 0), right)


def speculate(
    model: Any,
    drafter: Drafter,
    ids: Tensor,
    processors: Any,
    criteria: Any,
    config: Any,
    streamer: Any,
    model_kwargs: dict[str, Any],
) -> Any:
    """Generate for one row with a `RemoteCache`, and return what transformers' decoding methods return.

    Args:
        ids: [1, tokens], the prompt.
        processors, criteria, config, streamer, model_kwargs: as `generate` gives them to a decoding method.
    """
    cache = model_kwargs["past_key_values"]
    chosen = _Chosen(ids, processors, criteria, config, streamer)
    outputs = model._prefill(ids, config, model_kwargs)
    chosen.choose((), outputs.logits[:, -1:])
    model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs)
    while not chosen.is_done:
        before = chosen.ids.shape[1]
        drafted = drafter.draft(chosen.ids, config.max_length - before - 1)
        began_s = time.perf_counter()
        outputs = model(**_inputs(model, chosen.ids, drafted, model_kwargs), return_dict=True)
        seconds = time.perf_counter() - began_s
        try:
            chosen.choose(drafted, outputs.logits[:, -1 - len(drafted) :])
        finally:
            cache.crop(min(chosen.ids.shape[1] - 1 - cache.get_seq_length(), 0))
        new = chosen.ids.shape[1] - before
        drafter.note(chosen.ids, len(drafted), new - 1, seconds)
        model_kwargs = model._update_model_kwargs_for_generation(outputs, model_kwargs, num_new_tokens=new)
    if streamer is not None:
        streamer.end()
    if not config.return_dict_in_generate:
        return chosen.ids
    return GenerateDecoderOnlyOutput(
        sequences=chosen.ids,
        scores=chosen.scores if config.output_scores else None,
        logits=chosen.logits if config.output_logits else None,
        past_key_values=cache,
    )


def lengthened(model_kwargs: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the keyword arguments of a model's call for `count` more tokens."""
    more = dict(model_kwargs)
    if count and (mask := more.get("attention_mask")) is not None:
        more["attention_mask"] = torch.cat([mask, mask.new_ones(1, count)], dim=1)
    if count and (positions := more.get("position_ids")) is not None:
        following = positions[..., -1:] + torch.arange(1, count + 1, device=positions.device)
        more["position_ids"] = torch.cat([positions, following], dim=-1)
    return more


class _Chosen:
    """The text so far, and how its next tokens are chosen."""

    def __init__(self, ids: Tensor, processors: Any, criteria: Any, config: Any, streamer: Any) -> None:
        self.ids = ids  # [1, tokens]
        self.is_done = False
        self.scores: tuple[Tensor, ...] = ()  # [1, vocabulary] for each new token, if they are asked for
        self.logits: tuple[Tensor, ...] = ()
        self._processors = processors
        self._criteria = criteria
        self._draws = bool(config.do_sample)
        self._keeps = bool(config.return_dict_in_generate)
        self._streamer = streamer

    def choose(self, drafted: Sequence[int], logits: Tensor) -> None:
        """Choose a token after each place of `logits` [1, drafted + 1, vocabulary], until one was not drafted."""
        for place in range(len(drafted) + 1):
            raw = logits[:, place].to(copy=True, dtype=torch.float32, device=self.ids.device)
            scores = self._processors(self.ids, raw)
            token = torch.multinomial(scores.softmax(-1), 1) if self._draws else scores.argmax(-1, keepdim=True)
            if self._keeps:
                self.scores, self.logits = (*self.scores, scores), (*self.logits, raw)
            self.ids = torch.cat([self.ids, token], dim=1)
            if self._streamer is not None:
                self._streamer.put(token[0].cpu())
            self.is_done = bool(self._criteria(self.ids, self.scores if self._keeps else None).all())
            if self.is_done or place == len(drafted) or int(token) != drafted[place]:
                return


def _inputs(model: Any, ids: Tensor, drafted: Sequence[int], model_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of the step that checks `drafted` after the last token of `ids`."""
    tokens, count = torch.cat([ids, ids.new_tensor([drafted])], dim=1) if drafted else ids, len(drafted)
    more = lengthened(model_kwargs, count)
    inputs: dict[str, Any] = model.prepare_inputs_for_generation(tokens, next_sequence_length=count + 1, **more)
    if "logits_to_keep" in inputs:
        inputs["logits_to_keep"] = count + 1
    return inputs
