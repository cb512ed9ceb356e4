"""Writes the list of models for OpenAI's and Anthropic's clients at once. Pure.

The lengths have the names under which programs look for them: OpenRouter's, vLLM's and LM Studio's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from potluck_gateway.answers.answer import ModelFacts


def listed_model(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return the entry of a model. `facts`: None while it is not loaded."""
    openai = {"object": "model", "created": int(since.timestamp()), "owned_by": "swarm"}
    anthropic = {"type": "model", "display_name": name, "created_at": since.isoformat()}
    entry = {"id": name, **openai, **anthropic}
    if facts is None:
        return entry
    longest = facts.context_length
    lengths = dict.fromkeys(("context_length", "max_model_len", "max_context_length"), longest) if longest else {}
    return entry | lengths | {"max_completion_tokens": facts.max_tokens}


def model_list(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ends = {"first_id": entries[0]["id"], "last_id": entries[-1]["id"]} if entries else {}
    return {"object": "list", "data": entries, "has_more": False, **ends}
