"""Faults that the doctor finds by comparing a recording with the model, put into good recordings.

Sizes and places are stated beside each. A joint is *felt* where friction and the model explain at least 30 % of the
variance of its effort, and *loaded* where gravity's torque has at least half the standard deviation of its effort: on a
PUMA's wrist gravity is 1 % of friction, and no one can see a wrong gain there. A recording without such a joint cannot
carry the fault: Unsuitable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from doctor_recordings import Array, Recording, wrong_model

from counterpoise import Log, Robot
from counterpoise.doctor import Finding, LogFault

Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be named.

    Attributes:
        fault: The fault.
        joints: Joints that must be among the finding's subjects; empty for faults of the whole recording.
    """

    fault: LogFault
    joints: tuple[str, ...] = ()

    def named_by(self, findings: tuple[Finding, ...]) -> bool:
        """Return whether findings name the fault, by itself or in a set that the data cannot distinguish."""
        return all(
            any(
                (finding.fault is self.fault or self.fault.value in finding.alternatives)
                and (joint is None or joint in finding.subjects)
                for finding in findings
            )
            for joint in self.joints or (None,)
        )


class Unsuitable(Exception):
    """The recording has no joint on which the fault could show."""


Injection = Callable[[Recording, Log, Random], tuple[Log, Expected]]


def effort_sign(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """The effort of one felt joint reversed."""
    joint = int(random.choice(felt(made)))
    tau = log.tau.copy()
    tau[:, joint] *= -1.0
    return replace(log, tau=tau), Expected(LogFault.EFFORT_SIGN, _names(log, joint))


def all_effort_signs(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """All efforts reversed."""
    return replace(log, tau=-log.tau), Expected(LogFault.EFFORT_SIGN, _names(log, *felt(made)))


def position_sign(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Position and velocity of one felt joint reversed."""
    joint = int(random.choice(felt(made)))
    q, dq = log.q.copy(), log.dq.copy()
    q[:, joint] *= -1.0
    dq[:, joint] *= -1.0
    return replace(log, q=q, dq=dq), Expected(LogFault.POSITION_SIGN, _names(log, joint))


def effort_order(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """The efforts of a loaded and another joint exchanged."""
    pair = _pair(made, random)
    return replace(log, tau=_exchanged(log.tau, *pair)), Expected(LogFault.JOINT_ORDER, _names(log, *pair))


def position_order(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Positions and velocities of a loaded and another joint exchanged."""
    pair = _pair(made, random)
    changed = replace(log, q=_exchanged(log.q, *pair), dq=_exchanged(log.dq, *pair))
    return changed, Expected(LogFault.JOINT_ORDER, _names(log, *pair))


def whole_order(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """All channels of a loaded and another joint exchanged."""
    pair = _pair(made, random)
    q, dq, tau = (_exchanged(values, *pair) for values in (log.q, log.dq, log.tau))
    return replace(log, q=q, dq=dq, tau=tau), Expected(LogFault.JOINT_ORDER, _names(log, *pair))


def degrees(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Positions and velocities in degrees."""
    return replace(log, q=np.degrees(log.q), dq=np.degrees(log.dq)), Expected(LogFault.DEGREES)


def current(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Efforts in a unit of their own: each divided by its own 3 to 30 N m per unit."""
    constant = np.exp(random.uniform(np.log(3.0), np.log(30.0), made.model.n))
    return replace(log, tau=log.tau / constant), Expected(LogFault.EFFORT_IS_CURRENT)


def motor_side(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Positions times, efforts divided by gear ratios of 30 to 160, one in four negative."""
    n = made.model.n
    ratio = np.exp(random.uniform(np.log(30.0), np.log(160.0), n)) * random.choice([1.0, 1.0, 1.0, -1.0], n)
    return replace(log, q=log.q * ratio, dq=log.dq * ratio, tau=log.tau / ratio), Expected(LogFault.MOTOR_SIDE)


def gain(made: Recording, log: Log, random: Random, sizes: tuple[float, float] = (1.7, 3.0)) -> tuple[Log, Expected]:
    """The effort of a loaded joint 1.7 to 3 times too large or too small."""
    joint = int(random.choice(loaded(made)))
    tau = log.tau.copy()
    tau[:, joint] *= np.exp(random.choice([-1.0, 1.0]) * random.uniform(*np.log(sizes)))
    return replace(log, tau=tau), Expected(LogFault.GAIN, _names(log, joint))


def small_gain(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """The same, 1.3 to 1.7 times: links 10 % and 10 mm off come near to that."""
    return gain(made, log, random, (1.3, 1.7))


def offset(made: Recording, log: Log, random: Random, sizes: tuple[float, float] = (1.0, 2.0)) -> tuple[Log, Expected]:
    """A constant of 1 to 2 standard deviations added to an effort that friction and model explain to 60 %."""
    joint = int(random.choice(felt(made, 0.6)))
    tau = log.tau.copy()
    tau[:, joint] += random.choice([-1.0, 1.0]) * random.uniform(*sizes) * tau[:, joint].std()
    return replace(log, tau=tau), Expected(LogFault.OFFSET, _names(log, joint))


def small_offset(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """The same, 0.5 to 1 standard deviations."""
    return offset(made, log, random, (0.5, 1.0))


def compensated(made: Recording, log: Log, random: Random) -> tuple[Log, Expected]:
    """Gravity taken out of the efforts by the robot's own model, which is good to 5 % of mass and 5 mm."""
    own = wrong_model(made.truth, random, 0.05, 0.005)
    return replace(log, tau=log.tau - own.gravity(made.log.q)), Expected(LogFault.GRAVITY_COMPENSATED)


INJECTIONS: dict[str, Injection] = {
    "effort sign": effort_sign,
    "all effort signs": all_effort_signs,
    "position sign": position_sign,
    "effort order": effort_order,
    "position order": position_order,
    "whole-joint order": whole_order,
    "degrees": degrees,
    "effort is current": current,
    "motor side": motor_side,
    "gain": gain,
    "offset": offset,
    "gravity compensated": compensated,
}
"""Faults that change the numbers of a good recording. A wrong mounting and a payload are simulated."""

SMALL: dict[str, Injection] = {"small gain": small_gain, "small offset": small_offset}
"""Sizes between what is always named and what is never."""

PAYLOAD_MASS = {"puma550": (2.0, 4.0), "wam7": (1.0, 3.0), "titan2": (8.0, 15.0)}
"""Payloads [kg], evenly distributed; centre up to 50 mm beside and 0 to 150 mm beyond the last link's origin."""
TILT = (np.radians(15.0), np.radians(90.0))
"""Angle of a wrong mounting, about a random horizontal axis [rad]."""


def random_payload(arm: str, random: Random) -> tuple[float, tuple[float, float, float]]:
    """Return mass [kg] and centre of mass [m] of a payload."""
    x, y = random.uniform(-0.05, 0.05, 2).tolist()
    return float(random.uniform(*PAYLOAD_MASS[arm])), (x, y, float(random.uniform(0.0, 0.15)))


def random_mount(random: Random) -> tuple[float, float, float]:
    """Return fixed-axis roll, pitch and yaw of a mounting that is tilted by TILT [rad]."""
    tilt, about = random.uniform(*TILT), random.uniform(0.0, 2.0 * np.pi)
    # Gravity in the base of roll r and pitch p is (sin p, −cos p sin r, −cos p cos r): solve for its direction.
    x, y, z = np.sin(tilt) * np.cos(about), np.sin(tilt) * np.sin(about), -np.cos(tilt)
    return float(np.arctan2(-y, -z)), float(np.arcsin(x)), 0.0


def loaded(made: Recording) -> list[int]:
    """Return the joints whose gravity torque has at least half the standard deviation of their effort.

    Raises:
        Unsuitable: There is none.
    """
    share = made.truth.gravity(made.log.q).std(axis=0) / made.log.tau.std(axis=0)
    found: list[int] = np.flatnonzero(share > 0.5).tolist()
    if not found:
        raise Unsuitable
    return found


def felt(made: Recording, share: float = 0.3) -> list[int]:
    """Return the joints of whose effort friction and the model explain at least a share of the variance.

    Raises:
        Unsuitable: There is none.
    """
    found = [joint for joint in range(made.truth.n) if _explained(made.truth, made.log, joint) > share]
    if not found:
        raise Unsuitable
    return found


def _explained(robot: Robot, log: Log, joint: int) -> float:
    dq = log.dq[:, joint]
    usual = max(float(np.abs(dq).mean()), 1e-9)
    columns = np.column_stack([robot.gravity(log.q)[:, joint], np.tanh(dq / (0.1 * usual)), dq, np.ones(len(log))])
    tau = log.tau[:, joint]
    left = tau - columns @ np.linalg.lstsq(columns, tau, rcond=None)[0]
    return 1.0 - float(left.var() / tau.var())


def _pair(made: Recording, random: Random) -> tuple[int, int]:
    first = int(random.choice(loaded(made)))
    others = [joint for joint in felt(made) if joint != first]
    if not others:
        raise Unsuitable
    return first, int(random.choice(others))


def _exchanged(values: Array, first: int, second: int) -> Array:
    changed = values.copy()
    changed[:, [first, second]] = values[:, [second, first]]
    return changed


def _names(log: Log, *joints: int) -> tuple[str, ...]:
    return tuple(log.joint_names[joint] for joint in joints)
