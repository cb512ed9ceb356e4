"""Making the engine's environment over the control API; the process that makes it is a script here."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from helpers.own_daemon import Ask, ask_until, asking, own_daemon
from potluck_control.api.client import ControlClient, ControlError
from potluck_control.methods import installation
from potluck_control.methods.installation import BeginParams, Problem, SetupState, WorkProgress
from potluck_control.places import Places
from potluck_daemon.child_process import WorkLine
from potluck_daemon.environment.hardware import Hardware, read_hardware
from potluck_daemon.environment.plan import SetupRequest
from potluck_daemon.environment.store import EnvironmentManifest, Store, interpreter
from potluck_daemon.topics import setup

from potluck.files import replace_link
from potluck.protocol.codec import decode, encode
from potluck.sentences import verbatim

FETCHING = WorkLine(WorkProgress(verbatim("torch (1 of 2)"), 5, 10))
FAILED = WorkLine(problem=Problem(verbatim("the disk is full"), verbatim("make room")))
WAIT = "read line"  # until standard input ends, or a signal comes

Write = Callable[..., None]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Have the set-up say these lines, then do `after`. What it was told is in `arguments`."""

    def write(*told: WorkLine, after: str = "exit 0") -> None:
        lines = "\n".join(f"echo '{encode(item).decode()}'" for item in told)
        path = tmp_path / "set-up"
        path.write_text(f'#!/bin/sh\nprintf "%s" "$1" >{tmp_path}/arguments\n{lines}\n{after}\n')
        path.chmod(0o755)
        monkeypatch.setattr(setup, "PROGRAM", (str(path),))

    return write


async def ended(ask: Ask) -> SetupState:
    return await ask_until(ask, installation.SETUP_STATE, lambda now: now.progress is None)


async def reached(ask: Ask, progress: WorkProgress | None) -> None:
    await ask_until(ask, installation.SETUP_STATE, lambda now: now.progress == progress)


async def test_what_fits_this_machine_is_told_before_anything_is_made_by_one_look(
    ask: Ask, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Hardware] = []
    monkeypatch.setattr(setup, "read_hardware", lambda: looks.append(read_hardware()) or looks[-1])
    state = await ask(installation.SETUP_STATE)
    assert state.plan.variant == "cpu" or state.plan.why
    assert (state.folder, state.variant, state.progress, state.error) == (str(places.engines), "", None, None)
    assert "Does this Python fit?" in {str(finding.check) for finding in state.findings}
    with pytest.raises(ControlError, match="no earlier environment"):
        await ask(installation.ROLL_BACK_SETUP)
    assert len(looks) == 1
    assert not places.engines.exists()


async def test_progress_is_told_to_all_who_listen_and_the_end_as_well(
    ask: Ask, places: Places, tmp_path: Path, script: Write
) -> None:
    script(FETCHING, after=f"while [ ! -e {tmp_path}/seen ]; do sleep 0.01; done")
    heard: list[SetupState] = []
    connected = threading.Event()

    def listen() -> None:
        for event in ControlClient(places.socket).events():
            connected.set()
            if isinstance(event, SetupState):
                heard.append(event)
                if event.progress is None:
                    return

    listening = asyncio.create_task(asyncio.to_thread(listen))
    await asyncio.to_thread(connected.wait, 60)
    begun = await ask(installation.BEGIN_SETUP)
    assert begun.progress is not None
    (tmp_path / "seen").touch()
    async with asyncio.timeout(60):
        await listening
    assert heard[-1].error is None
    assert len(heard) <= 3


async def test_what_was_asked_for_is_what_is_made(ask: Ask, tmp_path: Path, script: Write) -> None:
    script()
    begun = await ask(installation.BEGIN_SETUP, BeginParams("cu130", str(tmp_path / "big disk")))
    assert (begun.plan.variant, begun.folder) == ("cu130", str(tmp_path / "big disk" / "potluck-engines"))
    await ended(ask)
    assert (await ask(installation.SETUP_STATE)).plan.variant == "cpu"
    told = decode(SetupRequest, (tmp_path / "arguments").read_bytes())
    assert told == SetupRequest(f"{tmp_path}/state/engines", BeginParams("cu130", f"{tmp_path}/big disk"))


async def test_a_failure_says_why_and_is_forgotten_with_the_next_try(ask: Ask, script: Write) -> None:
    script(FETCHING, FAILED, after="exit 1")
    await ask(installation.BEGIN_SETUP)
    assert (await ended(ask)).error == FAILED.problem
    script(FAILED, after="echo 'a library says something'; exit 1")
    await ask(installation.BEGIN_SETUP)
    assert (await ended(ask)).error == FAILED.problem
    script(after="echo 'MemoryError: no' >&2; exit 3")
    await ask(installation.BEGIN_SETUP)
    error = (await ended(ask)).error
    assert error is not None
    assert (str(error.text), bool(error.hint)) == ("the set-up ended: MemoryError: no", True)
    script()
    await ask(installation.BEGIN_SETUP)
    assert (await ended(ask)).error is None


async def test_a_second_one_is_refused_while_one_runs_and_cancelling_ends_it(ask: Ask, script: Write) -> None:
    script(FETCHING, after=f"trap '' TERM\nwhile true; do {WAIT} || sleep 60; done")
    await ask(installation.BEGIN_SETUP)
    await reached(ask, FETCHING.progress)
    for method in (installation.BEGIN_SETUP, installation.ROLL_BACK_SETUP):
        with pytest.raises(ControlError, match="being set up already") as refused:
            await ask(method)
        assert refused.value.hint
    state = await ask(installation.CANCEL_SETUP)
    assert (state.progress, state.error) == (None, None)
    script()
    await ask(installation.BEGIN_SETUP)
    assert (await ended(ask)).error is None
    assert (await ask(installation.CANCEL_SETUP)).error is None


async def test_the_daemons_end_ends_it(
    places: Places, environment: dict[str, str], tmp_path: Path, script: Write
) -> None:
    async with own_daemon(places, environment) as daemon:
        script(FETCHING, after=f"echo $$ >{tmp_path}/pid\n{WAIT}")
        ask = asking(daemon)
        await ask(installation.BEGIN_SETUP)
        await reached(ask, FETCHING.progress)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


async def test_a_variant_that_does_not_exist_is_refused_and_a_folder_that_cannot_be_used_is_among_the_findings(
    ask: Ask, tmp_path: Path, script: Write
) -> None:
    script()
    with pytest.raises(ControlError, match="no variant 'cu999'") as refused:
        await ask(installation.BEGIN_SETUP, BeginParams("cu999"))
    assert "cpu" in (refused.value.hint or "")
    assert (await ask(installation.SETUP_STATE)).progress is None
    (tmp_path / "file").touch()
    begun = await ask(installation.BEGIN_SETUP, BeginParams(folder=str(tmp_path / "file")))
    assert [finding.subject for finding in begun.findings if finding.severity == "error"] == ["folder"]


def environment_in_use(store: Store, name: str, variant: str = "cpu", python: str = "3.11") -> Path:
    """Make one with an interpreter that says what a trial says. Return the interpreter."""
    path = interpreter(store.root / name)
    path.parent.mkdir(parents=True)
    path.write_text(f"""#!/bin/sh\necho '{{"devices": ["{name}"]}}'\n""")
    path.chmod(0o755)
    store.finish(store.root / name, EnvironmentManifest(variant, "2.13.0", "0", python, (name,), made_at=1.0))
    store.switch(store.root / name)
    return path


async def test_going_back_tries_the_earlier_environment_and_uses_it(ask: Ask, places: Places) -> None:
    """By the real process."""
    store = Store(places.engines)
    environment_in_use(store, "older")
    newer = environment_in_use(store, "newer")
    assert (await ask(installation.SETUP_STATE)).devices == ("newer",)
    await ask(installation.ROLL_BACK_SETUP)
    state = await ended(ask)
    assert (state.error, state.devices, state.can_roll_back) == (None, ("older",), True)
    newer.write_text("#!/bin/sh\nexit 1\n")
    await ask(installation.ROLL_BACK_SETUP)
    error = (await ended(ask)).error
    assert error is not None
    assert "does not work here" in str(error.text)
    assert store.current() == store.root / "older"


async def test_an_engine_whose_python_is_gone_is_set_up_again_when_the_daemon_starts(
    places: Places, environment: dict[str, str], tmp_path: Path, script: Write
) -> None:
    """As after an upgrade of the distribution."""
    script(FETCHING, after=WAIT)
    store = Store(places.engines)
    assert store.orphan() is None
    python = environment_in_use(store, "one", "cu130", "3.2")
    assert store.orphan() is None
    replace_link(python, "/usr/bin/python3.2")
    async with own_daemon(places, environment) as daemon:
        await reached(asking(daemon), FETCHING.progress)
    told = decode(SetupRequest, (tmp_path / "arguments").read_bytes())
    assert told == SetupRequest(str(places.engines), BeginParams("cu130"))
