"""The gateway's process as the daemon starts and ends it; here it is a script that says what the real one says."""

import asyncio
import errno
import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.own_daemon import Ask, ask_until, asking, own_daemon
from msgspec import structs
from potluck_control.api import schema
from potluck_control.api.client import ControlError, DaemonAwayError
from potluck_control.api.schema import AuditStatus, Transition
from potluck_control.methods import gateway, settings, swarms
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyName
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_control.processes.gateway_messages import key_hash
from potluck_control.settings import ChatSettings
from potluck_control.states import Reason, State
from potluck_daemon.daemon import Daemon
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.supervisor.facts import EngineFacts
from potluck_daemon.supervisor.gateway_keys import GatewayKeys
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.topics.gateway import GatewayTopic

from potluck.checked_files import CheckedFile
from potluck.membership.identity import Identity
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.codec import encode
from potluck.protocol.swarm import new_swarm
from potluck.sentences import NOTHING, verbatim

ADDRESS = f"/ip4/127.0.0.1/tcp/9/p2p/{Identity.generate().peer_id}"
READY = 'echo \'{"url": "http://127.0.0.1:1/v1"}\''
AT_ITS_PORT = """\
head -n 1 >> $0.openings
port=$(tail -n 1 $0.openings | grep -o '"gateway":{"port":[0-9]*' | grep -o '[0-9]*$')
if [ $port = 0 ]; then port=21871; fi
echo "{\\"url\\": \\"http://127.0.0.1:$port/v1\\"}"
exec sleep 600"""


@pytest.fixture
def script(daemon: Daemon, tmp_path: Path) -> Path:
    """Stands for the interpreter; the daemon has joined a swarm."""
    for name in ("friends", "family"):
        swarm = new_swarm(name, "demo-model", 4)
        JoinedSwarms(daemon.places.swarms_file).create(replace(swarm, bootstrap_peers=(ADDRESS,)), is_open=True)
    return tmp_path / "python"


def write(script: Path, text: str) -> None:
    script.write_text(text)
    script.chmod(0o755)


async def started(ask: Ask, script: Path, *lines: str, swarm: str = "friends", stays: bool = False) -> GatewayStatus:
    """Start it and return the first status that is not STARTING."""
    write(script, "\n".join(("#!/bin/sh", f"echo $$ > {script}.pid", *lines)))
    await ask(settings.SET, SetParams((Change("serve.python", str(script)),)))
    status = await ask(gateway.START, gateway.StartParams(swarm, stays))
    assert status.state is GatewayState.STARTING
    return await until(ask, lambda now: now.state is not GatewayState.STARTING)


async def until(ask: Ask, wanted: Callable[[GatewayStatus], object]) -> GatewayStatus:
    return await ask_until(ask, gateway.STATUS, wanted)


_SENTENCES = ("step", "problem", "notice", "found")


def said(**report: object) -> str:
    """The line of a script that reports this."""
    told = {name: verbatim(value) if name in _SENTENCES else value for name, value in report.items()}
    return f"echo '{encode(told).decode()}'"


def opening_of(script: Path) -> Any:
    """What the script was told, if it keeps its first line."""
    return json.loads(Path(f"{script}.opening").read_text())


def openings_of(script: Path) -> list[dict[str, Any]]:
    return _lines_of(Path(f"{script}.openings"))


def pid_of(script: Path) -> int:
    return int(Path(f"{script}.pid").read_text())


def is_alive(script: Path) -> bool:
    try:
        os.kill(pid_of(script), 0)
    except ProcessLookupError:
        return False
    return True


async def test_it_is_started_told_of_exchanged_and_stopped(ask: Ask, script: Path) -> None:
    now = await started(ask, script, READY, "sleep 600")
    address = "http://127.0.0.1:1/v1"
    assert (now.state, now.url, now.swarm, now.model) == (GatewayState.READY, address, "friends", "demo-model")
    assert len(now.token) >= 40
    assert now.token not in repr(now)
    assert now.ends_at is not None
    assert await ask(gateway.START, gateway.StartParams("friends")) == await ask(gateway.STATUS)
    second = await started(ask, script, READY, "sleep 600", swarm="family")
    assert second.swarm == "family"
    assert second.token == now.token, "programs were told it"
    stopped = await ask(gateway.STOP)
    assert (stopped.state, stopped.token) == (GatewayState.STOPPED, "")
    assert not is_alive(script)
    assert (await started(ask, script, READY, "sleep 600")).token != now.token


async def test_what_audits_found_is_in_status_and_history(ask: Ask, script: Path) -> None:
    text = "Eve computed blocks 0:4 wrongly"
    found = said(audits={"checked": 5, "undecided": 1, "wrong": ["Eve"]}, found=text)
    asked = said(asked=True, audits={"checked": 7, "undecided": 1, "wrong": ["Eve"]})
    await started(ask, script, found, asked, READY, "sleep 600")
    status = await ask(schema.STATUS)
    assert status.audits == AuditStatus(7, 1, ("Eve",))
    assert tuple(map(str, status.notices)) == (text,)
    (kept,) = (await ask(schema.HISTORY, schema.HistoryParams(words="wrongly"))).transitions
    assert (str(kept.text), kept.before, kept.state) == (text, status.state, status.state)
    await ask(gateway.STOP)
    assert (await ask(schema.STATUS)).audits == AuditStatus(7, 1, ("Eve",))
    more = said(asked=True, audits={"checked": 2, "wrong": ["Mallory", "Eve"]})
    await started(ask, script, more, READY, "sleep 600")
    assert (await ask(schema.STATUS)).audits == AuditStatus(9, 1, ("Eve", "Mallory"))


async def test_it_is_told_who_may_check_servers_and_whom_an_earlier_one_found_wrong(ask: Ask, script: Path) -> None:
    await ask(settings.SET, SetParams((Change("gateway.audits", "known"),)))
    found = said(found="Eve computed blocks 0:4 wrongly", distrusted=["eve"])
    keep = f"head -n 1 > {script}.opening"
    for distrusted in ([], ["eve"]):
        await started(ask, script, keep, found, READY, "sleep 600")
        opening = opening_of(script)
        assert (opening["settings"]["gateway"]["audits"], opening["distrusted"]) == ("known", distrusted)
        await ask(gateway.STOP)


@pytest.mark.parametrize("stays", [False, True])
async def test_it_ends_when_nobody_asks_unless_it_stays(
    ask: Ask, script: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    monkeypatch.setattr("potluck_daemon.topics.gateway.GatewayTopic.tick", lambda *_: None)  # starts none again
    monkeypatch.setattr(
        Configuration,
        "settings",
        property(lambda self: replace(self.loaded.settings, chat=ChatSettings(end_after_s=0.1))),
    )
    await started(ask, script, READY, "sleep 0.3", said(step="still here"), "sleep 600", stays=stays)
    now = await until(ask, lambda now: now.step if stays else now.state is GatewayState.STOPPED)
    assert (now.state, now.ends_at) == (GatewayState.READY if stays else GatewayState.STOPPED, None)
    assert (str(now.problem), bool(now.token)) == ("", stays)
    assert is_alive(script) is stays
    await ask(gateway.STOP)


@pytest.mark.parametrize("stays", [False, True])
async def test_it_ends_when_a_game_starts_unless_it_stays(ask: Ask, daemon: Daemon, script: Path, stays: bool) -> None:
    await ask(settings.SET, SetParams((Change("gateway.port", 21871 if stays else 0),)))
    await started(ask, script, AT_ITS_PORT, stays=stays)
    daemon.parts.announce(transition(State.PAUSED, Reason.USER))
    daemon.parts.announce(transition(State.YIELDED, Reason.BATTERY))
    assert (await ask(gateway.STATUS)).state is GatewayState.READY
    daemon.parts.announce(transition(State.YIELDED, Reason.GAME))
    if stays:
        assert (await ask(gateway.STATUS)).state is GatewayState.READY
    else:
        await until(ask, lambda now: now.state is GatewayState.STOPPED)
        assert not is_alive(script)


async def test_one_that_is_started_during_a_game_goes_on(ask: Ask, daemon: Daemon, script: Path) -> None:
    daemon.parts.configuration.reload()
    await ask_until(ask, schema.STATUS, lambda now: now.reason is Reason.NO_ENGINE)  # which would end the game
    daemon.parts.announce(transition(State.YIELDED, Reason.GAME))
    await started(ask, script, READY, "sleep 600")
    daemon.parts.announce(transition(State.YIELDED, Reason.FULL_SCREEN))
    assert (await ask(gateway.STATUS)).state is GatewayState.READY


async def test_one_that_stays_hears_when_it_may_draft(ask: Ask, daemon: Daemon, script: Path) -> None:
    await started(ask, script, f"head -n 1 > {script}.opening", READY, f"cat > {script}.heard", stays=True)
    assert opening_of(script)["may_draft"]
    states = [State.YIELDED, State.SERVING, State.YIELDED, State.PAUSED, State.SERVING]
    reasons = [Reason.RAM_PRESSURE, Reason.NONE, Reason.GAME, Reason.USER, Reason.NONE]
    for state, reason in zip(states, reasons, strict=True):
        daemon.parts.announce(transition(state, reason))
    assert [line["may_draft"] for line in await heard_by(script, 4)] == [False, True, False, True]


def transition(state: State, reason: Reason) -> Transition:
    return Transition(0.0, State.SERVING, state, reason, NOTHING)


async def test_it_stays_over_daemons_as_it_was_until_somebody_stops_it(
    places: Places, environment: dict[str, str], script: Path, ask: Ask, daemon: Daemon
) -> None:
    await ask(settings.SET, SetParams((Change("gateway.port", 0),)))
    first = await started(ask, script, AT_ITS_PORT, swarm="family")
    assert first.ends_at is not None
    kept = await ask(gateway.START, gateway.StartParams("family", stays=True))
    assert kept == structs.replace(first, ends_at=None), "it goes on where it runs"
    daemon.end()
    while is_alive(script):  # noqa: ASYNC110 (a process of its own)
        await asyncio.sleep(0.05)
    await ask_until_away(ask)
    async with own_daemon(places, environment) as second:
        ask = asking(second)
        assert await until(ask, lambda now: now.state is GatewayState.READY) == kept
        before, after = openings_of(script)
        assert after["settings"]["gateway"] == before["settings"]["gateway"] | {
            "start_with_daemon": True,
            "swarm": "family",
            "port": 21871,
        }
        assert await ask(gateway.START) == kept, "it is the one that is meant"
        await ask(gateway.STOP)
        topic_of(second).tick(5000.0)
        assert (await ask(gateway.STATUS)).state is GatewayState.STOPPED
        again = await started(ask, script, AT_ITS_PORT)
        assert (again.url, again.swarm) == (kept.url, "friends")
        assert again.ends_at is not None
        assert again.token != kept.token


async def ask_until_away(ask: Ask) -> None:
    with pytest.raises(DaemonAwayError):
        await ask_until(ask, gateway.STATUS, lambda _: False)


async def test_what_the_environment_keeps_is_stopped_until_somebody_starts_it(
    ask: Ask, daemon: Daemon, script: Path
) -> None:
    write(script, f"#!/bin/sh\n{READY}\nsleep 600")
    changes = (Change("gateway.swarm", "family"), Change("gateway.port", 0))
    await ask(settings.SET, SetParams((Change("serve.python", str(script)), *changes)))
    daemon.parts.configuration.environment["POTLUCK_GATEWAY_START_WITH_DAEMON"] = "true"  # type: ignore[index]
    daemon.parts.configuration.reload()
    topic = topic_of(daemon)
    topic.tick(1000.0)
    assert (await until(ask, lambda now: now.state is GatewayState.READY)).swarm == "family"
    await ask(gateway.STOP)
    topic.tick(5000.0)
    assert (await ask(gateway.STATUS)).state is GatewayState.STOPPED
    await ask(gateway.START, gateway.StartParams("family"))
    assert (await until(ask, lambda now: now.state is GatewayState.READY)).ends_at is None


def topic_of(daemon: Daemon) -> GatewayTopic:
    return next(topic for topic in daemon._topics if isinstance(topic, GatewayTopic))


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port of this process, which stands for another program."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other


async def test_a_taken_port_is_named_with_its_holder_and_waited_for_by_one_that_stays(
    ask: Ask, daemon: Daemon, script: Path, taken: socket.socket
) -> None:
    port = taken.getsockname()[1]
    await ask(settings.SET, SetParams((Change("gateway.port", port),)))
    said = rf"port {port} \(gateway.port\) is taken by .+ \(process {os.getpid()}\)"
    elsewhere = await started(ask, script, AT_ITS_PORT)
    assert re.fullmatch(f"{said}, so this address is for now", str(elsewhere.notice))
    assert elsewhere.url != f"http://127.0.0.1:{port}/v1"
    with pytest.raises(ControlError, match=said) as refused:
        await ask(gateway.START, gateway.StartParams("friends", stays=True))
    assert "potluck config set gateway.port" in str(refused.value.hint)
    assert (await ask(gateway.STATUS)).url == elsewhere.url, "what runs goes on"
    os.kill(pid_of(script), signal.SIGKILL)
    await until(ask, lambda now: now.state is GatewayState.FAILED)
    topic = topic_of(daemon)
    topic.tick(1000.0)
    await until(ask, lambda now: re.match(said, str(now.problem)))
    taken.close()
    topic.tick(2000.0)
    now = await until(ask, lambda now: now.state is GatewayState.READY)
    assert (now.url, now.token, str(now.notice)) == (f"http://127.0.0.1:{port}/v1", elsewhere.token, "")


async def test_one_that_stays_does_not_end_for_another_swarm_unless_that_is_to_stay(ask: Ask, script: Path) -> None:
    await ask(settings.SET, SetParams((Change("gateway.port", 21871),)))
    kept = await started(ask, script, AT_ITS_PORT, swarm="family", stays=True)
    with pytest.raises(ControlError, match="the gateway stays for the swarm family"):
        await ask(gateway.START, gateway.StartParams("friends"))
    assert await ask(gateway.STATUS) == kept
    other = await started(ask, script, AT_ITS_PORT, stays=True)
    assert (other.swarm, other.url, other.token) == ("friends", kept.url, kept.token)


async def test_one_that_stays_is_stopped_for_good_also_while_it_would_be_started_again_and_stays_again_by_the_setting(
    ask: Ask, daemon: Daemon, script: Path
) -> None:
    await started(ask, script, AT_ITS_PORT, stays=True)
    topic = topic_of(daemon)
    async with topic._changing:
        stopping = asyncio.create_task(ask(gateway.STOP))
        await asyncio.sleep(0.1)
        topic.tick(1000.0)  # waits behind it
    assert (await stopping).state is GatewayState.STOPPED
    await asyncio.sleep(0.1)
    assert (await ask(gateway.STATUS)).state is GatewayState.STOPPED
    await ask(settings.SET, SetParams((Change("gateway.start_with_daemon", True),)))
    topic.tick(2000.0)
    assert (await until(ask, lambda now: now.state is GatewayState.READY)).ends_at is None


async def test_one_that_stays_follows_the_model_of_its_swarm_and_the_setting_of_its_port(
    ask: Ask, daemon: Daemon, script: Path
) -> None:
    await ask(settings.SET, SetParams((Change("gateway.port", 21871),)))
    first = await started(ask, script, AT_ITS_PORT, stays=True)
    await ask(settings.SET, SetParams((Change("gateway.port", 21872),)))
    topic_of(daemon).tick(1000.0)
    moved = await until(ask, lambda now: now.url not in ("", first.url))
    assert (moved.url, moved.token) == ("http://127.0.0.1:21872/v1", first.token)
    joined = JoinedSwarms(daemon.places.swarms_file)
    membership = joined.load()["friends"]
    renamed = replace(membership, swarm=replace(membership.swarm, model="better-model"))
    joined.change("friends", lambda _: renamed)
    topic_of(daemon).tick(2000.0)
    renewed = await until(ask, lambda now: now.model == "better-model" and now.url)
    assert (renewed.url, renewed.token) == (moved.url, moved.token)


async def test_keys_are_kept_as_hashes_and_told_to_the_gateway_at_once(ask: Ask, daemon: Daemon, script: Path) -> None:
    first = await ask(gateway.MAKE_KEY, KeyName("webui"))
    token = key_hash((await started(ask, script, READY, f"cat > {script}.heard")).token)
    second = await ask(gateway.MAKE_KEY, KeyName("editor"))
    assert [key.name for key in (await ask(gateway.KEYS)).keys] == ["webui", "editor"]
    assert [key.name for key in (await ask(gateway.REVOKE_KEY, KeyName("webui"))).keys] == ["editor"]
    heard = await heard_by(script, 3)
    hashes = [key_hash(first.key), key_hash(second.key)]
    assert [line["key_hashes"] for line in heard] == [[*kept, token] for kept in (hashes[:1], hashes, hashes[1:])]
    file = daemon.places.gateway_keys_file
    assert file.stat().st_mode & 0o777 == 0o600
    assert second.key not in file.read_text()
    assert second.key not in repr(second)


async def heard_by(script: Path, count: int) -> list[dict[str, Any]]:
    """The first lines that the script was told, once there are so many."""
    heard: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while len(heard) < count:
            await asyncio.sleep(0.05)
            heard = _lines_of(Path(f"{script}.heard"))
    return heard


async def test_it_offers_the_joined_swarms_its_own_at_first_until_they_are_left(
    ask: Ask, daemon: Daemon, script: Path
) -> None:
    topic = topic_of(daemon)
    await ask(schema.CREATE, schema.CreateParams("unreachable"))  # nobody can find it
    await started(ask, script, READY, f"cat > {script}.heard", swarm="family")
    JoinedSwarms(daemon.places.swarms_file).create(
        replace(new_swarm("work", "large", 8), bootstrap_peers=(ADDRESS,)), is_open=True
    )
    topic.tick(0.0)
    topic.tick(0.0)  # nothing is new
    await heard_by(script, 2)
    await ask(swarms.LEAVE, swarms.LeaveParams("friends", is_sure=True))
    topic.tick(0.0)
    told = [line["swarms"] for line in await heard_by(script, 3)]
    names = [[each["membership"]["swarm"]["name"] for each in offered] for offered in told]
    assert names == [["family", "friends"], ["family", "friends", "work"], ["family", "work"]]
    await ask(swarms.LEAVE, swarms.LeaveParams("family", is_sure=True))
    topic.tick(0.0)
    await until(ask, lambda now: now.state is GatewayState.STOPPED)
    assert not is_alive(script)


async def test_it_listens_where_others_can_reach_it_only_if_that_was_said(ask: Ask, script: Path) -> None:
    await ask(settings.SET, SetParams((Change("gateway.address", "0.0.0.0"),)))
    with pytest.raises(ControlError, match="allow_remote"):
        await ask(gateway.START, gateway.StartParams("friends"))
    await ask(settings.SET, SetParams((Change("gateway.allow_remote", True),)))
    assert (await started(ask, script, READY, "sleep 600")).state is GatewayState.READY


def _lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


async def test_what_a_program_used_is_counted_for_its_key(ask: Ask, daemon: Daemon, script: Path) -> None:
    made = await ask(gateway.MAKE_KEY, KeyName("webui"))
    await ask(gateway.MAKE_KEY, KeyName("editor"))
    known, token = key_hash(made.key), key_hash("the app's own token")
    used = ((known, 30), (token, 500), (known, 12))
    reports = [said(asked=True, key_hash=key, tokens=tokens) for key, tokens in used]
    await started(ask, script, *reports, READY, "sleep 600")
    webui, editor = (await ask(gateway.KEYS)).keys
    assert (webui.answers, webui.tokens) == (2, 42)
    assert webui.used_at is not None
    assert (editor.answers, editor.tokens, editor.used_at) == (0, 0, None)
    assert GatewayKeys(daemon.places.gateway_keys_file).listed() == (webui, editor)  # as after a restart


def test_counts_that_a_full_disk_refuses_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = GatewayKeys(tmp_path / "keys.json")
    used = key_hash(keys.make("webui"))
    monkeypatch.setattr(CheckedFile, "write", lambda *_: raise_full())
    keys.count_answer(used, 3)
    assert keys.hashes() == (used,)


def raise_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_key_needs_a_plain_name_of_its_own(ask: Ask) -> None:
    for name in ("", "two words", "-x", "a/b", "x" * 65):
        with pytest.raises(ControlError, match="no name for a key"):
            await ask(gateway.MAKE_KEY, KeyName(name))
    await ask(gateway.MAKE_KEY, KeyName("webui"))
    with pytest.raises(ControlError, match="already"):
        await ask(gateway.MAKE_KEY, KeyName("webui"))
    with pytest.raises(ControlError, match="no key"):
        await ask(gateway.REVOKE_KEY, KeyName("other"))


IMPORTING, WAITING = said(step="Importing"), said(step="nobody answers", is_waiting=True)


async def test_a_failure_says_why_and_whether_no_member_answered(ask: Ask, script: Path) -> None:
    for lines, words, is_waiting in (
        ((said(problem="nobody serves block 3"), "exit 1"), "nobody serves block 3", False),
        (("echo ModuleNotFoundError: torch >&2", "exit 1"), "ModuleNotFoundError: torch", False),
        (("echo nonsense",), "not understood", False),
        ((READY, "exit 0"), "it ended with code 0", False),
        ((READY, "echo a warning >&2", "kill -9 $$"), "it was ended by signal SIGKILL", False),
        ((IMPORTING, WAITING, said(problem="gone"), "exit 1"), "gone", True),
        ((WAITING, IMPORTING, said(problem="gone"), "exit 1"), "gone", False),
    ):
        await started(ask, script, *lines)
        failed = await until(ask, lambda now: now.state is GatewayState.FAILED)
        assert words in str(failed.problem)
        assert (failed.token, failed.is_waiting) == ("", is_waiting)


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("is_asked_for", [False, True])
async def test_one_that_crashes_comes_back_as_it_was_even_if_somebody_asks_for_it_first(
    ask: Ask, daemon: Daemon, script: Path, stays: bool, is_asked_for: bool
) -> None:
    await ask(settings.SET, SetParams((Change("gateway.port", 21871 if stays else 0),)))
    first = await started(ask, script, AT_ITS_PORT, stays=stays)
    assert (first.ends_at is None) is stays
    for turn in range(2):
        os.kill(pid_of(script), signal.SIGSEGV)
        await until(ask, lambda now: now.state is GatewayState.FAILED)
        if is_asked_for:
            asked = await ask(gateway.START, gateway.StartParams("friends"))
            assert (asked.state, asked.swarm, str(asked.problem)) == (GatewayState.STARTING, "friends", "")
        else:
            topic_of(daemon).tick(1000.0 * turn)
        again = await until(ask, lambda now: now.state is GatewayState.READY)
        assert (again.url, again.token) == (first.url, first.token)
        assert (again.ends_at is None) is stays
    await ask(gateway.STOP)
    assert not is_alive(script)


@pytest.mark.parametrize("comes_online", [True, False])
async def test_it_imports_while_the_engine_starts_and_is_told_the_swarm_once_that_can_be_found(
    ask: Ask, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_online: bool
) -> None:
    with pytest.raises(ControlError, match="joined no swarm"):
        await ask(gateway.START)
    script = tmp_path / "python"
    write(script, f"#!/bin/sh\n{IMPORTING}\nhead -n 1 > {script}.opening\n{READY}\nsleep 600")
    await ask(settings.SET, SetParams((Change("serve.python", str(script)),)))
    await ask(schema.CREATE, schema.CreateParams("home"))
    with pytest.raises(ControlError, match="cannot be found"):
        await ask(gateway.START)
    is_starting = True
    monkeypatch.setattr(Supervisor, "is_starting", property(lambda _: is_starting))
    assert (await ask(gateway.START)).state is GatewayState.STARTING
    await until(ask, lambda now: str(now.step) == "Importing")
    addresses = (ADDRESS,) if comes_online else ()
    daemon.parts.supervisor.facts = EngineFacts(daemon.parts.configuration.swarm, addresses=addresses)
    is_starting = False
    now = await until(ask, lambda now: now.state is not GatewayState.STARTING)
    if comes_online:
        assert now.state is GatewayState.READY
        assert opening_of(script)["swarms"][0]["membership"]["swarm"]["bootstrap_peers"] == [ADDRESS]
    else:
        assert "cannot be found by others yet" in str(now.problem)
