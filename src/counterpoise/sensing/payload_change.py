"""When did a payload come or go? A sequential test over held poses with a stated rate of false alarms.

The Bayes factor of "a load since pose j" against "still empty" has the mean 1 while the arm is empty, for every j.
Their sum over j, the Shiryaev–Roberts statistic, then grows by 1 a pose on average, and stopping when it exceeds 1/α
makes false alarms at most once in 1/α poses on average ([Pollak1985]); starting points that leave the window only lower
it.
The same test decides, while a load is carried, between "the same load" and "another one, or none, since pose j".

Poses before the change belong to the baseline and go on teaching it; poses under a load that has left are forgotten.

Whatever the test finds must be weight: somebody who touches the arm, another way at every pose, explains the poses
since the change as well (payload_estimate.py, ``like_weight``). While a touch is the better explanation the poses are
in doubt: nothing is said to have come or gone, no estimate uses them, and once later poses show that it is over they
are forgotten.

A joint that sticks badly at one pose looks like weight too, with any evidence. So without a plate a load must be
probable without any one of its poses, which takes two; until then the estimate says ``undecided``.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from .payload_estimate import (
    PayloadEstimate,
    estimating,
    like_weight,
    log_sum,
    marginal_bound,
    marginal_evidence,
    no_payload,
    unnoticed_mass,
)
from .payload_statistics import Baseline, Sums

WINDOW = 10
"""Poses that may still turn out to be the first with a load."""
LOADED_STARTS = 4
"""Poses, the last ones, that may be the first after a load was exchanged or released."""
MEMORY = 500.0
"""Poses after which older ones have lost most of their weight: arms wear, plates drift."""
CONFIRMED = np.log(100.0)
"""Evidence of a load that must be left without any one of its poses, where no plate weighs it."""


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A payload came or went.

    Attributes:
        kind: "attached", "released" or "exchanged".
        poses_ago: How many held poses before the last the change was, 0 for the last.
        log_statistic: Logarithm of the test's statistic.
    """

    kind: str
    poses_ago: int
    log_statistic: float


DOUBT = "the last torques differ in a way that no weight explains: a touch, a cable, a brake?"
ONE_POSE = "a load would explain the last pose, and so would a joint that sticks there: one more pose decides"
Test = Generator[None, None, tuple[ChangeEvent | None, list[Sums]]]
"""Ends with what came or went, and the poses that are in doubt."""
Judgement = Generator[None, None, tuple[PayloadEstimate, ChangeEvent | None]]


class PayloadHistory:
    """The held poses of a run, as far as they matter: the baseline's, the load's, and a window of recent ones.

    Attributes:
        loaded: Whether a load is taken to be carried.
    """

    def __init__(self, baseline: Baseline, *, max_mass: float, false_alarm: float) -> None:
        """Begin with an arm that is as empty as its model says.

        Args:
            baseline: How well the empty arm is known.
            max_mass: Heaviest load [kg].
            false_alarm: α: false alarms per held pose, at most.
        """
        self.loaded = False
        self._baseline = baseline
        self._max_mass = max_mass
        self._threshold = float(np.log(1.0 / false_alarm))
        self._empty = baseline.nothing()
        self._carried = baseline.nothing()
        self._carried_poses = self._empty_poses = 0
        self._window: list[Sums] = []
        self._doubtful: list[Sums] = []
        self._unconfirmed = False
        self._weighed = False

    @property
    def poses(self) -> int:
        """Poses in the window and of the present load before it."""
        return self._carried_poses + len(self._window)

    def add(self, pose: Sums, *, weighed: bool) -> None:
        """Take a held pose in for good.

        Args:
            pose: Its sums.
            weighed: Whether a plate took part.
        """
        self._weighed = self._weighed or weighed
        self._window.append(pose)
        if len(self._window) > WINDOW:
            oldest = self._window.pop(0)
            if _holds(self._doubtful, oldest):
                return
            if self.loaded:
                self._carried = self._carried.scaled(1.0 - 1.0 / MEMORY) + oldest
                self._carried_poses += 1
            else:
                self._empty = self._empty.scaled(1.0 - 1.0 / MEMORY) + oldest
                self._empty_poses += 1
                if self._weighed and self._empty_poses % WINDOW == 0:
                    self._empty = self._baseline.with_fresh_zero(self._empty)

    def judging(self, present: Sums | None = None) -> Judgement:
        """Test for a change and estimate, in steps of some tenths of a millisecond; the last one changes the state.

        Args:
            present: Sums of the pose that is being held now and has not been added; None where there is none.
        """
        now = [present] if present is not None else []
        doubted = self._doubtful
        items = [*_without(self._window, doubted), *now]
        if not items and not doubted:
            unnoticed = self._unnoticed(self._empty) if self._empty_poses else np.inf
            return no_payload(self._baseline.places.robot, self._empty_poses, unnoticed_mass=unnoticed), None
        event, doubtful = yield from self._testing(items)
        if doubtful and doubted:
            event, doubtful = yield from self._testing([*self._window, *now])
        if event is not None:
            self._doubtful = []
        elif present is None:
            over = _without(doubted, doubtful)
            self._window = _without(self._window, over)
            self._doubtful = doubtful
        sure = _without([*self._window, *now], [*doubtful, *self._doubtful])
        if not self.loaded:
            poses = self._empty_poses + len(sure)
            open_question = DOUBT if doubtful else ONE_POSE if self._unconfirmed else ""
            yield
            unnoticed = self._unnoticed(sum(sure, self._empty)) if poses else np.inf
            robot = self._baseline.places.robot
            return no_payload(robot, poses, open_question=open_question, unnoticed_mass=unnoticed), event
        carried = sum(sure, self._carried)
        found = yield from estimating(
            self._baseline,
            self._empty + carried,
            carried,
            max_mass=self._max_mass,
            poses=self._carried_poses + len(sure),
            detected=True,
            weighed=self._weighed,
        )
        return found, event

    def _unnoticed(self, poses: Sums) -> float:
        """Return the heaviest load that may have been carried at all of these poses [kg]."""
        S, t = self._baseline.load_information(poses, poses)
        return unnoticed_mass(self._baseline, poses, S, t, self._max_mass)

    def _testing(self, items: list[Sums]) -> Test:
        self._unconfirmed = False
        if not items:
            return None, []
        return (yield from (self._testing_loaded(items) if self.loaded else self._testing_empty(items)))

    def _testing_empty(self, items: list[Sums]) -> Test:
        since, baseline = _tails(items), self._baseline
        total = self._empty + since[0]
        uncertainty = baseline.uncertainty(total)
        told, bounds = [], []
        for case in since:
            S, t = baseline.load_information(total, case, uncertainty)
            told.append((S, t))
            bounds.append(marginal_bound(baseline, S, t, self._weighed))
            yield
        if max(bounds) < self._threshold - np.log(len(items)):
            return None, []
        factors = []
        for S, t in told:
            factors.append(marginal_evidence(baseline, S, t, self._max_mass, self._weighed))
            yield
        statistic = float(log_sum(np.array(factors)))
        if not statistic > self._threshold:
            return None, []
        start = int(np.argmax(factors))
        if like_weight(baseline, total, since[start], factors[start]) < 0.5:
            return None, items[start:]
        if not (self._weighed or (yield from self._confirming(items, start))):
            self._unconfirmed = True
            return None, []
        self._begin_load(items, start)
        return ChangeEvent("attached", len(items) - 1 - start, statistic), []

    def _confirming(self, items: list[Sums], start: int) -> Generator[None, None, bool]:
        """Say whether a load since ``start`` is probable without any one of its poses: a joint may stick badly once."""
        tail = items[start:]
        for left_out in tail if len(tail) > 1 else []:
            rest = sum(_without(tail, [left_out]), self._baseline.nothing())
            total = sum(items[:start], self._empty) + rest
            S, t = self._baseline.load_information(total, rest)
            yield
            if marginal_evidence(self._baseline, S, t, self._max_mass, self._weighed) < CONFIRMED:
                return False
            yield
        return len(tail) > 1

    def _testing_loaded(self, items: list[Sums]) -> Test:
        """Compare one load all along with one until pose j and another, or none, since."""
        first = 0 if self._carried_poses else 1
        starts = list(range(max(first, len(items) - LOADED_STARTS), len(items)))
        if not starts:
            return None, []
        tails = _tails(items)
        after = [tails[j] for j in starts]
        before = [sum(items[:j], self._carried) for j in starts]
        cases = [sum(items, self._carried), *before, *after]
        with_load, without = np.zeros(len(cases)), np.zeros(len(cases))
        for at, case in enumerate(cases):
            total = case + self._empty
            S, t = self._baseline.load_information(total, case)
            yield
            with_load[at] = marginal_evidence(self._baseline, S, t, self._max_mass, self._weighed)
            yield
            without[at] = self._baseline.log_empty(total)
            yield
        k = len(starts)
        same = without[0] + with_load[0]
        earlier = without[1 : k + 1] + with_load[1 : k + 1]
        another = with_load[k + 1 :]
        later = without[k + 1 :] + np.logaddexp(0.0, another) - np.log(2.0)
        empty = float(self._baseline.log_empty(self._empty))
        factors = earlier + later - empty - same
        statistic = float(log_sum(factors))
        if not statistic > self._threshold:
            return None, []
        best = int(np.argmax(factors))
        start = starts[best]
        if empty + float(after[best].touched) > later[best]:
            return None, items[start:]
        self.loaded = False
        self._carried, self._carried_poses = self._baseline.nothing(), 0
        ago = len(items) - 1 - start
        self._window = _shared(self._window, items[start:])
        if another[best] > self._threshold:
            self.loaded = True
            return ChangeEvent("exchanged", ago, statistic), []
        return ChangeEvent("released", ago, statistic), []

    def _begin_load(self, items: list[Sums], start: int) -> None:
        for pose in _shared(self._window, items[:start]):
            self._empty = self._empty + pose
            self._empty_poses += 1
        self._window = _shared(self._window, items[start:])
        self._carried, self._carried_poses = self._baseline.nothing(), 0
        self.loaded = True


def _shared(poses: list[Sums], others: list[Sums]) -> list[Sums]:
    return [pose for pose in poses if _holds(others, pose)]


def _without(poses: list[Sums], others: list[Sums]) -> list[Sums]:
    return [pose for pose in poses if not _holds(others, pose)]


def _holds(poses: list[Sums], one: Sums) -> bool:
    return any(pose is one for pose in poses)


def _tails(items: list[Sums]) -> list[Sums]:
    """Return the sums from each item to the last."""
    tails = [items[-1]]
    for item in reversed(items[:-1]):
        tails.append(item + tails[-1])
    return tails[::-1]
