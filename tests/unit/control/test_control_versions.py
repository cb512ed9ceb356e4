"""An app beside a daemon of another version."""

from potluck_control.api import schema
from potluck_control.api.all_methods import METHODS
from potluck_control.api.schema import API_VERSION, DaemonHello
from potluck_control.api.versions import Difference, agree

from potluck.protocol.codec import encode

ALL = tuple(METHODS)


def test_the_older_of_the_two_is_named() -> None:
    for api, version, difference in (
        (API_VERSION, "1.2.0", Difference.NONE),
        (API_VERSION, "1.1.9", Difference.OLDER_DAEMON),
        (API_VERSION, "1.10.0", Difference.NEWER_DAEMON),
        (API_VERSION, "1.2.0+mine", Difference.OTHER_BUILD),
        (API_VERSION - 1, "1.2.0", Difference.OLDER_DAEMON),
        (API_VERSION + 1, "1.2.0", Difference.NEWER_DAEMON),
        (API_VERSION, "dev", Difference.OLDER_DAEMON),
    ):
        agreement = agree(DaemonHello(api, version, 1, 0.0, ALL), "1.2.0")
        assert agreement.difference is difference
        assert agreement.is_usable == (api == API_VERSION)
        assert bool(agreement.text) == bool(agreement.advice) == (difference is not Difference.NONE)


def test_a_page_whose_methods_an_older_daemon_lacks_is_known() -> None:
    older = agree(DaemonHello(API_VERSION, "1.1.0", 1, 0.0, ("hello", "status")), "1.2.0")
    assert older.has(schema.STATUS)
    assert not older.has(schema.STATUS, schema.DRAIN)


def test_a_daemon_that_does_not_list_its_methods_is_tried() -> None:
    assert agree(DaemonHello(API_VERSION, "0.1.0", 1, 0.0), "1.2.0").has(schema.DRAIN)


def test_an_older_daemon_that_wants_numbers_gets_no_null() -> None:
    assert encode(schema.InviteParams()) == b"{}"
    assert encode(schema.InviteParams(people=3)) == b'{"people":3}'
