"""Tools as OpenAI's client uses them, on a model whose chat template knows them."""

from __future__ import annotations

from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.gateway import KEY, gateway, tool_tokenizer
from benchmarks.gateway_cases import TOOL_CASES, not_as_documented
from benchmarks.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span


def test_openais_client_offers_tools_and_gets_calls() -> None:
    folder = resource(DEMO_MODEL)
    with (
        LocalSwarm(folder, [Span(0, 12)]) as swarm,
        tool_tokenizer() as tokenizer,
        gateway(folder, swarm, tokenizer=tokenizer) as url,
    ):
        assert not_as_documented(url, KEY, TOOL_CASES) == {}
