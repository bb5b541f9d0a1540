r"""The trigonometric form of the gravity moment: which products of cosines and sines it is made of, and their values.

The first moment of what joint i carries, about its origin and in the axes of the body before it, is

.. math:: S_i(q) = M_i r_i + C_i R_z(q_i) \Big( h_i + \sum_{c} S_c(q) \Big) \quad\text{or}\quad
          M_i (r_i + C_i z q_i) + C_i \Big( h_i + \sum_{c} S_c(q) \Big)

for a rotary and for a linear joint (M_i: mass that it carries, h_i: its body's own first moment, c: the next bodies).
Read from the tips to the base, this is a sum of products with at most one factor of each joint on a way to a tip: cos q
or sin q of a rotary joint, q of a linear one. Branches only add up, so a tree needs no products across branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.tree import BASE, REVOLUTE, Tree
from .gravity_wrench import refuse_mimics

Monomial = tuple[tuple[int, int], ...]
"""Factors (joint, function) along a branch, each joint at most once; () is the constant."""
COS, SIN, POSITION = 1, 2, 1
"""Functions of a factor: cos q and sin q of a rotary joint, q of a linear one."""
ZERO_SHARE = 1e-13
"""A coefficient below this share of the largest counts as structurally zero: right angles in files have 16 digits."""
BATCH_ROWS = 4096


def gravity_moment_terms(tree: Tree, mass: Array, first_moment: Array) -> dict[Monomial, Array]:
    """Return the position-dependent coefficients of the gravity moment on the robot, each of shape (3,) [N m].

    Args:
        tree: The robot's geometry and gravity.
        mass: Masses of the b bodies [kg], shape (b,).
        first_moment: Their first moments in their body frames [kg m], shape (b, 3).

    Raises:
        ModelError: A joint mimics another.
    """
    refuse_mimics(tree, "the terms of a trigonometric table")
    carried = np.array(mass, dtype=np.float64)
    inner: dict[int, dict[Monomial, Array]] = {body: {(): first_moment[body]} for body in range(tree.bodies)}
    inner[BASE] = {}
    scale = float(np.abs(first_moment).max(initial=0.0) + mass.sum() * np.abs(tree.origin).max(initial=0.0))
    for body in reversed(range(tree.bodies)):
        C, joint, target = tree.rotation[body], int(tree.q_index[body]), inner[int(tree.parent[body])]
        rotary = tree.kind[body] == REVOLUTE
        _add(target, (), carried[body] * tree.origin[body])
        if not rotary:
            _add(target, ((joint, POSITION),), carried[body] * C[:, 2])
        for monomial, (x, y, z) in inner.pop(body).items():
            if rotary:
                _add(target, monomial, C @ [0.0, 0.0, z])
                _add(target, ((joint, COS), *monomial), C @ [x, y, 0.0])
                _add(target, ((joint, SIN), *monomial), C @ [-y, x, 0.0])
            else:
                _add(target, monomial, C @ [x, y, z])
        for monomial in [key for key, value in target.items() if np.abs(value).max() <= ZERO_SHARE * scale]:
            del target[monomial]
        if tree.parent[body] != BASE:
            carried[tree.parent[body]] += carried[body]
    strength = float(np.abs(tree.gravity_base).max(initial=0.0))
    moments = {key: np.cross(tree.gravity_base, value) for key, value in inner[BASE].items() if key}
    return {
        key: value
        for key, value in sorted(moments.items(), key=lambda item: (len(item[0]), item[0]))
        if np.abs(value).max() > ZERO_SHARE * scale * strength
    }


def generic_terms(tree: Tree) -> tuple[Monomial, ...]:
    """Return every product that some masses on this kinematics and mounting can give.

    Found with masses in general position: no coefficient cancels by chance.
    """
    numbers = np.sqrt(np.arange(2.0, 2.0 + 4 * tree.bodies)).reshape(-1, 4)
    return tuple(gravity_moment_terms(tree, 1.0 + numbers[:, 0], np.sin(40.0 * numbers[:, 1:])))


def _add(polynomial: dict[Monomial, Array], monomial: Monomial, value: Array) -> None:
    polynomial[monomial] = polynomial[monomial] + value if monomial in polynomial else value


@dataclass(frozen=True, eq=False)
class Products:
    """Evaluates the products of a trigonometric form.

    Attributes:
        terms: The products, T of them.
        rotary: Which joints turn, shape (n,).
    """

    terms: tuple[Monomial, ...]
    rotary: tuple[bool, ...]

    @cached_property
    def _levels(self) -> tuple[list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]], npt.NDArray[np.intp]]:
        """The prefix tree of the terms.

        Level by level (place of the shorter product, its new factor); then where each term ends up.
        """
        place: dict[Monomial, int] = {(): 0}
        needed = {term[:length] for term in self.terms for length in range(1, len(term) + 1)}
        levels = []
        for length in range(1, max((len(term) for term in self.terms), default=0) + 1):
            level = sorted(term for term in needed if len(term) == length)
            parents = np.array([place[term[:-1]] for term in level], dtype=np.intp)
            factors = np.array([3 * term[-1][0] + term[-1][1] for term in level], dtype=np.intp)
            place |= {term: len(place) + index for index, term in enumerate(level)}
            levels.append((parents, factors))
        return levels, np.array([place[term] for term in self.terms], dtype=np.intp)

    def values(self, q: Array) -> Array:
        """Return the products at joint positions of shape (k, n), shape (k, T)."""
        levels, wanted = self._levels
        turns = np.array(self.rotary)
        functions = np.empty((len(q), len(self.rotary), 3))
        functions[:, :, 0] = 1.0
        functions[:, :, 1] = np.where(turns, np.cos(q), q)
        functions[:, :, 2] = np.sin(q)
        factors_of = functions.reshape(len(q), -1)
        grown = [np.ones((len(q), 1))]
        products = grown[0]
        for parents, factors in levels:
            grown.append(products[:, parents] * factors_of[:, factors])
            products = np.concatenate(grown, axis=1)
        chosen: Array = products[:, wanted]
        return chosen

    def combined(self, q: Array, coefficients: Array) -> Array:
        """Return values(q) @ coefficients, shape (k, 3), in pieces that fit the cache."""
        result = np.empty((len(q), coefficients.shape[1]))
        for first in range(0, len(q), BATCH_ROWS):
            rows = slice(first, first + BATCH_ROWS)
            result[rows] = self.values(q[rows]) @ coefficients
        return result


def term_name(term: Monomial, joint_names: Sequence[str], rotary: Sequence[bool]) -> str:
    """Return a term in words, e.g. "cos joint2 · sin joint3"."""
    words = {True: {COS: "cos ", SIN: "sin "}, False: {POSITION: ""}}
    return " · ".join(words[rotary[joint]][function] + joint_names[joint] for joint, function in term)


def coefficients_of(terms: Mapping[Monomial, Array]) -> Array:
    """Return the coefficients in the order of the terms, shape (T, 3)."""
    return np.array(list(terms.values())).reshape(-1, 3)
