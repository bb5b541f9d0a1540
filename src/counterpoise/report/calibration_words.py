"""Words about a calibration that its page and its printed table share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..calibration.fit import Fit

NO_WEIGHT = 1e-6
"""A joint whose gravity effort is below this share of its signal carries no weight."""


def in_units(fit: Fit) -> str:
    """Return what a headline adds of a calibration whose efforts are no torques; "" for torques."""
    why = fit.robot.description.command_units
    return f", in {fit.units}: {why}" if why else ""


def gravity_share(fit: Fit, joint: int) -> str:
    """Return a joint's gravity error as a share of its gravity effort; "–" where it carries none or nothing is stated.

    Above 100 % the number means nothing but that the weight is too small to be told.
    """
    error, size = float(fit.gravity_error[joint]), float(fit.gravity_size[joint])
    if not (error >= 0.0 and size > NO_WEIGHT * float(fit.signal[joint])):
        return "–"
    return f"{error / size:.1%}" if error <= size else "> 100%"
