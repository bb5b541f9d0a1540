"""The base sensor: joint torques from the six-axis plate under a robot, in three forms.

Two stages, as the patent draws them: the gravity compensator takes the weight off the base wrench, the joint analyzer
takes off what the links that are not distal need for their motion and projects the rest on the joint's axis. With all
terms and the model's gravity, the usual case, ``Robot.base_torques`` does both stages at once; the two classes run for
a table of gravity and for a subset of the terms.

========== ====================================================================================== ==================
form       w_d, which the joint analyzer starts from                                                source
========== ====================================================================================== ==================
full       w − w_g(q)                                                                               eq. (21) corrected
tared      w − w_static, and no motion terms: kinematics only                                       eq. (23)
tared+model (w − w_static) − (w_g(q) − w_g(q_tare)): "auto", where a tare and masses exist          eqs. (21), (23)
========== ====================================================================================== ==================

Equations of [Morel2000]; w is what the plate exerts on the robot.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import (
    WRENCH_COMPONENTS,
    Robot,
    as_rows,
    check_out,
    refuse_command_units,
    refuse_wrench_shape,
)
from ...errors import InputError, ModelError
from ...foundation import Array, frozen
from ...recording import Sample
from .gravity_table import LinearTable, TrigonometricTable
from .gravity_wrench import (
    GravityCompensator,
    GravityWrench,
    ModelGravityWrench,
    PositionDependent,
    constant_gravity_wrench,
)
from .joint_analyzer import JointAnalyzer, Term
from .tare import Tare, model_range, taken
from .torque_estimate import FrozenWatch, OnlineEstimate, OnlineSettings, TorqueEstimate
from .variance import TorqueVariance, Uncertainty
from .wrench_frame import WrenchFrame

GRID_SPACING = math.radians(5.0)
"""Default distance of the grid positions of a linear table [rad]."""


FORMS = ("full", "tared", "tared+model")
"""Names of the three forms."""


NO_WRENCH = frozen(np.zeros(6))


class BaseSensor:
    """A six-axis plate under a robot.

    A sensor keeps a tare and, on line, the past of its samples: use one per control loop, not from several threads.

    Args:
        robot: The robot, mounted and loaded as it stands.
        T_base_sensor: Pose of the sensor's frame in the base frame, shape (4, 4).
        reads: "on_robot" when the reading is what the plate exerts on the robot (upright at rest fz = +m g),
            "on_sensor" when it is the opposite.
        point: Measurement point in the sensor's frame, about which its moments are [m], shape (3,).
        gain: What a channel takes from each component, shape (6, 6): reading = ± gain · w + bias.
        bias: Reading without load [N, N m], shape (6,); a tare makes it superfluous.
        range: Largest reading per channel [N, N m], shape (6,); a reading there is saturated.
        uncertainty: Errors to propagate; None for a noise-free plate and masses as
            good as "cad" (fitting/prior.py).
        terms: Terms of the joint analyzer; any subset.
        online: Numbers of :meth:`estimate`.

    Attributes:
        robot: The robot.
        frame: How readings become wrenches on the robot.
        compensator: First stage.
        analyzer: Second stage.
        variance: Propagates errors to the torques.
        tare_state: The tare, or None.

    Raises:
        InputError: An argument has a shape or a value that cannot be.
    """

    def __init__(
        self,
        robot: Robot,
        T_base_sensor: npt.ArrayLike | None = None,
        reads: str = "on_robot",
        *,
        point: npt.ArrayLike = (0.0, 0.0, 0.0),
        gain: npt.ArrayLike | None = None,
        bias: npt.ArrayLike | None = None,
        range: npt.ArrayLike | None = None,
        uncertainty: Uncertainty | None = None,
        terms: Term = Term.ALL,
        online: OnlineSettings | None = None,
    ) -> None:
        """Check the description of the plate."""
        if not isinstance(robot, Robot):
            raise InputError(f"robot is a {type(robot).__name__}; expected a counterpoise Robot, as load() returns it")
        refuse_command_units(robot)
        self.robot = robot
        self.frame = WrenchFrame.checked(T_base_sensor, reads, point=point, gain=gain, bias=bias)
        self.range = _range(range)
        self.compensator = GravityCompensator(ModelGravityWrench(robot))
        self.analyzer = JointAnalyzer(robot, terms)
        known = Uncertainty.checked(robot) if uncertainty is None else uncertainty
        self.variance = TorqueVariance(robot, self.frame, JointAnalyzer(robot), known)
        self.tare_state: Tare | None = None
        self._has_masses = bool(robot.tree.mass.any())
        self._settings = online or OnlineSettings()
        self._online = OnlineEstimate(self, self._settings)
        self._prepare()

    # --------------------------------------------------------------------------------------------------------- Settings

    def tare(
        self,
        q: npt.ArrayLike,
        wrench: npt.ArrayLike,
        *,
        time: float | None = None,
        range: npt.ArrayLike | None = None,
    ) -> Tare:
        """Take the static reading that the tared forms start from; the robot stands still and touches nothing.

        Args:
            q: Joint positions [rad or m], shape (n,), or (k, n) of several readings.
            wrench: The plate's raw reading, shape (6,), or (k, 6): their mean is taken.
            time: When, by the samples' clock [s]; then the plate's drift counts from here.
            range: How far a joint may leave the pose [rad or m], one number or shape (n,), in both tared forms; None
                for ±1° without the model, and with it for what the model's covariance allows.

        Returns:
            The tare, with its ranges.

        Raises:
            InputError: Shapes that do not fit, or joints that moved.
        """
        tare = taken(self.robot, q, wrench, noise=self.variance.uncertainty.noise, time=time, range_limit=range)
        if self._has_masses and range is None:
            tare = replace(tare, model_range=model_range(tare, self.variance, self.compensator.generator))
        self.tare_state = tare
        self._prepare()
        return tare

    def untare(self) -> None:
        """Forget the tare."""
        self.tare_state = None
        self._prepare()

    def with_robot(self, robot: Robot) -> Self:
        """Return the sensor under the arm with another payload, tared as if that payload had been there at the tare.

        The load is taken for exactly known: ranges and uncertainty stay as they are. Past samples of :meth:`estimate`
        are forgotten.

        Args:
            robot: The same arm, mounted alike, with its new payload.

        Raises:
            InputError: Another arm or mounting; or a table is in use, which holds for one payload only.
        """
        alike = robot.joint_names == self.robot.joint_names and robot.link_names == self.robot.link_names
        if not alike or not np.allclose(robot.gravity_base, self.robot.gravity_base, rtol=0.0, atol=1e-9):
            raise InputError(f"{robot!r} is not the arm on this plate, {self.robot!r}, with another payload")
        if not isinstance(self.compensator.generator, ModelGravityWrench):
            raise InputError("the gravity wrench comes from a table, which holds for one payload; use_table('model')")
        other = self.copied(robot)
        if (tare := self.tare_state) is not None:
            # Both sides by the new model: only the payloads may count, not what two models of the arm differ by.
            load = robot.base_wrench(tare.q) - robot.with_payloads(self.robot.payloads).base_wrench(tare.q)
            other.tare_state = replace(tare, reading=frozen(tare.reading + self.frame.from_base @ load))
            other._prepare()
        return other

    def copied(self, robot: Robot, **changes: Any) -> Self:
        """Return the same plate under another robot, untared and by the model.

        Args:
            robot: The robot.
            **changes: Arguments of BaseSensor that differ, such as bias or uncertainty.
        """
        frame = self.frame
        same = {
            "T_base_sensor": frame.T_base_sensor,
            "reads": frame.reads,
            "point": frame.point,
            "gain": frame.gain,
            "bias": frame.bias,
            "range": self.range,
            "uncertainty": self.variance.uncertainty,
            "terms": self.analyzer.terms,
            "online": self._settings,
        }
        return type(self)(robot, **(same | changes))

    def frozen_watch(self) -> FrozenWatch:
        """Return a watch without a past that notices when this plate repeats its readings although it should not."""
        return FrozenWatch(self._settings, noisy=bool(self.variance.uncertainty.noise.any()))

    def use_table(
        self,
        kind: Literal["trigonometric", "linear", "model"] = "trigonometric",
        *,
        spacing: npt.ArrayLike = GRID_SPACING,
        table: TrigonometricTable | LinearTable | None = None,
        position_dependent: bool = False,
    ) -> GravityWrench:
        """Take the gravity wrench from a table instead of the model.

        Args:
            kind: "trigonometric" (exact), "linear" (a grid, interpolated), or "model" to go back to the model.
            spacing: Distance of grid positions of a linear table [rad or m], one number or shape (n,).
            table: A table that was measured or loaded, of any kind; None to build one from the model.
            position_dependent: Only the components that depend on the pose; the tared forms need no more.

        Returns:
            The generator in use.

        Raises:
            InputError: An unknown kind, a table of another robot, mounting or payload, or one that is too large.
            ModelError: The robot has no masses, or a joint that mimics another and a trigonometric table.
        """
        generator: GravityWrench
        if table is not None:
            table.tag.refuse_other(self.robot)
            generator = table
        elif kind == "trigonometric":
            generator = TrigonometricTable.from_model(self.robot)
        elif kind == "linear":
            generator = LinearTable.from_model(self.robot, spacing)
        elif kind == "model":
            generator = ModelGravityWrench(self.robot)
        else:
            raise InputError(f"kind is {kind!r}; expected 'trigonometric', 'linear' or 'model'")
        if position_dependent:
            constant = generator.constant if isinstance(generator, TrigonometricTable) else None
            generator = PositionDependent(
                generator, constant_gravity_wrench(self.robot.tree) if constant is None else constant
            )
        self.compensator = GravityCompensator(generator)
        self._has_masses = self._has_masses or table is not None
        rest = table.residual_rms if isinstance(table, TrigonometricTable) else np.zeros(6)
        self.variance.table_variance = rest**2
        self._prepare()
        return generator

    # ---------------------------------------------------------------------------------------------------------- Results

    def forms(self) -> tuple[str, ...]:
        """Return the forms that can be computed now, the one that "auto" picks first."""
        return self._forms

    def resolved_form(self, form: str) -> str:
        """Return the form that "auto" stands for, or the form itself.

        Args:
            form: "auto", "full", "tared" or "tared+model".

        Raises:
            InputError: An unknown form, or one that needs a tare.
            ModelError: One that needs masses, of a robot without any.
        """
        ready = self.forms()
        if form in ("auto", None) and ready:
            return ready[0]
        if form in ready:
            return form
        if form not in (*FORMS, "auto"):
            raise InputError(f"form is {form!r}; expected 'auto', 'full', 'tared' or 'tared+model'")
        if form in ("full", "tared+model") and not self._has_masses:
            raise ModelError(
                f"form '{form}' needs a gravity model, and robot '{self.robot.name}' has no masses; give a description "
                "with masses, use_table() with a measured table, or tare() and form='tared'"
            )
        if form == "full":
            raise InputError(
                "form 'full' needs the whole gravity wrench, and only its position-dependent components are there; "
                "tare() and use 'tared+model', or use_table() without position_dependent"
            )
        needs = "a tare or masses" if form == "auto" else "a tare"
        raise InputError(f"form '{form}' needs {needs}: call tare(q, wrench) with a static reading first")

    def wrench(self, reading: npt.ArrayLike) -> Array:
        """Return what the plate exerts on the robot, base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            reading: Raw reading, shape (6,) or (k, 6).
        """
        return self.frame.wrench(reading)

    def matrix(self, q: npt.ArrayLike) -> Array:
        """Return A(q) of [Morel2000] eq. (14), shape (n, 6) or (k, n, 6), for wrenches in base axes at the base origin.

        Args:
            q: Joint positions, shape (n,) or (k, n).
        """
        return self.analyzer.matrix(np.asarray(q, dtype=np.float64))

    def std(
        self, q: npt.ArrayLike, form: str = "auto", *, acceleration: Array | None = None, includes_gravity: bool = False
    ) -> Array:
        """Return the standard deviations of joint_torques [N m or N], shape (n,) or (k, n).

        Args:
            q: Joint positions, shape (n,) or (k, n).
            form: The form.
            acceleration: Standard deviations of the accelerations, shape (n,); None where motion is not used.
            includes_gravity: Of τ_d + g instead of τ_d.
        """
        return self.std_of(
            np.asarray(q, dtype=np.float64), self.resolved_form(form), acceleration, 0.0, includes_gravity
        )

    def joint_torques(
        self,
        q: npt.ArrayLike,
        wrench: npt.ArrayLike,
        dq: npt.ArrayLike | None = None,
        ddq: npt.ArrayLike | None = None,
        form: str = "auto",
        out: Array | None = None,
    ) -> Array:
        """Return τ_d: the torques at the joints without what holds the robot's weight [N m, or N for linear joints].

        The torque at the joint is τ_d + gravity(q). Friction and rotor inertia are not in it: no plate feels them.

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            wrench: The plate's raw reading, force first [N, N m], in the sensor's axes and sign, shape (6,) or (k, 6).
            dq: Joint velocities, shape of q; None for zero. The kinematics-only form "tared" does not use it.
            ddq: Joint accelerations, shape of q; None for zero. The form "tared" does not use it.
            form: "full" (model, untared), "tared" (kinematics only), "tared+model" (difference of the model's gravity
                since the tare) or "auto": the last of them where a tare and masses exist, else what is there.
            out: Where to write the result; shape of q.

        Returns:
            Torques, shape (n,) or (k, n).

        Raises:
            InputError: A shape or an entry that cannot be, an unknown form, or a form that needs a tare and has none.
            ModelError: A form that needs masses, of a robot without any.
            PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
        """
        used = self.resolved_form(form)
        reading_to_wrench = self._readings_to_wrenches.get(used)
        if reading_to_wrench is None:
            reading_to_wrench = np.vstack([self.frame.to_base, self.offset(used)])
            self._readings_to_wrenches[used] = reading_to_wrench
        if self.analyzer.terms == Term.ALL and used == "tared":
            torques = self.robot.base_torques(q, wrench, out=out, frame=reading_to_wrench)
            # base_torques subtracts the model's weight, which the tare has done already. It is affine in the wrench,
            # and its value without any, -A(q) w_g(q), is that weight.
            torques -= self.robot.base_torques(q, NO_WRENCH)
            return torques
        if self.analyzer.terms == Term.ALL and isinstance(self.compensator.generator, ModelGravityWrench):
            return self.robot.base_torques(q, wrench, dq, ddq, out, frame=reading_to_wrench)
        positions = as_rows(q, "q", self.robot.joint_names)
        readings = as_rows(wrench, "wrench", WRENCH_COMPONENTS)
        refuse_wrench_shape(readings, positions)
        if out is not None:
            check_out(out, positions.shape, [readings])
        # Dot products of rows, not a matrix product: a row's bytes must not depend on how many there are.
        dynamic = np.einsum("...j,ij->...i", readings, reading_to_wrench[:6]) - reading_to_wrench[6]
        if used == "tared":
            return self.analyzer.torques(positions, dynamic, out=out)
        return self.analyzer.torques(positions, self.compensator.dynamic_wrench(positions, dynamic), dq, ddq, out)

    def estimate(
        self, sample: Sample, ddq: npt.ArrayLike | None = None, *, form: str = "auto", includes_gravity: bool = False
    ) -> TorqueEstimate:
        """Estimate the torques of one sample at control rate; samples are given in the order of their times.

        Args:
            sample: What the plant reports.
            ddq: Joint accelerations, shape (n,); None for those of the filter in torque_estimate.py.
            form: The form, as in joint_torques.
            includes_gravity: Add gravity(q): the torque at the joint instead of τ_d.

        Returns:
            Torques with standard deviations. A sample that cannot be used gives an invalid estimate, never an error.

        Raises:
            InputError: The form is unknown or not ready, or ``ddq`` does not fit.
            ModelError: A form that needs masses, of a robot without any.
        """
        return self._online.estimate(sample, ddq, form, includes_gravity)

    def reset(self) -> None:
        """Forget the past samples of :meth:`estimate`; the tare stays."""
        self._online.reset()

    def __repr__(self) -> str:
        """One line: robot, sign, tare, generator."""
        tared = "tared" if self.tare_state is not None else "untared"
        return f"<BaseSensor under '{self.robot.name}', reads {self.frame.reads}, {tared}>"

    # --------------------------------------------------------------------------------------------------- Implementation

    def offset(self, form: str) -> Array:
        """Return what a form subtracts from X · reading besides gravity [N, N m], shape (6,)."""
        tare = self.tare_state
        if form == "full" or tare is None:
            return np.asarray(self.frame.to_base @ self.frame.bias)
        static = np.asarray(self.frame.to_base @ tare.reading)
        return static if form == "tared" else static - self.compensator.generator.wrench(tare.q)

    def _prepare(self) -> None:
        """Work out which forms can be computed now, the one that "auto" picks first."""
        tared = self.tare_state is not None
        able = {
            "tared+model": tared and self._has_masses,
            "full": self._has_masses and self.compensator.generator.complete,
            "tared": tared,
        }
        self._forms = tuple(form for form, ready in able.items() if ready)
        self._readings_to_wrenches: dict[str, Array] = {}  # by form, shape (7, 6), the frame= of base_torques

    def std_of(self, q: Array, form: str, acceleration: Array | None, since: float, includes_gravity: bool) -> Array:
        """Return standard deviations of a resolved form, ``since`` seconds after the tare."""
        tare = self.tare_state if form != "full" else None
        return self.variance.std(
            q,
            zero_known=tare is not None,
            q_tare=tare.q if tare is not None and form == "tared+model" else None,
            gravity=form != "tared",
            tare_variance=None if tare is None else tare.reading_variance,
            since_tare=since,
            acceleration=acceleration,
            includes_gravity=includes_gravity,
        )


def _range(value: npt.ArrayLike | None) -> Array:
    array = np.full(6, np.inf) if value is None else np.asarray(value, dtype=np.float64)
    if array.shape != (6,) or not (array > 0.0).all():
        raise InputError(f"range is {np.asarray(value).tolist()}; expected six positive numbers [N, N m]")
    return frozen(array)
