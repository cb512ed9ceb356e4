"""`potluck estimate`: tells what a token costs on this machine alone and through the swarm, and which to use.

Measures this machine and the way to the servers, each for some seconds; `potluck_engine.token_cost` does the sums.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from potluck_control.places import find_places
from potluck_daemon.settings.values import entry_of

from potluck.errors import UsageError
from potluck.formatting import size
from potluck.membership.membership import Membership
from potluck.protocol.records import QUANTIZATIONS
from potluck_cli.connect import with_own_daemon
from potluck_cli.durations import parse_duration
from potluck_cli.interrupts import ending_at_once
from potluck_cli.invites import add_swarm, brings_invite, known_swarms, swarm_of
from potluck_cli.options import add_max_wait, answer, model_of, positive
from potluck_cli.overview import short_id
from potluck_cli.setting_options import reader
from potluck_cli.terminal import Wait

if TYPE_CHECKING:
    from potluck_engine.token_cost import SwarmCost

    from potluck.routing.route import Route

DESCRIPTION = """\
Tell what a token of a swarm's model costs on this machine alone, where weights that do not fit into memory are read
from RAM or disk for each token, and through the swarm, where hidden states travel. Both are measured now, for some
seconds each: nothing of the model is downloaded, and the swarm computes nothing. Embeddings and the head run here
either way and are left out, and so are drafts, which help both."""
EXAMPLES = """\
  potluck estimate owner/model
  potluck estimate ./llama-70b --quantization int4 --rows 32
  potluck estimate owner/model --max-memory cpu=8GiB --folder /mnt/fast
  potluck estimate owner/model --json | jq .speedup"""


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


RESULT = Estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model that a swarm of yours serves, or your folder of it")
    add_swarm(parser)
    parser.add_argument("--rows", type=positive, default=1, metavar="N", help="texts at once (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="cpu, cuda, mps, ... (default: the fastest)")
    parser.add_argument(
        "--quantization", default="none", choices=QUANTIZATIONS, help="of the weights on this machine (default: none)"
    )
    parser.add_argument(
        "--max-memory",
        type=reader(entry_of("serve.max_memory")),
        default="",
        metavar="DEVICE=SIZE,...",
        help="such as cuda:0=10GiB,cpu=20GiB, for weights (default: what an engine would take now)",
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="on the disk that the weights would be read from (default: a cache)"
    )
    add_max_wait(parser)


def run(args: argparse.Namespace) -> int:
    membership = with_own_daemon(_swarm_with(args))
    name = model_of(args.model if Path(args.model).is_dir() else None, membership.swarm)
    max_wait_s = parse_duration(args.max_wait)
    with ending_at_once(), Wait("Measuring this machine and the swarm", 20):
        estimate = _estimate(args, membership, name, max_wait_s)
    return answer(args, estimate, _page(estimate))


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
        return swarm_of(args)  # says that there is none
    models = ", ".join(sorted({each.swarm.model for each in swarms}))
    raise UsageError(f"no swarm of yours serves {model}", hint=f"they serve {models}; `potluck join` joins others")


def _estimate(args: argparse.Namespace, membership: Membership, name: str, max_wait_s: float) -> Estimate:
    from potluck_engine.token_cost import break_even_round_trip_s

    swarm, rows = membership.swarm, args.rows
    here = _here(args, name, swarm.revision)
    route, cost = _through_swarm(membership, rows, max_wait_s)
    hops = tuple(
        EstimatedHop(
            hop.peer_id,
            hop.server.record.public_name or short_id(hop.peer_id),
            str(hop.span),
            round(each.delay_s, 5),
            round(each.transfer_s, 5),
            round(each.compute_s, 5),
        )
        for hop, each in zip(route.hops, cost.hops, strict=True)
    )
    step_s, even_s = cost.step_s, break_even_round_trip_s(here.step_s, cost)
    through = SwarmEstimate(
        hops,
        round(cost.delay_s, 5),
        round(cost.transfer_s, 5),
        round(cost.compute_s, 5),
        round(step_s, 5),
        round(rows / step_s, 3),
    )
    return Estimate(
        model=swarm.model,
        swarm=swarm.name,
        rows=rows,
        here=here,
        through_swarm=through,
        speedup=round(here.step_s / step_s, 3),
        break_even_round_trip_ms=None if even_s is None else round(1000 * even_s, 2),
        use="swarm" if step_s < here.step_s else "here",
    )


def _here(args: argparse.Namespace, name: str, revision: str) -> HereEstimate:
    """Measure this machine, and lay the model's weights out as its engine would."""
    import torch
    from potluck_engine.fitting import alone, choose_device, choose_dtype, mixture_of
    from potluck_engine.offload_probe import probe
    from potluck_engine.token_cost import offloaded_step_s

    from potluck.blocks.accelerators import limit_threads
    from potluck.checkpoint.source import open_checkpoint

    limit_threads()
    device = choose_device(args.device)
    dtype = choose_dtype("auto", device, args.quantization)
    checkpoint = open_checkpoint(name, revision=revision, progress=not args.json)
    folder = args.folder or find_places().cache
    placement = alone(checkpoint, device, dtype, args.quantization, args.max_memory, folder=folder)
    mixture = mixture_of(checkpoint, dtype, args.quantization)
    rates = probe(
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
        active_share=round(mixture.active_share(args.rows), 4),
        resident_bps=round(rates.resident_bps),
        ram_bps=round(rates.ram_bps),
        disk_bps=round(rates.disk_bps),
        processor_bps=round(rates.processor_bps),
        disk_is_real=rates.is_disk_real,
        step_s=round(step_s, 5),
        tokens_per_s=round(args.rows / step_s, 3),
    )


def _through_swarm(membership: Membership, rows: int, max_wait_s: float) -> tuple[Route, SwarmCost]:
    """Join as a client, ask servers for their present load, and return the best route. Raises SwarmError."""
    from potluck_engine.token_cost import swarm_step

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
    experts = (
        f"{size(here.ram_experts_bytes)} of experts in RAM, {here.active_share:.0%} of them computed for each step"
    )
    read = [experts] if here.ram_experts_bytes else []
    read += [
        f"{size(num_bytes)} read from {place} for each token"
        for place, num_bytes in (("RAM", here.from_ram_bytes), ("disk", here.from_disk_bytes))
        if num_bytes
    ]
    lines = [
        f"{found.model}: {size(here.weights_bytes)} of weights; texts at once: {found.rows}",
        "",
        f"Here alone:         {_pace(here.tokens_per_s, here.step_s)}",
        f"                    {', '.join([f'{held} kept on {here.device}', *read])}",
        f"Through the swarm:  {_pace(swarm.tokens_per_s, swarm.step_s)}",
        f"                    {len(swarm.route)} servers: {1000 * swarm.delay_s:.0f} ms on the way, "
        f"{1000 * swarm.transfer_s:.0f} ms of bytes, {1000 * swarm.compute_s:.0f} ms of computing",
        "",
    ]
    factor = found.speedup if found.use == "swarm" else 1 / found.speedup
    faster = {"swarm": "The swarm", "here": "This machine alone"}[found.use]
    lines.append(f"{faster} is {factor:.1f} times as fast.")
    if found.break_even_round_trip_ms is None:
        lines.append("The swarm would be slower at any distance: its servers compute for longer.")
    else:
        lines.append(f"Both cost the same at round trips of {found.break_even_round_trip_ms:.0f} ms between all.")
    if here.from_disk_bytes and not here.disk_is_real:
        lines.append(
            "The disk's rate may be that of a cache: the system does not tell, or read less than was asked for."
        )
    return lines


def _pace(tokens_per_s: float, step_s: float) -> str:
    return f"{tokens_per_s:.3g} tokens/s, {step_s:.3g} s a step"
