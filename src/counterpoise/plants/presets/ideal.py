"""Nothing between a controller and the rigid links: what remains must be the equations of motion."""

from __future__ import annotations

import numpy as np

from ..config import ArmConfig, Encoder, Plate, Timing


def ideal(*, dt: float = 1e-3) -> ArmConfig:
    """Return the configuration of an ideal arm, for any robot.

    Rigid gears, no friction, perfect torques and sensors, no delay, a rigid plate at the base frame that reads exactly.
    Links are integrated by a fourth-order method, so that energy stays.

    Args:
        dt: Time between two control ticks [s].
    """
    return ArmConfig(
        name="ideal",
        timing=Timing(dt=dt, physics_step=5e-4, integrator="rk4"),
        encoder=Encoder(velocity="exact"),
        plate=Plate(T_base_sensor=np.eye(4)),
    )
