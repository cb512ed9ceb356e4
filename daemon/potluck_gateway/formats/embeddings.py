"""Reads and writes requests for embeddings, OpenAI's and Ollama's. Pure. Source: both API references."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potluck_gateway.requests import BadRequestError, FieldRules, check_fields, parse_model, parse_object

MAX_INPUTS = 256
_RULES = FieldRules(
    frozenset(["input", "model", "encoding_format"]),
    frozenset(["user"]),
    {"dimensions": ((), "vectors have the model's own size")},
)
_OLLAMA_RULES = FieldRules(
    frozenset(["input", "model"]),
    frozenset(["keep_alive", "options"]),
    {"truncate": ((True, False), "leave it out"), "dimensions": ((), "vectors have the model's own size")},
)


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    texts: tuple[str, ...]
    model: str | None
    is_base64: bool
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector for each text, and how many tokens all texts have."""

    vectors: tuple[Sequence[float], ...]
    num_tokens: int


def parse_embedding_request(body: bytes, *, is_ollama: bool = False) -> EmbeddingRequest:
    """Raises BadRequestError."""
    asked = parse_object(body)
    ignored = check_fields(asked, _OLLAMA_RULES if is_ollama else _RULES)
    given = asked.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not 1 <= len(texts) <= MAX_INPUTS or not all(map(_is_text, texts)):
        raise BadRequestError(f"input must be a text or a list of 1 to {MAX_INPUTS} texts")
    form = asked.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise BadRequestError("encoding_format must be float or base64")
    model = parse_model(asked.get("model"))
    name = model.removesuffix(":latest") if model and is_ollama else model
    return EmbeddingRequest(tuple(texts), name, form == "base64", ignored)


def embedding_list(model: str, found: Embeddings, *, is_base64: bool) -> dict[str, Any]:
    """Return OpenAI's answer. Base64 holds the numbers as little-endian float32."""
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if is_base64 else list(vector)}
        for index, vector in enumerate(found.vectors)
    ]
    usage = {"prompt_tokens": found.num_tokens, "total_tokens": found.num_tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def ollama_embeddings(model: str, found: Embeddings) -> dict[str, Any]:
    vectors = [list(vector) for vector in found.vectors]
    return {"model": model, "embeddings": vectors, "prompt_eval_count": found.num_tokens}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
