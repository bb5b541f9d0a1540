r"""What poses at rest tell about the baseline and about a load: sums that never grow.

At rest the residual of pose k, measured less what the robot's model gives, is

.. math:: r_k = \begin{bmatrix} \tau - g(q) \\ w - w_g(q) \end{bmatrix} = H_k z + H_k T p + e_k

z holds what the **baseline** may be wrong in: four gravity parameters per moving body, an offset and a dry friction per
joint, the plate's zero. Its prior covariance is the calibration's, or that of a description. p is a load's [m, μ]; T
says which entries of z a load at each place resembles, so no further columns are needed.

A joint that comes to rest is held by friction on the side it came from: the motor still pushes the way it went. Its
column of H is that side, +1 or −1, and its share of z the friction there. What changes from pose to pose is left for
e_k: ``scatter`` where the side is known, the whole band where it is not.

All that generalised least squares needs are Λ = Σ HᵀR⁻¹H, η = Σ HᵀR⁻¹r, Σ rᵀR⁻¹r and the number of rows. They are kept
in units of the baseline's prior: z has the prior covariance 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..calibration.estimate import COMMAND_UNITS
from ..calibration.prior import COM_SHARE, LEAST_BODY_SHARE, MASS_SHARE, arm_reach
from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..dynamics.tree import BASE
from ..errors import InputError
from .payload_places import Places

if TYPE_CHECKING:
    from ..calibration.fit import Fit

SIDE_SHARE = 0.3
"""What of the friction band varies from pose to pose when the side is known. Ordinary motions of the simulated WAM and
PUMA to 25 poses leave 0.05 to 0.29 of it (studies/payload.py)."""
PLATE_ZERO_STD = np.array([200.0, 200.0, 200.0, 100.0, 100.0, 100.0])
"""Zero of a plate of which nothing is known [N, N m]: poses before the grasp tell it."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over poses, in units of the baseline's prior.

    Attributes:
        information: Λ, shape (d, d).
        vector: η, shape (d,).
        square: Σ rᵀR⁻¹r.
        rows: How many numbers were measured.
    """

    information: Array
    vector: Array
    square: Array
    rows: Array

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over both."""
        return Sums(
            self.information + other.information,
            self.vector + other.vector,
            self.square + other.square,
            self.rows + other.rows,
        )

    def scaled(self, share: float) -> Sums:
        """Return a share of what was learnt, for forgetting."""
        return Sums(share * self.information, share * self.vector, share * self.square, share * self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """How well the empty arm is known, and the matrices that follow from it.

    Attributes:
        places: Where a load may sit.
        root: Square root of the prior covariance of z: z = root @ (a vector of unit covariance), shape (d, d).
        loads: root⁻¹ T, four columns per place, shape (d, 4 l).
        band: Torque that friction may hold at rest, ± [N m or N], shape (n,).
        scatter: What of it changes from pose to pose when the side is known [N m or N], shape (n,).
        wrench_std: Scatter of the plate's reading from pose to pose [N, N m], shape (6,).
    """

    places: Places
    root: Array
    loads: Array
    band: Array
    scatter: Array
    wrench_std: Array

    @property
    def size(self) -> int:
        """Number of unknowns of the baseline, d."""
        return len(self.root)

    def nothing(self) -> Sums:
        """Return the sums over no poses."""
        return Sums(np.zeros((self.size, self.size)), np.zeros(self.size), np.zeros(()), np.zeros(()))

    def sums(
        self,
        q: Array,
        tau: Array,
        *,
        tau_std: Array | None = None,
        wrench: Array | None = None,
        side: Array | None = None,
        used: npt.NDArray[np.bool_] | None = None,
    ) -> Sums:
        """Return the sums over one pose.

        Args:
            q: Position [rad or m], shape (n,).
            tau: Mean torque of the actuators [N m or N], shape (n,); NaN where it is not measured.
            tau_std: Standard error of that mean by noise alone, shape (n,); None for none.
            wrench: Wrench that the plate exerts on the robot, base axes, base origin [N, N m], shape (6,); None where
                there is no plate.
            side: Side from which each joint came to rest, +1 moving upwards, −1 downwards, 0 unknown, shape (n,); None
                where nothing is known.
            used: Which joints count, shape (n,); None for all that are measured.
        """
        robot = self.places.robot
        n, moving = robot.n, 4 * robot.tree.bodies
        H = np.zeros((n + (6 if wrench is not None else 0), self.size))
        H[:n, :moving] = robot.gravity_regressor(q)
        H[np.arange(n), moving + np.arange(n)] = 1.0
        residual = np.empty(len(H))
        residual[:n] = tau - robot.gravity(q)
        deviation = np.empty(len(H))
        deviation[:n] = self.band
        if side is not None:
            H[np.arange(n), moving + n + np.arange(n)] = side
            deviation[:n] = np.where(side == 0.0, self.band, self.scatter)
        if tau_std is not None:
            deviation[:n] = np.hypot(deviation[:n], np.nan_to_num(tau_std))
        counts = np.isfinite(residual[:n]) if used is None else np.isfinite(residual[:n]) & used
        if wrench is not None:
            W = robot.base_wrench_regressor(q).reshape(6, -1, 10)[:, 1:, :4]
            H[n:, :moving] = W.reshape(6, moving)
            H[np.arange(n, n + 6), moving + 2 * n + np.arange(6)] = 1.0
            residual[n:] = wrench - robot.base_wrench(q)
            deviation[n:] = self.wrench_std
            counts = np.concatenate([counts, np.ones(6, dtype=bool)])
        H, residual = H[counts] / deviation[counts, None], residual[counts] / deviation[counts]
        H = H @ self.root
        return Sums(H.T @ H, H.T @ residual, np.asarray(residual @ residual), np.asarray(float(len(residual))))

    def uncertainty(self, total: Sums) -> Array:
        """Return the covariance of z after all poses of ``total``, shape (d, d)."""
        return np.asarray(np.linalg.inv(total.information + np.eye(self.size)))

    def load_information(self, total: Sums, loaded: Sums, uncertainty: Array | None = None) -> tuple[Array, Array]:
        """Return S (l, 4, 4) and t (l, 4): what is known of a load at each place, baseline integrated out.

        Args:
            total: Sums over all poses that the baseline is learnt from, loaded ones included.
            loaded: Sums over the poses at which the load is carried, part of ``total``.
            uncertainty: ``uncertainty(total)`` where it is at hand already.
        """
        inverse = self.uncertainty(total) if uncertainty is None else uncertainty
        places = self.loads.shape[1] // 4
        U = loaded.information @ self.loads
        by_place = np.moveaxis(U.reshape(*U.shape[:-1], places, 4), -2, -3)  # (…, l, d, 4)
        solved = np.moveaxis((inverse @ U).reshape(*U.shape[:-1], places, 4), -2, -3)
        T = np.moveaxis(self.loads.reshape(self.size, places, 4), 1, 0)
        S = np.swapaxes(T, -1, -2) @ by_place - np.swapaxes(by_place, -1, -2) @ solved
        t = (loaded.vector @ self.loads).reshape(*U.shape[:-2], places, 4)
        t = t - (np.swapaxes(solved, -1, -2) @ total.vector[..., None, :, None])[..., 0]
        return S, t

    def log_empty(self, sums: Sums) -> Array:
        """Return the log-evidence of poses without a load, up to a constant per row of data."""
        matrix = sums.information + np.eye(self.size)
        explained = np.einsum("...i,...i->...", sums.vector, np.linalg.solve(matrix, sums.vector[..., None])[..., 0])
        return np.asarray(-0.5 * (sums.square - explained) - 0.5 * np.linalg.slogdet(matrix)[1])

    def misfit(self, sums: Sums) -> tuple[float, float]:
        """Return Σ rᵀR⁻¹r that the baseline's errors do not explain, and the rows that are left to show it."""
        inverse = np.linalg.inv(sums.information + np.eye(self.size))
        used = float(np.einsum("ij,ji->", inverse, sums.information))
        return float(sums.square - sums.vector @ inverse @ sums.vector), max(float(sums.rows) - used, 0.0)


def baseline_of(
    places: Places,
    *,
    band: Array,
    scatter: Array,
    wrench_std: Array,
    fit: Fit | None = None,
    plate_zero_std: Array = PLATE_ZERO_STD,
) -> Baseline:
    """Return how well the empty arm is known.

    Args:
        places: Where a load may sit.
        band: Torque that friction may hold at rest, ± [N m or N], shape (n,); also the deviation of constant offsets.
        scatter: What of it changes from pose to pose when the side is known [N m or N], shape (n,).
        wrench_std: Scatter of the plate's reading from pose to pose [N, N m], shape (6,).
        fit: A calibration, whose covariance is taken over; None for a description, off by MASS_SHARE in masses and
            COM_SHARE of the reach in centres of mass.
        plate_zero_std: Of the plate's zero [N, N m], shape (6,).
    """
    robot = places.robot
    n, moving = robot.n, 4 * robot.tree.bodies
    covariance = np.zeros((moving + 2 * n + 6,) * 2)
    bodies = _description_covariance(robot)
    if fit is not None:
        bodies = np.asarray(np.linalg.inv(np.linalg.inv(bodies) + _fit_information(robot, fit)))
    covariance[:moving, :moving] = 0.5 * (bodies + bodies.T)
    covariance[moving:, moving:] = np.diag(np.concatenate([band, band, plate_zero_std]) ** 2)
    root = np.asarray(np.linalg.cholesky(covariance + 1e-18 * np.eye(len(covariance))))
    T = np.zeros((len(root), 4 * len(places.links)))
    for place, body in enumerate(places.bodies):
        if body == BASE:
            # A load on the base link adds a constant wrench: exactly what another zero of the plate would be.
            T[moving + 2 * n :, :4] = robot.base_wrench_regressor(np.zeros(n))[:, :4]
        else:
            T[4 * body : 4 * body + 4, 4 * place : 4 * place + 4] = np.eye(4)
    return Baseline(places, root, np.asarray(np.linalg.solve(root, T)), band, scatter, wrench_std)


def refuse_other_fit(robot: Robot, fit: Fit) -> None:
    """Refuse a calibration that cannot be this robot's baseline.

    Raises:
        InputError: It is another robot's, or in units that are no torques.
    """
    if fit.robot.joint_names != robot.joint_names:
        raise InputError(f"the calibration is of '{fit.robot.name}'; expected one of '{robot.name}'")
    if fit.units == COMMAND_UNITS:
        raise InputError("the calibration is in command units, not in torques; a payload in kg cannot be found with it")


def _description_covariance(robot: Robot) -> Array:
    """Return the covariance of a description's gravity parameters: density and place of every body, shape (4b, 4b)."""
    tree = robot.tree
    total, reach = float(tree.mass.sum()), arm_reach(robot) or 1.0
    if not total > 0.0:
        raise InputError(f"robot '{robot.name}' has no masses; a payload is found as a change against a known arm")
    parameters = robot.gravity_parameters.reshape(-1, 4)
    covariance = np.zeros((4 * tree.bodies,) * 2)
    for body, own in enumerate(parameters):
        mass = max(float(own[0]), LEAST_BODY_SHARE * total)
        density = MASS_SHARE * (own * (mass / own[0]) if own[0] > 0.0 else np.array([mass, 0.0, 0.0, 0.0]))
        shift = np.diag([0.0, *[mass * COM_SHARE * reach] * 3])
        at = slice(4 * body, 4 * body + 4)
        covariance[at, at] = np.outer(density, density) + shift**2 + np.diag([(1e-3 * mass) ** 2, 0.0, 0.0, 0.0])
    return covariance


def _fit_information(robot: Robot, fit: Fit) -> Array:
    """Return what a calibration knows of the gravity parameters, shape (4b, 4b)."""
    refuse_other_fit(robot, fit)
    base = robot.base_parameters
    names = [parameter.name for parameter in fit.parameters]
    known = [name for name in base.names if name in names and np.isfinite(fit.parameters[names.index(name)].std)]
    at = [names.index(name) for name in known]
    covariance = fit.covariance[np.ix_(at, at)]
    G = base.regrouping[[base.names.index(name) for name in known]]
    floor = np.diag(1e-6 * np.diag(covariance))
    return np.asarray(G.T @ np.linalg.solve(covariance + floor, G))
