"""Run ``counterpoise bench`` several times, each in a fresh process, and write benchmarks/results.json.

    python benchmarks/run.py --runs 5 --date 2030-01-31

Prints the medians over the runs with their spread, as the Markdown table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"


def one_run() -> dict[str, Any]:
    """Return the figures of one benchmark in a fresh process."""
    command = [sys.executable, "-m", "counterpoise", "bench", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    figures: dict[str, Any] = json.loads(done.stdout)
    if done.returncode != 0:
        raise SystemExit(f"counterpoise bench failed: {figures['error']['message']}")
    return figures


def markdown(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table: medians over the runs, and lowest and highest ratio of a run."""
    yield "| robot | statement | poses | counterpoise | Pinocchio | ratio (lowest … highest run) | bar |"
    yield "|---|---|---|---|---|---|---|"
    for robot_index, robot in enumerate(runs[0]["robots"]):
        for index, operation in enumerate(robot["operations"]):
            found = [run["robots"][robot_index]["operations"][index] for run in runs]
            ours = nanoseconds([each["seconds"]["median"] for each in found])
            head = f"| {robot['name']} | `{operation['statement']}` | {operation['poses']} | {ours} ns |"
            if operation["ratio"] is None:
                yield f"{head} | | |"
                continue
            theirs = nanoseconds([each["pinocchio_seconds"]["median"] for each in found])
            ratio = spread([each["ratio"]["median"] for each in found])
            yield f"{head} {theirs} ns | {ratio} | ≥ {operation['bar']:g} |"
    copies = [run["copy"] for run in runs]
    poses = copies[0]["poses"]
    for statement in copies[0]["seconds"]:
        time = nanoseconds([copy["seconds"][statement]["median"] for copy in copies])
        yield f"| {copies[0]['robot']} | `{statement}` | {poses} | {time} ns | | | |"
    for key, name in (("gravity_over_fresh_copy", "`Q.copy()`"), ("gravity_over_copy", "`np.copyto(C, Q)`")):
        ratio = spread([copy[key]["median"] for copy in copies])
        head = f"| {copies[0]['robot']} | `robot.gravity(Q, T)` over {name} | {poses} |"
        yield f"{head} | | {ratio} | ≤ {copies[0]['bar']:g} |"


def nanoseconds(seconds: list[float]) -> str:
    """Return the median of some times in ns, three digits."""
    return f"{float(f'{1e9 * statistics.median(seconds):.3g}'):g}"


def spread(ratios: list[float]) -> str:
    """Return the median of some ratios, with the lowest and the highest."""
    return f"{statistics.median(ratios):.1f} ({min(ratios):.1f} … {max(ratios):.1f})"


def main() -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how many runs (default 5)")
    parser.add_argument("--date", default=None, help="date to note in the file")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file to write")
    arguments = parser.parse_args()
    runs = []
    for index in range(arguments.runs):
        print(f"run {index + 1} of {arguments.runs}", file=sys.stderr)
        runs.append(one_run())
    arguments.out.write_text(json.dumps({"date": arguments.date, "runs": runs}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(markdown(runs)))


if __name__ == "__main__":
    main()
