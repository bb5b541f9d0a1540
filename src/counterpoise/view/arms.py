"""The arms that the page shows: bundled ones with their drives, and a user's own with drives that are assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..description import JointKind
from ..dynamics import FrictionLaw, LuGre, Robot, joint_inertias, load, rotary
from ..errors import InputError
from ..foundation import Array, frozen, rotation_from_vector, transform
from ..identification import workspace_poses
from ..plants import VARIANTS, ArmConfig, Drive, Encoder, FlowValve, Plate, SimulatedArm, Stops, Timing, preset

EFFORT_OVER_GRAVITY = 4.0
"""Effort limit that is assumed where a file states none, over the joint's largest gravity torque."""
LEAST_EFFORT_SHARE = 0.05
"""... but at least this share of the largest one assumed: a vertical axis bears no weight and still has a motor."""
SPEED_ROTARY, SPEED_LINEAR = 3.0, 1.0
"""Speed limits that are assumed [rad/s, m/s]."""
FRICTION_SHARE = 0.015
"""Breakaway friction that is assumed, as a share of the effort limit."""
ROTOR_SHARE = 0.2
"""Rotor inertia that is assumed where a file states none, as a share of what the joint moves."""
PRESLIDING = 2e-3
"""Displacement over which the assumed friction breaks away [rad or m]."""


@dataclass(frozen=True, slots=True, eq=False)
class ViewArm:
    """An arm that is ready to be shown and driven.

    Attributes:
        title: Its name for people.
        robot: The empty arm as the controller knows it.
        plant: The simulated arm, with a plate under its base.
        friction: The friction law that the controller knows; None where there is none.
        friction_band: Torque that friction may hold at rest, ± [N m or N], shape (n,).
        assumed: What the simulation assumes that no file states, one sentence each.
    """

    title: str
    robot: Robot
    plant: SimulatedArm
    friction: FrictionLaw | None
    friction_band: Array
    assumed: tuple[str, ...]


def view_arm(source: str | Robot, *, seed: int = 0) -> ViewArm:
    """Return the arm of a preset ("wam7", "puma550:50Hz"), of the catalog, of a file, or one that was loaded.

    Args:
        source: Name, path, or the robot itself.
        seed: Of the simulation's noise.

    Raises:
        InputError: An arm that cannot float, or no such preset.
        CounterpoiseError: The file cannot be read, or the robot cannot be simulated.
    """
    if isinstance(source, str):
        name, _, variant = source.partition(":")
        if name in VARIANTS:
            return _from_preset(name, variant or None, seed)
        if variant and "/" not in source and "\\" not in source:
            raise InputError(f"there is no preset '{name}'; variants are given for {', '.join(VARIANTS)}")
        source = load(source)
    return _assumed(source, seed)


def _from_preset(name: str, variant: str | None, seed: int) -> ViewArm:
    if name == "wam7" and variant is None:
        variant = "plate"  # the page can then switch its reading on and off
    chosen = preset(name, variant)
    config = chosen.config.replaced(seed=seed)
    if isinstance(config.drive.actuator, FlowValve):
        raise InputError(
            f"{name}:{chosen.variant} is driven by flow valves, which hold it by themselves: it cannot float"
        )
    assumed = [f"{entry.what}: {entry.reason}" for entry in chosen.assumptions]
    if config.plate is None:
        config = config.replaced(plate=Plate(T_base_sensor=np.eye(4)))
        assumed.append("plate: the preset has none; a rigid one without errors is added at the base frame")
    robot = chosen.robot()
    law = config.drive.friction
    band = _band(law, robot.n) if law is not None else FRICTION_SHARE * robot.effort_limit
    title = f"{chosen.name} ({chosen.variant})"
    return ViewArm(title, robot, SimulatedArm(robot, config), law, frozen(band), tuple(assumed))


def _assumed(given: Robot, seed: int) -> ViewArm:
    """Put drives around a bare robot."""
    free, assumed = without_followers(given)
    robot, limits = with_limits(free)
    assumed += limits
    static = FRICTION_SHARE * robot.effort_limit
    bristle = static / PRESLIDING
    friction = LuGre(
        coulomb=0.85 * static,
        static=static,
        stiffness=bristle,
        damping=0.6 * np.sqrt(bristle * robot.rotor_inertia),
        stribeck_velocity=0.05,
        viscous=0.1 * static,
    )
    stiffness = robot.effort_limit / 0.05
    config = ArmConfig(
        name=robot.name,
        seed=seed,
        timing=Timing(dt=2e-3, physics_step=2e-4, delay=1),
        drive=Drive(friction=friction),
        encoder=Encoder(velocity="exact"),
        plate=Plate(T_base_sensor=np.eye(4)),
        stops=Stops(stiffness=stiffness, damping=0.1 * np.sqrt(stiffness * robot.rotor_inertia)),
    )
    assumed += [
        f"friction: breakaway at {FRICTION_SHARE:.1%} of the effort limit, sliding 15 % below, a little viscosity",
        "drives: rigid gears, exact torques and encoders, 500 Hz with one sample of delay",
        "plate: rigid and exact, at the base frame",
    ]
    return ViewArm(robot.name, robot, SimulatedArm(robot, config), friction, frozen(static), tuple(assumed))


def without_followers(given: Robot) -> tuple[Robot, list[str]]:
    """Return the robot with every joint that mimics another one fixed where it is at the middle of its master."""
    description = given.description
    by_name = {joint.name: joint for joint in description.joints}
    followers = [joint for joint in description.joints if joint.mimic is not None]
    if not followers:
        return given, []
    joints = list(description.joints)
    for joint in followers:
        mimic = joint.mimic
        if mimic is None:
            continue
        master = by_name[mimic.master]
        middle = 0.5 * (master.lower + master.upper)
        position = mimic.multiplier * (middle if np.isfinite(middle) else 0.0) + mimic.offset
        turn = position if joint.kind.rotates else 0.0
        rotation = rotation_from_vector(turn * joint.axis)
        slide = (0.0 if joint.kind.rotates else position) * joint.axis
        pose = joint.T_parent_joint @ transform(rotation, slide)
        joints[joints.index(joint)] = replace(joint, kind=JointKind.FIXED, T_parent_joint=pose, mimic=None)
    names = ", ".join(joint.name for joint in followers)
    robot = Robot(replace(description, joints=tuple(joints)), mount=given.mount, gravity=given.gravity_world)
    return robot, [f"{names}: mimics another joint and is fixed, in the middle"]


def with_limits(given: Robot) -> tuple[Robot, list[str]]:
    """Return the robot with limits and rotor inertias where its file states none, and what was put in."""
    turns = rotary(given)
    poses = workspace_poses(given, 100)
    weight = np.abs(given.gravity(poses)).max(axis=0)
    effort = np.maximum(EFFORT_OVER_GRAVITY * weight, max(LEAST_EFFORT_SHARE * EFFORT_OVER_GRAVITY * weight.max(), 1.0))
    inertia = np.median([joint_inertias(given, pose) for pose in poses[:20]], axis=0)
    values = {
        "effort_limit": (given.effort_limit, effort, "four times the largest weight a joint has to hold"),
        "velocity_limit": (given.velocity_limit, np.where(turns, SPEED_ROTARY, SPEED_LINEAR), "3 rad/s, 1 m/s"),
        "rotor_inertia": (given.rotor_inertia, ROTOR_SHARE * np.maximum(inertia, 1e-4), "20 % of what a joint moves"),
    }
    changes: dict[str, dict[str, Any]] = {name: {} for name in given.joint_names}
    assumed: list[str] = []
    for field, (stated, put_in, why) in values.items():
        open_ = ~(np.isfinite(stated) & (stated > 0.0))
        for index in np.flatnonzero(open_):
            changes[given.joint_names[index]][field] = float(put_in[index])
        if open_.any():
            names = "all joints" if open_.all() else ", ".join(np.array(given.joint_names)[open_])
            assumed.append(f"{field.replace('_', ' ')} of {names}: {why}")
    if not assumed:
        return given, assumed
    description = given.description
    joints = tuple(replace(joint, **changes.get(joint.name, {})) for joint in description.joints)
    robot = Robot(replace(description, joints=joints), mount=given.mount, gravity=given.gravity_world)
    return robot, assumed


def _band(law: LuGre, n: int) -> Array:
    return np.broadcast_to(np.maximum(law.static, law.static_negative), (n,)).copy()
