"""Torque gains from a weighed load: what efforts are per torque, and recordings turned into torques by it.

Efforts that are currents, or torques in front of gears of unknown ratio, are e = k τ + friction. From one recording
masses and gains k are told by their products only; a second one with a load of known mass and place tells them apart.
The fit runs twice: once in the unit of the efforts, for the gains; then on efforts divided by them, so that errors,
friction, tolerances and sag are torques, and not the effort's unit under a torque's name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..description.frozen import Array, PublishedData, frozen
from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from ..errors import InputError
from ..logs.log import Log
from ..logs.read import remapped
from .moving import moving_samples
from .prior import CadPrior
from .runs import FittedRun
from .terms import ALL, Terms
from .weighted import weighted_fit

COM_STEP = 0.01
"""How far the load's centre of mass is moved to see what that does to the gains [m]."""
TOLD = 0.2
"""A gain counts as told by the load when its relative standard deviation is below this."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadGains(PublishedData):
    """Efforts per torque, found with a weighed load.

    Attributes:
        joint_names: The joints.
        gain: Effort per torque in the recording's unit, e.g. A/(N m), shape (n,); NaN without a measured effort.
        std: Its standard deviation by the data, shape (n,).
        com_shift: By which share of itself it changes where the load's centre of mass is COM_STEP from where it was
            said to be, in the worst direction, shape (n,).
        unit: Unit of each gain, e.g. "A/(N m)".
    """

    joint_names: tuple[str, ...]
    gain: Array
    std: Array
    com_shift: Array
    unit: tuple[str, ...]

    @property
    def untold(self) -> tuple[str, ...]:
        """Joints whose gain the load does not tell: their torques are as uncertain as what gains are thought to be."""
        rows = zip(self.joint_names, self.gain, self.std, strict=True)
        return tuple(name for name, gain, std in rows if np.isfinite(gain) and not std < TOLD * abs(gain))

    def sentences(self) -> tuple[str, ...]:
        """Return the gains in words, and what they hang on."""
        rows = zip(self.joint_names, self.gain, self.std, self.unit, strict=True)
        told = ", ".join(f"{name} {gain:.4g} ± {std:.1g} {unit}" for name, gain, std, unit in rows if np.isfinite(gain))
        moved = ", ".join(
            f"{name} {shift:.2g}" for name, shift in zip(self.joint_names, 100.0 * self.com_shift, strict=True)
        )
        found = [
            f"efforts per torque, by the weighed load: {told}. All errors are torques, efforts divided by these",
            f"were the load's centre of mass {1e3 * COM_STEP:.0f} mm from where it is said to be, they would change by "
            f"up to [%]: {moved}; this is not in the ±",
        ]
        if self.untold:
            found.append(f"the load does not tell the gain of {', '.join(self.untold)}: their torques are guessed")
        return tuple(found)

    def in_torques(self, log: Log, robot: Robot) -> Log:
        """Return a recording with its efforts divided by the gains."""
        return remapped(log, {"effort": {"kind": "torque"}, **self._change()}, robot)

    def mapping(self, log: Log) -> dict[str, Any]:
        """Return the change of a mapping by which recordings like ``log`` are read in torques."""
        kind = log.declared.effort_kind
        return self._change() if kind is None else {"effort": {"kind": kind}, **self._change()}

    def _change(self) -> dict[str, Any]:
        """Return the gains as a mapping has them, with where they come from."""
        known = self._known()
        source = {f"joints.{name}.effort_gain": "guessed" if name in self.untold else "measured" for name, _ in known}
        return {"joints": {name: {"effort_gain": 1.0 / gain} for name, gain in known}, "source": source}

    def _known(self) -> list[tuple[str, float]]:
        return [
            (name, float(gain)) for name, gain in zip(self.joint_names, self.gain, strict=True) if np.isfinite(gain)
        ]


def load_gains(
    robot: Robot,
    log: Log,
    loaded: Log,
    mass: float,
    com: tuple[float, float, float],
    link: str | None = None,
    *,
    prior: CadPrior | None,
    cutoff: float | None = None,
) -> LoadGains:
    """Find efforts per torque from two recordings of a motion, without and with a weighed load.

    Args:
        robot: The arm as described and mounted.
        log: The recording without the load.
        loaded: The recording with it.
        mass: Of the load [kg].
        com: Its centre of mass in the link's frame [m]. Of a load that hangs from a string: where that is fixed.
        link: What carries it; None for the only leaf.
        prior: Towards the description's masses; None to trust the data alone.
        cutoff: Of the low-pass [Hz]; None to choose it.

    Raises:
        InputError: The recordings cannot be fitted, or differ in what their efforts are.
    """
    kinds = {log.declared.effort_kind, loaded.declared.effort_kind}
    if len(kinds) > 1:
        raise InputError(f"the efforts of the two recordings are {' and '.join(sorted(map(str, kinds)))}; expected one")
    terms = replace(Terms.moving(log.declared), gain=(ALL,))
    samples = (moving_samples(robot, log, cutoff=cutoff), moving_samples(robot, loaded, cutoff=cutoff))

    def fitted(place: Array) -> tuple[Array, Array]:
        carrying = robot.with_payload(mass, com=place.tolist(), link=link)
        fit = weighted_fit(robot, [FittedRun(samples[0]), FittedRun(samples[1], carrying)], terms=terms, prior=prior)
        group = fit.columns.groups["gain"]
        deviation = np.full(robot.n, np.nan)
        deviation[fit.columns.joints_of("gain")] = np.sqrt(np.diag(fit.solution.covariance)[group])
        return fit.columns.per_joint("gain", fit.x), deviation

    gain, std = fitted(np.array(com, dtype=np.float64))
    shifts = [fitted(np.array(com) + COM_STEP * axis)[0] / gain - 1.0 for axis in np.eye(3)]
    current = log.declared.effort_kind == "current"
    unit = tuple(f"A/({each})" if current else f"recorded {each} per {each}" for each in effort_units(robot))
    return LoadGains(robot.joint_names, frozen(gain), frozen(std), frozen(np.linalg.norm(shifts, axis=0)), unit)
