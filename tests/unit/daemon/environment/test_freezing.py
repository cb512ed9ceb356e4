"""A list that set-up makes: what it asks for, and which answers it refuses."""

from __future__ import annotations

from potluck_daemon.environment.freezing import foreign_hashes, needs_of

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
