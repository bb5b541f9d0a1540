"""The tour: every stop in its order, with what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .fine_motion import FineMotion, fine_motion
from .floating import Floated, floated
from .hidden_arm import HiddenArm, hidden_arm
from .load import FoundLoad, load_found
from .model import Modelled, modelled
from .recording import Recorded, fresh, recorded

Tell = Callable[[float, str], None]
"""Called with the share of the tour that is done, 0 to 1, and with what happens now."""
STOPS = (
    ("record poses, each from both sides; ask the doctor", 0.36),
    ("calibrate, and check on poses it has not seen", 0.18),
    ("float, if the check allows it", 0.14),
    ("find a load that is hung on", 0.14),
    ("move finely, closed on the plate", 0.18),
)
"""What is done, and its share of the time."""
Stop = Recorded | Modelled | Floated | FoundLoad | FineMotion


@dataclass(frozen=True, slots=True, eq=False)
class Tour:
    """What the tour showed.

    Attributes:
        arm: The arm with its hidden truth.
        recorded: The recording, its faults, and the recording fixed.
        modelled: The calibrated model and how it was verified.
        floated: The arm that was let go.
        found: The load that was hung on.
        fine: The fine motion.
        seconds: How long it took.
    """

    arm: HiddenArm
    recorded: Recorded
    modelled: Modelled
    floated: Floated
    found: FoundLoad
    fine: FineMotion
    seconds: float


def take_tour(folder: Path, tell: Tell, after: Callable[[Stop], None] = lambda stop: None, seed: int = 0) -> Tour:
    """Take the tour; recordings, mapping and calibration are written to a folder.

    Args:
        folder: Where files go; it must exist.
        tell: Told how far the tour is.
        after: Called with what came of each stop.
        seed: Draws the arm's hidden errors and its noise.
    """
    begun = time.perf_counter()
    stop = _teller(tell)
    arm = hidden_arm(seed)
    first = recorded(arm, folder, stop(0))
    after(first)
    share = stop(1)
    other = fresh(arm, first.mapping, folder, lambda done: share(0.6 * done))
    model = modelled(arm, first.fixed, other, folder)
    after(model)
    stop(2)(0.0)
    let_go = floated(arm, model.fit)
    after(let_go)
    stop(3)(0.0)
    load = load_found(arm, model.fit)
    after(load)
    fine = fine_motion(arm, stop(4))
    after(fine)
    tell(1.0, "")
    return Tour(arm, first, model, let_go, load, fine, time.perf_counter() - begun)


def _teller(tell: Tell) -> Callable[[int], Callable[[float], None]]:
    def of(stop: int) -> Callable[[float], None]:
        before = sum(share for _, share in STOPS[:stop])
        text, part = STOPS[stop]
        return lambda done: tell(before + part * min(done, 1.0), text)

    return of
