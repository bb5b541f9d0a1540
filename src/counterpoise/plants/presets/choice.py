"""Ready-made simulated arms: a catalog robot and everything between it and a controller, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...errors import InputError
from ..config import ArmConfig, Encoder, Plate, Timing
from .base import Preset
from .dualarm19 import dualarm19
from .puma550 import puma550
from .titan2 import titan2
from .wam7 import wam7

_MAKERS: Mapping[str, tuple[Callable[[str], Preset], tuple[str, ...]]] = {
    "puma550": (puma550, ("stiff", "50Hz", "20Hz")),
    "wam7": (wam7, ("ground", "plate")),
    "titan2": (titan2, ("torque-source", "flow-valve")),
    "dualarm19": (dualarm19, ("ground",)),
}

VARIANTS: Mapping[str, tuple[str, ...]] = {name: variants for name, (_, variants) in _MAKERS.items()}
"""Variants of each preset that comes with its own robot, the default first. ``ideal`` takes any robot."""


def preset(name: str, variant: str | None = None) -> Preset:
    """Return a preset that comes with its own robot.

    Args:
        name: One of VARIANTS.
        variant: One of its variants; None for the first.

    Raises:
        InputError: There is no such preset or variant.
    """
    if name not in _MAKERS:
        raise InputError(f"there is no preset {name!r}; there are {', '.join(_MAKERS)}, and ideal() for any robot")
    make, variants = _MAKERS[name]
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        raise InputError(f"preset '{name}' has no variant {variant!r}; its variants are {', '.join(variants)}")
    return make(chosen)


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
