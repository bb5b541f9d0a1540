"""What is measured on one robot: every hot-path operation beside Pinocchio's, after both were found to agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dynamics import Robot
from ...errors import CounterpoiseError, ModelError
from ...foundation import Array
from .peer import Peer
from .timing import Ratio, RoundTimes, Statement, time_interleaved

AGREEMENT = 1e-9
"""Largest difference between the two libraries [N m or N], relative to the largest torque where that exceeds 1."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure.

    Attributes:
        rounds: Rounds of single calls.
        seconds: Time per statement and round of single calls [s].
        batch_rounds: Rounds of batches.
        batch_seconds: Time per statement and round of batches [s].
        batch_poses: Poses of a batch.
        copy_poses: Poses of the batch that is compared with copying memory.
        imports: How often each import is timed.
    """

    rounds: int
    seconds: float
    batch_rounds: int
    batch_seconds: float
    batch_poses: int
    copy_poses: int
    imports: int


# Many short rounds: on a busy machine most of them are left alone, and the median is one of those.
FULL = Effort(101, 0.002, 9, 0.02, 100_000, 1_000_000, 5)
QUICK = Effort(11, 0.001, 3, 0.005, 10_000, 1_000_000, 2)


@dataclass(frozen=True, slots=True)
class Bar:
    """What a ratio should reach: ``least`` is enough, ``aim`` is the aim."""

    least: float
    aim: float


CALL_BARS = {
    "gravity": Bar(3.5, 5.0),
    "gravity_out": Bar(7.0, 9.0),
    "inverse_dynamics": Bar(3.0, 4.0),
    "inverse_dynamics_out": Bar(4.5, 6.0),
    "gravity_regressor": Bar(8.0, 12.0),
    "wrench_torque": Bar(9.0, 12.0),
}
BATCH_BARS = {
    "avx512": {"batch_gravity": Bar(25.0, 50.0), "batch_inverse_dynamics": Bar(18.0, 30.0)},
    "avx2": {"batch_gravity": Bar(20.0, 50.0), "batch_inverse_dynamics": Bar(12.0, 30.0)},
    "baseline": {"batch_gravity": Bar(10.0, 50.0), "batch_inverse_dynamics": Bar(5.0, 30.0)},
}
"""By instruction set of the kernel."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One measured operation.

    Attributes:
        key: Its name in JSON.
        code: Our statement.
        poses: Poses per call, 1 or those of a batch.
        ours: Our times [s per call, or per pose of a batch].
        peer_code: Pinocchio's statement; "" where it was not measured.
        peer: Its times.
        ratio: Pinocchio's time over ours.
        bar: What the ratio should reach; None for the NumPy kernel.
    """

    key: str
    code: str
    poses: int
    ours: RoundTimes
    peer_code: str = ""
    peer: RoundTimes | None = None
    ratio: Ratio | None = None
    bar: Bar | None = None

    @property
    def passes(self) -> bool | None:
        """Whether the median ratio reaches the bar; None where there is nothing to compare."""
        return None if self.ratio is None or self.bar is None else self.ratio.median >= self.bar.least


@dataclass(frozen=True, slots=True)
class RobotResult:
    """All that was measured on one robot; ``largest_difference`` [N m or N] is that to Pinocchio, None without it."""

    robot: Robot
    operations: tuple[Operation, ...]
    largest_difference: float | None


@dataclass(slots=True)
class _Case:
    """One operation before it is timed: our statement and the peer's, of which the fastest counts."""

    key: str
    ours: Statement
    peers: list[Statement] = field(default_factory=list)


def measure_robot(
    robot: Robot, peer: Peer | None, effort: Effort, native: str, after_round: Callable[[], None]
) -> RobotResult:
    """Check that both libraries agree, then time them side by side.

    Args:
        robot: The robot.
        peer: The same robot in Pinocchio, or None.
        effort: How long to measure.
        native: Instruction set of the kernel, "" for NumPy.
        after_round: Called after every round.

    Raises:
        ModelError: The robot has no joint.
        CounterpoiseError: The two libraries disagree.
    """
    if robot.n == 0:
        raise ModelError(f"'{robot.name}' has no moving joint; there is nothing to measure")
    names = _names(robot, peer, effort.batch_poses)
    largest = None if peer is None else _largest_difference(robot, peer, names)
    bars = {} if not native else CALL_BARS | BATCH_BARS.get(native, BATCH_BARS["baseline"])
    calls = _timed(_calls(names, peer), effort.rounds, effort.seconds, bars, after_round)
    batches = _timed(_batches(names, peer), effort.batch_rounds, effort.batch_seconds, bars, after_round)
    return RobotResult(robot, (*calls, *batches), largest)


def random_poses(robot: Robot, count: int) -> Array:
    """Return the same poses on every machine, within ±3 rad (or m), shape (count, n)."""
    return np.random.default_rng(0).uniform(-3.0, 3.0, (count, robot.n))


def _names(robot: Robot, peer: Peer | None, poses: int) -> dict[str, Any]:
    """Return what the names in the statements mean, the same arrays for both libraries."""
    q, dq, ddq, *_ = random_poses(robot, 3)
    Q, dQ, ddQ = (np.roll(random_poses(robot, poses), shift, axis=0) for shift in range(3))
    wrench = np.array([5.0, -3.0, 20.0, 0.4, -0.7, 0.2])
    tip = robot.tree.leaves[0]
    names: dict[str, Any] = {
        "robot": robot,
        "q": q,
        "dq": dq,
        "ddq": ddq,
        "zero": np.zeros(robot.n),
        "out": np.empty(robot.n),
        "w": wrench,
        "tip": tip,
        "Q": Q,
        "dQ": dQ,
        "ddQ": ddQ,
        "T": np.empty_like(Q),
    }
    if peer is not None:
        joint, w_joint = peer.wrench_at_joint(q, wrench, tip)
        names |= {"pin": peer.pin, "model": peer.model, "data": peer.data, "pool": peer.pool}
        names |= {"gravity": peer.pin.computeGeneralizedGravity, "rnea": peer.pin.rnea}
        # Pinocchio's batches are columns: the same memory, seen as its own order.
        names |= {"joint": joint, "w_joint": w_joint, "columns": Q.T, "d_columns": dQ.T, "dd_columns": ddQ.T}
        names |= {"zeros": np.zeros_like(Q).T, "result": np.empty_like(Q).T}
    return names


def _calls(names: dict[str, Any], peer: Peer | None) -> list[_Case]:
    pairs = {
        "gravity": ("robot.gravity(q)", "pin.computeGeneralizedGravity(model, data, q)"),
        "gravity_out": ("robot.gravity(q, out)", "pin.computeGeneralizedGravity(model, data, q)"),
        "inverse_dynamics": ("robot.inverse_dynamics(q, dq, ddq)", "pin.rnea(model, data, q, dq, ddq)"),
        "inverse_dynamics_out": ("robot.inverse_dynamics(q, dq, ddq, out)", "pin.rnea(model, data, q, dq, ddq)"),
        "gravity_regressor": (
            "robot.gravity_regressor(q)",
            "pin.computeJointTorqueRegressor(model, data, q, zero, zero)",
        ),
        "wrench_torque": (
            "robot.wrench_torque(q, w, tip)",
            "pin.computeJointJacobian(model, data, q, joint).T @ w_joint",
        ),
    }
    return [
        _Case(key, Statement(ours, names), [] if peer is None else [Statement(theirs, names)])
        for key, (ours, theirs) in pairs.items()
    ]


def _batches(names: dict[str, Any], peer: Peer | None) -> list[_Case]:
    # Pinocchio's loops do not even keep their results: a doubt about fairness should fall on our side.
    pairs = {
        "batch_gravity": (
            "robot.gravity(Q, T)",
            "for row in Q: gravity(model, data, row)",
            "pin.rneaInParallel(1, pool, columns, zeros, zeros, result)",
        ),
        "batch_inverse_dynamics": (
            "robot.inverse_dynamics(Q, dQ, ddQ, T)",
            "for row, speed, rate in zip(Q, dQ, ddQ): rnea(model, data, row, speed, rate)",
            "pin.rneaInParallel(1, pool, columns, d_columns, dd_columns, result)",
        ),
    }
    poses = len(names["Q"])
    return [
        _Case(
            key,
            Statement(ours, names, poses),
            [] if peer is None else [Statement(code, names, poses) for code in theirs],
        )
        for key, (ours, *theirs) in pairs.items()
    ]


def _timed(
    cases: list[_Case], rounds: int, seconds: float, bars: dict[str, Bar], after_round: Callable[[], None]
) -> list[Operation]:
    statements: dict[str, Statement] = {}
    for case in cases:  # ours and theirs right after each other: what disturbs one disturbs the other
        statements[case.key] = case.ours
        statements |= {f"{case.key}/{index}": peer for index, peer in enumerate(case.peers)}
    times = time_interleaved(statements, rounds=rounds, seconds=seconds, after_round=after_round)
    operations = []
    for case in cases:
        ours = times[case.key]
        if not case.peers:
            operations.append(Operation(case.key, case.ours.code, case.ours.poses, ours))
            continue
        medians = [times[f"{case.key}/{index}"].median for index in range(len(case.peers))]
        fastest = int(np.argmin(medians))
        peer = times[f"{case.key}/{fastest}"]
        code, ratio = case.peers[fastest].code, Ratio.of(peer, ours)
        operations.append(
            Operation(case.key, case.ours.code, case.ours.poses, ours, code, peer, ratio, bars.get(case.key))
        )
    return operations


def _largest_difference(robot: Robot, peer: Peer, names: dict[str, Any]) -> float:
    """Return how far the two libraries differ over all measured operations, or refuse to time them."""
    pin, model, data = peer.pin, peer.model, peer.data
    q, dq, ddq, zero = (names[key] for key in ("q", "dq", "ddq", "zero"))
    some = slice(0, 200)
    Q, dQ, ddQ = (names[key][some] for key in ("Q", "dQ", "ddQ"))
    poses = list(zip(Q, dQ, ddQ, strict=True))
    gravity = np.array(pin.computeGeneralizedGravity(model, data, q))
    pairs = {
        "gravity": (robot.gravity(q), gravity),
        "inverse_dynamics": (robot.inverse_dynamics(q, dq, ddq), pin.rnea(model, data, q, dq, ddq)),
        "gravity_regressor": (
            robot.gravity_regressor(q) @ robot.gravity_parameters,
            pin.computeJointTorqueRegressor(model, data, q, zero, zero) @ peer.parameters,
        ),
        "wrench_torque": (
            robot.wrench_torque(q, names["w"], names["tip"]),
            pin.computeJointJacobian(model, data, q, names["joint"]).T @ names["w_joint"],
        ),
        "batch gravity": (robot.gravity(Q), [np.array(pin.computeGeneralizedGravity(model, data, row)) for row in Q]),
        "batch inverse_dynamics": (
            robot.inverse_dynamics(Q, dQ, ddQ),
            [np.array(pin.rnea(model, data, *motion)) for motion in poses],
        ),
    }
    largest = 0.0
    for operation, (ours, theirs) in pairs.items():
        difference = float(np.max(np.abs(np.asarray(ours) - np.asarray(theirs)), initial=0.0))
        if not difference <= AGREEMENT * max(1.0, float(np.abs(ours).max(initial=0.0))):  # true for NaN as well
            raise CounterpoiseError(
                f"{operation} of '{robot.name}' differs from Pinocchio by {difference:.3g} N m (or N); expected at "
                f"most {AGREEMENT:g}. Nothing was timed; report this robot"
            )
        largest = max(largest, difference)
    return largest
