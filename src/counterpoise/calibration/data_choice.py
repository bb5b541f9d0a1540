"""What of a recording is fitted: poses at rest, rows, motion, or poses and motion; decided from the data, with why."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ..doctor.pose_table import LEAST_ROWS, is_pose_table
from ..errors import InputError
from ..logs.log import Log
from ..logs.stillness import still_segments
from .samples import Samples
from .static_poses import StaticPoses, same_places
from .terms import Terms

Method = Literal["weighted", "iterative", "coupled"]
DataKind = Literal["static", "rows", "moving", "both"]
"""What of a recording is fitted ..."""
DataChoice = Literal["auto", "static", "rows", "moving"]
"""... and what may be asked for: "auto" decides by the data."""

METHODS: tuple[Method, ...] = get_args(Method)
DATA_CHOICES: tuple[DataChoice, ...] = get_args(DataChoice)
STILL_POSES = 6
"""Fewest different poses at rest that are fitted by themselves ..."""
STILL_POSES_BESIDE = 2
"""... and beside a motion."""
STILL_SHARE = 0.4
"""Share of a recording that the arm must stand still for its poses to be used rather than its motion, where not both
can be."""
ONLY_STANDS = 0.9
"""Share of a recording from which on the arm does nothing but stand: what is left are the ways between the poses."""


def data_kind(
    data: Log | StaticPoses | Samples, use: DataChoice, terms: Terms | None, method: Method
) -> tuple[DataKind, str]:
    """Return what of the data is fitted, and why in one sentence.

    Args:
        data: The data.
        use: What was asked for.
        terms: What is to be fitted; None for the usual.
        method: By which method.

    Raises:
        InputError: What was asked for does not fit the data or the method.
    """
    if isinstance(data, StaticPoses):
        if use == "moving":
            raise InputError("poses at rest hold no motion; use='moving' needs a recording")
        return "static", "the data are poses at rest"
    if isinstance(data, Samples):
        if use in ("static", "rows") or method != "weighted":
            raise InputError("samples of a motion cannot be fitted as poses at rest; give the recording")
        return "moving", "the data are samples of a motion"
    return _of_log(data, use, terms, method)


def _of_log(log: Log, use: DataChoice, terms: Terms | None, method: Method) -> tuple[DataKind, str]:
    needs_motion = terms is not None and terms.need_motion
    if method != "weighted" and (use == "moving" or needs_motion):
        raise InputError(f"method '{method}' is for poses at rest; a motion is fitted by 'weighted'")
    if use != "auto":
        return use, f"use='{use}' was asked for"
    if needs_motion:
        return "moving", "inertias, rotors or viscous friction are asked for, which only a motion shows"
    kind, why = _by_itself(log)
    if method != "weighted" and kind in ("moving", "both"):
        return "static", f"method '{method}' is for poses at rest"
    if kind == "both" and terms is not None:
        return ("static" if stands_mostly(log) else "moving"), f"{why}; the terms that are asked for suit one of them"
    return kind, why


def stands_mostly(log: Log) -> bool:
    """Return whether poses at rest tell more than the motion, where only one of them can be used."""
    kind, _ = _by_itself(log)
    if kind != "both":
        return kind in ("static", "rows")
    share, different = _standing(log)
    return share >= STILL_SHARE and different >= STILL_POSES


def _standing(log: Log) -> tuple[float, int]:
    """Return the share of a recording in which the arm stands, and in how many different poses."""
    segments = still_segments(log)
    total = float(np.ptp(log.time[np.isfinite(log.time)]))
    share = sum(segment.duration for segment in segments) / max(total, 1e-9)
    return share, len(np.unique(same_places(np.array([segment.q for segment in segments]))))


def _by_itself(log: Log) -> tuple[DataKind, str]:
    """Return what a recording is best for."""
    if log.declared.notes.get("plan"):
        return "static", "the recording carries its plan of poses"
    if log.side is not None or log.pair is not None:
        return "rows", "the mapping declares from which side its poses were reached"
    if len(log) < LEAST_ROWS or is_pose_table(log):
        return "rows", "from row to row the arm jumps through its range: every row is a pose at rest"
    share, different = _standing(log)
    stands = f"the arm stands still for {share:.0%} of the recording, in {different} different poses"
    if different < STILL_POSES_BESIDE:
        return "moving", f"{stands}: its motion tells more"
    if different >= STILL_POSES and share >= STILL_SHARE and log.declared.rate_is_guessed:
        return "static", f"{stands}, and how fast it moved between them is a guess"
    return ("static" if different >= STILL_POSES and share >= ONLY_STANDS else "both"), stands
