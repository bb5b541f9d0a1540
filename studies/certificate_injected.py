"""Real recordings as they are, and with each of the doctor's faults put in, for the certificate study.

The reference is the gravity of a fit by hand at samples that it was not fitted to, with the fault applied to it where
that changes the recorded effort: the first 60 % of the distinct path are fitted and the rest is scored; of an arm with
several recordings the others are fitted. What the description itself lacks (a tool, an offset, a delay) is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from certificate_arms import Array, Random, urdf_text, with_payload
from certificate_case import Case, Truth, tolerance
from certificate_dynamics import GRAVITY, Dynamics
from certificate_ideal import gravity_error
from certificate_paths import Motion
from certificate_real import OTHERS, HandFit, drive_columns, fit_by_hand, rest_of, rigid_torques, smoothed
from certificate_recordings import Recording, read_recording, with_limits

CHOSEN = ("panda", "lbrmed7", "tx40", "kr300 A")
JUDGED = ("ur10", "tiago", "panda_1khz", "lwr4 3")
HIDING = ("motor side", "gravity compensated")
"""Faults with which no recording tells gravity: nobody could certify anything."""
TRAINED = 0.6
"""Share of the distinct path that the fit by hand takes."""
MOST_SCORED = 300
"""Test samples that are scored, evenly taken."""


@dataclass(frozen=True, slots=True, eq=False)
class _Changed:
    """A recording with a fault: what is written down, and the reference. Arrays of shape (k, n).

    Attributes:
        q: Positions as recorded.
        dq: Velocities as recorded; None for none.
        effort: Efforts as recorded.
        load: The reference in the recorded effort.
        torque: The reference of the joints themselves [N m or N].
        unit: Recorded effort per N m, shape (n,).
        truths: What a doctor should name.
        gravity: Gravity in base axes [m/s²], shape (3,).
    """

    q: Array
    dq: Array | None
    effort: Array
    load: Array
    torque: Array
    unit: Array
    truths: tuple[Truth, ...] = ()
    gravity: Array = field(default_factory=lambda: GRAVITY)


@dataclass(frozen=True, slots=True, eq=False)
class _Scene:
    """What a fault is put into.

    Attributes:
        recording: The recording.
        gravity: The hand fit's gravity [N m or N], shape (k, n).
        bodies: The hand fit's inertial parameters, shape (10 b,).
        random: Random numbers.
        loaded: Joints that carry weight and have an effort.
    """

    recording: Recording
    gravity: Array
    bodies: Array
    random: Random
    loaded: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Find the loaded joints."""
        share = np.std(self.gravity, axis=0) / np.maximum(np.std(self.recording.effort, axis=0), 1e-9)
        usable = np.flatnonzero(self.recording.measured & (share > 0.5))
        object.__setattr__(self, "loaded", usable if len(usable) else np.flatnonzero(self.recording.measured))

    def plain(self) -> _Changed:
        recording = self.recording
        unit = np.ones(recording.q.shape[1])
        return _Changed(recording.q, recording.dq, recording.effort, self.gravity, self.gravity, unit)

    def joint(self) -> int:
        return int(self.random.choice(self.loaded))

    def names(self, *joints: int) -> tuple[str, ...]:
        return tuple(self.recording.arm.joint_names[joint] for joint in joints)


def injected_case(seed: int) -> Case:
    """Return the case of a seed: faults take turns, for one recording after the other."""
    recordings = CHOSEN if seed % 2 == 0 else JUDGED
    index = seed // 2
    fault = list(INJECTIONS)[index % len(INJECTIONS)]
    return fault_case(seed, recordings[index // len(INJECTIONS) % len(recordings)], fault)


def fault_case(seed: int, name: str, fault: str) -> Case:
    """Return a real recording with a fault.

    Args:
        seed: Seed of the fault's joint and size.
        name: The recording.
        fault: A key of INJECTIONS.
    """
    recording, filtered = read_recording(name), smoothed(name)
    arm = with_limits(recording)
    dynamics = Dynamics(arm)
    fit, tested = _reference(name, recording)
    held = filtered.motion.q
    gravity = rigid_torques(recording, dynamics, held, np.zeros(held.shape), np.zeros(held.shape), fit)
    changed = INJECTIONS[fault](_Scene(recording, gravity, fit.bodies, np.random.default_rng([seed, 3])))
    at = np.flatnonzero(tested)
    at = at[:: max(1, len(at) // MOST_SCORED)]
    motion = filtered.motion
    left = recording.effort - rigid_torques(recording, dynamics, motion.q, motion.dq, motion.ddq, fit)
    alone, _ = gravity_error(dynamics, motion, rest_of(recording, motion, left).noise)
    columns: dict[str, Array] = {"time": recording.time - recording.time[0]}
    columns |= {f"q_{joint}": values for joint, values in zip(arm.joint_names, changed.q.T, strict=True)}
    if changed.dq is not None:
        columns |= {f"dq_{joint}": values for joint, values in zip(arm.joint_names, changed.dq.T, strict=True)}
    efforts = zip(arm.joint_names, changed.effort.T, recording.measured, strict=True)
    columns |= {f"effort_{joint}": values for joint, values, used in efforts if used}
    return Case(
        part="injected",
        seed=seed,
        labels={
            "path": name,
            "fault": fault,
            "friction": "real",
            "arm": name.partition(" ")[0],
            "description": "published",
        },
        names=arm.joint_names,
        urdf=urdf_text(arm),
        columns=columns,
        measured=recording.measured,
        q_recorded=changed.q[at],
        load_recorded=changed.load[at],
        load_torque=changed.torque[at],
        limit_recorded=np.abs(changed.unit) * arm.effort,
        limit_torque=arm.effort,
        offset_recorded=np.zeros(len(arm.moving)),
        doubt=_missed(recording, dynamics, motion, fit, at) / arm.effort,
        friction=None,
        elsewhere=None,
        gravity=changed.gravity,
        springs=np.isin(np.arange(len(arm.moving)), recording.balanced),
        ideal=np.full(len(alone), np.inf) if fault in HIDING else alone / tolerance(changed.torque[at], arm.effort),
        truths=changed.truths,
        unknown=frozenset({"offset", "delay-between-channels", "payload", "counterbalance"}),
        identifiable=fault != "none",
        facts={"joints": [list(truth.joints) for truth in changed.truths], "rows": len(recording.time)},
    )


def _reference(name: str, recording: Recording) -> tuple[HandFit, npt.NDArray[np.bool_]]:
    """Return the fit by hand and the samples that it was not fitted to."""
    if name in OTHERS:
        return fit_by_hand("+".join(OTHERS[name])), np.ones(len(recording.time), dtype=bool)
    return fit_by_hand(name, 0.0, TRAINED), recording.along >= TRAINED


def _missed(recording: Recording, dynamics: Dynamics, motion: Motion, fit: HandFit, at: npt.NDArray[np.int64]) -> Array:
    """Return the error of a fit by hand at its test samples, root mean square [N m or N], shape (n,)."""
    efforts = smoothed(recording.name).effort[at]
    left = efforts - drive_columns(recording, dynamics, motion, at) @ fit.x
    return np.where(recording.measured, np.sqrt(np.mean(left**2, axis=0)), 0.0)


def _none(scene: _Scene) -> _Changed:
    return scene.plain()


def _scaled(scene: _Scene, unit: Array, truth: Truth) -> _Changed:
    plain = scene.plain()
    return _Changed(plain.q, plain.dq, plain.effort * unit, plain.load * unit, plain.torque, unit, (truth,))


def _sign(scene: _Scene) -> _Changed:
    joint = scene.joint()
    unit = np.where(np.arange(scene.gravity.shape[1]) == joint, -1.0, 1.0)
    return _scaled(scene, unit, Truth("effort-sign", scene.names(joint)))


def _all_signs(scene: _Scene) -> _Changed:
    return _scaled(scene, -np.ones(scene.gravity.shape[1]), Truth("effort-sign", scene.names(*scene.loaded)))


def _gain(scene: _Scene) -> _Changed:
    joint = scene.joint()
    factor = float(np.exp(scene.random.choice([-1.0, 1.0]) * scene.random.uniform(np.log(1.7), np.log(3.0))))
    unit = np.where(np.arange(scene.gravity.shape[1]) == joint, factor, 1.0)
    return _scaled(scene, unit, Truth("gain", scene.names(joint), (1.0 / factor,)))


def _current(scene: _Scene) -> _Changed:
    constant = np.exp(scene.random.uniform(np.log(3.0), np.log(30.0), scene.gravity.shape[1]))
    truth = Truth("effort-is-current", scene.recording.arm.joint_names, tuple(constant.tolist()))
    return _scaled(scene, 1.0 / constant, truth)


def _offset(scene: _Scene) -> _Changed:
    joint, plain = scene.joint(), scene.plain()
    size = scene.random.choice([-1.0, 1.0]) * scene.random.uniform(1.0, 2.0) * plain.effort[:, joint].std()
    effort = plain.effort + size * (np.arange(scene.gravity.shape[1]) == joint)
    truth = Truth("offset", scene.names(joint), (-float(size),))
    return _Changed(plain.q, plain.dq, effort, plain.load, plain.torque, plain.unit, (truth,))


def _position_sign(scene: _Scene) -> _Changed:
    joint, plain = scene.joint(), scene.plain()
    signs = np.where(np.arange(scene.gravity.shape[1]) == joint, -1.0, 1.0)
    dq = None if plain.dq is None else plain.dq * signs
    truth = Truth("position-sign", scene.names(joint))
    return _Changed(plain.q * signs, dq, plain.effort, plain.load, plain.torque, plain.unit, (truth,))


def _exchanged(scene: _Scene, *, positions: bool, efforts: bool) -> _Changed:
    plain, first = scene.plain(), scene.joint()
    others = [joint for joint in np.flatnonzero(scene.recording.measured).tolist() if joint != first]
    second = int(scene.random.choice(others))
    order = np.arange(scene.gravity.shape[1])
    order[[first, second]] = order[[second, first]]
    plainly = np.arange(len(order))
    q, tau = (order if positions else plainly), (order if efforts else plainly)
    dq = None if plain.dq is None else plain.dq[:, q]
    truth = Truth("joint-order", scene.names(first, second))
    return _Changed(plain.q[:, q], dq, plain.effort[:, tau], plain.load[:, tau], plain.torque, plain.unit, (truth,))


def _degrees(scene: _Scene) -> _Changed:
    plain = scene.plain()
    dq = None if plain.dq is None else np.degrees(plain.dq)
    truths = (Truth("degrees"),)
    return _Changed(np.degrees(plain.q), dq, plain.effort, plain.load, plain.torque, plain.unit, truths)


def _motor_side(scene: _Scene) -> _Changed:
    plain, n = scene.plain(), scene.gravity.shape[1]
    ratio = np.exp(scene.random.uniform(np.log(30.0), np.log(160.0), n)) * scene.random.choice([1.0, 1.0, 1.0, -1.0], n)
    dq = None if plain.dq is None else plain.dq * ratio
    truths = (Truth("motor-side"),)
    return _Changed(
        plain.q * ratio, dq, plain.effort / ratio, plain.load / ratio, plain.torque, 1.0 / np.abs(ratio), truths
    )


def _compensated(scene: _Scene) -> _Changed:
    """The robot takes gravity out by the model that was fitted by hand; what is left is not gravity."""
    plain = scene.plain()
    nothing = np.zeros(plain.load.shape)
    truths = (Truth("gravity-compensated"),)
    effort = plain.effort - scene.gravity
    return _Changed(plain.q, plain.dq, effort, nothing, plain.torque, plain.unit, truths)


def _loaded(scene: _Scene, added: Array, truth: Truth) -> _Changed:
    """Return the recording with torques added that belong to gravity."""
    plain = scene.plain()
    load = plain.load + added
    return _Changed(plain.q, plain.dq, plain.effort + added, load, load, plain.unit, (truth,))


def _mount(scene: _Scene) -> _Changed:
    tilt, about = np.radians(scene.random.uniform(15.0, 90.0)), scene.random.uniform(0.0, 2.0 * np.pi)
    down = 9.81 * np.array([np.sin(tilt) * np.cos(about), np.sin(tilt) * np.sin(about), -np.cos(tilt)])
    arm, q = scene.recording.arm, scene.recording.q
    added = _turned(Dynamics(arm, down), Dynamics(arm, GRAVITY), q, scene.bodies)
    return replace(_loaded(scene, added, Truth("mount")), gravity=down)


def _turned(tilted: Dynamics, upright: Dynamics, q: Array, bodies: Array) -> Array:
    """Return the change of gravity torques with the mounting [N m or N], shape (k, n)."""
    found = np.empty(q.shape)
    for begin in range(0, len(q), 2000):
        rows = slice(begin, begin + 2000)
        found[rows] = (tilted.rows(q[rows]) - upright.rows(q[rows])) @ bodies
    return found


def _payload(scene: _Scene) -> _Changed:
    """A point mass of 5 to 25 % of the moving mass at the tip; its inertia is left out, so motion stays as it was."""
    arm, q = scene.recording.arm, scene.recording.q
    mass = float(scene.random.uniform(0.05, 0.25)) * arm.moving_mass
    com = scene.random.uniform(-0.05, 0.05, 3)
    added = Dynamics(with_payload(arm, mass, com)).gravity(q) - Dynamics(arm).gravity(q)
    return _loaded(scene, added, Truth("payload"))


INJECTIONS: dict[str, Callable[[_Scene], _Changed]] = {
    "none": _none,
    "effort sign": _sign,
    "all effort signs": _all_signs,
    "position sign": _position_sign,
    "effort order": lambda scene: _exchanged(scene, positions=False, efforts=True),
    "position order": lambda scene: _exchanged(scene, positions=True, efforts=False),
    "whole-joint order": lambda scene: _exchanged(scene, positions=True, efforts=True),
    "degrees": _degrees,
    "effort is current": _current,
    "motor side": _motor_side,
    "gain": _gain,
    "offset": _offset,
    "gravity compensated": _compensated,
    "mount": _mount,
    "payload": _payload,
}
"""The faults of the doctor's own study, put into real recordings."""
