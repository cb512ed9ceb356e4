"""Keeps what the web page of a swarm shows besides the present: a week of readings, and the secret of its address.

A reading is added up with the others of its hour, so the file stays small however often the swarm is read. Pure but for
`kept_page`, which opens the file.

Draws a swarm as a web page: one HTML file without scripts that loads nothing.

Names and numbers come from peers. Each passes through `_escaped`, which drops what is not printable, cuts what is long
and escapes the rest, or through `_number`, and the page forbids the browser to run or load anything. Layers are counted
from 1. `resources/swarm-page.html` has the frame and the style. Knows nothing of the network.
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
from functools import partial
from pathlib import Path
from string import Template

from msgspec import Struct
from potluck_control.methods.members import SeenServer
from potluck_control.resources import resource

from potluck.checked_files import CheckedFile, state_file
from potluck.formatting import count, layer_ranges, layers, rounded
from potluck_cli.swarm.overview import SwarmOverview, brought, short_id

HOUR_S = 3600
HOURS = 7 * 24


class Hour(Struct, frozen=True):
    """The readings of one hour, which began at `start` (Unix seconds). `servers` and `answer_tps` are sums."""

    start: int
    readings: int = 0
    complete: int = 0  # readings in which every block was served
    servers: int = 0
    answer_tps: float = 0.0
    timed: int = 0  # readings with a known speed of an answer

    @property
    def mean_servers(self) -> float:
        """Return the mean number of servers."""
        return self.servers / max(self.readings, 1)

    @property
    def mean_answer_tps(self) -> float:
        """Return the mean speed of an answer; 0 if it was never known."""
        return self.answer_tps / max(self.timed, 1)


class PageHistory(Struct, frozen=True):
    """The part of the page's address that only members know, and the hours with a reading, oldest first."""

    secret: str
    hours: tuple[Hour, ...] = ()

    def __post_init__(self) -> None:
        if not self.secret.isalnum() or not self.secret.isascii() or len(self.secret) < 32:
            raise ValueError("the page has no secret")

    def with_reading(self, now: float, *, servers: int, is_complete: bool, answer_tps: float) -> PageHistory:
        """Return the history with one more reading and without hours that are older than a week.

        `answer_tps`: 0 if the speed of an answer is not known.
        """
        start = int(now) // HOUR_S * HOUR_S
        hour = next((hour for hour in self.hours if hour.start == start), Hour(start))
        added = Hour(
            start,
            hour.readings + 1,
            hour.complete + is_complete,
            hour.servers + servers,
            hour.answer_tps + answer_tps,
            hour.timed + (answer_tps > 0),
        )
        others = (hour for hour in self.hours if start - HOURS * HOUR_S < hour.start < start)
        return PageHistory(self.secret, (*others, added))


def kept_page(folder: Path, prefix: str) -> CheckedFile[PageHistory]:
    """Return the history's file.

    Its name has a hash of the swarm's prefix, because others may have chosen the prefix.
    """
    name = hashlib.sha256(prefix.encode()).hexdigest()[:16]
    return state_file(folder / f"page-{name}.json", PageHistory)


MARK = b"<!doctype html><!-- the page of a Potluck swarm -->"  # identifies a file as such a page
REFRESH_S = 60
_MOST_SERVERS = 1000  # rows of the table
_ROWS = 50  # rows in one part of the table
_MOST_COLUMNS = 256  # columns of a chart; more layers share columns
_MOST_LETTERS = 32  # letters of a name
_NO_ROBOTS = '<meta name="robots" content="noindex">'


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
    """A bar of a chart. `value` None: not known."""

    value: float | None
    style: str
    title: str


def draw(reading: SwarmReading, readers: Readers, *, refreshes: bool = False) -> bytes:
    """Return the page as UTF-8. With `refreshes` the browser loads it again every `REFRESH_S`."""
    swarm = reading.swarm
    online = [server for server in swarm.servers if server.state == "online"]
    parts = (
        *_header(reading, online),
        *_coverage(swarm),
        *_help(swarm, online),
        *_week(reading),
        *_servers(swarm, readers),
        _footer(reading, readers),
    )
    head = ("" if readers.is_public else _NO_ROBOTS) + (_refresh(REFRESH_S) if refreshes else "")
    return _page(swarm.name, head, "\n".join(parts))


def draw_waiting(name: str, problem: str) -> bytes:
    """Return the page of a swarm that could not be read so far."""
    state = f'<p class="warn">{_escaped(problem, 300)}</p>' if problem else "<p>The swarm is being read…</p>"
    content = f"<h1>{_escaped(name)}</h1><section>{state}</section>"
    return _page(name, _NO_ROBOTS + _refresh(REFRESH_S // 6), content)


def _page(name: str, head: str, content: str) -> bytes:
    """Fill the template, whose own style is the only thing that the browser may apply."""
    page = resource("swarm-page.html").read_text("utf-8")
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return Template(page).substitute(policy=policy, head=head, name=_escaped(name), content=content).encode()


def _refresh(seconds: int) -> str:
    return f'<meta http-equiv="refresh" content="{seconds}">'


def _header(reading: SwarmReading, online: Sequence[SeenServer]) -> list[str]:
    swarm = reading.swarm
    missing = len(swarm.gaps)
    if missing:
        state = f'<p class="big bad">The model cannot run: nobody serves {missing} of {swarm.num_blocks} layers.</p>'
    else:
        state = f'<p class="big good">The model runs: all {swarm.num_blocks} layers are online.</p>'
    speed = swarm.speed_for_you
    figures = [
        ("Servers online", str(len(online))),
        ("Layers served", f"{swarm.num_blocks - missing} of {swarm.num_blocks}"),
        *((("Speed of an answer", f"about {_rate(speed.tokens_per_s)}"),) if speed is not None else ()),
        ("Servers joining", str(sum(server.state == "joining" for server in swarm.servers))),
    ]
    problem = f'<p class="warn">No newer reading: {_escaped(reading.problem, 300)}</p>' if reading.problem else ""
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    model = f"<bdi>{_escaped(swarm.model, 100)}</bdi>, {swarm.num_blocks} layers"
    return [
        f'<header><h1>{_escaped(swarm.name)}</h1><p class="muted">{model}</p>{state}{problem}</header>',
        f"<section><dl>{cells}</dl></section>",
    ]


def _coverage(swarm: SwarmOverview) -> list[str]:
    counts, most = swarm.replicas, max(swarm.replicas, default=0)
    width = min(len(counts), _MOST_COLUMNS)
    columns = []
    for place in range(width):
        start, end = place * len(counts) // width, (place + 1) * len(counts) // width
        least = min(counts[start:end])
        style = "bad" if least == 0 else "thin" if least == 1 else ""
        servers = count(least, "server") if least else "nobody"
        columns.append(_Column(float(least or max(most, 1)), style, f"Layer {_span(start, end)}: {servers}"))
    legend = (("", "two servers or more"), ("thin", "one server"), ("bad", "nobody"))
    return [
        "<section><h2>Who serves each layer</h2>",
        *_chart(columns, f"up to {count(most, 'server')} a layer", ("layer 1", f"layer {len(counts)}")),
        f'<ul class="legend">{"".join(_legend_entry(*entry) for entry in legend)}</ul></section>',
    ]


def _help(swarm: SwarmOverview, online: Sequence[SeenServer]) -> list[str]:
    """List what is missing, what is at risk, and what one more GPU would bring."""
    lines = []
    thin = [block for block, count in enumerate(swarm.replicas) if count == 1]
    if swarm.gaps:
        lines.append(f"Nobody serves {_layers(swarm.gaps)}. The model runs when somebody does.")
    if thin:
        lines.append(f"If one server leaves, the model can lose {_layers(thin)}: nobody else has them.")
    more = swarm.one_more
    if more is None:
        lines.append("Nobody serves this model yet. The first server decides where it begins.")
    else:
        brings = brought(more, is_whole=not swarm.gaps)
        lines.append(f"One more GPU like those here would serve {_layers(range(*more.span))}{brings}.")
        if not set(swarm.gaps) <= set(range(*more.span)):
            lines.append("More layers would still be missing.")
    return ["<section><h2>What would help</h2><ul>", *(f"<li>{line}</li>" for line in lines), "</ul></section>"]


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
        f"<p>All layers were online in {share} % of {count(readings, 'reading')}, "
        f"in {count(len(hours), 'hour')} of the week.</p>",
        *_chart(servers, f"servers online, up to {_number(_top(servers))}", ends),
        *_chart(speeds, f"speed of an answer, up to {_rate(_top(speeds))}", ends),
        f'<ul class="legend">{"".join(_legend_entry(*entry) for entry in legend)}</ul></section>',
    ]


def _hour_column(start: int, hour: Hour | None, *, is_speed: bool) -> _Column:
    when = time.strftime("%a %H:00 UTC", time.gmtime(start))
    if hour is None:
        return _Column(None, "none", f"{when}: not watched")
    if is_speed and hour.complete and not hour.timed:
        return _Column(None, "none", f"{when}: not known")
    value = hour.mean_answer_tps if is_speed else hour.mean_servers
    text = _rate(value) if is_speed else f"{_number(value)} server{'' if value == 1 else 's'}"
    return _Column(value, "" if hour.complete == hour.readings else "bad", f"{when}: {text}")


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
        f'<p class="muted">and {count(more, "server")} more</p></section>' if more > 0 else "</section>",
    ]


def _table(rows: Sequence[str]) -> str:
    """Return a part of the table with its own head. The browser lays out those that are scrolled to."""
    heads = "".join(f"<th>{head}" for head in ("Server", "Layers", "", "State", "Tokens/s", "Step, ms", "Format"))
    body = "\n".join(rows)
    return f'<div class="part"><table><thead><tr>{heads}<tbody>\n{body}\n</table></div>'


def _server(server: SeenServer, num_blocks: int, readers: Readers) -> str:
    name = _escaped(server.name or "") if readers.names else ""
    if not name:
        name = "–" if readers.is_public else _escaped(short_id(server.peer_id))
    bar = f"<rect x={server.start} width={server.end - server.start} height=1 />"
    cells = (
        f"<bdi>{name}</bdi>",
        _span(server.start, server.end),
        f'<svg viewBox="0 0 {num_blocks} 1" preserveAspectRatio=none>{bar}</svg>',
        _escaped(server.state),
        _number(server.steps_per_s),
        _number(server.step_ms) if server.step_ms else "–",
        _escaped(server.dtype, 12),
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


def _escaped(text: str, most: int = _MOST_LETTERS) -> str:
    """Return a peer's text without control, format and private letters, cut to `most` letters, and escaped."""
    clean = "".join(letter if unicodedata.category(letter)[0] not in "CZ" else " " for letter in text[: 4 * most])
    clean = " ".join(clean.split())
    return html.escape(clean if len(clean) <= most else f"{clean[: most - 1]}…")


def _number(value: float) -> str:
    """Return a peer's number with two significant digits, and never many letters."""
    return rounded(min(max(value, 0.0), 1e9)) if math.isfinite(value) else "–"


def _rate(tokens_per_s: float) -> str:
    return f"{_number(tokens_per_s)} tokens/s"


def _day(at: float) -> str:
    return time.strftime("%a %d %b", time.gmtime(at))


_span, _layers = partial(layers, dash="–"), partial(layer_ranges, dash="–")
