"""Old descriptions are signed as well; what a server can do with them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from potluck_daemon.updates.freshness import KnownPublisher, accept, publisher_of
from potluck_daemon.updates.manifest import BadManifestError, Offer

NOW = 1_000_000.0
DAY = 86400
SEEN = KnownPublisher(anchor="old", key="old", issued_at=900_000, version="0.3.0")
OFFER = Offer("0.3.0", 900_000, 2_000_000, "", ("faster",), {})


def test_the_same_and_a_newer_description_are_accepted() -> None:
    assert accept(OFFER, "old", SEEN, NOW).version == "0.3.0"
    newer = accept(replace(OFFER, version="0.4.0", issued_at=950_000), "old", SEEN, NOW)
    assert (newer.version, newer.issued_at, newer.changes) == ("0.4.0", 950_000, ("faster",))


@pytest.mark.parametrize(
    "offer",
    [
        replace(OFFER, issued_at=899_999),
        replace(OFFER, version="0.2.0", issued_at=800_000),
        replace(OFFER, version="0.2.0", issued_at=950_000),
        replace(OFFER, version="0.9.0", issued_at=800_000),
        replace(OFFER, version="0.4.0"),
    ],
    ids=["older", "older version", "downgrade", "older with a newer version", "two of one time"],
)
def test_what_goes_back_is_refused(offer: Offer) -> None:
    with pytest.raises(BadManifestError, match="old description"):
        accept(offer, "old", SEEN, NOW)


def test_what_has_expired_or_comes_from_the_future_is_refused_and_what_a_clock_errs_is_not() -> None:
    with pytest.raises(BadManifestError, match="expired"):
        accept(replace(OFFER, expires_at=int(NOW)), "old", SEEN, NOW)
    with pytest.raises(BadManifestError, match="future"):
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
    rotated = replace(SEEN, key="new")
    assert publisher_of("old", rotated) == rotated
    assert publisher_of("other", rotated) == KnownPublisher(anchor="other", key="other")
