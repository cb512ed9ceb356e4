"""Counts what the gateway does, as Prometheus reads it. No label comes from a caller."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST


class GatewayMetrics:
    """The counters since the gateway started."""

    def __init__(
        self, num_open: Callable[[], float], num_waiting: Callable[[], float], num_near: Callable[[], float]
    ) -> None:
        """Start at zero.

        Args:
            num_open: returns how many requests are answered or wait; `num_waiting`: how many of these wait.
            num_near: returns the number of steps whose logits this computer's engine computed.
        """
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "potluck_gateway_requests", "Requests answered.", ("path", "status"), registry=self._registry
        )
        text = "Tokens of prompts and answers, and of embedded texts."
        self._tokens = Counter("potluck_gateway_tokens", text, ("kind",), registry=self._registry)
        text = "Time of all answers, each from its first token on. Answered tokens over it: the speed of an answer."
        self._answer_s = Counter("potluck_gateway_answer_seconds", text, registry=self._registry)
        text = "Requests being answered, those that wait among them."
        Gauge("potluck_gateway_open", text, registry=self._registry).set_function(num_open)
        text = "Answers that wait for others to end."
        Gauge("potluck_gateway_waiting", text, registry=self._registry).set_function(num_waiting)
        text = "Steps of the loaded models whose logits this computer's engine computed."
        Gauge("potluck_gateway_near_heads", text, registry=self._registry).set_function(num_near)

    def count_tokens(self, **counts: int) -> None:
        """Add tokens of each kind: prompt, answer or embedding."""
        for kind, count in counts.items():
            self._tokens.labels(kind).inc(count)

    def add_answer_time(self, seconds: float) -> None:
        """Add the time of an answer from its first token on."""
        self._answer_s.inc(seconds)

    def page(self) -> bytes:
        """Return the page for Prometheus."""
        return generate_latest(self._registry)
