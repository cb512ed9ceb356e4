"""Runs models whose blocks are at servers of a swarm: generation, gradients, prompt tuning and LoRA.

A model is Hugging Face's own class with one module in place of its layers (`model.py`, `remote.py`). Callers use it
from their own threads; the network lives in one background thread (`loop.py`). `session` runs sequences, `drafting`
saves round trips, `tuning` trains, and `audits` check the servers. `servers.py` knows which servers there are and finds
routes, `calls.py` makes the calls.

What fails at a server is repaired here, and the tokens and gradients stay the same. A request that is wrong itself
raises UsageError or RemoteError; SwarmError means that the swarm cannot do it now.
"""

from potluck.client.config import ClientConfig
from potluck.client.model import (
    AutoDistributedModelForCausalLM,
    AutoDistributedModelForSequenceClassification,
    Session,
)
from potluck.client.session.reports import AuditReport, HopReport, RouteReport
from potluck.client.tuning.modules import PromptTuning, ValueHead

__all__ = [
    "AuditReport",
    "AutoDistributedModelForCausalLM",
    "AutoDistributedModelForSequenceClassification",
    "ClientConfig",
    "HopReport",
    "PromptTuning",
    "RouteReport",
    "Session",
    "ValueHead",
]
