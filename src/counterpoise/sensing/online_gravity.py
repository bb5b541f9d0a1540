"""Gravity that is learned while the arm works: one interface to the recursive estimator and to the published laws."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot, check_out
from ..errors import InputError
from ..foundation import Array
from ..recording import BAND, RestGatherer, Sample
from .center_of_mass import CenterOfMass, estimated_center
from .gravity_prior import PriorChoice
from .inverse_regressor import IntegratingGravity, InverseRegressor, TransposeRegressor
from .recursive import GAIN_STD, MEMORY, RecursiveGravity

Method = Literal["recursive", "inverse-regressor", "transpose-regressor"]


class OnlineGravity:
    """A running estimate of g(q), the torque that holds the arm.

    ::

        est = cp.OnlineGravity(robot, dt=1e-3)          # learns at held poses
        est.update(q, dq, tau)                          # every tick; or est.update(sample)
        est.gravity(q), est.std(q), est.novelty(q)      # at any pose

    Attributes:
        robot: The arm.
        dt: Time between two updates [s].
        method: Which estimator.
        estimator: The estimator itself, with what only it has: :class:`.RecursiveGravity`, :class:`.InverseRegressor`
            or :class:`.TransposeRegressor`.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        method: Method = "recursive",
        *,
        prior: PriorChoice | None = None,
        offset: bool = True,
        friction: bool = True,
        gain_std: float = GAIN_STD,
        hold_noise: npt.ArrayLike | None = None,
        memory: float = MEMORY,
        band: float = BAND,
        rests: RestGatherer | None = None,
        q_gain: npt.ArrayLike | None = None,
        kp: npt.ArrayLike | None = None,
        kd: npt.ArrayLike | None = None,
    ) -> None:
        """Begin to estimate.

        Args:
            robot: The arm; of the description, "recursive" uses the masses as a prior only.
            dt: Time between two updates [s].
            method: "recursive" learns base gravity parameters, offsets and friction from held poses (recursive.py);
                "inverse-regressor" is the law of [Jo], "transpose-regressor" the one it argues against
                (both in inverse_regressor.py): both learn one pose, from the position error.
            prior: Where it starts. Recursive: "cad" (also for None), "none", a calibration (Fit), or a Gaussian over
                the base gravity parameters. Published laws, ŝ_0: "none" (also for None), which is 0, or "cad".
            offset: Recursive: estimate a constant torque per joint.
            friction: Recursive: estimate the dry friction that helps to hold each joint, if there is any.
            gain_std: Recursive: standard deviation of the torque constants' relative errors; 0 where they are exact.
            hold_noise: Recursive: what a held pose leaves unexplained at first [N m or N], one or (n,); None for 0.2 %
                of the effort limits. It is learned.
            memory: Recursive: share of the old data's information that one more hold leaves.
            band: Recursive: change of position over 0.2 s up to which a joint stands [rad or m]; two counts of an
                encoder where that is more than the usual.
            rests: Recursive: what gathers the rests, where another estimator on the same samples has it already
                (``PayloadEstimator.rests``); :meth:`follow` then takes the place of :meth:`update`.
            q_gain: Published laws: Q [1/s], one or (n,); refused above half the stability bound.
            kp: Published laws: K_p of the position loop [N m/rad], one or (n,).
            kd: Published laws: K_d of the position loop [N m s/rad], one or (n,).

        Raises:
            InputError: An argument makes no sense, is missing, or belongs to another method.
            ModelError: The published laws need joints that turn and follow no other.
        """
        if not 1e-6 <= dt <= 1.0:
            raise InputError(f"dt is {dt!r}; expected a time from 1e-6 to 1 s")
        gains = {"q_gain": q_gain, "kp": kp, "kd": kd}
        self.robot, self.dt, self.method = robot, float(dt), method
        self._follows = rests is not None
        self.estimator: RecursiveGravity | IntegratingGravity
        if method == "recursive":
            given = [name for name, value in gains.items() if value is not None]
            if given:
                raise InputError(f"method='recursive' takes no {', '.join(given)}: only the published laws do")
            self.estimator = RecursiveGravity(
                robot,
                self.dt,
                prior="cad" if prior is None else prior,
                offset=offset,
                friction=friction,
                gain_std=gain_std,
                hold_noise=hold_noise,
                memory=memory,
                band=band,
                rests=rests,
            )
            return
        if rests is not None:
            raise InputError(f"method='{method}' learns from every sample, not from rests; leave rests= out")
        laws: dict[str, type[IntegratingGravity]] = {
            "inverse-regressor": InverseRegressor,
            "transpose-regressor": TransposeRegressor,
        }
        if method not in laws:
            raise InputError(f"method is {method!r}; expected 'recursive', {', '.join(map(repr, laws))}")
        if q_gain is None or kp is None or kd is None:
            raise InputError(f"method='{method}' needs q_gain=, kp= and kd=: it integrates the loop's position error")
        start: PriorChoice = "none" if prior is None else prior
        self.estimator = laws[method](robot, self.dt, prior=start, q_gain=q_gain, kp=kp, kd=kd)

    @property
    def learning(self) -> bool:
        """Whether the estimate changes with new samples; may be set."""
        return self.estimator.learning

    @learning.setter
    def learning(self, value: bool) -> None:
        self.estimator.learning = bool(value)

    def update(
        self,
        q: npt.ArrayLike | Sample,
        dq: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
        q_desired: npt.ArrayLike | None = None,
        *,
        flags: int = 0,
    ) -> None:
        """Take in one tick. Numbers that are missing or absurd are refused and counted, never raised.

        Args:
            q: Positions [rad or m], shape (n,); or a :class:`.Sample`, whose effort must be link-side torques.
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques of the actuators, link side [N m or N], shape (n,).
            q_desired: Where the position loop wants the joints, shape (n,); the published laws need it.
            flags: What the source knows to be wrong (SampleFlag); a sample brings its own.

        Raises:
            InputError: An array has the wrong shape or is missing.
        """
        if isinstance(q, Sample):
            sample = q
            q, dq, tau, flags = sample.q, sample.dq, sample.tau, int(sample.flags)
        estimator = self.estimator
        if isinstance(estimator, RecursiveGravity):
            if self._follows:
                raise InputError("the samples come from the gatherer given as rests=; call follow() after each of them")
            estimator.update(q, cast(npt.ArrayLike, dq), cast(npt.ArrayLike, tau), flags)
            return
        torque = None if tau is None else self._row(tau, "tau")
        estimator.update(self._row(q, "q"), self._row(dq, "dq"), torque, self._row(q_desired, "q_desired"), flags)

    def follow(self) -> None:
        """Take in one tick of the gatherer that was given as ``rests=``, after it was fed.

        Raises:
            InputError: None was given.
        """
        if not isinstance(self.estimator, RecursiveGravity) or not self._follows:
            raise InputError("there is no gatherer to follow; give one as rests=, or call update() with each sample")
        self.estimator.follow()

    def gravity(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Return the estimate of g(q) [N m or N], shape (n,) or (k, n).

        Args:
            q: Positions [rad or m], shape (n,) or (k, n).
            out: Where to write the result.
        """
        value = self.estimator.gravity(q)
        if out is None:
            return value
        result = check_out(out, value.shape, [np.asarray(q)])
        result[...] = value
        return result

    def std(self, q: npt.ArrayLike) -> Array:
        """Return its standard deviation [N m or N], shape (n,) or (k, n); infinite from the published laws.

        Args:
            q: Positions [rad or m], shape (n,) or (k, n).
        """
        return self.estimator.std(q)

    def novelty(self, q: npt.ArrayLike) -> float | Array:
        """Return how far a pose is from what was learned: 0 near the data, 1 where nothing was; a number or (k,).

        Args:
            q: Positions [rad or m], shape (n,) or (k, n).
        """
        return self.estimator.novelty(q)

    def center_of_mass(
        self, q: npt.ArrayLike, *, total_mass: float | None = None, total_mass_std: float = 0.0
    ) -> CenterOfMass:
        """Return the robot's true centre of mass at a pose, with its uncertainty (center_of_mass.py).

        Args:
            q: Positions [rad or m], shape (n,).
            total_mass: Mass of the whole robot [kg] where it was weighed, e.g. by the plate; None where it was not.
            total_mass_std: Standard deviation of that [kg].

        Raises:
            InputError: The method does not estimate parameters, or the description has no masses to share them out by.
        """
        estimator = self.estimator
        if not isinstance(estimator, RecursiveGravity):
            raise InputError(f"method='{self.method}' learns one pose, no masses; use method='recursive'")
        b = estimator.states.base
        return estimated_center(
            self.robot,
            q,
            estimator.parameters[:b],
            estimator.covariance[:b, :b],
            total_mass=total_mass,
            total_mass_std=total_mass_std,
        )

    def _row(self, value: object, name: str) -> Array:
        """Return n numbers as a float64 array; NaN and infinity pass, the estimator refuses those by itself."""
        if value is None:
            raise InputError(f"{name} is missing; method='{self.method}' needs it")
        try:
            row = np.ascontiguousarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name} is not a list of numbers: {error}") from error
        if row.shape != (self.robot.n,):
            raise InputError(f"{name} has shape {row.shape}; expected ({self.robot.n},)")
        return row
