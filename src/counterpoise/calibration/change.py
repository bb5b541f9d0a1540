"""What has changed since a calibration: the weight that each joint carries, constant offsets, a load at the tip.

The errors of the calibration on a fresh recording are put on top of its own rigid-body efforts, and these are fitted
again with the calibrated masses as prior (weighted.py). So friction that has changed, and all that looks like weight
and is none, is told from a change of weight as in a calibration, with its uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.robot import Robot
from .fit import Fit
from .prior import CadPrior
from .runs import FittedRun
from .sag import tips
from .samples import Samples
from .stands import Stands
from .statistics import CERTAIN, all_joints, root_mean_square
from .terms import ALL, Terms
from .weighted import WeightedFit, weighted_fit

EXPLAINS = 0.6
"""Share of the changed weight (mean square, joints by their own uncertainty) that a load at a tip must explain to be
named."""


@dataclass(frozen=True, slots=True)
class TipLoad:
    """A load at a tip that explains a change of weight.

    Attributes:
        link: The tip's link.
        mass: What it weighs more than at the calibration [kg]; negative: less.
        std: Its standard deviation [kg].
    """

    link: str
    mass: float
    std: float


@dataclass(frozen=True, slots=True, eq=False)
class WeightChange:
    """What has changed, in the unit of the efforts; shapes (n,), NaN without measured effort.

    Attributes:
        weight: Change of the gravity effort, root mean square over the recorded poses, constant part apart.
        weight_error: How far that may be off (95 %).
        offset: Change of the constant part, without what the load pulls.
        offset_error: How far that may be off (95 %).
        load: A load at a tip that explains it; None where none does.
    """

    weight: Array
    weight_error: Array
    offset: Array
    offset_error: Array
    load: TipLoad | None


def change_since(fit: Fit, samples: Samples, stands: Stands | None = None) -> WeightChange:
    """Return what has changed since a calibration.

    Args:
        fit: The calibration.
        samples: A fresh recording, within the calibrated range.
        stands: Its poses at rest, where they are looked at beside a motion.
    """
    columns, gains = fit.columns, fit.columns.gains(fit.x)
    robot = fit.robot
    moves = bool(np.any(samples.dq))
    terms = Terms(
        bodies=columns.terms.bodies if moves else "gravity",
        offset=(ALL,),
        coulomb=(ALL,) if np.any(columns.actuator_direction(samples)) else (),
        viscous=(ALL,) if moves else (),
        rotor=(ALL,) if moves else (),
    )
    moved = _with_own_bodies(fit, samples)
    runs = [FittedRun(moved)]
    if stands is not None:
        runs = replace(stands, poses=_with_own_bodies(fit, stands.poses)).beside(moved)
    prior = CadPrior(strength=1.0) if float(robot.tree.mass.sum()) > 0.0 else None
    fitted = weighted_fit(robot, runs, terms=terms, prior=prior)
    return _weight_change(robot, fitted, gains)


def _with_own_bodies(fit: Fit, samples: Samples) -> Samples:
    """Return samples whose efforts are those of the calibrated bodies alone, and the calibration's errors on top."""
    columns = fit.columns
    rigid = np.zeros(len(columns.names))
    rigid[columns.groups["bodies"]] = fit.x[columns.groups["bodies"]]
    rigid[columns.groups["gain"]] = 1.0
    efforts = np.full(samples.q.shape, np.nan)
    efforts[:, columns.active] = columns.predict(samples, rigid)
    return replace(samples, tau=efforts + (samples.tau - fit.predict(samples)) / columns.gains(fit.x))


def _weight_change(robot: Robot, fitted: WeightedFit, gains: Array) -> WeightChange:
    posterior, active = fitted.posterior, fitted.columns.active
    poses = posterior.poses
    with_offset, around = posterior.load(poses, offsets=True)
    load, deviation = posterior.load(poses)
    weight = load - robot.gravity(poses)[:, active]
    # Over a small range weight and offset are one: what is constant is told by itself.
    constant = np.mean(with_offset - robot.gravity(poses)[:, active], axis=0)
    varying = weight - weight.mean(axis=0)
    scale = np.abs(gains[active])
    named = _tip_load(robot, poses, active, with_offset - robot.gravity(poses)[:, active], np.hypot(deviation, around))
    pulled = np.zeros(len(constant))
    if named is not None:
        carrying = robot.with_payload(abs(named.mass), link=named.link)
        pulled = np.sign(named.mass) * np.mean((carrying.gravity(poses) - robot.gravity(poses))[:, active], axis=0)
    return WeightChange(
        weight=all_joints(scale * root_mean_square(varying), active),
        weight_error=all_joints(scale * CERTAIN * root_mean_square(np.minimum(deviation, around)), active),
        offset=all_joints(scale * (constant - pulled), active),
        offset_error=all_joints(scale * CERTAIN * root_mean_square(around), active),
        load=named,
    )


def _tip_load(robot: Robot, q: Array, active: npt.NDArray[np.bool_], change: Array, deviation: Array) -> TipLoad | None:
    """Return the load at a tip that explains changed holding efforts best; None where none does."""
    found: list[tuple[float, TipLoad]] = []
    weights = 1.0 / np.maximum(root_mean_square(deviation), 1e-12)
    whole = float(np.sum((change * weights) ** 2))
    for tip in tips(robot):
        lever = (robot.with_payload(1.0, link=tip).gravity(q) - robot.gravity(q))[:, active] * weights
        power = float(np.sum(lever**2))
        if not power > 0.0:
            continue
        mass = float(np.sum(lever * change * weights)) / power
        explained = mass**2 * power / max(whole, 1e-300)
        # Errors of neighbouring poses are alike: the recording counts as one measurement per joint.
        found.append((explained, TipLoad(tip, mass, float(np.sqrt(len(q) / power)))))
    if not found:
        return None
    explained, best = max(found, key=lambda pair: pair[0])
    return best if explained >= EXPLAINS and abs(best.mass) > 2.0 * best.std else None
