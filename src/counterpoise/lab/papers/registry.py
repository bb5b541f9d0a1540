"""Which experiments there are; each is imported only when it is run or described.

Several are run at once, each in a process of its own, with one progress for all.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...errors import CounterpoiseError, InputError
from .experiment import Experiment, Outcome

MODULES: dict[str, str] = {
    "morel-fig4": "morel_fig4",
    "morel-fig6": "morel_fig6",
    "morel-fig8": "morel_fig8",
    "morel-fig9": "morel_fig9",
    "morel-fig11": "morel_fig11",
    "morel-fig12": "morel_fig12",
    "morel-fig13": "morel_fig13",
    "jo-2018": "jo_2018",
    "map": "base_sensor_map",
}
"""Module of each experiment, in the order in which they are listed."""
LONG_STUDIES = ("map",)
"""Run by name only, not with "all"."""


def experiment_names(chosen: tuple[str, ...] = ("all",)) -> tuple[str, ...]:
    """Return the experiments of a choice, in the registry's order; "all" stands for those that are no long study.

    Args:
        chosen: Names, or "all".

    Raises:
        InputError: There is no such experiment.
    """
    for name in chosen:
        if name not in MODULES and name != "all":
            raise InputError(f"there is no experiment '{name}'; there are {', '.join(MODULES)}, and all")
    return tuple(name for name in MODULES if name in chosen or ("all" in chosen and name not in LONG_STUDIES))


def experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Raises:
        InputError: There is no such experiment.
    """
    if name not in MODULES:
        raise InputError(f"there is no experiment '{name}'; there are {', '.join(MODULES)}")
    found: Experiment = import_module(f".{MODULES[name]}", __package__).EXPERIMENT
    return found


COST: dict[str, float] = {
    "morel-fig12": 6.0,
    "morel-fig11": 5.0,
    "morel-fig13": 5.0,
    "morel-fig9": 5.0,
    "morel-fig8": 5.0,
    "jo-2018": 4.0,
}
"""How long experiments take beside each other; those not named count as 1. The longest begin first."""
TOGETHER = (("morel-fig11", "morel-fig12", "morel-fig13"), ("morel-fig6", "morel-fig8"))
"""Experiments on one arm with the same gains, which are found once when they share a process."""
Tell = Callable[[float, str], None]
"""Called with the share of the work that is done, 0 to 1, and with what was finished last."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """An experiment that was run.

    Attributes:
        name: Its name.
        outcome: What it gave; None where it failed.
        failure: Why it failed; "" where it did not.
        seconds: How long it took [s].
    """

    name: str
    outcome: Outcome | None
    failure: str
    seconds: float


def run_many(names: tuple[str, ...], seeds: int, tell: Tell, jobs: int | None = None) -> list[Done]:
    """Run experiments and return what they gave, in the order of the names.

    Args:
        names: Their names.
        seeds: Seeds of each.
        tell: Told how far they are.
        jobs: Processes; None for as many as there are processors, 1 for this process alone.
    """
    workers = min(len(names), (os.cpu_count() or 1) if jobs is None else jobs)
    total = sum(COST.get(name, 1.0) for name in names)
    shares = dict.fromkeys(names, 0.0)

    def report(name: str, share: float, finished: str) -> None:
        shares[name] = share
        tell(sum(COST.get(each, 1.0) * value for each, value in shares.items()) / total, finished)

    if workers <= 1:
        done = []
        for name in names:
            done.append(_run(name, seeds, lambda share, which=name: report(which, share, "")))  # type: ignore[misc]
            report(name, 1.0, name)
        return done
    context = multiprocessing.get_context("spawn")  # plants hold native state that a fork would share
    with context.Manager() as manager, ProcessPoolExecutor(workers, mp_context=context) as pool:
        shared: Any = manager.Queue()
        futures = [pool.submit(_run_in_process, group, seeds, shared) for group in grouped(names)]
        _wait(futures, shared, report)
        ended = {each.name: each for future in futures for each in _results(future)}
        return [ended.get(name, Done(name, None, "its process died; is there enough memory?", 0.0)) for name in names]


def grouped(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the names as groups that share a process each, the longest group first."""
    groups = [tuple(name for name in group if name in names) for group in TOGETHER]
    shared = {name for group in groups for name in group}
    groups = [group for group in groups if group] + [(name,) for name in names if name not in shared]
    return sorted(groups, key=lambda group: -sum(COST.get(name, 1.0) for name in group))


def _wait(futures: list[Future[list[Done]]], shared: Any, report: Callable[[str, float, str], None]) -> None:
    """Pass on what the processes tell until all have ended."""
    while True:
        ended = all(future.done() for future in futures)  # before the queue is emptied: nothing is told afterwards
        try:
            while True:
                name, share = shared.get(timeout=0.2)
                report(name, share, name if share == 1.0 else "")
        except queue.Empty:
            if ended:
                return


def _results(future: Future[list[Done]]) -> list[Done]:
    """Return what a process gave; nothing where it died."""
    try:
        return future.result()
    except BrokenProcessPool:
        return []


def _run_in_process(names: tuple[str, ...], seeds: int, shared: Any) -> list[Done]:
    done = []
    for name in names:
        done.append(_run(name, seeds, lambda share, which=name: shared.put((which, min(share, 0.99)))))  # type: ignore[misc]
        shared.put((name, 1.0))
    return done


def _run(name: str, seeds: int, progress: Callable[[float], None]) -> Done:
    begun = time.monotonic()
    try:
        outcome = experiment(name).run(seeds, progress)
    except CounterpoiseError as error:
        return Done(name, None, f"{type(error).__name__}: {error}", time.monotonic() - begun)
    return Done(name, outcome, "", time.monotonic() - begun)
