"""Recordings by formula with a model that is wrong by a stated amount, and faults to put into them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

import counterpoise as cp
from counterpoise.doctor import Finding
from counterpoise.recording import Log
from library.analytic_log import moving_log


def wrong_model(robot: cp.Robot, seed: int = 0) -> cp.Robot:
    """Return the robot with every mass 10 % and every centre of mass 10 mm off."""
    random = np.random.default_rng(seed)
    links = []
    for link in robot.description.links:
        if link.inertia is None or link.inertia.mass == 0.0:
            links.append(link)
            continue
        factor, way = 1.0 + 0.1 * random.choice([-1.0, 1.0]), random.normal(size=3)
        inertia = replace(
            link.inertia,
            mass=link.inertia.mass * factor,
            com=link.inertia.com + 0.01 * way / np.linalg.norm(way),
            tensor_com=link.inertia.tensor_com * factor,
        )
        links.append(replace(link, inertia=inertia))
    return cp.Robot(replace(robot.description, links=tuple(links)), allow_unphysical=True)


def differing_model(robot: cp.Robot, seed: int) -> cp.Robot:
    """Return the robot with every mass off by a factor of e^N(0, 0.3) and every centre of mass by up to 20 mm."""
    random = np.random.default_rng(seed)
    links = []
    for link in robot.description.links:
        if link.inertia is None or link.inertia.mass == 0.0:
            links.append(link)
            continue
        factor = float(np.exp(random.normal(0.0, 0.3)))
        inertia = replace(
            link.inertia,
            mass=link.inertia.mass * factor,
            com=link.inertia.com + random.uniform(-0.02, 0.02, 3),
            tensor_com=link.inertia.tensor_com * factor,
        )
        links.append(replace(link, inertia=inertia))
    return cp.Robot(replace(robot.description, links=tuple(links)), allow_unphysical=True)


def recording(robot: cp.Robot, seed: int = 0) -> Log:
    """Return 30 s of motion with friction, without a plate."""
    return replace(moving_log(robot, seed=seed, duration=30.0), wrench=None)


def reversed_effort(log: Log, *joints: int) -> Log:
    tau = log.tau.copy()
    tau[:, list(joints)] *= -1.0
    return replace(log, tau=tau)


def reversed_position(log: Log, joint: int) -> Log:
    q, dq = log.q.copy(), log.dq.copy()
    q[:, joint] *= -1.0
    dq[:, joint] *= -1.0
    return replace(log, q=q, dq=dq)


def exchanged(log: Log, first: int, second: int, *parts: str) -> Log:
    changed = {}
    for part in parts:
        values = getattr(log, part).copy()
        values[:, [first, second]] = values[:, [second, first]]
        changed[part] = values
    return replace(log, **changed)


def scaled_effort(log: Log, joint: int, factor: float) -> Log:
    tau = log.tau.copy()
    tau[:, joint] *= factor
    return replace(log, tau=tau)


def shifted_effort(log: Log, joint: int, stds: float) -> Log:
    tau = log.tau.copy()
    tau[:, joint] += stds * tau[:, joint].std()
    return replace(log, tau=tau)


def in_degrees(log: Log) -> Log:
    return replace(log, q=np.degrees(log.q), dq=np.degrees(log.dq))


def as_currents(log: Log) -> Log:
    return replace(log, tau=log.tau / np.linspace(4.0, 20.0, log.tau.shape[1]))


def at_the_motors(log: Log) -> Log:
    ratio = np.linspace(40.0, 120.0, log.q.shape[1])
    return replace(log, q=log.q * ratio, dq=log.dq * ratio, tau=log.tau / ratio)


Change = Callable[[Log], Log]


def assert_readable(findings: Iterable[Finding]) -> None:
    """Check what any finding owes its reader: words without NaN, a remedy, a probability, evidence that JSON holds."""
    for finding in findings:
        assert finding.sentence and finding.remedy, finding
        assert not {"nan", "inf"} & set(re.findall(r"\w+", finding.sentence.lower())), finding.sentence
        assert 0.0 <= finding.confidence <= 1.0, finding
        json.dumps(finding.evidence)
