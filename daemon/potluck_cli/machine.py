"""`potluck machine`: lists processor and GPUs, and how fast they are."""

from __future__ import annotations

import argparse

from potluck_control.formatting import part_size
from potluck_control.methods import machine
from potluck_control.methods.machine import Device, Machine

from potluck.errors import PotluckError
from potluck_cli.connect import daemon, follow
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
List the devices that can serve, with the two speeds that matter: reading weights limits decoding, multiplying matrices
limits prefill. Measuring takes some seconds and loads the machine meanwhile."""
EXAMPLES = """\
  potluck machine
  potluck machine --measure"""
RESULT = Machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measure", action="store_true", help="measure the speeds again")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    if not args.measure:
        found = client.call(machine.GET)
    else:
        found = follow(client, machine.GET, client.call(machine.MEASURE), _step, shows=not args.json)
        if found.problem:
            raise PotluckError(found.problem, hint="potluck doctor checks packages and drivers")
    rows = [_row(item) for item in found.devices]
    lines = Terminal().table(("DEVICE", "", "MEMORY", "READS", "COMPUTES"), rows)
    lines += [f"{item.name} cannot be used: {item.problem}" for item in found.devices if item.problem]
    if not found.measured_at:
        lines.append("Speeds are not measured yet: potluck machine --measure")
    return answer(args, found, lines)


def _step(found: Machine) -> str | None:
    return f"{found.step} ..." if found.progress is not None else None


def _row(device: Device) -> tuple[str, ...]:
    memory = f"{part_size(device.free_bytes, device.memory_bytes)} free"
    reads = f"{device.memory_gb_s:g} GB/s" if device.memory_gb_s else "-"
    computes = f"{device.compute_tflops:g} TFLOP/s in {device.dtype}" if device.compute_tflops else "-"
    return (device.name, device.title, memory, reads, computes)
