"""Estimates what a token costs on one machine that lacks memory for the model, and through a swarm. Pure arithmetic.

Both pass the whole model once for each token. A machine of one's own reads the weights that do not fit from RAM or
disk each time; a swarm holds them all, but hidden states travel. `offload_probe` measures the machine's rates.

Source of the comparison: Petals (arXiv 2209.01188), which set its swarms against offloading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from potluck.blocks.residency import Placement
from potluck.protocol.blocks import PeerId
from potluck.routing.route import Route, Vantage
from potluck.routing.search import link_delays
from potluck.routing.servers import ServerColumns

TRUE_READS = 0.9  # of the streamed bytes; less means that some cache beyond ours answered


@dataclass(frozen=True, slots=True)
class MachineRates:
    """Bytes of weights a second that a decode step passes, computing included, by the place they come from.

    Attributes:
        read_share: bytes that the kernel read from the disk over bytes that were streamed; None: it does not tell.
        processor_bps: of weights in RAM with which the processor computes beside a device; 0: not measured.
    """

    resident_bps: float
    ram_bps: float
    disk_bps: float
    read_share: float | None = None
    processor_bps: float = 0.0

    @property
    def is_disk_real(self) -> bool:
        """Tell whether the disk's rate is known to be the disk's, not that of the system's cache."""
        return self.read_share is not None and self.read_share >= TRUE_READS


@dataclass(frozen=True, slots=True)
class HopCost:
    """What one server adds to a decode step, in seconds.

    Attributes:
        delay_s: the one-way trip to it, from the client or the server before.
        transfer_s: the bytes of all rows over its link.
        compute_s: its blocks, and what it is busy with before.
    """

    delay_s: float
    transfer_s: float
    compute_s: float


@dataclass(frozen=True, slots=True)
class SwarmCost:
    """The way of a decode step around the ring of a route; `back_s` is the one-way trip from the last server."""

    hops: tuple[HopCost, ...]
    back_s: float

    @property
    def delay_s(self) -> float:
        return sum(hop.delay_s for hop in self.hops) + self.back_s

    @property
    def transfer_s(self) -> float:
        return sum(hop.transfer_s for hop in self.hops)

    @property
    def compute_s(self) -> float:
        return sum(hop.compute_s for hop in self.hops)

    @property
    def step_s(self) -> float:
        return self.delay_s + self.transfer_s + self.compute_s


@dataclass(frozen=True, slots=True)
class Mixture:
    """The experts of a model: bytes of all of them, how many there are in a layer, and how many work for a token."""

    num_bytes: int = 0
    num_experts: int = 1
    num_chosen: int = 1

    def active_share(self, rows: int) -> float:
        """Return the share of the experts that work for some of so many rows, if all are chosen equally often."""
        return 1.0 - (1.0 - self.num_chosen / self.num_experts) ** rows

    def rows_each(self, rows: int) -> int:
        """Return for how many of the rows an expert works that works for any."""
        return max(round(rows * self.num_chosen / self.num_experts / self.active_share(rows)), 1)


def offloaded_step_s(
    placement: Placement,
    rates: MachineRates,
    mixture: Mixture = Mixture(),
    rows: int = 1,
) -> float:
    """Return the seconds of a decode step of `rows` rows through blocks of which some are streamed.

    Fetching and computing go on side by side, so the slower of both decides. The device and the processor take turns.
    """
    from_ram = placement.streamed_bytes - placement.disk_bytes
    fetch_s = placement.disk_bytes / rates.disk_bps + from_ram / rates.ram_bps
    active = mixture.active_share(rows)
    here = active * (placement.ram_experts - placement.hot_bytes)
    on_device = sum(placement.sizes) - (1.0 - active) * mixture.num_bytes - here
    compute_s = on_device / rates.resident_bps + (here / rates.processor_bps if here else 0.0)
    return max(fetch_s, compute_s)


def swarm_step(route: Route, rtts_s: Mapping[PeerId, float], rows: int) -> SwarmCost:
    """Return the cost of a decode step of `rows` rows by what the route's servers announce and measured round trips."""
    columns = ServerColumns.of(hop.server for hop in route.hops)
    delays_s = link_delays([hop.server for hop in route.hops], Vantage(rtts_s))
    hops = []
    for hop, delay_s in zip(route.hops, delays_s, strict=False):
        record, row = hop.server.record, columns.index[hop.peer_id]
        one_s = 1.0 / record.network_tps if record.network_tps > 0 else 0.0
        more_s = (rows - 1) / record.forward_tps if record.forward_tps > 0 else 0.0
        compute_s = len(hop.span) * (float(columns.block_s[row]) + more_s) + float(columns.wait_s[row]) - one_s
        hops.append(HopCost(delay_s, rows * one_s, max(compute_s, 0.0)))
    return SwarmCost(tuple(hops), delays_s[-1])


def break_even_round_trip_s(offloaded_s: float, swarm: SwarmCost) -> float | None:
    """Return the round trip between any two machines of the ring at which both ways cost the same.

    None: the swarm is slower at any distance.
    """
    left_s = offloaded_s - swarm.compute_s - swarm.transfer_s
    return 2 * left_s / (len(swarm.hops) + 1) if left_s > 0 else None
