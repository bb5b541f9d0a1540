"""Faults of channels, time, coverage and plate: how each is put into a good recording, and how many the doctor names.

``FAULTS`` changes a recording, ``MODEL_FAULTS`` a recording and the model's limits, ``PLATE_FAULTS`` one with a plate.
The sizes are stated beside each. Run as a script, it judges on seeds that no threshold was chosen on, and writes
doctor_channel_faults.json; ``--small`` is for tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from docs_page import commit
from doctor_recordings import ARMS, MOTIONS, Array, Recording, record
from doctor_recordings import Path as PathOverTime

from counterpoise import Log, Robot
from counterpoise.control import minimum_jerk
from counterpoise.doctor import Consequence, LogFault, check_recording
from counterpoise.foundation import rotation_from_rpy
from counterpoise.plants import Plate, force_platform
from counterpoise.recording import Declared

Random = np.random.Generator
Change = Callable[[Log, Random], Log]


# ------------------------------------------------------------------------------------------------------------ channels


def dead(log: Log, random: Random) -> Log:
    """An effort that is zero, constant or pure noise of 1e-3 of its signal; or a velocity that is zero."""
    joint, way = _moving_joint(log, random), random.integers(4)
    if way == 3:
        return replace(log, dq=_with_column(log.dq, joint, np.zeros(len(log))))
    size = float(log.tau[:, joint].std())
    value = {0: 0.0, 1: 0.37 * size, 2: 1e-3 * size * random.normal(size=len(log))}[int(way)]
    return replace(log, tau=_with_column(log.tau, joint, np.zeros(len(log)) + value))


def frozen(log: Log, random: Random) -> Log:
    """One position, velocity or effort that sticks for 0.5 to 3 s while its joint moves on by at least 0.06 rad."""
    name = ("q", "dq", "tau")[random.integers(3)]
    values = np.array(getattr(log, name))
    for _ in range(200):
        joint = _moving_joint(log, random)
        length = int(random.uniform(0.5, 3.0) * log.rate)
        begin = int(random.integers(len(log) - length))
        if abs(log.q[begin + length, joint] - log.q[begin, joint]) > 0.06:
            break
    values[begin : begin + length, joint] = values[begin, joint]
    return replace(log, **{name: values})


def saturated(log: Log, random: Random) -> Log:
    """An effort that is cut off where 4 to 12 % of its samples lie beyond."""
    joint = _moving_joint(log, random)
    share, column = random.uniform(0.04, 0.12), log.tau[:, joint]
    upper = bool(random.integers(2))
    cut = (
        np.minimum(column, np.quantile(column, 1 - share)) if upper else np.maximum(column, np.quantile(column, share))
    )
    return replace(log, tau=_with_column(log.tau, joint, cut))


def quantised(log: Log, random: Random) -> Log:
    """An effort in steps of 1/15 to 1/6 of its range."""
    joint = _moving_joint(log, random)
    column = log.tau[:, joint]
    step = float(np.ptp(column)) / random.uniform(6.0, 15.0)
    return replace(log, tau=_with_column(log.tau, joint, step * np.round(column / step)))


# ---------------------------------------------------------------------------------------------------------------- time


def gaps(log: Log, random: Random) -> Log:
    """One to four gaps of 0.3 to 1.5 s."""
    kept = np.ones(len(log), dtype=bool)
    for _ in range(random.integers(1, 5)):
        length = int(random.uniform(0.3, 1.5) * log.rate)
        begin = int(random.integers(len(log) - length - 10))
        kept[begin + 5 : begin + 5 + length] = False
    return log[kept]


def jitter(log: Log, random: Random) -> Log:
    """Stamps that are off by a standard deviation of 0.3 to 0.5 periods, in order."""
    period = 1.0 / log.rate
    off = random.normal(size=len(log)) * period * random.uniform(0.3, 0.5)
    return replace(log, time=np.sort(log.time + off))


def duplicates(log: Log, random: Random) -> Log:
    """1 to 5 % of the stamps repeated, or one step back of 0.1 to 1 s."""
    time = np.array(log.time)
    if random.integers(2):
        rows = 1 + random.choice(len(log) - 1, int(random.uniform(0.01, 0.05) * len(log)), replace=False)
        time[rows] = time[rows - 1]
    else:
        time[random.integers(len(log) // 4, 3 * len(log) // 4) :] -= random.uniform(0.1, 1.0)
    return replace(log, time=time)


def delay(log: Log, random: Random) -> Log:
    """Efforts 0.15 to 0.3 s late, or velocities 0.05 to 0.3 s late."""
    name, least = (("tau", 0.15), ("dq", 0.05))[random.integers(2)]
    return replace(log, **{name: _late(log.time, getattr(log, name), random.uniform(least, 0.3))})


def no_time(log: Log, random: Random) -> Log:
    """An assumed rate."""
    return replace(log, declared=replace(log.declared, time_from="rate", notes={"assumed_rate": 100.0}))


# ------------------------------------------------------------------------------------------- friction, coverage, path


def friction(log: Log, random: Random) -> Log:
    """Nothing is changed: the simulated arms have friction of 5 to 100 % of gravity's swing and more."""
    return log


def from_above(robot: Robot, speed: float, duration: float, random: Random) -> PathOverTime:
    """A path of standing poses that every joint reaches from above, by creeping down the last 0.15 rad."""
    lower, upper = np.maximum(robot.lower, -np.pi) + 0.3, np.minimum(robot.upper, np.pi) - 0.3
    centre = 0.5 * (lower + upper)
    reach = np.minimum(0.5 * (upper - lower), 0.6)
    begins, ends, times = [centre], [centre], [0.0]
    while times[-1] < duration:
        pose = centre + reach * random.uniform(-1.0, 1.0, robot.n)
        for target, pace in ((pose + 0.15, 0.8 * speed), (pose, 0.12), (pose, None)):
            needed = 1.2 if pace is None else 1.875 * float(np.abs(target - ends[-1]).max()) / pace
            begins.append(ends[-1])
            ends.append(target)
            times.append(times[-1] + needed)

    def at(time: float) -> tuple[Array, Array]:
        move = min(int(np.searchsorted(times, time, side="right")), len(times) - 1)
        needed = max(times[move] - times[move - 1], 1e-9)
        part = min(max((time - times[move - 1]) / needed, 0.0), 1.0)
        step = ends[move] - begins[move]
        done, slope = minimum_jerk(part)
        return begins[move] + done * step, slope / needed * step

    return at


def one_sided(arm: str, seed: int) -> Recording:
    """A recording of 60 s whose standing poses, eight to twelve, are all reached from above."""
    return record(arm, "from above", seed, duration=60.0, paths={"from above": from_above})


def crop(log: Log, random: Random) -> Log:
    """Not enough excitation: 1.5 to 2.5 s out of the recording."""
    length = int(random.uniform(1.5, 2.5) * log.rate)
    begin = int(random.integers(len(log) - length))
    return log[begin : begin + length]


def out_and_back(log: Log, random: Random) -> Log:
    """The first half, then the same path back; friction, roughly known, with its other sign."""
    half = log[: len(log) // 2]
    back_tau = np.column_stack(
        [tau - 2.0 * _friction_part(half.q, dq, tau) for dq, tau in zip(half.dq.T, half.tau.T, strict=True)]
    )
    time = 2.0 * half.time[-1] - half.time[::-1] + 1.0 / log.rate
    wrench = None if half.wrench is None else np.concatenate([half.wrench, half.wrench[::-1]])
    return Log(
        log.joint_names,
        np.concatenate([half.time, time]),
        np.concatenate([half.q, half.q[::-1]]),
        np.concatenate([half.dq, -half.dq[::-1]]),
        np.concatenate([half.tau, back_tau[::-1]]),
        wrench=wrench,
        declared=log.declared,
    )


def at_stop(robot: Robot, log: Log, random: Random) -> tuple[Robot, Log]:
    """A joint held by a stop for 5 to 15 % of the time; the model has its limit there."""
    joint = _moving_joint(log, random)
    limit = float(np.quantile(log.q[:, joint], 1.0 - random.uniform(0.05, 0.15)))
    q = _with_column(log.q, joint, np.minimum(log.q[:, joint], limit))
    dq = _with_column(log.dq, joint, np.where(log.q[:, joint] > limit, 0.0, log.dq[:, joint]))
    name = robot.joint_names[joint]
    joints = tuple(
        replace(entry, upper=limit + random.uniform(0.0, 0.005), lower=min(entry.lower, limit - 1.0))
        if entry.name == name
        else entry
        for entry in robot.description.joints
    )
    limited = Robot(replace(robot.description, joints=joints), mount=robot.mount, allow_unphysical=True)
    return limited, replace(log, q=q, dq=dq)


# --------------------------------------------------------------------------------------------------------------- plate


def plate_sign(log: Log, random: Random) -> Log:
    """The opposite sign; half of the plates are tared with the robot on them."""
    return _tared(_mixed(log, -np.eye(6)), random)


def plate_yaw(log: Log, random: Random) -> Log:
    """Turned about z by 4° to 180°."""
    angle = random.choice([-1.0, 1.0]) * random.uniform(np.radians(4.0), np.pi)
    return _mixed(log, _both(rotation_from_rpy([0.0, 0.0, angle])))


def plate_tilt(log: Log, random: Random) -> Log:
    """Tilted by 4° to 15° about an axis in its plane."""
    angle, heading = random.uniform(np.radians(4.0), np.radians(15.0)), random.uniform(0.0, 2.0 * np.pi)
    return _mixed(log, _both(rotation_from_rpy([angle * np.cos(heading), angle * np.sin(heading), 0.0])))


def plate_lag(log: Log, random: Random) -> Log:
    """0.04 to 0.3 s late."""
    assert log.wrench is not None
    return replace(log, wrench=_late(log.time, log.wrench, random.uniform(0.04, 0.3)))


def plate_cross_talk(log: Log, random: Random) -> Log:
    """0.1 to 0.3 of mx or my in the other, or 0.2 to 0.6 per N m of it in a force. Shares of fz look like a bias."""
    matrix = np.eye(6)
    source = int(random.choice([3, 4]))
    target = int(random.choice([0, 1, 2, 7 - source]))
    matrix[target, source] = random.choice([-1.0, 1.0]) * random.uniform(0.1, 0.3) * (1.0 if target > 2 else 2.0)
    return _mixed(log, matrix)


def plate_handedness(log: Log, random: Random) -> Log:
    """One axis points the other way; moments by components, or by the right-hand rule in the mirrored axes."""
    mirror = np.eye(3)
    axis = random.integers(3)
    mirror[axis, axis] = -1.0
    matrix = np.zeros((6, 6))
    matrix[:3, :3], matrix[3:, 3:] = mirror, mirror * random.choice([-1.0, 1.0])
    return _mixed(log, matrix)


FAULTS: dict[LogFault, Change] = {
    LogFault.DEAD: dead,
    LogFault.FROZEN: frozen,
    LogFault.SATURATED: saturated,
    LogFault.QUANTISED: quantised,
    LogFault.TIME_GAPS: gaps,
    LogFault.TIME_JITTER: jitter,
    LogFault.TIME_DUPLICATES: duplicates,
    LogFault.DELAY: delay,
    LogFault.NO_TIME: no_time,
    LogFault.FRICTION: friction,
    LogFault.EXCITATION: crop,
    LogFault.REPEATED_PATH: out_and_back,
}
"""Faults that need a recording only."""
PLATE_FAULTS: dict[LogFault, Change] = {
    LogFault.PLATE_SIGN: plate_sign,
    LogFault.PLATE_YAW: plate_yaw,
    LogFault.PLATE_TILT: plate_tilt,
    LogFault.PLATE_LAG: plate_lag,
    LogFault.PLATE_CROSS_TALK: plate_cross_talk,
    LogFault.PLATE_HANDEDNESS: plate_handedness,
}
"""Faults that need a recording with a plate, such as :func:`plate_recording` makes."""
MODEL_FAULTS: dict[LogFault, Callable[[Robot, Log, Random], tuple[Robot, Log]]] = {LogFault.JOINT_STOPS: at_stop}
"""Faults that need the model as well."""
RECORDED_FAULTS: dict[LogFault, Callable[[str, int], Recording]] = {LogFault.ONE_SIDED: one_sided}
"""Faults that need a recording of their own."""

_PLATE_HEIGHT = {"puma550": 0.672, "wam7": 0.35, "titan2": 0.0}
_PLATE_SCALE = {"puma550": 1.0, "wam7": 1.0, "titan2": 4.0}


def plate_of(arm: str) -> Plate:
    """Return the plate under a simulated arm."""
    firm = 10.0 if arm == "puma550" else 1.0  # as in its preset
    return force_platform(height=_PLATE_HEIGHT[arm], scale=_PLATE_SCALE[arm], stiffening=firm)


def plate_recording(arm: str, motion: str, seed: int) -> Recording:
    """Return a recording with a plate, which is declared as it is."""
    plate = plate_of(arm)
    made = record(arm, motion, seed, plate=plate)
    declared = Declared(sensor_reads="on_robot", T_base_sensor=np.asarray(plate.T_base_sensor))
    return replace(made, log=replace(made.log, declared=declared))


def _moving_joint(log: Log, random: Random) -> int:
    """Return a joint that moves by more than 0.3 rad."""
    return int(random.choice(np.flatnonzero(np.ptp(log.q, axis=0) > 0.3)))


def _with_column(values: Array, column: int, new: Array) -> Array:
    changed = np.array(values)
    changed[:, column] = new
    return changed


def _late(time: Array, values: Array, lag: float) -> Array:
    return np.column_stack([np.interp(time - lag, time, column) for column in values.T])


def _friction_part(q: Array, dq: Array, tau: Array) -> Array:
    """Return friction's part of an effort, by regression on direction, speed and trigonometric terms."""
    moving = np.column_stack([np.tanh(dq / 0.02), dq])
    columns = np.column_stack([moving, np.sin(q), np.cos(q), np.ones(len(q))])
    return moving @ np.linalg.lstsq(columns, tau, rcond=None)[0][:2]


def _both(rotation: Array) -> Array:
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = matrix[3:, 3:] = rotation
    return matrix


def _mixed(log: Log, matrix: Array) -> Log:
    assert log.wrench is not None
    return replace(log, wrench=log.wrench @ matrix.T)


def _tared(log: Log, random: Random) -> Log:
    assert log.wrench is not None
    return replace(log, wrench=log.wrench - log.wrench[:20].mean(axis=0)) if random.integers(2) else log


# --------------------------------------------------------------------------------------------------------------- study


def judge(seed: int, *, with_faults: bool) -> dict[str, Any]:
    """Return what the doctor says of one recording, good and, where asked for, with every fault put in.

    Args:
        seed: Seed of everything; it also chooses the arm and the motion.
        with_faults: Whether the faults are tried too.
    """
    random = np.random.default_rng([seed, 1])
    made = plate_recording(list(ARMS)[seed % 3], MOTIONS[seed // 3 % 3], seed)
    worse = [f for f in check_recording(made.model, made.log) if f.consequence > Consequence.NOTE]
    faults = (*FAULTS, *MODEL_FAULTS, *PLATE_FAULTS, *RECORDED_FAULTS) if with_faults else ()
    return {
        "seed": seed,
        "arm": made.arm,
        "motion": made.motion,
        "alarms": [finding.sentence for finding in worse],
        "named": {fault.value: sorted(_diagnosed(made, fault, random)) for fault in faults},
    }


def _diagnosed(made: Recording, fault: LogFault, random: Random) -> set[LogFault]:
    """Return the faults, notes left out except where they are what was put in, that are named with a fault put in."""
    robot, log = made.model, made.log
    if fault in RECORDED_FAULTS:
        other = RECORDED_FAULTS[fault](made.arm, made.seed)
        robot, log = other.model, other.log
    elif fault in MODEL_FAULTS:
        robot, log = MODEL_FAULTS[fault](robot, log, random)
    else:
        log = (FAULTS | PLATE_FAULTS)[fault](log, random)
    found = check_recording(robot, log)
    return {f.fault for f in found if f.consequence > Consequence.NOTE or f.fault is fault}


def summary(judged: list[dict[str, Any]]) -> dict[str, Any]:
    """Return recall per fault, what was named instead or besides, and the false alarms of many recordings."""
    named: dict[str, Counter[str]] = {}
    hits: Counter[str] = Counter()
    for entry in judged:
        for fault, found in entry["named"].items():
            hits[fault] += fault in found
            named.setdefault(fault, Counter())[", ".join(found) or "nothing"] += 1
    false = [{key: entry[key] for key in ("seed", "arm", "motion", "alarms")} for entry in judged if entry["alarms"]]
    return {
        "seeds": [min(entry["seed"] for entry in judged), max(entry["seed"] for entry in judged)],
        "good_recordings": len(judged),
        "with_false_alarm": len(false),
        "false_alarms": false,
        "recall": {fault: [hits[fault], counter.total()] for fault, counter in named.items()},
        "named": {fault: dict(counter.most_common()) for fault, counter in named.items()},
    }


def _job(task: tuple[int, bool]) -> dict[str, Any]:
    return judge(task[0], with_faults=task[1])


def main() -> None:
    """Run the study and write its results beside this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--small", action="store_true", help="nine recordings, three of them with faults; writes nothing"
    )
    parser.add_argument("--seed", type=int, default=90_000, help="first seed")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    recordings, trials = (9, 3) if given.small else (201, 42)
    # Recordings with faults first: each has another arm and motion.
    tasks = [(given.seed + index, index < trials) for index in range(recordings)]
    judged = []
    with get_context("spawn").Pool(given.processes) as pool:
        for entry in pool.imap_unordered(_job, tasks):
            judged.append(entry)
            print(f"{len(judged)} of {recordings}", end="\r", file=sys.stderr, flush=True)
            if len(judged) % 20 == 0 or len(judged) == recordings:
                _write(judged, given.small)
    result = summary(judged)
    for fault, (hit, count) in result["recall"].items():
        print(f"{fault:<28} {hit:>3} of {count}")
    print(f"good recordings with a false alarm: {result['with_false_alarm']} of {result['good_recordings']}")


def _write(judged: list[dict[str, Any]], small: bool) -> None:
    """Write what is known so far; the small study writes nothing."""
    if small:
        return
    text = json.dumps({"commit": commit(), **summary(judged)}, indent=1)
    Path(__file__).with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
