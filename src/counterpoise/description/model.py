"""The robot description: links, joints and inertias as a file states them, before anything is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from ..foundation import Array, PublishedData, frozen

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Default gravity in the world [m/s²]: z points up."""


class JointKind(StrEnum):
    """What a joint lets its child link do."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"

    @property
    def rotates(self) -> bool:
        """True for revolute and continuous joints."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS)


@dataclass(frozen=True, slots=True, eq=False)
class Inertia(PublishedData):
    """Mass distribution of one rigid body.

    Attributes:
        mass: Mass [kg].
        com: Centre of mass in the link frame [m], shape (3,).
        tensor_com: Rotational inertia about the centre of mass, along the link frame's axes [kg m²], shape (3, 3).
        as_published: True when the source prints a tensor that breaks the triangle inequality and its author chose
            to compute with it nevertheless: for that it is neither warned about nor refused.
    """

    mass: float
    com: Array
    tensor_com: Array
    as_published: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "com", frozen(self.com))
        object.__setattr__(self, "tensor_com", frozen(self.tensor_com))


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A rigid link.

    Attributes:
        name: Unique name.
        inertia: Mass distribution in the link frame; None where the file states none (a bare frame).
        line: Line of the file that defines it, counted from 1; None where unknown.
        placeholder_frame: True for a frame that a reader inserted itself, e.g. between two joints of one MJCF body;
            it has no mass by construction and is not warned about.
    """

    name: str
    inertia: Inertia | None = None
    line: int | None = None
    placeholder_frame: bool = False


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: q = multiplier · q_master + offset (rad or m)."""

    master: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Joint(PublishedData):
    """A joint between two links.

    The child link's pose is T_parent_child(q) = T_parent_joint · motion(axis, q) · T_joint_child.

    Attributes:
        name: Unique name.
        kind: What it lets the child do.
        parent: Name of the parent link.
        child: Name of the child link.
        T_parent_joint: Joint frame in the parent link's frame at q = 0, shape (4, 4).
        axis: Unit axis in the joint frame, shape (3,). Ignored for fixed joints.
        T_joint_child: Child link's frame in the moved joint frame, shape (4, 4). Identity in URDF; in standard DH the
            link frame sits at the link's far end.
        lower: Lower position limit [rad or m]; −inf where none.
        upper: Upper position limit [rad or m]; +inf where none.
        velocity_limit: Largest speed [rad/s or m/s]; +inf where unknown.
        effort_limit: Largest torque or force [N m or N]; +inf where unknown.
        rotor_inertia: Inertia of the drive reflected to the link side [kg m² or kg]; None where unknown, 0 for none.
        mimic: Set when the joint follows another one.
        line: Line of the file that defines it, counted from 1; None where unknown.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    T_parent_joint: Array = field(default_factory=lambda: np.eye(4))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    T_joint_child: Array = field(default_factory=lambda: np.eye(4))
    lower: float = -math.inf
    upper: float = math.inf
    velocity_limit: float = math.inf
    effort_limit: float = math.inf
    rotor_inertia: float | None = None
    mimic: Mimic | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        for name in ("T_parent_joint", "axis", "T_joint_child"):
            object.__setattr__(self, name, frozen(getattr(self, name)))


@dataclass(frozen=True, slots=True, eq=False)
class Description(PublishedData):
    """A robot as its file describes it: a tree of links, checked by :func:`~.checks.checked`.

    Attributes:
        name: Name of the robot.
        links: All links, in file order.
        joints: All joints, in file order; that order fixes the order of siblings.
        root: Name of the root (base) link; its axes are the base frame.
        gravity_world: Gravity in the world frame [m/s²], shape (3,).
        path: File it came from, or None.
        convention: "tree" (URDF, MJCF), "dh-standard" or "dh-modified".
        warnings: What is suspicious but not refused, one sentence each.
        command_units: Why masses are not kg but units of a drive's command, so that gravity is no torque: a calibration
            that could not tell efforts from torques; "" for every other robot.
        summary: One line on what the robot is and where its numbers come from; "" where the file says nothing.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    root: str
    gravity_world: Array = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    path: str | None = None
    convention: str = "tree"
    warnings: tuple[str, ...] = ()
    summary: str = ""
    command_units: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity_world", frozen(self.gravity_world))
