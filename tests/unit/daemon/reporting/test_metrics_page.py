"""The page for Prometheus, read as Prometheus reads it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from potluck_control.api.schema import EngineStatus, Status, SwarmStatus
from potluck_control.processes.engine_report import STEP_TIME_BOUNDS_S, EngineMetrics, PageCounts
from potluck_control.settings import MetricsSettings
from potluck_control.states import Reason, State
from potluck_daemon.host.listening import listening_problem
from potluck_daemon.reporting.metrics_page import MetricsPage
from potluck_daemon.reporting.metrics_text import render
from prometheus_client.parser import text_string_to_metric_families

from potluck.sentences import NOTHING

STATUS = Status(
    State.SERVING,
    Reason.NONE,
    "Serving",
    since=0.0,
    version="1.2",
    engine=EngineStatus(pid=1, restarts=3),
    swarm=SwarmStatus('a "name"\\with\nall', "model", 8, span=(2, 6)),
)


def _read(text: bytes) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Sample name -> labels -> value, by Prometheus' own parser."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in found.setdefault(sample.name, {})
            found[sample.name][labels] = sample.value
    return found


def test_what_the_engine_counts_is_on_the_page() -> None:
    times = [0] * (len(STEP_TIME_BOUNDS_S) + 1)
    times[0], times[2], times[-1] = 1, 2, 1
    engine = EngineMetrics(
        decode_tokens=7,
        steps=4,
        step_rows=16,
        step_seconds=12.5,
        step_times=tuple(times),
        spills=2,
        pages=PageCounts(total=10, used=4, free=6, spilled=3, kept=1),
    )
    page = _read(render(STATUS, engine))
    assert page["potluck_tokens_total"][(("kind", "decode"),)] == 7
    assert page["potluck_step_rows_total"][()] == 16
    assert page["potluck_session_moves_total"][(("to", "out"),)] == 2
    assert page["potluck_pages"][(("state", "spilled"),)] == 3
    assert page["potluck_engine_restarts_total"][()] == 3
    assert page["potluck_state"][(("state", "serving"),)] == sum(page["potluck_state"].values()) == 1
    buckets = {dict(labels)["le"]: value for labels, value in page["potluck_step_seconds_bucket"].items()}
    assert list(buckets.values()) == sorted(buckets.values()), "they are cumulative"
    assert (buckets["0.001"], buckets["0.005"]) == (1, 3)
    assert buckets["+Inf"] == page["potluck_step_seconds_count"][()] == 4
    assert page["potluck_step_seconds_sum"][()] == 12.5
    ((labels, value),) = page["potluck_blocks"].items()
    assert (dict(labels)["swarm"], value) == ('a "name"\\with\nall', 4), "labels may hold anything"


def test_nothing_that_the_engine_counts_is_left_out() -> None:
    plain = [name for name in EngineMetrics.__struct_fields__ if name not in ("steps", "step_times", "pages")]
    pages = PageCounts.__struct_fields__
    numbers = {name: 1000 + index for index, name in enumerate((*plain, *pages))}
    counts = PageCounts(**{name: numbers[name] for name in pages})
    engine = EngineMetrics(**{name: numbers[name] for name in plain}, pages=counts)
    page = _read(render(STATUS, engine))
    shown = {value for samples in page.values() for value in samples.values()}
    assert [name for name, number in numbers.items() if number not in shown] == []


async def test_a_scrape_gets_the_page_and_the_type_that_prometheus_expects() -> None:
    async with _page() as (page, port):
        head, body = await _get(port, "GET /metrics HTTP/1.1")
        assert "200 OK" in head
        assert "Content-Type: text/plain; version=" in head
        assert _read(body)["potluck_engine_restarts_total"][()] == 3
        assert page.url == f"http://127.0.0.1:{port}/metrics"


async def test_only_local_reads_of_the_page_are_answered() -> None:
    for request_line, host, status in (
        ("GET /metrics HTTP/1.1", "localhost:{port}", 200),
        ("GET /metrics?x=1 HTTP/1.1", "[::1]:{port}", 200),
        ("HEAD /metrics HTTP/1.1", "127.0.0.1", 200),
        ("GET /metrics HTTP/1.1", "evil.example:{port}", 421),  # a web page that gave its own name to this address
        ("GET /metrics HTTP/1.1", "127.0.0.1.evil.example", 421),
        ("GET / HTTP/1.1", "localhost", 404),
        ("POST /metrics HTTP/1.1", "localhost", 501),
    ):
        async with _page() as (_, port):
            head, body = await _get(port, request_line, host.format(port=port))
            assert head.startswith(f"HTTP/1.0 {status} ")
            assert (b"potluck_engine_restarts" in body) == (status == 200 and not request_line.startswith("HEAD"))


async def test_a_page_that_cannot_be_drawn_says_so_and_logs_why(caplog: pytest.LogCaptureFixture) -> None:
    async with _page() as (page, port):
        page._read = lambda: (STATUS, None)  # type: ignore[assignment, return-value]
        head, _ = await _get(port, "GET /metrics HTTP/1.1")
    assert head.startswith("HTTP/1.0 500 ")
    assert "Server: potluck\r\n" in head
    assert "the page cannot be drawn" in caplog.text


async def test_a_page_moves_and_closes_with_the_settings() -> None:
    async with _page() as (page, port), _page() as (_, taken):
        await page.apply(MetricsSettings(port=taken))
        assert page.url is None
        assert str(taken) in str(page.problem)
        with pytest.raises(ConnectionRefusedError):
            await _get(port, "GET /metrics HTTP/1.1")
        await page.apply(MetricsSettings(port=port))
        assert (await _get(port, "GET /metrics HTTP/1.1"))[0].startswith("HTTP/1.0 200")
        await page.apply(MetricsSettings(port=port, address="0.0.0.0"))
        assert page.url is None
        assert "allow_remote" in str(page.problem)
        await page.apply(MetricsSettings())
        assert (page.url, page.problem) == (None, NOTHING)
        with pytest.raises(ConnectionRefusedError):
            await _get(port, "GET /metrics HTTP/1.1")


def test_other_machines_see_the_page_only_if_that_was_said() -> None:
    assert listening_problem("metrics", "127.0.0.1", is_allowed=False) == NOTHING
    for address in ("0.0.0.0", "::", "192.168.1.5", "localhost"):
        assert listening_problem("metrics", address, is_allowed=False)
        assert (listening_problem("metrics", address, is_allowed=True) == NOTHING) == (address != "localhost")


@asynccontextmanager
async def _page() -> AsyncIterator[tuple[MetricsPage, int]]:
    """A page at a port that is free; another program may take one first, so several are tried."""
    page = MetricsPage(lambda: (STATUS, EngineMetrics()))
    while page.url is None:
        port = _free_port()
        await page.apply(MetricsSettings(port=port))
    try:
        yield page, port
    finally:
        page.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def _get(port: int, request_line: str, host: str = "localhost") -> tuple[str, bytes]:
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{request_line}\r\nHost: {host}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body
