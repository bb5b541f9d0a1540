"""Which experiments there are; each is imported only when it is run or described."""

from __future__ import annotations

from importlib import import_module

from ..errors import InputError
from .experiment import Experiment

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


def names(chosen: tuple[str, ...] = ("all",)) -> tuple[str, ...]:
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
