"""Random robots, one per seed: trees with every kind of joint, mount, gravity and payload; and plates under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from counterpoise import BaseSensor, Robot
from counterpoise.description import Description, Inertia, Joint, JointKind, Link, Mimic, checked
from counterpoise.foundation import Array, transform

Shape = Literal["chain", "mixed", "star"]

MAX_JOINTS = 30


@dataclass(frozen=True, eq=False)
class Load:
    """A payload as with_payload takes it: mass [kg], com [m] and inertia about the com [kg m²] in the link's frame."""

    link: str
    mass: float
    com: Array
    inertia: Array | None


@dataclass(frozen=True, eq=False)
class RandomRobot:
    """What a seed stands for: enough to build the robot here and, independently, in another library."""

    seed: int
    description: Description
    mount: Array
    gravity_world: Array
    loads: tuple[Load, ...]

    def robot(self) -> Robot:
        """Build it through the public interface: mounted first, then loaded."""
        robot = Robot(self.description).mounted(rotation=self.mount, gravity=self.gravity_world)
        for load in self.loads:
            robot = robot.with_payload(load.mass, com=load.com.tolist(), link=load.link, inertia=load.inertia)
        return robot


def random_robot(
    seed: int,
    *,
    joints: int | None = None,
    shape: Shape | None = None,
    kinds: Sequence[JointKind] = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC),
    mimics: bool = True,
    massless: bool = True,
    loads: bool = True,
    tilted: bool | None = None,
    right_angles: bool = False,
) -> RandomRobot:
    """Make the robot of a seed.

    Args:
        seed: The same seed and arguments give the same robot.
        joints: Number of moving joints, mimics included; None for 1 to MAX_JOINTS.
        shape: A serial chain, a tree with long limbs, or a tree whose links sprout anywhere; None for any.
        kinds: Kinds of moving joints to draw from.
        mimics: Let some joints follow others, also through chains of them.
        massless: Let some moving links have no mass (MuJoCo refuses those).
        loads: Attach payloads to some links, fixed ones and the base included.
        tilted: Random mount and gravity vector, or upright and standard; None for either.
        right_angles: Turn every frame by multiples of 90° and draw axes from x, y and z, as builders of arms do; only
            then are axes parallel to each other and to gravity.
    """
    rng = np.random.default_rng([20_25, seed])
    count = int(rng.integers(1, MAX_JOINTS + 1) if rng.random() < 0.3 else rng.integers(1, 13))
    count = count if joints is None else joints
    shape = shape if shape is not None else ("chain", "mixed", "star")[int(rng.integers(3))]
    links = [Link("base", random_inertia(rng) if rng.random() < 0.8 else None)]
    built: list[Joint] = []
    moving = 0
    while moving < count:
        parent = _parent(rng, links, shape)
        fixed = bool(rng.random() < 0.2)
        name = f"{'weld' if fixed else 'joint'}{len(built)}"
        weightless = bool(rng.random() < 0.12) and (fixed or (massless and moving < count - 1))
        link = Link(f"link{len(built)}", None if weightless else random_inertia(rng))
        kind = JointKind.FIXED if fixed else kinds[int(rng.integers(len(kinds)))]
        built.append(
            Joint(
                name,
                kind,
                parent,
                link.name,
                _random_transform(rng, right_angles),
                _random_axis(rng, right_angles),
                np.eye(4) if rng.random() < 0.5 else _random_transform(rng, right_angles),
                rotor_inertia=float(rng.uniform(0.0, 2.0)),
            )
        )
        links.append(link)
        moving += not fixed
    if mimics and rng.random() < 0.5:
        built = _with_mimics(rng, built)
    order = rng.permutation(len(built))  # a file may define its joints in any order
    if tilted if tilted is not None else bool(rng.random() < 0.7):
        mount = random_rotation(rng)
        gravity = random_direction(rng) * rng.uniform(0.5, 20.0)
    else:
        mount, gravity = np.eye(3), np.array([0.0, 0.0, -9.81])
    description = checked(name=f"random{seed}", links=links, joints=[built[i] for i in order])
    carried = _random_loads(rng, description) if loads else ()
    return RandomRobot(seed, description, mount, gravity, carried)


def random_motion(robot: Robot, seed: int, count: int) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations, each of shape (count, n)."""
    rng = np.random.default_rng([7, seed])
    q = rng.uniform(-np.pi, np.pi, (count, robot.n))
    return q, rng.uniform(-2.0, 2.0, (count, robot.n)), rng.uniform(-5.0, 5.0, (count, robot.n))


def random_inertia(rng: np.random.Generator) -> Inertia:
    """Mass distribution of a real body: the covariance of its mass is positive, so its moments obey the triangle."""
    mass = float(rng.uniform(0.05, 8.0))
    factor = rng.uniform(-0.15, 0.15, (3, 3))
    covariance = mass * (factor @ factor.T + 1e-4 * np.eye(3))
    tensor = np.trace(covariance) * np.eye(3) - covariance
    return Inertia(mass, rng.uniform(-0.3, 0.3, 3), 0.5 * (tensor + tensor.T))


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation drawn evenly from all rotations, shape (3, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0.0 else -q


def random_direction(rng: np.random.Generator) -> Array:
    """A unit vector, shape (3,)."""
    vector = rng.normal(size=3)
    direction: Array = vector / np.linalg.norm(vector)
    return direction


def _random_transform(rng: np.random.Generator, right_angles: bool) -> Array:
    rotation = np.eye(3)
    if rng.random() > 0.2:
        rotation = _quarter_turns(rng) if right_angles else random_rotation(rng)
    return transform(rotation, rng.uniform(-0.5, 0.5, 3) if rng.random() < 0.9 else np.zeros(3))


def _quarter_turns(rng: np.random.Generator) -> Array:
    """One of the 24 rotations of a cube."""
    rotation = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
    return rotation if np.linalg.det(rotation) > 0.0 else -rotation


def _random_axis(rng: np.random.Generator, right_angles: bool) -> Array:
    if right_angles or rng.random() < 0.4:
        return np.eye(3)[int(rng.integers(3))] * (1.0 if rng.random() < 0.5 else -1.0)
    return random_direction(rng)


def _parent(rng: np.random.Generator, links: Sequence[Link], shape: Shape) -> str:
    if shape == "chain" or (shape == "mixed" and rng.random() < 0.75):
        return links[-1].name
    return links[int(rng.integers(len(links)))].name


def _with_mimics(rng: np.random.Generator, joints: Sequence[Joint]) -> list[Joint]:
    """Let about a third of the moving joints follow one that comes earlier in a random order: so never in a circle."""
    moving = [joint.name for joint in joints if joint.kind is not JointKind.FIXED]
    ranked = [moving[i] for i in rng.permutation(len(moving))]
    followers = {
        name: Mimic(
            ranked[int(rng.integers(rank))],
            float(rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.5)),
            float(rng.uniform(-0.5, 0.5)) if rng.random() < 0.7 else 0.0,
        )
        for rank, name in enumerate(ranked)
        if rank > 0 and rng.random() < 0.35
    }
    return [replace(joint, mimic=followers.get(joint.name)) for joint in joints]


def _random_loads(rng: np.random.Generator, description: Description) -> tuple[Load, ...]:
    names = [link.name for link in description.links]
    loads = []
    for _ in range(int(rng.choice([0, 1, 2, 3]))):
        body = random_inertia(rng)
        link = names[0] if rng.random() < 0.15 else names[int(rng.integers(len(names)))]
        loads.append(Load(link, body.mass, body.com, body.tensor_com if rng.random() < 0.6 else None))
    return tuple(loads)


def random_pose(rng: np.random.Generator) -> Array:
    """Return any pose of a sensor within a metre, shape (4, 4)."""
    return transform(random_rotation(rng), rng.uniform(-1.0, 1.0, 3))


def random_sensor(robot: Robot, rng: np.random.Generator, reads: str) -> BaseSensor:
    """Return a plate with any pose, measurement point, cross-talk and bias."""
    return BaseSensor(
        robot,
        random_pose(rng),
        reads,
        point=rng.uniform(-0.2, 0.2, 3),
        gain=np.eye(6) + rng.uniform(-0.05, 0.05, (6, 6)),
        bias=rng.normal(size=6) * 5.0,
    )


def relative(error: Array, size: Array) -> float:
    """Return the largest error relative to the largest entry, at least 1."""
    return float(np.max(np.abs(error), initial=0.0)) / max(1.0, float(np.max(np.abs(size), initial=0.0)))
