"""What is expected of a model and of a drive before a recording is seen: the priors of the doctor's comparison.

They say how wrong a good description may be without anything being wrong with the recording.
"""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot

MASS = 0.10
"""Relative standard deviation of a link's mass."""
CENTRE = 0.010
"""Standard deviation of a link's centre of mass, along each axis [m]."""
INERTIA = 0.20
"""Standard deviation of a link's inertia about its centre, relative to its trace."""
LEAST_MASS_SHARE = 0.01
"""Least standard deviation of a mass, relative to the mean link's: files leave masses out."""
TRUST = (1.0, 2.0, 3.0)
"""Factors on all of the above that are tried: some descriptions are worse than good ones."""
TRUST_COST = (0.0, 5.0, 14.0)
"""What the data must gain in log evidence for a factor to be believed."""
FRICTION = 0.7
"""Standard deviation of dry friction, of friction at the usual speed and of friction kept at rest, relative to the
standard deviation of the joint's effort."""
OFFSET = 0.08
"""Standard deviation of a sound channel's offset, relative to the standard deviation of the joint's effort: friction
that differs by direction looks like one."""
FREE_OFFSET = 1.5
"""The same of a channel that is suspected of an offset."""
ROTOR = 0.3
"""Relative standard deviation of a known rotor inertia."""
UNKNOWN_ROTOR = 1.0
"""Standard deviation of a rotor inertia that no file states, relative to the mean inertia that the joint turns."""
PAYLOAD_MASS_SHARE = 0.1
"""Standard deviation of a suspected payload, relative to the robot's moving mass."""
PAYLOAD_LEVER = 0.1
"""Standard deviation of a suspected payload's centre about the last link's origin, along each axis [m]."""
RESIDUE = 0.01
"""Least standard deviation of what no model explains, relative to the standard deviation of the joint's effort, or of
the plate's predicted channels."""
INDEPENDENT_RATE = 3.0
"""Independent observations per second at most [Hz]: what a model leaves of a signal stays alike for a while."""
FURTHEST = 0.5
"""Longest delay of a channel that is looked for, to either side [s]."""


def parameter_spread(robot: Robot) -> Array:
    """Return L, shape (10 b, 10 b), with L Lᵀ the covariance of the bodies' ten inertial parameters (joint frames).

    Per body: mass, first moment and inertia scale together; the centre of mass moves; the inertia changes by itself;
    and a floor for links whose masses a file leaves out.
    """
    parameters = robot.inertial_parameters[10:].reshape(-1, 10)
    bodies = len(parameters)
    mean_mass = max(float(parameters[:, 0].mean()), 1e-6)
    least = LEAST_MASS_SHARE * mean_mass
    spread = np.zeros((bodies, 10, bodies, 10))
    for body, values in enumerate(parameters):
        mass = max(values[0], 0.0)
        size = max(values[4] + values[6] + values[9], 0.0)
        variance = np.zeros(10)
        variance[0] = least**2
        variance[1:4] = (CENTRE * mass) ** 2 + (0.1 * least) ** 2
        variance[4:] = (0.5 * INERTIA * (size + mass * CENTRE**2)) ** 2 + (0.01 * least) ** 2
        scaled = MASS * values
        spread[body, :, body, :] = np.linalg.cholesky(np.outer(scaled, scaled) + np.diag(variance))
    return spread.reshape(10 * bodies, 10 * bodies)


def payload_spread(robot: Robot, body: int) -> Array:
    """Return L, shape (4, 4), with L Lᵀ the covariance of a suspected payload's [m, mx, my, mz] in the joint frame.

    It is expected near the origin of the outermost link that the body carries: its flange or tool.
    """
    tree = robot.tree
    mass = PAYLOAD_MASS_SHARE * float(np.sum(tree.mass))
    ends = [
        index for index, name in enumerate(tree.link_names) if name in tree.leaves and tree.link_body[index] == body
    ]
    flange = np.mean([tree.joint_rotation[body].T @ tree.link_origin[index] for index in ends], axis=0) if ends else 0.0
    spread = np.zeros((4, 4))
    spread[0, 0] = mass
    spread[1:, 0] = mass * flange
    spread[1:, 1:] = PAYLOAD_LEVER * mass * np.eye(3)
    return spread
