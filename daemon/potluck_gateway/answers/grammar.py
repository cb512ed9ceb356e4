"""Keeps a model to a JSON schema or to calls of tools.

At each step only the tokens that can still lead to a match may be chosen. llguidance decides which those are; here it
meets the tokenizer and the steps of `generate`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import llguidance
import llguidance.hf
import torch
from transformers.generation.logits_process import LogitsProcessor

from potluck.errors import UsageError

_COMPACT = {"whitespace_flexible": False}  # a weak model may write blanks without end


class Grammars:
    """Makes grammars for one tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._made: Any = None

    def of_schema(self, schema: str) -> Grammar:
        """Return a new grammar for one answer. Raises UsageError if the schema cannot be kept to."""
        return self._made_of(partial(llguidance.LLMatcher.grammar_from_json_schema, schema, overrides=_COMPACT))

    def of_lark(self, grammar: str) -> Grammar:
        """Return a new grammar for one answer, written in llguidance's Lark. Raises UsageError as `of_schema`."""
        return self._made_of(partial(llguidance.LLMatcher.grammar_from_lark, grammar))

    def _made_of(self, read: Callable[[], str]) -> Grammar:
        try:
            matcher = llguidance.LLMatcher(self._tokens(), read())
        except (ValueError, TypeError) as error:
            raise UsageError(f"this model cannot keep to a schema: {error}") from error
        if problem := matcher.get_error():
            raise UsageError(f"the schema is not usable: {problem.strip().splitlines()[0][:300]}")
        return Grammar(matcher)

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token, which may be a piece of a letter; none for a number without a token."""
        tokens = self._tokens()
        return bytes(tokens.decode_bytes([token])) if token < tokens.vocab_size else b""

    def _tokens(self) -> Any:
        """Return llguidance's view of the tokenizer. Raises UsageError if it has none."""
        try:
            self._made = self._made or llguidance.hf.from_tokenizer(self._tokenizer)
        except (ValueError, TypeError) as error:
            raise UsageError(f"this model's tokenizer does not tell its tokens apart: {error}") from error
        return self._made


class Grammar(LogitsProcessor):  # type: ignore[misc]
    """Lets an answer take only the tokens that its schema allows next."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def take(self, token: int) -> None:
        """Note that the answer goes on with this token."""
        self._matcher.consume_token(token)

    @property
    def is_complete(self) -> bool:
        """Return whether the answer matches and nothing more can follow."""
        return bool(self._matcher.is_stopped())

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return `scores` [1, vocabulary] without the tokens that cannot come next."""
        allowed = torch.frombuffer(bytearray(self._matcher.compute_logit_bias()), dtype=torch.uint8) != 0
        mask = torch.zeros(scores.shape[1], dtype=torch.bool)  # [vocabulary], which may be the larger one
        size = min(len(mask), len(allowed))
        mask[:size] = allowed[:size]
        return scores.masked_fill(~mask.to(scores.device), -torch.inf)
