"""The publisher's tool: what it signs is what installations take, and what they would refuse it does not sign."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from potluck_daemon.updates.manifest import read_offer
from potluck_daemon.updates.publisher import KnownPublisher, accept

from installer.release import MANIFEST, load_key, new_key, public_part, release
from installer.tree import product_version
from potluck.errors import UsageError

CHANGES = ["faster"]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_key(tmp_path / "publisher.key")
    return tmp_path / "publisher.key"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    made = tmp_path / "dist"
    made.mkdir()
    for version in ("0.1.0", "0.2.0"):
        (made / f"potluck-{version}.run").write_text(f"files of {version}")
        (made / f"potluck_{version}_amd64.deb").write_text(f"package of {version}")
    return made


def signed(dist: Path) -> tuple[bytes, bytes]:
    return (dist / MANIFEST).read_bytes(), (dist / f"{MANIFEST}.sig").read_bytes()


def test_installations_take_what_was_signed(dist: Path, key: Path) -> None:
    private = load_key(key)
    release(dist, "0.2.0", CHANGES, private)
    offer, signer = read_offer(*signed(dist), [public_part(private)])
    seen = accept(offer, signer, KnownPublisher(anchor=signer, key=signer), time.time())
    assert (seen.version, offer.changes, offer.files["run"].name) == ("0.2.0", ("faster",), "potluck-0.2.0.run")
    assert set(offer.files) == {"run", "potluck_0.2.0_amd64.deb"}


def test_the_same_version_is_signed_again_later(dist: Path, key: Path) -> None:
    first, second = (release(dist, "0.2.0", CHANGES, load_key(key)) for _ in range(2))
    assert second.issued_at > first.issued_at


def test_a_lower_version_and_other_files_of_one_version_are_refused(dist: Path, key: Path) -> None:
    release(dist, "0.2.0", CHANGES, load_key(key))
    before = signed(dist)
    with pytest.raises(UsageError, match="do not go back to"):
        release(dist, "0.1.0", CHANGES, load_key(key))
    (dist / "potluck-0.2.0.run").write_text("mended in secret")
    with pytest.raises(UsageError, match="released with other files"):
        release(dist, "0.2.0", CHANGES, load_key(key))
    assert signed(dist) == before


def test_another_key_signs_only_what_the_one_before_named_it_for(dist: Path, key: Path, tmp_path: Path) -> None:
    next_public = new_key(tmp_path / "next.key")
    old, new = load_key(key), load_key(tmp_path / "next.key")
    release(dist, "0.1.0", CHANGES, old)
    with pytest.raises(UsageError, match="another key"):
        release(dist, "0.2.0", CHANGES, new)
    release(dist, "0.1.0", CHANGES, old, next_key=next_public)
    release(dist, "0.2.0", CHANGES, new)
    assert read_offer(*signed(dist), [next_public])[0].version == "0.2.0"


def test_what_installations_would_refuse_is_not_signed(dist: Path, key: Path) -> None:
    for version, changes, more, words in (
        ("0.3.0", CHANGES, {}, r"no .*potluck-0\.3\.0\.run"),
        ("0.2.0", [], {}, "no changes"),
        ("0.2.0", CHANGES, {"next_key": "short"}, "no Ed25519 key"),
        ("0.2.0", CHANGES, {"days": 0}, "would refuse"),
        ("0.2.0", ["x"] * 51, {}, "would refuse"),
    ):
        with pytest.raises(UsageError, match=words):
            release(dist, version, changes, load_key(key), **more)
        assert not (dist / MANIFEST).exists()


def test_a_key_is_private_and_never_overwritten(key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="not overwritten"):
        new_key(key)
    key.write_text("no key")
    with pytest.raises(UsageError, match="cannot be read as a key"):
        load_key(key)


def test_the_commands_of_the_publishers_page(dist: Path, tmp_path: Path) -> None:
    """docs/releasing.md, with folders of this test."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "installer.release", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    (tmp_path / "changes.txt").write_text("- faster\n\n- kinder\n")
    (dist / f"potluck-{product_version()}.run").write_text("files")
    made = run("--new-key", str(tmp_path / "cli.key"))
    arguments = ("--key", str(tmp_path / "cli.key"), "--changes", str(tmp_path / "changes.txt"), "--dist", str(dist))
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert read_offer(*signed(dist), [made.stdout.strip()])[0].changes == ("faster", "kinder")
    refused = run("--new-key", str(tmp_path / "cli.key"))
    assert (refused.returncode, "not overwritten" in refused.stderr) == (1, True)
