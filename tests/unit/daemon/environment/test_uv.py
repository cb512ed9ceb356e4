"""What uv is asked for, which answers are refused, and what it and the system say, in plain words.

uv's texts are those of 0.11, which is what the packages bring.
"""

import subprocess
from pathlib import Path

import pytest
from potluck_daemon.environment.packages import hashes_of, needs_of
from potluck_daemon.environment.plan import requirements_of
from potluck_daemon.environment.uv import find_uv, source_options, uv_failure
from potluck_daemon.environment.variants import VARIANTS

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
        (f"{FETCH}HTTP status client error (403 Forbidden)", "cannot be installed", "try again"),
        (f"{CACHE}No space left on device (os error 28)", f"cannot use {FOLDER}: No space left", "is the disk full?"),
        (f"{CACHE}Read-only file system (os error 30)", "cannot use /home/me/engines", "mounted read-only"),
        (f"{NO_SOLUTION}{NO_BUILD}, we can conclude", "does not have torch==2.13.0+cpu", "UV_DEFAULT_INDEX"),
        (f"{NO_SOLUTION}psutil was not found in the package registry", "does not have psutil", "UV_DEFAULT_INDEX"),
        ("", "without a message", "try again"),
    ):
        error = uv_failure(said, FOLDER)
        assert text in error.message
        assert "\n" not in error.message
        assert hint in (error.hint or "")


BASE = """\
# made by installer/lock.py
anyio==4.16.0 ; sys_platform != 'emscripten' \\
    --hash=sha256:{one} \\
    --hash=sha256:{two}
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:{one}
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:{two}
torch==2.13.0+cpu ; python_version == '3.11' \\
    --hash=sha256:{two}
""".format(one="1" * 64, two="2" * 64)


def test_the_common_versions_are_kept_and_torch_is_free_to_be_another_build() -> None:
    assert needs_of(BASE).splitlines() == [
        "anyio==4.16.0 ; sys_platform != 'emscripten'",
        "numpy==2.4.6 ; python_full_version < '3.12'",
        "numpy==2.5.5 ; python_full_version >= '3.12'",
        "torch==2.13.0",
    ]
    both = {"1" * 64, "2" * 64}
    assert hashes_of(BASE) == {"anyio": both, "numpy": both, "torch": {"2" * 64}}


NAMES = ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND")


def test_torch_comes_from_the_index_of_its_build_unless_the_user_named_a_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert source_options("cpu") == ["--torch-backend", "cpu"]
    assert source_options("") == []
    assert source_options("cpu", tmp_path) == ["--no-index", "--find-links", str(tmp_path)]
    for name in NAMES:
        with monkeypatch.context() as patch:
            patch.setenv(name, "somewhere")
            assert source_options("cpu") == []


def test_lists_that_come_along_agree_with_where_their_torch_is() -> None:
    for name in ("cpu", "cu130", "mps"):
        has_own_index = f"torch==2.13.0+{name}" in requirements_of(name).read_text()
        assert VARIANTS[name].is_usual is not has_own_index


def test_uv_knows_the_indexes_of_all_builds() -> None:
    command = [find_uv(), "pip", "compile", "--help"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = " ".join(told.split()).partition("UV_TORCH_BACKEND=] [possible values: ")[2].partition("]")[0].split(", ")
    assert {name for name in VARIANTS if name != "mps"} <= set(known)
