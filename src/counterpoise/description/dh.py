"""Reads a robot from its Denavit–Hartenberg table in TOML, standard or modified (format: docs/dh-format.md).

.. code-block:: text

    standard   T_parent_link(q) = placement · Rz(theta) · M(q) · Tz(d) Tx(a) Rx(alpha)
    modified   T_parent_link(q) = placement · Rx(alpha) Tx(a) Rz(theta) · M(q) · Tz(d)

M(q) is Rz(q) or Tz(q), which commute with Rz(theta) and Tz(d): theta of a rotary joint and d of a linear one are
offsets added to q.
"""

from __future__ import annotations

import math
import re

import numpy as np

from ..errors import locate
from .checks import MAX_GRAVITY, checked
from .dh_table import Angle, AngleVector, DhTable, JointTable, MassTable, Placement, decode_table
from .frozen import Array
from .model import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link
from .numbers import quoted
from .rotations import inverse_transform, rotation_from_rpy, transform
from .toml_lines import Keys, TomlDocument, load_toml

MAX_ANGLE = 2.0 * math.pi + 1e-9
"""Largest constant angle of a table [rad]: more than a turn means that degrees were typed."""
SUSPICIOUS_LIMIT = 8.0 * math.pi
"""A rotary limit beyond this [rad] looks like degrees."""
SYMMETRY_TOLERANCE = 1e-6
"""Share of its largest entry by which a 3×3 inertia may differ from its transpose."""

_PI_MULTIPLE = re.compile(r"([+-]?)\s*(?:(\d{1,6}(?:\.\d{1,9})?)\s*\*\s*)?pi(?:\s*/\s*(\d{1,6}(?:\.\d{1,9})?))?")


def parse_dh(data: bytes, path: str | None = None) -> Description:
    """Read a DH table in TOML.

    Args:
        data: The document.
        path: Where it came from, for messages.

    Raises:
        ModelFileError: It is not TOML, or does not follow the format.
        PhysicalConsistencyError: A mass or an inertia cannot exist.
    """
    document = load_toml(data, path)
    return describe(decode_table(document), document)


def describe(table: DhTable, document: TomlDocument) -> Description:
    """Turn a decoded DH table into a checked description; ``document`` supplies lines for messages."""
    builder = _Builder(table, document)
    links = [Link(table.base.name, builder.inertia(table.base, ("base",), np.eye(4)), document.line(("base",)))]
    joints: list[Joint] = []
    parent = table.base.name
    for index, row in enumerate(table.joint):
        where: Keys = ("joint", index)
        joint = builder.joint(row, where, row.parent or parent)
        T_link_com_frame = inverse_transform(joint.T_joint_child) if table.com_frame == "joint" else np.eye(4)
        inertia = builder.inertia(row.link, (*where, "link"), T_link_com_frame)
        links.append(Link(row.link.name, inertia, document.line((*where, "link"))))
        joints.append(joint)
        parent = row.link.name
    for index, frame in enumerate(table.frame):
        where = ("frame", index)
        line = document.line(where)
        T_parent_frame = transform(rotation_from_rpy(builder.angles(frame.rpy, (*where, "rpy"))), frame.xyz)
        links.append(Link(frame.name, line=line))
        joints.append(
            Joint(f"{frame.name}_fixed", JointKind.FIXED, frame.parent, frame.name, T_parent_frame, line=line)
        )
    return checked(
        name=table.name,
        links=links,
        joints=joints,
        path=document.path,
        convention=f"dh-{table.convention}",
        gravity_world=builder.gravity(),
        warnings=builder.warnings,
        summary=table.summary,
    )


class _Builder:
    """Turns decoded tables into joints and inertias, and collects what is suspicious on the way."""

    def __init__(self, table: DhTable, document: TomlDocument) -> None:
        self._table = table
        self._document = document
        self.warnings: list[str] = []

    def gravity(self) -> tuple[float, float, float]:
        """Gravity in the world frame [m/s²]."""
        gravity = STANDARD_GRAVITY if self._table.gravity is None else self._table.gravity
        if not math.hypot(*gravity) <= MAX_GRAVITY:
            raise self._document.refusal(("gravity",), f"expected m/s², at most {MAX_GRAVITY:g} in size")
        return gravity

    def joint(self, row: JointTable, where: Keys, parent: str) -> Joint:
        """Return the joint of one DH row, which moves along or about its own z axis."""
        T_parent_row = self._placement(row.placement, (*where, "placement"))
        R_x = transform(rotation_from_rpy((self._angle(row.alpha, (*where, "alpha")), 0.0, 0.0)), np.zeros(3))
        R_z = transform(rotation_from_rpy((0.0, 0.0, self._angle(row.theta, (*where, "theta")))), np.zeros(3))
        T_x = transform(np.eye(3), (row.a, 0.0, 0.0))
        T_z = transform(np.eye(3), (0.0, 0.0, row.d))
        if self._table.convention == "standard":
            T_parent_joint = T_parent_row @ R_z
            T_joint_link = T_z @ T_x @ R_x
        else:
            T_parent_joint = T_parent_row @ R_x @ T_x @ R_z
            T_joint_link = T_z
        return Joint(
            name=row.name,
            kind=JointKind(row.kind),
            parent=parent,
            child=row.link.name,
            T_parent_joint=T_parent_joint,
            T_joint_child=T_joint_link,
            lower=self._limit(row, "lower", where, -math.inf),
            upper=self._limit(row, "upper", where, math.inf),
            velocity_limit=math.inf if row.velocity is None else row.velocity,
            effort_limit=math.inf if row.effort is None else row.effort,
            rotor_inertia=row.rotor_inertia,
            line=self._document.line(where),
        )

    def inertia(self, body: MassTable, where: Keys, T_link_com_frame: Array) -> Inertia | None:
        """Return a body's inertia in its link frame, or None where the file gives no mass.

        Args:
            body: Mass, centre of mass and inertia in the axes that com_frame names.
            where: Its place in the document.
            T_link_com_frame: Those axes in the link frame, shape (4, 4).
        """
        if body.mass is None or body.com is None:
            return None
        if body.inertia is None:
            self._warn(where, f"link '{body.name}' has a mass but no inertia; gravity is right, dynamics are not")
        rotation = T_link_com_frame[:3, :3]
        tensor = self._tensor(body.inertia, (*where, "inertia"))
        com = rotation @ np.array(body.com) + T_link_com_frame[:3, 3]
        return Inertia(body.mass, com, rotation @ tensor @ rotation.T, body.as_published)

    def angles(self, rpy: AngleVector, where: Keys) -> tuple[float, float, float]:
        """Return three constant angles [rad]."""
        roll, pitch, yaw = (self._angle(angle, (*where, position)) for position, angle in enumerate(rpy))
        return roll, pitch, yaw

    def _placement(self, placement: Placement | None, where: Keys) -> Array:
        if placement is None:
            return np.eye(4)
        return transform(rotation_from_rpy(self.angles(placement.rpy, (*where, "rpy"))), placement.xyz)

    def _angle(self, angle: Angle, where: Keys) -> float:
        """Return a constant angle [rad]."""
        value = self._radians(angle, where)
        if abs(value) > MAX_ANGLE:
            raise self._document.refusal(
                where, f'{value:g} rad is more than a turn; angles are in rad: write 90° as "pi/2" or "90*pi/180"'
            )
        return value

    def _radians(self, angle: Angle, where: Keys) -> float:
        if not isinstance(angle, str):
            return float(angle)
        found = _PI_MULTIPLE.fullmatch(angle.strip())
        divisor = float(found[3] or 1.0) if found else 0.0
        if found is None or divisor == 0.0:
            raise self._document.refusal(
                where,
                f'{quoted(angle)} is not an angle; give rad as a number, or a multiple of pi such as "pi/2", "-3*pi/4"',
            )
        return (-1.0 if found[1] == "-" else 1.0) * float(found[2] or 1.0) * math.pi / divisor

    def _limit(self, row: JointTable, key: str, where: Keys, unlimited: float) -> float:
        limit: Angle | None = getattr(row, key)
        if limit is None:
            return unlimited
        if row.kind == "prismatic":
            if isinstance(limit, str):
                raise self._document.refusal((*where, key), "a linear joint's limit is a number of metres, not text")
            return float(limit)
        value = self._radians(limit, (*where, key))
        if abs(value) > SUSPICIOUS_LIMIT:
            self._warn((*where, key), f"joint '{row.name}': {key} limit {value:g} rad looks like degrees")
        return value

    def _tensor(self, inertia: tuple[float | tuple[float, float, float], ...] | None, where: Keys) -> Array:
        """Return the 3×3 tensor from 3 (diagonal), 6 (xx, yy, zz, xy, xz, yz) or 3×3 numbers."""
        if inertia is None:
            return np.zeros((3, 3))
        numbers = [entry for entry in inertia if not isinstance(entry, tuple)]
        rows = [entry for entry in inertia if isinstance(entry, tuple)]
        if len(numbers) == 3 and not rows:
            return np.diag(np.array(numbers, dtype=np.float64))
        if len(numbers) == 6 and not rows:
            xx, yy, zz, xy, xz, yz = numbers
            return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=np.float64)
        if len(rows) != 3 or numbers:
            raise self._document.refusal(
                where, "expected 3 numbers (diagonal), 6 (xx, yy, zz, xy, xz, yz) or 3 rows of 3"
            )
        tensor = np.array(rows, dtype=np.float64)
        if np.max(np.abs(tensor - tensor.T)) > SYMMETRY_TOLERANCE * np.max(np.abs(tensor)):
            raise self._document.refusal(where, "an inertia is symmetric; these rows are not")
        return 0.5 * (tensor + tensor.T)

    def _warn(self, where: Keys, message: str) -> None:
        self.warnings.append(f"{locate(self._document.path, self._document.line(where))}: {message}")
