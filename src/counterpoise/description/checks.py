"""What a description must satisfy before anything is computed from it: one tree, real masses, sane joints.

Every reader hands its links and joints to :func:`checked`, so that a fault means the same error whatever the format.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..errors import ModelFileError, PhysicalConsistencyError, listed, locate
from .model import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link, Mimic

MAX_LINKS = 500
"""More links than any arm has; bounds time and memory for hostile files."""
MAX_MASS = 1e7
"""Largest believable mass [kg], also the bound on inertia [kg m²]; keeps every torque finite."""
MAX_LENGTH = 1e4
"""Largest believable length [m]; also bounds what mimic joints multiply and add."""
MAX_GRAVITY = 1e3
"""Largest gravity accepted [m/s²]."""
TRIANGLE_TOLERANCE = 1e-2
"""Share of the largest principal moment by which a tensor may break the triangle inequality: files round."""
ZERO_INERTIA = 1e-12
"""Moments below this [kg m²], less than a grain of sand has, are rounding."""


def checked(
    *,
    name: str,
    links: Sequence[Link],
    joints: Sequence[Joint],
    path: str | None = None,
    convention: str = "tree",
    gravity_world: Iterable[float] = STANDARD_GRAVITY,
    warnings: Iterable[str] = (),
    summary: str = "",
) -> Description:
    """Check links and joints and return them as a :class:`Description`.

    Args:
        name: Name of the robot.
        links: All links, in file order.
        joints: All joints, in file order.
        path: File they came from, for messages.
        convention: "tree", "dh-standard" or "dh-modified".
        gravity_world: Gravity in the world frame [m/s²].
        warnings: What the reader itself found suspicious; ours follow after them.
        summary: One line on the robot and its sources.

    Raises:
        ModelFileError: Duplicate names, unknown parents, no root or several, a cycle, a bad mimic or bad numbers.
        PhysicalConsistencyError: A negative, non-finite or absurd mass or inertia.
    """
    gravity = np.array(list(gravity_world), dtype=np.float64)
    if not math.hypot(*gravity) <= MAX_GRAVITY:
        raise ModelFileError(f"gravity {gravity.tolist()} m/s²; expected at most {MAX_GRAVITY:g} in size", path=path)
    _check_names(links, joints, path)
    for link in links:
        _check_inertia(link, path)
    for joint in joints:
        _check_joint(joint, path)
    root = _check_tree(links, joints, path)
    _check_mimics(joints, path)
    _check_resolved_mimics(joints, path)
    found = [*warnings, *_suspicions(links, joints, path)]
    return Description(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        root=root,
        gravity_world=gravity,
        path=path,
        convention=convention,
        warnings=tuple(found),
        summary=summary,
    )


def check_size(link_count: int, joint_count: int, path: str | None) -> None:
    """Refuse a description with more than MAX_LINKS links or joints; readers call it before they build any.

    Raises:
        ModelFileError: There are more.
    """
    for what, count in (("links", link_count), ("joints", joint_count)):
        if count > MAX_LINKS:
            raise ModelFileError(f"{count} {what}; at most {MAX_LINKS} are accepted", path=path)


def unphysical_reason(inertia: Inertia, rounding: float = ZERO_INERTIA) -> str | None:
    """Say why no real body can have this rotational inertia, or return None when one can.

    The principal moments of a body satisfy I₁ ≥ 0 and I₃ ≤ I₁ + I₂. Files round, so 1 % of the largest is allowed, and
    ``rounding`` [kg m²] on top of it. The second rule is waived for a tensor declared as published.
    """
    moments = np.linalg.eigvalsh(inertia.tensor_com)
    shown = ", ".join(f"{moment:.4g}" for moment in moments)
    slack = TRIANGLE_TOLERANCE * float(np.max(np.abs(moments))) + rounding
    if moments[0] < -slack:
        return f"its principal moments [{shown}] kg m² are not all positive"
    if not inertia.as_published and moments[2] - moments[1] - moments[0] > slack:
        return f"its principal moments [{shown}] kg m² break the triangle inequality (the largest exceeds the sum)"
    return None


def _check_names(links: Sequence[Link], joints: Sequence[Joint], path: str | None) -> None:
    if not links:
        raise ModelFileError("the description has no link; expected at least one", path=path)
    check_size(len(links), len(joints), path)
    named: tuple[tuple[str, Sequence[Link | Joint]], ...] = (("link", links), ("joint", joints))
    for what, items in named:
        for item in items:
            if not item.name:
                raise ModelFileError(f"a {what} has an empty name; give it a unique one", path=path, line=item.line)
        for repeated, count in Counter(item.name for item in items).items():
            if count > 1:
                second = [item for item in items if item.name == repeated][1]
                raise ModelFileError(
                    f"{what} name '{repeated}' is used {count} times; names must be unique", path=path, line=second.line
                )


def _check_inertia(link: Link, path: str | None) -> None:
    inertia = link.inertia
    if inertia is None:
        return

    def refuse(message: str) -> None:
        raise PhysicalConsistencyError(f"link '{link.name}': {message}", path=path, line=link.line)

    if not 0.0 <= inertia.mass <= MAX_MASS:  # false for NaN as well
        refuse(f"mass {inertia.mass!r} kg; expected a number from 0 to {MAX_MASS:g}")
    if not np.all(np.abs(inertia.com) <= MAX_LENGTH):
        refuse(f"centre of mass {inertia.com.tolist()} m; expected numbers within ±{MAX_LENGTH:g}")
    if not np.all(np.abs(inertia.tensor_com) <= MAX_MASS):
        refuse(f"inertia {inertia.tensor_com.tolist()} kg m²; expected numbers within ±{MAX_MASS:g}")


def _check_joint(joint: Joint, path: str | None) -> None:
    def refuse(message: str) -> None:
        raise ModelFileError(f"joint '{joint.name}': {message}", path=path, line=joint.line)

    for label, matrix in (("origin", joint.T_parent_joint), ("child frame", joint.T_joint_child)):
        if not (np.all(np.isfinite(matrix)) and np.all(np.abs(matrix[:3, 3]) <= MAX_LENGTH)):
            refuse(f"its {label} is not finite or lies beyond ±{MAX_LENGTH:g} m")
    if joint.kind is JointKind.FIXED:
        if joint.mimic is not None:
            refuse("is fixed and cannot mimic another joint; remove the mimic or the fixed type")
        return
    if not (np.all(np.isfinite(joint.axis)) and abs(float(np.linalg.norm(joint.axis)) - 1.0) < 1e-9):
        refuse(f"axis {joint.axis.tolist()} is not a unit vector")
    if math.isnan(joint.lower) or math.isnan(joint.upper) or joint.lower > joint.upper:
        refuse(f"lower limit {joint.lower!r} must not exceed upper limit {joint.upper!r}")
    for label, value in (("velocity limit", joint.velocity_limit), ("effort limit", joint.effort_limit)):
        if math.isnan(value) or value < 0.0:
            refuse(f"{label} {value!r} must be zero or positive")
    if joint.rotor_inertia is not None and not (0.0 <= joint.rotor_inertia <= MAX_MASS):
        refuse(f"rotor inertia {joint.rotor_inertia!r} must lie from 0 to {MAX_MASS:g}")


def _check_tree(links: Sequence[Link], joints: Sequence[Joint], path: str | None) -> str:
    """Check that the joints join the links into one tree and return the root's name."""
    names = {link.name for link in links}
    parent_joint: dict[str, Joint] = {}
    for joint in joints:
        for role, link_name in (("parent", joint.parent), ("child", joint.child)):
            if link_name not in names:
                raise ModelFileError(
                    f"joint '{joint.name}' names {role} link '{link_name}', which is not defined",
                    path=path,
                    line=joint.line,
                )
        if joint.child in parent_joint:
            raise ModelFileError(
                f"link '{joint.child}' is the child of two joints, '{parent_joint[joint.child].name}' and "
                f"'{joint.name}'; a tree allows one",
                path=path,
                line=joint.line,
            )
        parent_joint[joint.child] = joint
    roots = [link for link in links if link.name not in parent_joint]
    if len(roots) > 1:
        shown = listed([f"'{link.name}'" for link in roots], most=5)
        raise ModelFileError(
            f"{len(roots)} links have no parent joint: {shown}; a robot has one root, join the others to it",
            path=path,
            line=roots[1].line,
        )
    children: defaultdict[str, list[str]] = defaultdict(list)
    for joint in joints:
        children[joint.parent].append(joint.child)
    reached: set[str] = set()
    frontier = [link.name for link in roots]
    while frontier:
        link_name = frontier.pop()
        reached.add(link_name)
        frontier.extend(children[link_name])
    if len(reached) != len(names):
        looped = next(joint for joint in joints if joint.child not in reached)
        raise ModelFileError(
            f"joint '{looped.name}' is part of a cycle (link '{looped.child}' is its own ancestor); expected a tree",
            path=path,
            line=looped.line,
        )
    return roots[0].name


def _check_mimics(joints: Sequence[Joint], path: str | None) -> None:
    by_name = {joint.name: joint for joint in joints}
    sound: set[str] = set()  # known to lead to an independent joint: keeps a long chain linear in time
    for joint in joints:
        chain: set[str] = set()
        follower = joint
        while follower.mimic is not None and follower.name not in sound:
            if follower.name in chain:
                raise ModelFileError(
                    f"joint '{joint.name}' mimics in a circle through '{follower.name}'; the last joint of a chain "
                    "must be independent",
                    path=path,
                    line=joint.line,
                )
            chain.add(follower.name)
            follower = _master_of(follower, follower.mimic, by_name, path)
        sound.update(chain)


def _master_of(follower: Joint, mimic: Mimic, by_name: Mapping[str, Joint], path: str | None) -> Joint:
    """Return the joint that ``follower`` mimics, or refuse the mimic."""
    if not (abs(mimic.multiplier) <= MAX_LENGTH and abs(mimic.offset) <= MAX_LENGTH):  # true for NaN as well
        raise ModelFileError(
            f"joint '{follower.name}': mimic multiplier {mimic.multiplier!r} and offset {mimic.offset!r} must "
            f"be finite and within ±{MAX_LENGTH:g}",
            path=path,
            line=follower.line,
        )
    master = by_name.get(mimic.master)
    if master is None or master.kind is JointKind.FIXED:
        raise ModelFileError(
            f"joint '{follower.name}' mimics '{mimic.master}', which is not a moving joint of this robot",
            path=path,
            line=follower.line,
        )
    return master


def resolved_mimics(joints: Sequence[Joint]) -> dict[str, Mimic]:
    """Return per joint what it follows in the end, through chains of mimics; an independent joint follows itself."""
    by_name = {joint.name: joint for joint in joints}
    found: dict[str, Mimic] = {}
    for joint in joints:
        chain: list[tuple[str, Mimic]] = []
        leader = joint
        while leader.mimic is not None and leader.name not in found:
            chain.append((leader.name, leader.mimic))
            leader = by_name[leader.mimic.master]
        ahead = found.setdefault(leader.name, Mimic(leader.name))
        for name, mimic in reversed(chain):
            offset = mimic.multiplier * ahead.offset + mimic.offset
            ahead = found[name] = Mimic(ahead.master, mimic.multiplier * ahead.multiplier, offset)
    return found


def _check_resolved_mimics(joints: Sequence[Joint], path: str | None) -> None:
    lines = {joint.name: joint.line for joint in joints}
    for name, mimic in resolved_mimics(joints).items():
        if not (abs(mimic.multiplier) <= MAX_LENGTH and abs(mimic.offset) <= MAX_LENGTH):
            raise ModelFileError(
                f"joint '{name}' follows '{mimic.master}' with multiplier {mimic.multiplier:g} and offset "
                f"{mimic.offset:g} through a chain of mimics; expected both within ±{MAX_LENGTH:g}",
                path=path,
                line=lines[name],
            )


def _suspicions(links: Sequence[Link], joints: Sequence[Joint], path: str | None) -> list[str]:
    """List what a careful reader would doubt, one sentence each."""
    inertia_of = {link.name: link.inertia for link in links}
    line_of = {link.name: link.line for link in links}
    inserted = {link.name for link in links if link.placeholder_frame}
    welded: defaultdict[str, list[str]] = defaultdict(list)
    for joint in joints:
        if joint.kind is JointKind.FIXED:
            welded[joint.parent].append(joint.child)
    found: list[str] = []
    for joint in joints:
        if joint.kind is JointKind.FIXED or joint.child in inserted:
            continue
        body = [inertia_of[link_name] for link_name in _rigid(joint.child, welded)]
        if not any(inertia is not None and inertia.mass > 0.0 for inertia in body):
            found.append(
                f"{locate(path, line_of[joint.child])}: link '{joint.child}' moves with joint '{joint.name}' but has "
                "no mass; its weight is missing from every torque"
            )
        if joint.effort_limit == 0.0 or joint.velocity_limit == 0.0:
            found.append(
                f"{locate(path, joint.line)}: joint '{joint.name}' has an effort or velocity limit of 0, which forbids "
                "any motion; give the real one"
            )
        if joint.lower == joint.upper:
            found.append(f"{locate(path, joint.line)}: joint '{joint.name}' has equal limits and cannot move")
    for link in links:
        if link.inertia is not None and (reason := unphysical_reason(link.inertia)) is not None:
            found.append(
                f"{locate(path, link.line)}: link '{link.name}' has an unphysical inertia: {reason}; gravity is not "
                "affected"
            )
    found.extend(_placeholders(links, path))
    return found


def _rigid(link_name: str, welded: Mapping[str, list[str]]) -> list[str]:
    """Names of the links that move as one body with the given one."""
    body = [link_name]
    for member in body:
        body.extend(welded.get(member, ()))
    return body


def _placeholders(links: Sequence[Link], path: str | None) -> list[str]:
    """Warn of inertials that look typed in to please a simulator rather than measured or computed."""
    found: list[str] = []
    alike: defaultdict[tuple[float, ...], list[str]] = defaultdict(list)
    for link in links:
        inertia = link.inertia
        if inertia is None or inertia.mass == 0.0:
            continue
        if np.allclose(inertia.tensor_com, np.eye(3), rtol=0.0, atol=1e-9):  # a turned inertial frame rounds
            found.append(
                f"{locate(path, link.line)}: link '{link.name}' has the inertia diag(1, 1, 1) kg m², a placeholder; "
                "dynamics will be wrong"
            )
        key = (inertia.mass, *inertia.com.tolist(), *inertia.tensor_com.ravel().tolist())
        alike[key].append(link.name)
    for names in alike.values():
        if len(names) >= 3:
            shown = listed([f"'{name}'" for name in names], most=4)
            found.append(
                f"{locate(path, None)}: {len(names)} links ({shown}) have identical inertials, which look like "
                "placeholders; check masses and centres of mass"
            )
    return found
