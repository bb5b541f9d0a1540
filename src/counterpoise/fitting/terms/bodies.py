"""The rigid bodies: their masses and first moments, or all of their inertial parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...dynamics import INERTIAL_PARAMETERS
from ...errors import InputError
from ...foundation import Array
from ..term import EffortTerm, Selection, registered

if TYPE_CHECKING:
    from ..effort_model import EffortModel, Evaluation

BODY_UNITS = {
    "m": "kg",
    **dict.fromkeys(("mx", "my", "mz"), "kg m"),
    **dict.fromkeys(("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"), "kg m²"),
}
"""Units of a body's parameters."""


@registered
class BodiesTerm(EffortTerm):
    r"""κ Y(q + z, q̇, q̈; g) φ with φ the bodies' parameters: "gravity" for 4 a body, "full" for 10.

    Every model has it. Efforts of bodies that no joint with a measured effort carries are the description's.
    """

    name = "bodies"
    number = 1
    label = "masses"
    summary = "the bodies' parameters"
    quantities = INERTIAL_PARAMETERS
    in_effort_unit = False
    lasting = True

    @property
    def default(self) -> Selection:
        """All parameters."""
        return "full"

    @property
    def adds(self) -> bool:
        """Whether it adds efforts to those of the rigid bodies: it is them."""
        return False

    def checked(self, selection: object) -> Selection:
        """Refuse unknown kinds of bodies."""
        if selection not in ("gravity", "full"):
            raise InputError(f"bodies is {selection!r}; expected 'gravity' or 'full'")
        return str(selection)

    def needs_motion(self, selection: Selection) -> bool:
        """Return whether inertias are fitted."""
        return selection == "full"

    def names(self, model: EffortModel) -> list[str]:
        """Return names such as "elbow.mx", body by body."""
        labels = INERTIAL_PARAMETERS[: model.body_size]
        bodies = model.robot.tree.body_names
        return [f"{bodies[at // len(labels)]}.{labels[at % len(labels)]}" for at in model.body_parameters]

    def unit(self, quantity: str, *, turns: bool) -> str:
        """Return the unit of a parameter."""
        return BODY_UNITS[quantity]

    def start(self, model: EffortModel) -> Array:
        """Return the description's values."""
        return model.cad_parameters[model.body_parameters]

    def columns(self, at: Evaluation) -> Array:
        """Return κ Y."""
        return np.asarray(at.gain[:, None] * at.regressor[:, :, at.model.body_parameters])
