"""Torque gains from a weighed load: what efforts are per torque, and recordings turned into torques by it.

Efforts that are currents, or torques in front of gears of unknown ratio, are e = k τ + friction. From one recording
masses and gains k are told by their products only; a second one with a load of known mass and place tells them apart.
The fit runs twice: once in the unit of the efforts, for the gains; then on efforts divided by them, so that errors,
friction, tolerances and sag are torques, and not the effort's unit under a torque's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics import Payload, Robot, effort_units
from ..errors import InputError
from ..fitting import ALL, CadPrior, Terms
from ..foundation import Array, PublishedData, frozen
from ..recording import Log, remapped
from .moving import moving_samples
from .runs import FittedRun
from .weighted import weighted_fit

COM_STEP = 0.01
"""How far the load's centre of mass is moved to see what that does to the gains [m]."""
IDENTIFIED = 0.2
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
    def unidentified(self) -> tuple[str, ...]:
        """Joints whose gain the load does not determine: their torques are as uncertain as their gains."""
        rows = zip(self.joint_names, self.gain, self.std, strict=True)
        return tuple(name for name, gain, std in rows if np.isfinite(gain) and not std < IDENTIFIED * abs(gain))

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
        if self.unidentified:
            found.append(
                f"the load does not determine the gain of {', '.join(self.unidentified)}: their torques are guessed"
            )
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
        source = {
            f"joints.{name}.effort_gain": "guessed" if name in self.unidentified else "measured" for name, _ in known
        }
        return {"joints": {name: {"effort_gain": 1.0 / gain} for name, gain in known}, "source": source}

    def _known(self) -> list[tuple[str, float]]:
        return [
            (name, float(gain)) for name, gain in zip(self.joint_names, self.gain, strict=True) if np.isfinite(gain)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class WeighedRecordings:
    """Recordings of an arm whose efforts a weighed load has turned into torques.

    Attributes:
        gains: Efforts per torque, as recorded.
        log: The recording.
        also: Further ones of the same arm.
        loaded: Those with the load, each after the robot that carries it.
    """

    gains: LoadGains
    log: Log
    also: tuple[Log, ...]
    loaded: tuple[tuple[Robot, Log], ...]


def in_torques_by_load(
    robot: Robot,
    log: Log,
    loaded: Sequence[tuple[Robot, Log]],
    *,
    also: Sequence[Log] = (),
    terms: Terms | None = None,
    prior: CadPrior | None,
    cutoff: float | None = None,
) -> WeighedRecordings:
    """Find efforts per torque with a weighed load, and divide all efforts by them.

    Args:
        robot: The arm as described and mounted.
        log: The recording without the load.
        loaded: Recordings with it, each after the robot that carries it (``robot.with_payload``). The centre of mass of
            a load that hangs from a string is where that is fixed.
        also: Further recordings without the load; their efforts are what those of ``log`` are.
        terms: What is fitted, gains among it; None for what a motion usually shows, and a gain a joint.
        prior: Towards the description's masses; None to trust the data alone.
        cutoff: Of the low-pass [Hz]; None to choose it.

    Raises:
        InputError: The recordings cannot be fitted, differ in what their efforts are, or there is no load.
    """
    for other in also:
        _refuse_other_efforts(log, other)
    gains = _load_gains(robot, log, loaded, terms, prior, cutoff)
    return WeighedRecordings(
        gains,
        gains.in_torques(log, robot),
        tuple(gains.in_torques(other, robot) for other in also),
        tuple((carrying, gains.in_torques(other, robot)) for carrying, other in loaded),
    )


def _load_gains(
    robot: Robot,
    log: Log,
    loaded: Sequence[tuple[Robot, Log]],
    terms: Terms | None,
    prior: CadPrior | None,
    cutoff: float | None,
) -> LoadGains:
    """Find efforts per torque; arguments as of :func:`in_torques_by_load`."""
    for carrying, other in loaded:
        _refuse_other_efforts(log, other)
        if not _loads(robot, carrying):
            raise InputError("the robot of a recording with a weighed load carries none: robot.with_payload(…)")
    fitted_terms = Terms.moving(log.declared).replace(gain=(ALL,)) if terms is None else terms
    empty = FittedRun(moving_samples(robot, log, cutoff=cutoff))
    samples = [moving_samples(carrying, other, cutoff=cutoff) for carrying, other in loaded]

    def fitted(shift: Array) -> tuple[Array, Array]:
        robots = [_with_moved_loads(robot, carrying, shift) for carrying, _ in loaded]
        runs = [empty, *(FittedRun(one, carrying) for one, carrying in zip(samples, robots, strict=True))]
        fit = weighted_fit(robot, runs, terms=fitted_terms, prior=prior)
        group = fit.model.groups["gain"]
        deviation = np.full(robot.n, np.nan)
        deviation[fit.model.joints_of("gain")] = np.sqrt(np.diag(fit.solution.covariance)[group])
        return fit.model.per_joint("gain", fit.x), deviation

    gain, std = fitted(np.zeros(3))
    shifts = [fitted(COM_STEP * axis)[0] / gain - 1.0 for axis in np.eye(3)]
    current = log.declared.effort_kind == "current"
    unit = tuple(f"A/({each})" if current else f"recorded {each} per {each}" for each in effort_units(robot))
    return LoadGains(robot.joint_names, frozen(gain), frozen(std), frozen(np.linalg.norm(shifts, axis=0)), unit)


def _refuse_other_efforts(log: Log, other: Log) -> None:
    """Refuse recordings whose efforts are not the same thing: one gain a joint would not fit both."""
    kinds = {log.declared.effort_kind, other.declared.effort_kind}
    if len(kinds) > 1:
        raise InputError(f"the efforts of the recordings are {' and '.join(sorted(map(str, kinds)))}; expected one")


def _loads(robot: Robot, carrying: Robot) -> list[Payload]:
    """Return what ``carrying`` carries and ``robot`` does not."""
    own = {id(load) for load in robot.payloads}
    return [load for load in carrying.payloads if id(load) not in own]


def _with_moved_loads(robot: Robot, carrying: Robot, shift: Array) -> Robot:
    """Return the robot that carries the loads, their centres of mass moved by ``shift`` in their links' frames [m]."""
    moved = [
        replace(load, inertia=replace(load.inertia, com=load.inertia.com + shift)) for load in _loads(robot, carrying)
    ]
    return carrying.with_payloads((*robot.payloads, *moved))
