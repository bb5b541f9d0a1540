"""A simulated arm behind the plant protocol: links by MuJoCo; drives, sensors and plate by us.

``Disturbances`` is the schedule of what happens from outside: which pushes act now, which loads come and go, what is
touched. The arm may touch planes that push back (``Touch``), and a second link may be bonded to it (``Bonded``). Their
forces are those of the step before, as MuJoCo's poses are when they are asked for between two steps: 0.1 ms late.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..control import PlateInfo
from ..dynamics import Robot, as_rows, link_index
from ..foundation import Array, frozen, rotation_vector
from .base import ArmState, SimulatedPlant
from .config import ArmConfig
from .events import AttachPayload, Bond, Event, Push, RemovePayloads, Surface
from .kernel import Drives
from .links import Links, cross
from .modes import Modes, refuse_long_step, refuse_stiff_damper, structural_modes
from .parameters import Joints
from .plate import PlateReader

_NOWHERE = frozen(np.zeros(3))


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """What acts on a link at a point, base frame.

    Attributes:
        link: Index of the link in ``robot.link_names``.
        force: On the robot [N], shape (3,).
        moment: On the robot, about the point [N m], shape (3,).
        point: Where [m], shape (3,).
    """

    link: int
    force: Array
    moment: Array
    point: Array


class Touching:
    """A surface and the link that touches it.

    Attributes:
        touch: What acted last.
    """

    def __init__(self, surface: Surface, link: int) -> None:
        """Begin free; ``link`` is an index of ``robot.link_names``."""
        self._surface, self._link = surface, link
        self._point, self._origin = np.asarray(surface.point), np.asarray(surface.origin)
        self._normal = np.asarray(surface.normal)
        self.touch = Touch(link, _NOWHERE, _NOWHERE, _NOWHERE)

    def apply(self, links: Links) -> None:
        """Add the surface's force to the external forces on the links."""
        surface, normal = self._surface, self._normal
        position, _, velocity, _ = links.motion(self._link, self._point)
        depth = float(normal @ (self._origin - position))
        if depth <= 0.0:
            self.touch = Touch(self._link, _NOWHERE, _NOWHERE, position)
            return
        out = float(normal @ velocity)
        pressed = max(0.0, surface.stiffness * depth - surface.damping * out)
        slide = velocity - out * normal
        speed = math.sqrt(float(slide @ slide))
        force = pressed * normal - (surface.friction * pressed / max(speed, surface.slip_speed)) * slide
        links.push_at(self._link, force, _NOWHERE, position)
        self.touch = Touch(self._link, force, _NOWHERE, position)


class Bonded:
    """Two links and the spring between them.

    Attributes:
        touch: What acted last on the second link; the first feels the opposite at the same point.
    """

    def __init__(self, bond: Bond, first: int, second: int) -> None:
        """Begin without force, where the links are when first asked; both are indices of ``robot.link_names``."""
        self._bond, self._first, self._second = bond, first, second
        self._rest: tuple[Array, Array] | None = None
        self.touch = Touch(second, _NOWHERE, _NOWHERE, _NOWHERE)

    def apply(self, links: Links) -> None:
        """Add the spring's forces to the external forces on the links."""
        bond = self._bond
        p_1, R_1, v_1, omega_1 = links.motion(self._first, _NOWHERE)
        p_2, R_2, v_2, omega_2 = links.motion(self._second, _NOWHERE)
        if self._rest is None:
            self._rest = R_1.T @ (p_2 - p_1), R_1.T @ R_2
        offset, turn = self._rest
        arm = p_2 - p_1
        slide = v_2 - v_1 - cross(omega_1, arm)
        force = -bond.stiffness * (arm - R_1 @ offset) - bond.damping * slide
        twist = rotation_vector(R_2 @ (R_1 @ turn).T)
        moment = -bond.turn_stiffness * twist - bond.turn_damping * (omega_2 - omega_1)
        links.push_at(self._second, force, moment, p_2)
        links.push_at(self._first, -force, -moment, p_2)
        self.touch = Touch(self._second, force, moment, p_2)


class Disturbances:
    """Events in the order of their times.

    Args:
        robot: The robot they happen to.
        events: The events.

    Raises:
        InputError: An event names no link of the robot.
    """

    def __init__(self, robot: Robot, events: Iterable[Event]) -> None:
        """Sort the events."""
        self._robot = robot
        self._pushes: list[tuple[Push, int]] = []
        self._contacts: list[Touching | Bonded] = []
        loads: list[AttachPayload | RemovePayloads] = []
        for event in events:
            if isinstance(event, Push):
                self.add(event)
            elif isinstance(event, Surface):
                self._contacts.append(Touching(event, self._index(event.link)))
            elif isinstance(event, Bond):
                self._contacts.append(
                    Bonded(event, self._index(event.first, "first="), self._index(event.second, "second="))
                )
            else:
                if isinstance(event, AttachPayload):
                    self._index(event.link)
                loads.append(event)
        self._loads = deque(sorted(loads, key=lambda event: event.time))

    def add(self, push: Push) -> None:
        """Add a push to the schedule.

        Args:
            push: Its times are by the plant's clock.
        """
        self._pushes.append((push, self._index(push.link)))

    def remove(self, push: Push) -> None:
        """Take a push off the schedule; one that is not on it is no error."""
        self._pushes = [entry for entry in self._pushes if entry[0] is not push]

    def loads_due(self, time: float) -> Iterator[AttachPayload | RemovePayloads]:
        """Yield, and forget, the loads that come or go until ``time`` [s]."""
        while self._loads and self._loads[0].time <= time:
            yield self._loads.popleft()

    def any_push(self, start: float, end: float) -> bool:
        """Return whether a push acts at some time from ``start`` to ``end`` [s], or something may be touched.

        Pushes that ended before ``start`` are forgotten: a hand makes a new one fifty times a second.
        """
        if any(push.end <= start for push, _ in self._pushes):
            self._pushes = [entry for entry in self._pushes if entry[0].end > start]
        return bool(self._contacts) or any(push.start < end for push, _ in self._pushes)

    def apply(self, links: Links, time: float) -> None:
        """Set the external forces on the links to those of ``time`` [s]."""
        links.release()
        for push, link in self._pushes:
            if push.start <= time < push.end:
                links.push(link, np.asarray(push.wrench), np.asarray(push.point), push.axes == "link")
        for contact in self._contacts:
            contact.apply(links)

    def touches(self) -> tuple[Touch, ...]:
        """Return what surfaces and bonds exert on the robot, in the order of the events, as applied last."""
        return tuple(contact.touch for contact in self._contacts)

    def _index(self, link: str | None, argument: str = "link=") -> int:
        return link_index(self._robot.link_names, self._robot.tree.tips, link, argument)


CHECKED_POSES = 16
"""Random poses, besides the first, at which the physics step is checked against the structure."""


class SimulatedArm(SimulatedPlant):
    """A robot with everything between a controller and its links. Its clock moves by ``dt`` per :meth:`write`.

    Needs MuJoCo (``pip install 'counterpoise[sim]'``). The same robot, configuration and writes give the same bytes.

    Args:
        robot: The robot, mounted and loaded as it stands.
        config: What is between; None for nothing: an ideal arm.

    Attributes:
        robot: The robot as it is now, with the payloads that it carries now.
        config: The configuration.

    Raises:
        InputError: The configuration does not fit the robot, or its physics step is too long.
        ModelError: The robot cannot be simulated.
        MissingExtraError: MuJoCo is not installed.
    """

    def __init__(self, robot: Robot, config: ArmConfig | None = None) -> None:
        """Build the arm and stand it at its initial position."""
        settings = ArmConfig() if config is None else config
        joints = Joints(robot.joint_names, robot.rotor_inertia, robot.effort_limit, robot.lower, robot.upper)
        super().__init__(settings, joints, robot.velocity_limit)
        self.robot = self._first_robot = robot
        timing, plate = settings.timing, settings.plate
        armature = np.where(self._rigid, self._column("inertia"), 0.0)
        self._model = Links(robot, plate, armature, timing.step, timing.integrator)
        model = self._model
        self._drives = Drives(
            self._parameters, self._states, self._command, model.q, model.dq, model.torque, timing.step
        )
        self._reader = None if plate is None else PlateReader(plate, model, timing.step)
        stiffness = None if plate is None else plate.stiffness
        self._plate_stiffness = np.zeros(0) if stiffness is None else np.asarray(stiffness)
        self._refuse_long_steps()
        self.reset()

    @property
    def plate(self) -> PlateInfo | None:
        """The plate under the base."""
        return None if self._reader is None else self._reader.info

    def reset(self, q: npt.ArrayLike | None = None, dq: npt.ArrayLike | None = None) -> None:
        """Begin again: time 0, first payload, first random number, all events still to come.

        Args:
            q: Link positions [rad or m], shape (n,); None for those of the configuration.
            dq: Velocities of links and motors [rad/s or m/s], shape (n,); None for rest.
        """
        position = self._initial_position() if q is None else as_rows(q, "q", self.joint_names)
        velocity = np.zeros(self.n) if dq is None else as_rows(dq, "dq", self.joint_names)
        if self.robot is not self._first_robot:
            self.robot = self._first_robot
            self._model.load(self.robot)
        self._outside = Disturbances(self.robot, self.config.events)
        self._pushed = False
        noise = self._begin(position, velocity, self._model.stand(position, velocity))
        if self._reader is not None:
            self._compute_accelerations()
            self._reader.begin(self.robot.gravity_base, self.dt, noise)
        self._sample = self._measured(first=True)

    def push(self, event: Push) -> None:
        """Schedule one more push; its times are by the plant's clock, and a reset forgets it.

        Args:
            event: The push.

        Raises:
            InputError: It names no link of the robot.
        """
        self._outside.add(event)

    def end_push(self, event: Push) -> None:
        """Take back a push now, before its time is over; one that is not scheduled is no error.

        Args:
            event: The push, the same object that was given to :meth:`push`.
        """
        self._outside.remove(event)
        self._outside.apply(self._model, self.time)

    def attach_payload(self, event: AttachPayload) -> None:
        """Fix a load to a link now, whatever time the event states.

        Args:
            event: The load.

        Raises:
            InputError: It cannot exist, or names no link of the robot.
        """
        com = np.asarray(event.com).tolist()
        self.robot = self.robot.with_payload(event.mass, com=com, link=event.link, inertia=event.inertia)
        self._model.load(self.robot)

    def remove_payloads(self) -> None:
        """Take every load off now."""
        self.robot = self.robot.without_payload()
        self._model.load(self.robot)

    def touches(self) -> tuple[Touch, ...]:
        """Return what surfaces and bonds exert on the arm now, in the order of the configuration's events.

        The truth, unseen by any sensor; nothing until the first write.
        """
        return self._outside.touches()

    def truth(self) -> ArmState:
        """Return what is really going on, unseen by any sensor."""
        model = self._model
        self._compute_accelerations()
        return ArmState(
            **self._drive_truth(),
            q=model.q.copy(),
            dq=model.dq.copy(),
            ddq=model.acceleration.copy(),
            torque=model.torque.copy(),
            wrench=model.base_wrench() if self._reader is None else self._reader.true_wrench(),
            deflection=model.deflection.copy(),
        )

    def modes(self, *, sticking: bool = True) -> Modes:
        """Return the structural modes at the present pose.

        Args:
            sticking: Friction holds the motors by its bristles; False for motors that turn freely.
        """
        mass, names = self._model.mass_matrix(), self.joint_names
        return structural_modes(mass, self._plate_stiffness, self._parameters, names, sticking=sticking)

    def __repr__(self) -> str:
        """One line: robot, configuration, time."""
        return f"<SimulatedArm '{self.robot.name}' as '{self.config.name}' at {self.time:.6g} s>"

    def _links(self) -> tuple[Array, Array]:
        return self._model.q, self._model.dq

    def _advance(self) -> bool:
        drives, move = self._drives, self._model.step
        start, end = self.time, self.time + self.dt
        for load in self._outside.loads_due(start + 1e-9 * self.dt):
            if isinstance(load, AttachPayload):
                self.attach_payload(load)
            else:
                self.remove_payloads()
        now = self._outside.any_push(start, end)
        # Once more after the last push: its end may be after this tick, and by rounding not within the next one.
        pushed, self._pushed = now or self._pushed, now
        reader = self._reader if self._reader is not None and self._reader.filters else None
        for step in range(self._steps):
            if pushed:
                self._outside.apply(self._model, start + (step + 0.5) * self._step)
            if not drives.step():
                return False
            move()
            if reader is not None:
                reader.step()
        if pushed:
            self._outside.apply(self._model, end)
        return True

    def _read_plate(self) -> tuple[Array | None, bool]:
        if self._reader is None:
            return None, False
        if self._reader.needs_accelerations:
            self._compute_accelerations()
        return self._reader.read()

    def _holding(self) -> Array:
        return self.robot.gravity(self._model.q)

    def _own_gravity(self, q: Array) -> Array:
        return self._first_robot.gravity(q)

    def _compute_accelerations(self) -> None:
        """Compute the links' accelerations under the torques of this instant, without moving anything on."""
        self._drives.peek()
        self._model.forward()

    def _refuse_long_steps(self) -> None:
        """Check the physics step at the first pose and at random ones: the inertias that a motor sees vary."""
        random, step = np.random.default_rng(0), self.config.timing.step
        lower, upper = np.maximum(self.lower, -np.pi), np.minimum(self.upper, np.pi)
        for pose in (self._initial_position(), *random.uniform(lower, upper, (CHECKED_POSES, self.n))):
            self._model.stand(pose, np.zeros(self.n))
            mass, plate, names = self._model.mass_matrix(), self._plate_stiffness, self.joint_names
            refuse_long_step(structural_modes(mass, plate, self._parameters, names, against_stops=True), step)
            refuse_stiff_damper(mass, self._parameters, names, step)
