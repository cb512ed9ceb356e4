"""The Containerfile built for real, and compose.yaml's services run from the image: a private swarm that answers."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.image import Builder, Container
from potluck_control.resources import DEMO_MODEL

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "resources" / "container"
UID = 990  # of the image's user
WAIT_S = 120.0
MODEL = f"/usr/local/lib/python3.11/dist-packages/potluck_control/resources/{DEMO_MODEL}"
LOOPBACK = {"OMP_NUM_THREADS": "1", "POTLUCK_SERVE_THREADS": "1", "POTLUCK_SERVE_LISTEN": "/ip4/127.0.0.1/tcp/0"}

ASK = """
import json, sys, urllib.request
ready = json.load(sys.stdin)
question = {"messages": [{"role": "user", "content": "Count from 7 to 9:"}], "max_tokens": 8}
headers = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
request = urllib.request.Request(ready["url"] + "/chat/completions", json.dumps(question).encode(), headers)
print(urllib.request.urlopen(request, timeout=120).read().decode())"""

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(900, func_only=True),
    pytest.mark.soak,
]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """The context is what a clean checkout has."""
    context = tmp_path_factory.mktemp("context")
    for name in ("pyproject.toml", "README.md", "LICENSE", "potluck", "daemon", "app", "resources"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, context / name)
    with Builder() as made:
        made.make_base()
        made.build(FOLDER / "Containerfile", context)
        yield made


def wait_for(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + WAIT_S
    while True:
        result = found()
        if result:
            return result
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.2)


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is(builder: Builder) -> None:
    config = builder.config()
    assert config["User"] == "potluck"
    assert set(config["Volumes"]) == {"/var/lib/potluck", "/var/cache/potluck"}
    assert config["Healthcheck"]["Test"] == ["CMD", "potluck", "status", "--json"]
    assert [*config["Entrypoint"], *config["Cmd"]] == ["potluck-node", "daemon"]
    container = builder.container({})
    assert container.output(["id", "-u"], {}) == str(UID)
    assert container.output(["potluck-node", "potluck", "--version"], {}).startswith("potluck ")


def test_the_services_of_the_compose_file_are_a_swarm_that_answers(builder: Builder, tmp_path: Path) -> None:
    """Compose's own network is one with loopback alone here, in which the meeting point's name leads there."""
    told = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    entry = builder.config()["Entrypoint"]
    folders: dict[str, Path] = {}
    containers = {}
    for name, service in told["services"].items():
        volumes = {}
        for place in service["volumes"]:
            volume, seen = place.split(":")[:2]
            folders.setdefault(volume, tmp_path / volume).mkdir(exist_ok=True)
            os.chown(folders[volume], UID, UID)
            volumes[seen] = folders[volume]
        containers[name] = builder.container(volumes)
        wanted = {key: str(value) for key, value in service["environment"].items() if "$" not in str(value)}
        given = {"SWARM": "friends", "MODEL": MODEL, "ANNOUNCE": "/ip4/127.0.0.1/tcp/31330"}
        containers[name].start([*entry, *service["command"]], LOOPBACK | given | wanted, tmp_path / f"{name}.log")
    wait_for((folders["swarm"] / "invite").exists)
    assert (folders["swarm"] / "invite").stat().st_mode & 0o077 == 0
    for member in (containers["meeting-point"], containers["member"]):
        wait_for(lambda member=member: _state(member) == "serving")
    gateway, ask = containers["gateway"], ["potluck", "gateway", "status", "--json"]
    ready = wait_for(lambda: _ready(gateway.output(ask, LOOPBACK)))
    answer = json.loads(gateway.output(["python3", "-c", ASK], LOOPBACK, said=json.dumps(ready)))
    assert answer["choices"][0]["message"]["content"]


def _state(member: Container) -> str:
    return json.loads(member.output(["potluck", "status", "--json"], LOOPBACK))["state"]


def _ready(said: str) -> dict[str, str] | None:
    status = json.loads(said)
    assert status["state"] != "failed", status
    return status if status["state"] == "ready" else None
