"""Friction: how wide its band is, and whether standing poses were all reached from one side of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.joint_units import effort_units
from ..dynamics.robot import Robot
from ..logs.log import Log
from ..logs.stillness import StillSegment, still_segments
from .finding import Consequence, Finding, LogFault
from .inertial import inertial_signals
from .prepared import Prepared
from .wording import listed, percent, short

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


def friction_bands(robot: Robot, smooth: Prepared) -> dict[int, FrictionBand]:
    """Return the friction band of every joint that moved both ways, by its index.

    The effort of joint i is taken as a g_i + b d_i + r ddq_i + F s_i + v dq_i + c with gravity g and the inertial
    torque d of the model (whatever their scale and sign: the effort may be a current) and the direction s of motion,
    where the joint slides. At like positions, F + v |dq| is half the difference between the two directions.

    Args:
        robot: The model.
        smooth: The recording made ready.
    """
    good = smooth.good
    q, dq, ddq = smooth.q[good], smooth.dq[good], smooth.ddq[good]
    gravity = robot.gravity(q)
    inertial = inertial_signals(robot, q, dq, ddq)
    bands = {}
    for joint in range(robot.n):
        sliding = np.abs(dq[:, joint]) > SLIDING_SPEED
        side = np.sign(dq[:, joint])
        least = min(int((sliding & (side > 0.0)).sum()), int((sliding & (side < 0.0)).sum())) * smooth.dt
        if not smooth.effort_known[joint] or least < LEAST_SLIDING:
            continue
        swing = float(np.ptp(gravity[:, joint]))
        felt = swing > 1e-6 * max(1.0, float(np.abs(gravity).max()))
        moving = (side, dq[:, joint], inertial[:, joint], np.ones(len(q)))
        columns = np.column_stack([*moving, gravity[:, joint] if felt else np.zeros(len(q))])[sliding]
        tau = smooth.tau[good, joint][sliding]
        inverse = np.linalg.pinv(columns, rcond=1e-9)  # of one joint alone, torque and acceleration are the same signal
        values = inverse @ tau
        residual = tau - columns @ values
        # Neighbouring samples are alike: what is independent comes once per time of the filter.
        count = len(tau)
        independent = max(count * 2.0 * smooth.cutoff * smooth.dt, columns.shape[1] + 1.0)
        covariance = inverse @ inverse.T * float(residual @ residual) / independent
        speed = float(np.median(np.abs(dq[sliding, joint])))
        width = float(values[0] + values[1] * speed)
        std = math.sqrt(
            max(0.0, float(covariance[0, 0] + 2.0 * speed * covariance[0, 1] + speed**2 * covariance[1, 1]))
        )
        bands[joint] = FrictionBand(width, std, 0.5 * abs(float(values[-1])) * swing if felt else math.nan)
    return bands


def check_friction(robot: Robot, log: Log, smooth: Prepared) -> list[Finding]:
    """Say how wide the friction band of every joint is, and how it compares with gravity's swing in this recording.

    A note, not a fault: friction is there. Named are joints whose band is five standard deviations wide.

    Args:
        robot: The model.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready.
    """
    bands = {
        joint: band for joint, band in friction_bands(robot, smooth).items() if abs(band.half_width) > 5.0 * band.std
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
    poses = standing_poses(still_segments(log, least_time=LEAST_STANDING))
    if len(poses) < LEAST_POSES:
        return []
    approach = np.array([segment.approach for segment in poses])
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


def standing_poses(segments: Sequence[StillSegment]) -> list[StillSegment]:
    """Return the stands that are poses: not short stops on the way, nor one pose that goes on without a motion."""
    usual = float(np.median([segment.duration for segment in segments])) if segments else 0.0
    poses: list[StillSegment] = []
    for segment in segments:
        if segment.duration < VIA * usual:
            continue
        if not (poses and _goes_on(poses[-1], segment)):
            poses.append(segment)
    return poses


def _goes_on(before: StillSegment, after: StillSegment) -> bool:
    """Return whether two stands are one pose: at the same place and reached from the same side."""
    near = bool(np.abs(after.q - before.q).max() < SEPARATE)
    return near and np.array_equal(after.approach, before.approach)
