"""`potluck machine`: processor and GPUs, and how fast they are."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_control.formatting import size
from potluck_control.methods import machine
from potluck_control.methods.machine import Device, Machine

from potluck.errors import PotluckError
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Style, Terminal, table

DESCRIPTION = """\
The devices that can serve, with the speeds that matter: how fast weights are read (decoding hangs on that) and how fast
matrices are multiplied (prefill does). Measuring takes some seconds and loads the machine meanwhile."""
EXAMPLES = """\
  potluck machine
  potluck machine --measure"""
RESULT = Machine

_POLL_S = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measure", action="store_true", help="measure the speeds anew")
    add_json(parser, "the devices")


def run(args: argparse.Namespace) -> int:
    client, terminal, shown = daemon(), Terminal(sys.stdout), ""
    found = client.call(machine.MEASURE if args.measure else machine.GET)
    while args.measure and found.progress is not None:
        if terminal.is_interactive and not args.json and found.step != shown:
            shown = found.step
            terminal.line(terminal.styled(f"{shown} ...", Style.FAINT))
        time.sleep(_POLL_S)
        found = client.call(machine.GET)
    if args.measure and found.problem:
        raise PotluckError(found.problem, hint="potluck doctor looks at packages and drivers")
    if args.json:
        print_json(found)
        return 0
    heading, *lines = table(("DEVICE", "", "MEMORY", "READS", "COMPUTES"), [_row(item) for item in found.devices])
    terminal.line(terminal.styled(heading, Style.BOLD))
    for line in lines:
        terminal.line(line)
    for device in found.devices:
        if device.problem:
            terminal.line(f"{device.name} cannot be used: {device.problem}")
    if not found.measured_at:
        terminal.line("Speeds are not measured yet: potluck machine --measure")
    return 0


def _row(device: Device) -> tuple[str, ...]:
    memory = f"{size(device.free_bytes)} of {size(device.memory_bytes)} free"
    reads = f"{device.memory_gb_s:g} GB/s" if device.memory_gb_s else "-"
    computes = f"{device.compute_tflops:g} TFLOP/s in {device.dtype}" if device.compute_tflops else "-"
    return (device.name, device.title, memory, reads, computes)
