"""Who comes and when, how long they stay, and how they go: drawn before the swarm runs, so that every policy meets the
same volunteers at the same times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.swarms.volunteers import Volunteer, random_volunteer, scenario


@dataclass(frozen=True, slots=True)
class Arrival:
    at_s: float
    leaves_s: float
    crashes: bool  # its record stays for a while, and it serves nobody
    who: int  # the same number: the same machine, with what is left on its disk
    volunteer: Volunteer


def arrivals(num_servers: int, seed: int, until_s: float) -> Iterator[Arrival]:
    """`num_servers` at once, then as many as leave on the average; most are machines that were there before."""
    churn = scenario()["churn"]
    rng = np.random.default_rng([seed, num_servers])
    mean_stay_s = churn["session_s"]["exponential_mean"]
    away: list[tuple[float, int]] = []  # when each left, and who it is
    volunteers: list[Volunteer] = []
    now_s, num_joined = 0.0, 0
    while now_s < until_s:
        gone = [index for index, (since_s, _) in enumerate(away) if since_s <= now_s]
        if gone and rng.random() < churn["returning_host_share"]:
            _, who = away.pop(int(rng.choice(gone)))
        else:
            who = len(volunteers)
            volunteers.append(random_volunteer(rng))
        leaves_s = now_s + rng.exponential(mean_stay_s)
        yield Arrival(now_s, leaves_s, rng.random() < churn["crash_share"], who, volunteers[who])
        away.append((leaves_s, who))
        num_joined += 1
        if num_joined >= num_servers:
            now_s += rng.exponential(mean_stay_s / num_servers)
