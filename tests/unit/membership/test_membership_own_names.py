"""Guesses of what others call this person and this computer, and the file of what the user chose."""

from pathlib import Path

import pytest

from potluck.membership import own_names
from potluck.membership.own_names import OwnNames, OwnNamesFile, guessed_names


@pytest.mark.parametrize(
    ("sudo", "login", "real", "host", "wanted"),
    [
        ("", "ana", "Ana Example,,,", "anas-laptop.lan", OwnNames("Ana Example", "anas-laptop")),
        ("", "ana", "", "vm", OwnNames("Ana", "Ana's computer")),
        ("bob", "root", "", "localhost", OwnNames("Bob", "Bob's computer")),
        ("", "root", "root", "debian", OwnNames("", "computer")),
        ("", "ubuntu", "Ubuntu", "ip-10-0-0-7", OwnNames("", "computer")),
        ("", "ana", "", "DESKTOP-4F7K2Q1", OwnNames("Ana", "Ana's computer")),
    ],
)
def test_nobody_is_called_root_on_vm(
    sudo: str, login: str, real: str, host: str, wanted: OwnNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_names, "_login", lambda: login)
    monkeypatch.setattr(own_names, "_real_name", lambda name: real.split(",")[0] if name == login else "")
    monkeypatch.setattr(own_names.socket, "gethostname", lambda: host)
    monkeypatch.setattr(own_names, "_MACHINE", Path("/nowhere"))
    monkeypatch.setenv("SUDO_USER", sudo)
    assert guessed_names() == wanted


def test_chosen_names_are_kept_in_the_form_that_records_allow(tmp_path: Path) -> None:
    file = OwnNamesFile(tmp_path / "names.json")
    assert file.load() == OwnNames()
    file.keep(OwnNames("  <Jose\u0301>\t Example! ", ""))
    assert file.keep(OwnNames("", "attic")) == OwnNames("Jos\u00e9 Example", "attic")
    assert OwnNamesFile(tmp_path / "names.json").load() == OwnNames("Jos\u00e9 Example", "attic")
