"""The bundle that people send to others: everything that helps, nothing that is private."""

import json
import random
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_cli.main import main
from potluck_cli.upkeep import diagnosis
from potluck_control.api.schema import Status, SwarmStatus, Transition
from potluck_control.places import user_places
from potluck_control.states import Reason, State
from potluck_daemon.reporting.history import HistoryFile

from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm
from potluck.sentences import verbatim

USER, HOST = "anastasia", "attic-machine"
PEER = str(Identity.generate().peer_id)
ADDRESS = f"/ip4/203.0.113.77/tcp/31337/p2p/{PEER}"
SWARM = replace(new_swarm("sundayfriends", "owner/model", 4), bootstrap_peers=(ADDRESS,))
SETTINGS = """
[serve]
name = "anastasias-attic"
swarm = "sundayfriends"
listen = ["/ip4/198.51.100.9/tcp/31337"]
checkpoint = "{home}/models/secret-project"
num_blocks = 3
nonsense = 1
"""
STATUS = Status(
    State.SERVING,
    Reason.NONE,
    "Serving layers 1-4 of owner/model",
    1.0,
    "1",
    swarm=SwarmStatus("sundayfriends", "owner/model", 4, peer_id=PEER),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home" / USER
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("HF_HOME", raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setattr(diagnosis, "words_of_person", lambda: (USER, str(home), HOST))
    monkeypatch.setattr(diagnosis, "status_or_reason", lambda: STATUS)
    monkeypatch.setattr("potluck_daemon.doctor.network._answers", lambda target: False)
    places = user_places()
    places.settings_file.parent.mkdir(parents=True)
    places.settings_file.write_text(SETTINGS.format(home=home))
    JoinedSwarms(places.swarms_file, places.identity_file).create(SWARM, name="Zoe Hill", computer="mole")
    HistoryFile(places.history_file).append(
        Transition(
            1.0, State.STARTING, State.ERROR, Reason.ENGINE_FAILED, verbatim(f"cannot read {home}/models/x of {USER}")
        )
    )
    places.log_file.write_text(
        f"2026-11-21 10:00:00,000 INFO x: dialling {ADDRESS} of {HOST}\n"
        f"2026-11-21 10:00:01,000 INFO x: joined by {encode_invite(Invite(SWARM))}\n"
        "2026-11-21 10:00:01,000 INFO x: Zoe Hill asks from mole\n"
        f"2026-11-21 10:00:02,000 INFO x: sundayfriends at 192.0.2.4:5555, {home}/.cache/y\n"
    )
    return home


def bundle(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_it_can_be_written_where_nobody_can_seek_but_not_just_anywhere(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_places().log_file.write_text("".join(f"{random.Random(n).random()}\n" for n in range(2000)))  # hard to pack
    assert main(["diag", "--output", "/dev/null", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] > 10_000
    assert main(["diag", "--output", "/proc/none/d.zip"]) == 1
    assert "choose another place" in capsys.readouterr().err


def test_it_holds_what_helps(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diag", "--output", str(tmp_path / "d.zip"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(tmp_path / "d.zip")
    parts = bundle(tmp_path / "d.zip")
    files = {"versions.json", "doctor.json", "settings.json", "status.json", "history.jsonl", "log.txt"}
    assert set(parts) == files
    assert json.loads(parts["versions.json"])["potluck"]
    assert json.loads(parts["settings.json"])["serve.num_blocks"] == 3
    assert "serve.nonsense" in parts["settings.json"]
    assert json.loads(parts["status.json"])["state"] == "serving"
    assert json.loads(parts["history.jsonl"])["reason"] == "engine_failed"
    assert any(item["check"]["text"] == "Is there room on the disk?" for item in json.loads(parts["doctor.json"]))
    assert "dialling /ip4/[address]/tcp/31337" in parts["log.txt"]


def test_it_holds_nothing_private(home: Path, tmp_path: Path) -> None:
    main(["diag", "--output", str(tmp_path / "d.zip")])
    places = user_places()
    (membership,) = JoinedSwarms(places.swarms_file).load().values()
    raw = "".join(
        path.read_text() for path in (places.settings_file, places.history_file, places.log_file, places.swarms_file)
    )
    words = (USER, HOST, str(home), PEER, "sundayfriends", "attic", "203.0.113.77", "198.51.100.9", "192.0.2.4")
    words = (*words, "Zoe Hill", "mole")
    assert all(word in raw for word in words), "they were there to be found"
    for name, text in bundle(tmp_path / "d.zip").items():
        for word in (*words, encode_invite(Invite(SWARM))[12:40], membership.person_seed.hex()):
            assert word.lower() not in text.lower(), (name, word)


def test_it_does_not_name_the_swarm_that_only_the_daemon_still_knows(home: Path, tmp_path: Path) -> None:
    places = user_places()
    places.settings_file.write_text("")
    for file in places.swarms_file.parent.glob(f"*{places.swarms_file.name}*"):  # the checked copy, too
        file.write_text("damaged")
    places.log_file.unlink()
    assert main(["diag", "--output", str(tmp_path / "d.zip")]) == 0
    assert "sundayfriends" not in "".join(bundle(tmp_path / "d.zip").values())
