"""The figure about Triton's kernels counts what is wrong and what fails."""

import pytest
import torch
from torch import Tensor

from benchmarks.kernels import matrix


def test_wrong_numbers_and_errors_of_any_kind_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = torch.ones(3)

    def raising() -> tuple[Tensor, Tensor]:
        raise LookupError("no such kernel")

    cases = {
        "right": lambda: (numbers, numbers),
        "rounded": lambda: (numbers * (1 + 1e-6), numbers),
        "wrong": lambda: (numbers * 1.01, numbers),
        "no number": lambda: (numbers * float("nan"), numbers),
        "raising": raising,
    }
    monkeypatch.setattr(matrix, "_cases", lambda dtype: iter(cases.items()))
    found = matrix.compute()
    assert found["cases"] == 10
    wrong = {
        f"{name}, {dtype}" for name in ("wrong", "no number", "raising") for dtype in ("torch.float32", "torch.float16")
    }
    assert found["wrong"].keys() == wrong
    assert found["wrong"]["raising, torch.float32"] == "LookupError: no such kernel"
