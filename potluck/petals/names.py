"""Names on Petals' wire: protocol ids (`<class>.<method>`), names of blocks, and the prefix of a model's blocks.

A block is called `prefix.index`; several blocks are joined by one space in execution order.
"""

from __future__ import annotations

import re
from typing import Final

from potluck.protocol.blocks import Span
from potluck.wire.errors import WireError

INFO: Final = "TransformerConnectionHandler.rpc_info"  # unary
FORWARD: Final = "TransformerConnectionHandler.rpc_forward"  # unary
FORWARD_STREAM: Final = "TransformerConnectionHandler.rpc_forward_stream"
BACKWARD: Final = "TransformerConnectionHandler.rpc_backward"  # unary
BACKWARD_STREAM: Final = "TransformerConnectionHandler.rpc_backward_stream"
INFERENCE: Final = "TransformerConnectionHandler.rpc_inference"  # stream
PUSH: Final = "TransformerConnectionHandler.rpc_push"  # unary
CHECK: Final = "ReachabilityProtocol.rpc_check"  # unary


MAX_BLOCKS: Final = 4096
"""Far above any model's depth; bounds the work on a chain of names."""

_PREFIX: Final = re.compile(r"[^. \x00-\x1f]{1,200}")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,5}")


def block_uids(prefix: str, span: Span) -> str:
    """Return the chained name of a span, e.g. `llama.2 llama.3`."""
    return " ".join([f"{prefix}.{block}" for block in span])


def read_uids(text: str, *, num_blocks: int) -> tuple[str, Span]:
    """Return prefix and span of a chained name. Raises WireError.

    Unlike stock servers, only an ascending contiguous chain of one prefix is accepted: anything else has no span.
    """
    names = text.split(" ", MAX_BLOCKS)
    prefix, dot, index = names[0].partition(".")
    if not dot or not _PREFIX.fullmatch(prefix) or not _INDEX.fullmatch(index):
        raise WireError(f"bad block name {names[0][:80]!r}")
    start = int(index)
    end = start + len(names)
    if end > num_blocks:
        raise WireError(f"blocks {start}:{end} of a model of {num_blocks}")
    if any(name != f"{prefix}.{start + offset}" for offset, name in enumerate(names)):
        raise WireError("block names must be of one model, ascending and without gaps")
    return prefix, Span(start, end)


def default_prefix(name: str, model_type: str) -> str:
    """Return what Petals makes of a hub name, or of the name of a folder with the model."""
    if model_type == "bloom":
        return name.removesuffix("-petals").replace(".", "-") + "-petals"
    if model_type == "mixtral":
        return name.replace(".", "-")
    last = name.rsplit("/", 1)[-1].replace(".", "-").replace(" ", "")
    return f"{last}-hf" if model_type == "llama" and not last.endswith("-hf") else last
