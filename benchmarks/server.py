"""What one server weighs: `server_processes` and `server_memory`.

This process must not load torch: pages of shared libraries would count for less in the server's share.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalEngine, LocalSwarm
from benchmarks.machine import pss_bytes
from potluck.protocol.blocks import Span

NUM_BLOCKS = 4
_SAMPLE_EVERY_S = 1.0
_MAKE = "import sys; from benchmarks.models import checkpoint; print(checkpoint(512, int(sys.argv[1])))"
_USE = "import sys; from benchmarks.client import use; use(*sys.argv[1:])"
_IMPORTS_ONLY = """
import sys, importlib
from benchmarks.server import engine_modules
for name in engine_modules():
    importlib.import_module(name)
print("ready", flush=True)
sys.stdin.read()
"""


def engine_modules() -> tuple[str, ...]:
    """What a serving engine has imported, from which everything else of it follows."""
    return (
        "potluck_cli.swarm.nodes",
        "potluck_engine.engine_process",
        "potluck.p2p.libp2p",
        "potluck.blocks.span.block_span",
        "transformers.models.llama.modeling_llama",
        "uvloop",
    )


def processes(soak: bool) -> Measured:
    folder = _checkpoint()
    with LocalSwarm(folder, [Span(0, NUM_BLOCKS)]) as swarm:
        engine = swarm.engines[0]
        _use(swarm, folder)
        names = [process.name() for process in engine.processes()]
    return Measured(len(names), {"names": names})


def memory(soak: bool) -> Measured:
    folder = _checkpoint()
    samples = 10 if soak else 3
    with LocalSwarm(folder, []) as swarm:
        imports, p2pd = _floor_of_imports(swarm), _floor_of_p2pd(swarm)
        engine = swarm.add_engine(Span(0, NUM_BLOCKS))
        engine.wait_online()
        _use(swarm, folder)
        served = [_sample(engine) for _ in range(samples)]
    weights = weight_bytes(folder)
    floor = imports + p2pd + weights
    detail = {
        "server_mib": _mib(statistics.median(served)),
        "floor_mib": _mib(floor),
        "imports_mib": _mib(imports),
        "p2pd_mib": _mib(p2pd),
        "weights_mib": _mib(weights),
    }
    return Measured(statistics.median(served) / floor, detail)


def weight_bytes(folder: Path) -> int:
    """Bytes of all blocks, from the headers of the shards."""
    total = 0
    for shard in folder.glob("*.safetensors"):
        with shard.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        spans = [entry["data_offsets"] for name, entry in header.items() if ".layers." in name]
        total += sum(end - start for start, end in spans)
    return total


def _checkpoint() -> Path:
    made = subprocess.run([sys.executable, "-c", _MAKE, str(NUM_BLOCKS)], check=True, stdout=subprocess.PIPE, text=True)
    return Path(made.stdout.splitlines()[-1])


def _use(swarm: LocalSwarm, folder: Path) -> None:
    """Generate once from another process, which is gone when this returns."""
    subprocess.run([sys.executable, "-c", _USE, swarm.swarm.name, str(folder)], check=True, env=swarm.environment())


def _floor_of_imports(swarm: LocalSwarm) -> int:
    """A process that has imported what an engine imports, and does nothing."""
    child = subprocess.Popen(
        [sys.executable, "-c", _IMPORTS_ONLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=swarm.environment()
    )
    assert child.stdout is not None
    try:
        child.stdout.readline()
        time.sleep(_SAMPLE_EVERY_S)
        return pss_bytes(child.pid)
    finally:
        child.communicate()


def _floor_of_p2pd(swarm: LocalSwarm) -> int:
    """A p2pd that listens and knows nobody."""
    from potluck.p2p.daemon_process import binary_path

    listen = f"-listen=/unix{swarm.folder}/bare.sock"
    command = [str(binary_path()), listen, "-hostAddrs=/ip4/127.0.0.1/tcp/0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        time.sleep(_SAMPLE_EVERY_S)
        return pss_bytes(child.pid)
    finally:
        child.terminate()
        child.communicate()


def _sample(engine: LocalEngine) -> int:
    time.sleep(_SAMPLE_EVERY_S)
    return sum(pss_bytes(process.pid) for process in engine.processes() if process.status() != psutil.STATUS_ZOMBIE)


def _mib(size: float) -> float:
    return round(size / 2**20, 1)
