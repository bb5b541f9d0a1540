"""Plates of the presets: a strain-gauge force platform in the manner of AMTI's OR6 series."""

from __future__ import annotations

import numpy as np

from ...foundation import transform
from ..config import Plate
from .base import Assumption

_CROSSTALK = np.eye(6) + 1e-3 * np.array(
    [
        # fx    fy    fz    mx    my    mz        a channel's share of a foreign component: per N, and per N m
        [0.0, 4.0, -2.0, 3.0, -5.0, 2.0],
        [-3.0, 0.0, 2.0, 5.0, 3.0, -2.0],
        [5.0, -4.0, 0.0, -3.0, 4.0, 3.0],
        [0.4, -0.8, 0.3, 0.0, 3.0, -2.0],
        [0.7, 0.5, -0.4, -3.0, 0.0, 2.0],
        [-0.3, 0.4, 0.2, 2.0, -2.0, 0.0],
    ]
)


def force_platform(height: float, scale: float = 1.0, stiffening: float = 1.0) -> Plate:
    """Return a compliant plate whose centre lies below the base frame's origin.

    Args:
        height: How far below [m].
        scale: Size: ranges, stiffness, noise and the mass of its top grow with it.
        stiffening: How much stiffer it is than such plates are, about its vertical axis half as much.
    """
    force_range, moment_range = np.array([2225.0, 2225.0, 4450.0]), np.array([1130.0, 1130.0, 565.0])
    ranges = scale * np.concatenate([force_range, moment_range])
    stiff = np.array([stiffening] * 5 + [max(1.0, 0.5 * stiffening)])
    return Plate(
        T_base_sensor=transform(np.eye(3), [0.0, 0.0, -height]),
        reads="on_robot",
        stiffness=scale * np.array([3e7, 3e7, 2e8, 1e7, 1e7, 3e6]) * stiff,
        damping=scale * np.array([1700.0, 1700.0, 4400.0, 600.0, 600.0, 100.0]) * np.sqrt(stiff),
        top_mass=10.0 * scale,
        top_com=(0.0, 0.0, 0.02),
        top_inertia=(0.1 * scale, 0.1 * scale, 0.2 * scale),
        crosstalk=_CROSSTALK,
        bias=scale * np.array([4.0, -3.0, 8.0, 0.8, -0.6, 0.3]),
        drift=scale * np.array([2e-3, -2e-3, 5e-3, 2e-4, -2e-4, 1e-4]),
        walk=scale * np.array([5e-3, 5e-3, 1e-2, 1e-3, 1e-3, 5e-4]),
        noise=scale * np.array([0.2, 0.2, 0.4, 0.04, 0.04, 0.02]),
        resolution=ranges / 2**15,
        range=ranges,
        cutoff=100.0,
    )


PLATE_ASSUMPTIONS = (
    Assumption(
        "plate.range",
        "as a platform of this class is rated (1000 lbf vertically); the papers name the model, its data sheet "
        "was not at hand",
    ),
    Assumption(
        "plate.stiffness, plate.damping",
        "order of magnitude of strain-gauge platforms, which ring at some hundred Hz unloaded; 2 % of critical damping",
    ),
    Assumption(
        "plate.top_mass, plate.top_com, plate.top_inertia", "a cover plate and an adapter of steel; weight tared away"
    ),
    Assumption("plate.crosstalk", "below 0.5 % of a component, as such platforms are sold with"),
    Assumption(
        "plate.bias, plate.drift, plate.walk",
        "a bridge that was not zeroed today; 0.1 mN m/s and less, so that a ten-second task sees 1 mN m of drift",
    ),
    Assumption("plate.noise, plate.resolution", '"very low noise" (Morel et al., section 3.1); a 16-bit converter'),
    Assumption("plate.cutoff", "below half of 300 Hz, with little delay"),
)
