"""An engine as a process that loses its p2pd."""

import psutil
import pytest
from helpers.golden import CHECKPOINT

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span


def test_an_engine_whose_p2pd_dies_fails_with_a_reason() -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 2)]) as swarm:
        (engine,) = swarm.engines
        _, p2pd = family = engine.processes()
        assert p2pd.name() == "p2pd"
        p2pd.kill()
        with pytest.raises(PotluckError, match="the peer-to-peer process ended unexpectedly"):
            engine.wait_event("failed")
        assert psutil.wait_procs(family, timeout=120)[1] == []
