"""What the page's arm does next: floats, is held, is weighed; hands and weights come and go. One thread only.

``TaredPlate`` is what the plate under the base tells about a floating arm: its friction, and the force of a hand.
``Hand`` holds a point of a link and pulls it by a spring: what a mouse does to the arm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..control import Hold, PoseList, SafetyFilter, default_gains
from ..dynamics import Robot, link_poses, rotary
from ..foundation import Array, frozen
from ..plants import AttachPayload, Push
from ..recording import Sample
from ..sensing import BaseSensor, PayloadEstimator
from ..tasks import SPEED_SHARE, Rig, WatchSettings
from .arms import ViewArm
from .law import GuidedLaw, floating_law, sinking_law
from .snapshot import Pull, Snapshot, State, Weight

TARE_FROM, TARE_UNTIL = 0.3, 1.0
"""When the plate is tared, after the start [s]: the arm is held, empty and untouched."""
SMOOTHING = 0.1
"""Time constant of what is shown [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Felt:
    """What the plate feels.

    Attributes:
        friction: Motor torque minus the torque that the plate finds at the joint [N m or N], shape (n,).
        force: Force on the arm from outside, base frame [N], shape (3,).
    """

    friction: Array
    force: Array


class TaredPlate:
    """Tares the plate while the arm is held at the start, then follows its reading."""

    def __init__(self, arm: ViewArm) -> None:
        """Prepare for an arm."""
        info = arm.plant.plate
        self._sensor = None if info is None else BaseSensor(arm.robot, info.T_base_sensor, info.reads, range=info.range)
        self._robot = arm.robot
        self._step = arm.plant.dt / SMOOTHING
        self.forget()

    def forget(self) -> None:
        """Forget tare and past readings."""
        self._rows: list[tuple[Array, Array]] = []
        self._mean: Array | None = None
        self._effort: Array | None = None
        self._tare_force: Array | None = None
        if self._sensor is not None:
            self._sensor.untare()

    def take(self, sample: Sample) -> Array | None:
        """Take one sample; return the wrench that the plate exerts on the robot, base axes, base origin, shape (6,).

        None where there is no plate, or no reading.
        """
        if self._sensor is None or sample.wrench is None:
            return None
        if TARE_FROM <= sample.time < TARE_UNTIL:
            self._rows.append((sample.q, sample.wrench))
        elif self._rows and self._tare_force is None:
            q = np.mean([row[0] for row in self._rows], axis=0)
            reading = np.mean([row[1] for row in self._rows], axis=0)
            self._sensor.tare(q, reading)
            self._tare_force = self._sensor.wrench(reading)[:3]
            self._rows = []
        if self._mean is None or self._effort is None:
            self._mean, self._effort = sample.wrench.copy(), sample.tau.copy()
        self._mean += self._step * (sample.wrench - self._mean)
        self._effort += self._step * (sample.tau - self._effort)
        return self._sensor.wrench(sample.wrench)

    def felt(self, sample: Sample) -> Felt | None:
        """Return what the plate feels, smoothed; None before the tare."""
        if self._sensor is None or self._mean is None or self._tare_force is None or self._effort is None:
            return None
        dynamic = self._sensor.joint_torques(sample.q, self._mean)
        friction = self._effort - dynamic - self._robot.gravity(sample.q)
        return Felt(frozen(friction), frozen(self._tare_force - self._sensor.wrench(self._mean)[:3]))


FULL_AT = 0.25
"""Distance between hand and point at which the hand pulls with all its force [m]."""
DAMPING_TIME = 0.08
"""Damping of the hand over its stiffness [s]: a hand does not let a link swing."""
LEAST_FORCE = 40.0
"""Strength of a hand [N], unless friction needs more."""
OVER_FRICTION = 4.0
"""Strength of a hand over what breaks the stiffest joint away at the arm's full reach."""

RISE_TIME = 0.15
"""Time in which a hand comes to its full force [s]."""
WATCH = WatchSettings()
BELOW_WATCH = 0.7
"""Speed up to which a hand drives a joint, as a share of what stops an arm that ``counterpoise float`` lets go."""


@dataclass(slots=True)
class Hand:
    """One hand on the arm.

    Attributes:
        link: Link that it holds.
        point: Where, in the link's frame [m], shape (3,).
        target: Where it wants that point, base frame [m], shape (3,).
        force: What it exerts on the arm now, base frame [N], shape (3,).
        at: Where the point is now, base frame [m], shape (3,).
        steady: A force that it exerts instead of pulling towards the target, base frame [N], shape (3,); None to pull.
        until: When it lets go by itself, by the plant's clock [s].
    """

    link: str
    point: Array
    target: Array
    steady: Array | None = None
    until: float = math.inf
    force: Array = field(default_factory=lambda: np.zeros(3))
    at: Array = field(default_factory=lambda: np.zeros(3))

    def position(self, robot: Robot, q: Array) -> Array:
        """Return where the point is at q [rad or m], shape (n,), in the base frame [m], shape (3,)."""
        T_base_link = link_poses(robot.tree, q[None, :], robot.link_names.index(self.link))[0]
        return np.asarray(T_base_link[:3, 3] + T_base_link[:3, :3] @ self.point)

    def pull(self, robot: Robot, q: Array, dq: Array, strength: float, most_speed: Array, dt: float) -> Array:
        """Return what the hand exerts, base frame [N], shape (3,): spring and damper, or its steady force.

        It grows at a limited rate, is never above ``strength``, and makes no joint faster that is fast already.

        Args:
            robot: The arm.
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            strength: Largest force [N].
            most_speed: Speeds from which on it does not drive the arm [rad/s or m/s], shape (n,).
            dt: Time since the last call [s].
        """
        index = robot.link_names.index(self.link)
        T_base_link = link_poses(robot.tree, q[None, :], index)[0]
        arm = T_base_link[:3, :3] @ self.point
        self.at = T_base_link[:3, 3] + arm
        motion = robot.jacobian(q, at=self.link) @ dq
        velocity = motion[:3] + np.cross(motion[3:], arm)
        if self.steady is not None:
            force = self.steady
            self.target = self.at + FULL_AT / strength * self.steady
        else:
            stiffness = strength / FULL_AT
            force = stiffness * (self.target - self.at) - DAMPING_TIME * stiffness * velocity
        size = float(np.linalg.norm(force))
        most = min(strength, float(np.linalg.norm(self.force)) + dt / RISE_TIME * strength)
        share = min(1.0, most / size) if size > 0.0 else 1.0
        if float(force @ velocity) > 0.0:  # a joint that is fast already is not made faster
            share *= float(np.clip(2.0 - 2.0 * np.max(np.abs(dq) / most_speed), 0.0, 1.0))
        self.force = share * force
        return self.force

    def joint_torque(self, robot: Robot, q: Array) -> Array:
        """Return what the present force does at the joints, Jᵀ w [N m or N], shape (n,)."""
        index = robot.link_names.index(self.link)
        arm = link_poses(robot.tree, q[None, :], index)[0][:3, :3] @ self.point
        wrench = np.concatenate([self.force, np.cross(arm, self.force)])
        return robot.wrench_torque(q, wrench, at=self.link)


def hand_speed(robot: Robot, velocity_limit: Array) -> Array:
    """Return the speeds up to which a hand drives the joints [rad/s or m/s], shape (n,).

    Args:
        robot: The arm.
        velocity_limit: The plant's velocity limits [rad/s or m/s], shape (n,).
    """
    watched = np.minimum(np.where(rotary(robot), WATCH.speed_rotary, WATCH.speed_linear), SPEED_SHARE * velocity_limit)
    return np.asarray(BELOW_WATCH * watched)


def hand_strength(robot: Robot, friction_band: Array) -> float:
    """Return how strong a hand must be to move this arm about [N].

    Args:
        robot: The arm.
        friction_band: Torque that friction holds at rest [N m or N], shape (n,).
    """
    reach = max(float(np.linalg.norm(robot.tree.origin, axis=1).sum()), 0.1)
    turns = rotary(robot)
    needed = np.where(turns, friction_band / (0.5 * reach), friction_band)
    return max(LEAST_FORCE, OVER_FRICTION * float(needed.max(initial=0.0)))


FIRST_HOLD = 1.2
"""How long the empty arm is held at the start [s]: the payload estimator learns its baseline, the plate its tare."""
WEIGH_ROTARY, WEIGH_LINEAR, WEIGH_DWELL, WEIGH_SPEED, WEIGH_POSES = 0.25, 0.05, 0.9, 0.25, 6
"""How far the joints move when a weight is weighed [rad, m], how long each pose is held [s], how fast they move as a
share of their top speed, and at how many poses."""
CONTROL_TOLERANCE = 1.0
"""A load is compensated when what is unknown of it stays within the friction band of every joint."""
NOBODY = "nobody is looking: held until float is pressed"
ASKED = "held, until float is pressed"
UNSURE = "the weight is not known well enough to float with it: weigh it again, or float anyway"
FEELING = "moving a little, to feel the weight in other poses"


class Guide:
    """The state of a session's arm. Not for several threads.

    Attributes:
        arm: What is driven.
        rig: The same, ready to be driven.
        law: Its law.
        strength: Largest force of a hand [N].
        friction_fraction: Fraction of the friction that is compensated.
        plate_on: Whether the plate's reading is used.
        trusts_payload: Whether a payload that was found is compensated.
        state: What the arm is doing.
        why: Why it is held or stopped.
        sample: The newest sample.
    """

    def __init__(self, arm: ViewArm, friction_fraction: float) -> None:
        """Prepare an arm that is held at first.

        Args:
            arm: The arm.
            friction_fraction: Fraction of the friction that is compensated.
        """
        plant, robot = arm.plant, arm.robot
        self.arm, self.friction_fraction = arm, friction_fraction
        self.plate_on = self.trusts_payload = True
        self.strength = hand_strength(robot, arm.friction_band)
        self._hand_speed = hand_speed(robot, plant.velocity_limit)
        with plant:
            self.sample = plant.read()
        plant.reset()
        safety = SafetyFilter(robot, plant=plant, effort_limit=plant.effort_limit, velocity_limit=plant.velocity_limit)
        self.rig, limits = Rig(plant, robot, safety=safety), safety.limits
        gains = default_gains(robot, self.sample.q, limits.effort, plant.dt)
        floating, sinking = floating_law(arm, friction_fraction, limits), sinking_law(arm, gains, limits)
        self.law = GuidedLaw(robot, floating, sinking, gains, limits.effort, plant.dt)
        self._estimator = self._new_estimator()
        self._plate = TaredPlate(arm)
        self._hands: dict[str, tuple[Hand, Push | None]] = {}
        self._weight: Weight | None = None
        self.state, self.why = State.HOLDING, ""
        self._until: float | None = FIRST_HOLD
        self._weighings, self._least = 0, 0.0

    # ------------------------------------------------------------------------------------------------------- orders

    def let_float(self) -> None:
        """Float."""
        if self.state is not State.STOPPED:
            self.state, self.why, self._until = State.FLOATING, "", None
            self.law.let_go()

    def hold(self, why: str, until: float | None = None) -> None:
        """Hold the arm where it is, until it is told to float, or until a time [s]."""
        if self.state is not State.STOPPED:
            self.state, self.why, self._until = State.HOLDING, why, until
            self.law.follow(Hold())

    def weigh(self) -> None:
        """Hold the arm in some poses about the present one, until the weight on it is known."""
        if self.state is State.STOPPED:
            return
        robot, plant, q = self.arm.robot, self.arm.plant, self.sample.q
        away = np.where(rotary(robot), WEIGH_ROTARY, WEIGH_LINEAR)
        low, high = np.minimum(robot.lower + 0.5 * away, q), np.maximum(robot.upper - 0.5 * away, q)
        self._weighings += 1
        sides = np.random.default_rng(self._weighings).choice((-1.0, 1.0), (WEIGH_POSES // 2, robot.n))
        poses = [np.clip(q + sign * away * side, low, high) for side in sides for sign in (1.0, -1.0)]
        path = PoseList([q, *poses, q], speed=WEIGH_SPEED * np.minimum(plant.velocity_limit, 3.0), dwell=WEIGH_DWELL)
        self.law.follow(path)
        path.reset(q)
        self.state, self.why, self._until = State.WEIGHING, FEELING, plant.time + path.duration
        self._least = plant.time + WEIGH_DWELL

    def stop(self, why: str) -> None:
        """Note that the arm was stopped."""
        self.state, self.why = State.STOPPED, why

    def home(self) -> None:
        """Put the arm back at its first pose, empty, held and without a past."""
        for who in list(self._hands):
            self.let_go(who)
        self._weight = None
        plant = self.arm.plant
        plant.reset()
        with plant:
            self.sample = plant.read()
        plant.reset()
        self._estimator = self._new_estimator()
        self._plate.forget()
        self.law.gravity_on, self.law.payload = True, None
        self.state = State.HOLDING
        self.hold("", FIRST_HOLD)

    def use_friction_fraction(self, friction_fraction: float) -> None:
        """Compensate another fraction of the friction."""
        self.friction_fraction, self.law.floating = (
            friction_fraction,
            floating_law(self.arm, friction_fraction, self.rig.safety.limits),
        )
        self.law.floating.reset(self.sample)

    def load(self, weight: Weight | None) -> None:
        """Hang a weight on the arm instead of the present one, None for nothing, and find out what hangs there."""
        plant = self.arm.plant
        plant.remove_payloads()
        if weight is not None:
            plant.attach_payload(AttachPayload(mass=weight.mass, com=weight.point, link=weight.link))
        had, self._weight = self._weight, weight
        if weight is not None or had is not None:
            self.weigh()

    def take_hold(self, who: str, hand: Hand) -> None:
        """Put a hand on the arm; an arm that was only held because nobody was there floats again."""
        self.let_go(who)
        if self.state is State.STOPPED:
            return
        if self.why == NOBODY:
            self.let_float()
        hand.target = hand.position(self.arm.robot, self.sample.q)
        self._hands[who] = (hand, None)

    def pull(self, who: str, target: Array) -> None:
        """Say where a hand wants its point, base frame [m], shape (3,)."""
        if who in self._hands:
            self._hands[who][0].target = target

    def let_go(self, who: str) -> None:
        """Take a hand off."""
        _, given = self._hands.pop(who, (None, None))
        if given is not None:
            self.arm.plant.end_push(given)

    def nobody_looks(self) -> None:
        """Hold the arm if it floats."""
        if self.state is State.FLOATING:
            self.hold(NOBODY)

    # --------------------------------------------------------------------------------------------------------- a tick

    def tick(self, sample: Sample) -> None:
        """Do what belongs to one control tick besides the torque."""
        self.sample = sample
        wrench = self._plate.take(sample) if self.plate_on else None
        self._estimator.update_sample(sample, wrench)
        self.law.payload = self._estimator.payload_for_control if self.trusts_payload else None
        self._use_hands(sample)
        if self.state is State.WEIGHING and self._settled():
            self.let_float()
        elif self._until is not None and sample.time >= self._until:
            if self.state is State.WEIGHING:
                self.hold(UNSURE)
            else:
                self.let_float()
        if reason := self.law.must_stop(sample):
            self.stop(reason)

    def _settled(self) -> bool:
        """Whether what hangs on the arm is known and borne, so that it can float."""
        as_hung = (self._weight is not None) == (self._estimator.payload_for_control is not None)
        at_rest = bool(np.all(np.abs(self.law.spring) < self.arm.friction_band))
        return as_hung and self.law.blended and at_rest and self.sample.time >= self._least

    def _use_hands(self, sample: Sample) -> None:
        plant, robot = self.arm.plant, self.arm.robot
        for who, (hand, given) in list(self._hands.items()):
            if plant.time >= hand.until:
                self.let_go(who)
                continue
            force = hand.pull(robot, sample.q, sample.dq, self.strength, self._hand_speed, plant.dt)
            if given is not None:
                plant.end_push(given)
            wrench = np.concatenate([force, np.zeros(3)])
            push = Push(link=hand.link, wrench=wrench, point=hand.point, start=plant.time)
            plant.push(push)
            self._hands[who] = (hand, push)

    def _new_estimator(self) -> PayloadEstimator:
        arm = self.arm
        band = np.maximum(arm.friction_band, 1e-6)
        return PayloadEstimator(arm.robot, arm.plant.dt, friction_band=band, control_tolerance=CONTROL_TOLERANCE)

    @property
    def tip_link(self) -> str:
        """The link whose origin is traced: the last one of the first arm."""
        return self.arm.robot.tree.leaves[0]

    def snapshot(self, frame: int, pace: float) -> Snapshot:
        """Return the arm as it is now.

        Args:
            frame: Number of the snapshot.
            pace: Seconds of the plant's time per second of ours.
        """
        plant, robot, sample = self.arm.plant, self.arm.robot, self.sample
        truth = plant.truth()
        hands = [hand for hand, _ in self._hands.values()]
        external = robot.gravity(truth.q) - plant.robot.gravity(truth.q)
        for hand in hands:
            external = external + hand.joint_torque(robot, truth.q)
        felt = self._plate.felt(sample) if self.plate_on else None
        return Snapshot(
            time=sample.time,
            frame=frame,
            pace=pace,
            state=self.state,
            why=self.why,
            q=frozen(truth.q),
            dq=frozen(truth.dq),
            commanded=frozen(sample.tau),
            gravity=frozen(robot.gravity(truth.q)),
            compensated=frozen(self.law.compensated.copy()),
            friction=frozen(truth.friction_torque),
            external=frozen(external),
            plate_friction=None if felt is None else felt.friction,
            plate_force=None if felt is None else felt.force,
            tip=frozen(robot.forward_kinematics(truth.q, at=self.tip_link)[:3, 3]),
            pulls=tuple(Pull(hand.link, hand.at.copy(), hand.target.copy(), hand.force.copy()) for hand in hands),
            weight=self._weight,
            estimate=self._estimator.estimate,
            trusted=self._estimator.payload_for_control is not None,
        )
