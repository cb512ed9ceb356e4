"""Which blocks a new server should take: the contiguous window that the swarm lacks most.

Pure. The rule is the max-min rule of Petals (its block selection, described in the protocol reference, 14.13): compare
windows by their sorted coverage, the least covered block first; ties go to the smallest start.
"""

from __future__ import annotations

from collections.abc import Iterable

from potluck.protocol.blocks import Span


def choose_span(num_blocks: int, window: int, serving: Iterable[tuple[Span, float]]) -> Span:
    """The window of `window` blocks (at most all) whose least covered blocks are covered least.

    Args:
        num_blocks: of the model.
        window: blocks to serve.
        serving: what each live server serves, with its throughput in tokens a second.
    """
    window = min(max(window, 1), num_blocks)
    coverage = [0.0] * num_blocks
    for span, throughput_tps in serving:
        for block in range(span.start, min(span.end, num_blocks)):
            coverage[block] += throughput_tps
    start = min(range(num_blocks - window + 1), key=lambda i: sorted(coverage[i : i + window]))
    return Span(start, start + window)
