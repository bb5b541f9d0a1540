"""Foreign simulations of the certificate study: random trees and real URDFs, recorded as users record.

Plain NumPy and Pinocchio; no code of counterpoise.plants. A case is drawn from its seed alone. Paths take turns, so
that every kind has as many cases; all else is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from certificate_arms import KIND_SHARES, KINDS, Arm, Array, Random, different, pruned, random_arm, read_urdf, urdf_text
from certificate_case import Case, Elsewhere, Held, Truth, poses_elsewhere, scored_rows, tolerance
from certificate_dynamics import Dynamics
from certificate_faults import Fault, draw_fault, workspace_gravity
from certificate_friction import LAWS, draw_friction
from certificate_ideal import Noise, Reading, gravity_error, told
from certificate_paths import PATHS, Motion, draw_path

BoolArray = npt.NDArray[np.bool_]

REAL_SHARE = 0.5
"""Share of cases with the kinematics of a real arm, where their files are given."""
RATES = (25.0, 50.0, 100.0, 125.0, 200.0, 250.0, 500.0, 1000.0)
MOST_ROWS = 20_000
"""Longest recording: at high rates it is shorter than drawn."""
STRONG = (1.5, 4.0)
"""Effort limit over largest gravity torque, where a description has no limit."""
CONSTANT = 1e-6
"""A joint whose gravity torque varies less than this [N m or N] carries none, or is a slide along gravity: its weight
and an offset are one, so it gets no offset."""
RESERVE = 1.2
"""Effort limit over the largest torque of a recording, at least: no drive gives more than it can."""
LIGHT = 0.1
"""A random tree whose largest gravity torque is below this [N m or N] is drawn again."""
WEAKEST = 0.03
"""Least effort limit of a joint over the arm's largest."""
ARMS = {
    "ur3": ("ur3_robot.urdf", "_joint"),
    "ur5": ("ur5_robot.urdf", "_joint"),
    "ur10": ("ur10_robot.urdf", "_joint"),
    "panda": ("panda.urdf", "panda_joint"),
    "kinova": ("kinova.urdf", "j2s6s200_joint_"),
    "xarm7": ("xarm7.urdf", "joint"),
    "z1": ("z1.urdf", "joint"),
    "so101": ("so101.urdf", ""),
    "talos arm": ("talos_left_arm.urdf", "arm_left_"),
}
"""Real arms: file, and what names of joints that move contain."""
NOT_ARM = ("finger", "gripper", "Gripper")
"""What names of joints that are kept still contain."""


@dataclass(frozen=True, slots=True, eq=False)
class _Channels:
    """How the recording was made; arrays of shape (n,).

    Attributes:
        rate: Samples per second [Hz].
        jitter: Standard deviation of the time between samples, as a share.
        noise: Noise of the efforts, steps included.
        step: Steps of the effort, in its own unit per N m; 0 for none.
        count: Steps of the position [rad or m]; 0 for none.
        delay: How late the efforts are [s].
        offset: Constant torque that is recorded besides [N m or N].
        velocity: "recorded", "differentiated" by the drive, or "" for none.
        clock: "s", "ms" or "" for no column of times.
        header: How columns are called, by "position", "velocity", "effort".
    """

    rate: float
    jitter: float
    noise: Noise
    step: Array
    count: float
    delay: float
    offset: Array
    velocity: str
    clock: str
    header: dict[str, str]


def foreign_case(seed: int, urdfs: Path | None) -> Case:
    """Return the case of a seed.

    Args:
        seed: The seed.
        urdfs: Folder that holds the files of ARMS, at any depth; None for random trees only.
    """
    random = np.random.default_rng([seed, 1])
    kind = list(PATHS)[seed // 2 % len(PATHS)]
    arm = draw_arm(random, urdfs)
    described_as = str(random.choice(KINDS, p=KIND_SHARES))
    plain, described = different(arm, described_as, random)
    weight = workspace_gravity(Dynamics(plain), random)
    fault = draw_fault(plain, weight, random)
    law = str(random.choice(LAWS))
    friction = draw_friction(law, plain, weight, random)
    rate = float(random.choice(RATES))
    duration = min(float(random.uniform(10.0, 60.0)), MOST_ROWS / rate)
    motion = draw_path(kind, arm, duration, rate, random)
    dynamics = Dynamics(fault.arm, fault.gravity)
    rigid = dynamics.torque(motion.q, motion.dq, motion.ddq)
    added = fault.added(motion.q)
    torque = rigid + added + friction.torque(motion, rigid, random)
    limits = np.maximum(arm.effort, RESERVE * np.abs(torque).max(axis=0))
    arm, described = arm.with_efforts(limits), described.with_efforts(limits)
    channels = _draw_channels(arm, torque, rate, kind, fault, np.ptp(weight, axis=0) > CONSTANT, random)
    effort = _noisy(torque, channels, random)
    gains = fault.gain_along(len(effort), len(arm.moving))
    rows = scored_rows(len(motion.q))
    load = dynamics.gravity(motion.q[rows]) + added[rows]
    alone, with_offset = gravity_error(
        dynamics,
        motion,
        channels.noise,
        [(joint, shape(motion.q[:, joint])) for joint, _, shape in fault.springs],
    )
    springs = np.isin(np.arange(len(arm.moving)), [joint for joint, _, _ in fault.springs])
    effort_from, position_from = (list(order) or None for order in (fault.effort_from, fault.position_from))
    unit = np.mean(gains, axis=0)
    allowed = tolerance(load, arm.effort)
    recorded = _taken(gains[rows] * load, effort_from)
    held, poses = friction.holding(motion.q[rows], load), poses_elsewhere(arm)
    wide = dynamics.gravity(poses) + fault.added(poses)
    changed = np.sqrt(np.mean((recorded - Dynamics(plain).gravity(motion.q[rows])) ** 2, axis=0))
    matters = bool(np.any(changed > allowed)) or fault.position_from != fault.effort_from
    # Where a gain drifts, so does the recorded load: no estimate of one gravity is nearer to it than that.
    drifting = np.sqrt(np.mean(((gains[rows] / unit - 1.0) * load) ** 2, axis=0))
    return Case(
        part="foreign",
        seed=seed,
        labels={
            "path": kind,
            "fault": fault.name,
            "friction": law,
            "arm": arm.name if arm.name in ARMS else _shape(arm),
            "description": described_as,
            "rate": f"{rate:g} Hz",
            "clock": channels.clock or "none",
            "velocity": channels.velocity or "none",
        },
        names=arm.joint_names,
        urdf=urdf_text(described),
        columns=_columns(arm, motion, effort, gains, fault, channels, random),
        measured=np.ones(len(arm.moving), dtype=bool),
        q_recorded=_taken(motion.q[rows], position_from),
        load_recorded=recorded,
        load_torque=load,
        limit_recorded=_taken((unit * arm.effort)[None], effort_from)[0],
        limit_torque=arm.effort,
        offset_recorded=_taken((unit * (channels.offset + friction.common))[None], effort_from)[0],
        doubt=None,
        friction=Held(_taken(np.abs(gains[rows]) * held, effort_from), held),
        elsewhere=Elsewhere(_taken(poses, position_from), _taken(unit * wide, effort_from), wide),
        gravity=fault.gravity,
        springs=springs,
        ideal=np.hypot(np.where(springs, with_offset, alone), drifting) / allowed,
        unknown=frozenset(),
        truths=(*fault.truths, *_side_truths(arm, channels, unit)),
        identifiable=matters and _identifiable(fault, described, motion, torque, gains, channels.noise),
        facts=_facts(channels, friction.coulomb, load, described, motion),
    )


def draw_arm(random: Random, urdfs: Path | None) -> Arm:
    """Draw a random tree that carries weight, or one of ARMS, with an effort limit for every joint."""
    chosen = str(random.choice(list(ARMS)))
    real = random.random() < REAL_SHARE and urdfs is not None
    largest = np.zeros(1)
    while largest.max() < LIGHT:
        arm = real_arm(chosen, urdfs) if real and urdfs is not None else random_arm(random)
        largest = np.abs(workspace_gravity(Dynamics(arm), random)).max(axis=0)
    drawn = np.maximum(largest * random.uniform(*STRONG, len(largest)), WEAKEST * largest.max())
    return arm.with_efforts(np.where(arm.effort > 0.0, arm.effort, drawn))


def real_arm(name: str, urdfs: Path) -> Arm:
    """Read one of ARMS.

    Raises:
        FileNotFoundError: Its file is not in the folder.
    """
    file, pattern = ARMS[name]
    found = sorted(urdfs.rglob(file))
    if not found:
        raise FileNotFoundError(f"{urdfs} holds no {file}")
    everything = read_urdf(found[0], ())
    moving = [
        joint.name
        for joint in everything.joints
        if pattern in joint.name and not any(word in joint.name for word in NOT_ARM)
    ]
    arm = pruned(read_urdf(found[0], moving))
    return Arm(name, arm.links, arm.joints)


def _draw_channels(
    arm: Arm, torque: Array, rate: float, path: str, fault: Fault, varies: BoolArray, random: Random
) -> _Channels:
    """Draw how the recording was made; offsets only where gravity varies (``varies``, shape (n,))."""
    n = len(arm.moving)
    has_offset = (random.random(n) < 0.4) & varies & (random.random() < 0.5)
    size = np.maximum(np.std(torque, axis=0), 0.005 * arm.effort)
    white = size * float(np.exp(random.uniform(np.log(0.002), np.log(0.05))))
    steps = size * np.exp(random.uniform(np.log(0.002), np.log(0.05), n))
    stepped = steps if random.random() < 0.5 else np.zeros(n)
    counts = float(np.exp(random.uniform(np.log(1e-6), np.log(2e-3))))
    table = path.startswith("table")
    words = (
        {"position": "q_{}", "velocity": "dq_{}", "effort": "tau_{}"},
        {"position": "position_{}", "velocity": "velocity_{}", "effort": "effort_{}"},
        {"position": "{}_pos", "velocity": "{}_vel", "effort": "{}_torque"},
    )[int(random.integers(3))]
    if fault.current:
        words = words | {"effort": str(random.choice(["effort_{}", "current_{}"], p=[0.7, 0.3]))}
    return _Channels(
        rate=rate,
        jitter=0.0 if table or random.random() < 0.5 else float(random.uniform(0.01, 0.2)),
        noise=Noise(
            white=np.hypot(white, stepped / np.sqrt(12.0)),
            slow=size * (0.0 if random.random() < 0.5 else float(random.uniform(0.002, 0.03))),
            time=float(random.uniform(0.05, 1.0)),
        ),
        step=stepped,
        count=counts if random.random() < 0.7 else 0.0,
        delay=0.0 if table or random.random() < 0.6 else float(random.uniform(0.002, 0.05)),
        offset=size * random.uniform(0.1, 1.0, n) * random.choice([-1.0, 1.0], n) * has_offset,
        velocity="" if table else str(random.choice(["", "recorded", "differentiated"], p=[0.4, 0.4, 0.2])),
        clock=str(random.choice(["s", "ms", ""], p=[0.5, 0.0, 0.5] if table else [0.85, 0.1, 0.05])),
        header=words,
    )


def _noisy(torque: Array, channels: _Channels, random: Random) -> Array:
    """Return torques with noise and delay [N m or N], shape (k, n)."""
    late = round(channels.delay * channels.rate)
    shifted = torque if late == 0 else np.concatenate([np.repeat(torque[:1], late, axis=0), torque[:-late]])
    white = np.sqrt(channels.noise.white**2 - channels.step**2 / 12.0)  # rounding will add the rest
    noise = white * random.normal(size=torque.shape)
    if channels.noise.slow.any():
        kept = np.exp(-1.0 / (channels.rate * channels.noise.time)) if len(torque) > 200 else 0.0
        fresh = np.sqrt(1.0 - kept**2) * random.normal(size=torque.shape)
        state, slow = random.normal(size=torque.shape[1]), np.empty(torque.shape)
        for row in range(len(torque)):
            state = kept * state + fresh[row]
            slow[row] = state
        noise += channels.noise.slow * slow
    return shifted + noise


def _columns(
    arm: Arm, motion: Motion, effort: Array, gains: Array, fault: Fault, channels: _Channels, random: Random
) -> dict[str, Array]:
    """Return the table as a user has it."""
    effort_from, position_from = (list(order) or None for order in (fault.effort_from, fault.position_from))
    time, q = _stamps(motion, channels, random), _rounded(motion.q, np.full(len(arm.moving), channels.count))
    recorded = _rounded(gains * (effort + channels.offset), np.abs(gains.mean(axis=0)) * channels.step)
    columns: dict[str, Array] = {}
    if channels.clock == "s":
        columns["time"] = time
    elif channels.clock == "ms":
        columns["time_ms"] = 1e3 * time
    for name, values in zip(arm.joint_names, _taken(q, position_from).T, strict=True):
        columns[channels.header["position"].format(name)] = values
    if channels.velocity:
        exact = channels.velocity == "recorded"
        noise = 0.01 * np.std(motion.dq, axis=0) * random.normal(size=q.shape)
        dq = motion.dq + noise if exact else np.gradient(q, motion.time, axis=0)
        for name, values in zip(arm.joint_names, _taken(dq, position_from).T, strict=True):
            columns[channels.header["velocity"].format(name)] = values
    for name, values in zip(arm.joint_names, _taken(recorded, effort_from).T, strict=True):
        columns[channels.header["effort"].format(name)] = values
    return columns


def _stamps(motion: Motion, channels: _Channels, random: Random) -> Array:
    """Return recorded times: the sample was taken when its motion says, its stamp is off by the jitter."""
    if channels.jitter == 0.0:
        return motion.time
    off = channels.jitter / channels.rate * random.uniform(-1.0, 1.0, len(motion.time))
    return np.sort(motion.time + off)


def _rounded(values: Array, step: Array) -> Array:
    usable = np.where(step > 0.0, step, 1.0)
    return np.where(step > 0.0, np.round(values / usable) * usable, values)


def _taken(values: Array, order: list[int] | None) -> Array:
    return values if order is None else values[:, order]


def _identifiable(fault: Fault, described: Arm, motion: Motion, torque: Array, gains: Array, noise: Noise) -> bool:
    """Say whether the fault can be distinguished from wrong masses."""
    if fault.name == "none":
        return False
    effort_from, position_from = (list(order) or None for order in (fault.effort_from, fault.position_from))
    recorded = _taken(gains * torque, effort_from)
    parts = (_taken(values, position_from) for values in (motion.q, motion.dq, motion.ddq))
    as_recorded = Reading(Motion(motion.time, *parts, side=motion.side), recorded)
    undone = Reading(motion, torque - fault.added(motion.q))
    right = Dynamics(_as_described(described, fault), fault.gravity)
    return told(Dynamics(described), as_recorded, undone, right, noise)


def _as_described(described: Arm, fault: Fault) -> Arm:
    """Return the description with what a fault changed about the arm itself: the tip's load."""
    if fault.name != "payload":
        return described
    real = {link.name: link for link in fault.arm.links}
    return described.with_links([real[link.name] if link.name == described.tip else link for link in described.links])


def _side_truths(arm: Arm, channels: _Channels, unit: Array) -> list[Truth]:
    """Return what is off beside the drawn fault: offsets and a delay."""
    found = []
    joints = np.flatnonzero(channels.offset != 0.0).tolist()
    if joints:
        names = tuple(arm.joint_names[joint] for joint in joints)
        found.append(Truth("offset", names, tuple(float(-unit[joint] * channels.offset[joint]) for joint in joints)))
    if channels.delay > 0.0:
        found.append(Truth("delay-between-channels", (), (channels.delay,)))
    return found


def _facts(channels: _Channels, coulomb: Array, load: Array, described: Arm, motion: Motion) -> dict[str, Any]:
    return {
        "rate_hz": channels.rate,
        "rows": len(motion.q),
        "jitter": round(channels.jitter, 3),
        "delay_s": round(channels.delay, 4),
        "count": float(f"{channels.count:.2g}"),
        "stepped": bool(channels.step.any()),
        "coulomb": [float(f"{value:.3g}") for value in coulomb],
        "load_rms": [float(f"{value:.3g}") for value in np.sqrt(np.mean(load**2, axis=0))],
        "travel": [float(f"{value:.3g}") for value in np.ptp(motion.q, axis=0)],
        "limit": [float(f"{value:.3g}") for value in described.effort],
    }


def _shape(arm: Arm) -> str:
    parents = [joint.parent for joint in arm.moving]
    branched = "branched" if len(set(parents)) < len(parents) else "serial"
    return f"{branched} tree"
