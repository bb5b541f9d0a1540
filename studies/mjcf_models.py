"""Random MJCF models that use every compiler setting: our torques against those of MuJoCo's own compilation.

    python studies/mjcf_models.py                    # about ten minutes; writes the JSON and the docs' table
    python studies/mjcf_models.py --models 200       # prints only

Compared are gravity torques and inverse dynamics at three random poses, relative to the largest torque of the pose.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import mujoco  # noqa: E402
from docs_page import put, write_result  # noqa: E402

from library.random_mjcf import OUTCOMES, SETTINGS, Compared, RandomModel, compared, random_model  # noqa: E402

MODELS = 10_000
DOCS = HERE.parent / "docs" / "mjcf.md"
RESULT = HERE / "mjcf_models.json"


def judged(seed: int) -> tuple[int, Compared, tuple[str, ...]]:
    """Return what came of the model of a seed, and the compiler settings that it uses."""
    model: RandomModel = random_model(seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # MuJoCo logs into the working folder
        found = compared(model, Path(folder), seed)
        os.chdir(HERE)
    return seed, found, tuple(name for name in SETTINGS if any(f' {name}="' in text for text in model.files.values()))


def summary(rows: list[tuple[int, Compared, tuple[str, ...]]]) -> dict[str, object]:
    """Return the counts, the largest difference and the seeds that differ."""
    outcomes = Counter(found.outcome for _, found, _ in rows)
    both = [row for row in rows if row[1].outcome in ("same", "different")]
    return {
        "mujoco": mujoco.__version__,
        "models": len(rows),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "largest_difference": max((found.difference for _, found, _ in both), default=0.0),
        "compared_with_setting": {name: sum(name in used for _, _, used in both) for name in SETTINGS},
        "different_seeds": [seed for seed, found, _ in rows if found.outcome == "different"],
        "refused_by_us_alone": sorted({found.reason[:200] for _, found, _ in rows if found.outcome == "we refuse"})[
            :20
        ],
    }


def table(result: dict[str, object]) -> list[str]:
    """Return the table of the docs."""
    outcomes = result["outcomes"]
    assert isinstance(outcomes, dict)
    lines = [
        f"| {result['models']} random models, MuJoCo {result['mujoco']} | models |",
        "|---|---|",
        *(f"| {OUTCOMES[name]} | {count} |" for name, count in outcomes.items()),
    ]
    return [*lines, "", f"Largest difference of a torque: {result['largest_difference']:.1e} of the pose's largest."]


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    chosen = parser.parse_args()
    count = MODELS if chosen.models is None else chosen.models
    with get_context("spawn").Pool(2) as pool:
        rows = pool.map(judged, range(chosen.first, chosen.first + count), chunksize=50)
    result = summary(rows)
    print("\n".join(table(result)))
    print(result["different_seeds"], result["compared_with_setting"], sep="\n")
    if chosen.models is None:
        write_result(RESULT, result)
        put(DOCS, "models", table(result))


if __name__ == "__main__":
    main()
