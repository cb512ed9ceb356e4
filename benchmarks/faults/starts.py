"""How reliably servers get online on a busy machine, and stock ones beside ours: `starts_under_load`, `stock_peers`.

Real `potluck serve` processes with real p2pd, four at a time, beside eight processes that compute all the time. The
network is flat: all have one address in a network namespace, so anybody can dial anybody. Needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from benchmarks.figures import Measured, figure
from benchmarks.setup.busy import busy_processes
from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from tests.helpers import stock_trials

_HIDDEN_SIZE, _NUM_BLOCKS = 512, 4
_ADDRESS = "10.214.8.1"
_IN_NAMESPACE = (
    *("unshare", "--net", "sh", "-c"),
    *(f'ip link set lo up && ip address add {_ADDRESS}/24 dev lo && exec "$@"', "sh"),
)
"""Runs a command in a network namespace with one address beside the loopback's."""

_NUM_BUSY, _AT_ONCE = 8, 4
_STARTS, _STARTS_IN_SOAK = 12, 52
_ONLINE_S = 120.0


@figure("starts_under_load", unit="starts", reach=0)
def under_load(soak: bool) -> Measured:
    """Of 12 starts beside eight busy processes (52 in soak): servers not online after two minutes, or behind a
    relay.
    """
    checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)
    starts = _STARTS_IN_SOAK if soak else _STARTS
    command = [*_IN_NAMESPACE, sys.executable, "-m", "benchmarks.faults.starts", str(starts)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return Measured(found["late"] + found["relayed"], found)


@figure("stock_peers", unit="cases", reach=0)
def misjudged_stock_peers(_: bool) -> Measured:
    """Mistakes of an open swarm beside stock Petals peers: reachability answered wrongly, servers given up, refusals
    retried.

    The peers are made of hivemind's own parts and do as stock Petals does; the refusals were recorded.
    """
    peers = stock_trials.beside_real_peers()
    told = [f"{name}: {told}" for name, told in peers.reached.items() if told is not stock_trials.REACHED[name]]
    given_up = [f"{prefix}: {calls} calls" for prefix, calls in peers.calls.items() if calls != 2]
    again = stock_trials.tried_again()
    detail = {"told wrongly": told, "given up": given_up, "asked again": again}
    return Measured(sum(map(len, detail.values())), detail)


def _count(starts: int) -> dict[str, object]:
    """Start servers in the present namespace, and return how that went."""
    seconds, late, relayed, problems = list[float](), 0, 0, list[str]()
    folder = checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)
    with LocalSwarm(folder, [Span(0, _NUM_BLOCKS)], host=_ADDRESS) as swarm, busy_processes(_NUM_BUSY):
        for _ in range(0, starts, _AT_ONCE):
            began = time.monotonic()
            engines = [swarm.add_engine(Span(0, _NUM_BLOCKS)) for _ in range(_AT_ONCE)]
            for engine in engines:
                try:
                    engine.wait_online(max(began + _ONLINE_S - time.monotonic(), 0.1))
                except PotluckError as error:
                    late += 1
                    problems.append(error.message)
                    continue
                seconds.append(round(engine.seconds_to("online"), 1))
                relayed += any("p2p-circuit" in address for address in engine.events["online"]["addresses"])
            _stop(engines)
    seconds.sort()
    return {
        "late": late,
        "relayed": relayed,
        "starts": starts,
        "online_s": seconds,
        "problems": problems,
        "load": round(os.getloadavg()[0], 1),
    }


def _stop(engines: list[LocalEngine]) -> None:
    for engine in engines:
        engine.ask_to_stop()
    deadline = time.monotonic() + 30.0
    for engine in engines:
        engine.wait_stopped(deadline)


if __name__ == "__main__":
    print(json.dumps(_count(int(sys.argv[1]))))
