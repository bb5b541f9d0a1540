"""The joint regressor agrees with inverse dynamics on serial arms, trees, linear and mimic joints."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics.joint_regressors import joint_regressors


@pytest.mark.parametrize("name", ["puma560", "wam7", "scara", "gantry", "dualarm19"])
def test_times_the_parameters_it_gives_inverse_dynamics(name: str) -> None:
    robot = cp.load(name).mounted(rpy=(0.3, -0.2, 0.1))
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 5, robot.n))
    torques = joint_regressors(robot, q, dq, ddq) @ robot.inertial_parameters[10:]
    np.testing.assert_allclose(torques, robot.inverse_dynamics(q, dq, ddq), atol=1e-9)
