"""What uv and the system say, in plain words. uv's texts are those of 0.11, which is what the packages bring."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from potluck_daemon.environment.failures import explained, of_uv

from potluck.errors import PotluckError

FOLDER = Path("/home/me/engines")
FETCH = "error: Failed to fetch: https://packages.example/simple/torch/\n  cause: "
CONNECT = (
    f"{FETCH}error sending request for url (https://packages.example/a)\n  cause: client error (Connect)\n  cause: "
)
NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: Because "
NO_BUILD = "there is no version of torch{python_full_version < '3.12'}==2.13.0+cpu and you require torch==2.13.0+cpu"
CACHE = "error: Failed to write to the client cache\n  cause: failed to write to file `c`: "


@pytest.mark.parametrize(
    ("said", "text", "hint"),
    [
        (f"{CONNECT}Connection refused (os error 111)", "packages.example does not answer", "network"),
        (f"{CONNECT}dns error\n  cause: error resolving DNS", "packages.example cannot be found", "network"),
        (f"{CONNECT}tunnel error", "the proxy does not reach packages.example", "HTTPS_PROXY"),
        (f"{CONNECT}invalid peer certificate: UnknownIssuer", "certificate that is not trusted", "SSL_CERT_FILE"),
        (f"{FETCH}HTTP status client error (403 Forbidden)", "refuses to send packages", "check the address"),
        (f"{CACHE}No space left on device (os error 28)", "the disk of /home/me/engines is full", "make room"),
        (f"{CACHE}Read-only file system (os error 30)", "cannot be written", "another folder"),
        (f"{NO_SOLUTION}{NO_BUILD}, we can conclude", "does not have torch==2.13.0+cpu", "--index"),
        (f"{NO_SOLUTION}psutil was not found in the package registry", "does not have psutil", "UV_DEFAULT_INDEX"),
        ("", "without a message", "try again"),
    ],
)
def test_every_failure_of_uv_is_one_sentence_with_what_to_do(said: str, text: str, hint: str) -> None:
    error = of_uv(said, FOLDER)
    assert text in error.message
    assert "\n" not in error.message
    assert hint in (error.hint or "")


def test_what_the_system_refuses_says_what_to_do() -> None:
    for number, text in (
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "is full"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
        (errno.ENAMETOOLONG, "too long"),
        (errno.ENOENT, "disappeared"),
        (errno.EIO, "cannot be used: Input/output error"),
    ):
        with pytest.raises(PotluckError, match=text) as raised, explained(FOLDER):
            raise OSError(number, os.strerror(number))
        assert raised.value.hint
