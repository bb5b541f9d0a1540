"""The gains of a law as tuning finds them, the law made of them, and the file that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base_sensor.sensor import BaseSensor
from ...description.frozen import Array, PublishedData, frozen
from ...dynamics.robot import Robot
from ...errors import DataFileError, InputError
from ...friction.dahl import Dahl
from ...logs.atomic import write_atomically
from ...logs.data_file import read_toml
from ..base_sensor_control import base_sensor_control
from ..friction_feed_forward import FrictionFeedForward
from ..gravity import Gravity
from ..law import Law
from ..pd import PD
from ..pid import PID
from ..plant import Plant
from ..reference import Reference
from .rule import KINDS, WITH_PLATE, LawKind

SCHEMA = "counterpoise/gains-1"
FRICTION_SHARE = 0.9
"""Share of the learned friction that is sent ahead: a law that claims too much pushes the joint."""
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
        friction: Friction of each joint as the plate showed it, of which FRICTION_SHARE is sent ahead of a reference;
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
        plant: Plant,
        robot: Robot,
        reference: Reference | None = None,
        *,
        sensor: BaseSensor | None = None,
        reach: Array | None = None,
        **settings: Any,
    ) -> tuple[Law, ...]:
        """Return the law, with gravity, as ControlLoop takes it.

        Args:
            plant: What will be driven.
            robot: The arm's model: gravity, unless the plant bears its own weight.
            reference: What to follow; None holds the pose the arm has at the start.
            sensor: The base sensor, for the laws that use one.
            reach: Largest position errors that K_p acts on [rad or m], shape (n,); None for any.
            settings: Passed on to base_sensor_control: form, feed_forward, gravity and so on.

        Raises:
            InputError: The law needs a base sensor, or the joints are not the robot's.
        """
        if self.joint_names != robot.joint_names:
            raise InputError(f"gains are for {list(self.joint_names)}, the robot has {list(robot.joint_names)}")
        ahead: tuple[Law, ...] = ()
        if self.friction is not None and reference is not None:
            ahead = (FrictionFeedForward(reference, self.friction, FRICTION_SHARE),)
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
        return (law, *ahead) if plant.adds_gravity else (law, Gravity(robot), *ahead)

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
