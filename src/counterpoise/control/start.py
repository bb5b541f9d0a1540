"""The start of a run: an arm is taken over from its brakes, and a joint that falls meanwhile ends the run.

``BrakedStart`` takes over an arm that stands on its brakes: the torque rises to ĝ(q) behind them, then they open.
Without this the loop would begin with the measured effort, which is 0 on an arm that its brakes hold, and the arm would
drop while the torque builds up. In turn:

1. rising: the torque goes to ĝ(q) as fast as the rate limit allows, and stays there for SETTLE: amplifiers follow
2. opening: the plant opens the brakes (``release``), which may take OPENING
3. watching: ĝ(q) alone holds the open arm for WATCHED

From ``release`` to the end a joint that moves by more than MOST_ROTARY or MOST_LINEAR ends the run: the plant's stop,
its brakes, at once. A plant that adds gravity itself gets zero torque instead of ĝ(q).

``FallWatch`` watches an arm while a run passes from the torque that it found to that of its laws. An arm whose brakes
have just opened, or whose drives report an effort of 0, is found with a torque that does not hold it. It drops while
the laws fade in. A joint has fallen when it has moved by more than FALLEN_ROTARY or FALLEN_LINEAR in the direction in
which gravity pulls it, and the torque that is missing explains that. A hand or a law may move a joint as well. With J
the joint's inertia and s the fraction of the laws, what is missing is m = (1 − s) (τ_found − ĝ), and

- ∬ m / J is at least half of the travel: nothing else need have moved it, and friction only makes it less
- m pulls harder that way than the laws do, s (τ_laws − ĝ): they did not ask for it

Only joints whose torque found is less than half of what gravity needs are watched, and each until it has moved so far
for the first time: one that was moved on purpose is left alone from then on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..dynamics import Robot, effort_units, joint_inertias, position_units, rotary
from ..errors import CounterpoiseError, InputError, PlantError
from ..foundation import Array
from ..recording import Sample
from .fault import Fault
from .plant import BrakedPlant, Plant
from .reference import smooth_step
from .safety import SafetyFilter

FALLEN_ROTARY, FALLEN_LINEAR = 0.020, 0.006
"""Travel from which a joint has fallen [rad, m]; a linear joint's is that of a rotary one at 0.3 m from its axis."""
HELD_SHARE = 0.5
"""A joint is held where what was found is at least this share of what gravity needs."""
EXPLAINED = 0.5
"""Share of the travel that the missing torque alone must be able to cause."""
_LEAST_INERTIA = 1e-9


class FallWatch:
    """Watches the blend at the start of a run.

    Attributes:
        joint: The joint that has fallen; None while none has.
        message: What happened, in words.
    """

    def __init__(self, robot: Robot, first: Sample, first_torque: Array, ticks: int, dt: float) -> None:
        """Prepare.

        Args:
            robot: The arm's model, payload included.
            first: The sample that the run starts from.
            first_torque: The torque that was found [N m or N], shape (n,).
            ticks: Ticks of the blend.
            dt: Time between two ticks [s].
        """
        self._robot, self._start, self._first_torque = robot, np.array(first.q), np.array(first_torque)
        self._ticks, self._dt, self._tick = ticks, dt, 0
        self._needed = robot.gravity(first.q)
        self._watched = self._first_torque * np.sign(self._needed) < HELD_SHARE * np.abs(self._needed)
        self._inertia = np.maximum(joint_inertias(robot, first.q), _LEAST_INERTIA)
        self._most = np.where(rotary(robot), FALLEN_ROTARY, FALLEN_LINEAR)
        self._speed, self._explained = np.zeros(robot.n), np.zeros(robot.n)
        self.joint: str | None = None
        self.message = ""

    @property
    def over(self) -> bool:
        """Whether there is nothing to watch (any more)."""
        return self._tick >= self._ticks or not self._watched.any()

    def fell(self, sample: Sample, asked: Sequence[Array]) -> bool:
        """Take one tick of the blend; return whether a joint has fallen.

        Args:
            sample: The sample, a good one.
            asked: What is asked for in all [N m or N]: arrays of shape (n,) to be summed.
        """
        fraction = smooth_step(self._tick / self._ticks)
        self._tick += 1
        gravity = self._robot.gravity(sample.q)
        missing = (1.0 - fraction) * (self._first_torque - gravity)
        # The rest of the sum is the laws' share: s τ_laws.
        laws = np.sum(asked, axis=0) - (1.0 - fraction) * self._first_torque - fraction * gravity
        travel = sample.q - self._start
        down = -np.sign(self._needed)
        self._speed += self._dt * missing / self._inertia
        self._explained += self._dt * self._speed
        far = self._watched & (travel * down > self._most)
        explained = self._explained * down >= EXPLAINED * np.abs(travel)
        fallen = np.flatnonzero(far & explained & (missing * down > laws * down))
        self._watched &= ~far
        if not fallen.size:
            return False
        joint = int(fallen[0])
        self.joint = self._robot.joint_names[joint]
        unit = effort_units(self._robot)[joint]
        self.message = (
            f"joint '{self.joint}' fell by {abs(travel[joint]):.3g} {position_units(self._robot)[joint]} while the run "
            f"took it over: it was found with {self._first_torque[joint]:.3g} {unit} and needs "
            f"{self._needed[joint]:.3g} {unit}. Brakes that have just opened, or a drive that reports "
            "an effort of 0, look like this. A plant that stands on brakes must say so (held='brakes', "
            "release()); else let its drives hold the arm first"
        )
        return True


SETTLE = 0.1
"""How long the torque stays behind the closed brakes before they open [s]."""
SLACK = 0.5
"""How much longer than the rate limit asks for the torque may take to arrive [s]."""
OPENING = 1.0
"""Longest time that brakes may take to open [s]."""
WATCHED = 0.2
"""How long the open arm is watched before the laws take over [s]."""
MOST_ROTARY, MOST_LINEAR = 0.010, 0.003
"""Largest travel meanwhile [rad, m]; a linear joint's is that of a rotary one at 0.3 m from its axis."""
ARRIVED, ARRIVED_LEAST = 0.01, 1e-3
"""A torque has arrived within this share of itself, or of the effort limit."""


def held_by_brakes(plant: Plant) -> BrakedPlant | None:
    """Return the plant where brakes hold it now; None where they do not, or it says nothing about brakes.

    Raises:
        InputError: What it says about its brakes has no meaning, or nothing would close them again.
        PlantError: It could not be asked.
    """
    try:
        held = getattr(plant, "held", None)
    except Exception as error:  # a driver's code
        raise PlantError(f"the plant could not say what holds it: {type(error).__name__}: {error}") from error
    if held is None:
        return None
    if held != "brakes":
        raise InputError(f"the plant's held is {held!r}; expected 'brakes', or None where they are open")
    if not isinstance(plant, BrakedPlant):
        raise InputError("the plant's held is 'brakes' and it has no release(), which opens them")
    if plant.stop != "brake":
        raise InputError(
            f"the plant's held is 'brakes' and its stop is {plant.stop!r}: nothing would close them again. Declare "
            "stop='brake', and close them in emergency_stop()"
        )
    return plant


class BrakedStart:
    """Gives the torques of the start, tick by tick.

    Attributes:
        done: Whether the laws may take over.
        fault: Why the start has failed; Fault.NONE while it has not.
        message: The same in words.
        joint: The joint at fault; None where none is.
    """

    def __init__(self, plant: BrakedPlant, robot: Robot, safety: SafetyFilter) -> None:
        """Prepare.

        Args:
            plant: What is to be started; its brakes are closed.
            robot: Its model, payload included.
            safety: The filter that all torques go through; it starts from zero torque.
        """
        self.done = False
        self.fault = Fault.NONE
        self.message = ""
        self.joint: str | None = None
        self._plant, self._robot, self._safety = plant, robot, safety
        self._phase: Literal["rising", "opening", "watching"] = "rising"
        self._arrived = self._ticks = 0
        rise = float(np.max(safety.limits.effort / safety.limits.rate, initial=0.0))
        self._longest = self._in_ticks(rise + SETTLE + SLACK)
        self._opened_at = np.zeros(robot.n)
        self._most = np.where(rotary(robot), MOST_ROTARY, MOST_LINEAR)

    @property
    def closed(self) -> bool:
        """Whether the brakes have not been told to open yet."""
        return self._phase == "rising"

    def torque(self, sample: Sample) -> Array:
        """Return the next torque [N m or N], shape (n,); with it the brakes may be told to open.

        Args:
            sample: The newest sample, a good one.
        """
        tau = np.zeros(self._safety.n) if self._plant.adds_gravity else self._robot.gravity(sample.q)
        self._ticks += 1
        if self._phase == "rising":
            self._rise(sample.q, tau)
        else:
            self._watch(sample.q)
        return tau

    def _rise(self, q: Array, tau: Array) -> None:
        limit, names = self._safety.limits.effort, self._robot.joint_names
        if (heavy := np.flatnonzero(np.abs(tau) > limit)).size:
            joint, unit = int(heavy[0]), effort_units(self._robot)[int(heavy[0])]
            self._fail(
                Fault.BRAKES_NOT_OPENED,
                f"the brakes stay closed: holding joint '{names[joint]}' takes {tau[joint]:.4g} {unit}, and its limit "
                f"is {limit[joint]:.4g} {unit}. Move the arm to a pose that it can hold, or correct the model",
                joint,
            )
            return
        away = np.abs(tau - self._safety.last) - np.maximum(ARRIVED * np.abs(tau), ARRIVED_LEAST * limit)
        self._arrived = self._arrived + 1 if np.all(away <= 0.0) else 0
        if self._arrived > self._in_ticks(SETTLE):
            self._release(q)
        elif self._ticks > self._longest:
            joint = int(np.argmax(away))
            unit = effort_units(self._robot)[joint]
            self._fail(
                Fault.BRAKES_NOT_OPENED,
                f"the brakes stay closed: joint '{names[joint]}' needs {tau[joint]:.4g} {unit} to be held, and the "
                f"plant says that it sends {self._safety.last[joint]:.4g} {unit}. Its drives may be off, or their "
                "limits lower than declared",
                joint,
            )

    def _release(self, q: Array) -> None:
        self._opened_at, self._phase, self._ticks = q.copy(), "opening", 0
        self._safety.forget()  # the torque has changed and nothing moved: no sign of a frozen sensor behind brakes
        try:
            self._plant.release()
        except Exception as error:  # a driver's code
            self._fail(
                Fault.BRAKES_NOT_OPENED, f"the plant could not open its brakes: {type(error).__name__}: {error}", None
            )

    def _watch(self, q: Array) -> None:
        moved = np.abs(q - self._opened_at)
        joint = int(np.argmax(moved / self._most))
        if moved[joint] > self._most[joint]:
            unit = position_units(self._robot)[joint]
            self._fail(
                Fault.BRAKES_CLOSED_AGAIN,
                f"the brakes were closed again: joint '{self._robot.joint_names[joint]}' moved by {moved[joint]:.3g} "
                f"{unit} when they opened, more than {self._most[joint]:g} {unit}. The model's gravity is not what the "
                "arm needs here (payload, mounting, zero position), or its drives do not give what is sent",
                joint,
            )
        elif self._phase == "opening":
            self._wait_until_open()
        elif self._ticks >= self._in_ticks(WATCHED):
            self.done = True

    def _wait_until_open(self) -> None:
        try:
            closed = held_by_brakes(self._plant) is not None
        except CounterpoiseError as error:
            self._fail(Fault.BRAKES_NOT_OPENED, str(error), None)
            return
        if not closed:
            self._phase, self._ticks = "watching", 0
        elif self._ticks > self._in_ticks(OPENING):
            self._fail(
                Fault.BRAKES_NOT_OPENED,
                f"the brakes did not open: the plant's held is still 'brakes' {OPENING:g} s after release(). It must "
                "be None once they are open",
                None,
            )

    def _in_ticks(self, time: float) -> int:
        return math.ceil(time / self._safety.dt - 1e-9)

    def _fail(self, fault: Fault, message: str, joint: int | None) -> None:
        self.fault, self.message = fault, message
        self.joint = None if joint is None else self._robot.joint_names[joint]
