"""What a GPU lacks to run kernels, found on a machine without a GPU."""

import pytest
import torch

from potluck.blocks.kernel_support import uses_kernels, why_no_kernels

CUDA = torch.device("cuda")


@pytest.fixture(autouse=True)
def turing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr("potluck.blocks.kernel_support.find_spec", lambda name: object())
    monkeypatch.delenv("CC", raising=False)


def reason_and_hint() -> tuple[str, str]:
    found = why_no_kernels(CUDA)
    assert found is not None
    return found.reason, found.hint


def test_a_missing_compiler_or_header_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    reason, hint = reason_and_hint()
    assert reason == "no C compiler"
    assert "apt install gcc" in hint
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/gcc")
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"include": "/nowhere"})
    reason, hint = reason_and_hint()
    assert reason == "no headers of Python"
    assert "-dev" in hint


def test_cards_without_kernels_are_refused_by_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (7, 0))
    assert reason_and_hint()[0] == "GPU older than Turing"
    monkeypatch.setattr("torch.version.hip", "6.4")
    assert "AMD" in reason_and_hint()[0]


def test_only_cuda_devices_are_expected_to_have_kernels() -> None:
    assert [uses_kernels(torch.device(kind)) for kind in ("cuda", "cpu", "mps", "xpu")] == [True, False, False, False]
