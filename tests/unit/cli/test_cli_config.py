"""`potluck config`: what it shows, changes and refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from potluck_cli.main import main
from potluck_control.settings import Settings, entries
from potluck_daemon.settings.store import load_settings


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path / "potluck" / "settings.toml"


Editor = Callable[[str], None]


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Lets `config edit` run a sed command on the file."""
    monkeypatch.delenv("VISUAL", raising=False)
    return lambda sed: monkeypatch.setenv("EDITOR", f"sed -i -e '{sed}'")


def test_all_settings_are_listed_with_what_they_mean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "list"]) == 0
    out = capsys.readouterr().out
    assert all(f"{entry.key} = " in out and entry.help in out for entry in entries())


def test_a_value_that_is_set_is_got_and_unset_and_scripts_get_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "yield.always", "blender, Game.exe"]) == 0
    assert "yield.always = blender,Game.exe" in capsys.readouterr().out
    assert main(["config", "get", "yield.always"]) == 0
    assert capsys.readouterr().out == "blender,Game.exe\n"
    assert main(["config", "unset", "yield.always"]) == 0
    assert main(["config", "get", "yield.always"]) == 0
    assert capsys.readouterr().out.endswith("(none)\n")
    assert main(["config", "set", "serve.num_blocks", "4", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    (setting,) = page["settings"]
    assert (setting["key"], setting["value"], setting["default"], page["problems"]) == ("serve.num_blocks", 4, 0, [])


def test_what_cannot_be_is_refused_with_advice(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["set", "serve.num_blocks", "-3"], "expected a whole number from 0 to"),
        (["set", "serve.checkpoint", "/nowhere/model"], "there is no folder /nowhere/model"),
        (["set", "serve.num_block", "3"], "did you mean serve.num_blocks?"),
        (["get", "blocks"], "did you mean serve.blocks?"),
        (["get", "zzz"], "potluck config list"),
    ):
        assert main(["config", *arguments]) == 2
        assert words in capsys.readouterr().err
        assert not path.exists()


def test_the_editor_first_sees_every_setting_with_its_default(path: Path, editor: Editor) -> None:
    editor("s/^#//")
    assert main(["config", "edit"]) == 2  # the sentences are no TOML
    editor("s/^#\\([a-z_]* =\\)/\\1/")
    assert main(["config", "edit"]) == 0
    loaded = load_settings(path, {})
    assert loaded.settings == Settings()
    assert loaded.is_valid
    assert all(f"\n{entry.name} = " in path.read_text() for entry in entries())


def test_an_edit_with_a_mistake_changes_nothing(path: Path, editor: Editor, capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "set", "serve.threads", "2"])
    before = path.read_text()
    editor("s/threads = 2/threads = two/")
    assert main(["config", "edit"]) == 2
    assert "line 4" in capsys.readouterr().err
    assert path.read_text() == before


def test_an_edit_mends_a_file_that_commands_refuse(path: Path, editor: Editor) -> None:
    path.parent.mkdir()
    path.write_text("[serve\nthreads = 2\n")
    assert main(["config", "set", "serve.threads", "3"]) == 2
    editor("s/.serve$/[serve]/")
    assert main(["config", "edit"]) == 0
    assert load_settings(path, {}).settings.serve.threads == 2


@pytest.mark.usefixtures("editor")
def test_without_an_editor_it_is_said_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    assert main(["config", "edit"]) == 2
    assert "name one in EDITOR" in capsys.readouterr().err
    monkeypatch.setenv("EDITOR", "false")
    assert main(["config", "edit"]) == 2
