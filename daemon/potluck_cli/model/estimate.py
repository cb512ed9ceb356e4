"""Compares this machine alone with the swarm: `potluck estimate`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from potluck_control.places import find_places
from potluck_daemon.settings.values import entry_of

from potluck.errors import UsageError
from potluck.formatting import count, rounded, size
from potluck.membership.membership import Membership
from potluck.protocol.records import QUANTIZATIONS
from potluck_cli.daemon_access import with_own_daemon
from potluck_cli.options import add_max_wait, model_of, parse_duration, positive, print_result, setting_reader
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm.overview import short_id
from potluck_cli.swarm_choice import add_swarm, brings_invite, known_swarms, swarm_of
from potluck_cli.terminal import WaitNotice, ending_at_once

if TYPE_CHECKING:
    from potluck_engine.weights.offloading import SwarmCost

    from potluck.routing.route import Route


@dataclass(frozen=True, slots=True)
class HereEstimate:
    """This machine alone; `disk_is_real`: the kernel confirms that the rate is the disk's, not its cache's.

    Rates are bytes of weights a second that a step passes, computing included; it passes `active_share` of all experts.
    """

    device: str
    weights_bytes: int
    memory_bytes: int
    from_ram_bytes: int
    from_disk_bytes: int
    ram_experts_bytes: int
    active_share: float
    resident_bps: float
    ram_bps: float
    disk_bps: float
    processor_bps: float
    disk_is_real: bool
    step_s: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class EstimatedHop:
    """A server of the route, with its blocks as START:END; `delay_s`: one way from the one before."""

    peer_id: str
    name: str
    blocks: str
    delay_s: float
    transfer_s: float
    compute_s: float


@dataclass(frozen=True, slots=True)
class SwarmEstimate:
    """The swarm's best route for a step of all rows, around the ring of its servers and back."""

    route: tuple[EstimatedHop, ...]
    delay_s: float
    transfer_s: float
    compute_s: float
    step_s: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A token's cost; `use`: here or swarm; `speedup`: of the swarm; `break_even_round_trip_ms`: null if never."""

    model: str
    swarm: str
    rows: int
    here: HereEstimate
    through_swarm: SwarmEstimate
    speedup: float
    break_even_round_trip_ms: float | None
    use: str


def estimate(args: argparse.Namespace) -> int:
    """Tell what a token costs here and through the swarm.

    Tell what a token of a swarm's model costs on this machine alone, where weights that do not fit into memory are
    read from RAM or disk for each token, and through the swarm, where hidden states travel. Both are measured now,
    for some seconds each: nothing of the model is downloaded, and the swarm computes nothing. Embeddings and the
    head run here either way and are left out, and so are drafts, which help both.

      potluck estimate owner/model
      potluck estimate ./llama-70b --quantization int4 --rows 32
      potluck estimate owner/model --max-memory cpu=8GiB --folder /mnt/fast
      potluck estimate owner/model --json | jq .speedup
    """
    membership = with_own_daemon(_swarm_with(args))
    name = model_of(args.model if Path(args.model).is_dir() else None, membership.swarm)
    max_wait_s = parse_duration(args.max_wait)
    with ending_at_once(), WaitNotice("Measuring this machine and the swarm", 20):
        estimate = _estimate(args, membership, name, max_wait_s)
    return print_result(args, estimate, _page)


def _swarm_with(args: argparse.Namespace) -> Membership:
    """Return the swarm that serves the model. Raises UsageError."""
    model = Path(args.model).resolve().name if Path(args.model).is_dir() else args.model
    if args.swarm is not None or brings_invite(args):
        membership = swarm_of(args)
        if membership.swarm.model != model:
            raise UsageError(f"{membership.swarm.name} serves {membership.swarm.model}, not {model}")
        return membership
    swarms = known_swarms().load().values()
    found = [each for each in swarms if each.swarm.model == model]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(each.swarm.name for each in found)
        raise UsageError(f"several swarms of yours serve {model}: {names}", hint="choose one with --swarm")
    if not swarms:
        return swarm_of(args)  # raises the error that there is none
    models = ", ".join(sorted({each.swarm.model for each in swarms}))
    raise UsageError(f"no swarm of yours serves {model}", hint=f"they serve {models}; `potluck join` joins others")


def _estimate(args: argparse.Namespace, membership: Membership, name: str, max_wait_s: float) -> Estimate:
    from potluck_engine.weights.offloading import break_even_round_trip_s

    here = _here(args, name, membership.swarm.revision)
    route, cost = _through_swarm(membership, args.rows, max_wait_s)
    even_s = break_even_round_trip_s(here.step_s, cost)
    names = [hop.server.record.public_name or short_id(hop.peer_id) for hop in route.hops]
    hops = tuple(
        EstimatedHop(hop.peer_id, name, str(hop.span), each.delay_s, each.transfer_s, each.compute_s)
        for hop, name, each in zip(route.hops, names, cost.hops, strict=True)
    )
    return Estimate(
        model=membership.swarm.model,
        swarm=membership.swarm.name,
        rows=args.rows,
        here=here,
        through_swarm=SwarmEstimate(
            hops, cost.delay_s, cost.transfer_s, cost.compute_s, cost.step_s, args.rows / cost.step_s
        ),
        speedup=here.step_s / cost.step_s,
        break_even_round_trip_ms=None if even_s is None else 1000 * even_s,
        use="swarm" if cost.step_s < here.step_s else "here",
    )


def _here(args: argparse.Namespace, name: str, revision: str) -> HereEstimate:
    """Measure this machine, and lay the model's weights out as its engine would."""
    import torch
    from potluck_engine.weights.fitting import choose_device, choose_dtype, mixture_of, placement_alone
    from potluck_engine.weights.offloading import measure_offloading, offloaded_step_s

    from potluck.blocks.accelerators import limit_threads
    from potluck.checkpoint.source import open_checkpoint

    limit_threads()
    device = choose_device(args.device)
    dtype = choose_dtype("auto", device, args.quantization)
    checkpoint = open_checkpoint(name, revision=revision, progress=not args.json)
    folder = args.folder or find_places().cache
    placement = placement_alone(checkpoint, device, dtype, args.quantization, args.max_memory, folder=folder)
    mixture = mixture_of(checkpoint, dtype, args.quantization)
    rates = measure_offloading(
        folder,
        device=device,
        dtype=getattr(torch, dtype),
        quantization=args.quantization,
        rows=args.rows,
        expert_rows=mixture.rows_each(args.rows) if placement.split else 0,
    )
    step_s = offloaded_step_s(placement, rates, mixture, args.rows)
    return HereEstimate(
        device=device,
        weights_bytes=sum(placement.sizes),
        memory_bytes=placement.device_bytes,
        from_ram_bytes=placement.streamed_bytes - placement.disk_bytes,
        from_disk_bytes=placement.disk_bytes,
        ram_experts_bytes=placement.ram_experts,
        active_share=mixture.active_share(args.rows),
        resident_bps=rates.resident_bps,
        ram_bps=rates.ram_bps,
        disk_bps=rates.disk_bps,
        processor_bps=rates.processor_bps,
        disk_is_real=rates.is_disk_real,
        step_s=step_s,
        tokens_per_s=args.rows / step_s,
    )


def _through_swarm(membership: Membership, rows: int, max_wait_s: float) -> tuple[Route, SwarmCost]:
    """Join as a client, ask servers for their present load, and return the best route. Raises SwarmError."""
    from potluck_engine.weights.offloading import swarm_step

    from potluck.client import ClientConfig
    from potluck.client.servers import RouteRequest
    from potluck.client.swarm_client import SwarmClient
    from potluck.protocol.blocks import Span
    from potluck.routing.route import Needs

    client = SwarmClient(membership, ClientConfig(max_wait_s=max_wait_s))
    try:
        client.start()
        whole = Span(0, membership.swarm.num_blocks)
        route = client.run(client.servers.compare_routes(whole, Needs(), RouteRequest(rows, 1, may_stay=True)))
        return route, swarm_step(route, client.servers.round_trips_s, rows)
    finally:
        client.close()


def _page(found: Estimate) -> list[str]:
    here, swarm = found.here, found.through_swarm
    held = size(here.weights_bytes - here.from_ram_bytes - here.from_disk_bytes - here.ram_experts_bytes)
    parts = [f"{held} kept on {here.device}"]
    if here.ram_experts_bytes:
        computed = f"{here.active_share:.0%} of them computed for each step"
        parts.append(f"{size(here.ram_experts_bytes)} of experts in RAM, {computed}")
    for place, num_bytes in (("RAM", here.from_ram_bytes), ("disk", here.from_disk_bytes)):
        if num_bytes:
            parts.append(f"{size(num_bytes)} read from {place} for each token")
    factor = found.speedup if found.use == "swarm" else 1 / found.speedup
    even = f"Both cost the same at round trips of {found.break_even_round_trip_ms or 0:.0f} ms between all."
    if found.break_even_round_trip_ms is None:
        even = "The swarm would be slower at any distance: its servers compute for longer."
    doubt = "The disk's rate may be that of a cache: the system does not tell, or read less than was asked for."
    return [
        f"{found.model}: {size(here.weights_bytes)} of weights; texts at once: {found.rows}",
        "",
        f"Here alone:         {_pace(here.tokens_per_s, here.step_s)}",
        f"                    {', '.join(parts)}",
        f"Through the swarm:  {_pace(swarm.tokens_per_s, swarm.step_s)}",
        f"                    {count(len(swarm.route), 'server')}: {rounded(1000 * swarm.delay_s)} ms on the way, "
        f"{rounded(1000 * swarm.transfer_s)} ms to send the bytes, {rounded(1000 * swarm.compute_s)} ms to compute",
        "",
        f"{'The swarm' if found.use == 'swarm' else 'This machine alone'} is {factor:.1f} times as fast.",
        even,
        *([doubt] if here.from_disk_bytes and not here.disk_is_real else []),
    ]


def _pace(tokens_per_s: float, step_s: float) -> str:
    return f"{rounded(tokens_per_s)} tokens/s, {rounded(1000 * step_s)} ms a step"


COMMANDS = {
    "estimate": Subcommand(
        estimate,
        Estimate,
        argument("model", metavar="MODEL", help="a model that a swarm of yours serves, or your folder of it"),
        add_swarm,
        argument("--rows", type=positive, default=1, metavar="N", help="texts at once (default: %(default)s)"),
        argument("--device", default="auto", help="cpu, cuda, mps, ... (default: the fastest)"),
        argument(
            "--quantization",
            default="none",
            choices=QUANTIZATIONS,
            help="of the weights on this machine (default: none)",
        ),
        argument(
            "--max-memory",
            type=setting_reader(entry_of("serve.max_memory")),
            default="",
            metavar="DEVICE=SIZE,...",
            help="such as cuda:0=10GiB,cpu=20GiB, for weights (default: what an engine would take now)",
        ),
        argument(
            "--folder",
            type=Path,
            metavar="DIR",
            help="on the disk that the weights would be read from (default: a cache)",
        ),
        add_max_wait,
    ),
}
