r"""Hand-guiding an arm without torque mode: a wrist sensor feels the hand, and the joints are commanded to yield.

What the hand exerts, w, moves a virtual mass with a virtual damper at the tip; damped least squares turn its velocity
into joint speeds ([Udai], second demonstration; [Nakamura1986] for λ near singularities):

.. math:: M \dot v + D v = \mathrm{dead}(w), \qquad \dot q = J^T (J J^T + \lambda^2)^{-1} v

Zero and tool are removed from the reading by :class:`WristFeedback`. The commands are bounded by ``MotionBounds``: they
stay within speeds, accelerations and position limits, tick by tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..control import SCALE, WristFeedback, checked_dt, joint_array, number_of, shortened
from ..dynamics import Robot, link_name, numbers
from ..errors import InputError
from ..foundation import Array, frozen

MARGIN = 0.05
"""Default distance that is kept from position limits [rad or m]; never more than 5 % of the joint's range."""
SPEED_SHARE = 0.25
"""Default largest speed, as a share of the robot's: a hand-guided arm is slow."""

NOTICE = 4
"""How many periods ahead a joint that will brake for its limit is known."""


class MotionBounds:
    """Bounds on a commanded joint motion.

    Next to a limit a joint may only move as fast as it can still be stopped: with a the acceleration, T the period and
    d what is left of the way less a T²/8, v ≤ √((a T/2)² + 2 a d) − a T/2: braked by a T in every period, the joint
    ends at the limit, and a T²/8 is what whole periods can add to that.

    Attributes:
        lower: Lowest commanded positions [rad or m], shape (n,).
        upper: Highest ones.
        speed: Largest speeds [rad/s or m/s], shape (n,).
        acceleration: Largest accelerations [rad/s² or m/s²], shape (n,).
        dt: Time between two commands [s].
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        speed: npt.ArrayLike | None = None,
        acceleration: npt.ArrayLike | None = None,
        margin: float = MARGIN,
    ) -> None:
        """Take the robot's limits.

        Args:
            robot: The arm.
            dt: Time between two commands [s].
            speed: Largest speeds [rad/s or m/s], one or n; None for SPEED_SHARE of the robot's.
            acceleration: Largest accelerations [rad/s² or m/s²], one or n; None reaches the speed in 0.25 s.
            margin: Distance kept from the position limits [rad or m].

        Raises:
            InputError: A number that means nothing, or the robot has no speed limit and none is given.
        """
        if not (np.isfinite(margin) and margin >= 0.0):
            raise InputError(f"margin is {margin!r}; expected a distance from 0 [rad or m]")
        names = robot.joint_names
        speeds = SPEED_SHARE * robot.velocity_limit if speed is None else joint_array(speed, "speed", names)
        rates = speeds / 0.25 if acceleration is None else joint_array(acceleration, "acceleration", names)
        for name, values in (("speed", speeds), ("acceleration", rates)):
            bad = np.flatnonzero(~((values > 0.0) & np.isfinite(values)))
            if bad.size:
                raise InputError(
                    f"joint '{names[int(bad[0])]}': {name} is {values[bad[0]]:g}; expected a positive number. Nothing "
                    f"moves without a bound: give {name}="
                )
        kept = np.minimum(margin, 0.05 * (robot.upper - robot.lower))
        self.lower, self.upper = frozen(robot.lower + kept), frozen(robot.upper - kept)
        self.speed, self.acceleration, self.dt = frozen(speeds), frozen(rates), checked_dt(dt)

    def next_speed(self, wanted: Array, q: Array, dq: Array) -> Array:
        """Return the speed to command next [rad/s or m/s], shape (n,).

        Args:
            wanted: Wanted speeds, shape (n,). Too fast, all joints are slowed alike, so the path stays.
            q: Positions commanded last [rad or m], shape (n,).
            dq: Speeds commanded last, shape (n,).
        """
        over = float(np.max(np.abs(wanted) / self.speed, initial=0.0))
        slowed = wanted / over if over > 1.0 else wanted
        step = self.acceleration * self.dt
        most, least = self._stoppable(self.upper - q), -self._stoppable(q - self.lower)
        change = np.clip(slowed, least, most) - dq
        sudden = float(np.max(np.abs(change) / step, initial=0.0))
        # Joints are sped up alike too; one that must brake for its limit does so whatever the others do. A joint that
        # stands outside its bounds may come back, but not go further.
        following = np.clip(dq + (change / sudden if sudden > 1.0 else change), least, most)
        return np.asarray(np.clip(following, dq - step, dq + step))

    def braking(self, q: Array, dq: Array) -> npt.NDArray[np.bool_]:
        """Return which joints brake for a position limit, or may have to within NOTICE periods, shape (n,).

        Args:
            q: Positions commanded last [rad or m], shape (n,).
            dq: Speeds to command next, shape (n,).
        """
        left = np.where(dq > 0.0, self.upper - q, q - self.lower)
        return np.asarray((dq != 0.0) & (np.abs(dq) + NOTICE * self.acceleration * self.dt > self._stoppable(left)))

    def _stoppable(self, left: Array) -> Array:
        """Return the largest speeds from which the joints stop within the ways that are left [rad or m]."""
        half = 0.5 * self.acceleration * self.dt
        way = np.maximum(left - 0.25 * half * self.dt, 0.0)
        return np.asarray(np.sqrt(half**2 + 2.0 * self.acceleration * way) - half)


MASS = (4.0, 4.0, 4.0, 0.1, 0.1, 0.1)
DAMPING = (60.0, 60.0, 60.0, 2.0, 2.0, 2.0)
FORCE_BAND, MOMENT_BAND = 2.0, 0.2
"""What a hand must exceed [N, N m]: above what zero and tool leave over."""
TIP_SPEED, TIP_TURN = 0.25, 0.8
"""Largest speed of the tip [m/s] (hand-guiding of ISO 10218 arms is usually held to 250 mm/s) and turn [rad/s]."""
NEAR_SINGULAR = 0.05
"""Smallest singular value, rotations counted with LEVER, below which the solution is damped [m]."""
MOST_DAMPING = 0.05
"""λ where the smallest singular value is zero [m]."""
LEAD = 0.1
"""A command that runs ahead of the arm by more than this ends the guiding [rad or m]."""


@dataclass(frozen=True, slots=True, eq=False)
class AdmittanceSettings:
    """How a hand leads the tip.

    Attributes:
        mass: Virtual mass, base axes [kg ×3, kg m² ×3], above 0.
        damping: Virtual damping [N s/m ×3, N m s/rad ×3], from 0; a huge number locks a direction.
        force_band: Force of the hand that moves nothing [N].
        moment_band: Moment of the hand that moves nothing [N m].
        tip_speed: Largest speed of the tip [m/s].
        tip_turn: Largest turn of the tip [rad/s].
        lead: How far a command may run ahead of the measured position [rad or m].
    """

    mass: npt.ArrayLike = MASS
    damping: npt.ArrayLike = DAMPING
    force_band: float = FORCE_BAND
    moment_band: float = MOMENT_BAND
    tip_speed: float = TIP_SPEED
    tip_turn: float = TIP_TURN
    lead: float = LEAD

    def __post_init__(self) -> None:
        """Refuse numbers without a meaning; the arrays become read-only, shape (6,)."""
        for name in ("mass", "damping"):
            object.__setattr__(self, name, numbers(getattr(self, name), name, (6,)))
        if not np.all(np.asarray(self.mass) > 0.0) or not np.all(np.asarray(self.damping) >= 0.0):
            raise InputError("mass needs numbers above 0, damping numbers from 0")
        for name, unit in (("force_band", "N"), ("moment_band", "N m")):
            number_of(getattr(self, name), name, unit, zero=True)
        for name, unit in (("tip_speed", "m/s"), ("tip_turn", "1/s"), ("lead", "rad or m")):
            number_of(getattr(self, name), name, unit)


class JointCommand(NamedTuple):
    """What to command: positions for an arm that takes goals, speeds for one that takes velocities.

    Attributes:
        q: Positions [rad or m], shape (n,).
        dq: Speeds [rad/s or m/s], shape (n,).
    """

    q: Array
    dq: Array


class Admittance:
    """Turns what a hand exerts at the tip into joint commands.

    ::

        guide = Admittance(robot, WristFeedback(calibration, sensor.read), dt=0.008)
        guide.reset(arm.q)
        while guiding:
            arm.move_to(guide.command(arm.q).q)     # or arm.move_at(….dq)

    On a bad reading or a bad position the last good one stands in for the feedback's hold_ticks; then, or when the arm
    does not follow, all speeds go to zero at the bounded acceleration and stay there until the next reset.

    Attributes:
        robot: The arm.
        at: The link that is led.
        bounds: Speeds, accelerations and positions that are commanded at most.
        stopped: Why the guiding ended; empty while it goes on.
        twist: Velocity of the tip that was commanded last, base axes [m/s, rad/s], shape (6,).
    """

    def __init__(
        self,
        robot: Robot,
        feedback: WristFeedback,
        dt: float,
        settings: AdmittanceSettings = AdmittanceSettings(),
        *,
        at: str | None = None,
        bounds: MotionBounds | None = None,
    ) -> None:
        """Make the guide; reset it before the first command.

        Args:
            robot: The arm; only its kinematics and limits count.
            feedback: The wrist sensor.
            dt: Time between two commands [s].
            settings: How the hand leads the tip.
            at: Link that is led; None for the tip of an arm that is not branched.
            bounds: What is commanded at most; None for the robot's limits (see MotionBounds).

        Raises:
            InputError: An argument has no meaning.
        """
        self.robot, self.at = robot, link_name(robot, at)
        if not isinstance(feedback, WristFeedback):
            raise InputError(f"feedback is {feedback!r}; expected a WristFeedback")
        feedback.refuse_other_arm(robot)
        self.feedback = feedback
        self.bounds = MotionBounds(robot, dt) if bounds is None else bounds
        if self.bounds.dt != dt:
            raise InputError(f"the bounds are for dt = {self.bounds.dt:g} s, not {dt:g} s")
        self._settings = settings
        self._mass, self._damping = np.asarray(settings.mass), np.asarray(settings.damping)
        self.stopped = "not reset"
        self._begun = False
        self.twist = np.zeros(6)
        self._q, self._dq = np.zeros(robot.n), np.zeros(robot.n)
        self._measured = self._q
        self._bad = 0

    def reset(self, q: npt.ArrayLike) -> None:
        """Begin at rest at ``q``, the measured positions [rad or m], shape (n,).

        Raises:
            InputError: They are no positions.
        """
        self._q = np.array(numbers(q, "q", (self.robot.n,)))
        self._measured, self._dq = self._q, np.zeros(self.robot.n)
        self.twist, self._bad, self.stopped, self._begun = np.zeros(6), 0, "", True
        self.feedback.reset()

    def command(self, q: npt.ArrayLike) -> JointCommand:
        """Return the next command.

        Args:
            q: The measured positions [rad or m], shape (n,).

        Raises:
            InputError: There was no reset: nobody has said where the arm is, and any command would make it jump.
        """
        if not self._begun:
            raise InputError("the guide was not reset; call reset(q) with the measured positions first")
        measured = self._position(q)
        hand = None if self.stopped else self._hand(measured)
        if hand is None:
            wanted = np.zeros(self.robot.n)
        else:
            dt = self.bounds.dt
            # Implicit in the damper: stable whatever the damping.
            twist = (self._mass * self.twist + dt * hand) / (self._mass + dt * self._damping)
            twist = np.concatenate(
                [shortened(twist[:3], self._settings.tip_speed), shortened(twist[3:], self._settings.tip_turn)]
            )
            # At the command, not at the arm that lags behind it: what is commanded is then the path that is wanted.
            wanted = self._joint_speeds(self._q, twist)
        self._dq = self._tip_bounded(self.bounds.next_speed(wanted, self._q, self._dq))
        self._q = self._q + self.bounds.dt * self._dq
        # The virtual mass moves as the arm does: it gathers no speed against a limit.
        self.twist = self.robot.jacobian(self._q, at=self.at) @ self._dq
        return JointCommand(self._q.copy(), self._dq.copy())

    def _position(self, given: npt.ArrayLike) -> Array:
        """Return the measured positions, or the last good ones; end the guiding where they stay away or behind."""
        try:
            measured = np.array(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            measured = np.full(self.robot.n, np.nan)
        if measured.shape == (self.robot.n,) and np.isfinite(measured).all():
            self._bad, self._measured = 0, measured
            behind = np.abs(measured - self._q)
            if behind.max() > self._settings.lead:
                joint = self.robot.joint_names[int(np.argmax(behind))]
                self._stop(f"joint '{joint}' is {behind.max():.3g} rad or m away from its command; it does not follow")
        else:
            self._bad += 1
            if self._bad > self.feedback.hold_ticks:
                self._stop(f"{self._bad} positions in a row are no numbers")
        return self._measured

    def _hand(self, q: Array) -> Array | None:
        """Return what the hand exerts beyond the dead band, base axes [N, N m], shape (6,); None to stop."""
        exerted = self.feedback.exerted(q, self.at)
        if exerted is None:
            self._stop(f"{self.feedback.bad} readings of the wrist sensor in a row cannot be used")
            return None
        return np.concatenate(
            [_beyond(-exerted[:3], self._settings.force_band), _beyond(-exerted[3:], self._settings.moment_band)]
        )

    def _joint_speeds(self, q: Array, twist: Array) -> Array:
        """Return damped least squares of J dq = twist, rotations counted with LEVER."""
        scaled = SCALE[:, None] * self.robot.jacobian(q, at=self.at)
        left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
        # With fewer than six joints some directions are never there; what counts is the worst of those that are.
        near = min(float(sizes[-1]) / NEAR_SINGULAR, 1.0)
        damping = MOST_DAMPING**2 * (1.0 - near**2)
        factors = np.divide(sizes, sizes**2 + damping, out=np.zeros_like(sizes), where=sizes > 1e-9)
        speeds: Array = right.T @ (factors * (left.T @ (SCALE * twist)))
        return speeds

    def _tip_bounded(self, dq: Array) -> Array:
        """Return joint speeds that keep the tip within its own bounds, as far as the joints' accelerations allow.

        Joints that balance each other move the tip faster when one of them brakes for its limit: the others are slowed
        as soon as it does, to what the tip may do without it. And where an arm cannot turn as it should, damped least
        squares move it instead.
        """
        jacobian = self.robot.jacobian(self._q + self.bounds.dt * dq, at=self.at)
        braking = self.bounds.braking(self._q, dq)
        slowed = dq / max(self._share(jacobian @ dq), 1.0)
        if braking.any():
            slowed[~braking] /= max(self._share(jacobian @ np.where(braking, 0.0, slowed)), 1.0)
        step = self.bounds.acceleration * self.bounds.dt
        return np.asarray(np.clip(slowed, self._dq - step, self._dq + step))

    def _share(self, twist: Array) -> float:
        """Return a velocity of the tip as a share of what it may be."""
        return max(
            float(np.linalg.norm(twist[:3])) / self._settings.tip_speed,
            float(np.linalg.norm(twist[3:])) / self._settings.tip_turn,
        )

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason


def _beyond(vector: Array, band: float) -> Array:
    """Return a force or moment shortened by the dead band: continuous, zero within it."""
    size = float(np.linalg.norm(vector))
    return np.zeros(3) if size <= band else vector * (1.0 - band / size)
