"""Writes the scores of tokens in OpenAI's two formats. Pure. Source: the API reference, `logprobs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from potluck_gateway.answers.answer import Likely, TokenScore


def chat_scores(scores: Sequence[TokenScore]) -> dict[str, Any]:
    content = [_entry(score) | {"top_logprobs": [_entry(one) for one in score.top]} for score in scores]
    return {"content": content, "refusal": None}


def completion_scores(scores: Sequence[TokenScore]) -> dict[str, Any]:
    return {
        "tokens": [_text(score.token) for score in scores],
        "token_logprobs": [score.logprob for score in scores],
        "top_logprobs": [_top(score) for score in scores],
        "text_offset": [score.offset for score in scores],
    }


def _top(score: TokenScore) -> dict[str, float] | None:
    """Return the likely tokens and the chosen one; None for the first token of a text."""
    if score.logprob is None:
        return None
    return {_text(one.token): one.logprob for one in score.top} | {_text(score.token): score.logprob}


def _entry(score: TokenScore | Likely) -> dict[str, Any]:
    return {"token": _text(score.token), "logprob": score.logprob, "bytes": list(score.token)}


def _text(token: bytes) -> str:
    """Return the text of a token, which may be only a piece of a letter."""
    return token.decode(errors="replace")
