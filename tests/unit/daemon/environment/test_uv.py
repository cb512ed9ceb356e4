"""What uv is asked for, which answers are refused, and what it and the system say, in plain words.

uv's texts are those of 0.11, which is what the packages bring.
"""

import errno
import os
import subprocess
from pathlib import Path

import pytest
from potluck_daemon.environment.failures import files_of, of_uv
from potluck_daemon.environment.freezing import foreign_hashes, needs_of
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.plan import EnvironmentPlan, requirements_of
from potluck_daemon.environment.preflight import Site
from potluck_daemon.environment.store import Store
from potluck_daemon.environment.uv import WheelSources, find_uv
from potluck_daemon.environment.variants import VARIANTS, Choice

from potluck.errors import PotluckError
from potluck.sentences import NOTHING

FOLDER = Path("/home/me/engines")
FETCH = "error: Failed to fetch: https://packages.example/simple/torch/\n  cause: "
CONNECT = (
    f"{FETCH}error sending request for url (https://packages.example/a)\n  cause: client error (Connect)\n  cause: "
)
NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: Because "
NO_BUILD = "there is no version of torch{python_full_version < '3.12'}==2.13.0+cpu and you require torch==2.13.0+cpu"
CACHE = "error: Failed to write to the client cache\n  cause: failed to write to file `c`: "


def test_every_failure_of_uv_is_one_sentence_with_what_to_do() -> None:
    for said, text, hint in (
        (f"{CONNECT}Connection refused (os error 111)", "packages.example does not answer", "network"),
        (f"{CONNECT}dns error\n  cause: error resolving DNS", "packages.example cannot be found", "network"),
        (f"{CONNECT}tunnel error", "the proxy does not reach packages.example", "HTTPS_PROXY"),
        (f"{CONNECT}invalid peer certificate: UnknownIssuer", "certificate that is not trusted", "SSL_CERT_FILE"),
        (f"{FETCH}HTTP status client error (403 Forbidden)", "refuses to send packages", "check the address"),
        (f"{CACHE}No space left on device (os error 28)", f"cannot use {FOLDER}: No space left", "is the disk full?"),
        (f"{CACHE}Read-only file system (os error 30)", "cannot use /home/me/engines", "mounted read-only"),
        (f"{NO_SOLUTION}{NO_BUILD}, we can conclude", "does not have torch==2.13.0+cpu", "--index"),
        (f"{NO_SOLUTION}psutil was not found in the package registry", "does not have psutil", "UV_DEFAULT_INDEX"),
        ("", "without a message", "try again"),
    ):
        error = of_uv(said, FOLDER)
        assert text in error.message
        assert "\n" not in error.message
        assert hint in (error.hint or "")


def test_what_the_system_refuses_says_what_to_do() -> None:
    for number, hint in (
        (errno.ENOSPC, "is the disk full?"),
        (errno.EDQUOT, "is the disk full?"),
        (errno.EROFS, "is the disk mounted read-only?"),
        (errno.EACCES, "does it belong to you?"),
        (errno.ENOENT, "choose another place"),
        (errno.EIO, "is its disk or network share still there?"),
    ):
        with pytest.raises(PotluckError, match=f"cannot use {FOLDER}: ") as raised, files_of(FOLDER):
            raise OSError(number, os.strerror(number))
        assert raised.value.hint == hint


ONE, TWO, THREE = (letter * 64 for letter in "123")


BASE = f"""\
# made by installer/lock.py
anyio==4.16.0 ; sys_platform != 'emscripten' \\
    --hash=sha256:{ONE} \\
    --hash=sha256:{TWO}
base58==2.1.1 \\
    --hash=sha256:{TWO}
torch==2.13.0+cpu ; python_version == '3.11' \\
    --hash=sha256:{THREE}
"""


def test_the_common_versions_are_kept_and_torch_is_free_to_be_another_build() -> None:
    assert needs_of(BASE) == "anyio==4.16.0 ; sys_platform != 'emscripten'\nbase58==2.1.1\ntorch==2.13.0\n"


def test_another_file_of_a_common_package_is_refused_and_one_of_torch_is_not() -> None:
    found = f"anyio==4.16.0 \\\n    --hash=sha256:{TWO}\ntorch==2.13.0+cu126 \\\n    --hash=sha256:{ONE}\n"
    assert foreign_hashes(BASE, found) == []
    assert foreign_hashes(BASE, found.replace(TWO, THREE)) == ["anyio"]
    assert foreign_hashes(BASE, f"nvidia-nccl==2 \\\n    --hash=sha256:{THREE}\n") == []


NAMES = ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")


def test_torch_comes_from_the_index_of_its_build_unless_the_user_named_a_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert WheelSources(build="cpu").arguments == ["--torch-backend", "cpu"]
    assert "--torch-backend" not in WheelSources(tmp_path, build="cpu").arguments
    assert "--torch-backend" not in WheelSources(index="https://index.invalid", build="cpu").arguments
    for name in NAMES:
        with monkeypatch.context() as patch:
            patch.setenv(name, "somewhere")
            assert WheelSources(build="cpu").arguments == []


def test_a_list_with_a_build_of_its_own_is_looked_up_in_that_builds_index(tmp_path: Path) -> None:
    for name in ("cpu", "cu130", "mps"):
        machine = Hardware(macos=(15, 1), architecture="arm64") if name == "mps" else Hardware(glibc=(2, 36))
        plan = EnvironmentPlan(
            Store(tmp_path), machine, Choice(VARIANTS[name], NOTHING), Site(tmp_path, 10**12, True, True)
        )
        assert plan.own_build == ("cpu" if name == "cpu" else "")
        assert (f"torch==2.13.0+{name}" in requirements_of(name).read_text()) == bool(plan.own_build)


def test_uv_knows_the_indexes_of_all_builds() -> None:
    command = [find_uv(), "pip", "compile", "--help"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = " ".join(told.split()).partition("UV_TORCH_BACKEND=] [possible values: ")[2].partition("]")[0].split(", ")
    assert {name for name in VARIANTS if name != "mps"} <= set(known)
