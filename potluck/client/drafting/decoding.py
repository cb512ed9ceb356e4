"""Goes on with texts whose next tokens are drafted: alone in windows, together in common steps, or in steps alone.

a text that is alone       lets windows leave while others are on their way (`overlap.py`)
texts of several threads   share steps of the model's ends (`Together`)
a text that can't do so    takes a step of its own for the last token and the drafted ones

draft                                                ->  one step of the last token and the drafted ones
the model's own choice after each of them, in order  ->  kept up to the first that was drafted wrongly
the rest                                             ->  forgotten; the next step tells the servers where it begins
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.generation.utils import GenerateDecoderOnlyOutput

from potluck.allowance import cores
from potluck.client.cache import RemoteCache
from potluck.client.drafting import overlap
from potluck.client.drafting.choosing import Chosen
from potluck.client.drafting.drafter import Drafter
from potluck.client.ends import Ends
from potluck.client.loop import on_cancel
from potluck.client.swarm_client import SwarmClient
from potluck.routing.experience import faded
from potluck.tasks import cancel_and_wait

_CORES_OF_A_TEXT = 4  # one that flies has a thread for the ends and one that drafts


class Stepped(NamedTuple):
    """The model's results for the tokens of a step."""

    logits: Tensor  # [1, tokens, vocabulary]
    hidden: Tensor  # [1, tokens, hidden_size], of the last block
    best: Sequence[int] = ()  # the likeliest token after each, if that is known


Decoding = Generator[Sequence[int], Stepped, None]
"""Yields the tokens of each next step, and gets the results by `send`. It ends with the text."""


class Together:
    """The texts of one model that share steps of its ends. Any thread may call `run`.

        a thread has a prompt's first token  ->  its text joins; the first thread leads, the others sleep
        the leader packs the next tokens of all texts into one row  ->  one call of the family's own forward
        in place of the blocks each text's tokens go to its own session  ->  texts that are answered go on
        the leader's text ends  ->  another thread leads

    A text whose servers answer late doesn't hold up the others: its tokens stay in the packed row, and its answer
    counts once it is there.
    """

    def __init__(self, ends: Ends, client: SwarmClient) -> None:
        self._ends = ends
        self._client = client
        self._changed = threading.Condition()  # a text has ended
        self._num_decoded = 0  # texts in flight, in common steps and alone
        self._texts: list[_Text] = []  # texts that have not ended; the thread of the first one leads
        self._newcomers = asyncio.Event()
        self._step_s = 0.0  # usual time to the first answer of a step

    def takes(self, cache: RemoteCache) -> bool:
        """Tell whether the session of `cache` can share steps: one row without padding, in a family that passes."""
        with self._changed:
            return cache.is_together and cache.is_one_row and self._ends.packs

    def may_fly(self, cache: RemoteCache) -> bool:
        """Tell whether a text may go on in windows of its own (`overlap.py`)."""
        with self._changed:
            return not (cache.is_together and self.is_crowded) and self._ends.packs

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Count one more text within the context."""
        with self._changed:
            self._num_decoded += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_decoded -= 1

    @property
    def is_crowded(self) -> bool:
        """Tell whether so many texts are decoded that they should share steps of the ends."""
        return self._num_decoded > max(cores() // _CORES_OF_A_TEXT, 1)

    def run(self, steps: Decoding, cache: RemoteCache) -> None:
        """Decode a text to its end. Other threads may run its `steps` meanwhile.

        Raises: what `steps` raises; BrokenPipeError if the thread's scope is cancelled.
        """
        text = _Text(steps, cache)
        text.begin()
        if not text.is_done:
            with on_cancel(lambda: self._client.post(text.leave)):
                self._decode(text)
        if text.error is not None:
            raise text.error

    def _decode(self, own: _Text) -> None:
        """Wait until the text has ended or is the first one; then decode all texts until it has ended."""
        try:
            with self._changed:
                self._texts.append(own)
                self._client.post(self._newcomers.set)
                self._changed.wait_for(lambda: own.is_done or self._texts[0] is own)
            while not own.is_done:
                texts = list(self._texts)
                self._step(texts)
                if any(text.is_done for text in texts):
                    self._forget_ended()
        finally:
            own.is_done = True
            self._client.post(own.leave)  # needed after Ctrl-C
            self._forget_ended()

    def _forget_ended(self) -> None:
        with self._changed:
            self._texts = [text for text in self._texts if not text.is_done]
            self._changed.notify_all()

    def _step(self, texts: Sequence[_Text]) -> None:
        try:
            tokens = [token for text in texts for token in text.tokens]
            positions = [text.position + index for text in texts for index in range(len(text.tokens))]
            logits = self._ends.through(tokens, positions, lambda hidden: self._through_the_swarm(texts, hidden))
        except Exception as error:  # each text's own caller raises it
            for text in texts:
                text.fail(error)
            return
        best, place = logits[0].argmax(-1).tolist(), 0  # computed for all texts in one go
        for text in texts:
            end = place + len(text.tokens)
            text.go_on(logits[:, place:end], best[place:end])
            place = end

    def _through_the_swarm(self, texts: Sequence[_Text], hidden: Tensor) -> Tensor:
        """Send each text's part of a packed row to its session; return the outputs, or the inputs where none came."""
        parts = torch.split(hidden.to("cpu"), [len(text.tokens) for text in texts], dim=1)
        self._client.run(self._answer(texts, parts))
        outputs = [
            text.outcome if isinstance(text.outcome, Tensor) else part for text, part in zip(texts, parts, strict=True)
        ]
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)).to(hidden.device)

    async def _answer(self, texts: Sequence[_Text], inputs: Sequence[Tensor]) -> None:
        """Send new tokens, and wait for the first answer, and as long again for those that aren't late."""
        began_s = time.monotonic()
        self._newcomers.clear()
        for text, hidden in zip(texts, inputs, strict=True):
            text.send(hidden)
        await self._wait(texts, began_s)
        for text in texts:  # an answer that comes from now on is not in the packed row
            text.settle_answer()

    async def _wait(self, texts: Sequence[_Text], began_s: float) -> None:
        answers = [text.answer for text in texts if text.answer is not None]
        if len(self._texts) > len(texts) or len(answers) < len(texts):
            return  # new texts send their tokens at once; or some answers have come already
        if not any(answer.done() for answer in answers):
            newcomer = asyncio.ensure_future(self._newcomers.wait())
            await asyncio.wait([*answers, newcomer], return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(newcomer)
            if not any(answer.done() for answer in answers):
                return
            self._step_s = faded(self._step_s, time.monotonic() - began_s)
        expected = {text.answer: text for text in texts if text.answer is not None and not text.is_late}
        if expected:
            _, late = await asyncio.wait(expected, timeout=self._step_s)
            for answer in late:
                expected[answer].is_late = True


class _Text:
    """A text that shares steps. Its `answer`, `outcome` and `is_late` belong to the client's event loop."""

    def __init__(self, steps: Decoding, cache: RemoteCache) -> None:
        self.tokens: Sequence[int] = ()  # the step's tokens
        self.position = 0  # the position of the first one
        self.answer: asyncio.Task[Tensor] | None = None  # the awaited answer to the step, unless it is in `outcome`
        self.outcome: Tensor | BaseException | None = None  # the answer or error that the leading thread has waited for
        self.is_late = False  # others have waited for the answer once
        self.is_done = False
        self.error: BaseException | None = None
        self._cache = cache
        self._steps = steps
        self._has_left = False

    def begin(self) -> None:
        self._advance(lambda: next(self._steps))

    def send(self, hidden: Tensor) -> None:
        """Send the step, unless a leading thread that was interrupted has sent it already."""
        if self.answer is None and self.outcome is None:
            self.answer = asyncio.ensure_future(self._cache.step_rows(hidden))
            if self._has_left:
                self.answer.cancel()

    def leave(self) -> None:
        """End the text with this step."""
        self._has_left = True
        if self.answer is not None:
            self.answer.cancel()

    def settle_answer(self) -> None:
        if self.answer is None or not self.answer.done():
            return
        if self.answer.cancelled():
            self.outcome = BrokenPipeError("the caller is gone")
        else:
            self.outcome = self.answer.exception() or self.answer.result()
        self.answer, self.is_late = None, False

    def go_on(self, logits: Tensor, best: Sequence[int]) -> None:
        """Choose tokens by the answer, or raise its error within `steps`; without an answer, do nothing."""
        outcome, self.outcome = self.outcome, None
        if isinstance(outcome, Tensor):
            self._advance(lambda: self._steps.send(Stepped(logits, outcome, best)))
        elif outcome is not None:
            self.fail(outcome)

    def fail(self, error: BaseException) -> None:
        if not self.is_done:
            self._advance(lambda: self._steps.throw(error))

    def _advance(self, advance: Callable[[], Sequence[int]]) -> None:
        try:
            self.tokens, self.position = advance(), self._cache.get_seq_length()
        except StopIteration:
            self.is_done = True
        except BaseException as error:
            self.error, self.is_done = error, True
            if not isinstance(error, Exception):  # Ctrl-C, which ends the leader's own text, too
                raise


def speculate(model: Any, drafter: Drafter, chosen: Chosen, model_kwargs: dict[str, Any]) -> Any:
    """Go on with a text of one row that has a `RemoteCache`, and return what transformers' decoding methods return.

    Args:
        model_kwargs: those that `generate` gives to a decoding method.
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
        drafter.times.record_prompt(cache.get_seq_length() - length, compute_s)
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
            drafter.record_hidden(prefill())
        while not chosen.is_done:
            if flies(drafter, together, cache, chosen):
                overlap.fly(model, drafter, chosen, cache)
            elif together.takes(cache):
                together.run(_decode(drafter, chosen, cache, lambda: flies(drafter, together, cache, chosen)), cache)
            else:
                more = extend_kwargs(model_kwargs, chosen.ids.shape[1] - prompt_tokens)
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
    """Go on with a text, step after step, until it ends or `is_enough`.

    A text whose session holds other tokens, too, such as trained ones, has no drafts.
    """
    others = cache.get_seq_length() + 1 - chosen.ids.shape[1]
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
        drafter.record(stepped.hidden[:, :new], new - 1, step_s, compute_s)


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


def extend_kwargs(model_kwargs: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the keyword arguments of a model's call for `count` more tokens."""
    more = dict(model_kwargs)
    if count and (mask := more.get("attention_mask")) is not None:
        more["attention_mask"] = torch.cat([mask, mask.new_ones(1, count)], dim=1)
    if count and (positions := more.get("position_ids")) is not None:
        following = positions[..., -1:] + torch.arange(1, count + 1, device=positions.device)
        more["position_ids"] = torch.cat([positions, following], dim=-1)
    return more


def _inputs(model: Any, ids: Tensor, drafted: Sequence[int], model_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of the step that checks `drafted` after the last token of `ids`."""
    tokens, count = torch.cat([ids, ids.new_tensor([drafted])], dim=1) if drafted else ids, len(drafted)
    more = extend_kwargs(model_kwargs, count)
    inputs: dict[str, Any] = model.prepare_inputs_for_generation(tokens, next_sequence_length=count + 1, **more)
    if "logits_to_keep" in inputs:
        inputs["logits_to_keep"] = count + 1
    return inputs
