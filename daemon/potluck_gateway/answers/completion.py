"""Completes a prompt with any Transformers causal model: a swarm's or a local one.

Imports torch and transformers, so commands import it only when they run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.generation.logits_process import (
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.generation.streamers import BaseStreamer

from potluck.checkpoint.families import longest_text
from potluck.client import Session
from potluck.client.drafts import MAX_DRAFT
from potluck.errors import CheckpointError, UsageError
from potluck_gateway.answers.templates import BoundedRenderer
from potluck_gateway.requests import ContextLengthError, ToolsError

_SMALLEST_TOP_P = 1e-6  # transformers refuses 0, which means the best token alone


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a completion; `temperature` 0 is greedy."""

    max_new_tokens: int
    min_new_tokens: int = 0
    temperature: float = 0.0
    top_p: float | None = None  # None: the checkpoint's
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    steps: tuple[LogitsProcessor, ...] = ()  # what sees or changes the scores before all of that
    drafts: bool = False  # send drafted tokens along where that is faster; the tokens stay the same

    def generate_options(self, prompt_tokens: int, defaults: Any) -> dict[str, Any]:
        """Return the options for transformers' `generate`. `defaults`: the model's generation config."""
        options: dict[str, Any] = {
            "max_new_tokens": self.max_new_tokens,
            "min_new_tokens": self.min_new_tokens,
            "do_sample": self.temperature > 0 and self.seed is None,
        }
        if self.drafts and getattr(defaults, "use_cache", None) is not False:  # else transformers refuses them
            options["prompt_lookup_num_tokens"] = MAX_DRAFT
        processors: list[LogitsProcessor] = list(self.steps)
        if self.presence_penalty or self.frequency_penalty:
            processors.append(_Penalties(prompt_tokens, self.presence_penalty, self.frequency_penalty))
        if self.temperature > 0 and self.seed is not None:
            processors += self._seeded(defaults)
        elif self.temperature > 0:
            options["temperature"] = self.temperature
            if self.top_p is not None:
                options["top_p"] = max(self.top_p, _SMALLEST_TOP_P)
        return options | ({"logits_processor": LogitsProcessorList(processors)} if processors else {})

    def _seeded(self, defaults: Any) -> list[LogitsProcessor]:
        """Return the steps of sampling, because `generate` draws from a state that all threads share."""
        assert self.seed is not None
        made: list[LogitsProcessor] = [TemperatureLogitsWarper(float(self.temperature))]
        top_k = 50 if getattr(defaults, "top_k", None) is None else defaults.top_k  # 50 as in `generate`
        top_p = getattr(defaults, "top_p", None) if self.top_p is None else self.top_p
        if top_k > 0:
            made.append(TopKLogitsWarper(top_k))
        if top_p is not None and top_p < 1:
            made.append(TopPLogitsWarper(max(float(top_p), _SMALLEST_TOP_P)))
        return [*made, _Draw(self.seed)]


@dataclass(slots=True)
class Completion:
    """The new tokens of a completion, and when each came, in seconds since the start of the call."""

    tokens: list[int] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)

    @property
    def tokens_per_s(self) -> float:
        """Return the speed of decoding, without the first token, which the prefill makes."""
        return (len(self.tokens) - 1) / (self.times_s[-1] - self.times_s[0]) if len(self.tokens) > 1 else 0.0

    @property
    def longest_wait_s(self) -> float:
        """Return the longest wait for a token after the first."""
        return max((b - a for a, b in pairwise(self.times_s)), default=0.0)


class Text:
    """A tokenizer that decodes text step by step, although a letter may take several tokens."""

    def __init__(self, folder: str | Path) -> None:
        """Load the tokenizer of a checkpoint; `tokenizer.json` is enough. Raises CheckpointError if it has none."""
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            file = Path(folder) / "tokenizer.json"  # of a checkpoint whose own class of tokenizers is never run
            if not file.is_file():
                text, hint = f"{folder} has no usable tokenizer", "copy the tokenizer files too"
                raise CheckpointError(text, hint=hint) from error
            self._tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        self._render = BoundedRenderer(partial(_render, self._tokenizer))

    @property
    def tokenizer(self) -> Any:
        """Return transformers' tokenizer."""
        return self._tokenizer

    def encode(self, prompt: str) -> torch.Tensor:
        """Return token ids [1, tokens], int64. Raises UsageError for an empty prompt."""
        tokens: torch.Tensor = self._tokenizer(prompt, return_tensors="pt").input_ids
        if not tokens.numel():
            raise UsageError("the prompt is empty")
        return tokens

    def template(self, *, has_tools: bool = False) -> str | None:
        """Return the model's chat template; it may have another one for conversations with tools."""
        if self._tokenizer.chat_template is None:
            return None
        return str(self._tokenizer.get_chat_template(tools=[] if has_tools else None))

    def encode_chat(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None
    ) -> torch.Tensor | None:
        """Return token ids [1, tokens], int64, as the model's chat template makes them; None if it has no template.

        Args:
            tools: each with its `function`, as in OpenAI's format.

        Raises:
            UsageError: the template refuses these messages, e.g. two of the same role in a row, or needs too much.
            ToolsError: the template leaves out the tools.
        """
        template = self.template(has_tools=tools is not None)
        if template is None:
            return None
        text = self._render(messages, tools, template)
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        if any(one["function"]["name"] not in text for one in (*(tools or ()), *calls)):
            raise ToolsError("this model's chat template has no place for tools", hint="describe them in a message")
        tokens: torch.Tensor = self._tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
        return tokens

    def decode(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def new_part(self, tokens: list[int], shown: str) -> str:
        """Return what `tokens` add to the text `shown` so far, or nothing while the last letter is incomplete."""
        text = self.decode(tokens)
        return "" if text.endswith("�") else text[len(shown) :]


def _render(tokenizer: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, template: str) -> str:
    return str(
        tokenizer.apply_chat_template(
            messages, tools=tools, chat_template=template, tokenize=False, add_generation_prompt=True
        )
    )


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

    def note(token: int) -> None:
        completion.tokens.append(token)
        completion.times_s.append(time.perf_counter() - started)
        on_token(completion)

    more = options.generate_options(prompt.shape[1], model.generation_config)
    if session is not None:
        more["session"] = session
    with torch.inference_mode():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), streamer=_Streamer(note), **more)
    return completion


def quiet() -> None:
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


class _Draw(LogitsProcessor):  # type: ignore[misc]
    """Draws a token from a state of its own, and leaves only that one. `generate` then takes it as the best."""

    def __init__(self, seed: int) -> None:
        self._random = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes: input_ids [1, tokens] int64, scores [1, vocabulary]."""
        token = torch.multinomial(scores.softmax(-1, dtype=torch.float32).cpu(), 1, generator=self._random)
        left = torch.full_like(scores, -torch.inf)
        return left.scatter_(1, token.to(scores.device), 0.0)


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
