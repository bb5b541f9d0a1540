r"""The Dahl law: dry friction along a displacement, without rates; what LuGre friction is in slow motion ([Dahl1968]).

.. math::

    \frac{\mathrm d f}{\mathrm d x} = \frac{F_\pm - s f}{x_0}, \qquad s = \operatorname{sgn} \mathrm d x

After a reversal friction passes from one level to the other within a few x_0: the presliding displacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..errors import InputError


@dataclass(frozen=True, slots=True)
class Dahl:
    """Friction of one joint in slow motion.

    Attributes:
        forward: Level F₊ ≥ 0 of a joint that moves forwards [N m or N].
        backward: Level F₋ ≥ 0 of one that moves backwards [N m or N].
        presliding: x_0 > 0 [rad or m].
    """

    forward: float
    backward: float
    presliding: float

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name in ("forward", "backward"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise InputError(f"{name} is {value!r}; expected a friction level from 0")
        if not 0.0 < self.presliding < math.inf:
            raise InputError(f"presliding is {self.presliding!r}; expected a displacement above 0")

    def moved(self, friction: float, displacement: float) -> float:
        """Return the friction after a displacement in one direction, exactly.

        Args:
            friction: Before it, along the joint's positive direction as the drive must overcome it [N m or N].
            displacement: How far the joint moves [rad or m].
        """
        if displacement == 0.0:
            return friction
        target = self.forward if displacement > 0.0 else -self.backward
        return target + (friction - target) * math.exp(-abs(displacement) / self.presliding)

    def along(self, path: Array, start: float = 0.0) -> Array:
        """Return the friction at each point of a path [N m or N], shape (k,).

        Args:
            path: Positions in their order [rad or m], shape (k,).
            start: Friction at the first.
        """
        found = np.empty(len(path))
        found[0] = friction = start
        for place, step in enumerate(np.diff(path).tolist(), start=1):
            found[place] = friction = self.moved(friction, step)
        return found
