"""Each command as root, beside a service whose user planted links and programs: root follows and runs none of them."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from helpers.installing import INVITE
from potluck_cli.main import COMMANDS

from potluck.membership.joined import JoinedSwarms
from tests.helpers.fork_server import READ_AT_IMPORT, start_python

NOBODY = 65534
SECRET = "only root may read this"
LINES = (  # at least one a command; `setup` must not get as far as a change of this machine
    *("start", "stop", "drain --within 0s", "status", "top -n 1", "pause forever", "resume", "join", "leave", "doctor"),
    *("members", "members backup {out}", "members restore {backup}", "models list", "estimate demo-model"),
    *("programs list", "history", "earnings", "logs", "diag --output {out}", "autostart", "serve"),
    *("ledger check", "ledger backup {out}", "ledger restore {backup} --replace"),
    *("config list", "config edit", "config set serve.num_blocks 2", "setup --check", "setup --rollback"),
    *("update --check", "update --rollback", "generate hello", "chat hello", "completions bash", "control --wait 0"),
    *("agent claude --write", "gateway status", "swarm list", "swarm join", "swarm page --output {out}"),
    *("swarm page", "bootstrap --port 0 --host 127.0.0.1"),
)
PLANTED_PROGRAM = "#!/bin/sh\nid -u >> {said}\n"
PLANTED_LINKS = (
    *("potluckd.log", "potluckd.lock", "ledger.sqlite", "identity.key", "updates.json", "updates.lock", "state.json"),
    *("swarms.json", "history.jsonl", "receipts"),
)
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(("torch", "hivemind", "transformers")))  # as in a daemon's own environment
from potluck_cli import connect, main
connect.start_daemon = lambda: sys.exit("a daemon would start")
main.program()
"""
_IS_OPEN = all(folder.stat().st_mode & 1 for folder in Path(__file__).parents)
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not _IS_OPEN, reason="needs a checkout that a service's user can read"),
]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder that others can enter; pytest's are for this user alone."""
    with tempfile.TemporaryDirectory(prefix="potluck-root-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def test_each_command_is_tried() -> None:
    assert {line.split()[0] for line in LINES} == set(COMMANDS)


@pytest.mark.parametrize("line", LINES)
def test_nothing_that_the_services_user_planted_is_used_as_root(tmp_path: Path, line: str) -> None:
    roots, said = _plant(tmp_path)
    words = line.format(out=tmp_path / "out", backup=tmp_path / "nothing").split()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(roots / "sock"))
        listener.listen()
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        done = _run([program, *words], tmp_path)
        assert _heard(listener) == b""
    assert SECRET not in done.stdout + done.stderr
    assert (roots / "secret").read_text() == SECRET
    assert (roots / "secret").stat().st_mode & 0o777 == 0o600
    assert "0" not in (said.read_text().split() if said.exists() else [])
    assert not [path for path in (tmp_path / "state").rglob("*") if path.lstat().st_uid == 0]
    for path in (tmp_path / "out", tmp_path / "configuration"):
        assert not any(SECRET.encode() in found.read_bytes() for found in (path, *path.rglob("*")) if found.is_file())


def _plant(folder: Path) -> tuple[Path, Path]:
    """Make the folders of a service and, behind links in its state folder, what its user wants root to use."""
    roots, state, said = folder / "roots", folder / "state", folder / "said"
    for made in (roots, state, said, folder / "runtime", folder / "configuration", folder / "home"):
        made.mkdir()
    roots.chmod(0o1777)  # such as /tmp
    said.chmod(0o777)
    (roots / "secret").write_text(SECRET)
    (roots / "secret").chmod(0o600)
    manifest = '{"variant": "cpu", "torch": "1", "requirements": "1", "python": "3.11", "devices": [], "made_at": 1}'
    for name in ("one", "two"):
        python = roots / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(PLANTED_PROGRAM.format(said=said / "ran-as"))
        python.chmod(0o755)
        (roots / name / "environment.json").write_text(manifest)
    (roots / "current").symlink_to("one")
    (roots / "previous").symlink_to("two")
    (state / "engines").symlink_to(roots)
    for name in PLANTED_LINKS:
        (state / name).symlink_to(roots / "secret")
    (state / "settings.accepted.toml").write_text(f"# {SECRET}\n[updates]\nurl = 'https://127.0.0.1:9/'\n")
    (folder / "runtime" / "potluckd.sock").symlink_to(roots / "sock")
    for path in (state, *state.iterdir(), folder / "runtime", folder / "runtime" / "potluckd.sock"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return roots, said / "ran-as"


def _heard(listener: socket.socket) -> bytes:
    """Return what a client said to a socket of root, to which the service's user led it."""
    listener.setblocking(False)
    heard = b""
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return heard
        with connection:
            heard += connection.recv(1000)


def test_root_lists_the_swarms_of_the_machines_service(tmp_path: Path) -> None:
    state = tmp_path / "state"
    JoinedSwarms(state / "swarms.json", state / "identity.key").join(INVITE)
    for path in (state, *state.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    assert "friends" in _run(["-m", "potluck_cli.main", "swarm", "list"], tmp_path).stdout


def _run(arguments: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python as root on a machine whose service has its folders here."""
    kept = ("PATH", "LANG", *READ_AT_IMPORT)
    environment = {
        **{name: text for name, text in os.environ.items() if name.startswith(kept)},
        **{f"{name}_DIRECTORY": str(folder / name.lower()) for name in ("STATE", "CONFIGURATION", "RUNTIME", "CACHE")},
        "EDITOR": "true",
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "home"),
    }
    files = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start_python(arguments, env=environment, cwd=folder, text=True, **files) as process:
        out, errors = process.communicate(INVITE, timeout=250)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
