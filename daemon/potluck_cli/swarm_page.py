"""Draws a swarm as a web page: one HTML file without scripts that loads nothing.

Names and numbers come from peers. Each passes through `_said`, which drops what is not printable, cuts what is long and
escapes the rest, or through `_number`, and the page forbids the browser to run or load anything. Layers are counted
from 1. Pure: knows neither files nor the network.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from potluck_control.methods.members import SeenServer

from potluck.formatting import rounded
from potluck_cli.overview import SwarmOverview, short_id
from potluck_cli.page_history import HOUR_S, HOURS, Hour

MARK = b"<!doctype html><!-- the page of a Potluck swarm -->"  # how a page is known again
REFRESH_S = 60
_MOST_SERVERS = 1000  # rows of the table
_ROWS = 50  # of a part of the table
_MOST_COLUMNS = 256  # of a chart; more layers share columns
_MOST_RANGES = 8
_MOST_LETTERS = 32  # of a name

_STYLE = """
:root{color-scheme:light dark;--window:#f7f6f3;--card:#fff;--text:#1d2321;--muted:#5a6562;--line:#e0ddd6;--bar:#0b6e63;
--good:#0b7a55;--warn:#8a5300;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--window:#171b1a;--card:#202625;--text:#edf1ef;--muted:#a3afab;--line:#323b38;
--bar:#4cc2b0;--good:#5fd39f;--warn:#f0b35b;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--window);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem;display:grid;gap:1rem;grid-template-columns:minmax(0,1fr)}
h1{font-size:1.75rem;line-height:1.2;margin:0}h2{font-size:1.1rem;margin:0 0 .5rem}p{margin:.25rem 0}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:1rem}
.muted,footer{color:var(--muted)}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
.big{font-size:1.25rem;font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem;margin:0}
dt{color:var(--muted);font-size:.9rem}dd{margin:0;font-size:1.35rem;font-weight:600}
figure{margin:.75rem 0 0}figcaption,.ends{color:var(--muted);font-size:.85rem}
.ends{display:flex;justify-content:space-between}
.chart{display:block;width:100%;height:5rem;border-bottom:1px solid var(--line);fill:var(--bar)}
.chart .bad{fill:var(--bad)}.chart .thin{fill:var(--warn)}.chart .none{fill:var(--line)}
.key{display:inline-block;width:.7em;height:.7em;border-radius:2px;background:var(--bar);margin:0 .3em 0 0}
.key.thin{background:var(--warn)}.key.bad{background:var(--bad)}.key.none{background:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:0 1rem;font-size:.85rem;color:var(--muted);list-style:none;margin:.5rem 0 0;
padding:0}
ul{margin:.25rem 0;padding-left:1.2rem}
.part{content-visibility:auto;contain-intrinsic-size:auto 100rem}
table{border-collapse:collapse;table-layout:fixed;width:100%;font-variant-numeric:tabular-nums}
th{text-align:left;font-weight:600;font-size:.85rem;color:var(--muted)}
th,td{padding:.3rem .5rem;border-bottom:1px solid var(--line);vertical-align:middle}
td:nth-child(n+5),th:nth-child(n+5){text-align:right}
th:nth-child(1){width:25%}th:nth-child(3){width:24%}th:nth-child(7){width:12%}
td svg{display:block;width:100%;height:.6rem;background:var(--line);border-radius:3px;fill:var(--bar)}
@media(max-width:56rem){td:nth-child(7),th:nth-child(7){display:none}}
@media(max-width:40rem){td:nth-child(3),th:nth-child(3),td:nth-child(6),th:nth-child(6){display:none}
th,td{padding:.3rem .25rem}th:nth-child(1){width:40%}}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Readers:
    """Says who may read the page, and whether it shows the names that servers gave themselves for the swarm to see."""

    is_public: bool = False
    names: bool = True


@dataclass(frozen=True, slots=True)
class SwarmReading:
    """The swarm as read at `at` (Unix seconds), and earlier hours. `problem`: why there is no newer reading."""

    swarm: SwarmOverview
    at: float
    hours: tuple[Hour, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    """One bar of a chart. `value` None: not known."""

    value: float | None
    style: str
    title: str


def draw(reading: SwarmReading, readers: Readers, *, refreshes: bool = False) -> bytes:
    """Return the page as UTF-8. With `refreshes` the browser loads it again every `REFRESH_S`."""
    swarm = reading.swarm
    online = [server for server in swarm.servers if server.state == "online"]
    robots = "" if readers.is_public else '<meta name="robots" content="noindex">'
    refresh = f'<meta http-equiv="refresh" content="{REFRESH_S}">' if refreshes else ""
    parts = [
        MARK.decode(),
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">',
        f'{robots}{refresh}<link rel="icon" href="data:,"><title>{_said(swarm.name)} · Potluck</title>',
        f"<style>{_STYLE}</style></head><body><main>",
        *_header(reading, online),
        *_coverage(swarm),
        *_help(swarm, online),
        *_week(reading),
        *_servers(swarm, readers),
        _footer(reading, readers),
        "</main></body></html>\n",
    ]
    return "\n".join(part for part in parts if part).encode()


def draw_waiting(name: str, problem: str) -> bytes:
    """Return the page of a swarm that could not be read so far."""
    refresh = f'<meta http-equiv="refresh" content="{REFRESH_S // 6}">'
    said = f'<p class="warn">{_said(problem, 300)}</p>' if problem else "<p>The swarm is being read…</p>"
    return "\n".join(
        (
            f'{MARK.decode()}<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f'<meta name="viewport" content="width=device-width">{refresh}<meta name="robots" content="noindex">',
            f'<link rel="icon" href="data:,"><title>{_said(name)} · Potluck</title><style>{_STYLE}</style></head>',
            f"<body><main><h1>{_said(name)}</h1><section>{said}</section></main></body></html>\n",
        )
    ).encode()


def _header(reading: SwarmReading, online: Sequence[SeenServer]) -> list[str]:
    swarm = reading.swarm
    missing = len(swarm.gaps)
    if missing:
        state = f'<p class="big bad">The model cannot run: nobody serves {missing} of {swarm.num_blocks} layers.</p>'
    else:
        state = f'<p class="big good">The model runs: all {swarm.num_blocks} layers are online.</p>'
    seen = swarm.outlook
    figures = [
        ("Servers online", str(len(online))),
        ("Layers served", f"{swarm.num_blocks - missing} of {swarm.num_blocks}"),
        ("Speed for everybody together", _rate(0.0 if seen is None else seen.tokens_per_s)),
        ("Servers joining", str(sum(server.state == "joining" for server in swarm.servers))),
    ]
    problem = f'<p class="warn">No newer reading: {_said(reading.problem, 300)}</p>' if reading.problem else ""
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    model = f"<bdi>{_said(swarm.model, 100)}</bdi>, {swarm.num_blocks} layers"
    return [
        f'<header><h1>{_said(swarm.name)}</h1><p class="muted">{model}</p>{state}{problem}</header>',
        f"<section><dl>{cells}</dl></section>",
    ]


def _coverage(swarm: SwarmOverview) -> list[str]:
    counts, most = swarm.replicas, max(swarm.replicas, default=0)
    width = min(len(counts), _MOST_COLUMNS)
    columns = []
    for place in range(width):
        start, end = place * len(counts) // width, (place + 1) * len(counts) // width
        count = min(counts[start:end])
        style = "bad" if count == 0 else "thin" if count == 1 else ""
        said = f"Layer {_span(start, end)}: {_servers_of(count)}" if count else f"Layer {_span(start, end)}: nobody"
        columns.append(_Column(float(count or max(most, 1)), style, said))
    legend = (("", "two servers or more"), ("thin", "one server"), ("bad", "nobody"))
    return [
        "<section><h2>Who serves each layer</h2>",
        *_chart(columns, f"up to {_servers_of(most)} a layer", ("layer 1", f"layer {len(counts)}")),
        f'<ul class="legend">{"".join(_legend_entry(*entry) for entry in legend)}</ul></section>',
    ]


def _help(swarm: SwarmOverview, online: Sequence[SeenServer]) -> list[str]:
    """Say what is missing, what is at risk, what limits the speed, and what one more GPU would bring."""
    said = []
    thin = [block for block, count in enumerate(swarm.replicas) if count == 1]
    if swarm.gaps:
        said.append(f"Nobody serves {_layers(swarm.gaps)}. The model runs when somebody does.")
    if thin:
        said.append(f"If one server leaves, the model can lose {_layers(thin)}: nobody else has them.")
    seen = swarm.outlook
    if seen is None:
        said.append("Nobody serves this model yet. The first server decides where it begins.")
    else:
        limits = sorted({block for start, end in seen.bottlenecks for block in range(start, end)})
        if 0 < len(limits) < swarm.num_blocks and not swarm.gaps:
            said.append(f"The speed is limited by {_layers(limits)}.")
        start, end = seen.one_more_span
        brings = f"One more GPU like those here would serve {_layers(range(start, end))}"
        if seen.one_more_tokens_per_s > seen.tokens_per_s * 1.005:
            before = f" instead of {_rate(seen.tokens_per_s)}" if seen.tokens_per_s > 0 else ""
            brings += f" and bring {_rate(seen.one_more_tokens_per_s)}{before}"
        elif swarm.gaps:
            brings += ". More layers would still be missing"
        else:
            brings += " as a spare. It would not raise the speed"
        said.append(f"{brings}.")
    return ["<section><h2>What would help</h2><ul>", *(f"<li>{line}</li>" for line in said), "</ul></section>"]


def _week(reading: SwarmReading) -> list[str]:
    end = int(reading.at) // HOUR_S * HOUR_S
    first = end - (HOURS - 1) * HOUR_S
    hours = {hour.start: hour for hour in reading.hours if first <= hour.start <= end}
    if not hours:
        return []
    readings = sum(hour.readings for hour in hours.values())
    complete = sum(hour.complete for hour in hours.values())
    share = math.floor(100 * complete / readings)
    slots = range(first, end + 1, HOUR_S)
    servers = [_hour_column(start, hours.get(start), is_speed=False) for start in slots]
    speeds = [_hour_column(start, hours.get(start), is_speed=True) for start in slots]
    ends = (_day(first), _day(end))
    legend = (("", "all layers online"), ("bad", "a layer was missing"), ("none", "not watched"))
    return [
        "<section><h2>The last seven days</h2>",
        f"<p>All layers were online in {share} % of {_count(readings, 'reading')}, "
        f"in {_count(len(hours), 'hour')} of the week.</p>",
        *_chart(servers, f"servers online, up to {_number(_top(servers))}", ends),
        *_chart(speeds, f"speed, up to {_rate(_top(speeds))}", ends),
        f'<ul class="legend">{"".join(_legend_entry(*entry) for entry in legend)}</ul></section>',
    ]


def _hour_column(start: int, hour: Hour | None, *, is_speed: bool) -> _Column:
    when = time.strftime("%a %H:00 UTC", time.gmtime(start))
    if hour is None:
        return _Column(None, "none", f"{when}: not watched")
    value = hour.mean_tokens_per_s if is_speed else hour.mean_servers
    said = _rate(value) if is_speed else f"{_number(value)} servers"
    return _Column(value, "" if hour.complete == hour.readings else "bad", f"{when}: {said}")


def _servers(swarm: SwarmOverview, readers: Readers) -> list[str]:
    shown = sorted(swarm.servers, key=lambda server: server.state != "online")[:_MOST_SERVERS]
    shown.sort(key=lambda server: (server.start, server.end))
    more = len(swarm.servers) - len(shown)
    if not shown:
        return []
    rows = [_server(server, swarm.num_blocks, readers) for server in shown]
    return [
        "<section><h2>Servers</h2>",
        *(_table(rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS)),
        f'<p class="muted">and {_count(more, "server")} more</p></section>' if more > 0 else "</section>",
    ]


def _table(rows: Sequence[str]) -> str:
    """Return a part of the table with its own head. The browser lays out those that are scrolled to."""
    heads = "".join(f"<th>{head}" for head in ("Server", "Layers", "", "State", "Tokens/s", "Step, ms", "Format"))
    body = "\n".join(rows)
    return f'<div class="part"><table><thead><tr>{heads}<tbody>\n{body}\n</table></div>'


def _server(server: SeenServer, num_blocks: int, readers: Readers) -> str:
    name = _said(server.name or "") if readers.names else ""
    if not name:
        name = "–" if readers.is_public else _said(short_id(server.peer_id))
    bar = f"<rect x={server.start} width={server.end - server.start} height=1 />"
    cells = (
        f"<bdi>{name}</bdi>",
        _span(server.start, server.end),
        f'<svg viewBox="0 0 {num_blocks} 1" preserveAspectRatio=none>{bar}</svg>',
        _said(server.state),
        _number(server.steps_per_s),
        _number(server.step_ms) if server.step_ms else "–",
        _said(server.dtype, 12),
    )
    return f"<tr><td>{'<td>'.join(cells)}"


def _footer(reading: SwarmReading, readers: Readers) -> str:
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(reading.at))
    who = "Everybody may read this page." if readers.is_public else "This page is for members of the swarm."
    return f"<footer><p>Read at {at}. Servers say themselves how fast they are. {who}</p></footer>"


def _chart(columns: Sequence[_Column], caption: str, ends: tuple[str, str]) -> list[str]:
    """Draw columns side by side; an unknown value is a low line, and a known one is at least as high."""
    top = _top(columns) or 1.0
    bars = []
    for place, column in enumerate(columns):
        height = 3 if column.value is None else max(round(100 * column.value / top), 3)
        style = f' class="{column.style}"' if column.style else ""
        bars.append(
            f"<rect{style} x={place} y={100 - height} width=.9 height={height}><title>{column.title}</title></rect>"
        )
    return [
        f"<figure><figcaption>{caption}</figcaption>",
        f'<svg class="chart" role="img" aria-label="{caption}" viewBox="0 0 {len(columns)} 100" '
        f'preserveAspectRatio="none">{"".join(bars)}</svg>',
        f'<div class="ends"><span>{ends[0]}</span><span>{ends[1]}</span></div></figure>',
    ]


def _top(columns: Iterable[_Column]) -> float:
    return max((column.value for column in columns if column.value is not None), default=0.0)


def _legend_entry(style: str, meaning: str) -> str:
    return f'<li><span class="key {style}"></span>{meaning}</li>'


def _said(text: str, most: int = _MOST_LETTERS) -> str:
    """Return a peer's text without control, format and private letters, cut to `most` letters, and escaped."""
    clean = "".join(letter if unicodedata.category(letter)[0] not in "CZ" else " " for letter in text[: 4 * most])
    clean = " ".join(clean.split())
    return html.escape(clean if len(clean) <= most else f"{clean[: most - 1]}…")


def _number(value: float) -> str:
    """Return a peer's number with two significant digits, and never many letters."""
    return rounded(min(max(value, 0.0), 1e9)) if math.isfinite(value) else "–"


def _rate(tokens_per_s: float) -> str:
    return f"{_number(tokens_per_s)} tokens/s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _servers_of(count: int) -> str:
    return _count(count, "server")


def _day(at: float) -> str:
    return time.strftime("%a %d %b", time.gmtime(at))


def _span(start: int, end: int) -> str:
    """Return the blocks [start, end) as layers, which people count from 1."""
    return f"{start + 1}–{end}" if end - start > 1 else str(end)


def _layers(blocks: Iterable[int]) -> str:
    """Return sorted blocks as `layer 5` or `layers 1–4, 9`."""
    spans: list[list[int]] = []
    for block in blocks:
        if spans and spans[-1][1] == block:
            spans[-1][1] += 1
        else:
            spans.append([block, block + 1])
    said = ", ".join(_span(start, end) for start, end in spans[:_MOST_RANGES])
    more = f" and {len(spans) - _MOST_RANGES} more" if len(spans) > _MOST_RANGES else ""
    is_one = len(spans) == 1 and spans[0][1] - spans[0][0] == 1
    return f"{'layer' if is_one else 'layers'} {said}{more}"
