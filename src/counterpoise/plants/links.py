"""Link dynamics by MuJoCo, from the arrays our own kernel computes with: same bodies, same inertias, same gravity.

Only the rigid-body equations of motion are MuJoCo's. Friction, gears, stops and the plate's reading are ours; contacts,
limits and constraints are switched off. The plate's compliance is six springs and dampers between the ground and the
base. The world is the base frame at rest: the robot's mounting turns gravity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics import BASE, REVOLUTE, Robot, Tree
from ..errors import InputError, MissingExtraError, ModelError
from ..foundation import Array
from .config import Plate

PLATE_JOINTS = 6


class Links:
    """The moving links of a robot on the ground, or on a compliant plate.

    Args:
        robot: The robot, with its mounting and payloads.
        plate: The plate under its base; None or a rigid one leaves the base fixed.
        armature: Rotor inertia that moves with each link, shape (n,).
        dt: Physics step [s].
        integrator: "symplectic" or "rk4".

    Attributes:
        model: MuJoCo's model.
        data: MuJoCo's state.
        q: Joint positions, a view into that state, shape (n,).
        dq: Joint velocities, a view, shape (n,).
        acceleration: Joint accelerations as computed last, a view, shape (n,).
        torque: Torques on the links, a view that the drives write to, shape (n,).
        deflection: Displacement and rotation of a compliant plate, a view, shape (6,); shape (0,) without one.
    """

    def __init__(self, robot: Robot, plate: Plate | None, armature: Array, dt: float, integrator: str) -> None:
        """Build the model and stand it at zero."""
        self._mujoco: Any = _mujoco()
        self._compliant = plate is not None and plate.stiffness is not None
        self._plate = plate
        _refuse(robot, plate)
        self.model = self._built(robot.tree)
        self.data = self._mujoco.MjData(self.model)
        option, disable = self.model.opt, self._mujoco.mjtDisableBit
        option.timestep = dt
        option.gravity[:] = robot.gravity_base
        kinds = self._mujoco.mjtIntegrator
        # Without damping both are the same; with it, "implicitfast" takes the plate's dampers implicitly.
        option.integrator = kinds.mjINT_IMPLICITFAST if integrator == "symplectic" else kinds.mjINT_RK4
        for bit in ("CONSTRAINT", "CONTACT", "LIMIT", "AUTORESET", "SENSOR", "ACTUATION"):
            option.disableflags |= getattr(disable, f"mjDSBL_{bit}", 0)
        first = PLATE_JOINTS if self._compliant else 0
        self.model.dof_armature[first:] = armature
        if plate is not None and plate.stiffness is not None:
            self.model.jnt_stiffness[:first] = plate.stiffness
            self.model.dof_damping[:first] = plate.damping
        self.q, self.dq = self.data.qpos[first:], self.data.qvel[first:]
        self.torque, self.acceleration = self.data.qfrc_applied[first:], self.data.qacc[first:]
        self.deflection = self.data.qpos[:first]
        self._first = first
        self.load(robot)

    def step(self) -> None:
        """Move the links on by one physics step under the present torques."""
        self._mujoco.mj_step(self.model, self.data)

    def forward(self) -> None:
        """Compute accelerations from the present state and torques."""
        self._mujoco.mj_forward(self.model, self.data)

    def base_wrench(self) -> Array:
        """Return the wrench that the ground exerts on a fixed base, force first, base axes, at the base origin.

        It belongs to the accelerations computed last.
        """
        self._mujoco.mj_rnePostConstraint(self.model, self.data)
        # MuJoCo states it about the whole robot's centre of mass, moment first.
        x, y, z = self.data.subtree_com[1].tolist()
        mx, my, mz, fx, fy, fz = self.data.cfrc_int[1].tolist()
        return np.array([fx, fy, fz, mx + y * fz - z * fy, my + z * fx - x * fz, mz + x * fy - y * fx])

    def stand(self, q: Array, dq: Array) -> Array:
        """Put the links at q with velocities dq, and a compliant plate in its static equilibrium.

        Returns:
            The torques that hold the links there at rest [N m or N], shape (n,).
        """
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = 0.0, 0.0, 0.0
        self.data.xfrc_applied[:] = 0.0
        self.q[:] = q
        for _ in range(8):  # the plate yields by micrometres: each pass gains four digits
            self.forward()
            if not self._compliant:
                break
            self.deflection[:] = -self.data.qfrc_bias[: self._first] / self.model.jnt_stiffness[: self._first]
        holding: Array = self.data.qfrc_bias[self._first :].copy()
        self.dq[:] = dq
        self.data.time = 0.0
        self.forward()
        return holding

    def load(self, robot: Robot) -> None:
        """Take over the robot's masses and inertias: at the start, and when a payload comes or goes."""
        tree, model = robot.tree, self.model
        self._tree = tree
        base_mass, base_moment, base_inertia = self._with_plate_top(tree)
        self._write_inertia(1, base_mass, base_moment, base_inertia)
        for body in range(tree.bodies):
            self._write_inertia(body + 2, float(tree.mass[body]), tree.first_moment[body], tree.inertia[body])
        self._mujoco.mj_setConst(model, self._mujoco.MjData(model))

    def push(self, link: int, wrench: Array, point: Array, along_link: bool) -> None:
        """Add a wrench on a link to the present external forces.

        Args:
            link: Index of the link in ``robot.link_names``.
            wrench: Force first [N, N m], shape (6,).
            point: Where it acts, in the link's frame [m], shape (3,).
            along_link: The wrench is along the link's axes; else along the base's.
        """
        origin, lever, R_base_link = self._place(link, point)
        force, moment = wrench[:3], wrench[3:]
        if along_link:
            force, moment = R_base_link @ force, R_base_link @ moment
        self.push_at(link, force, moment, origin + lever)

    def motion(self, link: int, point: Array) -> tuple[Array, Array, Array, Array]:
        """Return where a point of a link is and how it moves, as of the step computed last.

        Args:
            link: Index of the link in ``robot.link_names``.
            point: In the link's frame [m], shape (3,).

        Returns:
            Position [m], shape (3,); R_base_link, shape (3, 3); velocity [m/s] and angular velocity [rad/s], shape (3,)
            each.
        """
        origin, lever, R_base_link = self._place(link, point)
        twist = np.zeros(6)
        kind = self._mujoco.mjtObj.mjOBJ_XBODY
        self._mujoco.mj_objectVelocity(self.model, self.data, kind, self._body(link), twist, 0)
        return origin + lever, R_base_link, twist[3:] + cross(twist[:3], lever), twist[:3]

    def push_at(self, link: int, force: Array, moment: Array, at: Array) -> None:
        """Add a force [N] at a point of the base frame [m] and a moment [N m] on a link, base axes, shape (3,) each."""
        body = self._body(link)
        self.data.xfrc_applied[body, :3] += force
        self.data.xfrc_applied[body, 3:] += moment + cross(at - self.data.xipos[body], force)

    def release(self) -> None:
        """Take every external force away."""
        self.data.xfrc_applied[:] = 0.0

    def mass_matrix(self) -> Array:
        """Return the mass matrix of plate and joints with the armature, shape (nv, nv)."""
        columns = np.eye(self.model.nv)
        matrix = np.zeros_like(columns)
        for column, unit in zip(matrix, columns, strict=True):
            self._mujoco.mj_mulM(self.model, self.data, column, unit)
        return matrix

    def _body(self, link: int) -> int:
        return int(self._tree.link_body[link]) + 2  # BASE = −1 is MuJoCo's body 1

    def _place(self, link: int, point: Array) -> tuple[Array, Array, Array]:
        """Return the origin of a link's body, the way from there to a point of the link, and R_base_link."""
        tree, body = self._tree, self._body(link)
        rotation = self.data.xmat[body].reshape(3, 3)
        lever = rotation @ (tree.link_origin[link] + tree.link_rotation[link] @ point)
        return self.data.xpos[body], lever, rotation @ tree.link_rotation[link]

    def _built(self, tree: Tree) -> Any:
        """Return the compiled kinematics.

        The inertias are stand-ins in general position, so that MuJoCo takes no short cut that the real ones, written
        later and exactly as given, would not allow.
        """
        mujoco = self._mujoco
        spec = mujoco.MjSpec()
        spec.compiler.fusestatic = False
        base = spec.worldbody.add_body(name="base")
        _stand_in(base)
        if self._compliant:
            pose = np.asarray(self._plate.T_base_sensor) if self._plate is not None else np.eye(4)
            for kind, word in ((mujoco.mjtJoint.mjJNT_SLIDE, "slide"), (mujoco.mjtJoint.mjJNT_HINGE, "tilt")):
                for axis, letter in enumerate("xyz"):
                    base.add_joint(name=f"plate {word} {letter}", type=kind, pos=pose[:3, 3], axis=pose[:3, axis])
        bodies: list[Any] = []
        for body, name in enumerate(tree.body_names):
            parent = base if tree.parent[body] == BASE else bodies[tree.parent[body]]
            added = parent.add_body(name=f"body {name}", pos=tree.origin[body], quat=_wxyz(mujoco, tree.rotation[body]))
            kind = mujoco.mjtJoint.mjJNT_HINGE if tree.kind[body] == REVOLUTE else mujoco.mjtJoint.mjJNT_SLIDE
            added.add_joint(name=name, type=kind, axis=[0.0, 0.0, 1.0])
            _stand_in(added)
            bodies.append(added)
        try:
            return spec.compile()
        except ValueError as error:
            raise ModelError(f"MuJoCo does not compile this robot: {error}") from error

    def _write_inertia(self, body: int, mass: float, first_moment: Array, about_origin: Array) -> None:
        com = first_moment / mass if mass > 0.0 else np.zeros(3)
        about_com = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(about_com)
        axes = axes * np.sign(np.linalg.det(axes))
        model = self.model
        model.body_mass[body], model.body_ipos[body], model.body_inertia[body] = mass, com, moments
        model.body_iquat[body] = _wxyz(self._mujoco, axes)

    def _with_plate_top(self, tree: Tree) -> tuple[float, Array, Array]:
        mass, moment, inertia = tree.base_mass, tree.base_first_moment, tree.base_inertia
        if self._plate is None or not self._compliant:
            return mass, moment, inertia
        plate = self._plate
        T_base_sensor = np.asarray(plate.T_base_sensor)
        rotation = T_base_sensor[:3, :3]
        com = rotation @ np.asarray(plate.top_com) + T_base_sensor[:3, 3]
        shift = plate.top_mass * (com @ com * np.eye(3) - np.outer(com, com))
        turned = rotation @ np.diag(np.asarray(plate.top_inertia)) @ rotation.T
        return mass + plate.top_mass, moment + plate.top_mass * com, inertia + turned + shift


def cross(a: Array, b: Array) -> Array:
    """Return a × b of two vectors, shape (3,): NumPy's own takes twenty times as long, once per physics step."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError("simulating an arm", "sim") from error
    return mujoco


def _refuse(robot: Robot, plate: Plate | None) -> None:
    tree = robot.tree
    if tree.refusal:
        raise ModelError(f"this robot cannot be simulated: {tree.refusal}")
    followers = [name for name in tree.body_names if name not in tree.joint_names]
    if followers:
        raise ModelError(
            f"joint '{followers[0]}' mimics another one; a simulated arm needs independent joints: fix it or free it"
        )
    if plate is not None and plate.stiffness is not None and not tree.base_mass + plate.top_mass > 0.0:
        raise InputError(
            f"a compliant plate needs a base with mass, and link '{robot.link_names[0]}' has none; "
            "give plate.top_mass and plate.top_inertia"
        )


def _stand_in(body: Any) -> None:
    body.mass, body.inertia = 1.0, [1.0, 1.1, 1.2]
    body.ipos, body.iquat = [0.01, 0.02, 0.03], [0.5, 0.1, 0.7, 0.5]
    body.explicitinertial = True


def _wxyz(mujoco: Any, rotation: Array) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).reshape(9))
    return quaternion
