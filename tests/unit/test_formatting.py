"""Sizes, durations and estimates as people read them."""

from potluck.formatting import duration, layer_ranges, part_size, rounded, size


def test_a_size_has_one_unit_and_a_digit_where_it_matters() -> None:
    small = (0, 999, 1000, 9_949, 9_950, 999_499, 999_500)
    assert [size(n) for n in small] == ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB"]
    large = (78_000_000, 999_500_000, 16_740_000_000, 99_950_000_000, 2.5e12, 2.5e15)
    assert [size(n) for n in large] == ["78 MB", "1.0 GB", "16.7 GB", "100 GB", "2.5 TB", "2500 TB"]


def test_a_language_writes_the_digits_of_a_size() -> None:
    assert size(3_400_000, lambda value, digits: f"{value:.{digits}f}".replace(".", ",")) == "3,4 MB"


def test_a_part_is_told_in_the_unit_of_the_whole() -> None:
    assert (part_size(200_000_000, 5e9), part_size(0, 999)) == ("0.2 of 5.0 GB", "0 of 999 B")


def test_durations_have_at_most_two_units() -> None:
    seconds = (-1, 5, 59.4, 59.5, 720, 3_599, 3_600, 11_100, 86_399, 86_400, 187_200)
    assert [duration(s) for s in seconds] == [
        *("0 s", "5 s", "59 s", "1 min", "12 min", "59 min", "1 h 0 min", "3 h 5 min", "23 h 59 min"),
        *("1 d 0 h", "2 d 4 h"),
    ]


def test_layers_count_from_one_and_neighbours_are_joined() -> None:
    for blocks, text in (([3], "layer 4"), ([0, 1, 2], "layers 1-3"), ([0, 2, 3, 7], "layers 1, 3-4, 8")):
        assert layer_ranges(blocks) == text
    assert layer_ranges(range(0, 40, 2), "–").endswith("13, 15 and 12 more")


def test_estimates_have_two_significant_digits() -> None:
    values = (0, 0.254, 8.44, 99.6, 14_082, 1_250_000)
    assert [rounded(v) for v in values] == ["0", "0.25", "8.4", "100", "14,000", "1,200,000"]
