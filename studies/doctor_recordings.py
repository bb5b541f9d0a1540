"""Made recordings for the doctor's study: simulated arms with friction and noise, driven along varied paths.

The doctor is given a model that is wrong by a stated amount: every link's mass is 10 % off, up or down, and every
centre of mass 10 mm off, in a random direction. The inertia follows the mass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from counterpoise import Log, Robot
from counterpoise.control import minimum_jerk
from counterpoise.plants import Plate, SimulatedArm, preset

Array = npt.NDArray[np.float64]
Path = Callable[[float], tuple[Array, Array]]
"""Desired position and velocity at a time [s]."""
PathMaker = Callable[[Robot, float, float, np.random.Generator], Path]
"""Makes a path for a robot: largest speed [rad/s], duration [s], random numbers."""

MASS_ERROR = 0.10
"""Relative error of every link's mass in the doctor's model."""
COM_ERROR = 0.010
"""Displacement of every link's centre of mass in the doctor's model [m]."""
ARMS = {"puma550": "stiff", "wam7": "ground", "titan2": "torque-source"}
"""Simulated arms and their variants: geared, cable driven, hydraulic."""
MOTIONS = ("multisine", "visits", "sweeps")
SPEED = {"puma550": 0.8, "wam7": 1.0, "titan2": 0.6}
"""Largest speed of a joint along a multi-sine [rad/s]."""
LOG_RATE = 100.0
"""About how often a sample is kept [Hz]."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A made recording and the model that the doctor is given.

    Attributes:
        arm: Name of the simulated arm.
        motion: One of MOTIONS.
        seed: Seed of path, noise and model error.
        model: The doctor's robot, off by MASS_ERROR and COM_ERROR.
        truth: The robot that was simulated, mounting and payload included.
        log: What was recorded.
    """

    arm: str
    motion: str
    seed: int
    model: Robot
    truth: Robot
    log: Log


def record(
    arm: str,
    motion: str,
    seed: int,
    *,
    duration: float = 30.0,
    mount_rpy: tuple[float, float, float] = (0.0, 0.0, 0.0),
    payload: tuple[float, tuple[float, float, float]] | None = None,
    plate: Plate | None = None,
    paths: Mapping[str, PathMaker] | None = None,
) -> Recording:
    """Simulate an arm along a path.

    Args:
        arm: A key of ARMS.
        motion: One of MOTIONS.
        seed: Seed of everything random.
        duration: Length of the recording [s].
        mount_rpy: How the simulated arm really stands; the model knows nothing of it [rad].
        payload: Mass [kg] and centre of mass in the last link's frame [m] that it really carries; the model has none.
        plate: The plate under its base; None for none.
        paths: Further motions by name; None for those of MOTIONS only.
    """
    makers = _PATHS | dict(paths or {})
    random = np.random.default_rng([seed, sorted(ARMS).index(arm), list(makers).index(motion)])
    made = preset(arm, ARMS[arm])
    nominal = made.robot()
    truth = nominal.mounted(rpy=mount_rpy)
    if payload is not None:
        truth = truth.with_payload(payload[0], com=payload[1])
    path = makers[motion](nominal, SPEED[arm], duration, random)
    config = made.config.replaced(position=path(0.0)[0], seed=int(random.integers(2**31)), plate=plate)
    log = _driven(SimulatedArm(truth, config), truth, path, duration)
    return Recording(arm, motion, seed, wrong_model(nominal, random), truth, log)


def wrong_model(
    robot: Robot, random: np.random.Generator, mass_error: float = MASS_ERROR, com_error: float = COM_ERROR
) -> Robot:
    """Return the robot with every link's mass and centre of mass off by exactly the stated amounts."""
    links = []
    for link in robot.description.links:
        inertia = link.inertia
        if inertia is None or inertia.mass == 0.0:
            links.append(link)
            continue
        factor = 1.0 + mass_error * random.choice([-1.0, 1.0])
        direction = random.normal(size=3)
        shift = com_error * direction / np.linalg.norm(direction)
        wrong = replace(
            inertia, mass=inertia.mass * factor, com=inertia.com + shift, tensor_com=inertia.tensor_com * factor
        )
        links.append(replace(link, inertia=wrong))
    description = replace(robot.description, links=tuple(links))
    return Robot(description, mount=robot.mount, allow_unphysical=True)


def _driven(arm: SimulatedArm, robot: Robot, path: Path, duration: float) -> Log:
    """Follow the path by soft PD, gravity and dry friction fed forward; keep about LOG_RATE samples a second."""
    free = _free_inertia(robot, path(0.0)[0])
    bandwidth = 2.0 * np.pi * 2.0
    # The encoder sits on the motor: beyond a fraction of the velocity filter's bandwidth, damping drives the rotor
    # against its own gear.
    rotor = np.where(robot.rotor_inertia > 0.0, robot.rotor_inertia, free)
    kd = np.minimum(2.0 * free * bandwidth, 0.25 * rotor * 2.0 * np.pi * arm.config.encoder.cutoff)
    kp = np.minimum(free * bandwidth**2, 0.5 * bandwidth * kd)
    friction = arm.config.drive.friction
    dry = np.zeros(robot.n) if friction is None else np.asarray(friction.coulomb)
    every = max(1, round(1.0 / (LOG_RATE * arm.dt)))
    rows: list[tuple[float, Array, Array, Array, Array | None]] = []
    with arm:
        for tick in range(round(duration / arm.dt)):
            sample = arm.read()
            if tick % every == 0:
                rows.append((sample.time, sample.q, sample.dq, sample.tau, sample.wrench))
            q, dq = path(sample.time)
            push = 0.95 * dry * np.tanh(dq / 0.02)  # without it a stiff wrist would not move at all
            arm.write(kp * (q - sample.q) + kd * (dq - sample.dq) + robot.gravity(sample.q) + push)
    *measured, wrench = zip(*rows, strict=True)
    time, q, dq, tau = (np.array(column) for column in measured)
    return Log(robot.joint_names, time, q, dq, tau, wrench=None if arm.plate is None else np.array(wrench))


def _free_inertia(robot: Robot, q: Array) -> Array:
    """Return what each joint has to turn while the others yield, 1/(M⁻¹)_ii, rotors included [kg m²], shape (n,)."""
    still, units, weight = np.zeros(robot.n), np.eye(robot.n), robot.gravity(q)
    mass = np.array([robot.inverse_dynamics(q, still, unit) - weight for unit in units])
    return 1.0 / np.diag(np.linalg.inv(mass + np.diag(robot.rotor_inertia)))


def _room(robot: Robot, random: np.random.Generator) -> tuple[Array, Array]:
    """Return a centre and the largest excursion about it, inside the joint limits [rad]."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    centre = 0.5 * (lower + upper) + 0.15 * (upper - lower) * random.uniform(-1.0, 1.0, robot.n)
    reach = 0.9 * np.minimum(centre - lower, upper - centre)
    return centre, np.minimum(reach, random.uniform(0.6, 1.4, robot.n))


def _multisine(robot: Robot, speed: float, duration: float, random: np.random.Generator) -> Path:
    """Five harmonics of a period of about the duration, so that no part repeats another; phases per joint."""
    centre, reach = _room(robot, random)
    omega = 2.0 * np.pi * np.arange(1, 6) / (duration * random.uniform(0.8, 1.3))
    weight = random.uniform(0.3, 1.0, (robot.n, 5)) / np.sqrt(np.arange(1, 6))
    phase = random.uniform(0.0, 2.0 * np.pi, (robot.n, 5))
    clock = np.linspace(0.0, duration, 2000)
    waves = np.einsum("jh,hjt->jt", weight, np.sin(omega[:, None, None] * clock + phase.T[:, :, None]))
    rates = np.einsum("jh,hjt->jt", weight * omega, np.cos(omega[:, None, None] * clock + phase.T[:, :, None]))
    scale = np.minimum(reach / np.abs(waves).max(axis=1), speed / np.abs(rates).max(axis=1))
    weight = weight * scale[:, None]

    def at(time: float) -> tuple[Array, Array]:
        begun, rate = (0.5 * time * time, time) if time < 1.0 else (time - 0.5, 1.0)  # from rest within 1 s
        angle = omega * begun + phase
        return centre + (weight * np.sin(angle)).sum(axis=1), rate * (weight * omega * np.cos(angle)).sum(axis=1)

    return at


def _visits(robot: Robot, speed: float, duration: float, random: np.random.Generator) -> Path:
    """Poses visited from both sides: beyond by 0.03 rad, creep back, stay, then the same from below."""
    centre, reach = _room(robot, random)
    knots, times, now = [centre], [0.0], 0.0
    while now < duration:
        pose = centre + reach * random.uniform(-1.0, 1.0, robot.n)
        for side in (0.03, -0.03):
            for target, pace, dwell in ((pose + side, 0.6 * speed, 0.2), (pose, 0.05, 1.0)):
                now += 1.875 * float(np.abs(target - knots[-1]).max()) / pace
                knots.append(target)
                times.append(now)
                now += dwell
                knots.append(target)
                times.append(now)
    points, stamps = np.array(knots), np.array(times)

    def at(time: float) -> tuple[Array, Array]:
        move = min(int(np.searchsorted(stamps, time, side="right")) - 1, len(stamps) - 2)
        needed = stamps[move + 1] - stamps[move]
        part = min(max((time - stamps[move]) / needed, 0.0), 1.0)
        step = points[move + 1] - points[move]
        done, slope = minimum_jerk(part)
        return points[move] + done * step, slope / needed * step

    return at


def _sweeps(robot: Robot, speed: float, duration: float, random: np.random.Generator) -> Path:
    """Slow swings of all joints at nearly constant speeds, each with its own period, corners rounded."""
    centre, reach = _room(robot, random)
    pace = random.uniform(0.15, 0.35, robot.n)
    # At least two full swings; not the same number for all joints, or the path would repeat itself.
    amplitude = np.minimum(reach, pace * duration / random.uniform(8.0, 12.0, robot.n))
    omega = 0.5 * np.pi * pace / amplitude
    phase = random.uniform(0.0, 2.0 * np.pi, robot.n)
    rounding = 0.95
    scale = amplitude / np.arcsin(rounding)

    def at(time: float) -> tuple[Array, Array]:
        begun, rate = (0.5 * time * time, time) if time < 1.0 else (time - 0.5, 1.0)
        angle = omega * begun + phase
        wave = rounding * np.sin(angle)
        return centre + scale * np.arcsin(wave), rate * scale * rounding * omega * np.cos(angle) / np.sqrt(1 - wave**2)

    return at


_PATHS: dict[str, PathMaker] = {
    "multisine": _multisine,
    "visits": _visits,
    "sweeps": _sweeps,
}
