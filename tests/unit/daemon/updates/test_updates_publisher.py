"""Offers that a publisher did not sign, or that a server shows again, are refused; one process writes the notes."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from potluck_control.places import Places
from potluck_control.settings import UpdateSettings
from potluck_daemon.updates import manifest
from potluck_daemon.updates.publisher import KnownPublisher, NotesFile, UpdateNotes, accept, known_publisher

from potluck.errors import PotluckError, UsageError
from tests.helpers.publisher import FIELDS, Publisher

PUBLISHER = Publisher()


def test_what_the_publisher_signed_is_read() -> None:
    offer, signer = manifest.read_offer(*PUBLISHER.signed(FIELDS), ["A" * 43 + "=", PUBLISHER.key])
    assert (offer.version, offer.changes) == ("0.2.0", ("faster", "kinder"))
    assert offer.files == {"run": manifest.OfferedFile("potluck-0.2.0.run", "a" * 64, 1000)}
    assert signer == PUBLISHER.key


def test_a_signed_offer_that_makes_no_sense_is_refused() -> None:
    for change in (
        {"product": "another"},
        {"version": "newest"},
        {"version": "../../0"},
        {"issued_at": -1},
        {"issued_at": 1.5},
        {"expires_at": FIELDS["issued_at"]},
        {"expires_at": 1 << 40},
        {"next_key": "short"},
        {"changes": "all"},
        {"files": []},
        {"files": {"run": {"name": "x\n", "sha256": "a" * 64, "bytes": 1}}},
        {"files": {"run": {"name": "../x", "sha256": "a" * 64, "bytes": 1}}},
        {"files": {"run": {"name": "x", "sha256": "short", "bytes": 1}}},
        {"files": {"run": {"name": "x", "sha256": "a" * 64, "bytes": 1 << 40}}},
    ):
        with pytest.raises(manifest.BadManifestError, match="makes no sense"):
            manifest.read_offer(*PUBLISHER.signed(FIELDS | change), [PUBLISHER.key])


def test_an_offer_at_the_limits_is_read() -> None:
    limits = {"issued_at": 0, "expires_at": 1, "changes": ["faster"] * 50}
    assert len(manifest.read_offer(*PUBLISHER.signed(FIELDS | limits), [PUBLISHER.key])[0].changes) == 50


def test_signed_bytes_that_are_no_description_are_refused() -> None:
    for content in (b"", b"[]", b"null", b"\xff", b"[" * 60_000):
        with pytest.raises(manifest.BadManifestError, match="makes no sense"):
            manifest.read_offer(content, PUBLISHER.signature(content), [PUBLISHER.key])


def test_another_key_a_changed_byte_or_no_signature_is_refused() -> None:
    content, signature = PUBLISHER.signed(FIELDS)
    other = Publisher().signature(content)
    changed, padded = content.replace(b"0.2.0", b"0.2.1"), signature[:9] + b"*" + signature[9:]
    for pair in ((content, other), (changed, signature), (content, padded), (content, b""), (b"", signature)):
        with pytest.raises(manifest.BadManifestError, match="not signed by the publisher"):
            manifest.read_offer(*pair, [PUBLISHER.key])


def test_a_description_that_is_too_large_is_not_looked_at() -> None:
    for size, problem in ((manifest.MAX_BYTES, "makes no sense"), (manifest.MAX_BYTES + 1, "too large")):
        content = b" " * size
        with pytest.raises(manifest.BadManifestError, match=problem):
            manifest.read_offer(content, PUBLISHER.signature(content), [PUBLISHER.key])


def test_a_publisher_has_a_key_and_an_encrypted_address_or_is_this_machine() -> None:
    for url in ("https://example.org/potluck.json", "http://localhost:8000/x", "http://[::1]/x"):
        manifest.require_publisher(UpdateSettings(url=url, key=PUBLISHER.key))
    elsewhere = ("http://192.0.2.1/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "https:///x", "x")
    for url in (*elsewhere, "http://127.0.0.1.x"):
        with pytest.raises(UsageError, match="not fetched from"):
            manifest.require_publisher(UpdateSettings(url=url, key=PUBLISHER.key))
    with pytest.raises(UsageError, match="no source of updates"):
        manifest.require_publisher(UpdateSettings())
    for text in ("not a key", f"{PUBLISHER.key[:9]}*{PUBLISHER.key[9:]}"):
        with pytest.raises(UsageError, match="no Ed25519 key"):
            manifest.parse_key(text)


def test_versions_are_compared_as_numbers() -> None:
    for offered, running, newer in (
        ("0.2.0", "0.1.9", True),
        ("0.10", "0.9.9", True),
        ("0.1.0", "0.1", False),
        ("0.1.0", "0.2.0", False),
    ):
        assert manifest.is_newer(offered, running) is newer


NOW = 1_000_000.0


DAY = 86400


SEEN = KnownPublisher(anchor="old", key="old", issued_at=900_000, version="0.3.0")


OFFER = manifest.Offer("potluck", "0.3.0", 900_000, 2_000_000, ("faster",), {})


def test_the_same_and_a_newer_description_are_accepted() -> None:
    assert accept(OFFER, "old", SEEN, NOW).version == "0.3.0"
    newer = accept(replace(OFFER, version="0.4.0", issued_at=950_000), "old", SEEN, NOW)
    assert (newer.version, newer.issued_at, newer.changes) == ("0.4.0", 950_000, ("faster",))


def test_what_goes_back_is_refused() -> None:
    for offer in (
        replace(OFFER, issued_at=899_999),  # older
        replace(OFFER, version="0.2.0", issued_at=800_000),  # older version
        replace(OFFER, version="0.2.0", issued_at=950_000),  # downgrade
        replace(OFFER, version="0.9.0", issued_at=800_000),  # older with a newer version
        replace(OFFER, version="0.4.0"),  # two of one time
    ):
        with pytest.raises(manifest.BadManifestError, match="old description"):
            accept(offer, "old", SEEN, NOW)


def test_what_has_expired_or_comes_from_the_future_is_refused_and_what_a_clock_errs_is_not() -> None:
    with pytest.raises(manifest.BadManifestError, match="expired"):
        accept(replace(OFFER, expires_at=int(NOW)), "old", SEEN, NOW)
    with pytest.raises(manifest.BadManifestError, match="future"):
        accept(replace(OFFER, issued_at=int(NOW) + DAY + 1), "old", SEEN, NOW)
    assert accept(replace(OFFER, issued_at=int(NOW) + DAY), "old", SEEN, NOW).issued_at > NOW


def test_a_key_hands_over_to_the_next_and_counts_no_more_unless_the_next_is_withdrawn() -> None:
    assert SEEN.keys == ("old",)
    announced = accept(replace(OFFER, next_key="new", issued_at=910_000), "old", SEEN, NOW)
    assert announced.keys == ("old", "new")
    taken = accept(replace(OFFER, next_key="new", issued_at=920_000), "new", announced, NOW)
    assert taken.keys == ("new",)
    assert accept(replace(OFFER, issued_at=920_000), "old", announced, NOW).keys == ("old",)


def test_a_user_who_names_another_key_begins_anew() -> None:
    rotated = KnownPublisher(anchor="old", key="new", issued_at=900_000, version="0.3.0")
    assert known_publisher("old", rotated) == rotated
    assert known_publisher("other", rotated) == KnownPublisher(anchor="other", key="other")


NOTES = UpdateNotes(
    KnownPublisher(anchor="key", key="key", issued_at=7, version="0.2.0", changes=("faster",)), asked_at=1.5
)


@pytest.fixture
def file(places: Places) -> NotesFile:
    return NotesFile(places)


def test_one_process_at_a_time_writes_what_others_read(file: NotesFile) -> None:
    assert file.read() == UpdateNotes()
    with file.lock():
        file.write(NOTES)
        with pytest.raises(PotluckError, match="another update is running"), file.lock():
            pass
    with file.lock() as notes:
        assert notes == NOTES


def test_what_the_version_before_noted_of_its_own_progress_is_ignored(file: NotesFile, places: Places) -> None:
    places.state.mkdir(exist_ok=True)
    (places.state / "updates.json").write_text('{"asked_at": 1.5, "step": {"text": 1}, "problem": null}')
    assert file.read() == UpdateNotes(asked_at=1.5)


@pytest.mark.parametrize("content", [b"", b"{}x", b'{"seen": 3}'])
def test_a_damaged_file_counts_as_empty_and_is_kept_for_who_wants_to_look(
    file: NotesFile, tmp_path: Path, content: bytes
) -> None:
    with file.lock():
        file.write(NOTES)
    (tmp_path / "state" / "updates.json").write_bytes(content)
    (tmp_path / "state" / "updates.json.copy").unlink()
    with file.lock() as notes:
        assert notes == UpdateNotes()
    assert [path.read_bytes() for path in (tmp_path / "state").glob("updates.json.broken-*")] == [content]
