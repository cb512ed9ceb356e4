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
from typing import Any

import torch
from torch import Tensor
from transformers.generation.utils import GenerateDecoderOnlyOutput

from potluck.checkpoint.families import CACHE_NAMES
from potluck.client.cache import RemoteCache
from potluck.client.drafts import OF_A_MODEL, Drafted, Lookup, Payoff, StepTimes, guessed
from potluck.client.head import HeadText
from potluck.client.together import Decoding, Stepped, faded


class Drafter:
    """Guesses how a text goes on: what followed its last tokens where they occurred before, or what a model guesses.

    A model is asked as long as that pays.
    """

    def __init__(
        self, times: StepTimes, most: int, *, head: HeadText | None = None, small: SmallModel | None = None
    ) -> None:
        """Store the settings.

        Args:
            times: of this model's steps.
            most: tokens in a draft.
            head: the model's own, for further tokens.
            small: another model, which drafts alone.
        """
        self._lookup = Lookup()
        self._payoff = Payoff(times)
        self._times = times
        self._most = most
        self._head = head
        self._small = small
        self._guess_s = self._draft_s = 0.0  # that a guess of the head takes, and all those of a draft
        self._alike = 0  # first tokens of the draft that would have been looked up, too
        self._asked = False
        self._drafted: Sequence[Drafted] = ()

    def draft(self, ids: Tensor, most: int) -> Sequence[int]:
        """Return at most `most` tokens that may follow `ids` [1, tokens]."""
        most = min(most, self._most, self._times.longest)
        if self._small is None:
            self._lookup.extend(ids[0, self._lookup.length :].tolist())
        has_model = self._head is not None or self._small is not None
        self._asked = has_model and self._times.knows_plain and self._payoff.asks(self._draft_s)
        found = self._ask(ids, most) if self._asked else self._lookup.draft(most)
        self._drafted = self._payoff.worth(found)
        return [token for token, _ in self._drafted]

    def note(self, ids: Tensor, hidden: Tensor, right: int, seconds: float, compute_s: float) -> None:
        """Note how many of the drafted tokens were right, and what the step took.

        Args:
            ids: with the new tokens.
            hidden: the last block's outputs [1, tokens, hidden_size] for the new tokens but the very last.
            compute_s: of the step's seconds, what all servers together computed by their reports.
        """
        self._see(hidden)
        drafted = len(self._drafted)
        self._times.note(drafted, seconds, compute_s)
        self._payoff.note(self._drafted, right, gained=max(right - self._alike, 0) if self._asked else None)
        if self._small is not None and drafted:
            self._small.note(ids, drafted, right)

    def note_prompt(self, hidden: Tensor, tokens: int, compute_s: float) -> None:
        """Note the last block's outputs for a prompt, and how long all servers together computed its tokens."""
        self._see(hidden)
        self._times.note_prompt(tokens, compute_s)

    def _see(self, hidden: Tensor) -> None:
        if self._head is not None:
            self._head.note(hidden)

    def _ask(self, ids: Tensor, most: int) -> list[Drafted]:
        began_s = time.perf_counter()
        drafted = self._small.draft(ids, most) if self._small is not None else self._guessed(ids, most)
        if drafted:
            taken_s = time.perf_counter() - began_s
            self._draft_s = faded(self._draft_s, taken_s)
            self._guess_s = faded(self._guess_s, taken_s / len(drafted))
        return drafted

    def _guessed(self, ids: Tensor, most: int) -> list[Drafted]:
        """Return a draft whose tokens come from the head or from a match, whichever is more often right."""
        head = self._head
        assert head is not None
        drafted: list[Drafted] = []
        last, chance = self._lookup.last(), 1.0
        is_able, self._alike = head.begin(ids), 0
        while len(drafted) < most and is_able and self._payoff.goes_on(chance, self._guess_s):
            best = guessed(*head.guess())
            found = self._lookup.next(last)
            if found is not None and self._payoff.likely(found) > self._payoff.likely(best):
                best = found
            if found is not None and found.token == best.token and self._alike == len(drafted):
                self._alike += 1
            drafted.append(best)
            last.append(best.token)
            chance *= self._payoff.likely(best)
            head.follow(best.token)
        return drafted


class SmallModel:
    """A small model that drafts, within a candidate generator of transformers."""

    def __init__(self, candidates: Any, prompt_tokens: int) -> None:
        candidates.generation_config.do_sample = False  # the likeliest token is the best guess of a drawn one, too
        self._candidates = candidates
        self._prompt_tokens = prompt_tokens

    def draft(self, ids: Tensor, most: int) -> list[Drafted]:
        given = self._candidates.assistant_kwargs
        if all(given.get(name) is None for name in CACHE_NAMES):  # later it goes on by itself
            self._candidates.assistant_kwargs = lengthened(given, ids.shape[1] - self._prompt_tokens)
        drafted: list[int] = self._candidates.get_candidates(ids)[0][0, ids.shape[1] :].tolist()
        return [Drafted(token, OF_A_MODEL) for token in drafted[:most]]

    def note(self, ids: Tensor, drafted: int, right: int) -> None:
        self._candidates.update_candidate_strategy(ids, torch.empty(1, drafted + 1, 0), right)


def speculate(model: Any, drafter: Drafter, chosen: Chosen, model_kwargs: dict[str, Any]) -> Any:
    """Go on with a text of one row that has a `RemoteCache`, and return what transformers' decoding methods return.

    Args:
        model_kwargs: as `generate` gives them to a decoding method.
    """
    cache = model_kwargs[model._cache_name]
    computed_s, length = _compute_s(cache), cache.get_seq_length()
    outputs = model._prefill(chosen.ids, chosen.config, model_kwargs)
    drafter.note_prompt(cache.output, cache.get_seq_length() - length, max(_compute_s(cache) - computed_s, 0.0))
    chosen.choose((), outputs.logits[:, -1:])
    steps = _decode(drafter, chosen, cache)
    if model._together.takes(cache):
        model._together.run(steps, cache)
    else:
        _decode_alone(model, steps, chosen, cache, model._update_model_kwargs_for_generation(outputs, model_kwargs))
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


def _decode(drafter: Drafter, chosen: Chosen, cache: RemoteCache) -> Decoding:
    """Go on with a text until it ends."""
    while not chosen.is_done:
        before = chosen.ids.shape[1]
        drafted = drafter.draft(chosen.ids, chosen.config.max_length - before - 1)
        began_s, computed_s = time.perf_counter(), _compute_s(cache)
        stepped = yield [int(chosen.ids[0, -1]), *drafted]
        step_s, compute_s = time.perf_counter() - began_s, max(_compute_s(cache) - computed_s, 0.0)
        try:
            chosen.choose(drafted, stepped.logits, stepped.best)
        finally:
            cache.crop(min(chosen.ids.shape[1] - 1 - cache.get_seq_length(), 0))
        new = chosen.ids.shape[1] - before
        drafter.note(chosen.ids, stepped.hidden[:, :new], new - 1, step_s, compute_s)


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


def _inputs(model: Any, ids: Tensor, drafted: Sequence[int], model_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of the step that checks `drafted` after the last token of `ids`."""
    tokens, count = torch.cat([ids, ids.new_tensor([drafted])], dim=1) if drafted else ids, len(drafted)
    more = lengthened(model_kwargs, count)
    inputs: dict[str, Any] = model.prepare_inputs_for_generation(tokens, next_sequence_length=count + 1, **more)
    if "logits_to_keep" in inputs:
        inputs["logits_to_keep"] = count + 1
    return inputs
