"""A fit of any method in one form: what it predicts, what it may speak of, and how sure it is.

Methods differ in the numbers they solve for. The WAM document's two and the static weighted one find base gravity
parameters and offsets; the weighted fit of moving data finds all parameters of all bodies, held by a prior. Either way
the result speaks of the same numbers: base gravity parameters, which are all that holding torques can reveal, and what
belongs to the drives. How a base parameter is shared out among masses is nobody's measurement and is not reported as
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ..dynamics import GRAVITY_PARAMETERS, Robot, effort_units
from ..fitting import (
    EFFORT_UNITS,
    EffortModel,
    Identifiability,
    Language,
    Samples,
    Solution,
    Terms,
    at_rest,
    column_unit,
    completed_gravity_parameters,
    identify,
    link_expansion,
    term_of_quantity,
    with_gravity_parameters,
    with_inertial_parameters,
    workspace_yardstick,
)
from ..foundation import Array, frozen
from .load_posterior import LoadPosterior
from .weighted import WeightedFit
from .workspace import workspace_poses

WORKSPACE = 200
"""Poses that stand for the whole workspace."""
FELT = 1e-8
"""Part of a column that must be left beside those before it for its parameter to count by itself."""
PRIOR_LEFT = 1e-6
"""Share of the prior that is left in where the data alone are asked: what they do not tell then stays very
uncertain."""
ODD = 0.25
"""A weight that differs from the description's by more than this share is worth a word."""
COMMAND_UNITS: Final = "command units"


@dataclass(frozen=True, eq=False)
class Estimate:
    """A fit. a joints have a measured effort; s numbers may be spoken of.

    Attributes:
        model: The model: all body parameters, and the terms of the drives.
        x: Its values, shape (p,).
        solution: The regression's own result, in base parameters and offsets or in the model's own numbers.
        in_base: Whether the former.
        prior: What the fit leaned on, in words; "" for the data alone.
        posterior: What is known of the efforts that hold the arm, model error counted in.
        data_share: Of each of the solution's numbers, how much of what is known comes from the data, 0 to 1.
        command_units: Whether efforts are in the log's own unit, with free gains.
        fixed: Positions of joints that stood still and have no measured effort [rad or m], shape (n,); NaN for the
            others. What such a joint carries is part of the link before it.
    """

    model: EffortModel
    x: Array
    solution: Solution
    in_base: bool
    prior: str
    posterior: LoadPosterior
    data_share: Array
    command_units: bool = False
    fixed: Array | None = None

    @classmethod
    def of_base(cls, robot: Robot, solution: Solution, posterior: LoadPosterior) -> Estimate:
        """Return a fit of base gravity parameters and an offset per joint, or none, to the data alone.

        Args:
            robot: The robot that was fitted.
            solution: Columns as in workspace.py.
            posterior: What a weighted fit to the same poses knows of the holding efforts.
        """
        size = len(robot.base_parameters.names)
        offsets = solution.x[size:]
        terms = Terms(bodies="gravity", offset=("all",) if len(offsets) else ())
        model = EffortModel(robot, terms, np.ones(robot.n, dtype=bool), np.eye(robot.n))
        x = model.start()
        gravity = completed_gravity_parameters(robot, solution.x[:size])
        x[model.groups["bodies"]] = gravity[model.body_parameters]
        x[model.groups["offset"]] = offsets
        return cls(model, frozen(x), solution, True, "", posterior, frozen(np.ones(len(solution.x))))

    @classmethod
    def of_weighted(cls, fit: WeightedFit, fixed: Array | None = None, *, no_torques: bool = False) -> Estimate:
        """Return a weighted fit in this form.

        Args:
            fit: The fit.
            fixed: As in the class.
            no_torques: Whether the efforts are no torques, or of a guessed size: the fit is then in command units, too.
        """
        known = (fit.prior_source, fit.posterior, fit.data_share)
        return cls(fit.model, fit.x, fit.solution, False, *known, fit.command_units or no_torques, fixed)

    @property
    def robot(self) -> Robot:
        """The robot that was fitted, as described."""
        return self.model.robot

    @cached_property
    def calibrated(self) -> Robot:
        """The robot with fitted masses, the description's where nothing was fitted.

        A full fit's inertias reproduce the measured torques even where no real body has them, so dynamics are computed.
        """
        values = self.model.body_values(self.x)
        if self.model.terms.bodies == "full":
            return with_inertial_parameters(self.robot, values, allow_unphysical=True)
        return with_gravity_parameters(self.robot, self.robot.base_parameters.regrouping @ values)

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Unit of each active joint's effort."""
        units = effort_units(self.robot)
        used = [unit for unit, some in zip(units, self.model.active, strict=True) if some]
        return tuple(COMMAND_UNITS if self.command_units else unit for unit in used)

    def predict(self, samples: Samples) -> Array:
        """Return the efforts of the active joints, shape (k, a), in the samples' unit."""
        return self.model.predict(samples, self.x)

    def predict_described(self, samples: Samples) -> Array:
        """Return what the description alone gives, gains apart: no friction, no offset, shape (k, a)."""
        return self.model.predict(samples, self.model.described(self.x))

    def per_joint(self, kind: str) -> Array:
        """Return one of the drives' terms, e.g. "coulomb", shape (n,); NaN where it was not fitted."""
        return self.model.per_joint(kind, self.x)

    @property
    def workspace(self) -> Array:
        """Poses that stand for the whole workspace, fixed joints where they stood [rad or m], shape (WORKSPACE, n)."""
        return self._workspace

    def load(self, q: Array, *, offsets: bool = False) -> Array:
        """Return the efforts by which the fit holds the arm: weight, springs and counterbalances, shape (k, a).

        Where a spring or counterbalance was found, its constant part and an offset are one, and part of it anyhow: by
        itself, what the model has of such a spring may be far from zero wherever the arm was.

        Args:
            q: Poses [rad or m], shape (k, n).
            offsets: Whether constant offsets are part of it.
        """
        x = np.array(self.x)
        if not offsets:
            sprung = {f"{self.model.joint_names[place]}.offset" for place in self.posterior.springs}
            constant = [at for at, name in enumerate(self.model.names) if name.endswith(".offset")]
            x[[at for at in constant if self.model.names[at] not in sprung]] = 0.0
        return self.model.predict(at_rest(self.robot, q), x)

    def deviation(self, q: Array, *, offsets: bool = False) -> Array:
        """Return how far these efforts may be off, one standard deviation, shape (k, a); the arguments are the same."""
        return self.posterior.deviation_of(q, self.load(q, offsets=offsets), offsets=offsets)

    def gravity_error(self, q: Array) -> Array:
        """Return how far the gravity efforts may be off (95 %), root mean square over poses, shape (a,)."""
        return self.posterior.error_of(q, self.load(q))

    @cached_property
    def model_covariance(self) -> Array:
        """Covariance of the model's numbers, model error counted in, shape (p, p); empty for a fit of base numbers."""
        if self.in_base:
            return np.zeros((0, 0))
        wide = self.model.of_own_joints(self.posterior.widened)
        return np.asarray(wide[:, None] * self.posterior.exported(self.model)[1] * wide)

    def weight_ratio(self, tolerated: Array) -> Array:
        """Return the gravity efforts as a multiple of the description's, least squares over the workspace, shape (a,).

        Args:
            tolerated: What the active joints tolerate, shape (a,). NaN is returned where the two differ by no more, or
                by no more than ODD of their size.
        """
        fitted = self.calibrated.gravity(self._workspace)[:, self.model.active]
        described = self.robot.gravity(self._workspace)[:, self.model.active]
        change = np.sqrt(np.mean((fitted - described) ** 2, axis=0))
        size = np.sqrt(np.mean(described**2, axis=0))
        odd = (change > np.maximum(ODD * size, tolerated)) & (size > 0.0)
        return np.where(odd, np.mean(fitted * described, axis=0) / np.where(size > 0.0, size**2, 1.0), np.nan)

    @cached_property
    def language(self) -> Language:
        """The numbers that may be spoken of, with the data's own information on them."""
        expansion, never_felt = link_expansion(self.robot, *self._felt_base)
        names, to_spoken, constant = self._spoken
        known = self._data_covariance
        information = np.linalg.inv(known)
        return Language(
            names=names,
            x=frozen(to_spoken @ self.solution.x + constant),
            information=frozen(0.5 * (information + information.T)),
            units=tuple(self.unit(name) for name in names),
            expansion=expansion,
            never_felt=never_felt,
        )

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the numbers that may be spoken of, prior included, shape (s, s)."""
        _, to_spoken, _ = self._spoken
        found = to_spoken @ self.solution.covariance @ to_spoken.T
        return np.asarray(0.5 * (found + found.T))

    @cached_property
    def std(self) -> Array:
        """Standard errors of these numbers, prior included, shape (s,); infinite where neither tells."""
        _, to_spoken, _ = self._spoken
        return self.solution.predicted_std(to_spoken)

    @cached_property
    def identifiable(self) -> Identifiability:
        """Which combinations of gravity parameters and offsets the data determine by themselves."""
        language = self.language
        static = [at for at, name in enumerate(language.names) if self._acts_at_rest(name)]
        covariance = self._data_covariance[np.ix_(static, static)]
        names = tuple(language.names[at] for at in static)
        information = np.linalg.inv(covariance)
        spoken = Language(
            names=names,
            x=language.x[static],
            information=frozen(0.5 * (information + information.T)),
            units=tuple(language.units[at] for at in static),
            expansion=language.expansion,
            never_felt=language.never_felt,
        )
        poses = self._workspace
        rows = self._spoken_rows(poses, names)
        return identify(spoken, workspace_yardstick(rows, self._noise))

    def unit(self, name: str) -> str:
        """Return the unit of one of the spoken numbers, or of the model's own."""
        unit, term = column_unit(self.robot, name), term_of_quantity(name.rpartition(".")[2])
        if self.command_units and term is not None and term.in_effort_unit:
            return COMMAND_UNITS if unit in EFFORT_UNITS else f"{COMMAND_UNITS} ({unit})"
        return unit

    def _acts_at_rest(self, name: str) -> bool:
        return name in self.robot.base_parameters.names or name.rpartition(".")[2] == "offset"

    @cached_property
    def _workspace(self) -> Array:
        """Poses that stand for the whole workspace, fixed joints where they stood, shape (WORKSPACE, n)."""
        poses = workspace_poses(self.robot, WORKSPACE)
        return poses if self.fixed is None else np.where(np.isnan(self.fixed), poses, self.fixed)

    @property
    def _noise(self) -> Array:
        """Noise σ of one sample, shape (n,); NaN for a joint without measured effort."""
        noise = np.full(self.robot.n, np.nan)
        noise[self.model.active] = self.solution.sigma
        return noise

    @cached_property
    def _spoken(self) -> tuple[tuple[str, ...], Array, Array]:
        """Return names of the s spoken numbers, and C and c with spoken = C x + c, shapes (s, ·) and (s,)."""
        if self.in_base:
            return self.solution.column_names, np.eye(len(self.solution.x)), np.zeros(len(self.solution.x))
        model = self.model
        size, bodies = model.body_size, model.groups["bodies"]
        drives = len(model.names) - bodies.stop
        names, regrouping = self._felt_base
        matrix = np.zeros((len(names) + drives, len(model.names)))
        rest = model.cad_parameters.reshape(-1, size)[:, : len(GRAVITY_PARAMETERS)].copy()
        for place, parameter in enumerate(model.body_parameters):
            body, entry = divmod(int(parameter), size)
            if entry < len(GRAVITY_PARAMETERS):
                matrix[: len(names), bodies.start + place] = regrouping[:, 4 * body + entry]
                rest[body, entry] = 0.0
        matrix[len(names) :, bodies.stop :] = np.eye(drives)
        constant = np.concatenate([regrouping @ rest.ravel(), np.zeros(drives)])
        return names + model.names[bodies.stop :], matrix, constant

    @cached_property
    def _felt_base(self) -> tuple[tuple[str, ...], Array]:
        """Return names and regrouping (·, 4 b) of the base parameters that active joints feel, one for each direction.

        The robot's own base is for all joints free and measured. Here a parameter that changes no torque beside those
        before it (active joints' own first) is grouped into them.
        """
        base = self.robot.base_parameters
        if self.model.active.all() and self.fixed is None:
            return base.names, base.regrouping
        rows = self.robot.base_gravity_regressor(self._workspace)[:, self.model.active]
        stacked = rows.reshape(-1, rows.shape[2])
        own = [name.rpartition(".")[0] in self.model.joint_names for name in base.names]
        kept: list[int] = []
        grouped = np.zeros((len(base.names), len(base.names)))
        for column in np.argsort(np.logical_not(own), kind="stable").tolist():
            shares, *_ = np.linalg.lstsq(stacked[:, kept], stacked[:, column], rcond=None)
            left = np.linalg.norm(stacked[:, column] - stacked[:, kept] @ shares)
            if left > FELT * max(float(np.linalg.norm(stacked[:, column])), 1e-300) and left > 1e-9:
                kept.append(column)
                grouped[column, column] = 1.0
            else:
                grouped[kept, column] = shares
        kept.sort()
        return tuple(base.names[column] for column in kept), grouped[kept] @ base.regrouping

    @cached_property
    def _data_covariance(self) -> Array:
        """Covariance of the spoken numbers by the data alone, but for PRIOR_LEFT of the prior, shape (s, s)."""
        _, to_spoken, _ = self._spoken
        information = self.solution.information
        known = np.diag(information)
        by_data = 1.0 / np.sqrt(np.where(known > 0.0, known, np.inf))
        narrowed = self.data_share < 1.0
        by_prior = np.sqrt(np.diag(self.solution.covariance) / np.where(narrowed, 1.0 - self.data_share, 1.0))
        # Each number in units of what the prior leaves open; drives, whose priors say nothing, of what the data do.
        drives = np.ones(len(known), dtype=bool)
        drives[: len(known) if self.in_base else self.model.groups["bodies"].stop] = self.in_base
        size = np.where(narrowed & ~(drives & (known > 0.0)), by_prior, by_data)
        size[size == 0.0] = 1.0
        whitened = information * np.outer(size, size)
        values, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
        left = PRIOR_LEFT if self.prior else 1e-6 * PRIOR_LEFT * max(float(values.max(initial=0.0)), 1e-300)
        half = (to_spoken * size) @ vectors / np.sqrt(np.maximum(values, 0.0) + left)
        return np.asarray(half @ half.T)

    def _spoken_rows(self, q: Array, names: tuple[str, ...]) -> Array:
        """Return rows of the holding efforts in spoken numbers, shape (k, n, len(names))."""
        robot = self.robot
        rows = np.zeros((len(q), robot.n, len(names)))
        base = robot.base_gravity_regressor(q)
        gains = self.model.gains(self.x)
        for place, name in enumerate(names):
            if name in robot.base_parameters.names:
                rows[:, :, place] = gains * base[:, :, robot.base_parameters.names.index(name)]
            else:
                joint = robot.joint_names.index(name.rpartition(".")[0])
                rows[:, :, place] = self.model.coupling[joint]
        return rows
