"""Faults of the certificate study's simulated recordings, one at a time, half of the recordings valid.

A fault changes the arm (payload, mounting), adds a torque that holds (counterbalance, spring, cable), or changes what
is written down (gains, currents, a sign, the order, a drift).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from certificate_arms import Arm, Array, Random, with_payload
from certificate_case import Truth
from certificate_dynamics import GRAVITY, Dynamics

SOUND = 0.5
"""Share of valid recordings."""
GAIN = (1.3, 3.0)
"""How many times too large or too small the effort of one joint is."""
COMMON_GAIN = (1.2, 2.0)
"""The same of all efforts at once."""
CURRENT = (3.0, 30.0)
"""Torque per unit of a current [N m]; each joint has its own."""
BALANCED = (0.3, 0.9)
"""Share of its joint's gravity torque that a counterbalance carries."""
SPRING = 0.25
"""Hidden spring: share of the joint's gravity torque per rad (per m: ten times that)."""
CABLE = (0.1, 0.4)
"""Cable: share of the joint's gravity torque at the end of its range."""
DRIFT = (0.1, 0.3)
"""By how much a gain drifts from the first sample to the last."""
PAYLOAD = (0.05, 0.25)
"""Payload over moving mass."""
TILT = (3.0, 30.0)
"""Tilt of the mounting [degrees]."""
HEAVY = 0.25
"""A joint is loaded when its gravity torque is at least this share of the largest (root mean square)."""


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """A fault.

    Attributes:
        name: A key of FAULTS.
        truths: What a doctor should name.
        arm: The arm as it really is.
        gravity: Gravity in base axes [m/s²], shape (3,).
        springs: Joint, size and shape of added torques: size · shape(q_joint) [N m or N].
        gains: Recorded efforts per N m (or N) at a share of the recording from 0 to 1; gives shape (k, n).
        effort_from: Whose effort stands in each joint's column, shape (n,).
        position_from: Whose position does.
        current: Whether the efforts are currents.
    """

    name: str
    truths: tuple[Truth, ...]
    arm: Arm
    gravity: Array
    springs: tuple[tuple[int, float, Callable[[Array], Array]], ...] = ()
    gains: Callable[[Array], Array] | None = None
    effort_from: tuple[int, ...] = field(default=())
    position_from: tuple[int, ...] = field(default=())
    current: bool = False

    def added(self, q: Array) -> Array:
        """Return the added torques at poses [N m or N], shape (k, n)."""
        found = np.zeros(q.shape)
        for joint, size, shape in self.springs:
            found[:, joint] += size * shape(q[:, joint])
        return found

    def gain_along(self, count: int, n: int) -> Array:
        """Return the recorded efforts per N m of every sample, shape (count, n)."""
        if self.gains is None:
            return np.ones((count, n))
        return self.gains(np.linspace(0.0, 1.0, count))


@dataclass(frozen=True, slots=True, eq=False)
class _Scene:
    """What a fault is put into: the true arm and its gravity torques over the workspace, shape (m, n)."""

    arm: Arm
    weight: Array
    random: Random

    @property
    def size(self) -> Array:
        """Size of every joint's gravity torque [N m or N], shape (n,)."""
        return np.sqrt(np.mean(self.weight**2, axis=0))

    def loaded(self, *, rotary: bool = False) -> int:
        """Draw a joint that carries weight."""
        size = np.where(self.arm.turns | (not rotary), self.size, 0.0)
        return int(self.random.choice(np.flatnonzero(size >= HEAVY * size.max())))

    def named(self, *joints: int) -> tuple[str, ...]:
        return tuple(self.arm.joint_names[joint] for joint in joints)


def draw_fault(arm: Arm, weight: Array, random: Random, name: str | None = None) -> Fault:
    """Draw a fault, or none.

    Args:
        arm: The true arm.
        weight: Its gravity torques over the workspace [N m or N], shape (m, n).
        random: Random numbers.
        name: Which fault; None draws one.
    """
    if name is None:
        name = "none" if random.random() < SOUND else str(random.choice([one for one in FAULTS if one != "none"]))
    return FAULTS[name](_Scene(arm, weight, random))


def workspace_gravity(dynamics: Dynamics, random: Random, count: int = 100) -> Array:
    """Return gravity torques at poses all over the joint ranges [N m or N], shape (count, n)."""
    arm = dynamics.arm
    return dynamics.gravity(random.uniform(arm.lower, arm.upper, (count, len(arm.moving))))


def _sound(scene: _Scene) -> Fault:
    return Fault("none", (), scene.arm, GRAVITY)


def _factor(sizes: tuple[float, float], random: Random) -> float:
    return float(np.exp(random.choice([-1.0, 1.0]) * random.uniform(*np.log(sizes))))


def _constant(gains: Array) -> Callable[[Array], Array]:
    return lambda share: np.broadcast_to(gains, (len(share), len(gains)))


def _gain(scene: _Scene) -> Fault:
    joint, factor = scene.loaded(), _factor(GAIN, scene.random)
    gains = np.ones(len(scene.arm.moving))
    gains[joint] = factor
    truth = Truth("gain", scene.named(joint), (1.0 / factor,))
    return Fault("gain", (truth,), scene.arm, GRAVITY, gains=_constant(gains))


def _common_gain(scene: _Scene) -> Fault:
    n, factor = len(scene.arm.moving), _factor(COMMON_GAIN, scene.random)
    truth = Truth("gain", scene.arm.joint_names, (1.0 / factor,) * n)
    return Fault("common gain", (truth,), scene.arm, GRAVITY, gains=_constant(np.full(n, factor)))


def _current(scene: _Scene) -> Fault:
    constant = np.exp(scene.random.uniform(*np.log(CURRENT), len(scene.arm.moving)))
    truth = Truth("effort-is-current", scene.arm.joint_names, tuple(constant.tolist()))
    return Fault("current", (truth,), scene.arm, GRAVITY, gains=_constant(1.0 / constant), current=True)


def _sign(scene: _Scene) -> Fault:
    joint = scene.loaded()
    gains = np.ones(len(scene.arm.moving))
    gains[joint] = -1.0
    truth = Truth("effort-sign", scene.named(joint))
    return Fault("sign", (truth,), scene.arm, GRAVITY, gains=_constant(gains))


def _order(scene: _Scene) -> Fault:
    n, first = len(scene.arm.moving), scene.loaded()
    second = int(scene.random.choice([joint for joint in range(n) if joint != first]))
    order = list(range(n))
    order[first], order[second] = second, first
    plain, exchanged = tuple(range(n)), tuple(order)
    effort, position = ((exchanged, plain), (plain, exchanged), (exchanged, exchanged))[int(scene.random.integers(3))]
    truth = Truth("joint-order", scene.named(first, second))
    return Fault("order", (truth,), scene.arm, GRAVITY, effort_from=effort, position_from=position)


def _counterbalance(scene: _Scene) -> Fault:
    """A spring on a lever: a cosine of the joint's angle against its gravity torque, near to where that is largest."""
    joint = scene.loaded(rotary=True)
    share, phase = float(scene.random.uniform(*BALANCED)), float(scene.random.uniform(-np.pi, np.pi))
    size = -share * np.sqrt(2.0) * float(scene.size[joint])
    truth = Truth("counterbalance", scene.named(joint))
    return Fault("counterbalance", (truth,), scene.arm, GRAVITY, ((joint, size, lambda q: np.cos(q - phase)),))


def _spring(scene: _Scene) -> Fault:
    joint = scene.loaded()
    stiffness = SPRING * float(scene.size[joint]) * (1.0 if scene.arm.turns[joint] else 10.0)
    rest = 0.5 * float(scene.arm.lower[joint] + scene.arm.upper[joint])
    truth = Truth("spring", scene.named(joint))
    return Fault("spring", (truth,), scene.arm, GRAVITY, ((joint, stiffness, lambda q: q - rest),))


def _cable(scene: _Scene) -> Fault:
    """A cable that pulls the more the farther its joint turns: cubic, slack in the middle."""
    joint = scene.loaded()
    lower, upper = float(scene.arm.lower[joint]), float(scene.arm.upper[joint])
    middle, half = 0.5 * (lower + upper), 0.5 * min(upper - lower, 2.0 * np.pi)
    size = float(scene.random.uniform(*CABLE)) * float(scene.size[joint])
    truth = Truth("cable", scene.named(joint))
    return Fault("cable", (truth,), scene.arm, GRAVITY, ((joint, size, lambda q: ((q - middle) / half) ** 3),))


def _drift(scene: _Scene) -> Fault:
    n = len(scene.arm.moving)
    joints = tuple(range(n)) if scene.random.random() < 0.5 else (scene.loaded(),)
    change = np.zeros(n)
    change[list(joints)] = float(scene.random.choice([-1.0, 1.0]) * scene.random.uniform(*DRIFT))
    truth = Truth("drift", scene.named(*joints))
    return Fault("drift", (truth,), scene.arm, GRAVITY, gains=lambda share: 1.0 + share[:, None] * change)


def _payload(scene: _Scene) -> Fault:
    mass = float(scene.random.uniform(*PAYLOAD)) * scene.arm.moving_mass
    com = scene.random.uniform(-0.05, 0.05, 3) + np.array([0.0, 0.0, float(scene.random.uniform(0.0, 0.1))])
    return Fault("payload", (Truth("payload"),), with_payload(scene.arm, mass, com), GRAVITY)


def _mount(scene: _Scene) -> Fault:
    tilt, about = np.radians(scene.random.uniform(*TILT)), scene.random.uniform(0.0, 2.0 * np.pi)
    down = 9.81 * np.array([np.sin(tilt) * np.cos(about), np.sin(tilt) * np.sin(about), -np.cos(tilt)])
    return Fault("mount", (Truth("mount"),), scene.arm, down)


FAULTS: dict[str, Callable[[_Scene], Fault]] = {
    "none": _sound,
    "gain": _gain,
    "common gain": _common_gain,
    "current": _current,
    "sign": _sign,
    "order": _order,
    "counterbalance": _counterbalance,
    "spring": _spring,
    "cable": _cable,
    "drift": _drift,
    "payload": _payload,
    "mount": _mount,
}
