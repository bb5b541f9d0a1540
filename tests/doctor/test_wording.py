"""Names and numbers in sentences."""

from __future__ import annotations

import pytest

from counterpoise.doctor.finding import MOST_NAMES, PLATE_CHANNELS, listed, percent, short, spread, times


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "a0"),
        (2, "a0 and a1"),
        (3, "a0, a1 and a2"),
        (MOST_NAMES, "a0, a1, a2, a3, a4, a5, a6 and a7"),
        (MOST_NAMES + 1, "a0, a1, a2, a3, a4, a5, a6 and 2 others"),
        (23, "a0, a1, a2, a3, a4, a5, a6 and 16 others"),
    ],
)
def test_names_are_listed_and_many_are_counted(count: int, told: str) -> None:
    assert listed([f"a{number}" for number in range(count)]) == told


@pytest.mark.parametrize(
    ("share", "told"), [(0.0004, "0.04 %"), (0.0123, "1.2 %"), (0.0999, "10 %"), (0.58, "58 %"), (1.0, "100 %")]
)
def test_shares_have_as_many_digits_as_matter(share: float, told: str) -> None:
    assert percent(share) == told


def test_numbers_are_short() -> None:
    assert (short(0.160633), short(186.97), short(-1234567.0)) == ("0.161", "187", "-1.23e+06")
    assert (spread(0.016), spread(3.94)) == ("0.016", "3.9")
    assert [times(count) for count in (1, 2, 3)] == ["once", "twice", "3 times"]


def test_the_plate_has_six_channels_force_first() -> None:
    assert [name.split()[1] for name in PLATE_CHANNELS] == ["fx", "fy", "fz", "mx", "my", "mz"]
