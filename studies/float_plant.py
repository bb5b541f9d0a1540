"""A plain MuJoCo arm for studies, which shares no code with ``counterpoise.plants``.

Rigid joints with rotors as armature, MuJoCo's own dry friction, viscous friction, drives whose torque constants are
off, a delay of one tick, quantised positions and velocities from their filtered differences. The arm's geometry and
masses are read from the robot's tree and written as MJCF.
"""

from __future__ import annotations

import mujoco
import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array

STEP = 1e-3
"""Step of the integration [s]."""
STIFF = 'solreffriction="0.002 1" solimpfriction="0.9999 0.9999 1e-6"'
"""As little creep at rest as MuJoCo's dry friction can have."""
CUTOFF = 40.0
"""Of the velocities [Hz]."""


class PlainArm:
    """An arm driven tick by tick.

    Attributes:
        q: Measured positions [rad or m], shape (n,).
        dq: Measured velocities [rad/s or m/s], shape (n,).
        time: [s].
    """

    def __init__(
        self,
        robot: cp.Robot,
        pose: Array,
        dt: float,
        *,
        dry: Array,
        viscous: Array,
        gain_error: Array,
        resolution: float = 2e-5,
    ) -> None:
        """Put the arm at a pose, at rest.

        Args:
            robot: The arm.
            pose: Positions [rad or m], shape (n,).
            dt: Time between two ticks [s].
            dry: Dry friction [N m or N], shape (n,).
            viscous: Viscous friction [N m s/rad or N s/m], shape (n,).
            gain_error: By how much the drives' torques are off, as shares, shape (n,).
            resolution: Of the positions [rad or m].
        """
        self._robot, self._friction = robot, (dry, viscous)
        self._factor, self._resolution, self._dt = 1.0 + gain_error, resolution, dt
        self._steps = max(1, round(dt / STEP))
        self._model, self._data = self._made(robot)
        self._data.qpos[:] = pose
        mujoco.mj_forward(self._model, self._data)
        self.time = 0.0
        self.q = self._read()
        self.dq = np.zeros(robot.n)
        self._sent = np.array(robot.gravity(self.q))
        self._push: tuple[int, Array] | None = None

    def carry(self, mass: float, com: Array, link: str) -> None:
        """Fix a point load to a link, at the link's speed."""
        model, data = self._made(self._robot.with_payload(mass, com=tuple(com), link=link))
        data.qpos[:], data.qvel[:] = self._data.qpos, self._data.qvel
        self._model, self._data = model, data
        mujoco.mj_forward(model, data)

    def push(self, link: str, wrench: Array, q: Array) -> None:
        """Push a link at its origin with a wrench in base axes [N, N m], shape (6,), until the next tick."""
        tree = self._robot.tree
        body = int(tree.link_body[tree.link_names.index(link)])
        point = self._robot.forward_kinematics(q, at=link)[:3, 3]
        lever = point - self._data.xipos[body + 1]
        self._push = (body + 1, np.concatenate([wrench[:3], np.cross(lever, wrench[:3]) + wrench[3:]]))

    def tick(self, tau: Array) -> None:
        """Send torques [N m or N], shape (n,); they act one tick later."""
        data = self._data
        data.xfrc_applied[:] = 0.0
        if self._push is not None:
            data.xfrc_applied[self._push[0]] = self._push[1]
        data.qfrc_applied[:] = self._factor * self._sent
        for _ in range(self._steps):
            mujoco.mj_step(self._model, data)
        self._sent, self._push = np.array(tau), None
        self.time += self._dt
        before, self.q = self.q, self._read()
        keep = np.exp(-2.0 * np.pi * CUTOFF * self._dt)
        self.dq = keep * self.dq + (1.0 - keep) * (self.q - before) / self._dt

    def _read(self) -> Array:
        return self._resolution * np.round(np.array(self._data.qpos) / self._resolution)

    def _made(self, robot: cp.Robot) -> tuple[mujoco.MjModel, mujoco.MjData]:
        tree = robot.tree
        dry, viscous = self._friction
        children: dict[int, list[int]] = {}
        for body in range(tree.bodies):
            children.setdefault(int(tree.parent[body]), []).append(body)

        def text(values: Array) -> str:
            return " ".join(f"{value:.17g}" for value in np.ravel(values))

        def written(body: int) -> str:
            mass = float(tree.mass[body])
            com = tree.first_moment[body] / mass
            about = tree.inertia[body] - mass * (com @ com * np.eye(3) - np.outer(com, com))
            kind = "hinge" if tree.kind[body] == 0 else "slide"
            full = [about[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            inner = "".join(written(child) for child in children.get(body, []))
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(tree.rotation[body]).ravel())
            return (
                f'<body pos="{text(tree.origin[body])}" quat="{text(quaternion)}">'
                f'<inertial pos="{text(com)}" mass="{mass:.17g}" fullinertia="{text(np.array(full))}"/>'
                f'<joint type="{kind}" axis="0 0 1" armature="{robot.rotor_inertia[body]:.17g}" '
                f'frictionloss="{dry[body]:.17g}" {STIFF} damping="{viscous[body]:.17g}"/>{inner}</body>'
            )

        bodies = "".join(written(body) for body in children[-1])
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian" balanceinertia="true" boundinertia="1e-9"/>'
            f'<option timestep="{STEP}" gravity="{text(robot.gravity_base)}" integrator="implicitfast"/>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )
        return model, mujoco.MjData(model)
