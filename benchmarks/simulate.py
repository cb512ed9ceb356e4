"""Placement in a simulated swarm of volunteers, ours beside Petals': `python -m benchmarks.simulate`.

Prints the table and draws it into `docs/`; the figures `sim_*` measure the same runs, with the seeds of the scenario.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from potluck_cli.terminal import table

from benchmarks.figures import Measured
from benchmarks.simulation.runs import Interval, PolicyName, Summary, run_seeds
from benchmarks.simulation.scenario import checksum, scenario

_SOAK_SEEDS, _SOAK_HOURS = tuple(range(1, 21)), 48.0
_OUTAGE_H = 3.0  # of sampling before it, and as long after it
_PICTURE = Path(__file__).parents[1] / "docs" / "placement.png"
_POLICIES: tuple[PolicyName, ...] = ("petals", "potluck")
_REFERENCE = scenario()["reference_results"]["petals_balance_quality_0.75"]


def throughput_n20(soak: bool) -> Measured:
    return _throughput(20, soak)


def throughput_n100(soak: bool) -> Measured:
    return _throughput(100, soak)


def throughput_n1000(soak: bool) -> Measured:
    return _throughput(1000, soak)


def availability_n10(soak: bool) -> Measured:
    return _availability(10, soak)


def availability_n15(soak: bool) -> Measured:
    return _availability(15, soak)


def availability_n20(soak: bool) -> Measured:
    return _availability(20, soak)


def moves_n100(soak: bool) -> Measured:
    moves = Interval.of([run.moves for run in _runs(100, soak)])
    return Measured(moves.mean + (moves.half_width if soak else 0.0), _detail(moves))


def download(soak: bool) -> Measured:
    gb = Interval.of([run.download_gb for run in _runs(100, soak)])
    return Measured(gb.mean + (gb.half_width if soak else 0.0), _detail(gb))


def outage_n100(soak: bool) -> Measured:
    seeds = _SOAK_SEEDS if soak else scenario()["seeds"]["bench"]["seeds"]
    runs = run_seeds("potluck", 100, seeds, 2 * _OUTAGE_H, outages_h=(_OUTAGE_H,))
    each_s = [seconds for run in runs for seconds in run.repairs_s]
    seconds = Interval.of(each_s)
    return Measured(seconds.mean + (seconds.half_width if soak else 0.0), {**_detail(seconds), "each_s": each_s})


def _throughput(num_servers: int, soak: bool) -> Measured:
    runs = _runs(num_servers, soak)
    throughput = Interval.of([run.throughput for run in runs])
    return Measured(throughput.mean - (throughput.half_width if soak else 0.0), {**_detail(throughput), **_mean(runs)})


def _availability(num_servers: int, soak: bool) -> Measured:
    runs = _runs(num_servers, soak)
    available = Interval.of([run.availability for run in runs])
    return Measured(available.mean - (available.half_width if soak else 0.0), {**_detail(available), **_mean(runs)})


def _runs(num_servers: int, soak: bool) -> list[Summary]:
    bench = scenario()["seeds"]["bench"]
    seeds, hours = (_SOAK_SEEDS, _SOAK_HOURS) if soak else (bench["seeds"], bench["hours"])
    return run_seeds("potluck", num_servers, seeds, hours)


def _detail(interval: Interval) -> dict[str, object]:
    return {
        "mean": round(interval.mean, 4),
        "half_width_95": round(interval.half_width, 4),
        "scenario_sha256": checksum(),
    }


def _mean(runs: Sequence[Summary]) -> dict[str, float]:
    """Of everything, beside the one number that a figure is about."""
    names = ("throughput", "low_throughput", "availability", "moves", "download_gb")
    return {f"all_{name}": round(Interval.of([getattr(run, name) for run in runs]).mean, 4) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulate", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 15, 20, 50, 100], metavar="N", help="servers")
    parser.add_argument("--seeds", type=int, nargs="+", default=scenario()["seeds"]["bench"]["seeds"], metavar="SEED")
    parser.add_argument("--hours", type=float, default=scenario()["seeds"]["bench"]["hours"])
    args = parser.parse_args()
    runs = {
        (policy, size): run_seeds(policy, size, args.seeds, args.hours) for size in args.sizes for policy in _POLICIES
    }
    print(f"scenario {checksum()}, seeds {args.seeds}, {args.hours:g} h")
    header = ("SERVERS", "POLICY", "THROUGHPUT", "LOW", "AVAILABLE", "MOVES/H", "GB/H", "REFERENCE")
    print(*table(header, [_row(policy, size, found) for (policy, size), found in runs.items()]), sep="\n")
    _draw(args.sizes, runs)


def _row(policy: PolicyName, size: int, runs: Sequence[Summary]) -> tuple[str, ...]:
    mean = _mean(runs)
    reference = _REFERENCE["sim_throughput"].get(str(size)) if policy == "petals" else None
    return (
        str(size),
        policy,
        f"{mean['all_throughput']:.3f}",
        f"{mean['all_low_throughput']:.3f}",
        f"{mean['all_availability']:.4f}",
        f"{mean['all_moves']:.2f}",
        f"{mean['all_download_gb']:.1f}",
        f"{reference:g}" if reference else "",
    )


def _draw(sizes: Sequence[int], runs: dict[tuple[PolicyName, int], list[Summary]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    pictures = zip(
        figure.subplots(1, 3), (("throughput", "share"), ("moves", "1/h"), ("download_gb", "GB/h")), strict=True
    )
    titles = {"throughput": "Throughput of the thinnest block", "moves": "Moves a server", "download_gb": "Download"}
    for axes, (name, unit) in pictures:
        for policy in _POLICIES:
            values = [Interval.of([getattr(run, name) for run in runs[policy, size]]) for size in sizes]
            axes.errorbar(
                sizes,
                [value.mean for value in values],
                [value.half_width for value in values],
                marker="o",
                capsize=3,
                label=policy,
            )
        axes.set(xscale="log", xlabel="servers", ylabel=unit, title=titles[name], xticks=sizes, xticklabels=sizes)
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.legend()
    figure.savefig(_PICTURE, dpi=110)


if __name__ == "__main__":
    main()
