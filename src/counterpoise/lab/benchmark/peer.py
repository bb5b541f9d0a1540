"""The same robot in Pinocchio, built joint by joint from our description so that only the arithmetic is compared.

Every joint frame is turned so that its axis is z: the peer gets its fastest joint types, RZ and PZ, for any axis.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...description import Joint, JointKind
from ...dynamics import Robot
from ...foundation import Array, inverse_transform, rotation_with_z_along, transform


@dataclass(frozen=True, slots=True)
class Peer:
    """A robot in Pinocchio.

    Attributes:
        pin: The module.
        model: Its model, joints in our order.
        data: Its workspace.
        pool: Its model and workspace for batches on one thread.
        carriers: By link: index of the joint that carries it (0 for the base), and the link's pose in the joint's
            frame, shape (4, 4).
    """

    pin: Any
    model: Any
    data: Any
    pool: Any
    carriers: dict[str, tuple[int, Array]]

    def wrench_at_joint(self, q: Array, wrench: Array, link: str) -> tuple[int, Array]:
        """Return the joint that carries a link, and a wrench at the link's origin in base axes moved to that joint.

        Args:
            q: The pose, shape (n,).
            wrench: Force and moment in base axes at the link's origin [N, N m], shape (6,).
            link: Name of the link.

        Returns:
            Index of the joint, and the wrench at its origin in its own axes, shape (6,): what multiplies the transpose
            of Pinocchio's joint Jacobian.
        """
        joint, T_joint_link = self.carriers[link]
        self.pin.forwardKinematics(self.model, self.data, q)
        rotation = np.array(self.data.oMi[joint].rotation)
        force, moment = wrench[:3], wrench[3:]
        moment = moment + np.cross(rotation @ T_joint_link[:3, 3], force)
        return joint, np.concatenate([rotation.T @ force, rotation.T @ moment])

    @property
    def parameters(self) -> Array:
        """Ten inertial parameters per joint, in Pinocchio's order, shape (10 n,)."""
        return np.concatenate([inertia.toDynamicParameters() for inertia in list(self.model.inertias)[1:]])


def peer_version() -> str | None:
    """Return the version of Pinocchio, or None where it is not installed."""
    pin = _pinocchio()
    return None if pin is None else str(pin.__version__)


def peer_of(robot: Robot) -> Peer | None:
    """Build a robot in Pinocchio; None where Pinocchio is not installed or a joint mimics another."""
    pin = _pinocchio()
    if pin is None or any(joint.mimic is not None for joint in robot.description.joints):
        return None
    children: defaultdict[str, list[Joint]] = defaultdict(list)
    for edge in robot.description.joints:
        children[edge.parent].append(edge)
    inertia_of = {link.name: link.inertia for link in robot.description.links}
    model = pin.Model()
    model.gravity.linear = robot.gravity_base.copy()
    carriers: dict[str, tuple[int, Array]] = {}
    # (joint that leads to the link, link, joint that carries the parent link, pose of joint in the carrier's frame)
    pending: list[tuple[Joint | None, str, int, Array]] = [(None, robot.description.root, 0, np.eye(4))]
    while pending:
        joint, link, carrier, T_carrier_link = pending.pop()
        if joint is not None and joint.kind is JointKind.FIXED:
            T_carrier_link = T_carrier_link @ joint.T_joint_child
        elif joint is not None:
            to_z = transform(rotation_with_z_along(joint.axis), np.zeros(3))
            kind = pin.JointModelRZ() if joint.kind.rotates else pin.JointModelPZ()
            carrier = model.addJoint(carrier, kind, pin.SE3(T_carrier_link @ to_z), joint.name)
            T_carrier_link = inverse_transform(to_z) @ joint.T_joint_child
        carriers[link] = carrier, T_carrier_link
        if (inertia := inertia_of[link]) is not None and carrier > 0:
            body = pin.Inertia(inertia.mass, inertia.com, inertia.tensor_com)
            model.appendBodyToJoint(carrier, body, pin.SE3(T_carrier_link))
        for child in reversed(children[link]):
            pending.append((child, child.child, carrier, T_carrier_link @ child.T_parent_joint))
    return Peer(pin, model, model.createData(), pin.ModelPool(model, 1), carriers)


def _pinocchio() -> Any:
    try:
        import pinocchio
    except ImportError:
        return None
    # An unrelated package of the same name, a test helper, exists too.
    return pinocchio if hasattr(pinocchio, "computeGeneralizedGravity") else None
