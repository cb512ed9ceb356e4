"""Runs models whose blocks are in a swarm: generation, gradients and prompt tuning."""

from potluck.client.config import ClientConfig
from potluck.client.model import AutoDistributedModelForCausalLM, Session
from potluck.client.report import HopReport, RouteReport
from potluck.client.tuning import PromptTuning

__all__ = [
    "AutoDistributedModelForCausalLM",
    "ClientConfig",
    "HopReport",
    "PromptTuning",
    "RouteReport",
    "Session",
]
