"""The arm of the tour: a geared PUMA on a plate that is not quite what its description says.

What the tour may know is ``described``: the model as a drawing gives it. Everything else of it is hidden, and is used
only to make the simulated arm and, in the end, to say how well it was found out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...dynamics import Robot
from ...plants import ArmConfig, Event, SimulatedArm, preset
from ...recording import Log

MASS_ERROR, COM_ERROR = 0.15, 0.015
"""Masses of the links are off by up to this share, their centres of mass by up to so many metres in each direction."""
TOOL_MASS, TOOL_COM = 1.2, (0.0, 0.0, 0.08)
"""The tool that nobody entered into the description [kg, m]."""
LOAD_MASS, LOAD_COM = 2.0, (0.0, 0.0, 0.12)
"""The load that is hung on later [kg, m]."""
REVERSED = "joint3"
"""Joint whose effort the logger writes with the wrong sign."""


@dataclass(frozen=True, slots=True, eq=False)
class HiddenArm:
    """An arm, and the model that its owner has of it.

    Attributes:
        described: The owner's model.
        true: The arm as it is, tool included.
        config: Drives, friction, encoders and plate.
        seed: Of noise and drift.
    """

    described: Robot
    true: Robot
    config: ArmConfig
    seed: int

    @property
    def tip(self) -> str:
        """The last link."""
        return self.true.link_names[-1]

    def plant(self, run: int, *events: Event) -> SimulatedArm:
        """Return the simulated arm; every ``run`` has other noise."""
        return SimulatedArm(self.true, self.config.replaced(seed=self.seed + run, events=events))

    def as_logged(self, log: Log) -> Log:
        """Return a recording as the logger of this arm writes it: one effort has the wrong sign."""
        sign = np.ones(self.described.n)
        sign[self.described.joint_names.index(REVERSED)] = -1.0
        return replace(log, tau=log.tau * sign)


def hidden_arm(seed: int = 0) -> HiddenArm:
    """Return the arm of the tour; ``seed`` draws its errors and its noise."""
    made = preset("puma550")
    described = made.robot()
    random = np.random.default_rng((seed, 2000))
    links = []
    for link in described.description.links:
        inertia = link.inertia
        if inertia is not None and inertia.mass > 0.0:
            factor = 1.0 + random.uniform(-MASS_ERROR, MASS_ERROR)
            com = inertia.com + random.uniform(-COM_ERROR, COM_ERROR, 3)
            inertia = replace(inertia, mass=factor * inertia.mass, com=com, tensor_com=factor * inertia.tensor_com)
        links.append(replace(link, inertia=inertia))
    bare = Robot(
        replace(described.description, links=tuple(links)),
        mount=described.mount,
        allow_unphysical=True,  # a shifted centre of mass may not fit the inertia of a thin link; gravity decides here
    )
    true = bare.with_payload(TOOL_MASS, com=TOOL_COM, link=bare.link_names[-1])
    return HiddenArm(described, true, made.config, 1000 * seed)
