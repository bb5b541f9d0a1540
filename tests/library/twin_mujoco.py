"""Robots computed by MuJoCo: built body by body from a description, or compiled from its own reading of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from counterpoise.description import Description, JointKind
from counterpoise.foundation import Array
from library.random_robots import Load
from library.twin import Coordinates

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
mujoco.set_mju_user_warning(lambda _message: None)  # else it leaves a log file where the tests run


class MujocoTwin:
    """A compiled MuJoCo model whose base body stands in the world as the robot is mounted.

    Torques come from mj_rne, not mj_inverse: the latter adds armature, damping and constraint forces.
    """

    oracle = "MuJoCo"

    def __init__(self, model: Any, coordinates: Coordinates, base: str, mount: Array) -> None:
        self.model, self.mount = model, mount
        # Links may touch in a random pose; contact forces would enter the reaction of the ground.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.data = mujoco.MjData(model)
        self.base = model.body(base).id
        on_world = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
        self.grounded = on_world if self.base == 0 else [self.base]
        names = [model.joint(index).name for index in range(model.njnt)]
        assert model.njnt == model.nq == model.nv
        self.E, self.offset = coordinates.expansion(names)

    @property
    def total_mass(self) -> float:
        return float(self.model.body_mass.sum())

    def gravity(self, q: Array) -> Array:
        self._move(q, np.zeros_like(q), np.zeros_like(q))
        return self.E.T @ self.data.qfrc_bias

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        self._move(q, dq, ddq)
        torques = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 1, torques)
        return self.E.T @ torques

    def base_wrench(self, q: Array, dq: Array, ddq: Array) -> Array:
        self._move(q, dq, ddq)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        total_force, total_moment = np.zeros(3), np.zeros(3)
        for body in self.grounded:
            # cfrc_int: moment first, world axes, about the centre of mass of the tree that the body belongs to.
            moment, force = self.data.cfrc_int[body, :3], self.data.cfrc_int[body, 3:]
            point = self.data.subtree_com[self.model.body_rootid[body]] - self.data.xpos[self.base]
            total_force += force
            total_moment += moment + np.cross(point, force)
        return np.concatenate([self.mount.T @ total_force, self.mount.T @ total_moment])

    def center_of_mass(self, q: Array) -> Array:
        self._move(q, np.zeros_like(q), np.zeros_like(q))
        return self.mount.T @ (self.data.subtree_com[self.base] - self.data.xpos[self.base])

    def forward_kinematics(self, q: Array, at: str) -> Array:
        self._move(q, np.zeros_like(q), np.zeros_like(q))
        pose = np.eye(4)
        body = self.data.body(at)
        pose[:3, :3] = self.mount.T @ body.xmat.reshape(3, 3)
        pose[:3, 3] = self.mount.T @ (body.xpos - self.data.xpos[self.base])
        return pose

    def jacobian(self, q: Array, at: str) -> Array:
        self._move(q, np.zeros_like(q), np.zeros_like(q))
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        body = self.data.body(at)
        mujoco.mj_jac(self.model, self.data, linear, angular, body.xpos, body.id)
        return np.vstack([self.mount.T @ linear, self.mount.T @ angular]) @ self.E

    def _move(self, q: Array, dq: Array, ddq: Array) -> None:
        self.data.qpos[:] = self.E @ q + self.offset
        self.data.qvel[:] = self.E @ dq
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        self.data.qacc[:] = self.E @ ddq


def mujoco_twin(
    description: Description,
    mount: Array,
    gravity_world: Array,
    loads: Sequence[Load] = (),
) -> MujocoTwin:
    """Build the model of a description by hand."""
    model = mujoco_spec(description, mount, gravity_world, loads).compile()
    return MujocoTwin(model, Coordinates(description), description.root, mount)


def mujoco_spec(
    description: Description,
    mount: Array,
    gravity_world: Array,
    loads: Sequence[Load] = (),
) -> Any:
    """One body per link, its joint anchored where T_joint_child says; loads are bodies too."""
    spec = mujoco.MjSpec()
    spec.compiler.fusestatic = False
    spec.option.gravity = gravity_world
    bodies: dict[str, Any] = {}

    def add_body(parent: Any, name: str, rotation: Array, origin: Array) -> Any:
        return parent.add_body(name=name, pos=origin, quat=_wxyz(rotation))

    def add_mass(body: Any, mass: float, com: Array, tensor: Array) -> None:
        moments, axes = np.linalg.eigh(tensor)
        axes = axes * np.sign(np.linalg.det(axes))
        body.mass, body.ipos, body.iquat, body.inertia = mass, com, _wxyz(axes), moments
        body.explicitinertial = True

    def add_link(parent: Any, name: str, T_parent_link: Array) -> None:
        bodies[name] = add_body(parent, name, T_parent_link[:3, :3], T_parent_link[:3, 3])
        inertia = next(link.inertia for link in description.links if link.name == name)
        if inertia is not None:
            add_mass(bodies[name], inertia.mass, inertia.com, inertia.tensor_com)
        for number, load in enumerate(loads):
            if load.link == name:
                carried = add_body(bodies[name], f"load{number}", np.eye(3), np.zeros(3))
                add_mass(carried, load.mass, load.com, np.zeros((3, 3)) if load.inertia is None else load.inertia)

    T_world_base = np.eye(4)
    T_world_base[:3, :3] = mount
    add_link(spec.worldbody, description.root, T_world_base)
    waiting = list(description.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in bodies:
            waiting.append(joint)
            continue
        add_link(bodies[joint.parent], joint.child, joint.T_parent_joint @ joint.T_joint_child)
        if joint.kind is not JointKind.FIXED:
            R_joint_child, anchor = joint.T_joint_child[:3, :3], joint.T_joint_child[:3, 3]
            bodies[joint.child].add_joint(
                name=joint.name,
                type=mujoco.mjtJoint.mjJNT_HINGE if joint.kind.rotates else mujoco.mjtJoint.mjJNT_SLIDE,
                axis=R_joint_child.T @ joint.axis,
                pos=-R_joint_child.T @ anchor,
            )
    return spec


def _wxyz(rotation: Array) -> Array:
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([w, x, y, z])
