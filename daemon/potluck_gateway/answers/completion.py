"""Completes a prompt with any Transformers causal model: a swarm's or a local one.

Imports torch and transformers, so commands import it only when they run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.generation.logits_process import LogitsProcessor, LogitsProcessorList
from transformers.generation.streamers import BaseStreamer

from potluck.checkpoint.families import longest_text
from potluck.client import Session
from potluck.client.drafting.payoff import MAX_DRAFT
from potluck.errors import CheckpointError, UsageError
from potluck_gateway.exchange import ContextLengthError, Sampling

_SMALLEST_TOP_P = 1e-6  # 0 means the best token alone
_SORTED = 1024  # tokens; nearly always they include all likely ones
_COLDEST = 1e-5  # a lower temperature is greedy, as in vLLM: the quotients would not fit into float32
_SEED_BYTES = 7
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # SplitMix64's constant as int64, like the two factors
_MIXED = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
_INCOMPLETE = "\N{REPLACEMENT CHARACTER}"
_GREEDY = Sampling(temperature=0.0)
_NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}  # values without effect


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a completion."""

    max_new_tokens: int
    min_new_tokens: int = 0
    sampling: Sampling = _GREEDY
    ends: tuple[int, ...] | None = None  # tokens after which it ends; None: those of the generation config
    steps: tuple[LogitsProcessor, ...] = ()  # processors that run before all others
    drafts: bool = False  # send drafted tokens along where that is faster; the tokens stay the same

    def generate_options(self, prompt_tokens: int, defaults: Any) -> dict[str, Any]:
        """Return the options for transformers' `generate`. `defaults`: the model's generation config.

        A token is always drawn here, because `generate` draws from a state that all threads share.
        """
        sampling = self.sampling
        options: dict[str, Any] = {
            "max_new_tokens": self.max_new_tokens,
            "min_new_tokens": self.min_new_tokens or None,
            "do_sample": False,
        }
        if self.drafts and getattr(defaults, "use_cache", None) is not False:  # else transformers refuses them
            options["prompt_lookup_num_tokens"] = MAX_DRAFT
        if self.ends is not None:
            options["eos_token_id"] = list(self.ends) or None
            options["pad_token_id"] = self.ends[0] if self.ends else 0
        if sampling.repetition_penalty is not None:
            options["repetition_penalty"] = float(sampling.repetition_penalty)
        processors: list[LogitsProcessor] = list(self.steps)
        if sampling.presence_penalty or sampling.frequency_penalty:
            processors.append(_Penalties(prompt_tokens, sampling.presence_penalty, sampling.frequency_penalty))
        processors += _drawing(sampling, defaults)
        return options | ({"logits_processor": LogitsProcessorList(processors)} if processors else {})


def _drawing(sampling: Sampling, defaults: Any) -> list[LogitsProcessor]:
    """Return the step that draws a token; none for greedy decoding. `defaults` has what the request leaves open."""
    given = ((getattr(sampling, name), getattr(defaults, name, None), value) for name, value in _NEUTRAL.items())
    limits: list[Any] = [next(value for value in each if value is not None) for each in given]
    is_sampled = sampling.temperature is not None or getattr(defaults, "do_sample", None)
    if not is_sampled or limits[0] < _COLDEST:
        return []
    seed = int.from_bytes(os.urandom(_SEED_BYTES)) if sampling.seed is None else sampling.seed
    return [DrawToken(seed, *limits)]


@dataclass(slots=True)
class Completion:
    """The new tokens of a completion, and when each came, in seconds since the start of the call."""

    tokens: list[int] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)

    @property
    def prompt_s(self) -> float:
        """Return the time of the first token, which the prefill makes."""
        return self.times_s[0] if self.times_s else 0.0

    @property
    def decode_s(self) -> float:
        """Return the time of all tokens after the first."""
        return self.times_s[-1] - self.times_s[0] if self.times_s else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Return the speed of decoding."""
        return (len(self.tokens) - 1) / self.decode_s if len(self.tokens) > 1 else 0.0


class TextTokenizer:
    """The tokenizer of a checkpoint. `tokenizer` is transformers' own."""

    def __init__(self, folder: str | Path) -> None:
        """Load the tokenizer of a checkpoint; `tokenizer.json` is enough. Raises CheckpointError if it has none."""
        try:
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            file = Path(folder) / "tokenizer.json"  # enough for a checkpoint whose own tokenizer class is never run
            if not file.is_file():
                text, hint = f"{folder} has no usable tokenizer", "copy the tokenizer files too"
                raise CheckpointError(text, hint=hint) from error
            self.tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        added = self.tokenizer.added_tokens_decoder
        self.added: dict[int, str] = {number: token.content for number, token in added.items()}
        self.special = frozenset(number for number, token in added.items() if token.special)

    def encode(self, prompt: str, *, is_rendered: bool = False) -> torch.Tensor:
        """Return token ids [1, tokens], int64. Raises UsageError for an empty prompt.

        `is_rendered`: a chat template has written the token that begins a text.
        """
        tokens: torch.Tensor = self.tokenizer(prompt, return_tensors="pt", add_special_tokens=not is_rendered).input_ids
        if not tokens.numel():
            raise UsageError("the prompt is empty")
        return tokens

    def decode(self, tokens: list[int]) -> str:
        """Return the text of tokens, without special ones."""
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def pieces(self, tokens: list[int]) -> list[str]:
        """Return the text that each token adds to those before it."""
        decoder = TokenDecoder(self)
        *pieces, last = map(decoder.add, tokens)
        return [*pieces, last + decoder.flush()]


class TokenDecoder:
    """Turns tokens into text one by one, although a letter may take several. Each costs the same."""

    def __init__(self, text: TextTokenizer, before: Sequence[int] = ()) -> None:
        """Begin after the tokens `before`, because some tokenizers write no space at the beginning of a text."""
        self._text = text
        self._tokens = list(before)
        self._start, self._end = 0, len(self._tokens)  # bounds of what was shown last; decoding goes on from `_start`

    def add(self, token: int) -> str:
        """Add a token and return its text, or nothing while the last letter is incomplete."""
        self._tokens.append(token)
        new = self._new()
        return "" if new.endswith(_INCOMPLETE) else self._shown(new)

    def flush(self) -> str:
        """Return the text that is still held back."""
        return self._shown(self._new()) if self._end < len(self._tokens) else ""

    def _new(self) -> str:
        shown = self._text.decode(self._tokens[self._start : self._end])
        return self._text.decode(self._tokens[self._start :])[len(shown) :]

    def _shown(self, new: str) -> str:
        self._start, self._end = self._end, len(self._tokens)
        return new


def max_positions(config: Any) -> int | None:
    """Return how many tokens prompt and answer may have together; None if the model does not say."""
    text = config.get_text_config(decoder=True)
    most: int | None = longest_text(text) or getattr(text, "max_position_embeddings", None)
    return most


def check_length(prompt: torch.Tensor, config: Any) -> None:
    """Raise ContextLengthError if the model has no position left after prompt [1, tokens]."""
    most = max_positions(config)
    if most is not None and prompt.shape[1] >= most:
        raise ContextLengthError(
            f"the prompt has {prompt.shape[1]} tokens, but this model can take {most - 1} at most",
            hint="shorten it, or choose a model for longer texts",
        )


def complete(
    model: Any,
    prompt: torch.Tensor,
    options: Options,
    on_token: Callable[[Completion], None],
    *,
    session: Session | None = None,
) -> Completion:
    """Generate, and call `on_token` after each new token with the completion so far.

    Args:
        session: of a swarm's model; None opens one.

    Shapes: prompt [1, tokens] int64. Raises UsageError as `check_length`.
    """
    check_length(prompt, model.config)
    completion = Completion()
    started = time.perf_counter()

    def append(token: int) -> None:
        completion.tokens.append(token)
        completion.times_s.append(time.perf_counter() - started)
        on_token(completion)

    more = options.generate_options(prompt.shape[1], model.generation_config)
    if session is not None:
        more["session"] = session
    with torch.inference_mode():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), streamer=_Streamer(append), **more)
    return completion


def silence_transformers() -> None:
    """Switch off the progress bars and warnings of transformers."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


class _Penalties(LogitsProcessor):  # type: ignore[misc]
    """Lowers the scores of tokens that the answer has already. Source: OpenAI's "Frequency and presence penalties"."""

    def __init__(self, prompt_tokens: int, presence: float, frequency: float) -> None:
        self._prompt_tokens = prompt_tokens
        self._presence = presence
        self._frequency = frequency

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes: input_ids [1, tokens] int64, scores [1, vocabulary]."""
        answer = input_ids[:, self._prompt_tokens :]
        counts = torch.zeros_like(scores).scatter_add_(1, answer, torch.ones_like(answer, dtype=scores.dtype))
        return scores - self._frequency * counts - self._presence * (counts > 0)


class DrawToken(LogitsProcessor):  # type: ignore[misc]
    """Draws a token and leaves only that one, which `generate` then takes as the best.

    It draws from the tokens that transformers' warpers leave, but sorts only the best of them: sorting a vocabulary
    takes longer than everything else in a step. It takes the token with the largest quotient of its probability and
    exponential noise of its own, which draws each token with its probability. The noise depends only on seed, position
    and token, so a drafter can draw with the same noise.
    """

    def __init__(self, seed: int, temperature: float, top_k: int, top_p: float, min_p: float) -> None:
        """Store the limits. `top_k` 0 keeps all tokens. The best token always stays, whatever `top_p` is."""
        self._seed = seed
        self.limits = temperature, top_k, top_p, min_p

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes: input_ids [1, tokens] int64, scores [1, vocabulary]."""
        only = torch.full_like(scores, -torch.inf)
        only[0, self.draw(scores[0].to("cpu", torch.float32), input_ids.shape[1])] = 0.0
        return only

    def draw(self, logits: torch.Tensor, position: int) -> int:
        """Return the token at `position` by its logits [vocabulary]."""
        tokens, chances = self._left(logits)
        if tokens is not None:
            return int(tokens[(chances.double() / _noise(self._seed, position, tokens)).argmax()])
        size = len(chances)  # Unlikely tokens count together, because noise for each takes long.
        best, tokens = chances.topk(min(_SORTED, size))
        noise = _noise(self._seed, position, torch.cat([tokens, torch.tensor([size, size + 1])]))
        counted = torch.cat([best.double(), (1 - best.double().sum(0, keepdim=True)).clamp(min=0)])
        raced, until = counted / noise[:-1], chances.index_fill(0, tokens, 0.0).cumsum(0, dtype=torch.float64)
        place = int((raced if until[-1] else raced[:-1]).argmax())  # the sum may be rounded below 1
        if place < len(tokens):
            return int(tokens[place])
        return int(torch.searchsorted(until, (-noise[-1]).exp() * until[-1], right=True).clamp(max=size - 1))

    def _left(self, scores: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
        """Return the tokens that may be drawn, None for all, and how likely each is."""
        temperature, top_k, top_p, min_p = self.limits
        warm, size = scores / temperature, len(scores)
        if not top_k and top_p >= 1 and not min_p:
            return None, warm.softmax(0)
        for count in (min(top_k or _SORTED, size), min(top_k or size, size)):
            best, tokens = warm.topk(count)
            chances = (best - (best if top_k else warm).logsumexp(0)).exp()
            is_left = (chances.cumsum(0) - chances < max(top_p, _SMALLEST_TOP_P)) & (chances >= min_p * chances[0])
            if not is_left[-1]:
                break
        return tokens[is_left], chances[is_left]


def _noise(seed: int, position: int, tokens: torch.Tensor) -> torch.Tensor:
    """Return exponential noise for tokens [count] int64 at a position, float64.

    Source: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    """
    state = int.from_bytes(blake2b(f"{seed} {position}".encode(), digest_size=8).digest(), signed=True)
    bits = (tokens + 1) * _GOLDEN + state  # int64, modulo 2^64
    for shift, factor in _MIXED:
        bits = (bits ^ _shifted(bits, shift)) * factor
    uniform = (_shifted(bits ^ _shifted(bits, 31), 11).double() + 0.5) / (1 << 53)  # never 0
    return -uniform.log()


def _shifted(bits: torch.Tensor, count: int) -> torch.Tensor:
    """Shift int64 to the right logically, so that zeros come in."""
    return (bits >> count) & ((1 << (64 - count)) - 1)


class _Streamer(BaseStreamer):  # type: ignore[misc]
    """Passes on each new token. Transformers calls `put` with the prompt first."""

    def __init__(self, on_token: Callable[[int], None]) -> None:
        self._on_token = on_token
        self._has_prompt = False

    def put(self, value: torch.Tensor) -> None:
        if self._has_prompt:
            self._on_token(int(value))
        self._has_prompt = True

    def end(self) -> None:
        """Do nothing, because no token is held back."""
