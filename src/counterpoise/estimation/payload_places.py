"""Where a payload may sit: one place per body, its size, and what joint torques can tell about a load there.

A load fixed to body k changes the gravity torques by Y(q)[:, 4k : 4k+4] p with p = [m, m c], its mass and first moment
in the joint frame: the same columns that multiply the body's own parameters. How much of p the joints feel is the rank
of the base parameters' regrouping G restricted to these four columns. Where the mass column adds nothing to the three
moment columns, the mass itself stays unknown, whatever the poses; a plate under the base weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..calibration.prior import arm_reach
from ..description.frozen import Array, frozen
from ..dynamics.regressors import GRAVITY_PARAMETERS
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE

OFFSET_SHARE = 0.15
"""How far beside its link a payload's centre of mass may be, as a share of the arm's reach."""
LEAST_OFFSET = 0.05
"""... and at least this far [m]."""
RANK_TOLERANCE = 1e-9
"""Relative size below which a combination counts as not felt."""
READABLE = 5e-3
"""A term is left out of a combination's text where its share is below this."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Places where a payload may sit: the base link first, then every moving body. l = b + 1.

    Attributes:
        robot: The arm.
        links: Name of the link that stands for each place: the first of the links that are fixed together.
        bodies: Body of each place, BASE for the base link, shape (l,).
        centre: Where loads are expected there, joint frame (base frame for the base) [m], shape (l, 3).
        radius: How far from it their centre of mass may lie [m], shape (l,).
        felt: How many of the four numbers joint torques can tell, 0 to 4, shape (l,).
        mass_felt: Whether the mass itself is among them, shape (l,).
    """

    robot: Robot
    links: tuple[str, ...]
    bodies: tuple[int, ...]
    centre: Array
    radius: Array
    felt: tuple[int, ...]
    mass_felt: tuple[bool, ...]

    def neighbours(self, first: str, second: str) -> bool:
        """Tell whether two places are the same, or one joint apart."""
        a, b = (self.bodies[self.links.index(name)] for name in (first, second))
        parent = self.robot.tree.parent
        return a == b or (b != BASE and int(parent[b]) == a) or (a != BASE and int(parent[a]) == b)

    def identifiable_links(self) -> tuple[str, ...]:
        """Return the links on which joint torques alone can tell the mass of a load."""
        return tuple(link for link, felt in zip(self.links, self.mass_felt, strict=True) if felt)

    def com_in_link(self, place: int, com: Array) -> Array:
        """Return a point given in the place's joint frame in its link's frame [m], shape (3,)."""
        tree = self.robot.tree
        body = self.bodies[place]
        if body == BASE:
            return np.asarray(com)
        at = tree.link_names.index(self.links[place])
        return np.asarray(tree.link_rotation[at].T @ (tree.joint_rotation[body] @ com - tree.link_origin[at]))

    def rotation_to_link(self, place: int) -> Array:
        """Return the rotation from the place's joint frame to its link's frame, shape (3, 3)."""
        tree = self.robot.tree
        body = self.bodies[place]
        if body == BASE:
            return np.eye(3)
        return np.asarray(tree.link_rotation[tree.link_names.index(self.links[place])].T @ tree.joint_rotation[body])

    def combinations(self, place: int) -> tuple[tuple[Array, str], ...]:
        """Return what joint torques can tell of a load there: coefficients of [m, mx, my, mz], and the text."""
        body = self.bodies[place]
        if body == BASE:
            return ()
        columns = self.robot.base_parameters.regrouping[:, 4 * body : 4 * body + 4]
        return tuple((row, _as_text(row)) for row in _echelon(columns))


def places_of(robot: Robot) -> Places:
    """Find where a robot may carry a payload.

    Args:
        robot: The arm.
    """
    tree, reach = robot.tree, arm_reach(robot)
    beside = max(OFFSET_SHARE * reach, LEAST_OFFSET)
    regrouping = robot.base_parameters.regrouping
    bodies = (BASE, *range(tree.bodies))
    centres, radii, felt, mass_felt, links = [], [], [], [], []
    link_body = tree.link_body.tolist()
    for body in bodies:
        points = [np.zeros(3)]
        for child in np.flatnonzero(tree.parent == body):
            points.append(tree.origin[child])
        for at, owner in enumerate(link_body):
            if owner == body:
                points.append(tree.link_origin[at])
        # Points are in the body frame; the parameters, and so the centre, are in the joint frame.
        to_joint = np.eye(3) if body == BASE else tree.joint_rotation[body].T
        cloud = np.array(points) @ to_joint.T
        middle = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
        centres.append(middle)
        radii.append(float(np.max(np.linalg.norm(cloud - middle, axis=1))) + beside)
        columns = regrouping[:, 4 * body : 4 * body + 4] if body != BASE else np.zeros((1, 4))
        felt.append(_rank(columns))
        mass_felt.append(_rank(columns) > _rank(columns[:, 1:]))
        links.append(tree.link_names[link_body.index(body)])
    return Places(robot, tuple(links), bodies, frozen(centres), frozen(radii), tuple(felt), tuple(mass_felt))


def _rank(matrix: Array) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=RANK_TOLERANCE)) if matrix.size else 0


def _echelon(matrix: Array) -> Array:
    """Return the reduced row echelon form, moments first, so that each combination is one moment plus shares."""
    order = [1, 2, 3, 0]
    rows = np.array(matrix[:, order], dtype=np.float64)
    done = 0
    for column in range(4):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) < RANK_TOLERANCE:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        for other in range(len(rows)):
            if other != done:
                rows[other] -= rows[other, column] * rows[done]
        done += 1
    found = np.zeros((done, 4))
    found[:, order] = rows[:done]
    return found


def _as_text(row: Array) -> str:
    terms: list[str] = []
    for share, name in sorted(zip(row.tolist(), GRAVITY_PARAMETERS, strict=True), key=lambda term: -abs(term[0])):
        if abs(share) < READABLE:
            continue
        sign = ("−" if share < 0.0 else "") if not terms else (" − " if share < 0.0 else " + ")
        size = "" if abs(abs(share) - 1.0) < READABLE else f"{abs(share):.2g}·"
        terms.append(f"{sign}{size}{name}")
    return "".join(terms)
