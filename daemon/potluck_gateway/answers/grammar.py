"""Keeps a model to a JSON schema or to calls of tools.

At each step only tokens that can still lead to a match may be chosen. llguidance finds them; this module connects it to
the tokenizer and to the steps of `generate`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import llguidance
import llguidance.hf
import torch
from transformers.generation.logits_process import LogitsProcessor

from potluck.errors import UsageError
from potluck_gateway.answers.syntax import COMPACT
from potluck_gateway.exchange import PartKind

_OPEN = ("additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "$ref")
_LEFT = ("allOf", "enum", "const", "default", "examples")
_DEEPEST = 200
_WHOLE = ("NoExtension", "NoExtensionBias", "EndOfSentence")  # llguidance's reasons to stop after a match


class Grammars:
    """Makes grammars for one tokenizer."""

    def __init__(self, tokenizer: Any, ends: Sequence[int]) -> None:
        """Store the tokenizer, and the tokens that may end an answer."""
        self._tokenizer = tokenizer
        self._ends = ends
        self._made: Any = None

    def of_text(self, schema: str) -> Grammar:
        """Return a new grammar for the text of one answer. Raises UsageError if the schema cannot be kept to."""
        return self._made_of(f"start: %json {json.dumps(closed(json.loads(schema)) | COMPACT)}", (PartKind.TEXT,))

    def of_call(self, grammar: str) -> Grammar:
        """Return a new grammar for a call, written in llguidance's Lark. Raises UsageError as `of_text`."""
        return self._made_of(grammar, (PartKind.TEXT, PartKind.CALL))

    def _made_of(self, grammar: str, kinds: tuple[PartKind, ...]) -> Grammar:
        matcher = llguidance.LLMatcher(self._tokens(), llguidance.LLMatcher.grammar_from_lark(grammar))
        if problem := matcher.get_error():
            why = problem.partition("JSON schema: ")[2] or problem
            raise UsageError(f"the schema is not usable: {why.strip().splitlines()[0][:300]}")
        return Grammar(matcher, kinds)

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes of a token, which may be a piece of a letter; none for a number without a token."""
        tokens = self._tokens()
        return bytes(tokens.decode_bytes([token])) if token < tokens.vocab_size else b""

    def _tokens(self) -> Any:
        """Return llguidance's view of the tokenizer. Raises UsageError if it has none."""
        try:
            self._made = self._made or llguidance.hf.from_tokenizer(self._tokenizer, eos_token=list(self._ends) or None)
        except (ValueError, TypeError) as error:
            raise UsageError(f"this model's tokenizer does not tell its tokens apart: {error}") from error
        return self._made


class Grammar(LogitsProcessor):  # type: ignore[misc]
    """Lets an answer take only the tokens that its schema allows next, in the parts of it that the schema is for.

    Attributes:
        mode: returns what the next token belongs to.
        openings: tokens that may come instead of the first one: they begin a thought, or a call instead of a text.
    """

    def __init__(self, matcher: Any, kinds: tuple[PartKind, ...]) -> None:
        self._matcher = matcher
        self._kinds = kinds
        self._is_begun = False
        self.mode: Callable[[], PartKind] = lambda: PartKind.TEXT
        self.openings: Sequence[int] = ()

    def applies(self) -> bool:
        """Return whether the next token has to match."""
        return self.mode() in self._kinds

    def consume(self, token: int) -> None:
        """Advance the match by this token."""
        self._is_begun = True
        self._matcher.consume_token(token)

    @property
    def is_over(self) -> bool:
        """Return whether nothing more can follow, because the answer matches or because llguidance gave up."""
        return bool(self._matcher.is_stopped() or self._matcher.is_error())

    @property
    def is_whole(self) -> bool:
        """Return whether the answer so far matches."""
        if self._matcher.is_error():
            return False
        is_stopped = self._matcher.is_stopped()
        return self._matcher.stop_reason() in _WHOLE if is_stopped else bool(self._matcher.is_accepting())

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return `scores` [1, vocabulary] without the tokens that cannot come next."""
        if not self.applies():
            return scores
        allowed = torch.frombuffer(bytearray(self._matcher.compute_logit_bias()), dtype=torch.uint8) != 0
        mask = torch.zeros(scores.shape[1], dtype=torch.bool)  # [vocabulary], which may be the larger one
        size = min(len(mask), len(allowed))
        mask[:size] = allowed[:size]
        if self.openings and not self._is_begun:
            mask[list(self.openings)] = True
        return scores.masked_fill(~mask.to(scores.device), -torch.inf)


def closed(schema: Any, depth: int = 0) -> Any:
    """Return a JSON schema whose objects have the keys that it lists and no others, where it says nothing of others.

    A model fills what is left open, while programs expect only what they have listed. The parts of an `allOf` stay as
    they are, because each lists only some of the keys.
    """
    if depth > _DEEPEST:
        raise UsageError(f"a schema may be nested {_DEEPEST} deep")
    if isinstance(schema, list):
        return [closed(item, depth + 1) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: value if name in _LEFT else closed(value, depth + 1) for name, value in schema.items()}
    is_listed = isinstance(made.get("properties"), dict) and not any(name in made for name in _OPEN)
    return made | ({"additionalProperties": False} if is_listed else {})
