"""Run and fine-tune large language models over a swarm of volunteers' computers.

The names below are loaded on first use, so that light programs can import the parts of this package that need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from potluck.client import (
        AutoDistributedModelForCausalLM,
        AutoDistributedModelForSequenceClassification,
        ClientConfig,
        PromptTuning,
        ValueHead,
    )
    from potluck.errors import PotluckError, SwarmError

__all__ = [
    "AutoDistributedModelForCausalLM",
    "AutoDistributedModelForSequenceClassification",
    "ClientConfig",
    "PotluckError",
    "PromptTuning",
    "SwarmError",
    "ValueHead",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("potluck.errors" if name.endswith("Error") else "potluck.client"), name)
