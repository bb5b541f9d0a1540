"""Arms of the certificate study: plain structures, drawn at random or read from a URDF, and written as a URDF.

Nothing here comes from the package: the study's arms must not inherit a mistake of the product. Units are SI; a URDF's
"continuous" joints become revolute ones of two turns either way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Random = np.random.Generator

MASS_SPREAD = 0.3
"""Standard deviation of the logarithm of a link's mass, where links differ from the description."""
COM_SPREAD = 0.020
"""Largest displacement of a link's centre of mass along each axis [m], where links differ."""
COMMON = (0.7, 1.3)
"""Range of the factor on all masses, where they differ by one factor."""
KINDS = ("links", "described", "common", "right")
"""How the description differs from the true arm: every true link differs, every described link differs (the true arm
is the file), by one common factor, not at all."""
KIND_SHARES = (0.4, 0.2, 0.25, 0.15)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A link.

    Attributes:
        name: Its name.
        mass: Its mass [kg]; 0 for a frame without one.
        com: Centre of mass in the link's frame [m], shape (3,).
        tensor: Inertia about the centre of mass, along the link frame's axes [kg m²], shape (3, 3).
    """

    name: str
    mass: float
    com: Array
    tensor: Array


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A joint.

    Attributes:
        name: Its name.
        kind: "revolute", "prismatic" or "fixed".
        parent: Name of the parent link.
        child: Name of the child link.
        placement: Pose of the joint in the parent link's frame, shape (4, 4).
        axis: Its axis in its own frame, shape (3,).
        lower: Lowest position [rad or m].
        upper: Highest position [rad or m].
        effort: Effort limit [N m or N].
        speed: Speed limit [rad/s or m/s].
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Array
    axis: Array
    lower: float = 0.0
    upper: float = 0.0
    effort: float = 0.0
    speed: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """A tree of links.

    Attributes:
        name: Its name.
        links: The links, the root first.
        joints: The joints, parents before children.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]

    @property
    def moving(self) -> tuple[Joint, ...]:
        """The n joints that move, in the order of all arrays of the study."""
        return tuple(joint for joint in self.joints if joint.kind != "fixed")

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(joint.name for joint in self.moving)

    @property
    def lower(self) -> Array:
        """Lowest positions [rad or m], shape (n,)."""
        return np.array([joint.lower for joint in self.moving])

    @property
    def upper(self) -> Array:
        """Highest positions [rad or m], shape (n,)."""
        return np.array([joint.upper for joint in self.moving])

    @property
    def effort(self) -> Array:
        """Effort limits [N m or N], shape (n,)."""
        return np.array([joint.effort for joint in self.moving])

    @property
    def speed(self) -> Array:
        """Speed limits [rad/s or m/s], shape (n,)."""
        return np.array([joint.speed for joint in self.moving])

    @property
    def turns(self) -> npt.NDArray[np.bool_]:
        """Which joints are rotary, shape (n,)."""
        return np.array([joint.kind == "revolute" for joint in self.moving])

    @property
    def moving_mass(self) -> float:
        """Mass of all links but the root [kg]."""
        return float(sum(link.mass for link in self.links[1:]))

    @property
    def tip(self) -> str:
        """The link after the longest chain of joints: where a tool would be."""
        depth = {self.links[0].name: 0}
        for joint in self.joints:
            depth[joint.child] = depth[joint.parent] + 1
        return max(depth, key=lambda name: depth[name])

    def with_links(self, links: Sequence[Link]) -> Arm:
        """Return the arm with other links of the same names."""
        return replace(self, links=tuple(links))

    def with_efforts(self, limits: Array) -> Arm:
        """Return the arm with other effort limits [N m or N], shape (n,)."""
        given = dict(zip(self.joint_names, limits.tolist(), strict=True))
        joints = [replace(joint, effort=given.get(joint.name, joint.effort)) for joint in self.joints]
        return replace(self, joints=tuple(joints))


def different(arm: Arm, kind: str, random: Random) -> tuple[Arm, Arm]:
    """Return the true arm and the described one, which differ as ``kind`` of KINDS says."""
    if kind == "right":
        return arm, arm
    if kind == "common":
        factor = float(random.uniform(*COMMON))
        return arm.with_links([_scaled(link, factor) for link in arm.links]), arm
    other = arm.with_links([_differing(link, random) for link in arm.links])
    return (other, arm) if kind == "links" else (arm, other)


def with_payload(arm: Arm, mass: float, com: Array) -> Arm:
    """Return the arm with a point mass [kg] at ``com`` [m] of its tip link."""
    links = []
    for link in arm.links:
        if link.name != arm.tip:
            links.append(link)
            continue
        total = link.mass + mass
        centre = (link.mass * link.com + mass * com) / total
        tensor = link.tensor + _steiner(link.mass, link.com - centre) + _steiner(mass, com - centre)
        links.append(replace(link, mass=total, com=centre, tensor=tensor))
    return arm.with_links(links)


def random_arm(random: Random) -> Arm:
    """Draw a serial or branched tree of 2 to 7 joints, mostly rotary, with lengths and masses like an arm's."""
    count = int(random.integers(2, 8))
    branched = count > 3 and random.random() < 0.25
    scale = float(np.exp(random.uniform(np.log(0.4), np.log(1.6))))
    lengths = scale * random.uniform(0.08, 0.4, count) * 0.85 ** np.arange(count)
    masses = scale**2 * 10.0 * random.uniform(0.5, 1.5, count) * 0.65 ** np.arange(count)
    links = [Link("base", 5.0, np.zeros(3), 0.05 * np.eye(3))]
    joints: list[Joint] = []
    before = np.zeros(3)
    for at in range(count):
        parent = at if not branched or at < 2 or random.random() < 0.7 else int(random.integers(1, at + 1))
        linear = at < count - 1 and random.random() < 0.12
        along = _direction(random) if random.random() < 0.3 else np.eye(3)[int(random.integers(3))]
        reach = lengths[at] * along
        com = 0.5 * reach + random.uniform(-0.02, 0.02, 3)
        links.append(Link(f"link{at + 1}", float(masses[at]), com, _rod(masses[at], reach, random)))
        placement = np.eye(4)
        placement[:3, :3] = np.eye(3) if at == 0 else _quarter_turns(random)
        placement[:3, 3] = before if parent == at else 0.5 * before
        first = np.array([0.0, 0.0, 1.0]) if random.random() < 0.7 else _across(random)
        axis = first if at == 0 else np.eye(3)[int(random.integers(3))]
        reached = float(random.uniform(0.15, 0.4)) if linear else float(random.uniform(1.5, 2.9))
        joints.append(
            Joint(
                name=f"joint{at + 1}",
                kind="prismatic" if linear else "revolute",
                parent=links[parent].name,
                child=f"link{at + 1}",
                placement=placement,
                axis=axis,
                lower=-reached,
                upper=reached,
                speed=0.5 if linear else 2.5,
            )
        )
        before = reach
    return Arm("tree", tuple(links), tuple(joints))


def read_urdf(path: Path, moving: Sequence[str], held: Mapping[str, float] | None = None) -> Arm:
    """Read a URDF's links and joints.

    Args:
        path: The file.
        moving: Joints that move, by name; all others become fixed.
        held: Where some of the others stand [rad or m]; 0 by default.
    """
    root = ElementTree.parse(path).getroot()
    links = {entry.attrib["name"]: _read_link(entry) for entry in root.findall("link")}
    joints = {}
    for entry in root.findall("joint"):
        joint = _read_joint(entry)
        if joint.kind != "fixed" and joint.name not in moving:
            joint = _locked(joint, (held or {}).get(joint.name, 0.0))
        joints[joint.name] = joint
    children = {joint.child for joint in joints.values()}
    base = next(name for name in links if name not in children)
    ordered, known, waiting = [], [base], list(joints.values())
    while waiting:
        ready = [joint for joint in waiting if joint.parent in known]
        if not ready:
            raise ValueError(f"{path.name}: joints {[joint.name for joint in waiting]} hang on no link")
        ordered += ready
        known += [joint.child for joint in ready]
        waiting = [joint for joint in waiting if joint not in ready]
    return Arm(root.attrib.get("name", path.stem), tuple(links[name] for name in known), tuple(ordered))


def pruned(arm: Arm) -> Arm:
    """Return the arm without the links that no moving joint carries or is carried by: other limbs and heads."""
    parents = {joint.child: joint for joint in arm.joints}
    needed = {arm.links[0].name}
    for joint in arm.joints:
        chain, at = [joint.child], joint
        while at.parent in parents:
            at = parents[at.parent]
            chain.append(at.child)
        if any(parents[name].kind != "fixed" for name in chain):
            needed.update(chain)
    return replace(
        arm,
        links=tuple(link for link in arm.links if link.name in needed),
        joints=tuple(joint for joint in arm.joints if joint.child in needed),
    )


def urdf_text(arm: Arm) -> str:
    """Return the arm as a URDF: kinematics, limits and inertias, all digits kept."""
    root = ElementTree.Element("robot", name=arm.name)
    for link in arm.links:
        entry = ElementTree.SubElement(root, "link", name=link.name)
        if link.mass > 0.0:
            inertial = ElementTree.SubElement(entry, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=_numbers(link.com), rpy="0 0 0")
            ElementTree.SubElement(inertial, "mass", value=repr(float(link.mass)))
            names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
            values = {name: repr(float(link.tensor[at])) for name, at in names.items()}
            ElementTree.SubElement(inertial, "inertia", values)
    for joint in arm.joints:
        entry = ElementTree.SubElement(root, "joint", name=joint.name, type=joint.kind)
        ElementTree.SubElement(entry, "parent", link=joint.parent)
        ElementTree.SubElement(entry, "child", link=joint.child)
        rpy = _angles(joint.placement[:3, :3])
        ElementTree.SubElement(entry, "origin", xyz=_numbers(joint.placement[:3, 3]), rpy=_numbers(rpy))
        if joint.kind != "fixed":
            ElementTree.SubElement(entry, "axis", xyz=_numbers(joint.axis))
            limits = {"lower": joint.lower, "upper": joint.upper, "effort": joint.effort, "velocity": joint.speed}
            ElementTree.SubElement(entry, "limit", {name: repr(float(value)) for name, value in limits.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def rotation_of(rpy: Array) -> Array:
    """Return the rotation of fixed-axis roll, pitch and yaw [rad], shape (3, 3)."""
    roll, pitch, yaw = rpy
    about_x = np.array([[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]])
    about_y = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    about_z = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)


def _angles(rotation: Array) -> Array:
    """Return roll, pitch and yaw of a rotation [rad], shape (3,); yaw is 0 where they are not unique."""
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    if np.hypot(rotation[0, 0], rotation[1, 0]) > 1e-9:
        return np.array([np.arctan2(rotation[2, 1], rotation[2, 2]), pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])
    # Pitch of a quarter turn: roll and yaw turn about the same axis.
    return np.array([np.arctan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0])


def _numbers(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def _read_link(entry: ElementTree.Element) -> Link:
    inertial = entry.find("inertial")
    if inertial is None:
        return Link(entry.attrib["name"], 0.0, np.zeros(3), np.zeros((3, 3)))
    mass = inertial.find("mass")
    pose = _pose(inertial.find("origin"))
    tensor = inertial.find("inertia")
    given = {} if tensor is None else {name: float(value) for name, value in tensor.attrib.items()}
    xx, xy, xz, yy, yz, zz = (given.get(name, 0.0) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    turned = pose[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose[:3, :3].T
    return Link(entry.attrib["name"], 0.0 if mass is None else float(mass.attrib["value"]), pose[:3, 3], turned)


def _read_joint(entry: ElementTree.Element) -> Joint:
    kind = entry.attrib["type"]
    parent, child, axis, limit = (entry.find(name) for name in ("parent", "child", "axis", "limit"))
    if parent is None or child is None:
        raise ValueError(f"joint {entry.attrib['name']} has no parent or no child")
    given = {} if limit is None else limit.attrib
    endless = kind == "continuous"
    return Joint(
        name=entry.attrib["name"],
        kind="revolute" if endless else kind,
        parent=parent.attrib["link"],
        child=child.attrib["link"],
        placement=_pose(entry.find("origin")),
        axis=np.array([1.0, 0.0, 0.0]) if axis is None or kind == "fixed" else _unit(axis.attrib["xyz"]),
        lower=-2.0 * np.pi if endless else float(given.get("lower", 0.0)),
        upper=2.0 * np.pi if endless else float(given.get("upper", 0.0)),
        effort=float(given.get("effort", 0.0)),
        speed=float(given.get("velocity", 0.0)),
    )


def _locked(joint: Joint, position: float) -> Joint:
    """Return a fixed joint that stands where the moving one stood."""
    move = np.eye(4)
    if joint.kind == "revolute":
        x, y, z = joint.axis
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        move[:3, :3] += np.sin(position) * cross + (1.0 - np.cos(position)) * cross @ cross
    else:
        move[:3, 3] = position * joint.axis
    return replace(joint, kind="fixed", placement=joint.placement @ move)


def _pose(origin: ElementTree.Element | None) -> Array:
    pose = np.eye(4)
    if origin is not None:
        pose[:3, :3] = rotation_of(np.array([float(v) for v in origin.attrib.get("rpy", "0 0 0").split()]))
        pose[:3, 3] = [float(value) for value in origin.attrib.get("xyz", "0 0 0").split()]
    return pose


def _unit(text: str) -> Array:
    axis = np.array([float(value) for value in text.split()])
    return np.asarray(axis / np.linalg.norm(axis))


def _scaled(link: Link, factor: float) -> Link:
    return replace(link, mass=link.mass * factor, tensor=link.tensor * factor)


def _differing(link: Link, random: Random) -> Link:
    factor = float(np.exp(random.normal(0.0, MASS_SPREAD)))
    shift = random.uniform(-COM_SPREAD, COM_SPREAD, 3)
    return replace(_scaled(link, factor), com=link.com + shift)


def _steiner(mass: float, away: Array) -> Array:
    return np.asarray(mass * (away @ away * np.eye(3) - np.outer(away, away)))


def _rod(mass: float, reach: Array, random: Random) -> Array:
    """Return the inertia of a round bar along ``reach``: its thickness is drawn [kg m²]."""
    thick = float(random.uniform(0.02, 0.06))
    length = max(float(np.linalg.norm(reach)), 1e-3)
    along = reach / length
    second = mass * (length**2 / 12.0 * np.outer(along, along) + thick**2 / 4.0 * np.eye(3))
    return np.asarray(np.trace(second) * np.eye(3) - second)


def _direction(random: Random) -> Array:
    vector = random.normal(size=3)
    return np.asarray(vector / np.linalg.norm(vector))


def _across(random: Random) -> Array:
    """Return a horizontal direction."""
    angle = random.uniform(0.0, 2.0 * np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _quarter_turns(random: Random) -> Array:
    """Return one of the 24 rotations of a cube, now and then any rotation."""
    if random.random() < 0.2:
        return rotation_of(random.uniform(-np.pi, np.pi, 3))
    rotation = np.eye(3)[random.permutation(3)] * random.choice([-1.0, 1.0], 3)
    return rotation if np.linalg.det(rotation) > 0.0 else -rotation
