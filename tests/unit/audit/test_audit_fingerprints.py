"""Fingerprints of windows: what they tell apart, and what they make of hostile numbers and bytes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from potluck.audit import SEED_BYTES, WINDOW_TOKENS, Fingerprint, difference, fingerprint
from potluck.audit.fingerprints import FINGERPRINT_BYTES, MAX_HIDDEN_SIZE

HIDDEN = 256
SEED = bytes(SEED_BYTES)
Window = NDArray[np.float32]


def window(seed: int = 0, hidden: int = HIDDEN) -> Window:
    return np.random.default_rng(seed).standard_normal((WINDOW_TOKENS, hidden)).astype(np.float32)


def noisy(outputs: Window, size: float, seed: int = 1) -> Window:
    return outputs + size * window(seed, outputs.shape[1])


def apart(one: Window, other: Window, seed: bytes = SEED) -> float:
    return difference(fingerprint(one, seed), fingerprint(other, seed))


def test_equal_windows_do_not_differ() -> None:
    assert apart(window(), window()) == 0.0


@pytest.mark.parametrize("size", [0.001, 0.01, 0.1])
def test_difference_estimates_the_relative_error(size: float) -> None:
    estimates = [apart(window(), noisy(window(), size), bytes([seed] * SEED_BYTES)) for seed in range(50)]
    assert np.mean(estimates) == pytest.approx(size, rel=0.05)
    assert min(estimates) > 0.6 * size
    assert max(estimates) < 1.5 * size


def test_an_error_in_few_large_channels_is_seen_as_well() -> None:
    wrong = window()
    wrong[:, 0] += 3.0
    assert apart(window(), wrong) == pytest.approx(3 / math.sqrt(HIDDEN + 9), rel=0.4)


def test_scaled_outputs_zeros_and_another_window_differ() -> None:
    assert apart(window(), 2 * window()) > 0.3
    assert apart(window(), 0 * window()) > 0.5
    assert apart(window(), window(7)) > 0.5
    assert apart(window(), np.roll(window(), 1, axis=0)) > 0.5


def test_single_tokens_do_not_count_and_a_third_of_them_does() -> None:
    few, many = window(), window()
    few[:8] *= -1
    many[:11] *= -1
    assert apart(window(), few) == 0.0
    assert apart(window(), many) > 0.1


def test_bytes_keep_the_estimate_and_its_size() -> None:
    scaled = window() * np.geomspace(1e-3, 1e3, WINDOW_TOKENS, dtype=np.float32)[:, None]
    made = fingerprint(scaled, SEED)
    read = Fingerprint.decode(made.encode())
    assert len(made.encode()) == FINGERPRINT_BYTES == 328
    assert difference(made, read) < 1e-3
    assert difference(read, fingerprint(noisy(scaled, 0.0), SEED)) < 1e-3


def test_the_signs_are_the_same_on_every_computer() -> None:
    ones = np.ones((WINDOW_TOKENS, 4), np.float32)
    assert fingerprint(ones, SEED).directions[:3].tolist() == [
        [1.0, 0.0, 0.0, 0.0],
        [-1.0, 0.0, 2.0, 0.0],
        [1.0, 0.0, -1.0, 0.0],
    ]


def test_another_seed_gives_other_directions() -> None:
    assert difference(fingerprint(window(), SEED), fingerprint(window(), b"x" * SEED_BYTES)) > 0.5


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_window_agrees_with_numbers_that_are_not_finite(bad: float) -> None:
    broken = window()
    broken[:, 3] = bad
    claimed = Fingerprint.decode(fingerprint(broken, SEED).encode())
    assert difference(claimed, fingerprint(window(), SEED)) == math.inf
    assert math.isnan(difference(claimed, fingerprint(broken, SEED)))


def test_numbers_near_the_end_of_float32_are_compared() -> None:
    huge = window() * np.float32(3e37)
    assert apart(huge, noisy(huge, 0.0)) == 0.0
    assert apart(huge, -huge) > 1.0


def test_any_bytes_of_the_right_size_are_a_fingerprint_that_agrees_with_nothing() -> None:
    rng = np.random.default_rng(0)
    honest = fingerprint(window(), SEED)
    for _ in range(300):
        claimed = Fingerprint.decode(rng.bytes(FINGERPRINT_BYTES))
        assert not difference(claimed, honest) < 0.3


@pytest.mark.parametrize("size", [0, 1, FINGERPRINT_BYTES - 1, FINGERPRINT_BYTES + 1, 1 << 20])
def test_bytes_of_another_size_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="328 bytes"):
        Fingerprint.decode(bytes(size))


@pytest.mark.parametrize("shape", [(0, 4), (31, 4), (33, 4), (32, 0), (32,), (1, 32, 4), (32, MAX_HIDDEN_SIZE + 1)])
def test_windows_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="window"):
        fingerprint(np.zeros(shape, np.float32), SEED)


def test_seeds_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        fingerprint(window(), b"short")
