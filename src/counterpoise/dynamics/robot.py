"""The robot: a description compiled and ready to compute, immutable and safe to share between threads.

``load`` makes robots from files and from the catalog.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..description import (
    MAX_GRAVITY,
    MAX_LENGTH,
    MAX_MASS,
    Description,
    Inertia,
    Joint,
    JointKind,
    read_description,
    resolved_mimics,
    unphysical_reason,
)
from ..errors import InputError, listed
from ..foundation import Array, frozen, rotation_from_rpy, rotation_from_vector, transform
from .base_parameters import BaseParameters, base_parameters
from .first_moments import first_moments, gravity_from_first_moments
from .gravity import jo_decomposition
from .inputs import MAX_INPUT, as_rows, link_name
from .kernel import Kernel
from .regressors import GRAVITY_PARAMETERS, gravity_parameters, inertial_parameters
from .tree import Payload, compile_tree


class Robot(Kernel):
    """A robot arm, or a tree of arms, on a fixed base.

    Made by :func:`counterpoise.load`. Arrays are read-only, attributes cannot be set, and every method may be called
    from several threads at once. Joint order is ``joint_names``: depth first, children in file order, mimic joints left
    out.

    Where a method takes ``at=`` or ``link=``, the name of a link, an arm that is not branched needs none: it is the
    link that :func:`.default_tip` finds, the only leaf where there is one. Frames fixed to the base or beside the tool
    do not make an arm branched.

    Attributes:
        description: The file's links and joints.
        name: The robot's name.
        n: Number of joints.
        joint_names: Names of the n joints.
        link_names: Names of all links, the root first.
        total_mass: Mass [kg], base link and payload included.
        warnings: What is suspicious about the description, one sentence each.
        lower: Lower position limits [rad or m], shape (n,); −inf where none.
        upper: Upper position limits [rad or m], shape (n,); +inf where none.
        velocity_limit: Largest speeds [rad/s or m/s], shape (n,); +inf where unknown.
        effort_limit: Largest torques [N m or N], shape (n,); +inf where unknown.
        rotor_inertia: Drive inertia reflected to the link side [kg m² or kg], shape (n,); 0 where it is unknown. Not
            part of inverse_dynamics.
        rotor_inertia_known: Whether that number was stated, shape (n,), bool: a stated 0 is a drive without a rotor.
        mount: Rotation world ← base, shape (3, 3).
        gravity_world: Gravity in the world [m/s²], shape (3,).
        gravity_base: Gravity in the base frame [m/s²], shape (3,).
        payloads: Loads fixed to links.
        gravity_parameters: [m, m cx, m cy, m cz] per moving body, joint order, joint frame, shape (p,).
        inertial_parameters: Ten per body, the base first: [m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], shape (10 (b + 1),).
    """

    # Slots instead of an instance dictionary: looking up a method then costs a third less per call.
    __slots__ = (
        "_allow_unphysical",
        "_lazy",
        "description",
        "effort_limit",
        "gravity_base",
        "gravity_parameters",
        "gravity_world",
        "inertial_parameters",
        "joint_names",
        "link_names",
        "lower",
        "mount",
        "n",
        "name",
        "payloads",
        "rotor_inertia",
        "rotor_inertia_known",
        "total_mass",
        "upper",
        "velocity_limit",
        "warnings",
    )
    description: Description
    name: str
    n: int
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    total_mass: float
    warnings: tuple[str, ...]
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    rotor_inertia: Array
    rotor_inertia_known: npt.NDArray[np.bool_]
    mount: Array
    gravity_world: Array
    gravity_base: Array
    payloads: tuple[Payload, ...]
    gravity_parameters: Array
    inertial_parameters: Array
    _allow_unphysical: bool
    _lazy: dict[str, BaseParameters]

    def __new__(
        cls,
        description: Description,
        *,
        mount: npt.ArrayLike | None = None,
        gravity: npt.ArrayLike | None = None,
        payloads: Sequence[Payload] = (),
        allow_unphysical: bool = False,
    ) -> Self:
        """Compile a description.

        Args:
            description: A checked description.
            mount: Rotation world ← base, shape (3, 3); None for upright.
            gravity: Gravity in the world frame [m/s²], shape (3,); None for the description's own.
            payloads: Loads fixed to links.
            allow_unphysical: Compute dynamics even from inertias that no real body has.
        """
        rotation = frozen(np.eye(3) if mount is None else _rotation(mount))
        gravity_world = frozen(description.gravity_world if gravity is None else _gravity(gravity))
        gravity_base = frozen(rotation.T @ gravity_world)
        tree = compile_tree(
            description, gravity_base=gravity_base, payloads=payloads, allow_unphysical=allow_unphysical
        )
        self = super().__new__(cls, tree)
        by_name = {joint.name: joint for joint in description.joints}
        joints = [by_name[name] for name in tree.joint_names]
        rotor_inertia = np.zeros(tree.n)
        for body, name in enumerate(tree.body_names):
            rotor_inertia[tree.q_index[body]] += tree.q_gain[body] ** 2 * (by_name[name].rotor_inertia or 0.0)
        # A joint that mimics another one has no drive of its own: what is known of the master's counts.
        known = np.array([joint.rotor_inertia is not None for joint in joints], dtype=bool)
        known.setflags(write=False)
        for attribute, value in {
            "description": description,
            "name": description.name,
            "n": tree.n,
            "joint_names": tree.joint_names,
            "link_names": tree.link_names,
            "total_mass": float(tree.base_mass + tree.mass.sum()),
            "warnings": _warnings(description),
            "lower": frozen([joint.lower for joint in joints]),
            "upper": frozen([joint.upper for joint in joints]),
            "velocity_limit": frozen([joint.velocity_limit for joint in joints]),
            "effort_limit": frozen([joint.effort_limit for joint in joints]),
            "rotor_inertia": frozen(rotor_inertia),
            "rotor_inertia_known": known,
            "mount": rotation,
            "gravity_world": gravity_world,
            "gravity_base": gravity_base,
            "payloads": tuple(payloads),
            "gravity_parameters": frozen(gravity_parameters(tree)),
            "inertial_parameters": frozen(inertial_parameters(tree)),
            "_allow_unphysical": allow_unphysical,
            "_lazy": {},
        }.items():
            object.__setattr__(self, attribute, value)
        return self

    def mounted(
        self,
        *,
        rpy: Sequence[float] | None = None,
        rotation: npt.ArrayLike | None = None,
        gravity: npt.ArrayLike | None = None,
    ) -> Self:
        """Return this robot on another mounting; it only turns gravity.

        Args:
            rpy: Fixed-axis roll, pitch, yaw of the base in the world [rad], as in URDF.
            rotation: Or the rotation world ← base itself, shape (3, 3).
            gravity: Gravity in the world frame [m/s²], shape (3,); None keeps the present one.
        """
        if rpy is not None and rotation is not None:
            raise InputError("give rpy= or rotation=, not both")
        mount: npt.ArrayLike = self.mount
        if rpy is not None:
            angles = as_rows(rpy, "rpy", ("roll", "pitch", "yaw"))
            if angles.ndim != 1:
                raise InputError(f"rpy has shape {angles.shape}; expected (3,): roll, pitch, yaw")
            mount = rotation_from_rpy(angles.tolist())
        elif rotation is not None:
            mount = rotation
        return self._remade(mount=mount, gravity=self.gravity_world if gravity is None else gravity)

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        link: str | None = None,
        inertia: npt.ArrayLike | None = None,
    ) -> Self:
        """Return this robot carrying one more load.

        Args:
            mass: Mass of the load [kg].
            com: Its centre of mass in the link's frame [m], shape (3,).
            link: Link that carries it, fixed ones too; may be left out unless the arm is branched.
            inertia: Its inertia about its own centre of mass in the link's axes [kg m²], (3, 3); None for a point.
        """
        load = Payload(link_name(self, link, "link="), _payload_inertia(mass, com, inertia))
        return self._remade(payloads=(*self.payloads, load))

    def with_payloads(self, payloads: Sequence[Payload]) -> Self:
        """Return this robot carrying exactly these loads, such as ``other.payloads`` of the same arm."""
        return self._remade(payloads=tuple(payloads))

    def without_payload(self) -> Self:
        """Return this robot without any load: exactly the robot it was before the first one."""
        return self._remade(payloads=())

    def with_rotor_inertia(self, rotor_inertia: npt.ArrayLike | Mapping[str, float | None]) -> Self:
        """Return this robot with other rotor inertias; they are never assumed, so state what you know.

        Args:
            rotor_inertia: Inertia of each drive reflected to the link side, gear ratio squared times rotor inertia
                [kg m² or kg], from 0: n numbers, or some of them by joint name. A stated 0 is a drive without a rotor;
                None by name makes a joint's unknown again.

        Raises:
            InputError: A joint that does not exist, or a number that makes no sense.
        """
        given = _rotor_inertias(rotor_inertia, self.joint_names)
        joints = tuple(
            replace(joint, rotor_inertia=given[joint.name]) if joint.name in given else joint
            for joint in self.description.joints
        )
        return self._remade(description=replace(self.description, joints=joints))

    def locked(self, positions: Mapping[str, float]) -> Self:
        """Return this robot with some joints fixed, such as the fingers of a gripper that the arm carries.

        The result has the other joints only. A locked joint's link becomes part of its parent's body, exactly: gravity,
        inverse_dynamics and base_wrench are those of the full robot with these positions, at rest in these joints.
        Joints that mimic a locked one are fixed where they follow it to. Links keep their names and payloads. The rotor
        of a locked drive moves nothing and is left out.

        Args:
            positions: Position of each joint to lock, by name [rad or m].

        Raises:
            InputError: No such joint, a joint that mimics another, a position beyond its limits, or no joint is left.
        """
        return self._remade(description=_locked(self.description, positions, self.joint_names))

    def mass_matrix(self, q: npt.ArrayLike) -> Array:
        """Return M(q), symmetric, without rotor inertia: ``inverse_dynamics(q, dq, ddq)`` is M(q) ddq and more.

        Column j is what a unit acceleration of joint j takes without gravity ([Walker1982], method 1).

        Args:
            q: Joint positions, shape (n,) or (k, n).

        Returns:
            Inertias [kg m², kg m or kg], shape (n, n) or (k, n, n).

        Raises:
            PhysicalConsistencyError: A link has an inertia that no real body has.
        """
        rows, n = as_rows(q, "q", self.joint_names), self.n
        poses = np.repeat(np.atleast_2d(rows), n, axis=0)
        push = np.tile(np.eye(n), (len(poses) // max(n, 1), 1))
        moved = self.inverse_dynamics(poses, np.zeros_like(poses), push).reshape(*rows.shape, n)
        columns = moved - self.gravity(rows)[..., None, :]
        M: Array = 0.5 * (columns + np.swapaxes(columns, -1, -2))
        return M

    @property
    def base_gravity_parameters(self) -> Array:
        """Values of the base gravity parameters, shape (b,): gravity(q) == base_gravity_regressor(q) @ these."""
        return frozen(self.base_parameters.regrouping @ self.gravity_parameters)

    @property
    def base_parameters(self) -> BaseParameters:
        """The structural basis of the gravity parameters under this mounting: columns, names and regrouping."""
        if "base" not in self._lazy:
            self._lazy["base"] = base_parameters(self.tree)
        return self._lazy["base"]

    @property
    def gravity_parameter_names(self) -> tuple[str, ...]:
        """Names of the gravity parameters, e.g. "elbow.mx": the joint that moves the body, then the quantity."""
        return tuple(f"{body}.{parameter}" for body in self.tree.body_names for parameter in GRAVITY_PARAMETERS)

    def base_gravity_regressor(self, q: npt.ArrayLike) -> Array:
        """Return the kept columns of the gravity regressor, (n, b) or (k, n, b): full column rank over all poses."""
        return np.ascontiguousarray(self.gravity_regressor(q)[..., list(self.base_parameters.columns)])

    def jo_decomposition(self, q: npt.ArrayLike) -> tuple[Array, Array]:
        """Return (Z, s) with gravity(q) = Z s, shapes (n, 3n(n+1)) (or with a leading k) and (3n(n+1),) ([Jo]).

        Raises:
            ModelError: A joint is linear or mimics another.
        """
        rows = as_rows(q, "q", self.joint_names)
        Z, s = jo_decomposition(self.tree, np.atleast_2d(rows))
        return (Z if rows.ndim == 2 else Z[0]), s

    @property
    def first_moments(self) -> Array:
        """Cumulative first moments μ in the WAM document's frames [kg m], shape (n, 3) ([Dellin2008], eq. (14)).

        Raises:
            ModelError: The robot is not a serial chain of rotary joints in standard DH.
        """
        return frozen(first_moments(self.tree, self.description.convention))

    def gravity_from_first_moments(self, q: npt.ArrayLike, mu: npt.ArrayLike) -> Array:
        """Return the holding torques that cumulative first moments give, shape (n,) or (k, n) ([Dellin2008], eq. (14)).

        Args:
            q: Joint positions, shape (n,) or (k, n).
            mu: First moments in the DH frames [kg m], shape (n, 3), calibrated or from ``first_moments``.
        """
        rows = as_rows(q, "q", self.joint_names)
        moments = np.atleast_2d(as_rows(mu, "mu", ("x", "y", "z")))
        torques = gravity_from_first_moments(self.tree, self.description.convention, np.atleast_2d(rows), moments)
        return torques if rows.ndim == 2 else torques[0]

    def _remade(self, **changes: Any) -> Self:
        settings: dict[str, Any] = {
            "description": self.description,
            "mount": self.mount,
            "gravity": self.gravity_world,
            "payloads": self.payloads,
            "allow_unphysical": self._allow_unphysical,
        }
        return type(self)(**(settings | changes))

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a robot does not change; mounted(), locked() and with_payload() return new ones."""
        raise AttributeError(
            f"a Robot is immutable; '{name}' cannot be set (mounted(), locked() and with_payload() return new ones)"
        )

    def __delattr__(self, name: str) -> None:
        """Refuse, as for setting."""
        raise AttributeError(f"a Robot is immutable; '{name}' cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what it was made from."""
        settings = (self.mount, self.gravity_world, self.payloads, self._allow_unphysical)
        return _rebuilt, (type(self), self.description, *settings)

    def __repr__(self) -> str:
        """One line: name, joints, mass, payload."""
        load = f", {len(self.payloads)} payload(s)" if self.payloads else ""
        return f"<Robot '{self.name}': {self.n} joints, {self.total_mass:.3f} kg{load}>"


def _rebuilt(
    kind: type[Robot],
    description: Description,
    mount: Array,
    gravity: Array,
    payloads: tuple[Payload, ...],
    allow_unphysical: bool,
) -> Robot:
    for inertia in (*(link.inertia for link in description.links), *(payload.inertia for payload in payloads)):
        if inertia is not None:
            _frozen_again(inertia.com, inertia.tensor_com)
    for joint in description.joints:
        _frozen_again(joint.T_parent_joint, joint.axis, joint.T_joint_child)
    _frozen_again(description.gravity_world)
    return kind(description, mount=mount, gravity=gravity, payloads=payloads, allow_unphysical=allow_unphysical)


def _frozen_again(*arrays: Array) -> None:
    """Take back the write access that unpickling gives."""
    for array in arrays:
        array.setflags(write=False)


def _rotor_inertias(
    given: npt.ArrayLike | Mapping[str, float | None], names: tuple[str, ...]
) -> dict[str, float | None]:
    """Return rotor inertias by joint name, checked."""
    if isinstance(given, Mapping):
        values: dict[str, Any] = {str(name): value for name, value in given.items()}
        if foreign := [name for name in values if name not in names]:
            raise InputError(f"rotor_inertia: there is no joint '{foreign[0]}'; the joints are {listed(names)}")
    else:
        rows = as_rows(given, "rotor_inertia", names)
        if rows.ndim != 1:
            raise InputError(f"rotor_inertia has shape {rows.shape}; expected ({len(names)},), one number per joint")
        values = dict(zip(names, rows.tolist(), strict=True))
    checked: dict[str, float | None] = {}
    for name, value in values.items():
        if value is not None:
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not (number and 0.0 <= float(value) <= MAX_MASS):
                raise InputError(
                    f"rotor_inertia of joint '{name}' is {value!r}; expected a number from 0 to {MAX_MASS:g} "
                    "[kg m² or kg], at the link side of the gear"
                )
        checked[name] = None if value is None else float(value)
    return checked


def _locked(description: Description, positions: Mapping[str, float], names: tuple[str, ...]) -> Description:
    """Return a description in which joints are fixed at positions [rad or m], with what mimics them."""
    by_name = {joint.name: joint for joint in description.joints}
    for name, position in positions.items():
        if name not in names:
            mimic = by_name[name].mimic if name in by_name else None
            reason = (
                "there is no such joint that moves" if mimic is None else f"it mimics '{mimic.master}'; lock that one"
            )
            raise InputError(f"joint '{name}' cannot be locked: {reason}; the joints are {listed(names)}")
        lower, upper = by_name[name].lower, by_name[name].upper
        number = isinstance(position, numbers.Real) and not isinstance(position, bool)
        if not (number and abs(position) <= MAX_INPUT and lower <= position <= upper):
            raise InputError(
                f"joint '{name}' cannot be locked at {position!r}; expected a number from {lower:g} to {upper:g} "
                "[rad or m]"
            )
    if {*names} <= positions.keys():
        raise InputError("every joint is locked; leave out at least one")
    moving = [joint for joint in description.joints if joint.kind is not JointKind.FIXED]
    at = {
        name: mimic.multiplier * float(positions[mimic.master]) + mimic.offset
        for name, mimic in resolved_mimics(moving).items()
        if mimic.master in positions
    }
    joints = tuple(_fixed(joint, at[joint.name]) if joint.name in at else joint for joint in description.joints)
    return replace(description, joints=joints, convention="tree" if at else description.convention)


def _fixed(joint: Joint, position: float) -> Joint:
    """Return a joint that holds its child where a position [rad or m] puts it."""
    if joint.kind.rotates:
        motion = transform(rotation_from_vector(position * joint.axis), np.zeros(3))
    else:
        motion = transform(np.eye(3), position * joint.axis)
    return Joint(
        joint.name,
        JointKind.FIXED,
        joint.parent,
        joint.child,
        joint.T_parent_joint @ motion,
        T_joint_child=joint.T_joint_child,
        line=joint.line,
    )


def _rotation(rotation: npt.ArrayLike) -> Array:
    matrix = as_rows(rotation, "rotation", ("x", "y", "z"))
    if matrix.shape != (3, 3) or np.abs(matrix @ matrix.T - np.eye(3)).max() > 1e-6 or np.linalg.det(matrix) < 0.0:
        raise InputError(f"rotation must be a right-handed (3, 3) rotation matrix world ← base, got {matrix.tolist()}")
    # Nearest exact rotation: a mount typed with six digits must not scale gravity. One that is exact to rounding stays
    # as it is, so that a robot made again from its own mount has the same bytes.
    left, _, right = np.linalg.svd(matrix)
    exact: Array = matrix if np.abs(matrix @ matrix.T - np.eye(3)).max() < 1e-14 else left @ right
    return exact


def _warnings(description: Description) -> tuple[str, ...]:
    """Return what is suspicious about a description, and that its masses are none where that is so."""
    if not description.command_units:
        return description.warnings
    return (*description.warnings, f"gravity is in command units and is no torque: {description.command_units}")


def _gravity(gravity: npt.ArrayLike) -> Array:
    vector = as_rows(gravity, "gravity", ("x", "y", "z"))
    if vector.shape != (3,) or np.linalg.norm(vector) > MAX_GRAVITY:
        raise InputError(f"gravity must be 3 numbers in m/s² of size up to {MAX_GRAVITY:g}, got {vector.tolist()}")
    return vector


def _payload_inertia(mass: float, com: Sequence[float], inertia: npt.ArrayLike | None) -> Inertia:
    weighed = as_rows([mass], "mass", ("mass",))
    if weighed.ndim != 1:
        raise InputError(f"mass must be one number in kg, got an array of shape {weighed.shape[1:]}")
    kilograms = float(weighed[0])
    center = as_rows(com, "com", ("x", "y", "z"))
    tensor = np.zeros((3, 3)) if inertia is None else as_rows(inertia, "inertia", ("x", "y", "z"))
    if not 0.0 <= kilograms <= MAX_MASS:
        raise InputError(f"payload mass is {kilograms} kg; expected a number from 0 to {MAX_MASS:g}")
    if center.shape != (3,) or np.abs(center).max() > MAX_LENGTH:
        raise InputError(f"payload com must be 3 numbers in m within ±{MAX_LENGTH:g}, got {center.tolist()}")
    if (
        tensor.shape != (3, 3)
        or np.abs(tensor).max() > MAX_MASS
        or np.abs(tensor - tensor.T).max() > 1e-9 * max(1.0, float(np.abs(tensor).max()))
    ):
        raise InputError("payload inertia must be a symmetric (3, 3) tensor about its centre of mass [kg m²]")
    load = Inertia(kilograms, center, tensor)
    if (reason := unphysical_reason(load)) is not None:
        raise InputError(f"payload inertia cannot exist: {reason}")
    return load


def load(
    source: str | Path,
    *,
    strict: bool = False,
    allow_unphysical: bool = False,
    allow_xacro: bool = False,
    xacro_arguments: Mapping[str, str] | None = None,
    rotor_inertia: npt.ArrayLike | Mapping[str, float | None] | None = None,
) -> Robot:
    """Load a robot from a file or from the catalog.

    Args:
        source: Path to .urdf, .xml (MJCF), .toml (DH table) or .xacro; or a bundled name like "wam7" (see catalog()).
        strict: Turn warnings about the description into an error.
        allow_unphysical: Let inverse_dynamics compute even with inertias that no real body has.
        allow_xacro: Permit .xacro files, which run code and read other files.
        xacro_arguments: Values of the xacro file's arguments.
        rotor_inertia: Inertias of the drives at the link side [kg m² or kg], n numbers or some by joint name: a URDF
            file states none, and none is assumed (see Robot.with_rotor_inertia).

    Returns:
        The robot, upright, without payload. ``robot.warnings`` lists what is suspicious about the file.

    Raises:
        CounterpoiseError: The source cannot be found or read, or describes no arm of ours; the message says why.
    """
    description = read_description(source, strict=strict, allow_xacro=allow_xacro, xacro_arguments=xacro_arguments)
    robot = Robot(description, allow_unphysical=allow_unphysical)
    return robot if rotor_inertia is None else robot.with_rotor_inertia(rotor_inertia)
