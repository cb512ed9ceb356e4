"""Reads and writes requests for embeddings, OpenAI's and Ollama's two. Pure. Source: both API references."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from potluck_gateway.formats.fields import Count, parse_object, read_fields
from potluck_gateway.requests import BadRequestError, Prompt

MAX_INPUTS = 2048  # as in OpenAI's reference
_Input = str | list[str | Count | list[Count]]


class _Fields(Struct, kw_only=True):
    model: str | None = None
    input: _Input = ""
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    truncate: bool | None = None  # Ollama's


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """A request for vectors.

    Attributes:
        dimensions: of the vectors; None: all that the model has.
        is_cut: texts that are too long are cut; else they are refused.
    """

    texts: tuple[Prompt, ...]
    model: str | None
    ignored: tuple[str, ...]
    dimensions: int | None = None
    is_base64: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector for each text, and how many tokens all texts have."""

    vectors: tuple[Sequence[float], ...]
    num_tokens: int


def parse_embeddings(body: bytes, *, is_ollama: bool = False) -> EmbeddingRequest:
    """Parse a request. One of Ollama's without an input only loads a model. Raises BadRequestError."""
    given = parse_object(body)
    if is_ollama and "prompt" in given:  # as the older of its two has it
        given["input"] = given.pop("prompt")
    asked, ignored = read_fields(given, _Fields, {})
    return EmbeddingRequest(
        () if is_ollama and not asked.input else _texts(asked.input),
        asked.model,
        ignored,
        asked.dimensions,
        is_base64=asked.encoding_format == "base64",
        is_cut=is_ollama if asked.truncate is None else asked.truncate,
    )


def embedding_list(model: str, asked: EmbeddingRequest, found: Embeddings) -> dict[str, Any]:
    """Return OpenAI's answer. Base64 holds the numbers as little-endian float32."""
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if asked.is_base64 else vector}
        for index, vector in enumerate(_vectors(asked, found))
    ]
    usage = {"prompt_tokens": found.num_tokens, "total_tokens": found.num_tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def ollama_embed(model: str, asked: EmbeddingRequest, found: Embeddings) -> dict[str, Any]:
    return {"model": model, "embeddings": _vectors(asked, found), "prompt_eval_count": found.num_tokens}


def ollama_embeddings(_: str, asked: EmbeddingRequest, found: Embeddings) -> dict[str, Any]:
    return {"embedding": next(iter(_vectors(asked, found)), [])}


def _texts(given: _Input) -> tuple[Prompt, ...]:
    """Return the texts of an input, which may be one text, the tokens of one, or a list of either."""
    if isinstance(given, str):
        texts: list[Any] = [given]
    elif all(isinstance(item, int) for item in given):
        texts = [given]
    else:
        texts = list(given)
    if len(texts) > MAX_INPUTS or not all(isinstance(text, str | list) and text for text in texts):
        raise BadRequestError(f"input must be a text, its tokens, or a list of 1 to {MAX_INPUTS} of them")
    return tuple(text if isinstance(text, str) else tuple(text) for text in texts)


def _vectors(asked: EmbeddingRequest, found: Embeddings) -> list[list[float]]:
    """Return the vectors at the length that was asked for. Raises BadRequestError if they are shorter."""
    wanted = asked.dimensions
    if wanted is None:
        return [list(vector) for vector in found.vectors]
    if any(len(vector) < wanted for vector in found.vectors):
        raise BadRequestError(f"dimensions must be at most {len(found.vectors[0])}: this model has no more")
    return [_scaled(vector[:wanted]) for vector in found.vectors]


def _scaled(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector) or 1.0
    return [number / length for number in vector]


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
