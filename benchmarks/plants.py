"""Speed of the simulated plants against real time, and the control loop's own share of a tick.

    python benchmarks/plants.py

Prints the best of several runs; asked for are 5 x (PUMA preset), 100 x (single joint) and 15 microseconds (loop).
"""

from __future__ import annotations

import time

import numpy as np

import counterpoise as cp
from counterpoise.control import PDGravity
from counterpoise.plants import preset
from counterpoise.recording import Sample


def times_real_time(plant, command: np.ndarray, ticks: int, runs: int) -> float:
    """Return how many seconds the plant simulates in one second, best of several runs."""
    best = 0.0
    with plant:
        for _ in range(runs):
            start = time.perf_counter()
            for _ in range(ticks):
                plant.write(command)
            best = max(best, ticks * plant.dt / (time.perf_counter() - start))
    return best


class NullPlant:
    """Samples that are ready, and a write that does nothing: what is left is the loop's own share."""

    adds_gravity, effort_kind, watchdog, stop, plate, dt = False, "torque", 0.1, "zero", None, 1e-3

    def __init__(self, robot: cp.Robot, count: int) -> None:
        """Prepare the samples of an arm at rest in the middle of its range."""
        self.joint_names = robot.joint_names
        self.lower, self.upper = robot.lower, robot.upper
        self.effort_limit, self.velocity_limit = robot.effort_limit, robot.velocity_limit
        q, zeros = 0.5 * (robot.lower + robot.upper), np.zeros(robot.n)
        weight = robot.gravity(q)
        self.samples = [Sample(tick * self.dt, q, zeros, weight) for tick in range(count)]
        self.moments = np.zeros(count)
        self.tick = 0

    def __enter__(self) -> NullPlant:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> Sample:
        """Note the time and return the next sample."""
        self.moments[self.tick] = time.perf_counter()
        return self.samples[self.tick]

    def write(self, tau: np.ndarray) -> np.ndarray:
        """Take the torque as sent."""
        self.tick += 1
        return tau

    def emergency_stop(self) -> None:
        """Nothing to stop."""


def loop_share() -> float:
    """Return the median time of a tick on a null plant [s]: read, check, PD + gravity, filter, write."""
    robot = cp.load("puma560")
    medians = []
    for _ in range(3):
        plant = NullPlant(robot, 4002)
        law = PDGravity(robot, np.full(robot.n, 50.0), np.full(robot.n, 5.0))
        cp.ControlLoop(plant, law, robot).run(4.0, then="keep")
        medians.append(float(np.median(np.diff(plant.moments[1000:4000]))))
    return min(medians)


def main() -> None:
    """Measure and print."""
    choice = preset("puma550", "50Hz")
    arm = choice.arm()
    print(f"puma550, 50 Hz: {times_real_time(arm, arm.robot.gravity(arm.truth().q), 100, 8):.1f} x real time")
    print(f"single joint:   {times_real_time(choice.single_joint(), np.array([3.0]), 600, 8):.0f} x real time")
    print(f"loop's share:   {1e6 * loop_share():.1f} microseconds a tick")


if __name__ == "__main__":
    main()
