"""The rule by which every law is tuned, the gains of a law, the law made of them, and the file that keeps them.

The rule is one set of numbers, the same for each law.

1. Position gains K_p, K_d give the closed position loop a bandwidth (−3 dB) and a damping ratio; where the plant
   oscillates near such gains, the bandwidth is ``oscillation_share`` of the one where that starts.
2. The integral gain K_i of a PID is ``integral_share`` of the smallest one that is unstable for a step.
3. The integral gain k_int of a torque loop is ``oscillation_share`` of the smallest one that makes the plant oscillate.
4. Laws without derivative (the hydraulic arm's): K_p, K_i and k_int are each ``oscillation_share`` of where it starts.

Rules 1 to 4 are those of [Morel2000], sections 3.2, 3.3 and 4, made precise where the paper is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...control import PD, PID, FrictionFeedforward, Law, Reference, base_sensor_control
from ...dynamics import Dahl
from ...errors import DataFileError, InputError
from ...foundation import Array, PublishedData, frozen, read_toml, write_atomically
from ...sensing import BaseSensor
from ..rig import Rig

LawKind = Literal["pd", "pid", "pi", "bsc", "bsc-p"]
"""PD; PID; PI; base sensor control with PD outside; the same with P outside."""
KINDS: tuple[LawKind, ...] = ("pd", "pid", "pi", "bsc", "bsc-p")
WITH_PLATE: tuple[LawKind, ...] = ("bsc", "bsc-p")
WITHOUT_DERIVATIVE: tuple[LawKind, ...] = ("pi", "bsc-p")


@dataclass(frozen=True, slots=True)
class TuningRule:
    """The numbers of the rule, and of the experiments that it needs.

    Attributes:
        bandwidth: Of the closed position loop, −3 dB, reference to position, velocity of the reference included [Hz].
        damping: Damping ratio ζ of the position loop.
        oscillation_share: Share of the gain where oscillation starts.
        integral_share: Share of the smallest unstable K_i of a PID.
        step: Step, and length of the slow move, that a probe makes [rad or m].
        move_time: Time of the slow move there, and of that back [s].
        step_time: Time for which the answer to a step is looked at [s].
        rest_time: Time at rest after the slow move [s].
        tare_time: Time over which the plate is tared before a probe [s].
        structure: Frequency from which on a torque that swings does so with the structure [Hz].
        amplitude: Share of the effort limit from which a torque that swings counts as oscillation.
        resolution: Accuracy with which the gain at the limit is found, as a share.
        proof: How many times longer the gains found are tried in the end: a slow ring may hide from a short probe.
    """

    bandwidth: float = 5.0
    damping: float = 0.5
    oscillation_share: float = 0.75
    integral_share: float = 0.8
    step: float = math.radians(2.0)
    move_time: float = 1.0
    step_time: float = 3.0
    rest_time: float = 0.7
    tare_time: float = 0.3
    structure: float = 10.0
    amplitude: float = 0.01
    resolution: float = 0.05
    proof: float = 5.0

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e6:
                raise InputError(f"{field.name} is {value!r}; expected a number above 0")
        for name in ("oscillation_share", "integral_share", "amplitude", "resolution"):
            if getattr(self, name) >= 1.0:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected a share, below 1")

    def stretched(self, factor: float) -> TuningRule:
        """Return the rule with steps, moves and rests that take so many times longer."""
        times = {name: factor * getattr(self, name) for name in ("step_time", "move_time", "rest_time")}
        return replace(self, **times)


def natural_frequency(bandwidth: float, damping: float) -> float:
    """Return ω_n [rad/s] of a position loop with this −3 dB bandwidth [Hz] and damping ratio.

    The loop is that of eq. (27), reference to position of an inertia J under K_p (q_d − q) + K_d (dq_d − dq),

        H = (2ζω_n s + ω_n²) / (s² + 2ζω_n s + ω_n²),   K_p = J ω_n²,   K_d = 2ζ J ω_n,

    whose gain is 1/√2 at u = ω/ω_n with u⁴ − (2 + 4ζ²) u² − 1 = 0: for ζ = ½ at 1.82 ω_n.
    """
    b = 1.0 + 2.0 * damping**2
    return 2.0 * math.pi * bandwidth / math.sqrt(b + math.sqrt(b * b + 1.0))


SCHEMA = "counterpoise/gains-1"
FRICTION_SHARE = 0.9
"""Share of the learned friction that is fed forward: a law that claims too much pushes the joint."""
_NO_FRICTION = Dahl(0.0, 0.0, 1.0)
_GAINS = ("kp", "kd", "ki", "k_int")
_FRICTION = ("forward", "backward", "presliding")


@dataclass(frozen=True, slots=True, eq=False)
class LawGains(PublishedData):
    """Gains of a law, per joint, shape (n,).

    Attributes:
        kind: The law.
        joint_names: The joints.
        kp: K_p [N m/rad or N/m].
        kd: K_d [N m s/rad or N s/m].
        ki: K_i of a PID or PI [N m/(rad s) or N/(m s)]; 0 elsewhere.
        k_int: Integral gain of the torque loop [1/s]; 0 elsewhere.
        friction: Friction of each joint as the plate showed it, of which FRICTION_SHARE is fed forward in a reference;
            None where it was not learned.
    """

    kind: LawKind
    joint_names: tuple[str, ...]
    kp: Array
    kd: Array
    ki: Array
    k_int: Array
    friction: tuple[Dahl, ...] | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse what cannot be."""
        if self.kind not in KINDS:
            raise InputError(f"kind is {self.kind!r}; expected one of {', '.join(KINDS)}")
        if self.friction is not None and len(self.friction) != len(self.joint_names):
            raise InputError(f"friction of {len(self.friction)} joints; expected {len(self.joint_names)}")
        for name in _GAINS:
            value = frozen(np.asarray(getattr(self, name), dtype=np.float64))
            if value.shape != (len(self.joint_names),) or not (np.isfinite(value) & (value >= 0.0)).all():
                raise InputError(f"{name} is {value.tolist()}; expected {len(self.joint_names)} finite numbers from 0")
            object.__setattr__(self, name, value)

    def with_joint(self, joint: int, **gains: float) -> LawGains:
        """Return gains that differ on one joint, e.g. ``with_joint(0, kp=1100.0)``."""
        changed: dict[str, Any] = {}
        for name, value in gains.items():
            row = getattr(self, name).copy()
            row[joint] = value
            changed[name] = row
        return replace(self, **changed)

    def with_friction(self, joint: int, learned: Dahl) -> LawGains:
        """Return gains that send the friction of one joint ahead; that of the others is kept."""
        known = list(self.friction or [_NO_FRICTION] * len(self.joint_names))
        known[joint] = learned
        return replace(self, friction=tuple(known))

    def laws(
        self,
        rig: Rig,
        reference: Reference | None = None,
        *,
        sensor: BaseSensor | None = None,
        reach: Array | None = None,
        **settings: Any,
    ) -> tuple[Law, ...]:
        """Return the law, with gravity, as ControlLoop takes it.

        Args:
            rig: What will be driven; its model gives gravity, unless the plant bears its own weight.
            reference: What to follow; None holds the pose the arm has at the start.
            sensor: The base sensor, for the laws that use one.
            reach: Largest position errors that K_p acts on [rad or m], shape (n,); None for any.
            settings: Passed on to base_sensor_control: form, feedforward, gravity and so on.

        Raises:
            InputError: The law needs a base sensor, or the joints are not the robot's.
        """
        plant, robot = rig.plant, rig.robot
        if self.joint_names != robot.joint_names:
            raise InputError(f"gains are for {list(self.joint_names)}, the robot has {list(robot.joint_names)}")
        ahead: tuple[Law, ...] = ()
        if self.friction is not None and reference is not None:
            ahead = (FrictionFeedforward(reference, self.friction, FRICTION_SHARE),)
        if self.kind in WITH_PLATE:
            if sensor is None:
                raise InputError(f"'{self.kind}' needs the plate: give sensor=, tared")
            chosen = {"gravity": robot, "reach": reach} | settings
            return (base_sensor_control(plant, sensor, self.kp, self.kd, self.k_int, reference, **chosen), *ahead)
        law: Law = PD(self.kp, self.kd, reference, reach=reach)
        if self.kind != "pd":
            law = PID(
                self.kp,
                self.ki,
                self.kd,
                integral_limit=plant.effort_limit,
                dt=plant.dt,
                reference=reference,
                reach=reach,
            )
        return (*rig.with_gravity(law), *ahead)

    def as_data(self) -> dict[str, Any]:
        """Return the gains as plain values."""
        gains = {name: getattr(self, name).tolist() for name in _GAINS}
        if self.friction is not None:
            gains |= {f"friction_{name}": [getattr(law, name) for law in self.friction] for name in _FRICTION}
        return {"schema": SCHEMA, "law": self.kind, "joints": list(self.joint_names), **gains}

    def save(self, path: str | Path, comments: Sequence[str] = ()) -> None:
        """Write the gains as TOML, with comments before them; all or nothing.

        Raises:
            DataFileError: The file cannot be written.
        """
        lines = [f"# {line}" for text in comments for line in text.splitlines()]
        lines += [f"{key} = {_toml(value)}" for key, value in self.as_data().items()]
        write_atomically(path, ("\n".join(lines) + "\n").encode())


def read_gains(path: str | Path) -> LawGains:
    """Return the gains of a file that :meth:`LawGains.save` wrote.

    Raises:
        DataFileError: The file cannot be read or is none of these.
    """
    data = read_toml(path).root
    if data.get("schema") != SCHEMA:
        raise DataFileError(f"schema is {data.get('schema')!r}; expected {SCHEMA!r}", path=str(path))
    friction = [f"friction_{name}" for name in _FRICTION]
    needed = ["law", "joints", *_GAINS, *(friction if set(friction) & set(data) else ())]
    missing = [key for key in needed if key not in data]
    unknown = sorted(set(data) - {"schema", *needed})
    if missing or unknown:
        raise DataFileError(f"keys missing: {missing}; not known: {unknown}", path=str(path))
    try:
        names = tuple(str(name) for name in data["joints"])
        learned = (
            tuple(Dahl(*each) for each in zip(*(data[key] for key in friction), strict=True))
            if friction[0] in data
            else None
        )
        gains = {key: data[key] for key in _GAINS}
        return LawGains(data["law"], names, friction=learned, **gains)
    except (InputError, TypeError, ValueError, OverflowError) as error:
        raise DataFileError(f"the gains make no sense: {error}", path=str(path)) from error


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(float(value))
