"""Reads and writes requests for embeddings, OpenAI's and Ollama's two. Pure. Source: both API references."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from potluck_gateway.exchange import BadRequestError, Embeddings, Prompt
from potluck_gateway.formats.reading import Prompts, parse_object, prompts, read_fields

MAX_INPUTS = 2048  # the limit in OpenAI's reference


class EmbeddingRequest(Struct, kw_only=True):
    """A request for vectors.

    Attributes:
        dimensions: of the vectors; None: all that the model has.
        truncate: texts that are too long are cut; else they are refused.
        texts, ignored: what was read of `input`, and the names of fields without effect.
    """

    model: str | None = None
    input: Prompts = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    truncate: bool = False
    texts: tuple[Prompt, ...] = ()
    ignored: tuple[str, ...] = ()


def parse_embeddings(body: bytes, *, is_ollama: bool = False) -> EmbeddingRequest:
    """Parse a request. One of Ollama's without an input only loads a model. Raises BadRequestError."""
    given = parse_object(body)
    if is_ollama:  # the older of its two requests has a prompt
        given = {"truncate": True, "input": given.pop("prompt", None)} | given
    request, ignored = read_fields(given, EmbeddingRequest, {})
    request.ignored = ignored
    request.texts = () if is_ollama and not request.input else prompts(request.input, MAX_INPUTS)
    return request


def embedding_list(model: str, request: EmbeddingRequest, found: Embeddings) -> dict[str, Any]:
    """Return OpenAI's answer. Base64 holds the numbers as little-endian float32."""
    write = _packed if request.encoding_format == "base64" else list
    vectors = enumerate(_vectors(request, found))
    data = [{"object": "embedding", "index": index, "embedding": write(vector)} for index, vector in vectors]
    usage = {"prompt_tokens": found.num_tokens, "total_tokens": found.num_tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def ollama_embed(model: str, request: EmbeddingRequest, found: Embeddings) -> dict[str, Any]:
    """Return Ollama's answer, with the single `embedding` that its older request is for."""
    vectors = _vectors(request, found)
    counts = {"model": model, "prompt_eval_count": found.num_tokens}
    return {**counts, "embeddings": vectors, "embedding": vectors[0] if vectors else []}


def _vectors(request: EmbeddingRequest, found: Embeddings) -> list[list[float]]:
    """Return the vectors at the length that was asked for. Raises BadRequestError if they are shorter."""
    if any(len(vector) < (request.dimensions or 0) for vector in found.vectors):
        raise BadRequestError(f"dimensions must be at most {len(found.vectors[0])}: this model has no more")
    return [_scaled(vector[: request.dimensions]) for vector in found.vectors]


def _scaled(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector) or 1.0
    return [number / length for number in vector]


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
