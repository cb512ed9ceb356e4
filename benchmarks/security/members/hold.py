"""Whether the members hold, whatever members, leaders and the network do.

Each scenario ends with all honest nodes comparing in pairs; then three things are counted on each of them: confirmed
people who are missing, removed people or machines who are back, and nodes that differ from the first one. `broken` in
the detail names other promises that a scenario found broken.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from benchmarks.figures import Measured, figure
from benchmarks.security.members.attacks import (
    a_member_invents_people,
    an_admin_turns_bad,
    ten_thousand_worthless,
    two_members_together,
)
from benchmarks.security.members.leaders import (
    a_chain_with_a_fork,
    a_leader_restored_from_a_backup,
    the_worst_order,
    two_computers_of_one_leader,
    two_leaders_at_once,
)
from benchmarks.security.members.mishaps import (
    a_founder_who_never_comes_back,
    a_storm,
    clocks_two_hours_off,
    many_people,
    partitions_that_meet,
    restarts_in_the_middle_of_writes,
)
from benchmarks.security.members.swarm import Findings, Scenario, in_swarm

_SCENARIOS: tuple[Scenario, ...] = (
    a_member_invents_people,
    two_members_together,
    an_admin_turns_bad,
    two_leaders_at_once,
    two_computers_of_one_leader,
    a_leader_restored_from_a_backup,
    a_chain_with_a_fork,
    the_worst_order,
    partitions_that_meet,
    clocks_two_hours_off,
    ten_thousand_worthless,
    many_people,
    a_founder_who_never_comes_back,
    restarts_in_the_middle_of_writes,
    a_storm,
)
_LONG = (ten_thousand_worthless, many_people)


@figure("members_hold", unit="faults", reach=0, shown=True)
def hold(soak: bool) -> Measured:
    """Confirmed people lost, removed ones who return and nodes that disagree, whatever members, leaders and the network
    do.

    Invented people, bad admins, two leaders or two computers at once, restored backups, forks, partitions, wrong
    clocks, floods, restarts in writes, and storms of all that, against real gates whose calls get lost, doubled and
    reordered. Other broken promises are in `detail`.
    """
    detail: dict[str, Any] = {}
    total, holds = 0, True
    for scenario in _SCENARIOS:
        seeds = range((2 if soak else 1) if scenario in _LONG else (40 if soak else 6))
        print(f"{scenario.__name__}: seeds 0 to {seeds[-1]}", flush=True)
        began_s, found = time.monotonic(), Findings()
        for seed in seeds:
            found.add(asyncio.run(in_swarm(scenario, seed, is_full=soak)), seed)
        total += found.lost + found.returned + found.differing
        holds = holds and not found.broken
        detail[scenario.__name__] = {**found.told(), "s": round(time.monotonic() - began_s, 1)}
    return Measured(total, detail, holds=holds)
