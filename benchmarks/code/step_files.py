"""The files and classes of ours whose code runs for one decode step, from the model to the blocks and back."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import prompt, swarm_model
from benchmarks.setup.local_swarm import LocalEngine, LocalSwarm, start_python
from benchmarks.setup.models import checkpoint
from benchmarks.setup.traced import Trace
from potluck.protocol.blocks import Span

_HIDDEN, _SPANS = 512, (Span(0, 4), Span(4, 8))
_WARM_UP, _STEPS = 32, 40
_MOST_CLASSES = 24


@figure("step_files", unit="files", reach=30)
def step_files(_: bool) -> Measured:
    """Files of the product whose code runs for one decode step over two servers; their classes, at most 24, in
    `detail`.

    Traced in a client and two servers; what runs in most steps counts, so that heartbeats do not. A class counts if
    a method that it defines itself runs. Code that dataclasses and libraries generate has no file.
    """
    folder = checkpoint(_HIDDEN, 8)
    with tempfile.TemporaryDirectory() as scratch:
        number, client, servers = (Path(scratch) / name for name in ("number", "client", "servers"))
        number.write_bytes(b"\0")
        trace = Trace(number, client)
        with _traced_engines(number, servers), LocalSwarm(folder, _SPANS) as swarm:
            trace.begin()
            try:
                with swarm_model(swarm, folder) as model:
                    _decode(model, trace)
            finally:
                trace.end()
        sides = {path.name: _usual(path) for path in (client, servers)}
    found = set[tuple[str, str]]().union(*sides.values())
    files = {name: sorted({file for file, _ in calls}) for name, calls in sides.items()}
    classes = sorted({f"{file}:{each}" for file, function in found for each in _classes(function)})
    value = len({file for file, _ in found})
    return Measured(
        value, {"num_classes": len(classes), "files": files, "classes": classes}, len(classes) <= _MOST_CLASSES
    )


def _decode(model: Any, trace: Trace) -> None:
    """Take greedy steps; each one lasts until the next begins, so that what servers do after their answer counts."""
    with torch.inference_mode():
        output = model(prompt(), use_cache=True)
        for step in range(1, _WARM_UP + _STEPS + 1):
            trace.set_step(max(step - _WARM_UP, 0))
            token = output.logits[:, -1:].argmax(-1)
            output = model(token, past_key_values=output.past_key_values, use_cache=True)
        trace.set_step(0)


@contextmanager
def _traced_engines(number: Path, calls: Path) -> Iterator[None]:
    def start_traced(arguments: Sequence[str], **options: Any) -> Any:
        (flag, *rest) = arguments
        return start_python([flag, "benchmarks.setup.traced", str(number), str(calls), *rest], **options)

    with patch.object(LocalEngine, "start_python", staticmethod(start_traced)):
        yield


def _usual(calls: Path) -> set[tuple[str, str]]:
    """Return file and name of the functions that ran in most steps."""
    steps = defaultdict[tuple[str, str], set[int]](set)
    for line in calls.read_text().splitlines():
        step, file, function = json.loads(line)
        steps[file, function].add(step)
    return {call for call, seen in steps.items() if 2 * len(seen) > _STEPS}


def _classes(function: str) -> list[str]:
    """Return the classes in a function's qualified name."""
    parts = [part.rpartition(".")[0] for part in function.split(".<locals>.")]
    return [part for part in parts if part and not part.startswith("<")]
