"""What a reproduced experiment consists of: what was printed, what we find, a figure in the paper's form, a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...foundation import Array

Verdict = Literal["reproduced", "partly", "not"]
Progress = Callable[[float], None]
"""Called now and then with the share of the work that is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of the paper beside ours.

    Attributes:
        what: What it is, e.g. "PID, rms error, joint 1".
        unit: Its unit; "" for a ratio.
        printed: The paper's number; None where it prints none.
        ours: Median over the seeds.
        spread: Smallest and largest over the seeds.
    """

    what: str
    unit: str
    printed: float | None
    ours: float
    spread: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class FigureCurve:
    """One line of a panel.

    Attributes:
        name: What the legend calls it.
        x: Abscissa, shape (k,).
        y: Ordinate, shape (k,).
        dash: How it is drawn.
        points: Whether it is drawn as points instead of a line.
    """

    name: str
    x: Array
    y: Array
    dash: Literal["solid", "dash", "dot"] = "solid"
    points: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FigurePanel:
    """Axes with curves, as one part of a published figure.

    Attributes:
        title: What it shows.
        x_label: Abscissa with its unit.
        y_label: Ordinate with its unit.
        curves: What is drawn.
        log_x: Whether the abscissa is logarithmic.
        log_y: Whether the ordinate is.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[FigureCurve, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What running an experiment gave.

    Attributes:
        comparisons: The paper's numbers beside ours.
        panels: The figure.
        verdict: Whether the claim holds here.
        decides: What decides it, in a few sentences.
        notes: What differs in the set-up, and what else there is to know.
    """

    comparisons: tuple[Comparison, ...]
    panels: tuple[FigurePanel, ...]
    verdict: Verdict
    decides: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A published experiment that can be run.

    Attributes:
        name: As `counterpoise reproduce` takes it, e.g. "morel-fig8".
        title: One line.
        source: Citation key and place, e.g. "[Morel2000], Fig. 8 and Table 1".
        claim: What the paper says.
        setup: How it is repeated here, and what is assumed.
        run: Runs it over a number of seeds and reports progress.
    """

    name: str
    title: str
    source: str
    claim: str
    setup: str
    run: Callable[[int, Progress], Outcome]
