"""A simulated arm behind the plant protocol: links by MuJoCo; drives, sensors and plate by us."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..control.plant import PlateInfo
from ..description.frozen import Array
from ..dynamics.inputs import as_rows
from ..dynamics.robot import Robot
from .base import SimulatedPlant
from .config import ArmConfig
from .contacts import Touch
from .disturbances import Disturbances
from .events import AttachPayload, Push
from .kernel import Drives
from .links import Links
from .modes import Modes, refuse_long_step, refuse_stiff_damper, structural_modes
from .parameters import Joints
from .plate_reader import PlateReader
from .state import ArmState

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
