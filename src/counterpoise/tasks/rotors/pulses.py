"""The law that pulses one joint after the other, while it holds the rest of the arm.

    rest     g(q) + soft PD (control/gains.py) about where each joint stands
    push     the joint's own PD is frozen; a torque is added to it: from 1 % of the effort limit, more from pulse to
             pulse, to either side in turn, until the joint moves
    ease     at 0.11 rad/s (0.03 m/s): no more than held it, or less, or nearly as much as the push, whatever slows it
             down; below half that speed it is pushed again
    brake    after 12 of the 20 mrad (3 of 5 mm) that it may go: friction first, then the same torque the other way

What is sent takes a few ticks to act; 0.2 rad/s (0.05 m/s) is what a joint should not exceed. A joint that swings under
the soft law gets half of its gains, and half again: with a small rotor behind a compliant gear they are too much. After
the last pulse the arm comes to rest before the law is over.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...control import SafetyFilter, default_gains
from ...dynamics import Robot, effort_units, mass_matrix_with_rotors, position_units, rotary
from ...errors import ModelError
from ...foundation import Array, frozen
from ...recording import Sample
from .fit import LEAST_STEPS, Grams, Inertia95, Pulse, fitted, reduced

LINEAR = 0.25
"""Metres that stand for a radian, for linear joints: 0.02 rad are 5 mm, 0.2 rad/s are 0.05 m/s."""
WAY = 0.02
"""How far a pulse may move a joint [rad]."""
LAST_WAY = 0.6
"""Share of that way at which the joint is braked."""
PUSH_SPEED, SLOW_SPEED = 0.11, 0.055
"""Speeds at which a push ends, and at which a joint that has been let ease off is pushed again [rad/s]."""
TOO_FAST, AVERAGED = 0.3, 0.01
"""A joint that a pulse made faster than this is left alone [rad/s], on an average over this time [s]."""
EASE_TIME = 0.06
"""A joint that has not slowed down after this time is let ease off more [s]."""
HARDEST = 2.2
"""Pushes are at most this many times as hard as the first one that moved the joint: harder ones make gears swing."""
LEAST_EASE = 0.9
"""Easing off leaves at most this share of the push."""
COAST_TIME, BRAKE_TIME = 0.02, 0.15
"""How long a joint is left to friction before it is braked, and how long that may last [s]."""
STANDS = 0.15
"""Share of its top speed at which a braked joint all but stands."""
MOVED, SLIDES = 0.003, 0.0015
"""Displacements from which a joint counts as moved, and from which it surely slides [rad]."""
STUCK_TIME, PUSH_TIME = 0.1, 0.5
"""How long a push lasts where nothing moves, and where it does [s]."""
PUSH_LASTS, PUSH_TICKS = 0.045, 8
"""How long a push should last, once it is known how hard the joint is to move [s, ticks]."""
FIRST, GROWTH, LAST = 0.01, 1.15, 0.3
"""Pulses as shares of the effort limit: the first, from one to the next, and the largest."""
MOST_EFFORT = 0.9
"""Largest share of the effort limit that holding and a pulse may take together."""
WANTED, MOST_TRIES = 8, 20
"""Pulses that are to be used for a joint, and pulses beyond the first that moves it before it is given up."""
STILL, STILL_TIME = 0.0003, 0.08
"""An arm stands when no joint has moved by this much [rad] for this time [s]."""
STILL_STEPS, MOST_STEP = 1.2, 0.005
"""... or by this many of the steps that its encoder is seen to make, of at most this size [rad]."""
SWING_TIME, DRIFT = 0.4, 0.7
"""Time over which a joint that does not stand is looked at [s], and the share of its range that makes it a drift."""
LEAST_REST, MOST_REST, LONGEST_REST = 0.1, 0.6, 2.5
"""How long it is left alone between two pulses that moved it: at least, until its gains are halved, at most [s]."""
LEAST_SHARE = 1.0 / 64.0
"""The soft gains of a joint that swings are halved down to this share: behind a compliant gear they may be too much."""
FIRST_REST = 0.3
"""How long it is left alone before a joint's first pulse [s]."""
STRAY = 0.1
"""How far any joint may be from where it stood at the start before the measurement is ended [rad]."""
SPEED_RESOLUTION = 0.04
"""Speed that a joint's positions must resolve [rad/s]: coarse encoders are looked at over more ticks."""
LONGEST_LOOK = 0.03
"""... but over no more than this time [s]."""

Phase = Literal["rest", "push", "ease", "brake", "done"]


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one joint.

    Attributes:
        inertia: What its torque moves; None where it could not be measured.
        reason: Why not; "" where it was.
        pulses: Pulses that were used.
        torque: The largest torque of a pulse [N m or N].
        travel: Furthest that a pulse moved it [rad or m].
    """

    inertia: Inertia95 | None
    reason: str
    pulses: int
    torque: float
    travel: float


class PulseLaw:
    """Holds an arm softly and pulses some of its joints, one at a time.

    Pass ``until=law.over`` to ControlLoop.run.

    Attributes:
        found: What came of each joint that is done, by its index.
        share: Share of the soft gains under which every joint came to rest, shape (n,).
        ended: Why the measurement was ended before all joints were done; "" where it was not.
    """

    uses_wrench = False

    def __init__(self, robot: Robot, safety: SafetyFilter, joints: tuple[int, ...], *, gravity: bool) -> None:
        """Prepare; nothing is pulsed before the reset.

        Args:
            robot: The arm's model.
            safety: The run's filter; it knows what was sent.
            joints: Indices of the joints to pulse.
            gravity: Whether to add g(q); False on a plant that does so itself.
        """
        self.adds_gravity = gravity
        self.found: dict[int, Found] = {}
        self.ended = ""
        self.share = np.ones(robot.n)
        self._robot, self._safety, self._joints = robot, safety, joints
        self._scale = np.where(rotary(robot), 1.0, LINEAR)
        self._tau = np.zeros(robot.n)
        self._still_ticks = max(2, math.ceil(STILL_TIME / safety.dt))
        self._recent: deque[Array] = deque(maxlen=max(2, math.ceil(SWING_TIME / safety.dt)))
        self._step = np.full(robot.n, np.inf)  # of each encoder, as far as it was seen
        self._mass = np.zeros((robot.n, robot.n))
        self._home, self._anchor = frozen(np.zeros(robot.n)), np.zeros(robot.n)
        self._phase: Phase = "done"
        # of the present joint
        self._queue: deque[int] = deque()
        self._joint, self._unit = -1, ""
        self._level = self._moves_at = self._largest = self._way = 0.0
        self._low = 0.0  # share of the push that is left while easing off
        self._direction, self._moving, self._tries = 1.0, False, 0
        self._rest_from = 0.0
        self._grams: list[Grams] = []
        # of the present pulse
        self._began = self._phase_from = 0.0
        self._from = self._peak = self._furthest = 0.0
        self._frozen = self._wave = 0.0
        self._pushes: list[float] = []
        self._eases: list[float] = []
        self._times: list[float] = []
        self._places: list[Array] = []
        self._sent: list[float] = []

    @property
    def done(self) -> float:
        """Share of the joints that are done."""
        return len(self.found) / max(len(self._joints), 1)

    def links(self, joint: int) -> float:
        """Return what a joint moves of the links, the others standing, where the arm was at the start [kg m² or kg]."""
        return float(self._mass[joint, joint] - self._robot.rotor_inertia[joint])

    def soften(self, joint: int) -> bool:
        """Halve the soft gains of a joint that swings; False where they are as low as they go."""
        if self.share[joint] <= LEAST_SHARE:
            return False
        self.share[joint] *= 0.5
        return True

    def over(self, sample: Sample) -> bool:
        """Say whether all joints are done, or nothing more can be; for ``until`` of ControlLoop.run."""
        return self._phase == "done"

    def reset(self, sample: Sample) -> None:
        """Hold the arm where it is and begin with the first joint."""
        robot, q = self._robot, frozen(sample.q)
        gains = default_gains(robot, q, self._safety.limits.effort, self._safety.dt)
        self._kp, self._kd = gains.kp, gains.kd
        self._reach = np.full(robot.n, np.inf) if gains.reach is None else gains.reach
        try:
            self._mass = mass_matrix_with_rotors(robot, q)
        except ModelError:  # inertias that no real body has: the coupling is then left out
            self._mass = np.zeros((robot.n, robot.n))
        self._home, self._anchor = q, np.array(q)
        self._queue = deque(self._joints)
        self._recent.clear()
        self.share = np.ones(robot.n)
        self.found.clear()
        self._next_joint(0.0)

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        q, tau = sample.q, self._tau
        if self._recent:
            step = np.abs(q - self._recent[-1])
            self._step = np.where((step > 0.0) & (step < self._step), step, self._step)
        self._recent.append(q)
        if self._phase != "done":
            self._advance(sample, time)
        if self.adds_gravity:
            self._robot.gravity(q, out=tau)
        else:
            tau[:] = 0.0
        joint = self._joint
        if self._phase == "brake" or (self._phase == "rest" and joint >= 0 and time < self._rest_from):
            self._anchor[joint] = q[joint]  # hold it where it comes to rest
        spring = self.share * (self._kp * np.clip(self._anchor - q, -self._reach, self._reach) - self._kd * sample.dq)
        if self._phase in ("push", "ease", "brake"):
            if not self._times:
                self._frozen = float(spring[joint] + self.share[joint] * self._kd[joint] * sample.dq[joint])
            spring[joint] = self._frozen + self._wave
            self._times.append(float(sample.time))
            self._places.append(q)
        tau += spring
        return tau

    def _advance(self, sample: Sample, time: float) -> None:
        """Go from phase to phase."""
        if self._phase == "rest":
            self._rest(sample, time)
            return
        if self._times:  # what was really sent after the sample before is known now
            self._sent.append(float(self._safety.last[self._joint]))
        self._pulse(sample, time)

    def _rest(self, sample: Sample, time: float) -> None:
        q = sample.q
        stray = np.abs(q - self._home) / self._scale
        if np.any(stray > STRAY):
            worst = int(np.argmax(stray))
            self._end(f"joint '{self._robot.joint_names[worst]}' left its place: the soft law does not hold it there")
            return
        if time < self._rest_from:
            return
        lately = min(len(self._recent), self._still_ticks)
        if lately < self._still_ticks:
            return
        seen = np.array(self._recent)
        moves = np.ptp(seen[-lately:], axis=0) > self._calm
        waited = time - self._rest_from
        if self._joint < 0 and (waited > LONGEST_REST or not moves.any()):
            self._phase = "done"
        elif not moves.any():
            self._begin_pulse(sample, time)
        elif waited > MOST_REST:
            ranges = np.ptp(seen, axis=0)
            swings = (ranges > self._calm) & (np.abs(seen[-1] - seen[0]) < DRIFT * ranges) & (self.share > LEAST_SHARE)
            if swings.any():
                self.share = np.where(swings, 0.5 * self.share, self.share)
                self._rest_from = time
            elif waited > LONGEST_REST:
                name = self._robot.joint_names[int(np.argmax(ranges / self._scale))]
                self._finish(f"joint '{name}' does not come to rest under the soft law", time)

    @property
    def _calm(self) -> Array:
        """How far each joint may move and still count as standing [rad or m], shape (n,)."""
        coarse = np.where(np.isfinite(self._step), STILL_STEPS * self._step, 0.0)  # one count to and fro is no motion
        return np.maximum(STILL * self._scale, np.minimum(coarse, MOST_STEP * self._scale))

    def _begin_pulse(self, sample: Sample, time: float) -> None:
        joint, limits = self._joint, self._safety.limits
        q, effort = float(sample.q[joint]), float(limits.effort[joint])
        room = WAY * float(self._scale[joint])
        away = q - float(self._home[joint])
        if abs(away) > 0.5 * room:
            self._direction = -math.copysign(1.0, away)
        for _ in range(2):
            if limits.lower[joint] <= q + self._direction * 1.5 * room <= limits.upper[joint]:
                break
            self._direction = -self._direction
        else:
            self._finish("it stands too near to its limits", time)
            return
        held = abs(float(self._safety.last[joint]))
        if self._level > LAST * effort or held + self._level > MOST_EFFORT * effort:
            self._finish("" if self._moving else f"a pulse of {self._largest:.3g} {self._unit} does not move it", time)
            return
        self._times, self._places, self._sent = [], [], []
        self._began = time
        self._to("push", 1.0, time)
        self._from, self._peak, self._furthest = q, 0.0, 0.0
        self._pushes, self._eases = [], []
        self._largest = max(self._largest, self._level)

    def _pulse(self, sample: Sample, time: float) -> None:
        joint, scale = self._joint, float(self._scale[self._joint])
        way = self._direction * (float(sample.q[joint]) - self._from) / scale
        speed = self._direction * self._speed(sample) / scale
        self._furthest = max(self._furthest, way)
        self._peak = max(self._peak, speed)
        since, lasted = time - self._began, time - self._phase_from
        if self._phase != "brake" and (way >= LAST_WAY * WAY or since >= PUSH_TIME):
            self._to("brake", 0.0, time)
        elif self._phase == "push":
            if self._stuck(way, since):
                self._end_pulse(time)
            elif speed >= PUSH_SPEED:
                self._pushes.append(lasted)
                self._to("ease", self._low, time)
        elif self._phase == "ease":
            if speed <= SLOW_SPEED:
                self._eases.append(lasted)
                self._to("push", 1.0, time)
            elif lasted >= EASE_TIME:
                self._low = max(self._low - 0.5, -1.0)
                self._to("ease", self._low, time)
        elif self._phase == "brake":
            if speed <= STANDS * self._peak or lasted >= BRAKE_TIME:
                self._end_pulse(time)
            elif self._wave == 0.0 and lasted >= COAST_TIME and speed > SLOW_SPEED:
                self._wave = -self._direction * self._level

    def _stuck(self, way: float, since: float) -> bool:
        """Tell whether a push moves nothing: from the start, or no more."""
        if since < STUCK_TIME:
            return False
        if way < MOVED:
            return True
        ticks = min(round(0.5 * STUCK_TIME / self._safety.dt), len(self._places))
        lately = abs(self._places[-1][self._joint] - self._places[-ticks][self._joint])
        return bool(lately < 0.2 * MOVED * self._scale[self._joint])

    def _to(self, phase: Phase, share: float, time: float) -> None:
        """Go to a phase, with a share of the pulse's torque."""
        self._phase, self._phase_from = phase, time
        self._wave = share * self._direction * self._level

    def _speed(self, sample: Sample) -> float:
        """Return the joint's speed now [rad/s or m/s]: over as many ticks as its encoder's steps ask for."""
        dt, joint = self._safety.dt, self._joint
        step = self._step[joint] if np.isfinite(self._step[joint]) else 0.0
        ticks = math.ceil(step / (SPEED_RESOLUTION * float(self._scale[joint]) * dt))
        ticks = min(max(ticks, 1), max(1, round(LONGEST_LOOK / dt)), len(self._places))
        if ticks < 1:
            return 0.0
        return float(sample.q[joint] - self._places[-ticks][joint]) / (ticks * dt)

    def _fastest(self) -> float:
        """Return the top speed of the pulse [rad/s], over some ticks: a gear that rings is no fast joint."""
        ticks = max(2, math.ceil(AVERAGED / self._safety.dt))
        q = np.array(self._places)[:, self._joint]
        if len(q) <= ticks:
            return 0.0
        speed = np.abs(q[ticks:] - q[:-ticks]) / (ticks * self._safety.dt)
        return float(speed.max() / self._scale[self._joint])

    def _end_pulse(self, time: float) -> None:
        """Judge the pulse that is over, and prepare the next."""
        moved = self._furthest >= MOVED
        self._way = max(self._way, self._furthest * float(self._scale[self._joint]))
        self._phase, self._wave = "rest", 0.0
        self._rest_from = time + (LEAST_REST if moved else 0.0)
        self._recent.clear()
        if moved:
            if self._fastest() > TOO_FAST:
                self._finish("it is too light: a pulse that moves it makes it too fast within a few ticks", time)
                return
            if not self._moving:
                self._moving, self._moves_at = True, self._level
            if (grams := reduced(self._recorded(), self._safety.dt)) is not None and not self._coarse:
                self._grams.append(grams)
            self._fit_level()
            if len(self._grams) >= WANTED or self._coarse:
                self._finish("", time)
                return
        else:
            self._level *= GROWTH
        self._tries += self._moving
        if self._tries > MOST_TRIES:
            self._finish("", time)
            return
        self._direction = -self._direction

    def _fit_level(self) -> None:
        """Choose the next levels so that pushing and easing last neither too long nor too short."""
        wanted = max(PUSH_TICKS * self._safety.dt, PUSH_LASTS)
        pushed = float(np.mean(self._pushes)) if self._pushes else PUSH_TIME
        if pushed > 1.3 * wanted:
            self._level = min(self._level * min(pushed / wanted, 1.3), HARDEST * self._moves_at)
        elif pushed < 0.7 * wanted:
            self._level = max(self._level / 1.1, self._moves_at)
        if self._eases and np.mean(self._eases) < 0.5 * wanted:
            self._low += 0.5 * (LEAST_EASE - self._low)

    @property
    def _coarse(self) -> bool:
        """Whether the joint's encoder has too few steps in the way of a pulse."""
        step = self._step[self._joint]
        return bool(np.isfinite(step) and LAST_WAY * WAY * self._scale[self._joint] < LEAST_STEPS * step)

    def _recorded(self) -> Pulse:
        joint = self._joint
        rows = min(len(self._times), len(self._sent))
        sent = np.array(self._sent[:rows])
        q = np.array(self._places[:rows])
        if self.adds_gravity:
            sent = sent - self._robot.gravity(q)[:, joint]
        coupling = self._mass[joint].copy()
        coupling[joint] = 0.0
        return Pulse(
            time=np.array(self._times[:rows]),
            q=q,
            torque=sent - self._frozen,
            direction=self._direction,
            coupling=coupling,
            joint=joint,
            slide=SLIDES * float(self._scale[joint]),
            scale=float(self._scale[joint]),
        )

    def _finish(self, reason: str, time: float) -> None:
        """Close the present joint and go on to the next."""
        inertia: Inertia95 | None = None
        if not reason and self._coarse:
            unit = position_units(self._robot)[self._joint]
            reason = f"its encoder is too coarse for so short a distance: steps of {self._step[self._joint]:.2g} {unit}"
        if not reason:
            step = float(self._step[self._joint])
            shown = fitted(self._grams, self.links(self._joint), step if math.isfinite(step) else 0.0)
            inertia, reason = (shown, "") if isinstance(shown, Inertia95) else (None, shown)
        self.found[self._joint] = Found(inertia, reason, len(self._grams), self._largest, self._way)
        self._next_joint(time)

    def _next_joint(self, time: float) -> None:
        self._phase = "rest"
        if not self._queue:  # the last pulse leaves the arm moving: what comes next begins at rest
            self._joint, self._rest_from = -1, time + LEAST_REST
            return
        self._joint = self._queue.popleft()
        self._unit = effort_units(self._robot)[self._joint]
        self._level = FIRST * float(self._safety.limits.effort[self._joint])
        self._direction, self._moving, self._tries, self._low = 1.0, False, 0, 0.0
        self._largest = self._way = 0.0
        self._grams = []
        self._rest_from = time + FIRST_REST

    def _end(self, reason: str) -> None:
        """Give up what is not done."""
        self.ended, self._phase = reason, "done"
        for joint in (self._joint, *self._queue):
            if joint >= 0:
                self.found[joint] = Found(None, reason, 0, 0.0, 0.0)
        self._queue.clear()
