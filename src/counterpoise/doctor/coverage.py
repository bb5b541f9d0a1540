"""Whether a recording covers enough to tell gravity: excitation, friction's band, joint stops, paths that repeat.

- **Excitation**: whether a recording can tell more about gravity than the model already knows. The unknowns are the
  base gravity parameters. The model knows them with the spread of doctor/priors.py; the recording knows them through
  its regressor, with an offset and friction of every joint left open. What counts is what both say about the gravity
  torque at poses all over the joints' ranges. The part of the efforts that accelerations ask for is modelled by signals
  that also serve models whose inertias cannot be trusted (``inertial_signals``).
- **Friction**: how wide its band is, and whether standing poses were all reached from one side of it.
- **Joint stops**: where a stop carries part of the load, the drives' efforts do not.
- **Path**: whether its last part is new, so that a check on it shows anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics import Robot, effort_units
from ..errors import PhysicalConsistencyError
from ..foundation import Array
from ..recording import EARLIER_SHARE, Log, Motion, Rest, find_rests, novelty
from .finding import Consequence, Finding, LogFault, listed, percent, short
from .priors import INDEPENDENT_RATE, parameter_spread


def inertial_signals(robot: Robot, q: Array, dq: Array, ddq: Array) -> Array:
    """Return two signals per joint that go with accelerations, shape (k, n, 2), each to be scaled by a fit.

    The first is M(q) ddq + C(q, dq) dq of the model [N m or N], 0 where the model's inertias belong to no real body and
    dynamics are refused. The second is the joint's own acceleration [rad/s² or m/s²]: its rotor's inertia, which files
    often leave out, multiplies it.

    Args:
        robot: The model.
        q: Positions [rad or m], shape (k, n).
        dq: Velocities [rad/s or m/s], shape (k, n).
        ddq: Accelerations [rad/s² or m/s²], shape (k, n).
    """
    try:
        torque = robot.inverse_dynamics(q, dq, ddq) - robot.gravity(q)
    except PhysicalConsistencyError:
        torque = np.zeros_like(ddq)
    return np.stack([torque, ddq], axis=2)


LEAST_ROWS = 6
"""Fewest rows that are judged."""
POSES = 200
"""Random poses over the joints' ranges at which gravity is asked for."""
POINTS = 600
"""Points of the recording that stand for it."""
NOT_LEARNT = 0.83
"""Share of the model's own uncertainty left after the recording from which the recording taught too little."""
MATTERS = 0.02
"""Uncertainty of a joint's gravity torque, as a share of the largest torque of that joint over its range, from which it
is asked for at all."""
CONSTANT = 0.05
"""Range of a joint's gravity torque, as a share of its largest, below which it is constant by construction (a vertical
lift): an offset says all of it, and no motion could say more."""
HARDLY_MOVED = 0.1
"""Range of a joint that is named as hardly moved [rad or m]."""
NOISE = 0.03
"""Noise of an effort, as a share of the joint's largest gravity torque over its range: of a fair drive. The recording's
own noise is not used, so that this finding is about the motion and not about the sensor or friction."""


@dataclass(frozen=True, slots=True, eq=False)
class Excitation:
    """What a recording teaches about gravity.

    Attributes:
        before: Standard deviation of each joint's gravity torque over its range by the model alone [N m or N], (n,).
        after: The same with the recording [N m or N], shape (n,).
        largest: Largest gravity torque of each joint over its range [N m or N], shape (n,).
        swing: Range of each joint's gravity torque over its range [N m or N], shape (n,).
        condition: Condition number of the recording's regressor, columns scaled by the model's spread.
        weakest: Names of the base parameters that weigh most in the combination that the recording teaches least about.
    """

    before: Array
    after: Array
    largest: Array
    swing: Array
    condition: float
    weakest: tuple[str, ...]


def excitation(robot: Robot, motion: Motion) -> Excitation | None:
    """Return what a recording teaches about gravity; None where no joint feels gravity or no effort was measured.

    Args:
        robot: The model.
        motion: The recording's motion at even times.
    """
    joints = np.flatnonzero(motion.effort_measured)
    rows = np.flatnonzero(motion.usable)
    basis = robot.base_parameters
    if len(rows) < LEAST_ROWS or len(joints) == 0 or not basis.names:
        return None
    picked = rows[np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(np.int64))]
    spread = basis.regrouping @ _gravity_spread(robot)
    left, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    root = left * sizes  # root rootᵀ: covariance of the base parameters by the model
    regressor = robot.base_gravity_regressor(motion.q[picked])
    inertial = inertial_signals(robot, motion.q[picked], motion.dq[picked], motion.ddq[picked])
    poses = _poses(robot)
    asked = robot.base_gravity_regressor(poses)
    largest = np.abs(robot.gravity(poses)).max(axis=0)
    information = np.zeros((root.shape[1], root.shape[1]))
    weight = min(1.0, INDEPENDENT_RATE * len(rows) * motion.dt / len(picked))
    for joint in joints:
        side, dq = motion.direction[picked, joint], motion.dq[picked, joint]
        nuisance = np.column_stack([np.ones(len(picked)), side, dq, inertial[:, joint]])
        noise = NOISE * max(float(largest[joint]), 1e-3 * float(largest.max()))
        open_columns = _span(nuisance)
        columns = regressor[:, joint] @ root
        columns = columns - open_columns @ (open_columns.T @ columns)
        information += weight * columns.T @ columns / noise**2
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    before = np.sqrt(np.mean(np.sum((asked @ root) ** 2, axis=2), axis=0))
    after = np.sqrt(np.mean(np.sum((asked @ (root @ vectors / np.sqrt(1.0 + values))) ** 2, axis=2), axis=0))
    # Of all combinations, the one that leaves most uncertainty in the torques that are asked for.
    left_over = np.mean(np.sum((asked @ (root @ vectors / np.sqrt(1.0 + values))) ** 2, axis=1), axis=0)
    direction = np.abs(vectors[:, int(left_over.argmax())] @ root.T / np.linalg.norm(root, axis=1))
    order = np.argsort(direction)[::-1]
    weakest = tuple(basis.names[index] for index in order[:4] if direction[index] > 0.3)
    condition = math.sqrt(float(values[-1] / values[0])) if values[0] > 0.0 else math.inf
    swing = np.ptp(robot.gravity(poses), axis=0)
    return Excitation(before, after, largest, swing, condition, weakest)


def check_excitation(robot: Robot, log: Log, motion: Motion) -> list[Finding]:
    """Name joints about whose gravity the recording says less than the model does.

    Found: joints whose gravity torque over their range is, with the recording, still more than NOT_LEARNT as uncertain
    as by a model good to 10 % in mass and 10 mm in centre of mass. What is asked is gravity everywhere; for a few poses
    near the recorded ones less will do.

    Args:
        robot: The model.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times.
    """
    found = excitation(robot, motion)
    if found is None:
        return []
    held = log.declared.held
    asked = found.before > MATTERS * np.maximum(found.largest, 1e-9)
    asked &= found.before > MATTERS * float(found.before.max(initial=0.0))
    asked &= np.array([name not in held for name in robot.joint_names])
    asked &= found.swing > CONSTANT * np.maximum(found.largest, 1e-9)
    left = np.divide(found.after, found.before, out=np.zeros(robot.n), where=found.before > 0.0)
    joints = np.flatnonzero(asked & (left > NOT_LEARNT))
    if len(joints) == 0:
        return []
    names = tuple(robot.joint_names[joint] for joint in joints)
    still = [
        name for joint, name in enumerate(robot.joint_names) if motion.travel[joint] < HARDLY_MOVED and name not in held
    ]
    worst = int(joints[left[joints].argmax()])
    hardly = f" {listed(still)} hardly moved." if still else ""
    combination = f" Least is known about {listed(found.weakest)}." if found.weakest else ""
    return [
        Finding(
            LogFault.EXCITATION,
            Consequence.LIMITS,
            names,
            f"The recording has too little information about the gravity of {listed(names)}: over its range the torque "
            f"of {robot.joint_names[worst]} stays uncertain by {short(float(found.after[worst]))} "
            f"{effort_units(robot)[worst]}, {percent(float(left[worst]))} of what the model alone leaves."
            f"{hardly}{combination}",
            "Record more poses, spread over the joints' ranges and with every joint moved; until then keep the model's "
            "values where the data have no information.",
            {
                "uncertainty_before": dict(zip(robot.joint_names, found.before.tolist(), strict=True)),
                "uncertainty_after": dict(zip(robot.joint_names, found.after.tolist(), strict=True)),
                "left": dict(zip(names, left[joints].tolist(), strict=True)),
                "condition": found.condition if math.isfinite(found.condition) else None,
                "weakest_combination": list(found.weakest),
                "hardly_moved": still,
            },
        )
    ]


def _span(columns: Array) -> Array:
    """Return orthonormal columns with the same span; columns of zeros, as poses at rest have, add nothing."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-9 * sizes[0]])


def _gravity_spread(robot: Robot) -> Array:
    """Return S, shape (4 b, m), with S Sᵀ the covariance of the gravity parameters by the model."""
    spread = parameter_spread(robot)
    bodies = len(spread) // 10
    return spread.reshape(bodies, 10, -1)[:, :4].reshape(4 * bodies, -1)


def _poses(robot: Robot) -> Array:
    """Return random poses over the joints' ranges [rad or m], shape (POSES, n); half a turn to either side at most."""
    lower = np.maximum(np.where(np.isfinite(robot.lower), robot.lower, -np.pi), -np.pi)
    upper = np.minimum(np.where(np.isfinite(robot.upper), robot.upper, np.pi), np.pi)
    poses: Array = np.random.default_rng(0).uniform(lower, np.maximum(upper, lower), (POSES, robot.n))
    return poses


SLIDING_SPEED = 0.02
"""Speed from which a joint surely slides [rad/s or m/s]; standing, its friction may be anything within the band."""
LEAST_SLIDING = 1.0
"""Least time of sliding in each direction that a band can be measured from [s]."""
LEAST_POSES = 4
"""Fewest standing poses that can be called one-sided."""
OTHER_SIDE = 0.2
"""Largest share of poses from the other side of a joint that is called one-sided."""
BY_CHANCE = 1e-7
"""Largest probability that these joints are as one-sided by accident, each approach being a toss."""
MANY = 0.5
"""Least share of the joints that must be one-sided: a single joint that friction holds back is none of the
procedure."""
LEAST_STANDING = 0.5
"""Shortest standing that counts as a pose [s]; a joint that friction holds up on its way stands for less."""
VIA = 0.5
"""Stands shorter than this share of the usual one are points on the way, not poses."""
SEPARATE = 0.02
"""Distance between two standing poses, in any joint, from which they are two [rad or m]."""


@dataclass(frozen=True, slots=True, eq=False)
class FrictionBand:
    """Half the difference of a joint's effort between its two directions, all else alike.

    Attributes:
        half_width: The band's half width, in the unit of the effort.
        std: Its standard deviation.
        gravity_swing: Half the range of gravity's share in the effort, in the same unit; NaN where gravity does not
            vary.
    """

    half_width: float
    std: float
    gravity_swing: float


def friction_bands(robot: Robot, motion: Motion) -> dict[int, FrictionBand]:
    """Return the friction band of every joint that moved both ways, by its index.

    The effort of joint i is taken as a g_i + b d_i + r ddq_i + F s_i + v dq_i + c with gravity g and the inertial
    torque d of the model (whatever their scale and sign: the effort may be a current) and the direction s of motion,
    where the joint slides. At like positions, F + v |dq| is half the difference between the two directions.

    Args:
        robot: The model.
        motion: The recording's motion at even times.
    """
    good = motion.usable
    q, dq, ddq = motion.q[good], motion.dq[good], motion.ddq[good]
    gravity = robot.gravity(q)
    inertial = inertial_signals(robot, q, dq, ddq)
    bands = {}
    for joint in range(robot.n):
        sliding = np.abs(dq[:, joint]) > SLIDING_SPEED
        side = np.sign(dq[:, joint])
        least = min(int((sliding & (side > 0.0)).sum()), int((sliding & (side < 0.0)).sum())) * motion.dt
        if not motion.effort_measured[joint] or least < LEAST_SLIDING:
            continue
        swing = float(np.ptp(gravity[:, joint]))
        felt = swing > 1e-6 * max(1.0, float(np.abs(gravity).max()))
        moving = (side, dq[:, joint], inertial[:, joint], np.ones(len(q)))
        columns = np.column_stack([*moving, gravity[:, joint] if felt else np.zeros(len(q))])[sliding]
        tau = motion.tau[good, joint][sliding]
        inverse = np.linalg.pinv(columns, rcond=1e-9)  # of one joint alone, torque and acceleration are the same signal
        values = inverse @ tau
        residual = tau - columns @ values
        # Neighbouring samples are alike: what is independent comes once per time of the filter.
        count = len(tau)
        independent = max(count * 2.0 * motion.cutoff * motion.dt, columns.shape[1] + 1.0)
        covariance = inverse @ inverse.T * float(residual @ residual) / independent
        speed = float(np.median(np.abs(dq[sliding, joint])))
        width = float(values[0] + values[1] * speed)
        std = math.sqrt(
            max(0.0, float(covariance[0, 0] + 2.0 * speed * covariance[0, 1] + speed**2 * covariance[1, 1]))
        )
        bands[joint] = FrictionBand(width, std, 0.5 * abs(float(values[-1])) * swing if felt else math.nan)
    return bands


def check_friction(robot: Robot, log: Log, motion: Motion) -> list[Finding]:
    """Say how wide the friction band of every joint is, and how it compares with gravity's swing in this recording.

    A note, not a fault: friction is there. Named are joints whose band is five standard deviations wide.

    Args:
        robot: The model.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times.
    """
    bands = {
        joint: band for joint, band in friction_bands(robot, motion).items() if abs(band.half_width) > 5.0 * band.std
    }
    if not bands:
        return []
    joints = {
        robot.joint_names[joint]: {
            "half_width": abs(band.half_width),
            "std": band.std,
            "share_of_gravity_swing": abs(band.half_width) / band.gravity_swing if band.gravity_swing > 0.0 else None,
        }
        for joint, band in bands.items()
    }
    return [friction_finding(joints, _unit(robot, log))]


def friction_finding(joints: Mapping[str, Mapping[str, float | None]], unit: str) -> Finding:
    """Return the note about friction.

    Args:
        joints: half_width, std and share_of_gravity_swing by joint name.
        unit: Unit of the efforts.
    """
    told = []
    for name, numbers in joints.items():
        width, share = numbers["half_width"] or 0.0, numbers["share_of_gravity_swing"]
        told.append(f"{name} ±{short(width)}" + ("" if share is None else f" ({_beside(share)} gravity's swing)"))
    return Finding(
        LogFault.FRICTION,
        Consequence.NOTE,
        tuple(joints),
        f"Friction moves the effort by half the difference between the directions [{unit}]: {', '.join(told)}.",
        "Record poses from both sides, or fit friction together with gravity; a pose seen from one side only is no "
        "better than this band.",
        {"joints": joints, "unit": unit},
    )


def _unit(robot: Robot, log: Log) -> str:
    if log.declared.effort_kind == "current":
        return "the effort's unit"
    return " or ".join(dict.fromkeys(effort_units(robot)))


def _beside(share: float) -> str:
    return f"{percent(share)} of" if share < 1.0 else f"{share:.1f} times" if share < 10.0 else "more than 10 times"


def check_one_sided(log: Log) -> list[Finding]:
    """Name joints whose standing poses were all reached from the same side.

    Found: at least LEAST_POSES poses of which at most OTHER_SIDE came from the other side, on MANY of the joints and
    beyond chance. Not found: few poses of few joints, which happens by accident (three joints need nine poses, seven
    need five).

    Args:
        log: The recording.
    """
    poses = standing_poses(find_rests(log, least_time=LEAST_STANDING))
    if len(poses) < LEAST_POSES:
        return []
    approach = np.array([segment.side for segment in poses])
    held = log.declared.held
    one_sided: dict[str, dict[str, int]] = {}
    chance, judged = 1.0, 0
    for joint, name in enumerate(log.joint_names):
        sides = approach[:, joint][approach[:, joint] != 0.0]
        if name in held or len(sides) < LEAST_POSES:
            continue
        judged += 1
        other = min(int((sides > 0.0).sum()), int((sides < 0.0).sum()))
        if other <= OTHER_SIDE * len(sides):
            one_sided[name] = {"poses": len(sides), "from_below": int((sides > 0.0).sum())}
            chance *= 2.0 * sum(math.comb(len(sides), i) for i in range(other + 1)) / 2.0 ** len(sides)
    chance = min(1.0, chance * math.comb(judged, len(one_sided)))  # as many ways to choose the joints
    if len(one_sided) < max(1.0, MANY * judged) or chance > BY_CHANCE:
        return []
    names = tuple(one_sided)
    counts = [numbers["poses"] for numbers in one_sided.values()]
    return [
        Finding(
            LogFault.ONE_SIDED,
            Consequence.LIMITS,
            names,
            f"{listed(names)} came to rest from the same side in {_nearly_all(one_sided)} of {max(counts)} poses: "
            "friction adds to the effort with one sign and looks like a constant load.",
            "Approach each pose from both sides and take the mean; with these data, fit an offset per joint and do not "
            "read it as a load.",
            {"joints": one_sided, "standing_poses": len(poses), "chance": chance},
        )
    ]


def _nearly_all(one_sided: Mapping[str, Mapping[str, int]]) -> str:
    clean = all(numbers["from_below"] in (0, numbers["poses"]) for numbers in one_sided.values())
    return "all" if clean else "nearly all"


def standing_poses(segments: Sequence[Rest]) -> list[Rest]:
    """Return the stands that are poses: not short stops on the way, nor one pose that goes on without a motion."""
    usual = float(np.median([segment.duration for segment in segments])) if segments else 0.0
    poses: list[Rest] = []
    for segment in segments:
        if segment.duration < VIA * usual:
            continue
        if not (poses and _goes_on(poses[-1], segment)):
            poses.append(segment)
    return poses


def _goes_on(before: Rest, after: Rest) -> bool:
    """Return whether two stands are one pose: at the same place and reached from the same side."""
    near = bool(np.abs(after.q - before.q).max() < SEPARATE)
    return near and np.array_equal(after.side, before.side)


MARGIN = 0.01
"""Distance from a limit that counts as being at the stop [rad or m]: 0.6°."""
BEYOND = 0.1
"""Distance beyond a limit from which it is not the stop that was reached, but limits or positions that are wrong."""
STANDING_SPEED = 0.01
"""Speed below which a joint rests at its stop [rad/s or m/s]."""
LEAST_TIME = 0.3
"""Shortest stay at a stop that counts [s]; a motion that only touches its limit turns round faster."""


def check_stops(robot: Robot, log: Log, motion: Motion) -> list[Finding]:
    """Name joints that rest at a position limit.

    Found: a joint that stands within MARGIN of a limit of the model, or up to BEYOND behind it, for LEAST_TIME in all.
    Not found: stops that the model does not know, and stops that are not where the model puts them.

    Args:
        robot: The model, with its limits.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times.
    """
    held = log.declared.held
    q, standing = motion.q[motion.usable], np.abs(motion.dq[motion.usable]) < STANDING_SPEED
    names, evidence = [], {}
    for joint, name in enumerate(robot.joint_names):
        if name in held or robot.upper[joint] - robot.lower[joint] < 4.0 * MARGIN:
            continue
        above, below = q[:, joint] - robot.upper[joint], robot.lower[joint] - q[:, joint]
        outside = np.maximum(above, below)
        if len(outside) == 0 or float(outside.max()) > BEYOND:
            continue
        stays = (outside > -MARGIN) & standing[:, joint]
        time = float(stays.sum() * motion.dt)
        if time >= LEAST_TIME:
            names.append(name)
            limit = robot.upper[joint] if above[stays].mean() > below[stays].mean() else robot.lower[joint]
            closest = float(-outside.max())
            evidence[name] = {"limit": float(limit), "time_s": time, "share": float(stays.mean()), "closest": closest}
    if not names:
        return []
    worst = max(names, key=lambda name: evidence[name]["time_s"])
    return [
        Finding(
            LogFault.JOINT_STOPS,
            Consequence.LIMITS,
            tuple(names),
            f"{listed(names)} {'rests' if len(names) == 1 else 'rest'} at a limit: {worst} within {short(MARGIN)} of "
            f"{short(evidence[worst]['limit'])} for {short(evidence[worst]['time_s'])} s "
            f"({percent(evidence[worst]['share'])} of the recording). A stop may carry part of the load there.",
            "Leave these poses out of a fit, or record poses that keep some degrees away from the limits.",
            {"joints": evidence, "margin": MARGIN},
        )
    ]


SAME_PLACE = 0.03
"""Distance from the earlier path below which a pose was seen before: root mean square over the joints, of their ranges.
By chance, paths of six and more joints come this close in one pose of a hundred."""
REPEATED = 0.8
"""Share of the last part that was seen before from which a check on it shows nothing new."""
SENSE = 0.5
"""Correlation of now and then from which the repetition has a sense: forward or back."""
LEAST_TRAVEL = 0.1
"""Range of the joint that moves most from which there is a path [rad or m]."""


def check_path(motion: Motion) -> list[Finding]:
    """Say when the last 40 % of the path, by its length, lie where the arm has been before.

    A part held out from the end then tests poses that were trained on. Found: a path that is driven back, a periodic
    one, a second pass over the same poses, at any speed. Not counted: the same positions at other speeds may still tell
    something new about inertia and friction.

    Args:
        motion: The recording's motion at even times.
    """
    if float(motion.travel.max(initial=0.0)) < LEAST_TRAVEL:
        return []
    q = motion.q[motion.usable]
    if len(q) < 20:
        return []
    found = novelty(q)
    share = found.share_repeated(SAME_PLACE)
    if len(found.later) < 10 or share < REPEATED:
        return []
    sense = found.sense(SAME_PLACE)
    how = "lies where the arm has been before"
    if sense < -SENSE:
        how = "is driven back along the first part"
    elif sense > SENSE:
        how = "repeats the first part in the same sense"
    distance = float(np.median(found.distance))
    return [
        Finding(
            LogFault.REPEATED_PATH,
            Consequence.LIMITS,
            (),
            f"The last {percent(1.0 - EARLIER_SHARE)} of the path {how}: {percent(share)} of it lies within "
            f"{percent(SAME_PLACE)} of the joints' ranges of poses passed earlier (median {percent(distance)}).",
            "Do not check a fit on the last part of this recording: hold out a stretch of the path in both passes, or "
            "record another path for the check.",
            {
                "share_repeated": share,
                "median_distance": distance,
                "sense": sense,
                "later_part_from_s": float(motion.time[motion.usable][found.later[0]]),
                "tolerance": SAME_PLACE,
                "driven_back": bool(sense < -SENSE),
            },
        )
    ]
