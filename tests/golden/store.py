"""Writes tests/golden/expected anew: every case, or those that are named. What cannot be run is left as it is.

    PYTHONPATH=src:tests python -m golden.store [NAME]...

Look at the difference before you commit it: every line is a behaviour that changes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from golden.cases import CASES, EXPECTED, Commands

WIDTH = 140


def text_of(value: Any, indent: int = 0) -> str:
    """Return JSON in which what fits into a line is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    numbers = isinstance(value, list) and all(item is None or isinstance(item, int | float) for item in value)
    if numbers or not isinstance(value, dict | list) or len(line) + indent <= WIDTH:
        return line
    if isinstance(value, dict):
        pairs = [(f"{json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()]
    else:
        pairs = [("", item) for item in value]
    inner = [f"{' ' * (indent + 1)}{key}{text_of(item, indent + 1)}" for key, item in pairs]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opening, ",\n".join(inner), " " * indent + closing])


def store(names: list[str]) -> None:
    """Run cases and write what they print."""
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands(Path(folder))
        for name in names:
            try:
                result = commands.result(name)
            except pytest.skip.Exception as reason:
                print(f"{name}: left as it is, {reason}")
                continue
            text = text_of(result) + "\n"
            if folder in text or str(Path.home()) in text or str(EXPECTED.parents[2]) in text:
                raise ValueError(f"{name}: an absolute path would be stored")
            (EXPECTED / f"{name}.json").write_text(text, encoding="utf-8")
    if names == list(CASES):
        for file in EXPECTED.glob("*.json"):
            if file.stem not in CASES:
                file.unlink()


if __name__ == "__main__":
    store(sys.argv[1:] or list(CASES))
