"""Cost of a static calibration against the number of poses, and of a long dynamic recording in constant memory.

    python benchmarks/calibration.py                   # some minutes; writes calibration.json, the plot and the table
    python benchmarks/calibration.py --samples 100000  # a shorter dynamic stream

A WAM-7 with friction residue. Beside our weighted and coupled solvers stand the WAM document's whole system, eq. (25),
dense and sparse, and plain least squares on the eliminated form. Times are CPU time, the best of three up to 10 000
poses: run with OPENBLAS_NUM_THREADS=1, so that all work on one core. Memory is what Python's allocator gave out beside
the data; what libraries take from the system directly, such as SuperLU's factors, is not in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from scipy.sparse import block_diag, csr_array, eye_array, hstack
from scipy.sparse.linalg import splu

import counterpoise as cp
from counterpoise.fitting import JointRegression, StaticPoses, solve, static_poses
from counterpoise.identification import pose_matrices, solve_coupled, solve_static

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))
from docs_page import put

Array = npt.NDArray[np.float64]

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
RIDGE = 1e-6
"""Barrett's, without which the document's system is singular."""
COULOMB = np.array([1.6, 1.6, 1.3, 0.9, 0.40, 0.36, 0.13])
CHUNK = 2048


def made(robot: cp.Robot, count: int) -> StaticPoses:
    """Return poses with friction residue."""
    rng = np.random.default_rng([1, count])
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * (robot.upper - robot.lower)
    q = middle + 0.9 * half * rng.uniform(-1.0, 1.0, (count, robot.n))
    return static_poses(robot.joint_names, q, robot.gravity(q) + COULOMB * rng.uniform(-1.0, 1.0, q.shape))


def eliminated_lstsq(robot: cp.Robot, poses: StaticPoses) -> Array:
    """Plain least squares on all rows at once."""
    rows = robot.base_gravity_regressor(poses.q).reshape(-1, len(robot.base_parameters.names))
    x, *_ = np.linalg.lstsq(rows, poses.tau.ravel(), rcond=None)
    return x


def coupled_dense(robot: cp.Robot, poses: StaticPoses) -> Array:
    """The document's eq. (25) as a dense matrix, normal equations with Barrett's ridge."""
    G, T, S = pose_matrices(robot, poses.q)
    k, n = poses.q.shape
    matrix = np.zeros((k, 3 * n, 3 * n + 2 * n * k))
    matrix[:, :, : 3 * n] = G
    for pose in range(k):
        matrix[pose, :, 3 * n + 2 * n * pose : 3 * n + 2 * n * (pose + 1)] = T[pose]
    rows = matrix.reshape(3 * n * k, -1)
    right = (S @ poses.tau[:, :, None]).ravel()
    return np.linalg.solve(rows.T @ rows + RIDGE * np.eye(rows.shape[1]), rows.T @ right)


def coupled_sparse(robot: cp.Robot, poses: StaticPoses) -> Array:
    """The same as a sparse matrix, factored by SuperLU; first moments last, the order without fill-in."""
    G, T, S = pose_matrices(robot, poses.q)
    rows = csr_array(hstack([block_diag(T, format="csr"), csr_array(G.reshape(-1, G.shape[2]))], format="csr"))
    right = (S @ poses.tau[:, :, None]).ravel()
    normal = (rows.T @ rows + RIDGE * eye_array(rows.shape[1])).tocsc()
    return splu(normal, permc_spec="NATURAL", options={"SymmetricMode": True}).solve(rows.T @ right)


METHODS: dict[str, tuple[Callable[[cp.Robot, StaticPoses], object], int]] = {
    "weighted (default, robust)": (lambda robot, poses: solve_static(robot, poses, offset=False), 1_000_000),
    "weighted, one pass": (lambda robot, poses: solve_static(robot, poses, offset=False, robust=False), 1_000_000),
    "coupled, ours": (solve_coupled, 100_000),
    "coupled, sparse LU": (coupled_sparse, 10_000),
    "coupled, dense": (coupled_dense, 100),
    "lstsq, eliminated": (eliminated_lstsq, 1_000_000),
}
"""Each method and the largest number of poses that it is tried with."""
COUNTS = (30, 100, 1000, 10_000, 100_000, 1_000_000)


def cost(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return the best time [s] and the peak of memory beside the data [MB]."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return best, peak / 1e6


def motion(robot: cp.Robot, samples: int, rng: np.random.Generator) -> Iterator[tuple[Array, Array, Array]]:
    """Yield chunks of positions, velocities and accelerations of a made recording."""
    for start in range(0, samples, CHUNK):
        k = min(CHUNK, samples - start)
        yield (
            rng.uniform(-2.0, 2.0, (k, robot.n)),
            rng.uniform(-1.0, 1.0, (k, robot.n)),
            rng.uniform(-3.0, 3.0, (k, robot.n)),
        )


def stream(robot: cp.Robot, samples: int) -> dict[str, float]:
    """Fit all inertias, friction and offsets to a long recording, chunk by chunk; return time and memory."""
    rng = np.random.default_rng(2)
    names = [f"{body}.{index}" for body in robot.tree.body_names for index in range(10)]
    names += [f"{joint}.{term}" for joint in robot.joint_names for term in ("coulomb", "viscous", "offset")]
    n, bodies = robot.n, 10 * robot.tree.bodies
    regression = JointRegression(robot.joint_names, names)
    values = np.concatenate([robot.inertial_parameters[10:], np.tile([1.0, 0.5, 0.1], n)])
    joints = np.arange(n)
    tracemalloc.start()
    begin = time.process_time()
    for q, dq, ddq in motion(robot, samples, rng):
        A = np.zeros((len(q), n, len(names)))
        A[:, :, :bodies] = robot.inertial_regressor(q, dq, ddq)
        for term, column in enumerate((np.tanh(dq / 0.02), dq, np.ones_like(dq))):
            A[:, joints, bodies + 3 * joints + term] = column
        regression.add(A, A @ values + 0.1 * rng.normal(size=q.shape))
    solution = solve(regression)
    seconds = time.process_time() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    error = float(np.max(np.abs(solution.sigma - 0.1)))
    return {"samples": samples, "seconds": seconds, "megabytes": peak / 1e6, "sigma_error": error}


def markdown(found: dict[str, dict[int, tuple[float, float]]], streamed: dict[str, float]) -> list[str]:
    """Return the table: time and memory for each method and number of poses."""
    lines = [f"| method | {' | '.join(f'{count:,} poses' for count in COUNTS)} |", "|---" * (len(COUNTS) + 1) + "|"]
    for name, by_count in found.items():
        cells = [
            f"{by_count[count][0]:.3g} s, {by_count[count][1]:.3g} MB" if count in by_count else "–" for count in COUNTS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    lines.append(
        f"A dynamic recording of {streamed['samples']:,.0f} samples (91 unknowns: ten inertial parameters a body, "
        f"Coulomb, viscous, offset), streamed: {streamed['seconds']:.0f} s, {streamed['megabytes']:.0f} MB."
    )
    return lines


def plot(found: dict[str, dict[int, tuple[float, float]]], path: Path) -> None:
    """Draw time against the number of poses, both logarithmic."""
    figure, axes = plt.subplots(figsize=(7.0, 4.2))
    for name, by_count in found.items():
        axes.loglog(list(by_count), [seconds for seconds, _ in by_count.values()], marker="o", label=name)
    axes.set_xlabel("poses")
    axes.set_ylabel("time [s]")
    axes.set_title("Static calibration of a WAM-7")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Measure, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000_000, help="samples of the dynamic stream (default 1e7)")
    arguments = parser.parse_args()
    robot = cp.load("wam7")
    found: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in METHODS}
    for count in COUNTS:
        poses = made(robot, count)
        for name, (work, most) in METHODS.items():
            if count <= most:
                found[name][count] = cost(
                    lambda work=work, poses=poses: work(robot, poses), 3 if count <= 10_000 else 1
                )
                print(
                    f"{count:>8} {name:<28} {found[name][count][0]:9.4f} s {found[name][count][1]:9.2f} MB", flush=True
                )
    streamed = stream(robot, arguments.samples)
    print(streamed, flush=True)
    results: dict[str, Any] = {"static": found, "stream": streamed}
    (HERE / "calibration.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    plot(found, DOCS / "figures" / "calibration-cost.png")
    put(DOCS / "performance.md", "calibration", markdown(found, streamed))


if __name__ == "__main__":
    main()
