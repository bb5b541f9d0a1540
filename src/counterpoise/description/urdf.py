"""The strict URDF reader.

Common readers drop an inertial whose mass they cannot parse and carry on with a lighter arm. This one either reads
what the file says or refuses it with the line: misspelt, misplaced and repeated elements and attributes included,
wherever ignoring them would change the arm. Elements that do not concern statics and dynamics are passed over.
"""

from __future__ import annotations

import difflib
import math

import numpy as np

from ..errors import ModelFileError, UnsupportedJointError, locate
from ..foundation import Array, Element, parse_number, parse_vector, parse_xml, quoted, rotation_from_rpy, transform
from .checks import check_size, checked
from .model import Description, Inertia, Joint, JointKind, Link, Mimic

_CHILDREN: dict[str, tuple[str, ...]] = {
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "mimic"),
}
"""The elements that we read, by the element they belong in. Below <robot> they repeat; elsewhere each stands once."""

_PASSED_OVER: dict[str, tuple[str, ...]] = {
    "robot": ("material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco"),
    "link": ("visual", "collision"),
    "inertial": (),
    "joint": ("dynamics", "safety_controller", "calibration"),
}
"""Known elements that change neither masses nor kinematics."""

_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "mimic": ("joint", "multiplier", "offset"),
}
"""All attributes of the elements that hold nothing else."""

_READ_SOMEWHERE = frozenset(tag for tags in _CHILDREN.values() for tag in tags)
_INERTIAL_TAGS = frozenset({"inertial", "mass", "inertia"})
_OTHER_FORMATS = {"mujoco": "MJCF", "mujocoinclude": "MJCF", "sdf": "SDF", "model": "SDF"}
_SPELLING_CUTOFF = 0.7
"""Similarity from which a name counts as a misspelling: 'axes' for 'axis' has 0.75."""
_MAX_UNKNOWN_TAGS = 200
_MIN_AXIS = 1e-9
_TWO_TURNS = 4.0 * math.pi


def parse_urdf(data: bytes, path: str | None = None) -> Description:
    """Read URDF text.

    Inertia tensors come out along the link's axes, about the centre of mass. Axes come out with length 1. Continuous
    joints have no position limits, whatever the file says.

    Args:
        data: The document.
        path: Where it came from, for messages.

    Raises:
        ModelFileError: Not well-formed XML, not a robot, a missing, repeated, misspelt or misplaced element or
            attribute, text that is not a number, or links and joints that do not form one tree.
        UnsupportedJointError: A joint type other than revolute, continuous, prismatic and fixed.
        PhysicalConsistencyError: A mass or inertia that no body can have.
    """
    return _Reader(path).robot(parse_xml(data, path))


class _Reader:
    """Turns the elements of one document into a description, collecting warnings on the way."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._warnings: list[str] = []
        self._resembles: dict[tuple[str, str], str | None] = {}
        self._second_origins: dict[str, Element] = {}

    def robot(self, root: Element) -> Description:
        if root.tag != "robot":
            other = _OTHER_FORMATS.get(root.tag)
            hint = "" if other is None else f"; this looks like {other}"
            raise self._error(f"the root element is <{_short(root.tag)}>, expected <robot>{hint}", root)
        name = self._named(root, "<robot>")
        self._refuse_unexpanded(root)
        self._children(root, f"robot {quoted(name)}")
        link_elements, joint_elements = root.all("link"), root.all("joint")
        check_size(len(link_elements), len(joint_elements), self._path)
        links = [self._link(element) for element in link_elements]
        joints = [self._joint(element) for element in joint_elements]
        self._refuse_lost_inertials(root)
        self._judge_second_origins(joints)
        return checked(name=name, links=links, joints=joints, path=self._path, warnings=self._warnings)

    def _link(self, element: Element) -> Link:
        name = self._named(element, "a <link>")
        what = f"link {quoted(name)}"
        inertial = self._children(element, what).get("inertial")
        inertia = None if inertial is None else self._inertia(inertial, what)
        self._check_stray_origin(element, inertial, what)
        return Link(name=name, inertia=inertia, line=element.line)

    def _inertia(self, inertial: Element, what: str) -> Inertia:
        parts = self._children(inertial, what)
        if "mass" not in parts:
            raise self._error(f"{what}: its <inertial> has no <mass>; give <mass value='...'/> in kg", inertial)
        mass = self._number(parts["mass"], "value", what)
        T_link_inertial = self._origin(parts.get("origin"), what)
        tensor_inertial = np.zeros((3, 3))
        if "inertia" in parts:
            ixx, ixy, ixz, iyy, iyz, izz = (
                self._number(parts["inertia"], name, what) for name in _ATTRIBUTES["inertia"]
            )
            tensor_inertial = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        elif mass != 0.0:
            self._warn(f"{what} has a mass but no <inertia>; it is taken as a point mass", inertial)
        rotation = T_link_inertial[:3, :3]
        with np.errstate(over="ignore", invalid="ignore"):  # absurd moments overflow here; checked() refuses them
            tensor_link = rotation @ tensor_inertial @ rotation.T
            tensor_link = 0.5 * (tensor_link + tensor_link.T)
        return Inertia(mass=mass, com=T_link_inertial[:3, 3], tensor_com=tensor_link)

    def _joint(self, element: Element) -> Joint:
        name = self._named(element, "a <joint>")
        what = f"joint {quoted(name)}"
        kind = self._kind(element, what)
        parts = self._children(element, what)
        ends = {}
        for role in ("parent", "child"):
            if role not in parts:
                raise self._error(f"{what} has no <{role}>; give <{role} link='...'/>", element)
            ends[role] = self._attribute(parts[role], "link", what)
        lower, upper, effort, velocity = self._limits(element, parts.get("limit"), kind, what)
        return Joint(
            name=name,
            kind=kind,
            parent=ends["parent"],
            child=ends["child"],
            T_parent_joint=self._origin(parts.get("origin"), what),
            axis=self._axis(parts.get("axis"), kind, what),
            lower=lower,
            upper=upper,
            velocity_limit=velocity,
            effort_limit=effort,
            mimic=self._mimic(parts.get("mimic"), kind, what),
            line=element.line,
        )

    def _kind(self, element: Element, what: str) -> JointKind:
        text = self._attribute(element, "type", what)
        try:
            return JointKind(text)
        except ValueError:
            supported = [kind.value for kind in JointKind]
            close = difflib.get_close_matches(text[:40].lower(), supported, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise UnsupportedJointError(
                f"{what} has type {quoted(text)}; supported are {', '.join(supported)}{hint}",
                path=self._path,
                line=element.line,
            ) from None

    def _origin(self, origin: Element | None, what: str) -> Array:
        """Return T_outer_inner [R p; 0 1] of an <origin>; the identity where there is none."""
        if origin is None:
            return np.eye(4)
        xyz = self._vector(origin, "xyz", what) if "xyz" in origin.attributes else (0.0, 0.0, 0.0)
        rpy = self._vector(origin, "rpy", what) if "rpy" in origin.attributes else (0.0, 0.0, 0.0)
        if any(abs(angle) > _TWO_TURNS for angle in rpy):
            self._warn(f"{what} has an origin turned by rpy {list(rpy)} rad, more than two turns: degrees?", origin)
        return transform(rotation_from_rpy(rpy), xyz)

    def _axis(self, axis: Element | None, kind: JointKind, what: str) -> Array:
        if axis is None:
            return np.array([1.0, 0.0, 0.0])  # the default of the URDF specification
        direction = np.array(self._vector(axis, "xyz", what))
        largest = float(np.max(np.abs(direction)))
        if largest < _MIN_AXIS:
            if kind is JointKind.FIXED:  # exporters write "0 0 0" there, and nothing turns about it
                return np.array([1.0, 0.0, 0.0])
            raise self._error(f"{what} has the axis {direction.tolist()}; expected a direction, not zero", axis)
        direction /= largest  # so that the norm of a huge axis does not overflow
        unit: Array = direction / np.linalg.norm(direction)
        return unit

    def _limits(
        self, joint: Element, limit: Element | None, kind: JointKind, what: str
    ) -> tuple[float, float, float, float]:
        """Return lower and upper [rad or m], effort [N m or N] and velocity [rad/s or m/s]; infinite where absent."""
        bounded = kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        if limit is None:
            if bounded:
                self._warn(f"{what} is {kind.value} and has no <limit>; it is taken as unlimited", joint)
            return -math.inf, math.inf, math.inf, math.inf
        lower = self._number(limit, "lower", what, default=0.0)
        upper = self._number(limit, "upper", what, default=0.0)
        effort = self._number(limit, "effort", what, default=math.inf)
        velocity = self._number(limit, "velocity", what, default=math.inf)
        if kind is JointKind.REVOLUTE and max(abs(lower), abs(upper)) > _TWO_TURNS:
            self._warn(f"{what} has limits {lower:g} to {upper:g} rad, more than two turns: degrees?", limit)
        return (lower, upper, effort, velocity) if bounded else (-math.inf, math.inf, effort, velocity)

    def _mimic(self, mimic: Element | None, kind: JointKind, what: str) -> Mimic | None:
        if mimic is None:
            return None
        relation = Mimic(
            master=self._attribute(mimic, "joint", what),
            multiplier=self._number(mimic, "multiplier", what, default=1.0),
            offset=self._number(mimic, "offset", what, default=0.0),
        )
        if kind is JointKind.FIXED:
            self._warn(f"{what} is fixed, so its <mimic> of {quoted(relation.master)} has no effect", mimic)
            return None
        return relation

    def _children(self, element: Element, what: str) -> dict[str, Element]:
        """Return the children that we read, by tag, after refusing what is misspelt, misplaced or repeated."""
        found: dict[str, Element] = {}
        for child in element.children:
            if child.tag in _CHILDREN[element.tag]:
                if child.tag in _ATTRIBUTES:
                    self._check_leaf(child, what)
                if child.tag in found and element.tag != "robot":
                    self._second(child, found[child.tag], element, what)
                else:
                    found[child.tag] = child
            elif child.tag not in _PASSED_OVER[element.tag]:
                self._check_unknown(child, element.tag, what)
        return found

    def _second(self, child: Element, first: Element, element: Element, what: str) -> None:
        """Refuse an element that stands twice; origins of joints pass where they say the same, or are judged later."""
        name = element.attributes.get("name", "")
        of_joint = child.tag == "origin" and element.tag == "joint"
        if of_joint and child.attributes == first.attributes:
            self._warn(f"{what}: <origin> stands twice in <joint> and says the same", child)
        elif of_joint and name not in self._second_origins:
            self._second_origins[name] = child
        else:
            raise self._error(
                f"{what}: a second <{child.tag}> in <{element.tag}> (the first is on line {first.line}); keep one",
                child,
            )

    def _judge_second_origins(self, joints: list[Joint]) -> None:
        """Let a second origin pass where it cannot matter to any torque: the first counts, as other readers have it.

        That is a fixed joint that nothing moves, so that all of the arm stands elsewhere and not otherwise.
        """
        child_of = {joint.child: joint for joint in joints}
        for joint in joints:
            second = self._second_origins.get(joint.name)
            if second is None:
                continue
            what = f"joint {quoted(joint.name)}"
            T_second = self._origin(second, what)
            above: Joint | None = joint
            for _ in range(len(joints)):
                if above is None or above.kind is not JointKind.FIXED:
                    break
                above = child_of.get(above.parent)
            if above is not None or not np.allclose(T_second[:3, :3], joint.T_parent_joint[:3, :3], atol=1e-9):
                raise self._error(f"{what}: a second <origin> in <joint> (they differ); keep one", second)
            self._warn(
                f"{what} has a second <origin>, which is ignored. It moves the whole arm and turns nothing, so no "
                "joint torque depends on it; the moments of a plate under the base do",
                second,
            )

    def _check_leaf(self, leaf: Element, what: str) -> None:
        """Refuse attributes that a leaf element does not have, and elements that slipped into it."""
        if leaf.children:
            raise self._error(
                f"{what}: <{leaf.tag}> holds a <{_short(leaf.children[0].tag)}>; close it with '/>' before", leaf
            )
        allowed = _ATTRIBUTES[leaf.tag]
        unknown = [name for name in leaf.attributes if name not in allowed]
        if not unknown:
            return
        message = (
            f"{what}: <{leaf.tag}> has the unknown attribute {', '.join(quoted(name) for name in unknown[:3])}; it "
            f"takes {', '.join(allowed)}"
        )
        # Makers add their own limits; beside all four of URDF's they cannot be a misspelling of a missing one.
        if leaf.tag == "limit" and all(known in leaf.attributes for known in allowed):
            self._warn(f"{message}, the rest is ignored", leaf)
        else:
            raise self._error(message, leaf)

    def _check_unknown(self, child: Element, context: str, what: str) -> None:
        """Refuse an unknown element that may hide a misspelt or misplaced one; warn of others that matter."""
        if child.tag == "origin" and context == "link":
            return  # judged by _check_stray_origin
        if child.tag == "origin" and context == "robot":
            self._check_leaf(child, what)
            if np.array_equal(self._origin(child, what), np.eye(4)):
                self._warn(f"{what}: an <origin> of zeros directly in <robot> means nothing and is ignored", child)
                return
        if child.tag in _READ_SOMEWHERE:
            raise self._error(f"{what}: <{child.tag}> does not belong directly in <{context}>; move it", child)
        key = (context, child.tag)
        if key not in self._resembles:
            if len(self._resembles) >= _MAX_UNKNOWN_TAGS:
                raise self._error(f"more than {_MAX_UNKNOWN_TAGS} different unknown elements; is this URDF?", child)
            close = difflib.get_close_matches(child.tag[:40].lower(), _CHILDREN[context], 1, _SPELLING_CUTOFF)
            self._resembles[key] = close[0] if close else None
        meant = self._resembles[key]
        if meant is not None:
            raise self._error(f"{what}: <{_short(child.tag)}> is not URDF; did you mean <{meant}>?", child)
        if context in ("inertial", "joint") and ":" not in child.tag:
            self._warn(f"{what}: <{_short(child.tag)}> in <{context}> is not URDF and is ignored", child)

    def _check_stray_origin(self, link: Element, inertial: Element | None, what: str) -> None:
        """An <origin> directly in a <link> means nothing, unless it was meant for an <inertial> that has none."""
        for origin in link.all("origin"):
            if inertial is not None and not inertial.all("origin"):
                raise self._error(f"{what}: <origin> stands beside <inertial>, which has none; move it inside", origin)
            self._warn(f"{what}: an <origin> directly in <link> means nothing and is ignored", origin)

    def _refuse_unexpanded(self, root: Element) -> None:
        for element in root.walk():
            if element.tag.startswith("xacro:"):
                raise self._error(
                    f"<{_short(element.tag)}> is xacro, which is not expanded yet; expand the file to URDF first",
                    element,
                )

    def _refuse_lost_inertials(self, root: Element) -> None:
        """Refuse masses outside <link><inertial>: they were meant for a body and would be lost."""
        inertials = [inertial for link in root.all("link") for inertial in link.all("inertial")]
        placed = {id(element) for inertial in inertials for element in (inertial, *inertial.children)}
        for part in root.children:
            if part.tag in _PASSED_OVER["robot"] or ":" in part.tag:
                continue  # simulator extensions have bodies of their own
            for element in part.walk():
                if element.tag in _INERTIAL_TAGS and id(element) not in placed:
                    owner = part.attributes.get("name", "without a name")
                    raise self._error(
                        f"{_short(part.tag)} {quoted(owner)}: <{element.tag}> is not where URDF reads it; expected "
                        "<link> <inertial> <mass/> <inertia/>",
                        element,
                    )

    def _named(self, element: Element, what: str) -> str:
        name = element.attributes.get("name", "")
        if not name:
            raise self._error(f"{what} has no name; give it name='...'", element)
        return name

    def _attribute(self, element: Element, name: str, what: str) -> str:
        if name not in element.attributes:
            raise self._error(f"{what}: <{element.tag}> has no attribute '{name}'; add it", element)
        return element.attributes[name]

    def _number(self, element: Element, name: str, what: str, default: float | None = None) -> float:
        if default is not None and name not in element.attributes:
            return default
        text = self._attribute(element, name, what)
        return parse_number(text, what=f"{what}: {element.tag} {name}", path=self._path, line=element.line)

    def _vector(self, element: Element, name: str, what: str) -> tuple[float, ...]:
        text = self._attribute(element, name, what)
        return parse_vector(text, 3, what=f"{what}: {element.tag} {name}", path=self._path, line=element.line)

    def _warn(self, message: str, element: Element) -> None:
        self._warnings.append(f"{locate(self._path, element.line)}: {message}")

    def _error(self, message: str, element: Element) -> ModelFileError:
        return ModelFileError(message, path=self._path, line=element.line)


def _short(tag: str) -> str:
    return tag if len(tag) <= 40 else tag[:37] + "..."
