from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from potluck_daemon.updates.manifest import BadManifestError, is_newer, parse_key, read_offer
from potluck_daemon.updates.update import Daemon, switch
from potluck_daemon.updates.versions import Versions, own_versions

from potluck.errors import PotluckError, UsageError

PUBLISHER = Ed25519PrivateKey.generate()
FIELDS = {
    "product": "potluck",
    "version": "0.2.0",
    "issued_at": 1_800_000_000,
    "changes": ["faster", "kinder"],
    "files": {"run": {"name": "potluck-0.2.0.run", "sha256": "a" * 64, "bytes": 1000}},
}


def signed(fields: object, by: Ed25519PrivateKey = PUBLISHER) -> tuple[bytes, bytes]:
    content = json.dumps(fields).encode()
    return content, base64.b64encode(by.sign(content))


def ignore(text: str, done: int, total: int) -> None:
    pass


def test_what_the_publisher_signed_is_read() -> None:
    offer = read_offer(*signed(FIELDS), PUBLISHER.public_key())
    assert (offer.version, offer.changes, offer.files["run"].num_bytes) == ("0.2.0", ("faster", "kinder"), 1000)


@pytest.mark.parametrize(
    "change",
    [
        {"product": "another"},
        {"version": "newest"},
        {"version": "../../0"},
        {"issued_at": -1},
        {"changes": "all"},
        {"files": []},
        {"files": {"run": {"name": "../x", "sha256": "a" * 64, "bytes": 1}}},
        {"files": {"run": {"name": "x", "sha256": "short", "bytes": 1}}},
        {"files": {"run": {"name": "x", "sha256": "a" * 64, "bytes": 1 << 40}}},
    ],
)
def test_a_signed_offer_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadManifestError, match="makes no sense"):
        read_offer(*signed(FIELDS | change), PUBLISHER.public_key())


def test_another_key_a_changed_byte_or_no_signature_is_refused() -> None:
    content, signature = signed(FIELDS)
    other = base64.b64encode(Ed25519PrivateKey.generate().sign(content))
    for pair in ((content, other), (content.replace(b"0.2.0", b"0.2.1"), signature), (content, b""), (b"", signature)):
        with pytest.raises(BadManifestError, match="not signed by the publisher"):
            read_offer(*pair, PUBLISHER.public_key())


def test_a_key_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="no Ed25519 key"):
        parse_key("not a key")


@pytest.mark.parametrize(
    ("offered", "running", "newer"),
    [("0.2.0", "0.1.9", True), ("0.10", "0.9.9", True), ("0.1.0", "0.1", False), ("0.1.0", "0.2.0", False)],
)
def test_versions_are_compared_as_numbers(offered: str, running: str, newer: bool) -> None:
    assert is_newer(offered, running) is newer


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    for name in ("0.1.0", "0.2.0"):
        (tmp_path / "versions" / name / "bin").mkdir(parents=True)
        (tmp_path / "versions" / name / "bin" / "potluckd").touch()
    (tmp_path / "current").symlink_to("versions/0.1.0")
    return Versions(tmp_path)


def test_a_version_that_comes_up_stays_and_the_one_before_is_kept(versions: Versions) -> None:
    order: list[str] = []

    def drain() -> bool:
        order.append("drain")
        return True

    def start(folder: Path) -> str:
        order.append(versions.current())
        return versions.current()

    switch("0.2.0", versions, Daemon(drain, start), ignore)
    assert order == ["drain", "0.2.0"]
    assert (versions.current(), versions.previous(), versions.trial()) == ("0.2.0", "0.1.0", None)


def test_a_version_that_does_not_come_up_gives_way_to_the_one_before(versions: Versions) -> None:
    def start(folder: Path) -> str:
        if versions.current() == "0.2.0":
            raise PotluckError("the daemon does not answer")
        return versions.current()

    with pytest.raises(PotluckError, match=r"0\.2\.0 did not come up .*; 0\.1\.0 is in use again"):
        switch("0.2.0", versions, Daemon(lambda: True, start), ignore)
    assert (versions.current(), versions.trial()) == ("0.1.0", None)


def test_a_version_that_never_proves_itself_is_left_at_its_third_start(versions: Versions) -> None:
    """As after power cuts, or when systemd starts a daemon that crashes again and again."""
    versions.begin_trial("0.2.0")
    assert [versions.note_start() for _ in range(3)] == [True, True, False]
    assert versions.current() == "0.1.0"
    assert versions.note_start()


def test_a_trial_ends_with_its_proof_and_older_versions_go(versions: Versions) -> None:
    old = versions.folder("0.0.9")
    old.mkdir()
    versions.begin_trial("0.2.0")
    versions.note_start()
    versions.end_trial()
    assert not old.exists()
    assert [versions.note_start() for _ in range(5)] == [True] * 5


def test_an_incomplete_version_is_never_switched_to(versions: Versions) -> None:
    versions.folder("0.3.0").mkdir()
    with pytest.raises(PotluckError, match="not complete"):
        versions.begin_trial("0.3.0")
    assert versions.current() == "0.1.0"


def test_an_installation_of_another_tool_is_none_of_ours(versions: Versions, tmp_path: Path) -> None:
    assert own_versions("/usr/lib/potluck") is None
    assert own_versions(str(tmp_path / "venv")) is None
    found = own_versions(str(versions.root / "current"))
    assert found is not None
    assert found.root == versions.root
