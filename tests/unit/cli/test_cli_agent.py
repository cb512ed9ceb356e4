"""`potluck agent`: recipes that each program's parser reads, and files of other programs that keep what is in them."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs
from potluck_cli.main import main
from potluck_cli.programs import agent
from potluck_cli.programs.agent import merged_text
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyInfo, KeyList, KeyName, MadeKey
from potluck_control.recipes import RECIPES, Recipe
from test_cli_members import Daemon

URL, KEY, MODEL = "http://127.0.0.1:8737/v1", "potluck-key", 'owner/a "quoted" \\ model'
RUNNING = GatewayStatus(GatewayState.READY, URL, "token", "friends", "owner/large")
OWN = {  # what a user has in the program's file before, and what of it has to stay
    ".json": ('{"theme": "dark", "env": {"A": "1"}, "provider": {"other": {}}}', {"theme": "dark"}),
    ".toml": ('# mine\nmodel = "old"\n\n[model_providers.other]\nname = "o"\n\n[tui]\nx = 1\n', {"tui": {"x": 1}}),
    ".yml": ("# mine\nmodel: old  # slow\ndark-mode: true\n", {"dark-mode": True}),
    ".yaml": ("# mine\nname: Ana's\nmodels:\n- name: other\n  model: m\nrules:\n- be brief\n", {"name": "Ana's"}),
}
WITH_FILES = [recipe for recipe in RECIPES if recipe.file]


def parsed(recipe: Recipe, text: str) -> Any:
    suffix = Path(recipe.file).suffix
    return json.loads(text) if suffix == ".json" else tomllib.loads(text) if suffix == ".toml" else yaml.safe_load(text)


def texts(value: Any) -> list[str]:
    """Every text in a parsed file, names included."""
    if isinstance(value, dict):
        return [found for pair in value.items() for found in (pair[0], *texts(pair[1]))]
    if isinstance(value, list):
        return [found for item in value for found in texts(item)]
    return [str(value)]


@pytest.mark.parametrize("recipe", WITH_FILES, ids=lambda recipe: recipe.name)
def test_a_recipe_is_read_with_its_values_whatever_the_model_is_called(recipe: Recipe) -> None:
    content, then = recipe.filled(URL, KEY, MODEL)
    found = texts(parsed(recipe, content))
    assert {URL, URL.removesuffix("/v1")} & {*found}
    assert KEY in found or f'"{KEY}"' in then
    assert any(text.endswith(MODEL) for text in found)


@pytest.mark.parametrize("recipe", WITH_FILES, ids=lambda recipe: recipe.name)
def test_a_file_keeps_what_is_in_it_and_takes_new_values_the_second_time(recipe: Recipe) -> None:
    old, kept = OWN[Path(recipe.file).suffix]
    first = merged_text(recipe.file, old, recipe.filled(URL, "key-1", "model-1")[0])
    text = merged_text(recipe.file, first, recipe.filled(URL, "key-2", "model-2")[0])
    assert text == merged_text(recipe.file, old, recipe.filled(URL, "key-2", "model-2")[0])
    assert kept.items() <= parsed(recipe, text).items()
    assert ("# mine" in text) == ("# mine" in old)
    assert "model-1" not in text
    others = {"codex": ("model_providers", "other"), "opencode": ("provider", "other")}
    if recipe.name in others:
        section, name = others[recipe.name]
        assert {name, "potluck"} <= parsed(recipe, text)[section].keys()
    if recipe.name == "continue":
        assert [each["name"] for each in parsed(recipe, text)["models"]] == ["Potluck", "other"]


@pytest.mark.parametrize("old", ["models: []\n", "models:\n", "models:\n  # none\n", "schema: v1", ""])
def test_a_list_may_be_empty(old: str) -> None:
    recipe = next(recipe for recipe in RECIPES if recipe.name == "continue")
    (model,) = yaml.safe_load(merged_text(recipe.file, old, recipe.filled(URL, KEY, MODEL)[0]))["models"]
    assert model["model"] == MODEL


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Daemon:
    made = Daemon(
        gateway__status=RUNNING,
        gateway__keys=KeyList(),
        gateway__make_key=lambda params: MadeKey(params.name, KEY),
        gateway__revoke_key=KeyList(),
    )
    monkeypatch.setattr(agent, "daemon", lambda: made)
    monkeypatch.setenv("HOME", str(tmp_path))
    return made


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["agent", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["agents"]


def test_the_programs_are_listed_without_making_a_key(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    listed = told(capsys)
    names = {"claude", "codex", "aider", "opencode", "continue", "cline", "zed"}
    assert names <= {each["name"] for each in listed}
    assert daemon.asked == []


def test_a_program_gets_a_key_of_its_own_instead_of_its_earlier_one(
    daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agent", "codex"]) == 0
    said = capsys.readouterr().out
    assert all(text in said for text in ("~/.codex/config.toml", URL, KEY, "owner/large"))
    assert "no longer works" not in said
    daemon.answers["gateway.keys"] = KeyList((KeyInfo("codex", 0.0),))
    assert main(["agent", "codex"]) == 0
    assert "The earlier key codex no longer works." in capsys.readouterr().out
    assert daemon.asked[-2:] == [KeyName("codex")] * 2


def test_a_gateway_that_does_not_run_is_named_with_its_address(
    daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = structs.replace(RUNNING, state=GatewayState.STOPPED, url="")
    daemon.answers["gateway.status"] = stopped
    assert main(["agent", "cline"]) == 0
    said = capsys.readouterr().out
    assert URL in said
    assert "potluck gateway start --stay" in said


def test_a_file_is_written_with_its_copy_beside_it(
    daemon: Daemon, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / ".claude" / "settings.json"
    assert told(capsys, "claude", "--write")[0]["backup"] == ""
    assert json.loads(path.read_text())["env"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8737"
    assert path.stat().st_mode & 0o777 == 0o600
    own = '{"theme": "dark"}'
    path.write_text(own)
    written = told(capsys, "claude", "--write")[0]
    assert Path(written["backup"]).read_text() == own
    assert {"theme", "env"} == json.loads(path.read_text()).keys()
    assert told(capsys, "continue", "--write")[0]["is_written"]
    assert yaml.safe_load((tmp_path / ".continue" / "config.yaml").read_text())["schema"] == "v1"


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("zed", ".config/zed/settings.json", b'// comments\n{"theme": "dark"}'),
        ("claude", ".claude/settings.json", b'{"env": [1]}'),
        ("claude", ".claude/settings.json", b"\xff\xfe"),
        ("codex", ".codex/config.toml", b'model = "unclosed'),
        ("aider", ".aider.conf.yml", b"{model: old}"),
        ("continue", ".continue/config.yaml", b"models: [{name: other}]\n"),
        ("continue", ".continue/config.yaml", b"models:\n# mine\n- name: A\n"),
        ("continue", ".continue/config.yaml", b"models:\n- name: Potluck\n\n  model: x\n"),
        ("continue", ".continue/config.yaml", b"models:\n- provider: z\n  name: Potluck\n"),
        ("aider", ".aider.conf.yml", b"openai-api-key: |\n  abc\n"),
        ("aider", ".aider.conf.yml", b"model: a\nmodel: b\n"),
        ("cline", "", b""),
    ],
)
def test_a_file_that_is_not_understood_stays_and_no_key_is_made(
    daemon: Daemon, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, file: str, content: bytes
) -> None:
    path = tmp_path / (file or "none")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    assert main(["agent", name, "--write"]) == 2
    assert f"potluck agent {name} prints" in capsys.readouterr().err
    assert path.read_bytes() == content
    assert [*path.parent.iterdir()] == [path]
    assert KeyName(name) not in daemon.asked
