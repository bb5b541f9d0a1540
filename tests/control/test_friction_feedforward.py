"""Friction sent ahead: what it computes, learning it from the plate, and that tracking gains by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control.friction import FrictionFeedforward
from counterpoise.control.reference import Triangle
from counterpoise.dynamics import Dahl
from counterpoise.lab import follow, rms, run_laws
from counterpoise.plants import preset
from counterpoise.recording import Sample
from counterpoise.tasks import LawGains, Rig, fit_dahl, learned_friction

LAW = Dahl(5.0, 6.0, 3e-4)
GAINS = LawGains("bsc", ("joint1",), [206.0], [27.0], [0.0], [100.0])
"""Near what tuning finds on the 50 Hz plant."""


def test_it_is_the_friction_along_the_reference() -> None:
    """Zero at the start, then the law along the desired path times the fraction; a reset begins anew."""
    reference = Triangle([1e-3], 1.0)
    law = FrictionFeedforward(reference, [LAW], 0.5)
    here = Sample(0.0, np.zeros(1), np.zeros(1), np.zeros(1))
    law.reset(here)
    times = np.arange(100) * 0.01
    found = np.array([law.torque(here, 3.0 + time)[0] for time in times])
    path = np.array([reference.at(time).q[0] for time in times])
    np.testing.assert_allclose(found, 0.5 * LAW.along(path), atol=1e-12)
    law.reset(here)
    assert law.torque(here, 9.0)[0] == 0.0


def test_wrong_numbers_of_joints_are_refused() -> None:
    """No law, another number of joints than the arm's, a fraction above one."""
    reference = Triangle([1e-3], 1.0)
    with pytest.raises(cp.InputError, match="Dahl"):
        FrictionFeedforward(reference, [])
    with pytest.raises(cp.InputError, match="friction_fraction"):
        FrictionFeedforward(reference, [LAW], 1.2)
    with pytest.raises(cp.InputError, match="2 joints"):
        FrictionFeedforward(reference, [LAW, LAW]).reset(Sample(0.0, np.zeros(1), np.zeros(1), np.zeros(1)))


def test_fit_finds_the_law_back() -> None:
    """From counted positions and a noisy friction; a path without a reversal, or no friction, is refused."""
    rng = np.random.default_rng(2)
    path = 8e-3 * np.sin(np.linspace(0.0, 9.0, 3000))
    friction = LAW.along(path) + rng.normal(0.0, 0.1, len(path))
    found, residual = fit_dahl(np.round(path / 1e-4) * 1e-4, friction)
    assert (found.forward, found.backward) == pytest.approx((5.0, 6.0), rel=0.03)
    assert found.presliding == pytest.approx(3e-4, rel=0.3) and residual < 0.4
    with pytest.raises(cp.InputError, match="to and fro"):
        fit_dahl(np.linspace(0.0, 1.0, 50), np.ones(50))
    with pytest.raises(cp.InputError, match="no friction"):
        fit_dahl(path, -friction)


def test_learned_friction_makes_fine_motion_finer() -> None:
    """On the PUMA with a 50 Hz gear: levels and displacement of the plant, and less than half the error."""
    made = preset("puma550", "50Hz").single_joint
    robot = made().robot
    learned = learned_friction(lambda: Rig(made(), robot), GAINS)
    friction = made().config.drive.friction
    assert friction is not None
    assert learned.law.forward == pytest.approx(float(friction.static[0]), rel=0.15)
    assert learned.law.presliding == pytest.approx(float(friction.presliding[0]), rel=0.5)
    reference = Triangle([math.radians(0.1)], 10.0)
    plain = follow(Rig(made(seed=5), robot), GAINS, reference, 12.5).after(2.5)
    ahead = FrictionFeedforward(reference, [learned.law], 0.9)
    helped = run_laws(
        Rig(made(seed=5), robot),
        lambda plant, sensor: (*GAINS.laws(Rig(plant, robot), reference, sensor=sensor), ahead),
        reference,
        12.5,
    ).after(2.5)
    assert rms(helped.error()) < 0.5 * rms(plain.error())
    with pytest.raises(cp.InputError, match="tune 'bsc' first"):
        learned_friction(lambda: Rig(made(), robot), LawGains("pid", ("joint1",), [1.0], [1.0], [1.0], [0.0]))
