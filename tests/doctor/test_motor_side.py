"""Positions that no link can have: gear ratios bounded from below, a coupled wrist suspected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.doctor.moves import EXCESS, excess_of, motor_side_finding
from counterpoise.doctor.points import points_of
from counterpoise.recording import Log
from library.doctor_cases import recording

PUMA = cp.load("puma560")
LOG = recording(PUMA)
GEARS = np.diag([60.0, 100.0, 50.0, 70.0, 70.0, 80.0])


def at_motors(log: Log, gears: np.ndarray) -> Log:
    """Return what motors show: q_motor = G q, tau = Gᵀ tau_motor."""
    return replace(log, q=log.q @ gears.T, dq=log.dq @ gears.T, tau=log.tau @ np.linalg.inv(gears))


def finding_of(log: Log, *, degrees_possible: bool = False) -> Finding:
    motion = points_of(log)
    return motor_side_finding(PUMA, motion, excess_of(PUMA, motion), degrees_possible=degrees_possible)


def test_links_stay_within_their_ranges() -> None:
    excess = excess_of(PUMA, points_of(LOG))
    assert excess.joints == () and not excess.everywhere
    assert np.all(excess.ratio <= 1.0)


def test_motors_exceed_them_and_bound_the_ratios_from_below() -> None:
    finding = finding_of(at_motors(LOG, GEARS))
    assert (finding.fault, finding.consequence) == (LogFault.MOTOR_SIDE, Consequence.DANGER)
    assert finding.subjects == PUMA.joint_names
    for name, least in finding.evidence["least_gear_ratio"].items():
        assert EXCESS < least <= GEARS[PUMA.joint_names.index(name), PUMA.joint_names.index(name)]
    assert finding.fix == {"position": {"side": "motor"}, "effort": {"side": "motor"}}


def test_one_joint_beyond_its_range_may_have_a_wrong_limit() -> None:
    q = LOG.q.copy()
    q[:, 2] *= 20.0
    excess = excess_of(PUMA, points_of(replace(LOG, q=q)))
    assert excess.joints == (2,) and not excess.everywhere


@pytest.mark.parametrize(("row", "column"), [(5, 4), (4, 3), (5, 3)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_coupled_wrist_is_suspected_with_its_joints(row: int, column: int, sign: float) -> None:
    gears = GEARS.copy()
    gears[row, column] = sign * GEARS[row, row]
    finding = finding_of(at_motors(LOG, gears))
    pair = [PUMA.joint_names[column], PUMA.joint_names[row]]
    assert pair in finding.evidence["coupling_suspected"]
    assert "but a path may do so too: a coupled wrist is suspected" in finding.sentence
    assert sign * finding.evidence["speed_correlation"][", ".join(pair)] > 0.0


def test_motors_that_move_by_themselves_are_not_called_coupled() -> None:
    finding = finding_of(at_motors(recording(PUMA, seed=1), GEARS))
    assert "coupling_suspected" not in finding.evidence
    assert "coupled" not in finding.sentence


def test_what_could_be_degrees_is_said_so_is_no_less_dangerous_and_is_not_mended() -> None:
    """Whichever it is, the numbers are not the links' radians."""
    finding = finding_of(at_motors(LOG, GEARS), degrees_possible=True)
    assert finding.alternatives == ("degrees", "effort-is-current")
    assert finding.consequence is Consequence.DANGER
    assert finding.confidence == finding_of(at_motors(LOG, GEARS)).confidence > 0.9
    assert finding.fix == {}


def test_sliding_and_endless_joints() -> None:
    """A linear joint is not judged; an endless one has two turns of room."""
    gantry = cp.load("gantry")
    long_way = replace(recording(gantry), q=50.0 * recording(gantry).q)
    assert excess_of(gantry, points_of(long_way)).joints == ()
