"""The default method on poses at rest: which sides, which terms, and the weighted fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..fitting import ALL, CadPrior, StaticPoses, Terms, samples_of_poses
from ..recording import Declared
from .earlier import EarlierCalibration
from .still_poses import means_of_repeated, with_sides_by_order
from .weighted import WeightedFit, weighted_fit
from .workspace import separable_offsets


@dataclass(frozen=True, slots=True, eq=False)
class PoseFit:
    """A weighted fit to poses at rest.

    Attributes:
        fit: The fit.
        poses: The poses as they were fitted.
        terms: What was fitted, before further terms were looked for.
        prior: Towards the description; None for the data alone.
        search: Whether further terms were looked for.
        earlier: A calibration from which it started.
        notes: What happened on the way, one sentence each.
    """

    fit: WeightedFit
    poses: StaticPoses
    terms: Terms
    prior: CadPrior | None
    search: bool
    earlier: EarlierCalibration | None
    notes: tuple[str, ...]

    def again(self, poses: StaticPoses) -> WeightedFit:
        """Return the fit to some of the poses, quickly: what the fit to all of them found is taken over."""
        return weighted_fit(
            self.fit.model.robot,
            samples_of_poses(poses),
            terms=self.terms,
            prior=self.prior,
            search=self.search,
            like=self.fit,
            earlier=self.earlier,
        )


def fit_poses(
    robot: Robot,
    poses: StaticPoses,
    *,
    terms: Terms | None = None,
    prior: CadPrior | None = CadPrior(),  # noqa: B008 (immutable)
    declared: Declared | None = None,
    earlier: EarlierCalibration | None = None,
) -> PoseFit:
    """Fit poses at rest as a calibration does.

    Where no side is known from which poses were reached, it is taken from their order; poses that were noted more than
    once count by their means instead.

    Args:
        robot: The robot as described and mounted.
        poses: The poses, reached from both sides, from one, or nobody knows.
        terms: What is fitted; None for the usual, and springs and counterbalances where the data show them.
        prior: Towards the description; None for the data alone.
        declared: What the recording's mapping says of its efforts.
        earlier: A calibration to start from.
    """
    notes = list[str]()
    if not np.any(poses.side):
        poses, repeated = means_of_repeated(poses)
        if repeated:
            notes.append(
                f"from which side poses were reached is unknown; {repeated} were noted more than once, and their means "
                "are fitted"
            )
        else:
            poses = with_sides_by_order(poses)
            notes.append("from which side poses were reached is unknown; it is taken from their order")
    chosen = terms if terms is not None else terms_at_rest(robot, poses, declared)
    looks = terms is None
    fitted = weighted_fit(robot, samples_of_poses(poses), terms=chosen, prior=prior, search=looks, earlier=earlier)
    return PoseFit(fitted, poses, chosen, prior, looks, earlier, tuple(notes))


def terms_at_rest(robot: Robot, poses: StaticPoses, declared: Declared | None = None) -> Terms:
    """Return what is fitted at rest: offsets that the weight does not hide, friction where sides are known."""
    usable = separable_offsets(robot) & poses.measured
    sided = np.any(poses.side != 0, axis=0) & poses.measured
    gain = (ALL,) if declared is not None and declared.effort_is_command else ()
    return Terms(bodies="gravity", offset=named_joints(robot, usable), coulomb=named_joints(robot, sided), gain=gain)


def named_joints(robot: Robot, chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the names of some joints, of shape (n,)."""
    return tuple(name for name, kept in zip(robot.joint_names, chosen, strict=True) if kept)
