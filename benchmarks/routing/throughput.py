"""Figure `sim_routing`: a thousand sessions that decode on 300 servers, and what their routes make of these.

Each session generates a few hundred tokens and is followed by another one of another client, which finds its own route.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.figures import Measured
from benchmarks.routing.fleet import Fleet
from benchmarks.routing.policies import Client, Oracle, Ours, Petals, Policy
from benchmarks.routing.traffic import Session, Traffic
from benchmarks.simulation.scenario import checksum, scenario
from potluck.protocol.blocks import Span

_SERVERS, _SESSIONS, _CLIENTS = 300, 1000, 100
_MEAN_TOKENS = 256
_RAMP_S, _WARM_UP_S, _SECONDS = 30, 60, 60


@dataclass(slots=True)
class Run:
    """One policy for a few minutes, with the same clients and lengths as the others."""

    traffic: Traffic
    policy: Policy
    clients: list[Client]
    rng: np.random.Generator
    totals: list[float] = field(default_factory=list)  # tokens a second of all, for each second
    slow_shares: list[float] = field(default_factory=list)  # rate of the slowest twentieth over the mean

    def measure(self, seconds: int) -> Run:
        waiting = _SESSIONS
        for second in range(_WARM_UP_S + seconds):
            begun = min(waiting, _SESSIONS // _RAMP_S) if second < _RAMP_S - 1 else waiting
            for _ in range(begun):
                self._begin()
            waiting -= begun
            waiting += len(self.traffic.advance(1.0))
            self.policy.tick(second)
            if second >= _WARM_UP_S:
                rates = np.array([session.rate_tps for session in self.traffic.sessions])
                self.totals.append(float(rates.sum()))
                self.slow_shares.append(float(np.quantile(rates, 0.05) / rates.mean()))
        return self

    @property
    def tps(self) -> float:
        return float(np.mean(self.totals))

    def _begin(self) -> None:
        number = int(self.rng.integers(len(self.clients)))
        tokens = self.rng.exponential(_MEAN_TOKENS) + 1
        client = self.clients[number]
        self.traffic.add(Session.of(number, tokens, self.policy.route(client), client.rtts_s))


def over_oracle(soak: bool) -> Measured:
    seeds = (1, 2, 3) if soak else (1,)
    results = [_compare(seed, soak) for seed in seeds]
    mean = {name: float(np.mean([result[name] for result in results])) for name in results[0]}
    oracle = mean["oracle_tps"]
    detail = {name: round(value, 3) for name, value in mean.items()}
    shares = {name.removesuffix("_tps"): round(mean[name] / oracle, 4) for name in mean if name.endswith("_tps")}
    return Measured(
        value=mean["potluck_tps"] / oracle,
        detail={**detail, "over_oracle": shares, "seeds": list(seeds), "scenario": checksum()},
    )


def _compare(seed: int, soak: bool) -> dict[str, float]:
    fleet = Fleet.random(_SERVERS, seed)
    whole = Span(0, scenario()["model"]["num_blocks"])
    seconds = 2 * _SECONDS if soak else _SECONDS

    def run(make: type[Ours] | type[Oracle] | type[Petals], *, is_serial: bool = False, **options: bool | int) -> Run:
        traffic = Traffic(fleet, is_serial)
        rng = np.random.default_rng([seed, 2])
        policy: Policy
        if make is Oracle:
            policy = Oracle(traffic, whole)
        elif make is Petals:
            policy = Petals(fleet, whole, rng)
        else:
            policy = Ours(fleet, traffic, whole, rng, **options)  # type: ignore[arg-type]
        clients = Client.random(fleet, _CLIENTS, np.random.default_rng([seed, 1]))
        return Run(traffic, policy, clients, np.random.default_rng([seed, 3])).measure(seconds)

    oracle, ours = run(Oracle), run(Ours)
    results = {
        "oracle_tps": oracle.tps,
        "potluck_tps": ours.tps,
        "petals_tps": run(Petals, is_serial=True).tps,
        "potluck_slowest_share": float(np.mean(ours.slow_shares)),
        "oracle_slowest_share": float(np.mean(oracle.slow_shares)),
    }
    if soak:  # what each part is worth
        results |= {
            "without_quotes_tps": run(Ours, asks=False, draws=1).tps,
            "without_noise_tps": run(Ours, asks=False, draws=0).tps,
            "without_estimates_tps": run(Ours, guesses=False).tps,
            "petals_routes_batching_tps": run(Petals).tps,
            "oracle_serial_tps": run(Oracle, is_serial=True).tps,
            "potluck_serial_tps": run(Ours, is_serial=True).tps,
        }
    return results
