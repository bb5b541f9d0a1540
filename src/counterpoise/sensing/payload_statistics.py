r"""What poses at rest tell about the baseline and about a load: sums that never grow, over the places of a load.

At rest the residual of pose k, measured less what the robot's model gives, is

.. math:: r_k = \begin{bmatrix} \tau - g(q) \\ w - w_g(q) \end{bmatrix} = H_k z + H_k T p + e_k

z holds what the **baseline** may be wrong in: four gravity parameters per moving body, an offset, a dry friction, a
torque constant and a friction by load per joint, the plate's zero, its drift, and what of a moment its forces show. Its
prior covariance is the calibration's, or that of a description. p is a load's [m, μ]; T says which entries of z a load
at each place resembles, so no further columns are needed.

A joint that comes to rest is held by friction on the side it came from: the motor still pushes the way it went. Its
column of H is that side, from −1 to +1, and its share of z the friction there. Gears rub harder under load: a second
column is the side times the torque. Torque constants are off by some percent, which acts on the arm's own weight as on
the load: one more unknown per joint, whose column is the torque. These errors are the same at every pose; taken for
noise they would look averaged out where they are not. What changes from pose to pose is left for e_k: ``scatter``,
ripple, and the part of the band by which the side is not known.

All that generalised least squares needs are Λ = Σ HᵀR⁻¹H, η = Σ HᵀR⁻¹r, Σ rᵀR⁻¹r and the number of rows. They are kept
in units of the baseline's prior: z has the prior covariance 1.

**Places** where a payload may sit are one per body, with its size, and what joint torques can tell about a load there.
A load fixed to body k changes the gravity torques by Y(q)[:, 4k : 4k+4] p with p = [m, m c], its mass and first moment
in the joint frame: the same columns that multiply the body's own parameters. How much of p the joints feel is the rank
of the base parameters' regrouping G restricted to these four columns. Where the mass column adds nothing to the three
moment columns, the mass itself stays unknown, whatever the poses; a plate under the base weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dynamics import BASE, GRAVITY_PARAMETERS, Robot, refuse_command_units
from ..errors import InputError
from ..fitting import arm_reach, parameter_covariance
from ..foundation import Array, frozen

if TYPE_CHECKING:
    from ..identification import Fit


OFFSET_SHARE = 0.15
"""How far beside its link a payload's centre of mass may be, as a share of the arm's reach."""
LEAST_OFFSET = 0.05
"""... and at least this far [m]."""
RANK_TOLERANCE = 1e-9
"""Relative size below which a combination counts as not felt."""
READABLE = 5e-3
"""A term is left out of a combination's text where its share is below this."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Places where a payload may sit: the base link first, then every moving body. l = b + 1.

    Attributes:
        robot: The arm.
        links: Name of the link that stands for each place: the first of the links that are fixed together.
        bodies: Body of each place, BASE for the base link, shape (l,).
        centre: Where loads are expected there, joint frame (base frame for the base) [m], shape (l, 3).
        radius: How far from it their centre of mass may lie [m], shape (l,).
        felt: How many of the four numbers joint torques can tell, 0 to 4, shape (l,).
        mass_felt: Whether the mass itself is among them, shape (l,).
    """

    robot: Robot
    links: tuple[str, ...]
    bodies: tuple[int, ...]
    centre: Array
    radius: Array
    felt: tuple[int, ...]
    mass_felt: tuple[bool, ...]

    def neighbours(self, first: str, second: str) -> bool:
        """Tell whether two places are the same, or one joint apart."""
        a, b = (self.bodies[self.links.index(name)] for name in (first, second))
        parent = self.robot.tree.parent
        return a == b or (b != BASE and int(parent[b]) == a) or (a != BASE and int(parent[a]) == b)

    def identifiable_links(self) -> tuple[str, ...]:
        """Return the links on which joint torques alone can tell the mass of a load."""
        return tuple(link for link, felt in zip(self.links, self.mass_felt, strict=True) if felt)

    def com_in_link(self, place: int, com: Array) -> Array:
        """Return a point given in the place's joint frame in its link's frame [m], shape (3,)."""
        tree = self.robot.tree
        body = self.bodies[place]
        if body == BASE:
            return np.asarray(com)
        at = tree.link_names.index(self.links[place])
        return np.asarray(tree.link_rotation[at].T @ (tree.joint_rotation[body] @ com - tree.link_origin[at]))

    def rotation_to_link(self, place: int) -> Array:
        """Return the rotation from the place's joint frame to its link's frame, shape (3, 3)."""
        tree = self.robot.tree
        body = self.bodies[place]
        if body == BASE:
            return np.eye(3)
        return np.asarray(tree.link_rotation[tree.link_names.index(self.links[place])].T @ tree.joint_rotation[body])

    def combinations(self, place: int) -> tuple[tuple[Array, str], ...]:
        """Return what joint torques can tell of a load there: coefficients of [m, mx, my, mz], and the text."""
        body = self.bodies[place]
        if body == BASE:
            return ()
        columns = self.robot.base_parameters.regrouping[:, 4 * body : 4 * body + 4]
        return tuple((row, _as_text(row)) for row in _echelon(columns))


def places_of(robot: Robot) -> Places:
    """Find where a robot may carry a payload.

    Args:
        robot: The arm.
    """
    tree, reach = robot.tree, arm_reach(robot)
    beside = max(OFFSET_SHARE * reach, LEAST_OFFSET)
    regrouping = robot.base_parameters.regrouping
    bodies = (BASE, *range(tree.bodies))
    centres, radii, felt, mass_felt, links = [], [], [], [], []
    link_body = tree.link_body.tolist()
    for body in bodies:
        points = [np.zeros(3)]
        for child in np.flatnonzero(tree.parent == body):
            points.append(tree.origin[child])
        for at, owner in enumerate(link_body):
            if owner == body:
                points.append(tree.link_origin[at])
        # Points are in the body frame; the parameters, and so the centre, are in the joint frame.
        to_joint = np.eye(3) if body == BASE else tree.joint_rotation[body].T
        cloud = np.array(points) @ to_joint.T
        middle = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
        centres.append(middle)
        radii.append(float(np.max(np.linalg.norm(cloud - middle, axis=1))) + beside)
        columns = regrouping[:, 4 * body : 4 * body + 4] if body != BASE else np.zeros((1, 4))
        felt.append(_rank(columns))
        mass_felt.append(_rank(columns) > _rank(columns[:, 1:]))
        links.append(tree.link_names[link_body.index(body)])
    return Places(robot, tuple(links), bodies, frozen(centres), frozen(radii), tuple(felt), tuple(mass_felt))


def _rank(matrix: Array) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=RANK_TOLERANCE)) if matrix.size else 0


def _echelon(matrix: Array) -> Array:
    """Return the reduced row echelon form, moments first, so that each combination is one moment plus shares."""
    order = [1, 2, 3, 0]
    rows = np.array(matrix[:, order], dtype=np.float64)
    done = 0
    for column in range(4):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) < RANK_TOLERANCE:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        for other in range(len(rows)):
            if other != done:
                rows[other] -= rows[other, column] * rows[done]
        done += 1
    found = np.zeros((done, 4))
    found[:, order] = rows[:done]
    return found


def _as_text(row: Array) -> str:
    terms: list[str] = []
    for share, name in sorted(zip(row.tolist(), GRAVITY_PARAMETERS, strict=True), key=lambda term: -abs(term[0])):
        if abs(share) < READABLE:
            continue
        sign = ("−" if share < 0.0 else "") if not terms else (" − " if share < 0.0 else " + ")
        size = "" if abs(abs(share) - 1.0) < READABLE else f"{abs(share):.2g}·"
        terms.append(f"{sign}{size}{name}")
    return "".join(terms)


SIDE_SHARE = 0.15
"""What of the friction band varies from pose to pose when the side is known. Motions of the simulated WAM and PUMA to
design poses, loaded and empty, leave 0.06 to 0.22 of it per joint (docs/payload-and-contact.md)."""
CONSTANT_STD = 0.02
"""Of torque constants, as a share."""
LOAD_FRICTION_STD = 0.02
"""Of the friction that a gear adds per torque that it transmits."""
RIPPLE = 0.01
"""Of a torque, root mean square over poses, as a share: ripple of motors and amplifiers."""
TOUCH_BANDS = 5.0
"""Size of an outside touch, in friction bands of each joint."""
TOUCH_WRENCH = np.array([50.0, 50.0, 50.0, 30.0, 30.0, 30.0])
"""... and on the plate [N, N m]."""
DRIFT_STD = np.array([0.5, 0.5, 0.5, 0.05, 0.05, 0.05])
"""Of the drift of a plate's zero [N/min, N m/min]: a load is weighed against poses of some minutes ago."""
CROSSTALK_STD = 5e-3
"""Of what a plate's forces show of a moment [N per N m]."""
PLATE_STATES = 21
"""Unknowns of the plate: six zeros, six drifts, nine shares of moments in forces."""
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
        touched: Log-evidence of the same rows where somebody touches the arm, another way at every pose.
    """

    information: Array
    vector: Array
    square: Array
    rows: Array
    touched: Array

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over both."""
        return Sums(
            self.information + other.information,
            self.vector + other.vector,
            self.square + other.square,
            self.rows + other.rows,
            self.touched + other.touched,
        )

    def scaled(self, share: float) -> Sums:
        """Return a share of what was learnt, for forgetting."""
        scaled = (share * part for part in (self.information, self.vector, self.square, self.rows, self.touched))
        return Sums(*scaled)


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
        return Sums(np.zeros((self.size, self.size)), np.zeros(self.size), *(np.zeros(()) for _ in range(3)))

    def sums(
        self,
        q: Array,
        tau: Array,
        *,
        tau_std: Array | None = None,
        wrench: Array | None = None,
        side: Array | None = None,
        side_std: Array | None = None,
        time: float = 0.0,
        used: npt.NDArray[np.bool_] | None = None,
    ) -> Sums:
        """Return the sums over one pose.

        Args:
            q: Position [rad or m], shape (n,).
            tau: Mean torque of the actuators [N m or N], shape (n,); NaN where it is not measured.
            tau_std: Standard error of that mean by noise alone, shape (n,); None for none.
            wrench: Wrench that the plate exerts on the robot, base axes, base origin [N, N m], shape (6,); None where
                there is no plate.
            side: Share of the friction that each joint rests on, +1 where it came upwards, −1 downwards, shape (n,);
                None where nothing is known.
            side_std: Its uncertainty, shape (n,); None for 1 where the side is 0, else none.
            time: When it was held [s], since any instant; the plate's zero drifts.
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
        joints = np.arange(n)
        side = np.zeros(n) if side is None else side
        unsure = np.where(side == 0.0, 1.0, 0.0) if side_std is None else side_std
        size = np.nan_to_num(tau, posinf=0.0, neginf=0.0)
        H[joints, moving + n + joints] = side
        H[joints, moving + 2 * n + joints] = size
        H[joints, moving + 3 * n + joints] = side * np.abs(size)
        variance = self.scatter**2 + (unsure * self.band) ** 2 + (RIPPLE * size) ** 2
        if tau_std is not None:
            variance += np.nan_to_num(tau_std) ** 2
        deviation[:n] = np.sqrt(variance)
        touch = TOUCH_BANDS * self.band
        counts = np.isfinite(residual[:n]) if used is None else np.isfinite(residual[:n]) & used
        if wrench is not None:
            W = robot.base_wrench_regressor(q).reshape(6, -1, 10)[:, 1:, :4]
            H[n:, :moving] = W.reshape(6, moving)
            plate, six = moving + 4 * n, np.arange(6)
            H[n + six, plate + six] = 1.0
            H[n + six, plate + 6 + six] = time / 60.0
            for axis in range(3):
                H[n + axis, plate + 12 + 3 * axis : plate + 15 + 3 * axis] = wrench[3:]
            residual[n:] = wrench - robot.base_wrench(q)
            deviation[n:] = self.wrench_std
            counts = np.concatenate([counts, np.ones(6, dtype=bool)])
            touch = np.concatenate([touch, TOUCH_WRENCH])
        H, residual = H[counts] / deviation[counts, None], residual[counts] / deviation[counts]
        H = H @ self.root
        wider = 1.0 + (touch[counts] / deviation[counts]) ** 2
        touched = -0.5 * np.sum(np.log(wider) + residual**2 / wider)
        count = np.asarray(float(len(residual)))
        return Sums(H.T @ H, H.T @ residual, np.asarray(residual @ residual), count, np.asarray(touched))

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

    def with_fresh_zero(self, sums: Sums) -> Sums:
        """Return what poses tell of all but the plate's zero and drift: those of some minutes ago are another's."""
        old = slice(self.size - PLATE_STATES, self.size - PLATE_STATES + 12)
        solved = np.linalg.solve(
            sums.information[old, old] + np.eye(12), np.column_stack([sums.information[old], sums.vector[old]])
        )
        information = sums.information - sums.information[:, old] @ solved[:, :-1]
        vector = sums.vector - sums.information[:, old] @ solved[:, -1]
        square = sums.square - sums.vector[old] @ solved[:, -1]
        information[old], information[:, old], vector[old] = 0.0, 0.0, 0.0
        return Sums(information, vector, np.asarray(square), sums.rows, sums.touched)

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
        fit: A calibration, whose covariance is taken over; None for a description (fitting/prior.py).
        plate_zero_std: Of the plate's zero [N, N m], shape (6,).

    Raises:
        InputError: The robot has no masses, or the calibration is not its own.
    """
    robot = places.robot
    n, moving = robot.n, 4 * robot.tree.bodies
    covariance = np.zeros((moving + 4 * n + PLATE_STATES,) * 2)
    if not robot.tree.mass.any():
        raise InputError(f"robot '{robot.name}' has no masses; a payload is found as a change against a known arm")
    bodies = parameter_covariance(robot, tool=False)  # a tool that the description does not know is what is looked for
    if fit is not None:
        bodies = np.asarray(np.linalg.inv(np.linalg.inv(bodies) + _fit_information(robot, fit)))
    covariance[:moving, :moving] = 0.5 * (bodies + bodies.T)
    joints = [band, band, np.full(n, CONSTANT_STD), np.full(n, LOAD_FRICTION_STD)]
    plate = [plate_zero_std, DRIFT_STD, np.full(9, CROSSTALK_STD)]
    covariance[moving:, moving:] = np.diag(np.concatenate([*joints, *plate]) ** 2)
    root = np.asarray(np.linalg.cholesky(covariance + 1e-18 * np.eye(len(covariance))))
    T = np.zeros((len(root), 4 * len(places.links)))
    for place, body in enumerate(places.bodies):
        if body == BASE:
            # A load on the base link adds a constant wrench: exactly what another zero of the plate would be.
            T[moving + 4 * n : moving + 4 * n + 6, :4] = robot.base_wrench_regressor(np.zeros(n))[:, :4]
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
    refuse_command_units(fit.robot)


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
