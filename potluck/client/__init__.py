"""Runs models whose blocks are in a swarm: generation, gradients and prompt tuning."""

from potluck.client.config import ClientConfig
from potluck.client.model import (
    AutoDistributedModelForCausalLM,
    AutoDistributedModelForSequenceClassification,
    Session,
)
from potluck.client.report import AuditReport, HopReport, RouteReport
from potluck.client.tuning import PromptTuning
from potluck.client.value_head import ValueHead

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
