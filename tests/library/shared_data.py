"""Material of others: beside the repository, or where COUNTERPOISE_DATA says; and the package example-robot-data."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[3] / "shared")).resolve()

REFUSED_URDFS = {
    "alex_psyonic_hands.urdf": "mimics 'index_q1', which is not a moving joint",
    "ur3.urdf": "<robot> has no name",
}
"""The only real files that we refuse: joints that follow absent joints, and a document that is no robot."""


def example_urdfs() -> list[Path]:
    """URDF files of the package example-robot-data; empty where it is not installed."""
    try:
        installed = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in installed if file.suffix == ".urdf"]


def example_urdf(name: str) -> Path:
    """The file of example-robot-data whose path ends with ``name``, or skip the test."""
    for path in example_urdfs():
        if path.as_posix().endswith(f"/{name}"):
            return path
    pytest.skip(f"{name} of example-robot-data is not installed")


def real_urdfs() -> list[Path]:
    """URDF files of example-robot-data and of the shared recordings, where present."""
    return sorted([*example_urdfs(), *SHARED.glob("data/*/*.urdf")])
