"""The experiments of the base sensor paper, small: what must hold on the simulated PUMA."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise.lab.papers import morel_fig4, morel_fig6, morel_fig8
from counterpoise.lab.papers.morel_plants import COUNT, TunedJoint, puma_joint_1
from counterpoise.tasks import LawGains


@pytest.fixture(scope="module")
def stiff() -> TunedJoint:
    """Joint 1 of the stiff PUMA with the gains that tuning found (tests/tasks/tune/test_tune.py tunes it)."""
    make = puma_joint_1("stiff")
    laws = (
        LawGains(kind, ("joint1",), [1093.5], [63.26], [ki], [k_int])
        for kind, ki, k_int in (("pid", 19601.0, 0.0), ("bsc", 0.0, 164.4))
    )
    pid, bsc = (SimpleNamespace(gains=gains) for gains in laws)
    return TunedJoint(make, make(None).robot, pid, bsc)  # type: ignore[arg-type]


def test_friction_is_seen_as_what_the_plate_does_not_feel() -> None:
    """Fig. 4: it opposes the motion throughout and is of the size of the friction."""
    told: list[float] = []
    outcome = morel_fig4.EXPERIMENT.run(1, told.append)
    share, _, signs = (line.ours for line in outcome.comparisons)
    assert 40.0 < share < 75.0 and signs > 95.0
    assert told[-1] == 1.0 and len(outcome.panels) == 2 and outcome.verdict == "reproduced"


def test_true_friction_sticks(stiff: TunedJoint) -> None:
    """Under 60 % of the sliding friction the joint creeps by less than 1e-3 °/s."""
    assert morel_fig8.stick_creep(stiff) < 1e-3


def test_figure_6_follows_torque_in_spite_of_friction(stiff: TunedJoint) -> None:
    """Rms error within 25 % of the amplitude; without feedback hardly anything passes friction."""
    own = morel_fig6.torque_control(stiff, 3)
    blind = morel_fig6.torque_control(stiff, 3, k_int=0.0)
    assert morel_fig6._relative(own) <= 25.0
    assert morel_fig6._passed(blind) < 15.0


def test_figure_8_on_the_stiff_plant(stiff: TunedJoint) -> None:
    """PD moves less than 5 % of what was asked for; base sensor control stays below a count."""
    pd = morel_fig8.triangle(stiff, stiff.gains("pd"), 3)
    assert np.ptp(np.rad2deg(pd.link[:, 0])) < 0.05 * 0.2
    bsc = morel_fig8.triangle(stiff, stiff.gains("bsc"), 3)
    assert np.rad2deg(morel_fig8.rms(bsc.error())) < COUNT
