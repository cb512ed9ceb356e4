"""The simulated swarm keeps to the scenario, whatever the policy."""

import numpy as np
import pytest

from benchmarks.swarms.placement_policy import Potluck
from benchmarks.swarms.simulated_swarm import Swarm
from benchmarks.swarms.volunteers import arrivals, checksum, scenario

SERVERS = 50  # above what plans together, which takes longer
HOURS = 0.125


@pytest.fixture(scope="module", autouse=True)
def short_warm_up():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(scenario()["run"], "warm_up_h", 0.25)
        yield


@pytest.fixture(scope="module")
def honest(short_warm_up):
    return Swarm(SERVERS, Watched(), 7).run(HOURS)


class Watched(Potluck):
    """Ours, with a look at the swarm after every tick."""

    def tick(self, swarm: Swarm) -> None:
        super().tick(swarm)
        live = swarm.live()[swarm.is_here]
        assert not (live & ~(swarm.spans()[swarm.is_here] | (swarm.live_until_s[swarm.is_here] < np.inf))).any()
        assert (live.sum(axis=1) <= swarm.window[swarm.is_here]).all()
        edges = np.diff(live.astype(int), axis=1, prepend=0)
        assert ((edges == 1).sum(axis=1) <= 1).all(), "what a server serves is contiguous"
        assert (swarm.start + swarm.length <= swarm.num_blocks).all()


def test_the_scenario_is_the_one_that_was_given():
    assert checksum() == "afdd31a1a0941408b835c4a23b8eee6f3d645de0238e4a7bf883d26e6bfb81d7"


def test_everybody_serves_one_contiguous_span_of_at_most_what_fits(honest):
    assert honest.moves
    assert all(0 <= value <= 1 for value in honest.throughput)
    assert len(honest.throughput) == HOURS * 3600 / scenario()["run"]["sample_every_s"]


def test_the_number_of_servers_stays_level():
    hours = 40.0
    coming = list(arrivals(100, 1, 3600 * hours))
    present = [sum(a.at_s <= t < a.leaves_s for a in coming) for t in np.arange(3600, 3600 * hours, 3600)]
    assert np.mean(present) == pytest.approx(100, rel=0.1)
    returning = 1 - len({a.who for a in coming}) / len(coming)
    assert returning == pytest.approx(0.7, abs=0.1)


def test_liars_cost_little_more_than_what_they_do_not_bring(honest):
    """Three of fifty serve nothing and claim a hundred times what they could; all else is as without them."""
    lied_to = Swarm(SERVERS, Potluck(), 7, liars=3).run(HOURS)
    assert np.mean(lied_to.throughput) > 0.75 * np.mean(honest.throughput)
    assert all(lied_to.is_available)
