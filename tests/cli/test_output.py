"""JSON, numbers and progress."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest

from counterpoise.cli import output
from counterpoise.cli.output import Progressing, fixed, limit, printable
from counterpoise.foundation import plain


def test_plain_has_no_infinite_numbers_at_any_depth():
    data = {
        "a": (1.0, math.inf),
        "b": np.array([[1.0, -np.inf]]),
        "c": {"d": math.nan},
        "e": "text",
        "f": None,
        "g": True,
    }
    found = plain(data)
    assert found == {"a": [1.0, None], "b": [[1.0, None]], "c": {"d": None}, "e": "text", "f": None, "g": True}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.0000"), (-1e-9, "0.0000"), (-0.5, "-0.5000"), (12.34567, "12.3457")]
)
def test_fixed_never_shows_minus_zero(value, text):
    assert fixed(value) == text


def test_limit_shows_a_dash_for_none():
    assert limit(math.inf) == limit(-math.inf) == "–"
    assert limit(-2.60000001) == "-2.6"


def test_printable_escapes_what_could_drive_a_terminal():
    assert printable("a\x1b[2Jb\r\x07\x9b\u202ec\nd") == "a\\x1b[2Jb\\r\\x07\\x9b\\u202ec\nd"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, delay: float) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(output, "PROGRESS_DELAY", delay)
    monkeypatch.setenv("TERM", "xterm")
    with Progressing("reading poses.csv") as progressing:
        for done in range(5):
            progressing.update(done, 5)
    return stream.getvalue()


def test_progress_appears_on_a_terminal_after_its_delay(monkeypatch):
    assert "reading poses.csv" in shown(monkeypatch, Terminal(), 0.0)


def test_progress_stays_away_from_short_work_and_from_pipes(monkeypatch):
    assert shown(monkeypatch, Terminal(), 3600.0) == ""
    assert shown(monkeypatch, io.StringIO(), 0.0) == ""
