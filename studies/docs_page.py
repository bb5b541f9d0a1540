"""What every study leaves behind: its results with the commit that it ran at, and its tables in the documentation."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def commit() -> str:
    """Return the commit that is checked out; "unknown" outside a repository."""
    asked = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_result(path: Path, content: Mapping[str, Any]) -> None:
    """Write results as JSON, the commit with them; arrays become lists of numbers with six decimals."""
    text = json.dumps({"commit": commit(), **content}, indent=1, default=lambda value: np.round(value, 6).tolist())
    path.write_text(text + "\n", encoding="utf-8")


def put(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between a page's marks ``<!-- name -->`` and ``<!-- end of name -->``.

    Raises:
        ValueError: The page does not have both marks once.
    """
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    page.write_text(head + begin + "\n".join(lines) + "\n" + end + tail, encoding="utf-8")
