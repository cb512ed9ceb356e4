"""Two installed versions serve one swarm: half of the model each, in both orders, and each of them generates."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.machine import GENERATE, local_tokens
from helpers.releases import VERSION_BESIDE, Installation, checkout, make_release

from installer.tree import SOURCE

EARLIER, THIS = "0.0.1", "0.0.2"
_SETTINGS = '[serve]\nlisten = ["/ip4/127.0.0.1/tcp/0"]\nthreads = 1\nblocks = "{blocks}"\n'


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The version that serves beside this one, and this one."""
    source = checkout(VERSION_BESIDE, tmp_path_factory.mktemp("source"))
    if source is None:
        pytest.skip("this copy of the source has no history to make the earlier version from")
    model = source / "resources" / "demo-model"  # a swarm has one model, also where a version brings another
    shutil.rmtree(model)
    shutil.copytree(SOURCE / "resources" / "demo-model", model)
    out = tmp_path_factory.mktemp("releases")
    return {EARLIER: make_release(out, EARLIER, source=source), THIS: make_release(out, THIS)}


@contextlib.contextmanager
def installed(release: Path, blocks: str) -> Iterator[Installation]:
    with (
        tempfile.TemporaryDirectory(prefix="pl-") as folder,  # sockets need a short path
        Installation(Path(folder), release) as made,
    ):
        made.set(_SETTINGS.format(blocks=blocks))
        yield made


def said(installation: Installation, *arguments: str) -> str:
    done = installation.command(*arguments)
    log = installation.places.log_file
    assert done.returncode == 0, f"{arguments[0]}\n{done.stderr}\n{log.read_text()[-4000:] if log.exists() else ''}"
    return done.stdout.strip()


@pytest.mark.timeout(900, func_only=True)  # on two slow cores
@pytest.mark.parametrize(("founder", "friend"), [(EARLIER, THIS), pytest.param(THIS, EARLIER, marks=pytest.mark.soak)])
def test_a_chain_over_two_versions_generates_exact_tokens_for_both(
    releases: dict[str, Path], founder: str, friend: str
) -> None:
    with installed(releases[founder], "0:6") as first, installed(releases[friend], "6:12") as second:
        said(first, "start", "--demo")
        assert (first.running(), first.in_use()) == (founder, founder)
        said(second, "join", said(first, "swarm", "invite"))
        said(second, "start")
        assert (second.running(), second.in_use()) == (friend, friend)
        tokens = local_tokens()
        for client in (first, second):
            assert json.loads(said(client, *GENERATE))["tokens"] == tokens
