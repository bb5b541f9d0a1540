r"""What an earlier calibration of this arm, or of one of its type, says before any data.

Its bodies, rotors, springs and counterbalances have a mean m and a covariance P; friction and offsets change and are
left out. What it does not speak of follows from the description: with the description's covariance Σ about μ,

.. math:: x_S \sim N(m, P), \qquad
          x_R \mid x_S \sim N(\mu_R + K (x_S - \mu_S),\ \Sigma_{RR} - K \Sigma_{SR}), \quad
          K = \Sigma_{RS} \Sigma_{SS}^{-1}

This arm may differ from that one (DIFFERENCES): P is taken as it is, and with the errors of a very good and of a good
description added, as arms of one type differ. The others stand for a calibration that does not belong here: another
tool, other masses in every link, and the description alone. All are averaged by how well they explain the recording
(posterior_search.py); where those that belong here explain it no better than the others, the recording contradicts the
calibration, and the verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import EffortModel, parameter_covariance
from ..foundation import Array
from .identity import kinematics_fingerprint

if TYPE_CHECKING:
    from .fit import Fit


@dataclass(frozen=True, slots=True)
class Difference:
    """How this arm may differ from one that was calibrated.

    Attributes:
        share: How likely that is beforehand.
        prior_weight: Of the description whose errors are added (prior.py); None for none.
        tool: Whether the tool may be another.
        mass_share: By which share the mass of every link may be another, its shape the same.
        belongs: Whether the calibration then is one of this arm or type.
    """

    share: float
    prior_weight: float | None
    tool: bool = False
    mass_share: float = 0.0
    belongs: bool = True


DIFFERENCES = (
    Difference(0.35, None),
    Difference(0.2, 64.0),
    Difference(0.15, 16.0),
    Difference(0.05, 16.0, tool=True, belongs=False),
    Difference(0.05, None, mass_share=0.3, belongs=False),
)
"""What is averaged; the rest of the probability is that of the description alone."""
BELONGS = 1.0
"""Log evidence, in nats, from which a calibration counts as one of this arm or type."""


@dataclass(frozen=True, slots=True, eq=False)
class EarlierCalibration:
    """A calibration to start from.

    Attributes:
        names: Names of its numbers.
        mean: Their values, shape (p',).
        covariance: How sure they are, shape (p', p').
        source: Which calibration it is, in words.
    """

    names: tuple[str, ...]
    mean: Array
    covariance: Array
    source: str

    @classmethod
    def of(cls, fit: Fit, robot: Robot, data_sha256: str) -> EarlierCalibration:
        """Check and return a calibration to start from.

        Args:
            fit: The calibration.
            robot: The robot that is calibrated now.
            data_sha256: Fingerprint of the recording that is calibrated now.

        Raises:
            InputError: It is of another geometry, says nothing about masses, is in command units, is of an unsound
                recording, or of this one.
        """
        from .fit import NEWTON_METRES

        whose = f"the calibration to start from (of {fit.created or 'an unknown date'})"
        if fit.identity.kinematics_sha256 != kinematics_fingerprint(robot):
            raise InputError(
                f"{whose} is of robot '{fit.robot.name}'; its geometry differs from that of '{robot.name}'"
            )
        if fit.units != NEWTON_METRES:
            raise InputError(f"{whose} is in {fit.units}: its masses are not identifiable. Start from one in N m")
        if not fit.model_covariance.size:
            raise InputError(f"{whose} was made by method '{fit.method}'; only 'weighted' says how sure it is")
        if fit.data.sha256 == data_sha256:
            raise InputError(f"{whose} was made from this recording; it would count twice. Give another recording")
        refused = [check for check in fit.verdict if check.name in ("recording", "structure", "earlier")]
        wrong = [check.sentence for check in refused if not check.passed]
        if wrong:
            raise InputError(f"{whose} cannot be relied on: {wrong[0]}")
        serial = f" of serial number {fit.identity.serial}" if fit.identity.serial else ""
        return cls(fit.model.names, fit.x, fit.model_covariance, f"the calibration{serial} of {fit.created}")

    def belief(
        self, model: EffortModel, start: Array, covariance: Array, difference: Difference
    ) -> tuple[Array, Array]:
        """Return mean and covariance of unknowns, shapes (p,) and (p, p).

        Args:
            model: The unknowns.
            start: Where they start by the description, shape (p,).
            covariance: How far they may be from there, shape (p, p).
            difference: How this arm may differ from that one.
        """
        own, at = self.names, model.names
        groups = [model.groups[term.name] for term in model.terms.chosen if term.lasting]
        lasting = [place for group in groups for place in range(group.start, group.stop)]
        told = np.array([place for place in lasting if at[place] in own], dtype=np.int64)
        there = [own.index(at[place]) for place in told.tolist()]
        size = np.sqrt(np.diag(covariance)[told])
        size[size == 0.0] = 1.0
        scaled = covariance[np.ix_(told, told)] / np.outer(size, size)
        gain = np.linalg.lstsq(scaled, covariance[told] / size[:, None], rcond=1e-12)[0].T / size
        gain[told] = np.eye(len(told))
        mean = start + gain @ (self.mean[there] - start[told])
        known = self.covariance[np.ix_(there, there)] + _change(model, difference, mean)[np.ix_(told, told)]
        return mean, covariance + gain @ (known - covariance[np.ix_(told, told)]) @ gain.T


def _change(model: EffortModel, difference: Difference, mean: Array) -> Array:
    """Return the covariance of how an arm differs from another one with given values (p,), shape (p, p)."""
    whole = np.zeros((len(model.names), len(model.names)))
    size, chosen = model.body_size, model.body_parameters
    bodies = model.groups["bodies"]
    if difference.prior_weight is not None and model.robot.tree.mass.any():
        change = parameter_covariance(model.robot, size, difference.prior_weight, tool=difference.tool)
        whole[bodies, bodies] = change[np.ix_(chosen, chosen)]
    for first in range(0, len(chosen), size):
        link = np.zeros(len(model.names))
        own = slice(bodies.start + first, bodies.start + first + size)
        link[own] = difference.mass_share * mean[own]
        whole += np.outer(link, link)
    return whole
