"""Runs models whose blocks are in a swarm: generation, gradients and prompt tuning."""

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
