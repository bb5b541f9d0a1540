"""Robots computed by Pinocchio: built joint by joint from a description, or read by its own file loaders."""

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

pin: Any = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")


class PinocchioTwin:
    """A Pinocchio model that stands in the world as the robot is mounted; results are turned back to base axes."""

    oracle = "Pinocchio"

    def __init__(self, model: Any, coordinates: Coordinates, mount: Array, gravity_world: Array) -> None:
        self.model, self.mount = model, mount
        model.gravity = pin.Motion(np.array(gravity_world), np.zeros(3))
        model.armature[:] = 0.0
        self.data = model.createData()
        self.E, self.offset = coordinates.expansion(list(model.names)[1:])

    @property
    def total_mass(self) -> float:
        return float(sum(inertia.mass for inertia in self.model.inertias))

    def gravity(self, q: Array) -> Array:
        return self.E.T @ pin.computeGeneralizedGravity(self.model, self.data, self._configuration(q))

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        return self.E.T @ self._rnea(q, dq, ddq)

    def base_wrench(self, q: Array, dq: Array, ddq: Array) -> Array:
        self._rnea(q, dq, ddq)
        # rnea leaves in f_i what joint i exerts on its child; the ground also carries what is welded to the universe.
        base = self.model.inertias[0]
        weight = -base.mass * self.model.gravity.linear
        total = pin.Force(weight, np.cross(base.lever, weight))
        for joint in range(1, self.model.njoints):
            if self.model.parents[joint] == 0:
                total += self.data.oMi[joint].act(self.data.f[joint])
        return np.concatenate([self.mount.T @ total.linear, self.mount.T @ total.angular])

    def center_of_mass(self, q: Array) -> Array:
        base = self.model.inertias[0]
        moving = self.total_mass - base.mass
        com = pin.centerOfMass(self.model, self.data, self._configuration(q)) if moving > 0.0 else np.zeros(3)
        return self.mount.T @ (moving * com + base.mass * base.lever) / self.total_mass

    def forward_kinematics(self, q: Array, at: str) -> Array:
        pin.framesForwardKinematics(self.model, self.data, self._configuration(q))
        pose = self.data.oMf[self._frame(at)].homogeneous.copy()
        pose[:3] = self.mount.T @ pose[:3]
        return pose

    def jacobian(self, q: Array, at: str) -> Array:
        frame, axes = self._frame(at), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        columns = pin.computeFrameJacobian(self.model, self.data, self._configuration(q), frame, axes).reshape(6, -1)
        return np.vstack([self.mount.T @ columns[:3], self.mount.T @ columns[3:]]) @ self.E

    def _rnea(self, q: Array, dq: Array, ddq: Array) -> Array:
        torques = pin.rnea(self.model, self.data, self._configuration(q), self.E @ dq, self.E @ ddq)
        pin.forwardKinematics(self.model, self.data, self._configuration(q))
        return torques

    def _configuration(self, q: Array) -> Array:
        """Pinocchio stores an unbounded rotary joint as (cos, sin)."""
        values = []
        for joint, value in zip(self.model.joints[1:], self.E @ q + self.offset, strict=True):
            values.extend([np.cos(value), np.sin(value)] if joint.nq == 2 else [value])
        return np.array(values)

    def _frame(self, link: str) -> int:
        return int(self.model.getFrameId(link, pin.FrameType.BODY))


def pinocchio_twin(
    description: Description,
    mount: Array,
    gravity_world: Array,
    loads: Sequence[Load] = (),
) -> PinocchioTwin:
    """Build the model by hand: the base stands turned in the universe, fixed links are bodies of their joint."""
    model = pin.Model()
    joint_of = {description.root: 0}
    placement = {description.root: pin.SE3(np.array(mount), np.zeros(3))}

    def add_link(name: str) -> None:
        model.addFrame(pin.Frame(name, joint_of[name], 0, placement[name], pin.FrameType.BODY))
        inertia = next(link.inertia for link in description.links if link.name == name)
        if inertia is not None:
            body = pin.Inertia(inertia.mass, np.array(inertia.com), np.array(inertia.tensor_com))
            model.appendBodyToJoint(joint_of[name], body, placement[name])
        for load in loads:
            if load.link == name:
                tensor = np.zeros((3, 3)) if load.inertia is None else load.inertia
                model.appendBodyToJoint(joint_of[name], pin.Inertia(load.mass, load.com, tensor), placement[name])

    add_link(description.root)
    waiting = list(description.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in joint_of:
            waiting.append(joint)
            continue
        T_joint = placement[joint.parent] * pin.SE3(np.array(joint.T_parent_joint))
        T_child = pin.SE3(np.array(joint.T_joint_child))
        if joint.kind is JointKind.FIXED:
            joint_of[joint.child], placement[joint.child] = joint_of[joint.parent], T_joint * T_child
        else:
            axis = np.array(joint.axis)
            if joint.kind is JointKind.CONTINUOUS:  # its Python binding offers unbounded turns about x, y and z only
                turn = pin.SE3(Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])[0].as_matrix(), np.zeros(3))
                kind, T_joint, T_child = pin.JointModelRUBZ(), T_joint * turn, turn.inverse() * T_child
            elif joint.kind is JointKind.REVOLUTE:
                kind = pin.JointModelRevoluteUnaligned(axis)
            else:
                kind = pin.JointModelPrismaticUnaligned(axis)
            joint_of[joint.child] = model.addJoint(joint_of[joint.parent], kind, T_joint, joint.name)
            placement[joint.child] = T_child
        add_link(joint.child)
    return PinocchioTwin(model, Coordinates(description), mount, gravity_world)
