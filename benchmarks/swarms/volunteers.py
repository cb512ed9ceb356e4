"""The volunteers that every placement policy is compared on: `scenarios/volunteers-70b.json`, used as it is."""

from __future__ import annotations

import hashlib
import json
import math
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
