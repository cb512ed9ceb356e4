"""The repository is what Debian's own apt takes, and what nobody can change on the way."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from installer.linux.repository import PUBLIC_KEY, lay_out
from potluck.errors import PotluckError

pytestmark = pytest.mark.apt
KEY = "publisher@potluck.invalid"


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    command = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", KEY, "ed25519", "sign", "never"]
    subprocess.run(command, check=True, capture_output=True)
    yield KEY
    subprocess.run(["gpgconf", "--kill", "all"], check=True)


def package(folder: Path, version: str) -> Path:
    control = folder / version / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.parent.chmod(0o755)  # dpkg-deb refuses less, and mkdir heeds the umask
    control.write_text(
        f"Package: potluck\nVersion: {version}\nArchitecture: all\nMaintainer: A <{KEY}>\nDescription: made\n of it\n"
    )
    made = folder / f"potluck_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--build", folder / version, made], check=True, capture_output=True)
    return made


def apt(folder: Path, repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an apt command that knows this repository alone."""
    for name in ("lists/partial", "archives/partial", "sources.list.d", "etc"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    (folder / "apt/status").touch()
    line = f"deb [signed-by={repository / PUBLIC_KEY}] file:{repository} ./\n"
    (folder / "apt/sources.list").write_text(line)
    places = {"Dir::State": "", "Dir::State::status": "status", "Dir::State::lists": "lists", "Dir::Etc": "etc"}
    places |= {"Dir::Etc::sourcelist": "sources.list", "Dir::Etc::sourceparts": "sources.list.d"}
    places |= {"Dir::Cache": "", "Dir::Cache::archives": "archives"}
    options = [f"-o{name}={folder / 'apt' / value}" for name, value in places.items()]
    command = [arguments[0], *options, "-oAPT::Sandbox::User=root", *arguments[1:]]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_apt_takes_the_newest_package_of_the_repository(tmp_path: Path, key: str) -> None:
    lay_out([package(tmp_path, "1.0")], tmp_path / "dist", key)
    repository = lay_out([package(tmp_path, "2.0")], tmp_path / "dist", key)
    done = apt(tmp_path, repository, "apt-get", "update")
    assert (done.returncode, "W:" in done.stderr) == (0, False), done.stderr
    said = apt(tmp_path, repository, "apt-cache", "policy", "potluck").stdout
    assert "Candidate: 2.0" in said
    assert "1.0" in said
    assert "o=Potluck" in apt(tmp_path, repository, "apt-cache", "policy").stdout  # unattended upgrades ask for it


def test_apt_refuses_a_package_that_was_changed_on_the_way(tmp_path: Path, key: str) -> None:
    repository = lay_out([package(tmp_path, "1.0")], tmp_path / "dist", key)
    for name in ("Packages", "Packages.gz"):
        (repository / name).write_bytes(b"")
    assert apt(tmp_path, repository, "apt-get", "update").returncode != 0


def test_without_the_key_nothing_is_signed(tmp_path: Path, key: str) -> None:
    with pytest.raises(PotluckError, match="gpg cannot sign") as refused:
        lay_out([package(tmp_path, "1.0")], tmp_path / "dist", "nobody@potluck.invalid")
    assert refused.value.hint
