"""Fixtures shared by all rooms' tests, and the closing table of how well the oracles agreed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from library.shared_data import SHARED
from library.twin import WORST

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # no test fails by a measured time: the machine may be busy


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Return the path of shared material, e.g. shared("facts/wam.yaml"), or skip the test where it is absent."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"shared material {name} is not available (set COUNTERPOISE_DATA to the folder that holds it)")
        return path

    return find


def pytest_collection_finish() -> None:
    """Take the hundred thousands of objects that collecting leaves out of every later search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the largest disagreement with every oracle, so that a loss of digits is seen before it breaks a test."""
    if WORST:
        terminalreporter.section("largest disagreement with the oracles, relative to max(1, |theirs|)")
        for (oracle, what), error in sorted(WORST.items()):
            terminalreporter.write_line(f"{oracle:<22} {what:<28} {error:.1e}")
