"""The volunteers of a simulated swarm by `volunteers-70b.json`, which is used as it is, and when they come and go.

All of that is drawn before the swarm runs, so that every run with a seed meets the same volunteers at the same times.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_FILE = Path(__file__).with_name("volunteers-70b.json")
# Numbers that the file gives inside of formulas.
_VRAM_SHARE, _ACTIVATIONS_GB = 0.93, 2 * 8192 / 14336
_COMPUTE_SHARE, _DECODE_SHARE = 0.45, 0.6


@dataclass(frozen=True, slots=True)
class Volunteer:
    """One volunteer's machine."""

    window: int  # blocks that fit
    network_tps: float  # tokens a second that the link carries
    throughput_tps: float  # tokens a second through its window, the smaller of computing and network
    download_bps: float
    decode_tps: float  # single-token steps a second through one block
    forward_tps: float  # tokens a second through one block


@cache
def scenario() -> Any:
    return json.loads(_FILE.read_bytes())


@cache
def checksum() -> str:
    """SHA-256 of the file, told with every result."""
    return hashlib.sha256(_FILE.read_bytes()).hexdigest()


def random_volunteer(rng: np.random.Generator) -> Volunteer:
    """A machine by the scenario's shares and distributions."""
    model, host, gpus = scenario()["model"], scenario()["host"], scenario()["gpus"]
    shares = np.array([gpu["share"] for gpu in gpus])
    gpu = gpus[rng.choice(len(gpus), p=shares / shares.sum())]
    free_gb = _VRAM_SHARE * gpu["vram_gb"] - _ACTIVATIONS_GB
    window = math.floor(free_gb / (model["block_gb_4bit"] + model["kv_gb_per_block"]))
    window = min(max(window, 1), model["num_blocks"])
    upload_bps, download_bps = (_link_bps(host[name], rng) for name in ("upload_bps", "download_bps"))
    network_tps = min(upload_bps, download_bps) / (16 * model["hidden_size"])
    if rng.random() < host["relayed_share"]:
        network_tps *= host["relayed_network_factor"]
    forward_tps = _COMPUTE_SHARE * gpu["tflops"] * 1e12 / (2 * model["block_params"])
    return Volunteer(
        window=window,
        throughput_tps=min(forward_tps / ((window + 1) / 2), network_tps),
        download_bps=download_bps,
        decode_tps=_DECODE_SHARE * gpu["gb_per_s"] / model["block_gb_4bit"],
        forward_tps=forward_tps,
        network_tps=network_tps,
    )


def _link_bps(spec: Any, rng: np.random.Generator) -> float:
    drawn = spec["lognormal_median"] * math.exp(spec["sigma"] * rng.standard_normal())
    return float(min(max(drawn, spec["min"]), spec["max"]))


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
