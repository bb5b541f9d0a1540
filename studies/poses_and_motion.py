"""Poses at rest, the motion, or both: which gives the smaller gravity error, on recordings that stand and move.

    python studies/poses_and_motion.py --urdfs <folder of URDFs>    # some minutes; writes the JSON and the docs' table

Arms, paths, friction and noise are those of the certificate study's foreign simulations (plain NumPy; no code of
counterpoise.plants): the arm goes from pose to pose and stands at each, 30 to 70 % of the time. In every second
recording friction relaxes at rest, to a share that differs from standing to standing. The description is wrong, as
there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from certificate_arms import KIND_SHARES, KINDS, Array, Random, different, urdf_text
from certificate_case import scored_rows
from certificate_dynamics import Dynamics
from certificate_faults import workspace_gravity
from certificate_foreign import CONSTANT, draw_arm
from certificate_friction import LAWS, draw_friction
from certificate_paths import Motion, Room, moves, room_of
from docs_page import put, write_result

import counterpoise as cp
from counterpoise.errors import CounterpoiseError
from counterpoise.fitting import at_rest

SEED = 19
RECORDINGS = 42
STANDING = (0.3, 0.7)
DURATION = (40.0, 120.0)
RATES = (50.0, 100.0, 125.0)
RELAXES = (0.15, 0.05)
"""Times in which friction relaxes at rest, and is back in motion [s]."""
LEFT = (0.3, 1.0)
"""Share of friction that is left at rest then."""
CARRIES = 0.02
"""A joint counts whose gravity torque is above this share of the arm's largest."""
Use = Literal["static", "moving", "auto"]
USES: dict[Use, str] = {"static": "poses at rest", "moving": "motion", "auto": "both"}


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A recording and its truth.

    Attributes:
        law: Of friction.
        standing: Share of the time in which the arm stands.
        names: Of the joints.
        urdf: The description.
        columns: The table by header.
        q: Some of the poses [rad or m], shape (m, n).
        gravity: True gravity torques there [N m or N], shape (m, n).
    """

    law: str
    standing: float
    names: tuple[str, ...]
    urdf: str
    columns: Mapping[str, Array]
    q: Array
    gravity: Array


def draw_recording(number: int, urdfs: Path | None, seed: int = SEED) -> Recording:
    """Draw a recording.

    Args:
        number: Which one; laws of friction take turns.
        urdfs: Folder of real arms; None for random trees only.
        seed: Of the study.
    """
    random = np.random.default_rng([seed, number])
    arm = draw_arm(random, urdfs)
    plain, described = different(arm, str(random.choice(KINDS, p=KIND_SHARES)), random)
    weight = workspace_gravity(Dynamics(plain), random)
    law = LAWS[number % len(LAWS)]
    friction = draw_friction(law, plain, weight, random)
    rate, duration = float(random.choice(RATES)), float(random.uniform(*DURATION))
    room = room_of(arm, random)
    motion, stands = _standing(room, duration, rate, float(random.uniform(*STANDING)), [seed, number, 1])
    dynamics = Dynamics(plain)
    rigid = dynamics.torque(motion.q, motion.dq, motion.ddq)
    rubbed = friction.torque(motion, rigid, random)
    if number % 2:
        rubbed = rubbed * _left(stands, rate, rubbed.shape[1], random)
    torque = rigid + rubbed
    size, n = np.maximum(np.std(torque, axis=0), 0.005 * arm.effort), len(arm.moving)
    noise = size * float(np.exp(random.uniform(np.log(0.002), np.log(0.05))))
    has_offset = (random.random(n) < 0.3) & (np.ptp(weight, axis=0) > CONSTANT)
    offset = size * random.uniform(0.1, 0.5, n) * random.choice([-1.0, 1.0], n) * has_offset
    count = float(np.exp(random.uniform(np.log(1e-6), np.log(5e-4))))
    q = np.round(motion.q / count) * count
    effort = torque + offset + noise * random.normal(size=torque.shape)
    columns = {"time": motion.time}
    columns |= {f"q_{name}": values for name, values in zip(arm.joint_names, q.T, strict=True)}
    columns |= {f"tau_{name}": values for name, values in zip(arm.joint_names, effort.T, strict=True)}
    rows = scored_rows(len(q))
    poses = motion.q[rows]
    standing = float(np.mean(stands))
    return Recording(law, standing, arm.joint_names, urdf_text(described), columns, poses, dynamics.gravity(poses))


def _standing(room: Room, duration: float, rate: float, share: float, seed: Sequence[int]) -> tuple[Motion, Array]:
    """Return a path that stands for about a share of the time, and where it does, shape (k,)."""
    dwell = 1.0
    for _ in range(6):
        motion = moves(room, duration, rate, dwell, np.random.default_rng(seed))
        stands = np.all(np.abs(motion.dq) < 1e-9, axis=1)
        found = float(np.clip(np.mean(stands), 0.01, 0.99))
        dwell = float(np.clip(dwell * share / (1.0 - share) * (1.0 - found) / found, 0.3, 20.0))
    return motion, stands


def _left(stands: Array, rate: float, joints: int, random: Random) -> Array:
    """Return the share of friction that is left at every instant, shape (k, n)."""
    share, goal = np.ones(joints), np.ones(joints)
    found = np.ones((len(stands), joints))
    for row in range(1, len(stands)):
        if stands[row] and not stands[row - 1]:
            goal = random.uniform(*LEFT, joints)
        towards, time = (goal, RELAXES[0]) if stands[row] else (np.ones(joints), RELAXES[1])
        share = towards + (share - towards) * np.exp(-1.0 / (rate * time))
        found[row] = share
    return found


def errors(recording: Recording, use: Use) -> dict[str, Any]:
    """Calibrate and compare with the truth.

    Returns:
        Gravity error of every joint, what was stated (95 %), and its gravity torque, root mean squares [N m or N]; what
        was fitted; or "failure", where nothing was.
    """
    with tempfile.TemporaryDirectory() as place:
        description, table = Path(place, "arm.urdf"), Path(place, "run.csv")
        description.write_text(recording.urdf, encoding="utf-8")
        values = np.column_stack(list(recording.columns.values()))
        np.savetxt(table, values, fmt="%.9g", delimiter=",", header=",".join(recording.columns), comments="")
        robot = cp.load(description)
        log = cp.read_log(table, robot)
    try:
        fit = cp.calibrate(robot, log, use=use, findings=())
    except CounterpoiseError as error:
        return {"failure": str(error)}
    order = [recording.names.index(name) for name in robot.joint_names]
    q, gravity = recording.q[:, order], recording.gravity[:, order]
    x = np.array(fit.x)
    x[fit.model.groups["offset"]] = 0.0
    missed = fit.model.predict(at_rest(fit.described, q), x) - gravity
    springs = [name in fit.model.terms.joints("spring", fit.model.joint_names) for name in robot.joint_names]
    missed[:, springs] -= missed[:, springs].mean(axis=0)  # the constant part of a spring is an offset as well
    return {
        "data": fit.data.kind,
        "error": np.sqrt(np.mean(missed**2, axis=0)).tolist(),
        "stated": fit.errors.gravity.tolist(),
        "gravity": np.sqrt(np.mean(gravity**2, axis=0)).tolist(),
    }


def study(count: int, urdfs: Path | None, seed: int = SEED) -> list[dict[str, Any]]:
    """Calibrate recordings from their poses, their motion and both."""
    found = []
    for number in range(count):
        recording = draw_recording(number, urdfs, seed)
        row: dict[str, Any] = {"number": number, "friction": recording.law, "standing": recording.standing}
        found.append(row | {use: errors(recording, use) for use in USES})
        print(f"{number}: {', '.join(str(found[-1][use].get('data', 'no fit')) for use in USES)}", flush=True)
    return found


def relative(row: Mapping[str, Any], use: Use) -> tuple[Array, Array]:
    """Return errors and stated errors over gravity torques, of joints that carry some."""
    gravity = np.array(row[use]["gravity"])
    carries = gravity > CARRIES * gravity.max()
    error, stated = (np.array(row[use][name])[carries] / gravity[carries] for name in ("error", "stated"))
    return error, stated


def table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return Markdown lines, over the recordings that have poses and motion, and a fit of each."""
    usable = [row for row in found if row["auto"].get("data") == "both" and "data" in row["static"]]
    usable = [row for row in usable if "data" in row["moving"]]
    medians = {use: np.array([np.median(relative(row, use)[0]) for row in usable]) for use in USES}
    better = np.minimum(medians["static"], medians["moving"])
    head = (
        "gravity error, median joint | 90 % of the joints | stated, median | stated covers | over the better of the two"
    )
    lines = [f"| {len(usable)} recordings | {head} |", "|---" * 6 + "|"]
    for use, words in USES.items():
        error, stated = (np.concatenate([relative(row, use)[part] for row in usable]) for part in (0, 1))
        cells = [
            *(f"{100.0 * value:.2g} %" for value in (np.median(error), np.quantile(error, 0.9), np.median(stated))),
            f"{np.mean(error <= stated):.1%}",
            f"{np.median(medians[use] / better):.2f}",
        ]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Run the study and put its table into the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=int, default=RECORDINGS)
    parser.add_argument("--urdfs", type=Path, help="folder that holds the URDFs of real arms, at any depth")
    arguments = parser.parse_args()
    found = study(arguments.recordings, arguments.urdfs)
    here = Path(__file__).parent
    write_result(here / "poses_and_motion.json", {"seed": SEED, "recordings": found})
    put(here.parent / "docs" / "calibration-study.md", "poses and motion", table(found))


if __name__ == "__main__":
    main()
