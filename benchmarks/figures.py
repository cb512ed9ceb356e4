"""The figures: one line each, with its unit, what must be reached, and the function that measures it.

Imports nothing heavy: the function is named as `module:function` and loaded when the figure is measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measuring function returns; `holds` False: a condition beside the number is broken, see `detail`."""

    value: float
    detail: dict[str, Any] = field(default_factory=dict)
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    unit: str
    better: Literal["lower", "higher"]
    reach: float
    function: str  # module of this package : function(soak: bool) -> Measured
    summary: str

    def measure(self, *, soak: bool) -> Measured:
        module, _, function = self.function.partition(":")
        measured = getattr(import_module(f"benchmarks.{module}"), function)(soak)
        assert isinstance(measured, Measured)
        return measured

    def is_reached(self, measured: Measured) -> bool:
        is_better = measured.value <= self.reach if self.better == "lower" else measured.value >= self.reach
        return is_better and measured.holds

    def to_json(self, measured: Measured) -> str:
        """The last line that a figure prints."""
        return json.dumps(
            {
                "figure": self.name,
                "value": round(measured.value, 4),
                "unit": self.unit,
                "better": self.better,
                "reach": self.reach,
                "ok": self.is_reached(measured),
                "detail": measured.detail,
            }
        )


FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "hop_first",
            "ms/token",
            "lower",
            1.5,
            "hops:first_hop",
            "overhead of the first hop: 8 Llama blocks of hidden 512 on one server, against the same model here",
        ),
        Figure(
            "hop_next",
            "ms/token",
            "lower",
            0.7,
            "hops:next_hop",
            "overhead of each further hop: the same blocks on four servers, against one",
        ),
        Figure(
            "decode_512",
            "ratio",
            "lower",
            1.35,
            "decode:hidden_512",
            "decode speed of the local model over that of two servers, 8 blocks of hidden 512",
        ),
        Figure(
            "decode_2048",
            "ratio",
            "lower",
            1.06,
            "decode:hidden_2048",
            "the same at hidden 2048",
        ),
        Figure(
            "batch16_2048",
            "ratio",
            "higher",
            8,
            "batching:hidden_2048",
            "16 sessions over one: tokens a CPU-second of the engine, 4 blocks of hidden 2048, bfloat16",
        ),
        Figure(
            "batch16_512",
            "ratio",
            "higher",
            4,
            "batching:hidden_512",
            "the same at hidden 512, float32",
        ),
        Figure(
            "engine_overhead",
            "%",
            "lower",
            5,
            "batching:overhead",
            "CPU time of the engine that is not its blocks', 16 sessions at hidden 2048",
        ),
        Figure(
            "decode_under_prefill",
            "ratio",
            "lower",
            3,
            "mixing:under_prefill",
            "95th percentile of a decode step while prefills of 512 tokens keep coming, over its idle median",
        ),
        Figure(
            "decode_under_backward",
            "ratio",
            "lower",
            5,
            "mixing:under_backward",
            "the same while backward passes of 8 rows of 128 tokens keep coming",
        ),
        Figure(
            "server_processes",
            "processes",
            "lower",
            2,
            "server:processes",
            "processes of one server",
        ),
        Figure(
            "server_memory",
            "ratio",
            "lower",
            1.15,
            "server:memory",
            "memory (PSS) of one server of 4 blocks of hidden 512 over the floor: imports, p2pd and weights",
        ),
        Figure(
            "start_online",
            "s",
            "lower",
            1.0,
            "start:online",
            "from imports done to ONLINE and answering",
        ),
        Figure(
            "failover_killed",
            "s",
            "lower",
            2.0,
            "failover:killed",
            "longest wait for a token when a replica is killed in mid-generation; the tokens must be the same",
        ),
        Figure(
            "failover_frozen",
            "s",
            "lower",
            5.0,
            "failover:frozen",
            "the same when the replica is frozen",
        ),
        Figure(
            "load_peak",
            "ratio",
            "lower",
            1.1,
            "loading:peak",
            "peak memory while a span is loaded and run once, over the span's bytes",
        ),
        Figure(
            "yield_push_announce",
            "s",
            "lower",
            0.3,
            "yielding:push_announce",
            "GameMode or a listed program starts: time until another node sees that the server left",
        ),
        Figure(
            "yield_push_free",
            "s",
            "lower",
            1.0,
            "yielding:push_free",
            "the same until the memory is free; a generation that runs there must end elsewhere with the same tokens",
        ),
        Figure(
            "yield_scan_free",
            "s",
            "lower",
            2.0,
            "yielding:scan_free",
            "Steam starts a game, which is found by looking: time until the memory is free, generations unharmed",
        ),
        Figure(
            "yield_likely_free",
            "s",
            "lower",
            3.5,
            "yielding:likely_free",
            "a busy full-screen window appears: time until the memory is free, generations unharmed",
        ),
        Figure(
            "paused_cpu",
            "%",
            "lower",
            0.2,
            "paused:cpu",
            "share of a core that a paused daemon takes",
        ),
        Figure(
            "paused_memory",
            "MB",
            "lower",
            45,
            "paused:memory",
            "memory (PSS) of a paused daemon that has served before",
        ),
        Figure(
            "paused_wakeups",
            "wakes/s",
            "lower",
            2,
            "paused:wakeups",
            "how often a paused daemon wakes up",
        ),
        Figure(
            "missed_games",
            "games",
            "lower",
            0,
            "games:missed",
            "games that are not noticed, or not their end: 20 ways to start one, each before the real probes",
        ),
        Figure(
            "false_yields",
            "yields",
            "lower",
            0,
            "games:false_yields",
            "a day without a game: films, browsers, compositors, launchers, shaders being compiled, screen savers",
        ),
        Figure(
            "return_time",
            "s",
            "lower",
            5,
            "returning:over_quiet_time",
            "from the end of a game to serving again, over the quiet time; the engine offloaded, and ended",
        ),
        Figure(
            "probe_cpu",
            "%",
            "lower",
            1,
            "probing:cpu",
            "share of a core that the daemon takes while it serves with all probes on",
        ),
        Figure(
            "simulated_month",
            "violations",
            "lower",
            0,
            "simulated_month:violations",
            "a seeded month of events through the policy: broken promises, by rules written independently of it",
        ),
        Figure(
            "control_p99",
            "ms",
            "lower",
            20,
            "control:p99",
            "99th percentile of a status call while 20 clients call",
        ),
        Figure(
            "control_hostile",
            "requests",
            "lower",
            0,
            "hostile:let_in",
            "requests let in: of web pages, other users, wrong hosts, huge bodies, slow ones, malformed ones",
        ),
        Figure(
            "app_start",
            "s",
            "lower",
            0.6,
            "app:start",
            "from the start of the app's process to its icon in the tray",
        ),
        Figure(
            "app_memory",
            "MB",
            "lower",
            110,
            "app:memory",
            "memory (PSS) of the app once every page of its window was opened",
        ),
        Figure(
            "app_cpu",
            "%",
            "lower",
            1.0,
            "app:cpu_shown",
            "share of a core that the app takes with its window open while somebody is served",
        ),
        Figure(
            "app_cpu_hidden",
            "%",
            "lower",
            0.1,
            "app:cpu_hidden",
            "the same in the tray, without a window",
        ),
        Figure(
            "kills_200",
            "faults",
            "lower",
            0,
            "kills:faults",
            "200 random kills of daemon, engine, p2pd, app and commands (20 unless --soak): orphans, stuck states, "
            "corrupt files",
        ),
        Figure(
            "unit_exposure",
            "points",
            "lower",
            2.0,
            "exposure:of_the_system_unit",
            "what systemd-analyze security says of the system service, from 0 to 10",
        ),
        Figure(
            "tp_speed",
            "ratio",
            "higher",
            1.6,
            "parallel:speed",
            "speed of two ranks over one process: prefill of 512 tokens, hidden 2048, one thread each",
        ),
        Figure(
            "format_int8_memory",
            "ratio",
            "lower",
            0.52,
            "formats:int8_memory",
            "bytes of blocks of hidden 2048 in int8 over bfloat16",
        ),
        Figure(
            "format_int4_memory",
            "ratio",
            "lower",
            0.33,
            "formats:int4_memory",
            "the same in int4",
        ),
        Figure(
            "format_int8_speed",
            "ratio",
            "higher",
            1.0,
            "formats:int8_speed",
            "decode speed of one row in int8 over bfloat16, hidden 2048",
        ),
        Figure(
            "format_int4_speed",
            "ratio",
            "higher",
            1.0,
            "formats:int4_speed",
            "the same in int4",
        ),
        Figure(
            "format_int4_prefill",
            "ratio",
            "higher",
            0.4,
            "formats:int4_prefill",
            "speed of a prefill of 256 tokens in int4 over bfloat16, hidden 2048",
        ),
        Figure(
            "format_peak",
            "blocks",
            "lower",
            1.5,
            "formats:peak",
            "memory beside the result while a span is loaded in int4, in blocks of bfloat16",
        ),
        Figure(
            "ragged_long_row",
            "ratio",
            "lower",
            1.5,
            "kv_memory:long_row",
            "a step of eight rows of 256 tokens and one of 4000 over one of nine rows of 256",
        ),
        Figure(
            "cache_sessions",
            "ratio",
            "higher",
            4,
            "kv_memory:sessions",
            "sessions of 16 to 2048 tokens admitted over those whose ceiling of 2048 fits; 4.9 is the limit",
        ),
        Figure(
            "stream_share",
            "ratio",
            "higher",
            0.9,
            "streaming:share",
            "speed of blocks four times what may be kept, streamed from mapped files, over resident ones; large batch",
        ),
        Figure(
            "stream_accelerate_1",
            "ratio",
            "higher",
            3.0,
            "streaming:accelerate_1",
            "tokens a second of streamed blocks over Accelerate's disk_offload, one row",
        ),
        Figure(
            "stream_accelerate_32",
            "ratio",
            "higher",
            1.5,
            "streaming:accelerate_32",
            "the same with 32 rows",
        ),
        Figure(
            "offload_free",
            "s/GB",
            "lower",
            0.05,
            "offloading:free",
            "time to give one GB of weights back",
        ),
        Figure(
            "offload_kv",
            "ratio",
            "higher",
            0.8,
            "offloading:kv_out",
            "keys and values out of their pages: share of memcpy's speed",
        ),
        Figure(
            "restore",
            "ratio",
            "higher",
            0.8,
            "offloading:restore",
            "weights, warm, and keys and values back: share of memcpy's speed",
        ),
        Figure(
            "route_n10000",
            "ms",
            "lower",
            10,
            "routing.search_time:ten_thousand",
            "99th percentile of one route through 10,000 servers: a dozen noisy routes at once, CPU time",
        ),
        Figure(
            "self_organise",
            "s",
            "lower",
            30.0,
            "organising:organise",
            "six engines without orders, a model of 24 blocks, loopback: from an empty start to full coverage",
        ),
        Figure(
            "self_heal",
            "s",
            "lower",
            15.0,
            "organising:heal",
            "two of six engines killed while four clients generate: longest time a block is served by nobody",
        ),
        Figure(
            "sim_routing",
            "share",
            "higher",
            0.97,
            "routing.throughput:over_oracle",
            "1000 simulated decode sessions on 300 servers, heartbeats up to 30 s old: throughput over an oracle",
        ),
        Figure(
            "state_n10000",
            "KB/s",
            "lower",
            3,
            "directory:state_10000",
            "10,000 servers that come, go and change: what a client fetches after the first reading of at most 2 MB",
        ),
        Figure(
            "refresh_n10",
            "KB",
            "lower",
            5,
            "directory:refresh_10",
            "one reading of the directory, 15 s after the one before, both directions, 10 servers",
        ),
        Figure("refresh_n100", "KB", "lower", 30, "directory:refresh_100", "the same with 100 servers"),
        Figure("refresh_n1000", "KB", "lower", 60, "directory:refresh_1000", "the same with 1000 servers"),
        Figure(
            "refresh_nodes",
            "ms",
            "lower",
            100,
            "directory_nodes:refresh_nodes",
            "one reading of the directory of 50 real nodes on loopback, while they beat",
        ),
        Figure(
            "ledger_kills",
            "microcredits",
            "lower",
            0,
            "earnings.books:kills",
            "kill -9 in the middle of 500 writes to outbox and ledger: credit that is lost or doubled",
        ),
        Figure(
            "ledger_rate",
            "receipts/s",
            "higher",
            2000,
            "earnings.books:rate",
            "receipts verified and booked on one core, 50 a transaction",
        ),
        Figure(
            "receipt_fuzz",
            "receipts",
            "lower",
            0,
            "earnings.fuzz:fuzz",
            "100,000 mutated, replayed and forged receipts: taken wrongly, or accounts that are not zero together",
        ),
        Figure(
            "sybil_gain",
            "ratio",
            "lower",
            1.05,
            "earnings.sybils:gain",
            "share of a full queue of 100 identities of one machine that deal with each other, over one identity's",
        ),
        Figure(
            "receipt_overhead",
            "ratio",
            "lower",
            1.01,
            "earnings.overhead:decode_512",
            "CPU time of client and engine for a decoded token, with receipts over without, 8 blocks of hidden 512",
        ),
    )
}
