"""One joint in native code alone, without MuJoCo: the same drive model for fast studies of control and friction.

``one_link_robot`` is its model, a robot with one link, for laws, base sensor and safe stop of a SingleJoint plant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from ..control import PlateInfo
from ..description import STANDARD_GRAVITY, Description, Inertia, Joint, JointKind, Link
from ..dynamics import REVOLUTE, Robot, as_rows
from ..errors import InputError
from ..foundation import Array, frozen, inverse_transform, wrench_transform
from .base import ArmState, SimulatedPlant
from .config import ArmConfig
from .events import Push
from .kernel import OneJoint
from .layout import LINK_PARAMETERS, LINK_STATE, LINK_STATES, STATE
from .modes import refuse_long_step, refuse_stiff_damper, structural_modes
from .parameters import Joints
from .plate import PlateSensor
from .quantities import number, of_kind
from .reference import butterworth, settled_state

GRAVITY = 9.81
"""Gravity of the model [m/s²]; where the link is heavy it points along the base's x axis, across the joint's axis."""


def one_link_robot(link: OneLink) -> Robot:
    """Return a robot with the inertia, the holding torque G sin(q + φ) and the limits of ``link``.

    Mass and centre of mass are chosen freely: only their product G / g acts at the joint, and the share of the inertia
    that they take is at most half.

    Args:
        link: The link; its joint turns about the base's z axis.
    """
    moment = abs(link.gravity) / GRAVITY
    mass = max(1.0, 2.0 * moment**2 / link.inertia)
    lever, angle = moment / mass, link.gravity_angle + (math.pi if link.gravity < 0.0 else 0.0)
    about_com = link.inertia - mass * lever**2
    # A disc: the two other moments of inertia are half of the one about the axis, the least that a body can have.
    tensor = about_com * np.diag([0.5, 0.5, 1.0])
    com = np.array([lever * math.cos(angle), lever * math.sin(angle), 0.0])
    joint = Joint(
        name=link.name,
        kind=JointKind.REVOLUTE,
        parent="base",
        child="link",
        lower=link.lower,
        upper=link.upper,
        velocity_limit=link.velocity_limit,
        effort_limit=link.effort_limit,
        rotor_inertia=link.rotor_inertia,
    )
    description = Description(
        name=f"{link.name} alone",
        links=(Link("base"), Link("link", Inertia(mass, com, tensor))),
        joints=(joint,),
        root="base",
        gravity_world=np.array((GRAVITY, 0.0, 0.0) if moment > 0.0 else STANDARD_GRAVITY),
        summary="one joint with the others locked",
    )
    return Robot(description)


PUSH, READING = LINK_STATE["push"], LINK_STATE["reading"]


@dataclass(frozen=True, slots=True, eq=False)
class OneLink:
    """A single link on a rotary joint along the base's z axis.

    Attributes:
        inertia: Inertia about the axis > 0, without the rotor.
        rotor_inertia: Inertia of the drive, reflected to the link side ≥ 0.
        gravity: Amplitude G of the holding torque G sin(q + gravity_angle); 0 for an upright axis.
        gravity_angle: Its phase.
        base_inertia: Inertia about the axis of what a compliant plate carries besides the link > 0.
        name: Name of the joint.
        lower: Lower position limit; −inf for none.
        upper: Upper position limit; inf for none.
        velocity_limit: Largest speed; inf for unknown.
        effort_limit: Largest torque; inf for unknown.
    """

    inertia: Annotated[float, "kg m²"] = 1.0
    rotor_inertia: Annotated[float, "kg m²"] = 0.0
    gravity: Annotated[float, "N m"] = 0.0
    gravity_angle: Annotated[float, "rad"] = 0.0
    base_inertia: Annotated[float, "kg m²"] = 1.0
    name: str = "joint1"
    lower: Annotated[float, "rad"] = -math.inf
    upper: Annotated[float, "rad"] = math.inf
    velocity_limit: Annotated[float, "rad/s"] = math.inf
    effort_limit: Annotated[float, "N m"] = math.inf

    def __post_init__(self) -> None:
        """Check."""
        of_kind(self.name, "link.name", (str,))
        bounds: dict[str, dict[str, float]] = {
            "inertia": {"above": 0.0, "most": 1e9},
            "rotor_inertia": {"least": 0.0, "most": 1e9},
            "gravity": {"least": -1e9, "most": 1e9},
            "gravity_angle": {"least": -1e3, "most": 1e3},
            "base_inertia": {"above": 0.0, "most": 1e9},
            "lower": {},
            "upper": {},
            "velocity_limit": {"above": 0.0},
            "effort_limit": {"above": 0.0},
        }
        for name, limits in bounds.items():
            object.__setattr__(self, name, number(getattr(self, name), f"link.{name}", **limits))


class SingleJoint(SimulatedPlant):
    """One link on one drive, on a plate that yields about the same axis. Of a wrench only the moment about z exists.

    Args:
        link: The link.
        config: Everything else; per-joint settings are single numbers. None for an ideal joint.

    Attributes:
        link: The link.
        robot: Its model, for laws and the base sensor.
        config: The configuration.

    Raises:
        InputError: The configuration is for more joints, has payload events, or its physics step is too long.
    """

    def __init__(self, link: OneLink, config: ArmConfig | None = None) -> None:
        """Build the joint and stand it at its initial position."""
        settings = ArmConfig() if config is None else config
        joints = Joints(
            (link.name,),
            frozen([link.rotor_inertia]),
            frozen([link.effort_limit]),
            frozen([link.lower]),
            frozen([link.upper]),
        )
        super().__init__(settings, joints, frozen([link.velocity_limit]))
        self.link = link
        self.robot = one_link_robot(link)
        timing, plate = settings.timing, settings.plate
        self._plate_stiffness, damping, self._info = math.inf, 0.0, None
        self._moment_at_sensor = np.zeros(6)
        cutoff = math.inf if plate is None else plate.cutoff
        if plate is not None:
            pose = np.asarray(plate.T_base_sensor)
            self._moment_at_sensor = wrench_transform(inverse_transform(pose))[:, 5].copy()
            self._info = PlateInfo(plate.reads, frozen(pose), frozen(plate.range))
            if plate.stiffness is not None:
                axis = pose[2, :3]  # the joint's axis along the sensor's
                self._plate_stiffness = 1.0 / float(axis**2 @ (1.0 / np.asarray(plate.stiffness)[3:]))
                damping = float(axis**2 @ np.asarray(plate.damping)[3:])
        self._filter = butterworth(cutoff, timing.step)
        numbers = {
            "inertia": link.inertia,
            "gravity": link.gravity,
            "gravity_angle": link.gravity_angle,
            "base_inertia": link.base_inertia,
            "plate_stiffness": self._plate_stiffness,
            "plate_damping": damping,
            **dict(zip(("b0", "b1", "b2", "a1", "a2"), self._filter.tolist(), strict=True)),
        }
        parameters = np.array([numbers[name] for name in LINK_PARAMETERS])
        self._state = np.zeros(len(LINK_STATES))
        position, velocity = LINK_STATE["position"], LINK_STATE["velocity"]
        self._position = self._state[position : position + 1]
        self._velocity = self._state[velocity : velocity + 1]
        self._stepper = OneJoint(self._parameters[0], self._states[0], parameters, self._state, timing.step)
        if any(not isinstance(event, Push) for event in settings.events):
            raise InputError("a single joint takes pushes only; loads come and go on a SimulatedArm")
        self._refuse_long_step()
        self.reset()

    @classmethod
    def of(cls, robot: Robot, config: ArmConfig, joint: int = 0, q: npt.ArrayLike | None = None) -> Self:
        """Return one joint of an arm with the others locked.

        Args:
            robot: The robot.
            config: The arm's configuration, of which the joint's own entries are taken; only the first joint keeps
                the plate.
            joint: Index of the joint; a rotary one.
            q: Where the others are locked, shape (n,); None for the configured position, else zero.

        Raises:
            InputError: There is no such joint, or it is linear.
        """
        if not 0 <= joint < robot.n or robot.tree.kind[joint] != REVOLUTE:
            raise InputError(f"joint {joint} is not a rotary joint of '{robot.name}', which has {robot.n} joints")
        given = config.position if q is None else q
        pose = as_rows(np.zeros(robot.n) if given is None else given, "q", robot.joint_names)
        unit = np.eye(robot.n)[joint]
        inertia = (robot.inverse_dynamics(pose, np.zeros(robot.n), unit) - robot.gravity(pose))[joint]
        # With the others locked the holding torque is G sin(q + φ): two poses a quarter turn apart give both.
        sine, cosine = (robot.gravity(pose + turn * unit)[joint] for turn in (-pose[joint], 0.5 * np.pi - pose[joint]))
        plate = config.plate if joint == 0 else None
        top = 0.0 if plate is None else float(np.asarray(plate.top_inertia)[2])
        base = float(robot.tree.base_inertia[2, 2]) + top
        link = OneLink(
            inertia=float(inertia),
            rotor_inertia=float(robot.rotor_inertia[joint]),
            gravity=math.hypot(sine, cosine),
            gravity_angle=math.atan2(sine, cosine),
            base_inertia=base if base > 0.0 else 1.0,
            name=robot.joint_names[joint],
            lower=float(robot.lower[joint]),
            upper=float(robot.upper[joint]),
            velocity_limit=float(robot.velocity_limit[joint]),
            effort_limit=float(robot.effort_limit[joint]),
        )
        parts = {
            name: _only(getattr(config, name), joint, robot.n)
            for name in ("drive", "encoder", "effort", "stops")
            if getattr(config, name) is not None
        }
        declared = None if config.velocity_limit is None else np.broadcast_to(config.velocity_limit, (robot.n,))[joint]
        changes = {"plate": plate, "position": float(pose[joint]), "events": (), "velocity_limit": declared}
        return cls(link, config.replaced(**parts, **changes))

    @property
    def plate(self) -> PlateInfo | None:
        """The plate under the base; of its reading only the moment about the joint's axis is modelled."""
        return self._info

    def reset(self, q: npt.ArrayLike | None = None, dq: npt.ArrayLike | None = None) -> None:
        """Begin again at time 0 with the first random number.

        Args:
            q: Link position [rad], shape (1,); None for that of the configuration.
            dq: Velocity of link and motor [rad/s], shape (1,); None for rest.
        """
        position = self._initial_position() if q is None else as_rows(q, "q", self.joint_names)
        velocity = np.zeros(1) if dq is None else as_rows(dq, "dq", self.joint_names)
        state = self._state
        state[:] = 0.0
        state[LINK_STATE["position"]], state[LINK_STATE["velocity"]] = position[0], velocity[0]
        for _ in range(8):  # the plate's twist and gravity settle together
            moment = self._gravity_now()
            state[LINK_STATE["base_position"]] = -moment / self._plate_stiffness
        state[LINK_STATE["moment"]] = state[LINK_STATE["reading"]] = moment
        state[LINK_STATE["first"]], state[LINK_STATE["second"]] = settled_state(self._filter, np.array([moment]))[:, 0]
        noise = self._begin(position, velocity, self._holding())
        self._pushes = [event for event in self.config.events if isinstance(event, Push)]
        self._sensor = None if self.config.plate is None else PlateSensor(self.config.plate, self.dt, noise)
        self._sample = self._measured(first=True)

    def push(self, event: Push) -> None:
        """Schedule one more push: the last entry of its wrench, the moment about z; a reset forgets it.

        Args:
            event: The push; its times are by the plant's clock.
        """
        self._pushes.append(event)

    def truth(self) -> ArmState:
        """Return what is really going on; accelerations and torques are those of the last physics step."""
        link = {name: float(self._state[column]) for name, column in LINK_STATE.items()}
        return ArmState(
            **self._drive_truth(),
            q=np.array([link["position"]]),
            dq=np.array([link["velocity"]]),
            ddq=np.array([link["acceleration"]]),
            torque=self._states[:, STATE["gear_torque"]].copy(),
            wrench=np.array([0.0, 0.0, 0.0, 0.0, 0.0, link["moment"]]),
            deflection=np.array([0.0, 0.0, 0.0, 0.0, 0.0, link["base_position"]]),
        )

    def __repr__(self) -> str:
        """One line: joint, configuration, time."""
        return f"<SingleJoint '{self.link.name}' as '{self.config.name}' at {self.time:.6g} s>"

    def _links(self) -> tuple[Array, Array]:
        return self._position, self._velocity

    def _advance(self) -> bool:
        command = float(self._command[0])
        if not self._pushes:
            return self._stepper.advance(command, self._steps)
        start, end = self.time, self.time + self.dt
        self._pushes = [push for push in self._pushes if push.end > start]
        if not any(push.start < end for push in self._pushes):
            self._state[PUSH] = 0.0
            return self._stepper.advance(command, self._steps)
        for step in range(self._steps):
            now = start + (step + 0.5) * self._step
            acting = [np.asarray(push.wrench)[5] for push in self._pushes if push.start <= now < push.end]
            self._state[PUSH] = sum(acting)
            if not self._stepper.advance(command, 1):
                return False
        return True

    def _read_plate(self) -> tuple[Array | None, bool]:
        if self._sensor is None:
            return None, False
        return self._sensor.read(self._moment_at_sensor * self._state[READING])

    def _gravity_now(self) -> float:
        state = self._state
        angle = state[LINK_STATE["position"]] + state[LINK_STATE["base_position"]] + self.link.gravity_angle
        return self.link.gravity * math.sin(angle)

    def _holding(self) -> Array:
        return np.array([self._gravity_now()])

    def _own_gravity(self, q: Array) -> Array:
        return np.array([self.link.gravity * math.sin(float(q[0]) + self.link.gravity_angle)])

    def _refuse_long_step(self) -> None:
        link, rotor = self.link, float(self._column("inertia")[0]) if self._rigid[0] else 0.0
        mass, plate = np.array([[link.inertia + rotor]]), np.zeros(0)
        if math.isfinite(self._plate_stiffness):
            mass = np.array([[link.inertia + link.base_inertia, link.inertia], [link.inertia, link.inertia + rotor]])
            plate = np.array([self._plate_stiffness])
        step = self.config.timing.step
        modes = structural_modes(mass, plate, self._parameters, self.joint_names, against_stops=True)
        refuse_long_step(modes, step)
        refuse_stiff_damper(mass, self._parameters, self.joint_names, step)


def _only(part: Any, joint: int, n: int) -> Any:
    """Return a part of a configuration with the entries of one joint."""
    changes: dict[str, Any] = {}
    for entry in fields(part):
        value = getattr(part, entry.name)
        if is_dataclass(value):
            changes[entry.name] = _only(value, joint, n)
        elif isinstance(value, np.ndarray) and value.size == n:
            changes[entry.name] = value[joint : joint + 1]
    return replace(part, **changes)
