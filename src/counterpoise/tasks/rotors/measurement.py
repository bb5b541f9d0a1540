"""What each joint's torque moves, measured on an arm whose model does not know its rotors, and the gains from it.

The arm stands and is held softly. One joint after the other is pulsed (tasks/rotors/pulses.py) and its inertia found
with a 95 % band (tasks/rotors/fit.py). Damping and stiffness then follow the band's lower end, the integral its upper
end. A joint that cannot be measured keeps its soft gains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...control import ControlLoop, Gains, SwingWatch, softest_gains
from ...dynamics import Robot, inertia_units
from ...errors import InputError, SafetyError, listed
from ...foundation import Array, frozen
from ...recording import Sample
from ..rig import Rig
from .pulses import FIRST, LAST, Found, PulseLaw

RESOLVED = 0.3
"""The rotor's share counts as known where its lower bound is at least this share of its estimate."""
UNRESOLVED_SHARE = 0.125
"""Share of the damping of a joint whose rotor is lost beside its links."""
FAST_SWING = 0.12
"""Longest half-swing that is looked for while joints are pulsed to and fro [s]."""
LONGEST = 30.0
"""Longest time that a joint may take [s]; some seconds are usual."""


@dataclass(frozen=True, slots=True)
class JointInertia:
    """What the torque of one joint moves, the other joints standing; all in ``unit``, NaN where it was not measured.

    Attributes:
        joint: Name of the joint.
        unit: "kg m²", or "kg" for a linear joint.
        inertia: Inertia of links and rotor where the arm stood.
        low: Lower end of its 95 % band.
        high: Upper end of its 95 % band.
        links: The links' share of it, by the model.
        reason: Why it was not measured; "" where it was.
        pulses: Pulses that were used.
        torque: The largest torque of a pulse [N m or N].
        travel: Furthest that a pulse moved it [rad or m].
    """

    joint: str
    unit: str
    inertia: float
    low: float
    high: float
    links: float
    reason: str
    pulses: int
    torque: float
    travel: float

    @property
    def measured(self) -> bool:
        """Whether there is a result."""
        return not self.reason

    @property
    def rotor(self) -> float:
        """The rotor's share: what was measured less the model's links, at least 0 [``unit``]."""
        return max(self.inertia - self.links, 0.0) if self.measured else float("nan")

    @property
    def resolved(self) -> bool:
        """Whether the band tells the rotor from the links: a rotor that is small beside them is lost in it."""
        return self.measured and self.low - self.links >= max(RESOLVED * self.rotor, 1e-12)

    @property
    def rotor_low(self) -> float:
        """Lower end of the rotor's share for gains [``unit``]; 0 where the band does not resolve it."""
        return self.low - self.links if self.resolved else 0.0 if self.measured else float("nan")

    @property
    def rotor_high(self) -> float:
        """Upper end of the rotor's share [``unit``]."""
        return max(self.high - self.links, 0.0) if self.measured else float("nan")

    def as_data(self) -> dict[str, Any]:
        """Return the result as JSON has it; null where there is none."""
        numbers = {name: getattr(self, name) for name in ("inertia", "low", "high", "rotor")}
        known = {name: value if self.measured else None for name, value in numbers.items()}
        others = ("links", "reason", "pulses", "torque", "travel")
        return {"joint": self.joint, "unit": self.unit, **known, **{name: getattr(self, name) for name in others}}


@dataclass(frozen=True, slots=True, eq=False)
class InertiaMeasurement:
    """What a measurement found.

    Attributes:
        robot: The arm's model as it was given.
        joints: One entry for every joint whose rotor was unknown.
        share: Share of the soft gains under which each joint came to rest, shape (n,); 1 for most arms.
        seconds: How long it took [s].
    """

    robot: Robot
    joints: tuple[JointInertia, ...]
    share: Array
    seconds: float

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """Names of the joints that keep their soft gains."""
        return tuple(joint.joint for joint in self.joints if not joint.measured)

    @property
    def lightest(self) -> Robot:
        """The model with the smallest rotors that the measured joints may have."""
        return self.robot.with_rotor_inertia({joint.joint: joint.rotor_low for joint in self.joints if joint.measured})

    @property
    def heaviest(self) -> Robot:
        """The model with the largest rotors that the measured joints may have."""
        return self.robot.with_rotor_inertia({joint.joint: joint.rotor_high for joint in self.joints if joint.measured})

    @property
    def softer(self) -> Array:
        """Share of the damping that each joint gets, shape (n,).

        A joint that swung under the soft law gets what it was calm with. Where the rotor is lost beside the links, the
        damping that a compliant gear bears is unknown: an eighth of what suits the links has to do.
        """
        lost = {joint.joint for joint in self.joints if joint.measured and not joint.resolved}
        part = [UNRESOLVED_SHARE if name in lost else 1.0 for name in self.robot.joint_names]
        return frozen(self.share * np.array(part))

    @property
    def option(self) -> str:
        """The option that tells the commands these rotors the next time; "" where none was measured."""
        found = [f"{joint.joint}={joint.rotor:.4g}" for joint in self.joints if joint.measured]
        return f"--rotor-inertia {','.join(found)}" if found else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why joints were not measured, one sentence each."""
        return tuple(
            f"joint '{joint.joint}' keeps its soft gains: {joint.reason}" for joint in self.joints if not joint.measured
        )

    def gains(self, poses: Iterable[Array], effort_limit: Array, dt: float) -> Gains:
        """Return gains for an arm that goes through some poses: see control/gains.py.

        Args:
            poses: Poses [rad or m], each of shape (n,).
            effort_limit: Largest torques [N m or N], shape (n,).
            dt: Time between two ticks [s].
        """
        found = softest_gains(self.lightest, list(poses), effort_limit, dt, heaviest=self.heaviest)
        share = self.softer
        return Gains(frozen(self.share * found.kp), frozen(share**2 * found.ki), frozen(share * found.kd), found.reach)

    def as_data(self) -> dict[str, Any]:
        """Return the measurement as JSON has it."""
        return {
            "joints": [joint.as_data() for joint in self.joints],
            "share": self.share.tolist(),
            "seconds": self.seconds,
            "option": self.option,
        }


def unknown_rotors(robot: Robot) -> tuple[str, ...]:
    """Return the names of the joints whose rotor inertia the model does not know."""
    return tuple(name for name, known in zip(robot.joint_names, robot.rotor_inertia_known, strict=True) if not known)


def announcement(robot: Robot, joints: Sequence[str]) -> str:
    """Return what is to be said before the first pulse, for a person beside the arm."""
    return (
        f"The model does not know the rotor inertia of {listed(joints)}. Before anything else each of these joints is "
        f"pushed to and fro, one at a time: torque pulses from {FIRST:.0%} of its effort limit on, growing until it "
        f"moves, at most {LAST:.0%}; each moves it by up to 0.02 rad (5 mm) at up to 0.2 rad/s (0.05 m/s). It takes "
        f"some seconds per joint. Keep clear of the arm. State the rotors (--rotor-inertia, cp.load(..., "
        f"rotor_inertia=)) and nothing is pulsed"
    )


def measured_on(
    loop: ControlLoop,
    rig: Rig,
    joints: Sequence[str],
    *,
    progress: Callable[[float, float], None] | None = None,
    until: Callable[[Sample], bool] | None = None,
) -> InertiaMeasurement | None:
    """Measure by a loop that will go on with other laws; the arm is left held ("keep").

    Args:
        loop: The rig's loop; its laws are replaced.
        rig: The arm, its plant entered; told what is about to happen before the first pulse.
        joints: Names of the joints to pulse.
        progress: Called now and then with the fraction of the joints that are done, and 1.
        until: Called with every good sample; true ends the measurement.

    Returns:
        What was found; None where ``until`` ended it.

    Raises:
        SafetyError: A fault or a growing swing stopped the arm.
    """
    robot = rig.robot
    names = robot.joint_names
    if foreign := [name for name in joints if name not in names]:
        raise InputError(f"there is no joint '{foreign[0]}'; the joints are {listed(names)}")
    rig.announce(announcement(robot, joints))
    indices = tuple(names.index(name) for name in joints)
    law = PulseLaw(robot, loop.safety, indices, gravity=not rig.plant.adds_gravity)
    swing = SwingWatch(robot, slowest=FAST_SWING)
    ended = False

    def watch(sample: Sample) -> bool:
        nonlocal ended, swing
        if until is not None and until(sample):
            ended = True
        if progress is not None:
            progress(law.done, 1.0)
        if swing.grows(sample.time, sample.dq) and swing.joint is not None and law.soften(swing.joint):
            swing = SwingWatch(robot, slowest=FAST_SWING)  # with half of the gains it may come to rest
        return ended or law.over(sample) or bool(swing.reason)

    loop.switch(law)
    report = loop.run(LONGEST * max(len(indices), 1), until=watch, then="keep")
    if swing.reason:
        loop.run(0.0)  # nobody goes on from here: bring the arm to its safe stop
        raise SafetyError(f"the measurement of the inertias was ended: {swing.reason}", report=report)
    if ended:
        return None
    entries = tuple(_entry(robot, law, joint) for joint in indices)
    return InertiaMeasurement(robot, entries, frozen(law.share), report.duration)


def measure_inertias(
    rig: Rig, joints: Sequence[str] | None = None, *, progress: Callable[[float, float], None] | None = None
) -> InertiaMeasurement:
    """Measure what the joints' torques move, and end in the safe stop.

    ::

        with SignalSafe(plant):  # control.stop_signals
            found = measure_inertias(Rig(plant, robot))
        robot = robot.with_rotor_inertia({joint.joint: joint.rotor for joint in found.joints if joint.measured})

    Args:
        rig: The arm, its plant entered. It must stand at rest.
        joints: Names of the joints; None for those whose rotor the model does not know.
        progress: Called now and then with the fraction of the joints that are done, and 1.

    Raises:
        InputError: A joint that does not exist, or none to measure.
        SafetyError: The arm was stopped by a fault or a growing swing.
    """
    chosen = unknown_rotors(rig.robot) if joints is None else tuple(joints)
    if not chosen:
        raise InputError("the model knows every rotor inertia; name the joints to measure them all the same")
    loop = rig.loop(PulseLaw(rig.robot, rig.safety, (), gravity=not rig.plant.adds_gravity))
    found = measured_on(loop, rig, chosen, progress=progress)
    loop.run(0.0)
    if found is None:
        raise InputError("the measurement was ended")
    return found


def _entry(robot: Robot, law: PulseLaw, joint: int) -> JointInertia:
    found = law.found.get(joint, Found(None, "its time was over", 0, 0.0, 0.0))
    inertia = found.inertia
    nan = float("nan")
    return JointInertia(
        joint=robot.joint_names[joint],
        unit=inertia_units(robot)[joint],
        inertia=nan if inertia is None else inertia.value,
        low=nan if inertia is None else inertia.low,
        high=nan if inertia is None else inertia.high,
        links=law.links(joint),
        reason=found.reason,
        pulses=found.pulses,
        torque=found.torque,
        travel=found.travel,
    )
