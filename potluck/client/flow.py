"""Passes a long step through all servers of a session at once: each computes one piece while the next one comes.

The histories of the hops grow while pieces are under way. What fails ends the flow behind it in good order, so that
every other server keeps what it has, and the session recovers as after a short step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import Tensor

from potluck.client.hop import Hop
from potluck.client.loop import side_by_side
from potluck.client.pieces import Course, Inflow
from potluck.protocol.codes import RemoteError


async def flow(
    hops: Sequence[Hop], courses: Sequence[Course], take: Callable[[int, int, Tensor], None]
) -> list[RemoteError | None]:
    """Let all of `hops` catch up side by side; return what failed at each of them.

    Args:
        take: called with the index of a hop, a position, and the outputs of the tokens from there on, in order.
    """
    inflows = [Inflow(hop.history, course.end) for hop, course in zip(hops, courses, strict=True)]

    async def run(index: int) -> RemoteError | None:
        def pass_on(position: int, output: Tensor, was_pushed: bool) -> None:
            if index + 1 < len(hops):
                inflows[index + 1].add(output, was_pushed=was_pushed)
            take(index, position, output)

        try:
            await hops[index].flow(courses[index], inflows[index], pass_on)
        except RemoteError as error:
            return error
        finally:
            for _, after in pairwise(inflows[index : index + 2]):
                after.stop()
        return None

    return await side_by_side([run(index) for index in range(len(hops))])
