"""Real recordings for the certificate study: arm, motion and torques in SI units at the links, and how to filter them.

They are not part of this repository; they lie in data/ of COUNTERPOISE_DATA, or of ../shared beside the repository.
Filters, cuts, zero offsets, gears and signs are those of their README. Descriptions are read by the study itself.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from certificate_arms import Arm, Array, Joint, Link, pruned, read_urdf
from certificate_dynamics import Dynamics

import counterpoise as cp

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("COUNTERPOISE_DATA", ROOT.parent / "shared"))
MAPPINGS = ROOT / "examples" / "mappings"
KR300_GEARS = np.array([256.857, 267.429, 252.333, 221.0, 239.619, 154.323])
KR300_ZEROS = np.array([0.0, -90.0, 90.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A real recording.

    Attributes:
        name: Its name.
        arm: The description, with the joints that moved; effort limits of all of them.
        time: Instants [s], shape (k,).
        q: Positions [rad or m], shape (k, n).
        dq: Measured velocities [rad/s or m/s], shape (k, n); None where none were recorded.
        effort: Torques at the links [N m or N], shape (k, n).
        measured: Which joints have an effort, shape (n,).
        along: Where on the distinct path each sample lies, 0 to 1, shape (k,); what is driven twice is there twice.
        cutoff: Of the filter for the fit by hand [Hz].
        cut: Time that is cut off at each end, for the filter [s].
        slow: Speed over which friction changes its sign [rad/s].
        coupled: Pairs of joints of which the second one's motor also turns with the first.
        balanced: Joints with a counterbalance.
    """

    name: str
    arm: Arm
    time: Array
    q: Array
    dq: Array | None
    effort: Array
    measured: npt.NDArray[np.bool_]
    along: Array
    cutoff: float
    cut: float
    slow: float
    coupled: tuple[tuple[int, int], ...] = ()
    balanced: tuple[int, ...] = ()


def names() -> tuple[str, ...]:
    """Return the names of all recordings."""
    return tuple(_READERS)


@cache
def read_recording(name: str) -> Recording:
    """Read a recording.

    Raises:
        FileNotFoundError: It, or its description, is not there.
    """
    return _READERS[name]()


def _panda() -> Recording:
    arm, log = _logged("panda", "panda.urdf", "ur10_panda/panda_exciting_trajectory.db3", "panda_joint")
    along = _mirrored(log[0], log[1])
    return Recording("panda", arm, *log, along, cutoff=3.0, cut=1.0, slow=0.03)


def _ur10() -> Recording:
    arm, log = _logged("ur10", "ur10_robot.urdf", "ur10_panda/ur10_exciting_trajectory.db3", "_joint")
    along = _mirrored(log[0], log[1])
    return Recording("ur10", arm, *log, along, cutoff=5.0, cut=0.4, slow=0.03)


def _lbr() -> Recording:
    arm, log = _logged("lbr_med7", "data/lbrmed7/med7dock.urdf", "lbrmed7/measurements.csv", "A")
    return Recording("lbrmed7", arm, *log, _even(log[0]), cutoff=2.5, cut=0.4, slow=0.03)


def _tiago() -> Recording:
    files = [f"tiago/tiago_{kind}.csv" for kind in ("position", "velocity", "effort")]
    arm, log = _logged("tiago", "data/tiago/tiago_48_schunk.urdf", files, ("torso_lift", "arm_"))
    time, q, dq, current, measured = log
    torque = current * _torque_constants(arm, time, q, current, measured)
    return Recording("tiago", arm, time, q, dq, torque, measured, _even(time), cutoff=5.0, cut=0.4, slow=0.03)


def _tx40() -> Recording:
    files = ["tx40/pos_read_data.csv", "tx40/curr_data.csv"]
    arm, (time, q, dq, effort, measured) = _logged("tx40", "data/tx40/tx40_mdh_modified.urdf", files, "joint_")
    kept = slice(None, None, 5)  # 1 kHz
    parts = (time[kept], q[kept], dq, effort[kept], measured, _even(time[kept]))
    return Recording("tx40", arm, *parts, cutoff=20.0, cut=0.05, slow=0.05, coupled=((4, 5),))


def _panda_1khz() -> Recording:
    table = np.genfromtxt(shared_file("data/panda_1khz/panda.csv"), delimiter=",", names=True)
    q, dq, effort = (np.column_stack([table[f"{word}{at}"] for at in range(1, 8)]) for word in ("q", "dq", "tau"))
    arm = _described("panda.urdf", "panda_joint")
    period = 13.33  # [s]; the path begins anew
    parts = (table["time"], q, dq, effort, np.ones(7, dtype=bool), table["time"] % period / period)
    return Recording("panda_1khz", arm, *parts, cutoff=8.0, cut=0.2, slow=0.03)


def _kr300(part: str) -> Recording:
    table = np.genfromtxt(shared_file(f"data/kr300/{part}.csv"), delimiter=",", names=True)

    def channel(word: str) -> Array:
        return np.column_stack([table[f"act_{word}_A{at}"] for at in range(1, 7)])

    time, q = table["time_s"], np.radians(channel("pos_mot_deg") + KR300_ZEROS)
    dq, effort = np.radians(channel("vel_mot_deg_per_s")), channel("torque_abs_nm") * KR300_GEARS
    arm = _from_product(cp.load(shared_file("data/kr300/kr300.toml")))
    parts = (arm, time, q, dq, effort, np.ones(6, dtype=bool), _even(time))
    return Recording(f"kr300 {part}", *parts, cutoff=8.0, cut=0.12, slow=0.01, balanced=(1,))


def _lwr4(part: int) -> Recording:
    table = np.load(shared_file(f"data/lwr4/measurements_{part}.npz"))
    arm = pruned(read_urdf(shared_file("data/lwr4/kuka_lwr4.urdf"), [f"lwr_{at}_joint" for at in range(7)]))
    time = table["times"] - table["times"][0]
    parts = (time, table["positions"], table["velocities"], table["torques"], np.arange(7) < 6, _even(time))
    return Recording(f"lwr4 {part}", arm, *parts, cutoff=8.0, cut=0.5, slow=0.02)


_READERS: dict[str, Callable[[], Recording]] = {
    "panda": _panda,
    "ur10": _ur10,
    "lbrmed7": _lbr,
    "tiago": _tiago,
    "tx40": _tx40,
    "panda_1khz": _panda_1khz,
    **{f"kr300 {part}": (lambda part=part: _kr300(part)) for part in "ABC"},
    **{f"lwr4 {part}": (lambda part=part: _lwr4(part)) for part in (1, 2, 3)},
}


def with_limits(recording: Recording) -> Arm:
    """Return the arm, the largest recorded effort standing for a limit that its description does not have."""
    largest = np.nanmax(np.abs(np.where(recording.measured, recording.effort, 0.0)), axis=0)
    return recording.arm.with_efforts(np.where(recording.arm.effort > 0.0, recording.arm.effort, largest))


_Channels = tuple[Array, Array, Array | None, Array, npt.NDArray[np.bool_]]


def _logged(mapping: str, model: str, files: str | list[str], moving: str | tuple[str, ...]) -> tuple[Arm, _Channels]:
    """Read a recording through its mapping: time, positions, velocities, efforts and which of these were measured."""
    arm = _described(model, moving)
    robot = cp.load(model_file(model))
    paths = [shared_file(f"data/{file}") for file in ([files] if isinstance(files, str) else files)]
    log = cp.read_log(paths, robot, MAPPINGS / f"{mapping}.toml")
    order = [robot.joint_names.index(name) for name in arm.joint_names]
    tau, dq = log.tau[:, order], log.dq[:, order]
    if log.declared.effort_side == "motor" and log.declared.motor_per_link is not None:
        tau = tau @ log.declared.motor_per_link[np.ix_(order, order)]
    usable = np.isfinite(log.q[:, order]).all(axis=1) & np.isfinite(tau).any(axis=1)
    speed = dq[usable] if log.declared.velocity_from == "measured" else None
    measured = np.isfinite(tau[usable]).all(axis=0)
    return arm, (log.time[usable] - log.time[usable][0], log.q[usable][:, order], speed, tau[usable], measured)


def _described(model: str, moving: str | tuple[str, ...]) -> Arm:
    """Read a description of which the joints move whose names begin with, or for "_joint" end with, a word."""
    words = (moving,) if isinstance(moving, str) else moving
    everything = read_urdf(model_file(model), ())
    chosen = [
        joint.name
        for joint in everything.joints
        if any(joint.name.endswith(word) if word == "_joint" else joint.name.startswith(word) for word in words)
    ]
    return pruned(read_urdf(model_file(model), chosen))


def model_file(model: str) -> Path:
    """Return the file of a model: a shared one, or one of example-robot-data.

    Raises:
        FileNotFoundError: It is not there.
    """
    if model.startswith("data/"):
        return shared_file(model)
    try:
        installed = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise FileNotFoundError("example-robot-data, which has the model, is not installed") from error
    return Path(str(next(file for file in installed if file.name == model).locate()))


def shared_file(name: str) -> Path:
    """Return a shared file.

    Raises:
        FileNotFoundError: It is not there.
    """
    path = SHARED / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; COUNTERPOISE_DATA names the folder that holds data/")
    return path


def _from_product(robot: cp.Robot) -> Arm:
    """Return a description that is no URDF as an arm of the study."""
    description = robot.description
    links = []
    for link in description.links:
        body = link.inertia
        nothing = (0.0, np.zeros(3), np.zeros((3, 3)))
        links.append(Link(link.name, *(nothing if body is None else (body.mass, body.com, body.tensor_com))))
    joints = []
    for joint in description.joints:
        # A URDF has no pose between a joint and its child: a fixed joint carries it.
        middle = f"{joint.name}_moved"
        links.append(Link(middle, 0.0, np.zeros(3), np.zeros((3, 3))))
        at = robot.joint_names.index(joint.name)
        limits = {"lower": float(robot.lower[at]), "upper": float(robot.upper[at])}
        placement = np.array(joint.T_parent_joint)
        joints.append(Joint(joint.name, "revolute", joint.parent, middle, placement, np.array(joint.axis), **limits))
        end = np.array(joint.T_joint_child)
        joints.append(Joint(f"{joint.name}_end", "fixed", middle, joint.child, end, np.array([1.0, 0.0, 0.0])))
    return Arm(robot.name, tuple(links), tuple(joints))


def _even(time: Array) -> Array:
    return (time - time[0]) / (time[-1] - time[0])


def _mirrored(time: Array, q: Array) -> Array:
    """Return the place on a path that is driven out and back: where it turns is found from the positions."""
    scaled = q / np.maximum(np.ptp(q, axis=0), 1e-9)
    best, turn = np.inf, len(q) // 2
    for middle in range(round(0.4 * len(q)), round(0.6 * len(q))):
        reach = min(middle, len(q) - 1 - middle)
        apart = np.abs(scaled[middle : middle + reach : 5] - scaled[middle : middle - reach : -5]).mean()
        if apart < best:
            best, turn = float(apart), middle
    away = np.abs(time - time[turn])
    return 1.0 - away / away.max()


def _torque_constants(arm: Arm, time: Array, q: Array, current: Array, measured: npt.NDArray[np.bool_]) -> Array:
    """Return the torque per current by which efforts are as large as the description's torques, shape (n,).

    A joint whose gravity torque does not vary has the median of the others.
    """
    torque = Dynamics(arm).gravity(q)
    dq = np.gradient(q, time, axis=0)
    found = np.full(q.shape[1], np.nan)
    for joint in np.flatnonzero(measured & (np.ptp(torque, axis=0) > 1e-6)):
        columns = np.column_stack([torque[:, joint], np.tanh(dq[:, joint] / 0.03), np.ones(len(q))])
        found[joint] = 1.0 / np.linalg.lstsq(columns, current[:, joint], rcond=None)[0][0]
    return np.abs(np.where(np.isnan(found), np.nanmedian(np.abs(found)), found))
