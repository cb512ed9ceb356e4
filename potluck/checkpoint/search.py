"""Asks a hub for models in a process of its own, which prints what it finds, one a line.

    python -m potluck.checkpoint.search WORDS                    the models whose names match
    python -m potluck.checkpoint.search "" MODEL REVISION        that model, if it can be split
    python -m potluck.checkpoint.search "" MODEL REVISION DRAFT  the small one, if it drafts for that model

A search knows neither torch nor transformers, so it starts in a second.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from huggingface_hub import HfApi, ModelInfo, constants, get_session
from huggingface_hub.errors import HfHubHTTPError

from potluck.errors import PotluckError
from potluck.protocol.codec import encode
from potluck.protocol.local_messages import FoundModel, HubRefusal, OpenedModel
from potluck.sentences import sentence
from potluck.unreachable import is_network_error, why_unreachable

MAX_FOUND = 20
_REACH_TIMEOUT_S = 8.0  # the library asks for half a minute before it says that nobody is there
_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2}  # bytes a number, else 1


def search_hub(words: str) -> list[FoundModel]:
    """Return generating models with safetensors whose names match, those downloaded most first. Blocks.

    Raises:
        PotluckError: the hub can't be reached, or refuses.
    """
    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    try:
        get_session().head(endpoint, timeout=_REACH_TIMEOUT_S)
        found = HfApi(endpoint=endpoint).list_models(
            search=words,
            pipeline_tag="text-generation",
            filter="safetensors",
            sort="downloads",
            limit=MAX_FOUND,
            expand=["gated", "safetensors", "tags"],
        )
        return [described(item) for item in found]
    except HfHubHTTPError as error:
        raise PotluckError(
            sentence("the hub answered {number}", number=error.response.status_code), hint=sentence("try again later")
        ) from error
    except Exception as error:
        if not is_network_error(error):
            raise
        why, advice = why_unreachable(urlsplit(endpoint).hostname or endpoint, error)
        raise PotluckError(
            sentence("cannot reach the hub: {why}", why=why),
            hint=sentence("{advice}, or choose a model on this computer", advice=advice),
        ) from error


def described(item: ModelInfo) -> FoundModel:
    """Return what the hub says of a model."""
    tags = item.tags or ()
    licence = next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")
    numbers: Mapping[str, int] = item.safetensors.parameters if item.safetensors is not None else {}
    num_bytes = sum(count * _BYTES.get(kind, 1) for kind, count in numbers.items())
    return FoundModel(item.id, num_bytes, sum(numbers.values()), licence, bool(item.gated))


def open_model(model: str, revision: str, draft: str = "") -> OpenedModel:
    """Open a model that can be split, or the small one that drafts for it. Raises PotluckError."""
    from potluck.checkpoint.drafts import check_pair
    from potluck.checkpoint.source import open_checkpoint

    found = opened = open_checkpoint(model, revision=revision or None)
    if draft:
        found = open_checkpoint(draft)
        check_pair(opened, found)
    return OpenedModel(found.name, found.num_blocks, found.revision, str(found.folder))


def main() -> None:
    words, *model = sys.argv[1:]
    try:
        for found in [open_model(*model)] if model else search_hub(words):
            print(encode(found).decode())
    except PotluckError as error:
        print(encode(HubRefusal(error.sentence, error.advice)).decode())


if __name__ == "__main__":
    main()
