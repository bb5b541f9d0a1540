"""A description compiled to flat arrays: moving bodies only, each joint axis along its body's z, parents first.

Links joined by fixed joints become one body. Body i's frame sits at joint i's origin, moves with the link and is turned
so that z is the joint's axis; its pose in its parent body is

    R_parent_i(q) = C_i Rz(q),  p_parent_i = r_i                revolute
    R_parent_i    = C_i,        p_parent_i(q) = r_i + C_i z q   prismatic

Both kernels, the NumPy specification and the native one, compute from these arrays and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description import ZERO_INERTIA, Description, Inertia, Joint, JointKind, resolved_mimics, unphysical_reason
from ..foundation import Array, frozen, inverse_transform, rotation_with_z_along, transform

REVOLUTE = 0
PRISMATIC = 1
BASE = -1
"""Index that stands for the base where a body index is expected."""

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Payload:
    """A rigid load fixed to a link.

    Attributes:
        link: Name of the link that carries it.
        inertia: Its mass distribution, in that link's frame.
    """

    link: str
    inertia: Inertia


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Flat arrays of a robot with n joints, b moving bodies (mimic joints move bodies too) and l links.

    Attributes:
        joint_names: Names of the n independent joints.
        body_names: Name of the joint that moves each of the b bodies.
        parent: Parent body of each body, BASE for the base, shape (b,).
        kind: REVOLUTE or PRISMATIC, shape (b,).
        q_index: Which entry of q moves the body, shape (b,).
        q_gain: Mimic multiplier, 1 for independent joints, shape (b,).
        q_offset: Mimic offset, 0 for independent joints [rad or m], shape (b,).
        rotation: C_i, shape (b, 3, 3).
        origin: r_i [m], shape (b, 3).
        joint_rotation: Rotation from the file's (moved) joint frame to the body frame, shape (b, 3, 3).
        mass: Mass of each body [kg], shape (b,).
        first_moment: m·c in the body frame [kg m], shape (b, 3).
        inertia: Rotational inertia about the body frame's origin, in its axes [kg m²], shape (b, 3, 3).
        base_mass: Mass of the base link and all that is fixed to it [kg].
        base_first_moment: Its m·c in the base frame [kg m], shape (3,).
        base_inertia: Its inertia about the base origin [kg m²], shape (3, 3).
        gravity_base: Gravity in the base frame [m/s²], shape (3,).
        link_names: All links, the root first, then depth first.
        link_body: Body that carries each link, BASE for the base, shape (l,).
        link_rotation: Rotation from link frame to body frame, shape (l, 3, 3).
        link_origin: Link origin in the body frame [m], shape (l, 3).
        leaves: Names of the links without children.
        tips: The link that is meant where none is named, alone (see :func:`default_tip`); the leaves of a branched arm.
        refusal: Why inertial dynamics may not be computed (an unphysical inertia), or "".
        path: File the robot came from, for messages.
    """

    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    parent: IntArray
    kind: IntArray
    q_index: IntArray
    q_gain: Array
    q_offset: Array
    rotation: Array
    origin: Array
    joint_rotation: Array
    mass: Array
    first_moment: Array
    inertia: Array
    base_mass: float
    base_first_moment: Array
    base_inertia: Array
    gravity_base: Array
    link_names: tuple[str, ...]
    link_body: IntArray
    link_rotation: Array
    link_origin: Array
    leaves: tuple[str, ...]
    tips: tuple[str, ...]
    refusal: str
    path: str | None

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self.joint_names)

    @property
    def bodies(self) -> int:
        """Number of moving bodies, mimic ones included."""
        return len(self.body_names)


@dataclass(slots=True)
class _Body:
    """A body under construction: sums over the links fixed to it, about the body origin, in the body frame."""

    mass: float
    first_moment: Array
    inertia: Array
    links: list[str]
    as_published: bool = False

    def add(self, link: str, inertia: Inertia, T_body_link: Array) -> None:
        """Add a link's (or payload's) mass distribution, given in the link frame."""
        self.links.append(link)
        self.as_published |= inertia.as_published
        rotation = T_body_link[:3, :3]
        com = rotation @ inertia.com + T_body_link[:3, 3]
        self.mass += inertia.mass
        self.first_moment = self.first_moment + inertia.mass * com
        # Steiner: I_origin = R I_com Rᵀ + m (c·c 1 − c cᵀ)
        shift = inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        self.inertia = self.inertia + rotation @ inertia.tensor_com @ rotation.T + shift

    def unphysical_reason(self) -> str | None:
        """Say why no real body can have the summed inertia; links fixed together may make up for each other."""
        com = self.first_moment / self.mass if self.mass > 0.0 else np.zeros(3)
        about_com = self.inertia - self.mass * (com @ com * np.eye(3) - np.outer(com, com))
        rounding = ZERO_INERTIA + 1e-9 * float(np.max(np.abs(self.inertia)))
        return unphysical_reason(Inertia(self.mass, com, about_com, self.as_published), rounding)


def _empty_body() -> _Body:
    return _Body(0.0, np.zeros(3), np.zeros((3, 3)), [])


def compile_tree(
    description: Description,
    *,
    gravity_base: Array,
    payloads: Sequence[Payload] = (),
    allow_unphysical: bool = False,
) -> Tree:
    """Compile a checked description.

    Args:
        description: The robot, as :func:`~counterpoise.description.checks.checked` returned it.
        gravity_base: Gravity in the base frame [m/s²], shape (3,).
        payloads: Loads fixed to links.
        allow_unphysical: Compute dynamics even from inertias that no real body has.
    """
    children: defaultdict[str, list[Joint]] = defaultdict(list)
    for known in description.joints:
        children[known.parent].append(known)
    inertia_of = {link.name: link.inertia for link in description.links}
    loads: defaultdict[str, list[Inertia]] = defaultdict(list)
    for payload in payloads:
        loads[payload.link].append(payload.inertia)

    base = _empty_body()
    bodies: list[_Body] = []
    moved_by: list[Joint] = []
    parent: list[int] = []
    T_parent_body: list[Array] = []
    joint_rotation: list[Array] = []
    links: list[tuple[str, int, Array]] = []
    leaves: list[str] = []

    # Depth first, children in file order: (joint that leads there, link, body before that joint, T_body_joint).
    pending: list[tuple[Joint | None, str, int, Array]] = [(None, description.root, BASE, np.eye(4))]
    while pending:
        joint, link, body, T_body_link = pending.pop()
        if joint is not None and joint.kind is JointKind.FIXED:
            T_body_link = T_body_link @ joint.T_joint_child
        elif joint is not None:
            R_joint_body = rotation_with_z_along(joint.axis)
            to_z = transform(R_joint_body, np.zeros(3))
            parent.append(body)
            T_parent_body.append(T_body_link @ to_z)
            joint_rotation.append(R_joint_body.T)
            moved_by.append(joint)
            body = len(bodies)
            bodies.append(_empty_body())
            T_body_link = inverse_transform(to_z) @ joint.T_joint_child
        links.append((link, body, T_body_link))
        target = base if body == BASE else bodies[body]
        own = inertia_of[link]
        for inertia in ([] if own is None else [own]) + loads[link]:
            target.add(link, inertia, T_body_link)
        if not children[link]:
            leaves.append(link)
        for child in reversed(children[link]):
            pending.append((child, child.child, body, T_body_link @ child.T_parent_joint))

    tip = default_tip(description, {link: body for link, body, _ in links})
    joint_names = tuple(joint.name for joint in moved_by if joint.mimic is None)
    place = {name: index for index, name in enumerate(joint_names)}
    resolved = resolved_mimics(moved_by)
    followed = [resolved[joint.name] for joint in moved_by]
    return Tree(
        joint_names=joint_names,
        body_names=tuple(joint.name for joint in moved_by),
        parent=_frozen_indices(parent),
        kind=_frozen_indices([REVOLUTE if joint.kind.rotates else PRISMATIC for joint in moved_by]),
        q_index=_frozen_indices([place[mimic.master] for mimic in followed]),
        q_gain=frozen([mimic.multiplier for mimic in followed]),
        q_offset=frozen([mimic.offset for mimic in followed]),
        rotation=_frozen_stack([T[:3, :3] for T in T_parent_body], (3, 3)),
        origin=_frozen_stack([T[:3, 3] for T in T_parent_body], (3,)),
        joint_rotation=_frozen_stack(joint_rotation, (3, 3)),
        mass=frozen([body.mass for body in bodies]),
        first_moment=_frozen_stack([body.first_moment for body in bodies], (3,)),
        inertia=_frozen_stack([body.inertia for body in bodies], (3, 3)),
        base_mass=base.mass,
        base_first_moment=frozen(base.first_moment),
        base_inertia=frozen(base.inertia),
        gravity_base=frozen(gravity_base),
        link_names=tuple(link for link, _, _ in links),
        link_body=_frozen_indices([body for _, body, _ in links]),
        link_rotation=_frozen_stack([T[:3, :3] for _, _, T in links], (3, 3)),
        link_origin=_frozen_stack([T[:3, 3] for _, _, T in links], (3,)),
        leaves=tuple(leaves),
        tips=tuple(leaves) if tip is None else (tip,),
        refusal="" if allow_unphysical else _refusal(bodies),
        path=description.path,
    )


def default_tip(description: Description, body_of: Mapping[str, int]) -> str | None:
    """Return the link that is meant where none is named; None where the arm is branched and one must be named.

    It is the only leaf, where there is one. Frames that are fixed to the robot do not make an arm branched: leaves on
    the base do not count, and where all others hang rigidly on one moving body, the way to the tip goes on from that
    body's own link. Where several links are fixed to a link, it goes on to the one that carries mass, itself or further
    out: the tool, not the frame beside it. Where none does, or several do, it ends at the link that they are fixed to.
    Payloads do not count.

    Args:
        description: The robot.
        body_of: Body that carries each link, BASE for the base, depth first.
    """
    children: defaultdict[str, list[str]] = defaultdict(list)
    for joint in description.joints:
        children[joint.parent].append(joint.child)
    leaves = [link for link in body_of if not children[link]]
    if len(leaves) == 1:
        return leaves[0]
    bodies = {body_of[leaf] for leaf in leaves} - {BASE}
    if len(bodies) != 1:
        return None
    heavy = {link.name for link in description.links if link.inertia is not None and link.inertia.mass > 0.0}
    for link in reversed(list(body_of)):  # children before their parents
        if any(child in heavy for child in children[link]):
            heavy.add(link)
    tip = next(link for link in body_of if body_of[link] in bodies)
    while onward := children[tip]:
        carriers = onward if len(onward) == 1 else [link for link in onward if link in heavy]
        if len(carriers) != 1:
            break
        (tip,) = carriers
    return tip


def _refusal(bodies: Sequence[_Body]) -> str:
    """Name the moving bodies whose inertia no real body can have."""
    faults = [
        f"{'link' if len(body.links) == 1 else 'links'} {', '.join(repr(link) for link in body.links)}: {reason}"
        for body in bodies
        if (reason := body.unphysical_reason()) is not None
    ]
    return "; ".join(faults)


def _frozen_indices(values: Sequence[int]) -> IntArray:
    array = np.array(values, dtype=np.int32)
    array.setflags(write=False)
    return array


def _frozen_stack(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    return frozen(np.array(arrays).reshape((len(arrays), *shape)))
