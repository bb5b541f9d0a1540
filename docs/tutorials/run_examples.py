"""Runs the numbered examples and keeps what they print, for the tutorials: docs/tutorials/output/.

python docs/tutorials/run_examples.py          all of them, a minute or two; tests/docs/test_examples.py compares
python docs/tutorials/run_examples.py 03 05    only these
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
OUTPUT = Path(__file__).with_name("output")
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}


def printed(example: Path) -> str:
    """Return what an example prints, run alone in an empty folder.

    Raises:
        RuntimeError: It failed; the message is what it wrote.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(example)],
            cwd=folder,
            env={**os.environ, **PLAIN},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{example.name} ended with {done.returncode}:\n{done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def kept(example: Path) -> Path:
    """Return the file that keeps what an example prints."""
    return OUTPUT / f"{example.stem}.txt"


if __name__ == "__main__":
    OUTPUT.mkdir(exist_ok=True)
    for each in EXAMPLES:
        if len(sys.argv) == 1 or each.name[:2] in sys.argv[1:]:
            kept(each).write_text(printed(each), encoding="utf-8")
            print(kept(each).relative_to(ROOT))
