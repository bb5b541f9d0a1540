"""The check before an arm is let go: what holding it takes, compared with what the model says.

The arm is held by PD with gravity where it stands. Every joint that is to float goes to either side by 0.03 rad (1 cm)
and creeps back (control/both_sides.py); the others stay. At rest from above the drive holds g − F, from below g + F:

    difference = mean of both − ĝ,   friction F = half of what they differ by

A pushed arm is sure to stop and stay only where |difference| < (1 − c) F_c at every joint, c being the share of the
friction that is compensated. The check therefore asks for

    |difference| + 2 σ < (1 − c) F_c

F_c is what was found, or what the friction law says, whichever is smaller; and where the law says more than was found,
what it takes too much is counted against it: (1 − c) F_c = min(F, F_law) − c F_law. It holds for the pose where it was
made; elsewhere an error of the model may be larger, which is what the drift watch is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ...calibration.arrival import arrivals
from ...calibration.pose_plan import PosePlan
from ...description.frozen import Array, frozen
from ...dynamics.joint_units import effort_units, position_units, rotary
from ...dynamics.robot import Robot
from ...errors import InputError, SafetyError, SensorFaultError
from ...estimation.gravity_prior import states_of
from ...friction.law import FrictionLaw
from ...logs.log import Log
from ...logs.sample import Sample, SampleFlag
from ..clock import Clock
from ..gains import gain
from ..plant import Plant, standing_sample
from ..record import MARGIN_LINEAR, MARGIN_ROTARY, Recording
from ..safety import SafetyFilter
from .check_result import CheckResult, JointCheck

if TYPE_CHECKING:
    from ...calibration.fit import Fit

SETTLE, DWELL = 0.5, 0.5
"""Times to come to rest and to measure, at each side [s]."""
LOCKED_APPROACH = 1e-9
"""How far a locked joint "goes" to either side [rad or m]: nowhere."""
BLOCKS = 5
"""Parts of a measurement whose scatter tells its noise: neighbouring samples are not independent."""
CREEP_PART = (0.4, 0.75)
"""Part of a creep during which a joint surely slides."""
SLOW, FAST = 1e-3, 0.5
"""Speeds between which the least friction of a law is looked for [rad/s or m/s]."""


class FloatCheck:
    """The check of one arm. Nothing moves before :meth:`run`.

    Attributes:
        recording: What drives the arm; None before the run.
    """

    def __init__(
        self,
        plant: Plant,
        robot: Robot,
        *,
        share: npt.ArrayLike = 0.0,
        friction: FrictionLaw | None = None,
        locked: Sequence[str] = (),
        calibration: Fit | None = None,
        repeats: int = 3,
        by: Literal["effort", "command"] = "effort",
        safety: SafetyFilter | None = None,
        pace: Literal["plant", "clock"] = "plant",
        clock: Clock | None = None,
        i_have_an_estop: str | None = None,
    ) -> None:
        """Prepare the check.

        Args:
            plant: What is driven.
            robot: The arm's model, payload included.
            share: Share of the friction that is to be compensated, below 1, one number or n.
            friction: The friction law that is to be used; None for the friction that the check finds.
            locked: Names of joints that are not to float; they are not moved.
            calibration: The calibration behind the model, for its uncertainty; None for a model taken as it is.
            repeats: How often the joints creep from both sides, at least 2: their scatter tells how sure the result is.
            by: What tells the holding torque: the efforts measured, or the torques sent. A plant that adds gravity
                itself is always judged by what is sent.
            safety: The filter; None makes one.
            pace: See ControlLoop.
            clock: See ControlLoop.
            i_have_an_estop: See ControlLoop.

        Raises:
            InputError: A joint that does not exist, or a number that makes no sense.
            SafetyError: A share of 1 or more, or a plant whose holding torque is not known.
        """
        names = robot.joint_names
        for name in locked:
            if name not in names:
                raise InputError(f"locked: there is no joint '{name}'; there are {', '.join(names)}")
        if isinstance(repeats, bool) or not isinstance(repeats, int) or not 2 <= repeats <= 100:
            raise InputError(f"repeats is {repeats!r}; expected a whole number from 2 to 100")
        if by not in ("effort", "command"):
            raise InputError(f"by is {by!r}; expected 'effort' or 'command'")
        self._free = np.array([name not in locked for name in names], dtype=bool)
        if not self._free.any():
            raise InputError("every joint is locked; nothing is left to float")
        self._share = gain(share, "share", robot.n)
        refuse_whole_share(self._share, names, self._free)
        self._by = "command" if plant.adds_gravity else by
        if self._by == "effort" and plant.effort_kind != "torque":
            raise SafetyError(
                "the plant measures currents, and the check before floating compares holding torques. Let its driver "
                "give torques, or judge by what is sent (by='command') where commands are true torques"
            )
        self._plant, self._robot, self._friction, self._repeats = plant, robot, friction, repeats
        self._std = np.zeros(robot.n) if calibration is None else gravity_std(robot, calibration, None)
        self._calibration = calibration
        self._settings: dict[str, Any] = {
            "safety": SafetyFilter(robot, plant=plant) if safety is None else safety,
            "pace": pace,
            "clock": clock,
            "i_have_an_estop": i_have_an_estop,
        }
        self.recording: Recording | None = None

    def run(
        self, progress: Callable[[float, float], None] | None = None, then: Literal["stop", "keep"] = "stop"
    ) -> CheckResult | None:
        """Make the check; the plant must have been entered.

        Args:
            progress: Called now and then with the seconds done and in all.
            then: "stop" brings the arm to its safe stop; "keep" leaves it to the next run of ``recording.loop``.

        Returns:
            The result; None when the run was asked to stop before it was complete.

        Raises:
            InputError: A joint is too near to a limit to be approached from both sides.
            SafetyError: There is no measured effort, or a fault stopped the arm.
        """
        sample = standing_sample(self._plant)
        self._refuse_without_effort(sample)
        self.recording = self._prepared(sample.q)
        log = self.recording.run(progress, then=then)
        windows = log.declared.notes["plan"]["windows"]
        if len(windows) < 2 * self._repeats:
            return None
        try:
            return self._judged(log, sample.q)
        except BaseException:
            if then == "keep":
                self.recording.loop.run(0.0)  # nobody goes on from here: bring the arm to its safe stop
            raise

    def _judged(self, log: Log, q: Array) -> CheckResult:
        return judged(
            log,
            self._robot,
            free=self._free,
            share=self._share,
            friction=self._friction,
            by=self._by,
            adds_gravity=self._plant.adds_gravity,
            model_std=self._std if self._calibration is None else gravity_std(self._robot, self._calibration, q),
        )

    def _prepared(self, q: Array) -> Recording:
        robot, free = self._robot, self._free
        turns = np.array(rotary(robot), dtype=bool)
        plan = PosePlan.of(robot, np.repeat(q[None, :], self._repeats, axis=0), settle=SETTLE, dwell=DWELL)
        plan = plan.replaced(approach=np.where(free, plan.approach, LOCKED_APPROACH))
        margin = np.where(turns, MARGIN_ROTARY, MARGIN_LINEAR)
        limits = self._settings["safety"].limits
        room = np.minimum(q - limits.lower, limits.upper - q) - margin
        if (near := np.flatnonzero(free & (room < plan.approach / 3.0))).size:
            joint, unit = int(near[0]), position_units(robot)[int(near[0])]
            raise InputError(
                f"joint '{robot.joint_names[joint]}' is at {q[joint]:.4g} {unit}, too near to its limits "
                f"{limits.lower[joint]:.4g} … {limits.upper[joint]:.4g} to be approached from both sides. Move it away "
                "from the limit, or lock it"
            )
        # A locked joint may stand at its limit: it does not move.
        return Recording(self._plant, robot, plan, margin=np.where(free, margin, -np.inf), **self._settings)

    def _refuse_without_effort(self, sample: Sample) -> None:
        if self._by == "effort" and sample.flags & SampleFlag.EFFORT_INVALID:
            raise SafetyError(
                "the plant measures no efforts, and the check before floating compares holding torques. Judge by what "
                "is sent (by='command') where commands are true torques"
            )


def refuse_whole_share(share: Array, names: Sequence[str], free: npt.NDArray[np.bool_]) -> None:
    """Refuse to compensate all friction of a joint, or more: nothing would be left to hold it.

    Raises:
        SafetyError: A share of a joint that is to float is 1 or more.
    """
    if (over := np.flatnonzero(free & (share >= 1.0))).size:
        joint = int(over[0])
        raise SafetyError(
            f"joint '{names[joint]}': a share of {share[joint]:g} leaves no friction, (1 − c) F_c = "
            f"{'0' if share[joint] == 1.0 else 'less than 0'}, so that any error of the model moves the arm. Take a "
            "smaller share"
        )


def judged(
    log: Log,
    robot: Robot,
    *,
    free: npt.NDArray[np.bool_],
    share: Array,
    friction: FrictionLaw | None,
    by: str,
    adds_gravity: bool,
    model_std: Array,
) -> CheckResult:
    """Return what a recording of one pose, repeated from both sides, says about floating.

    Args:
        log: The recording, with its plan and windows.
        robot: The model.
        free: Joints that are to float, shape (n,), bool.
        share: Share of the friction that is to be compensated, shape (n,).
        friction: The friction law; None for the friction found.
        by: "effort" or "command".
        adds_gravity: Whether the plant adds gravity: the model's is then not compared.
        model_std: Standard deviation of the model's gravity [N m or N], shape (n,).

    Raises:
        SensorFaultError: In one of the measurements most samples are not to be used.
    """
    plan: Mapping[str, Any] = log.declared.notes["plan"]
    held = log.tau if by == "effort" or log.sent is None else log.sent
    placed, usable = _good_rows(log, held, by)
    gravity = np.full_like(held, np.nan)
    gravity[placed] = 0.0 if adds_gravity else robot.gravity(log.q[placed])
    rest, noise, creep = _residuals(log, held - gravity, usable, plan)
    sides = np.array([window["side"] == "below" for window in plan["windows"]])
    each = 0.5 * (rest[sides] + rest[~sides])
    count = len(each)
    # Of both sides apart: what scatters is how each joint comes to rest, and twice the data tell it better.
    scatter = (rest[sides].var(axis=0, ddof=1) + rest[~sides].var(axis=0, ddof=1)) / (4.0 * count)
    variance = scatter + np.sum(noise**2, axis=0) / len(noise) ** 2 + model_std**2
    bands = [0.5 * (means[sides] - means[~sides]).mean(axis=0) for means in (rest, creep)]
    found = np.maximum(np.minimum(*bands), 0.0)
    by_law = found if friction is None else least_friction(friction, robot.n)
    stuck = {joint for arrival in arrivals(log[placed]) for joint in arrival.failed}
    at_rest = _at_rest(log, plan) & placed
    expected, difference = gravity[at_rest].mean(axis=0), each.mean(axis=0)
    joints = tuple(
        JointCheck(
            joint=robot.joint_names[j],
            unit=unit,
            expected=float(expected[j]),
            held=float(expected[j] + difference[j]),
            std=float(np.sqrt(variance[j])),
            friction=float(found[j]),
            friction_law=float(by_law[j]),
            share=float(share[j]),
            crept=j not in stuck,
        )
        for j, unit in enumerate(effort_units(robot))
        if free[j]
    )
    return CheckResult(joints, frozen(plan["poses"][0]), by, float(log.time[-1] - log.time[0]))


def least_friction(friction: FrictionLaw, n: int) -> Array:
    """Return the least that a law says of a sliding joint, over slow speeds and both directions [N m or N], (n,)."""
    speeds = np.geomspace(SLOW, FAST, 40)[:, None] * np.ones(n)
    both = np.concatenate([np.abs(friction.torque(speeds)), np.abs(friction.torque(-speeds))])
    return np.asarray(both.min(axis=0))


def gravity_std(robot: Robot, fit: Fit, q: Array | None) -> Array:
    """Return the standard deviation of a calibrated arm's gravity [N m or N], shape (n,).

    Args:
        robot: The arm that is driven.
        fit: Its calibration.
        q: The pose [rad or m], shape (n,); None to see only whether the two belong together.

    Raises:
        InputError: The calibration is another arm's, or is in command units.
    """
    if fit.robot.joint_names != robot.joint_names:
        raise InputError(f"the calibration's joints {list(fit.robot.joint_names)} are not {list(robot.joint_names)}")
    covariance = states_of(robot, fit, offset=False, friction=False).covariance
    if q is None:
        return np.zeros(robot.n)
    rows = robot.base_gravity_regressor(q)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0)))


def _good_rows(log: Log, held: Array, by: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which rows have a position, and which of them a holding torque too, each of shape (k,), bool.

    The loop bridges single bad samples, so that they are in the log: NaN, or marked by the plant.
    """
    unplaced, untold = SampleFlag.Q_INVALID | SampleFlag.STALE, SampleFlag.EFFORT_INVALID
    placed = (log.flags & int(unplaced) == 0) & np.isfinite(log.q).all(axis=1) & np.isfinite(log.time)
    placed[0] = True  # the loop does not start from a bad one, and times count from it
    told = np.isfinite(held).all(axis=1)
    if by == "effort":
        told &= log.flags & int(untold) == 0
    return placed, placed & told


def _part(residual: Array, inside: npt.NDArray[np.bool_], usable: npt.NDArray[np.bool_]) -> Array:
    """Return the usable rows of one measurement.

    Raises:
        SensorFaultError: There are too few.
    """
    part = residual[inside & usable]
    if len(part) < max(2, np.count_nonzero(inside) / 2):
        raise SensorFaultError(
            f"the check before floating has only {len(part)} usable samples of {np.count_nonzero(inside)} in one of "
            "its measurements: positions or efforts are missing, or marked by the plant as no measurements"
        )
    return part


def _residuals(
    log: Log, residual: Array, usable: npt.NDArray[np.bool_], plan: Mapping[str, Any]
) -> tuple[Array, Array, Array]:
    """Return, per window, the mean at rest, its noise, and the mean while creeping, each of shape (windows, n)."""
    elapsed = log.time - log.time[0]
    rest, noise, creep = [], [], []
    for window in plan["windows"]:
        part = _part(residual, (elapsed >= window["begin"]) & (elapsed < window["end"]), usable)
        blocks = np.array([block.mean(axis=0) for block in np.array_split(part, min(BLOCKS, len(part)))])
        rest.append(part.mean(axis=0))
        noise.append(blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks)))
        begin, length = window["creep"], window["begin"] - plan["settle"] - window["creep"]
        sliding = (elapsed >= begin + CREEP_PART[0] * length) & (elapsed < begin + CREEP_PART[1] * length)
        creep.append(_part(residual, sliding, usable).mean(axis=0))
    return np.array(rest), np.array(noise), np.array(creep)


def _at_rest(log: Log, plan: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
    elapsed = log.time - log.time[0]
    inside = np.zeros(len(elapsed), dtype=bool)
    for window in plan["windows"]:
        inside |= (elapsed >= window["begin"]) & (elapsed < window["end"])
    return inside
