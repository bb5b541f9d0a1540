"""Reads a robot from its Denavit–Hartenberg table in TOML, standard or modified (format: docs/dh-format.md).

.. code-block:: text

    standard   T_parent_link(q) = placement · Rz(theta) · M(q) · Tz(d) Tx(a) Rx(alpha)
    modified   T_parent_link(q) = placement · Rx(alpha) Tx(a) Rz(theta) · M(q) · Tz(d)

M(q) is Rz(q) or Tz(q), which commute with Rz(theta) and Tz(d): theta of a rotary joint and d of a linear one are
offsets added to q.

The tables and keys of a file are decoded strictly (``DhTable``), with the source of every number (``origins``).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from ..errors import ModelFileError, locate
from ..foundation import Array, Keys, TomlDocument, inverse_transform, load_toml, quoted, rotation_from_rpy, transform
from .checks import MAX_GRAVITY, MAX_LINKS, checked
from .model import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link

SCHEMA = "counterpoise/dh-1"

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Vector = tuple[float, float, float]
Angle = float | str
"""Radians, or a multiple of pi as text: "pi/2", "-3*pi/4", "160*pi/180"."""
AngleVector = tuple[Angle, Angle, Angle]
SourceKeys = str | tuple[str, ...]
"""One or several keys of the [sources] table."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML table: unknown keys are refused, so that a misspelt one is not silently lost."""


class Placement(_Table, frozen=True, kw_only=True):
    """A constant transform: translation [m], then fixed-axis roll, pitch, yaw [rad]."""

    xyz: Vector = (0.0, 0.0, 0.0)
    rpy: AngleVector = (0.0, 0.0, 0.0)


class MassTable(_Table, frozen=True, kw_only=True):
    """Mass [kg], centre of mass [m] and inertia about it [kg m²] of one body, and where they come from."""

    name: Name
    mass: float | None = None
    com: Vector | None = None
    inertia: tuple[float | Vector, ...] | None = None
    as_published: bool = False
    source: SourceKeys = ()
    assumed: tuple[str, ...] = ()
    assumed_why: str = ""


class BaseTable(MassTable, frozen=True, kw_only=True):
    """The base link, [base]; its frame is the base frame."""

    name: Name = "base"


class JointSource(_Table, frozen=True, kw_only=True):
    """Keys of [sources], one entry for each group of a joint's numbers."""

    kinematics: SourceKeys = ()
    limits: SourceKeys = ()
    velocity: SourceKeys = ()
    effort: SourceKeys = ()
    rotor: SourceKeys = ()


class JointTable(_Table, frozen=True, kw_only=True):
    """One row of the DH table, [[joint]], with the link it moves."""

    name: Name
    kind: Literal["revolute", "continuous", "prismatic"]
    a: float
    alpha: Angle
    d: float
    theta: Angle
    link: MassTable
    parent: Name | None = None
    placement: Placement | None = None
    lower: Angle | None = None
    upper: Angle | None = None
    velocity: float | None = None
    effort: float | None = None
    rotor_inertia: float | None = None
    source: JointSource = JointSource()
    assumed: tuple[str, ...] = ()
    assumed_why: str = ""


class FrameTable(_Table, frozen=True, kw_only=True):
    """A massless frame fixed to a link, [[frame]]: a tool or a flange."""

    name: Name
    parent: Name
    xyz: Vector = (0.0, 0.0, 0.0)
    rpy: AngleVector = (0.0, 0.0, 0.0)
    source: SourceKeys = ()
    assumed: tuple[str, ...] = ()
    assumed_why: str = ""


class DhTable(_Table, frozen=True, kw_only=True):
    """A whole DH file."""

    schema: Literal["counterpoise/dh-1"]
    name: Name
    convention: Literal["standard", "modified"]
    joint: Annotated[tuple[JointTable, ...], msgspec.Meta(min_length=1, max_length=MAX_LINKS)]
    summary: str = ""
    com_frame: Literal["link", "joint"] | None = None
    gravity: Vector | None = None
    sources: dict[str, str] = {}
    assumed: Literal["all"] | None = None
    assumed_why: str = ""
    base: BaseTable = BaseTable()
    frame: Annotated[tuple[FrameTable, ...], msgspec.Meta(max_length=MAX_LINKS)] = ()


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of one table that share an origin.

    Attributes:
        where: Place of the table in the document.
        owner: Name of the joint, link or frame.
        fields: Keys of the numbers, e.g. ("mass", "com").
        sources: Keys of [sources] they are taken from; empty where assumed.
        assumed_why: Reason of an assumption; "" where sourced or of unknown origin.
    """

    where: Keys
    owner: str
    fields: tuple[str, ...]
    sources: tuple[str, ...]
    assumed_why: str


_JOINT_GROUPS = {
    "kinematics": ("placement", "a", "alpha", "d", "theta"),
    "limits": ("lower", "upper"),
    "velocity": ("velocity",),
    "effort": ("effort",),
    "rotor": ("rotor_inertia",),
}
_MASS_FIELDS = ("mass", "com", "inertia")
_FRAME_FIELDS = ("xyz", "rpy")

_STRUCT_AT: dict[Keys, type[msgspec.Struct]] = {
    (): DhTable,
    ("base",): BaseTable,
    ("joint",): JointTable,
    ("joint", "link"): MassTable,
    ("joint", "source"): JointSource,
    ("joint", "placement"): Placement,
    ("frame",): FrameTable,
}
_CHOICES = {
    "schema": (SCHEMA,),
    "kind": ("revolute", "continuous", "prismatic"),
    "convention": ("standard", "modified"),
    "com_frame": ("link", "joint"),
    "assumed": ("all",),
}
_WORDS = {"float": "a number", "int": "a number", "str": "text", "array": "a list", "object": "a table"}


def decode_table(document: TomlDocument) -> DhTable:
    """Decode a TOML document as a DH file and check what its keys say about each other.

    Raises:
        ModelFileError: A key is unknown, missing, of the wrong type or contradicts another.
    """
    if "schema" not in document.root:
        raise ModelFileError(f'is not a DH file: it lacks schema = "{SCHEMA}" at the top', path=document.path)
    try:
        table = msgspec.convert(document.root, DhTable)
    except msgspec.ValidationError as error:
        raise _refusal(document, str(error)) from error
    _check_masses(table, document)
    for index, joint in enumerate(table.joint):
        if joint.kind == "continuous" and not (joint.lower is None and joint.upper is None):
            raise document.refusal(
                ("joint", index, "lower" if joint.lower is not None else "upper"),
                'a continuous joint turns without limits; remove the limit or use kind = "revolute"',
            )
    _check_parents(table, document)
    for _ in origins(table, document):  # it checks as it goes
        pass
    return table


def origins(table: DhTable, document: TomlDocument) -> Iterator[Numbers]:
    """Say of every number in the file where it comes from.

    Numbers that the file neither sources nor assumes are returned as well, with empty ``sources`` and
    ``assumed_why``: a file may leave origins out altogether; the bundled ones may not.

    Raises:
        ModelFileError: A source key is not in [sources], or an ``assumed`` entry names no number of its table or has
            no reason.
    """
    if table.assumed is not None and not table.assumed_why:
        raise document.refusal(("assumed",), "assumptions need a reason: add assumed_why beside it")
    for where, body in _bodies(table):
        present = tuple(key for key in _MASS_FIELDS if getattr(body, key) is not None)
        yield from _split(table, document, where, body, {"": (present, body.source)})
    for index, joint in enumerate(table.joint):
        groups: dict[str, tuple[tuple[str, ...], SourceKeys]] = {
            group: (tuple(key for key in keys if getattr(joint, key) is not None), getattr(joint.source, group))
            for group, keys in _JOINT_GROUPS.items()
        }
        yield from _split(table, document, ("joint", index), joint, groups)
    for index, frame in enumerate(table.frame):
        yield from _split(table, document, ("frame", index), frame, {"": (_FRAME_FIELDS, frame.source)})


def _split(
    table: DhTable,
    document: TomlDocument,
    where: Keys,
    owner: MassTable | JointTable | FrameTable,
    groups: dict[str, tuple[tuple[str, ...], SourceKeys]],
) -> Iterator[Numbers]:
    """Divide the numbers of one table into assumed and sourced ones, after checking both claims.

    ``groups`` holds the keys present and the sources they cite, by group of a joint's ``source``; "" elsewhere.
    """
    present = {key for keys, _ in groups.values() for key in keys}
    for position, key in enumerate(owner.assumed):
        if key not in present:
            known = ", ".join(sorted(present)) or "none"
            raise document.refusal(
                (*where, "assumed", position), f"'{key}' is not a number of this table; it has: {known}"
            )
    why = owner.assumed_why or table.assumed_why
    if owner.assumed and not why:
        raise document.refusal(
            (*where, "assumed"), "assumptions need a reason: add assumed_why here or at the top of the file"
        )
    if owner.assumed:
        yield Numbers(where, owner.name, owner.assumed, (), why)
    for group, (keys, source) in groups.items():
        cited = (source,) if isinstance(source, str) else source
        for key in cited:
            if key not in table.sources:
                place = (*where, "source", group) if group else (*where, "source")
                known = ", ".join(table.sources) or "none"
                raise document.refusal(place, f"source '{key}' is not in [sources], which has: {known}")
        rest = tuple(key for key in keys if key not in owner.assumed)
        if rest:
            yield Numbers(where, owner.name, rest, cited, "" if cited or table.assumed is None else why)


def _bodies(table: DhTable) -> Iterator[tuple[Keys, MassTable]]:
    """The base and every moved link, each with its place in the document."""
    yield ("base",), table.base
    for index, joint in enumerate(table.joint):
        yield ("joint", index, "link"), joint.link


def _check_masses(table: DhTable, document: TomlDocument) -> None:
    for where, body in _bodies(table):
        if body.mass is None:
            for key in ("com", "inertia"):
                if getattr(body, key) is not None:
                    raise document.refusal((*where, key), f"{key} is given without a mass; add mass or remove {key}")
        elif body.com is None:
            raise document.refusal((*where, "mass"), "mass is given without com, the centre of mass; add com")
    if table.com_frame is None:
        for index, joint in enumerate(table.joint):
            if joint.link.mass is not None:
                raise document.refusal(
                    ("joint", index, "link", "com"),
                    'com_frame is missing at the top of the file: say "link" (com in the DH frame of the link) or '
                    '"joint" (com in the frame at the joint that moves with the link)',
                )


def _check_parents(table: DhTable, document: TomlDocument) -> None:
    names = {table.base.name, *(joint.link.name for joint in table.joint), *(frame.name for frame in table.frame)}
    claims: list[tuple[Keys, str | None]] = [
        *((("joint", index, "parent"), joint.parent) for index, joint in enumerate(table.joint)),
        *((("frame", index, "parent"), frame.parent) for index, frame in enumerate(table.frame)),
    ]
    for where, parent in claims:
        if parent is not None and parent not in names:
            near = difflib.get_close_matches(parent, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else "give the name of a link, a frame or the base"
            raise document.refusal(where, f"no link is called '{parent}'; {hint}")


def _refusal(document: TomlDocument, message: str) -> ModelFileError:
    """Translate a msgspec message, ``reason - at `$.place```, into ours with name and line."""
    reason, _, place = message.partition(" - at `$")
    where: Keys = tuple(
        int(index) if index else key for key, index in re.findall(r"\.([^.\[\]`]+)|\[([0-9]+)\]", place)
    )
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", reason, re.DOTALL):
        struct = _STRUCT_AT.get(tuple(key for key in where if isinstance(key, str)))
        known = [] if struct is None else [field.name for field in msgspec.structs.fields(struct)]
        near = difflib.get_close_matches(found[1][:100], known, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(known)}"
        return document.refusal((*where, found[1]), f"unknown key; {hint}")
    if found := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return document.refusal(where, f"the key '{found[1]}' is missing")
    if reason.startswith("Invalid enum value") and where and where[-1] in _CHOICES:
        choices = " or ".join(f'"{choice}"' for choice in _CHOICES[str(where[-1])])
        return document.refusal(where, f"{reason.removeprefix('Invalid enum value ')[:100]} is unknown; use {choices}")
    spoken = re.sub(r"`([a-z| ]+)`", lambda types: _in_words(types[1]), reason)
    return document.refusal(where, spoken[:1].lower() + spoken[1:])


def _in_words(types: str) -> str:
    """``float | str | null`` as "a number or text"."""
    return " or ".join(_WORDS.get(name, name) for name in types.split(" | ") if name != "null")


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
