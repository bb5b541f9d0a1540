"""The check before an arm is let go: what holding it takes, compared with what the model says.

The arm is held by PD with gravity where it stands. Every joint that is to float goes to either side by 0.03 rad (1 cm)
and creeps back (tasks/pose_recording.py); the others stay. At rest from above the drive holds g − F, from below g + F:

    difference = mean of both − ĝ,   friction F = half of what they differ by

A pushed arm is sure to stop and stay only where |difference| < (1 − c) F_c at every joint, c being the fraction of
the friction that is compensated. The check therefore asks for

    |difference| + 2 σ < (1 − c) F_c

F_c is what was found, or what the friction law says, whichever is smaller; and where the law says more than was found,
what it takes too much is counted against it: (1 − c) F_c = min(F, F_law) − c F_law.

Joints that do not come to rest from both sides, because friction lets them go in leaps only, are tried once more while
the others stand, from 0.1 rad (3 cm) and faster.

The result holds for the pose where it was made. Which loads would not show there, and where they would, is worked out
beside it (tasks/float/hidden.py); the watch looks for them while the arm floats (tasks/float/load_watch.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ...control import gain, standing_sample
from ...dynamics import FrictionLaw, Robot, effort_units, position_units, rotary
from ...errors import InputError, SafetyError, SensorFaultError
from ...foundation import Array, frozen
from ...identification import PosePlan
from ...recording import Sample, SampleFlag
from ...sensing import states_of
from ..pose_recording import MARGIN_LINEAR, MARGIN_ROTARY, Recording
from ..rig import Rig
from .hidden import CheckResult, JointCheck, blindness
from .holding import HeldWindow, HoldingTorques
from .law import free_joints
from .settings import FloatSettings

if TYPE_CHECKING:
    from ...identification import Fit


SETTLE, DWELL = 1.0, 0.5
"""Times to come to rest and to measure, at each side [s]."""
LOCKED_APPROACH = 1e-9
"""How far a locked joint "goes" to either side [rad or m]: nowhere."""
RELAXED = 0.6
"""Least friction found at rest, over that found while sliding, for what was held at rest to tell."""
FAR_ROTARY, FAR_LINEAR = 0.1, 0.03
"""How far a joint goes to either side that did not creep before [rad, m], and how fast it creeps then [rad/s, m/s]."""
SLOW, FAST = 1e-3, 0.5
"""Speeds between which the least friction of a law is looked for [rad/s or m/s]."""


class FloatCheck:
    """The check of one arm. Nothing moves before :meth:`run`.

    Attributes:
        recording: The motion, and the loop that drives the arm through it; None before the run.
    """

    def __init__(self, rig: Rig, settings: FloatSettings = FloatSettings()) -> None:  # noqa: B008  frozen
        """Prepare the check.

        Args:
            rig: The arm; locked joints are not pulsed, whatever it says of unknown rotors.
            settings: How it is to float.

        Raises:
            InputError: A joint that does not exist, or a number that makes no sense.
            SafetyError: A fraction of 1 or more, or a plant whose holding torque is not known.
        """
        robot, plant = rig.robot, rig.plant
        self._free = free_joints(robot.joint_names, settings.locked)
        if not self._free.any():
            raise InputError("every joint is locked; nothing is left to float")
        self._fraction = gain(settings.friction_fraction, "friction_fraction", robot.n)
        refuse_whole_fraction(self._fraction, robot.joint_names, self._free)
        self._by = "command" if plant.adds_gravity else settings.by
        if self._by == "effort" and plant.effort_kind != "torque":
            raise SafetyError(
                "the plant measures currents, and the check before floating compares holding torques. Let its driver "
                "give torques, or judge by what is sent (by='command') where commands are true torques"
            )
        self._rig, self._settings = rig, settings
        self._covariance = None if rig.calibration is None else gravity_covariance(robot, rig.calibration)
        self.recording: Recording | None = None

    def run(
        self,
        progress: Callable[[float, float], None] | None = None,
        *,
        until: Callable[[Sample], bool] | None = None,
        then: Literal["stop", "keep"] = "stop",
    ) -> CheckResult | None:
        """Make the check; the plant must have been entered.

        Args:
            progress: Called now and then with the seconds done and in all.
            until: Called with every good sample; true ends the check before it is complete.
            then: "stop" brings the arm to its safe stop; "keep" leaves it to the next run of ``recording.loop``.

        Returns:
            The result; None when the check was ended before it was complete.

        Raises:
            InputError: A joint is too near to a limit to be approached from both sides.
            SafetyError: There is no measured effort, or a fault stopped the arm.
            SensorFaultError: In one of the measurements most samples are not to be used.
        """
        robot, friction = self._rig.robot, self._settings.friction
        sample = standing_sample(self._rig.plant)
        self._refuse_without_effort(sample)
        # All that can be computed now is: while the result is worked out, nothing is sent.
        model_std = np.zeros(robot.n) if self._covariance is None else gravity_std(robot, self._covariance, sample.q)
        friction_law = None if friction is None else least_friction(friction, robot.n)
        recording = self.recording = self._prepared(sample.q)
        limits, room = self._rig.safety.limits, self._room()
        unseen = blindness(robot, sample.q, self._free, limits.lower + room, limits.upper - room, limits.effort)
        if not recording.measure(progress, until=until):
            if then == "stop":
                recording.loop.run(0.0)
            return None
        judge = partial(judged, robot=robot, fraction=self._fraction, friction_law=friction_law, model_std=model_std)
        windows = self._held(recording, progress, until)
        joints = judge(windows, free=self._free)
        seconds = recording.reference.duration if windows else 0.0
        if (stuck := self._may_go_further(sample.q, joints)).any():
            self._rig.announce(self._again(stuck))
            recording.follow(self._further(recording.plan, stuck))
            windows = self._held(recording, progress, until)
            second = {joint.joint: joint for joint in judge(windows, free=stuck)}
            joints = tuple(second.get(joint.joint, joint) for joint in joints)
            seconds += recording.reference.duration if windows else 0.0
        if then == "stop":
            recording.loop.run(0.0)
        return CheckResult(joints, frozen(sample.q), self._by, seconds, unseen) if windows else None

    def _held(
        self,
        recording: Recording,
        progress: Callable[[float, float], None] | None,
        until: Callable[[Sample], bool] | None,
    ) -> tuple[HeldWindow, ...]:
        """Follow the recording's plan; return what holding took, () where ``until`` ended it. The arm stays held.

        Raises:
            SafetyError: A fault stopped the arm.
            SensorFaultError: In one of the measurements most samples are not to be used; the arm was stopped.
        """
        plant, loop = self._rig.plant, recording.loop
        duration = recording.duration_from(plant.read().q)
        held = HoldingTorques(
            self._rig.robot,
            recording.reference,
            loop.safety,
            by_command=self._by == "command",
            adds_gravity=plant.adds_gravity,
        )

        def watch(sample: Sample) -> bool:
            held.take(sample)
            return bool(held.failure) or (until is not None and until(sample))

        report = recording.drive(duration, until=watch, progress=progress, then="keep")
        complete = report.ticks - report.stop_ticks >= round(duration / plant.dt)
        windows = held.finish() if complete else ()
        if held.failure:
            loop.run(0.0)  # nobody goes on from here: bring the arm to its safe stop
            raise SensorFaultError(held.failure)
        return windows

    def _may_go_further(self, q: Array, joints: Sequence[JointCheck]) -> npt.NDArray[np.bool_]:
        """Return the joints that did not come to rest from both sides and have the room to go further, (n,), bool."""
        failed = {joint.joint for joint in joints if not joint.crept}
        limits = self._rig.safety.limits
        room: Array = np.minimum(q - limits.lower, limits.upper - q) - self._margin()
        stuck = np.array([name in failed for name in self._rig.robot.joint_names], dtype=bool)
        return np.asarray(stuck & (room >= self._far()))

    def _further(self, plan: PosePlan, stuck: npt.NDArray[np.bool_]) -> PosePlan:
        """Return the plan in which only ``stuck`` joints move, from further away and faster."""
        far = self._far()
        return plan.replaced(
            approach=np.where(stuck, far, LOCKED_APPROACH),
            creep_speed=np.where(stuck, np.minimum(far, plan.travel_speed), plan.creep_speed),
        )

    def _again(self, stuck: npt.NDArray[np.bool_]) -> str:
        """Say which joints are tried again, and how far they go."""
        names = ", ".join(f"'{self._rig.robot.joint_names[joint]}'" for joint in np.flatnonzero(stuck))
        return (
            f"did not come to rest from both sides: {names}. They are tried again, {FAR_ROTARY:g} rad "
            f"({1e2 * FAR_LINEAR:g} cm) to either side"
        )

    def _far(self) -> Array:
        return np.where(np.array(rotary(self._rig.robot), dtype=bool), FAR_ROTARY, FAR_LINEAR)

    def _margin(self) -> Array:
        return np.where(np.array(rotary(self._rig.robot), dtype=bool), MARGIN_ROTARY, MARGIN_LINEAR)

    def _room(self) -> Array:
        """Return how far from its limits each joint must be to be checked with ease [rad or m], shape (n,)."""
        plan = PosePlan.of(self._rig.robot, np.zeros((1, self._rig.robot.n)))
        return np.asarray(self._margin() + plan.approach)

    def _prepared(self, q: Array) -> Recording:
        robot, free = self._rig.robot, self._free
        repeated = np.repeat(q[None, :], self._settings.repeats, axis=0)
        plan = PosePlan.of(robot, repeated, settle=SETTLE, dwell=DWELL)
        plan = plan.replaced(approach=np.where(free, plan.approach, LOCKED_APPROACH))
        margin = self._margin()
        limits = self._rig.safety.limits
        room = np.minimum(q - limits.lower, limits.upper - q) - margin
        if (near := np.flatnonzero(free & (room < plan.approach / 3.0))).size:
            joint, unit = int(near[0]), position_units(robot)[int(near[0])]
            raise InputError(
                f"joint '{robot.joint_names[joint]}' is at {q[joint]:.4g} {unit}, too near to its limits "
                f"{limits.lower[joint]:.4g} … {limits.upper[joint]:.4g} to be approached from both sides. Move it away "
                "from the limit, or lock it"
            )
        # A locked joint does not move: it may stand at its limit, and with an unknown rotor it is held softly.
        names = [name for name, floats in zip(robot.joint_names, free, strict=True) if floats]
        return Recording(self._rig, plan, margin=np.where(free, margin, -np.inf), pulsed=names)

    def _refuse_without_effort(self, sample: Sample) -> None:
        if self._by == "effort" and sample.flags & SampleFlag.TAU_INVALID:
            raise SafetyError(
                "the plant measures no efforts, and the check before floating compares holding torques. Judge by what "
                "is sent (by='command') where commands are true torques"
            )


def refuse_whole_fraction(fraction: Array, names: Sequence[str], free: npt.NDArray[np.bool_]) -> None:
    """Refuse to compensate all friction of a joint, or more: nothing would be left to hold it.

    Raises:
        SafetyError: The fraction of a joint that is to float is 1 or more.
    """
    if (over := np.flatnonzero(free & (fraction >= 1.0))).size:
        joint = int(over[0])
        raise SafetyError(
            f"joint '{names[joint]}': a friction fraction of {fraction[joint]:g} leaves no friction, (1 − c) F_c = "
            f"{'0' if fraction[joint] == 1.0 else 'less than 0'}, so that any error of the model moves the arm. Take a "
            "smaller one"
        )


def judged(
    windows: Sequence[HeldWindow],
    robot: Robot,
    *,
    free: npt.NDArray[np.bool_],
    fraction: Array,
    friction_law: Array | None,
    model_std: Array,
) -> tuple[JointCheck, ...]:
    """Return what one pose, held from both sides again and again, says about the joints that are to float.

    Args:
        windows: What holding took, as often from above as from below.
        robot: The model.
        free: Joints that are to float, shape (n,), bool.
        fraction: Fraction of the friction that is to be compensated, shape (n,).
        friction_law: What the friction law says at least [N m or N], shape (n,); None for the friction found.
        model_std: Standard deviation of the model's gravity [N m or N], shape (n,).

    Returns:
        The joints that are to float; () without a window.
    """
    if not windows:
        return ()
    rest, noise, creep, gravity, crept = (
        np.array([getattr(window, name) for window in windows])
        for name in ("rest", "noise", "creep", "gravity", "crept")
    )
    below = np.array([window.below for window in windows])
    at_rest, sliding = (0.5 * (means[below] - means[~below]).mean(axis=0) for means in (rest, creep))
    found = np.maximum(np.minimum(at_rest, sliding), 0.0)
    # A coarse encoder lets the drive relax at rest, by any part of the friction. Sliding, all of it is on.
    held = np.where(at_rest < RELAXED * sliding, creep, rest)
    difference = 0.5 * (held[below] + held[~below]).mean(axis=0)
    # Of both sides apart: what scatters is how each joint comes to rest, and twice the data determine it better.
    scatter = (held[below].var(axis=0, ddof=1) + held[~below].var(axis=0, ddof=1)) / (2.0 * len(windows))
    std = np.sqrt(scatter + np.sum(noise**2, axis=0) / len(noise) ** 2 + model_std**2)
    by_law = found if friction_law is None else friction_law
    expected = gravity.mean(axis=0)
    return tuple(
        JointCheck(
            joint=robot.joint_names[j],
            unit=unit,
            expected=float(expected[j]),
            held=float(expected[j] + difference[j]),
            std=float(std[j]),
            friction=float(found[j]),
            friction_law=float(by_law[j]),
            friction_fraction=float(fraction[j]),
            crept=bool(crept[:, j].all()),
        )
        for j, unit in enumerate(effort_units(robot))
        if free[j]
    )


def least_friction(friction: FrictionLaw, n: int) -> Array:
    """Return the least that a law says of a sliding joint, over slow speeds and both directions [N m or N], (n,)."""
    speeds = np.geomspace(SLOW, FAST, 40)[:, None] * np.ones(n)
    both = np.concatenate([np.abs(friction.torque(speeds)), np.abs(friction.torque(-speeds))])
    return np.asarray(both.min(axis=0))


def gravity_covariance(robot: Robot, fit: Fit) -> Array:
    """Return the covariance of a calibrated arm's base gravity parameters, shape (b, b).

    Args:
        robot: The arm that is driven.
        fit: Its calibration.

    Raises:
        InputError: The calibration is another arm's, or is in command units.
    """
    if fit.robot.joint_names != robot.joint_names:
        raise InputError(f"the calibration's joints {list(fit.robot.joint_names)} are not {list(robot.joint_names)}")
    return states_of(robot, fit, offset=False, friction=False).covariance


def gravity_std(robot: Robot, covariance: Array, q: Array) -> Array:
    """Return the standard deviation of an arm's gravity [N m or N], shape (n,).

    Args:
        robot: The arm.
        covariance: Of its base gravity parameters, shape (b, b).
        q: The pose [rad or m], shape (n,).
    """
    rows = robot.base_gravity_regressor(q)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0)))
