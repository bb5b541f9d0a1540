"""The compact form of the Z–s decomposition: g = Z_c(q) s_c, derived from the structure for any rotary tree.

[Jo], Fig. 2, makes it by hand for a planar arm of three joints. In general, with Z of n × 3n(n + 1):

1. columns that multiply the same parameter are added: the carried moment of body j stands in the block of every joint
   that carries it;
2. columns of zero parameters are dropped: the base frame's, those of bodies that a joint does not carry, and those that
   the user declares to be zero (``on_link_line``: first moments that the description has as zero stay zero, [Jo]'s
   "CoM on the axial line");
3. columns that depend on others are regrouped: the moment along a joint's own axis counts for the body before it
   (dynamics/base_parameters.py). (Columns, not rows, of Z are deleted, against the paper's wording.)

As many columns remain as there are base gravity parameters, or fewer with ``on_link_line``: three for the planar arm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array, frozen
from ..dynamics.kinematics import ancestors
from ..dynamics.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class CompactForm:
    """g(q) = Z_c(q) s_c with c columns.

    Attributes:
        robot: The robot.
        names: Names of the parameters in s_c, e.g. "joint2.mx": the moment along x of all that joint 2 carries.
        merge: Which columns of Z are added to which of Z_c, zeros and ones, shape (3n(n+1), c): Z_c = Z merge.
        s: s_c, shape (c,) [kg m].
    """

    robot: Robot
    names: tuple[str, ...]
    merge: Array
    s: Array

    def Z(self, q: npt.ArrayLike) -> Array:
        """Return Z_c(q) [m/s²], shape (n, c) or (k, n, c)."""
        whole, _ = self.robot.jo_decomposition(q)
        return np.asarray(whole @ self.merge)


def compact_form(robot: Robot, *, on_link_line: bool = False) -> CompactForm:
    """Derive the compact form.

    Args:
        robot: The robot; all joints turn and none follows another.
        on_link_line: Declare that the first moments which the description has as exactly zero are zero.

    Raises:
        ModelError: A joint is linear or mimics another.
    """
    robot.jo_decomposition(np.zeros(robot.n))  # refuses robots that have no such form
    base, n = robot.base_parameters, robot.n
    kept = np.arange(len(base.columns))
    if on_link_line:
        # A base parameter stays if any parameter that is not declared zero is regrouped into it.
        free = np.asarray(robot.gravity_parameters) != 0.0
        kept = kept[np.any(np.abs(base.regrouping[:, free]) > 1e-12, axis=1)]
    width = 3 * (n + 1)
    merge = np.zeros((n * width, len(kept)))
    for column, parameter in enumerate(kept):
        body, entry = divmod(base.columns[parameter], 4)
        for joint in ancestors(robot.tree, body):
            merge[joint * width + 3 * (body + 1) + entry - 1, column] = 1.0
    values = (base.regrouping @ robot.gravity_parameters)[kept]
    return CompactForm(robot, tuple(base.names[parameter] for parameter in kept), frozen(merge), frozen(values))
