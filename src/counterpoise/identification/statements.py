"""What a calibration is good for: uses, each a test with its own margin, and the numbers that go with them.

All of them follow from the efforts by which the calibration holds the arm, and from how far these may be off, with an
offset (holding errors) and without (gravity errors; load_posterior.py). Numbers of a use are taken SAFE standard
deviations off, so that what is stated is true:

- hold: the tip sags by at most so much under the holding errors at any recorded pose, held by the given stiffness;
- float: gravity errors of every joint are tolerable, and up to a share c of its friction may be compensated besides,
  which leaves (1 − c) of it to hold the rest of the error;
- payload: a load of so many kg at the tip shows in some joint;
- contact: a push of so many N at the tip, in any direction, shows in some joint while the arm moves, at nine poses of
  ten;
- extrapolate: gravity errors are tolerable everywhere within the joint limits, not only where the arm was.

Hold, payload and contact need the friction of every joint: that of one that moved one way only is a constant like an
offset. Extrapolation needs LEAST_COVERED of every joint's range.

What a joint tolerates is the larger of TOLERANCE of its gravity effort (root mean square) and EFFORT_TOLERANCE of its
effort limit. Friction is no part of it: that it hides an error does not make it right.

**Sag** is what a torque error means at the tip. A joint held by a stiffness K_i gives way by e_i/K_i under a torque
error e_i, and the tip follows by its Jacobian. How stiff an arm is held is the controller's choice. Where nothing is
stated, each joint is taken to be held as a spring of natural frequency BANDWIDTH would hold it, K_i = J_i ω², with J_i
the inertia that it moves by the description, rotor included (fitted or described): a soft, safe position control. Give
the real stiffness to get the real sag.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, ancestors, driven_inertias
from ..errors import InputError, listed
from ..fitting import CERTAIN, all_joints, arm_reach, root_mean_square
from ..foundation import Array, frozen
from .estimate import Estimate
from .workspace import changing_gravity, workspace_poses

BANDWIDTH = 25.0
"""ω of the stiffness that is assumed [rad/s]: 4 Hz."""
INERTIA_POSES = 32
"""Poses over which the inertias are averaged."""
MOST_POSES = 400
"""Poses at which sag is evaluated."""
MOST_TIPS = 6
"""Tips that are looked at: the farthest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Sag:
    """Displacement of the tip [m], root mean square.

    Attributes:
        per_joint: By the error of each joint alone, shape (n,); NaN where no error is known.
        total: By all errors at once.
        largest: Largest one at any pose looked at.
    """

    per_joint: Array
    total: float
    largest: float

    @classmethod
    def unknown(cls, n: int) -> Self:
        """Return the sag of n joints whose efforts are no torques: NaN throughout."""
        return cls(frozen(np.full(n, np.nan)), float("nan"), float("nan"))


def assumed_stiffness(robot: Robot, rotors: Array) -> Array:
    """Return K = J ω² of every joint [N m/rad or N/m], shape (n,), with J averaged over the workspace.

    Args:
        robot: The arm as described.
        rotors: Fitted rotor inertias [kg m² or kg], shape (n,), 0 where unknown; the description's count where larger.
    """
    inertia = driven_inertias(robot, workspace_poses(robot, INERTIA_POSES)).mean(axis=0)
    return np.asarray((np.maximum(inertia, 0.0) + np.maximum(robot.rotor_inertia, rotors)) * BANDWIDTH**2)


def given_stiffness(robot: Robot, stiffness: npt.ArrayLike) -> Array:
    """Return a given stiffness, one number or one per joint [N m/rad or N/m], shape (n,).

    Raises:
        InputError: It is not positive, or of another length.
    """
    try:
        values = np.array(np.broadcast_to(np.asarray(stiffness, dtype=np.float64), (robot.n,)))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"stiffness is {stiffness!r}; expected one number or {robot.n} [N m/rad or N/m]") from error
    if not np.all(np.isfinite(values) & (values > 0.0)):
        raise InputError(f"stiffness is {values.tolist()}; expected positive numbers [N m/rad or N/m]")
    return values


def tip_sag(robot: Robot, q: Array, error: Array, stiffness: Array) -> Sag:
    """Return how far torque errors displace the tip; of several tips, the one that is displaced most.

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        error: Torque errors there [N m or N], shape (k, n); NaN where unknown, which counts as none.
        stiffness: K of each joint [N m/rad or N/m], shape (n,); a joint without any is left out.
    """
    step = max(1, -(-len(q) // MOST_POSES))
    q, error = q[::step], error[::step]
    known = np.isfinite(error).any(axis=0)
    soft = np.where(stiffness > 0.0, stiffness, np.inf)
    give = np.nan_to_num(error) / soft
    per_joint, totals, largest = np.zeros(robot.n), [0.0], [0.0]
    for tip in tips(robot):
        slope = np.atleast_3d(robot.jacobian(q, at=tip))[:, :3]
        alone = np.linalg.norm(slope * give[:, None, :], axis=1)
        per_joint = np.maximum(per_joint, np.sqrt(np.mean(alone**2, axis=0)))
        together = np.linalg.norm(np.einsum("kij,kj->ki", slope, give), axis=1)
        totals.append(float(np.sqrt(np.mean(together**2))))
        largest.append(float(together.max(initial=0.0)))
    return Sag(frozen(np.where(known, per_joint, np.nan)), max(totals), max(largest))


def most_sag(robot: Robot, q: Array, bound: Array, stiffness: Array) -> float:
    """Return how far torque errors within bounds can displace a tip at any of some poses [m].

    Args:
        robot: The arm.
        q: Poses [rad or m], shape (k, n).
        bound: How large the errors may be there [N m or N], shape (k, n).
        stiffness: K of each joint [N m/rad or N/m], shape (n,); a joint without any is left out.
    """
    give = bound / np.where(stiffness > 0.0, stiffness, np.inf)
    slopes = (np.atleast_3d(robot.jacobian(q, at=tip))[:, :3] for tip in tips(robot))
    # Errors of different joints may all push one way.
    sags = [np.sum(np.linalg.norm(slope * give[:, None, :], axis=1), axis=1) for slope in slopes]
    return float(np.max(sags, initial=0.0))


def tips(robot: Robot) -> list[str]:
    """Return the end frames at the end of the longest chains, at most MOST_TIPS."""
    tree = robot.tree
    lengths = np.linalg.norm(tree.origin, axis=1)
    reach = {}
    for tip in tree.leaves:
        at = tree.link_names.index(tip)
        body = int(tree.link_body[at])
        if body >= 0:
            chain = float(sum(lengths[i] for i in ancestors(tree, body)))
            reach[tip] = chain + float(np.linalg.norm(tree.link_origin[at]))
    return sorted(reach, key=lambda tip: (-reach[tip], tip))[:MOST_TIPS]


UseName = Literal["hold", "float", "payload", "contact", "extrapolate"]
USES: tuple[UseName, ...] = get_args(UseName)
"""The uses of a result that statements are made about."""

TOLERANCE = 0.1
"""Error that a joint tolerates, as a share of its gravity effort's size ..."""
EFFORT_TOLERANCE = 0.02
"""... and of its effort limit."""
SAFE = 5.0
"""Standard deviations by which a stated number is on the safe side: errors of real arms have longer tails than the
normal distribution, and the worst of many poses counts."""
MOST_SAG = 0.02
"""Sag up to which an arm counts as held, as a share of its reach."""
LEAST_SAG = 1e-4
"""Least sag that is stated [m]: drives and encoders of arms are no better."""
MOST_LOAD = 0.2
"""Load at the tip that must show at the latest, as a share of the arm's moving mass."""
MOST_PUSH = 0.5
"""Push that must show at the latest, as a share of the arm's weight."""
MOST_COMPENSATED = 0.9
"""Largest share of friction that is ever said to be compensable."""
LEAST_COVERED = 0.5
"""Share of every joint's range that an arm must have been through for statements about all of it: springs and cables
may act where it was not."""
FELT = 100.0
"""A push that must be so many times larger than that is not felt at all."""
PUSH_POSES = 60
"""Poses at which pushes are looked at ..."""
PUSHES = 50
"""... and in how many directions, besides the one in which all joints together feel the least."""


@dataclass(frozen=True, slots=True)
class UseStatement:
    """Something that a calibration is good for.

    Attributes:
        use: "hold", "float", "payload", "contact" or "extrapolate".
        sentence: What holds, with its number.
        value: The number: sag [m], share of friction, load [kg], push [N]; NaN where there is none.
        unit: Its unit.
    """

    use: UseName
    sentence: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """How far the gravity efforts may be off in the calibrated range, shapes (n,), NaN without measured effort.

    Attributes:
        error: Gravity error, 95 %, root mean square over the recorded poses, in the unit of the efforts.
        gravity: Size of the gravity effort there, root mean square.
        tolerated: What the joint tolerates.
    """

    error: Array
    gravity: Array
    tolerated: Array


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What a calibration promises, what it is good for, and what not.

    Attributes:
        promise: Errors of the gravity efforts.
        statements: What it is good for.
        missing: Why it is not good for the others, one sentence each, by use.
    """

    promise: Promise
    statements: tuple[UseStatement, ...]
    missing: dict[UseName, str]


def checked_uses(asked: Sequence[str]) -> tuple[UseName, ...]:
    """Return the uses that are asked for, in the order of USES.

    Raises:
        InputError: One of them is no use, or there is none.
    """
    unknown = [use for use in asked if use not in USES]
    if unknown or not asked:
        given = ", ".join(map(repr, unknown)) or "nothing"
        raise InputError(f"a calibration for {given} is asked for; expected some of {', '.join(USES)}")
    return tuple(use for use in USES if use in asked)


def assess(estimate: Estimate, *, friction: Array, residual: Array, stiffness: Array) -> Assessment:
    """Say what a fit is good for.

    Args:
        estimate: The fit to all data.
        friction: Friction of each active joint, in the unit of the efforts, shape (a,); NaN where unknown.
        residual: Error of each active joint while it moves, on data that were held out, shape (a,).
        stiffness: By which the joints are held [N m/rad or N/m], shape (n,).
    """
    return _Assessor(estimate, friction, residual, stiffness).assessment()


class _Assessor:
    def __init__(self, estimate: Estimate, friction: Array, residual: Array, stiffness: Array) -> None:
        self._estimate, self._friction = estimate, friction
        self._residual, self._stiffness = residual, stiffness
        self._names = estimate.model.joint_names
        self._units = estimate.effort_units
        self._poses = estimate.posterior.poses
        self._holding = estimate.deviation(self._poses, offsets=True)
        self._load = estimate.deviation(self._poses)
        self._gravity = root_mean_square(estimate.load(self._poses))
        self._tolerated = self._tolerance(self._poses, self._gravity)
        self._error = estimate.gravity_error(self._poses)
        # A load or push is looked for in the joint where it stands out most from the gravity error and the held-out
        # error, which a file states. What it must exceed there has the offset in it.
        self._unsure = np.maximum(np.hypot(self._error / CERTAIN, residual), 1e-12)
        self._noticed = np.maximum(SAFE * np.hypot(root_mean_square(self._holding), residual), 1e-12)

    def assessment(self) -> Assessment:
        """Return what holds and what does not."""
        active = self._estimate.model.active
        promise = Promise(*(all_joints(values, active) for values in (self._error, self._gravity, self._tolerated)))
        statements: list[UseStatement] = []
        missing: dict[UseName, str] = {}
        for use in USES:
            found = getattr(self, f"_{use}")()
            if isinstance(found, UseStatement):
                statements.append(found)
            else:
                missing[use] = found
        return Assessment(promise, tuple(statements), missing)

    def _tolerance(self, q: Array, gravity: Array) -> Array:
        estimate = self._estimate
        gains = np.abs(estimate.model.gains(estimate.x)[estimate.model.active])
        limits = estimate.robot.effort_limit[estimate.model.active] * gains
        strong = np.where(np.isfinite(limits), EFFORT_TOLERANCE * limits, 0.0)
        return np.maximum(TOLERANCE * gravity, strong)

    def _worst(self, errors: Array, allowed: Array) -> int:
        return int(np.argmax(np.where(np.isfinite(errors), errors / np.maximum(allowed, 1e-300), np.inf)))

    def _beyond(self, errors: Array, allowed: Array, where: str) -> str:
        """Return why errors are too large, in the words of the worst joint."""
        worst = self._worst(errors, allowed)
        others = [name for place, name in enumerate(self._names) if errors[place] > allowed[place] and place != worst]
        also = f" (also {', '.join(others)})" if others else ""
        return (
            f"the gravity effort of {self._names[worst]} may be off by {_short(errors[worst])} {self._units[worst]} "
            f"{where}; it tolerates {_short(allowed[worst])} {self._units[worst]}{also}"
        )

    def _too_far_off(self) -> str:
        """Return why the gravity errors are too large; "" where they are not, even if the weight is the least possible.

        Without that, an estimate that is too large would also make the tolerance too large.
        """
        allowed = self._tolerance(self._poses, np.maximum(self._gravity - self._error, 0.0))
        if np.all(self._error <= allowed):
            return ""
        return self._beyond(self._error, allowed, "where the arm was (95 %)")

    def _float(self) -> UseStatement | str:
        if wrong := self._too_far_off():
            return wrong
        left = SAFE * root_mean_square(self._load) / np.where(self._friction > 0.0, self._friction, np.nan)
        # A joint whose friction is unknown leaves nothing to compensate.
        share = float(np.clip(1.0 - np.max(np.nan_to_num(left, nan=np.inf)), 0.0, MOST_COMPENSATED))
        share = math.floor(20.0 * share) / 20.0
        if share > 0.0:
            words = f"float, with up to {share:.0%} of the friction compensated"
        else:
            loose = [name for name, part in zip(self._names, left, strict=True) if not part <= 1.0]
            words = f"float, with no friction compensated: {', '.join(loose)} may creep"
        return UseStatement("float", words, share, "")

    def _unseen(self) -> str:
        """Return why nothing can be said of what holds the arm; "" where it can: friction shows at every joint.

        The friction of a joint that moves one way only is a constant, as an offset is: how much of what holds the joint
        would change with the direction, nobody knows.
        """
        active = self._estimate.model.active
        hidden = self._estimate.posterior.nuisances.unseen[active] > 0.0
        if not hidden.any():
            return ""
        names = [name for name, some in zip(self._names, hidden, strict=True) if some]
        moved = f"{'they' if len(names) > 1 else 'it'} moved in one direction only, or not at all"
        return f"the friction of {listed(names)} is unknown: {moved}"

    def _hold(self) -> UseStatement | str:
        if self._estimate.command_units:
            return "how far the arm sags is unknown: efforts are in command units"
        if hidden := self._unseen() or self._too_far_off():
            return hidden
        robot = self._estimate.robot
        error = np.zeros((len(self._poses), robot.n))
        error[:, self._estimate.model.active] = SAFE * self._holding
        sag = max(most_sag(robot, self._poses, error, self._stiffness), LEAST_SAG)
        reach = max(arm_reach(robot), 1e-9)
        if not sag <= MOST_SAG * reach:
            return f"the tip may sag by {_millimetres(sag)}, more than {MOST_SAG:.0%} of the arm's reach"
        return UseStatement("hold", f"hold a pose where the arm was, with at most {_millimetres(sag)} of sag", sag, "m")

    def _payload(self) -> UseStatement | str:
        if self._estimate.command_units:
            return "what a load would weigh is unknown: efforts are in command units"
        if hidden := self._unseen():
            return hidden
        robot, active = self._estimate.robot, self._estimate.model.active
        least = np.inf
        for tip in tips(robot):
            lever = root_mean_square(
                (robot.with_payload(1.0, link=tip).gravity(self._poses) - robot.gravity(self._poses))[:, active]
            )
            joint = int(np.argmax(lever / self._unsure))
            shown = float(self._noticed[joint] / max(float(lever[joint]), 1e-12))
            least = shown if np.isinf(least) else max(least, shown)
        most = MOST_LOAD * float(robot.tree.mass.sum())
        if not least <= most:
            return f"a load at the tip shows from {_short(least)} kg on; at most {_short(most)} kg would do"
        return UseStatement("payload", f"notice a load of {_short(least)} kg at the tip", least, "kg")

    def _contact(self) -> UseStatement | str:
        if self._estimate.command_units:
            return "how hard a push would be is unknown: efforts are in command units"
        if hidden := self._unseen():
            return hidden
        robot, active = self._estimate.robot, self._estimate.model.active
        step = max(1, -(-len(self._poses) // PUSH_POSES))
        q = self._poses[::step]
        weakest = 0.0
        for tip in tips(robot):
            slope = np.atleast_3d(robot.jacobian(q, at=tip))[:, :3][:, :, active]
            least = np.linalg.svd(slope / self._noticed)[0][:, :, -1]  # where all joints together feel the least
            directions = np.concatenate([np.broadcast_to(_DIRECTIONS, (len(q), *_DIRECTIONS.shape)), least[:, None]], 1)
            torques = np.abs(directions @ slope)
            joint = np.argmax(torques / self._unsure, axis=2)
            with np.errstate(divide="ignore"):
                shown = self._noticed[joint] / np.take_along_axis(torques, joint[:, :, None], axis=2)[:, :, 0]
            weakest = max(weakest, float(np.quantile(shown.max(axis=1), 0.9, method="higher")))
        most = MOST_PUSH * 9.81 * float(robot.tree.mass.sum())
        if weakest > FELT * most:
            return "in some direction no joint feels a push at the tip"
        if not weakest <= most:
            return f"a push at the tip shows from {_short(weakest)} N on; at most {_short(most)} N would do"
        return UseStatement(
            "contact", f"notice a push of {_short(weakest)} N at the tip, in any direction", weakest, "N"
        )

    def _extrapolate(self) -> UseStatement | str:
        poses = self._estimate.workspace
        robot = self._estimate.robot
        little = np.ptp(self._poses, axis=0) < LEAST_COVERED * np.ptp(poses, axis=0)
        names = [name for name, some in zip(robot.joint_names, little & changing_gravity(robot), strict=True) if some]
        if names:
            return f"the arm was in less than {LEAST_COVERED:.0%} of the range of {listed(names)}"
        posterior = self._estimate.posterior
        hangs = posterior.elsewhere / posterior.widened
        errors = SAFE * hangs * root_mean_square(self._estimate.deviation(poses))
        allowed = self._tolerance(poses, root_mean_square(self._estimate.load(poses)))
        if not np.all(errors <= allowed):
            return self._beyond(errors, allowed, "elsewhere within its limits (95 %)")
        return UseStatement("extrapolate", "extrapolate to any pose within the joint limits", float("nan"), "")


def _directions() -> Array:
    """Return directions spread evenly over half of the sphere, on a spiral, shape (PUSHES, 3)."""
    step = np.arange(PUSHES)
    height = (step + 0.5) / PUSHES
    about = np.pi * (3.0 - np.sqrt(5.0)) * step
    across = np.sqrt(1.0 - height**2)
    return np.column_stack([across * np.cos(about), across * np.sin(about), height])


_DIRECTIONS = _directions()
"""Directions in which pushes are looked at, both senses alike, shape (PUSHES, 3)."""


def _short(value: float) -> str:
    return f"{value:.0f}" if 1000.0 <= value < 1e6 else f"{value:.3g}"


def _millimetres(value: float) -> str:
    return f"{1e3 * value:.2g} mm"
