"""The numbers on the doctor's page are those of the code."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from counterpoise.doctor import channels, plate, plate_fit, timing
from counterpoise.doctor import channels as converters
from counterpoise.doctor import coverage as excitation
from counterpoise.doctor import coverage as friction_band
from counterpoise.doctor import coverage as path
from counterpoise.doctor import coverage as stops
from counterpoise.doctor import timing as delays
from counterpoise.doctor.finding import ABOUT_MODEL, LogFault

PAGE = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")


def row(fault: LogFault) -> str:
    """Return the line of the table that tells of a finding."""
    (line,) = (line for line in PAGE.splitlines() if line.startswith("|") and fault.value in line.split("|")[1])
    return line


@pytest.mark.parametrize("fault", [fault for fault in LogFault if fault not in ABOUT_MODEL])
def test_every_finding_about_the_recording_has_one_row(fault: LogFault) -> None:
    assert row(fault)


def _poses(joints: int) -> int:
    """Return how many poses of so many joints, all from one side, are beyond chance."""
    poses = 1
    while (2.0 * 0.5**poses) ** joints > friction_band.BY_CHANCE:
        poses += 1
    return poses


NUMBERS = {
    LogFault.DEAD: (f"{channels.MOVED:g} rad", {0.1: "a tenth"}[channels.WEAK]),
    LogFault.FROZEN: (
        f"{channels.FROZEN_TIME:g} s and {channels.FROZEN_SAMPLES} samples",
        f"{0.5 * channels.MOVED:g} rad",
        f"{0.2 * channels.MOVED:g} rad",
    ),
    LogFault.SATURATED: (f"{converters.FLAT_SAMPLES} samples and {100 * converters.FLAT_SHARE:g} %",),
    LogFault.QUANTISED: (
        f"above 1/{1 / converters.COARSE['effort']:g} of the range",
        f"above {1e3 * converters.COARSE_POSITION:g} mrad",
        f"1/{1 / converters.VISIBLE:g} of the range",
        f"from {200 * converters.COARSE_POSITION:g} mrad",
    ),
    LogFault.TIME_GAPS: (
        f"{timing.GAP_PERIODS:g} periods",
        f"{timing.LONG_GAP:g} s",
        f"{100 * timing.LOST_SHARE:g} % of the time",
    ),
    LogFault.TIME_JITTER: (f"{100 * timing.JITTER_NOTE:g} % of the period", f"from {100 * timing.JITTER:g} %"),
    LogFault.TIME_DUPLICATES: (f"from {100 * timing.REPEATED_SHARE:g} %",),
    LogFault.DELAY: (
        f"velocities from {1e3 * delays.SMALL['velocity']:g} ms",
        f"efforts from {1e3 * delays.SMALL['effort']:g} ms",
        f"{delays.SMALL_PERIODS:g} periods",
        f"{delays.SURE:g} standard deviations",
    ),
    LogFault.FRICTION: (f"less than {friction_band.LEAST_SLIDING:g} s",),
    LogFault.ONE_SIDED: (f"{_poses(7)} poses of 7 joints, {_poses(3)} of 3",),
    LogFault.JOINT_STOPS: (f"{1e3 * stops.MARGIN:g} mrad", f"{stops.LEAST_TIME:g} s"),
    LogFault.EXCITATION: (f"more than {100 * excitation.NOT_LEARNT:g} %",),
    LogFault.REPEATED_PATH: (
        f"{100 * path.REPEATED:g} % of the last {100 * (1 - path.EARLIER_SHARE):g} %",
        f"{100 * path.SAME_PLACE:g} %",
    ),
    LogFault.PLATE_YAW: (f"{math.degrees(plate.SMALL_YAW):g}° and {plate.SURE:g} standard deviations",),
    LogFault.PLATE_TILT: (f"{math.degrees(plate.SMALL_TILT):g}°",),
    LogFault.PLATE_LAG: (f"{1e3 * plate.SMALL_LAG:g} ms",),
    LogFault.PLATE_CROSS_TALK: (
        f"{100 * plate.SMALL_MIX:g} %",
        f"in a force: {plate.SMALL_MIX / plate_fit.LEVER:g}",
    ),
}


@pytest.mark.parametrize("fault", NUMBERS)
def test_sizes_are_those_of_the_code(fault: LogFault) -> None:
    for number in NUMBERS[fault]:
        assert number in row(fault)
