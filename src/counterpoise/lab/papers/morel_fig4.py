"""[Morel2000], Fig. 4: joint 1 of the PUMA driven by a sine of torque, and what friction leaves of it at the plate."""

from __future__ import annotations

import numpy as np

from ...control import Sine, TorqueSignal
from ...foundation import Array
from ...tasks import Rig
from .experiment import Experiment, FigureCurve, FigurePanel, Outcome, Progress, Verdict
from .morel_plants import FIRST_SEED, puma_joint_1
from .task import TaskRun, compared, run_laws

AMPLITUDE, PERIOD = 10.0, 1.0
"""Of the commanded torque [N m] and [s]; neither is printed with a number that can be read off."""
BEGIN, END = 2.0, 5.0
MOVING = 0.05
"""Speed above which the joint counts as moving [rad/s]."""
STRIDE = 3
"""Ticks over which the velocity is differenced for the rotor's share."""


def run(seeds: int, progress: Progress) -> Outcome:
    """Drive the joint open loop and compare command and plate."""
    make = puma_joint_1("stiff")
    rotor = float(make(None).link.rotor_inertia)
    runs = []
    for done, seed in enumerate(range(FIRST_SEED, FIRST_SEED + seeds)):
        progress(done / seeds)
        plant = make(seed)
        signal = Sine([AMPLITUDE], PERIOD, centre=[0.0])
        rig = Rig(plant, plant.robot)
        runs.append(run_laws(rig, lambda *_, to=signal: (TorqueSignal(to, 1),), signal, END).after(BEGIN))
    progress(1.0)
    seen = [disturbance_share(made, 0.0) for made in runs]
    dry = [disturbance_share(made, rotor) for made in runs]
    agree = [100.0 * _sign_agrees(made) for made in runs]
    comparisons = (
        compared("estimated disturbance while moving, by the amplitude of the command", "%", 50.0, seen),
        compared("… without the rotor's inertia, which the plate does not feel", "%", None, dry),
        compared("time for which its sign is that of the velocity", "%", None, agree),
    )
    good = 30.0 <= float(np.median(seen)) <= 75.0 and min(agree) > 80.0
    verdict: Verdict = "reproduced" if good else "partly"
    decides = (
        "What the plate does not feel of the command opposes the velocity and turns with it, as dry friction does. How "
        "large a share it is depends on the command's amplitude, which the paper does not print (10 N m here), and the "
        "rotor's inertia, which the plate does not feel either, is part of it."
    )
    return Outcome(comparisons, _panels(runs[0]), verdict, decides, ("Period 1 s: assumed, none is printed.",))


def disturbance(made: TaskRun) -> Array:
    """Return command minus the torque that the plate feels [N m], shape (k,)."""
    return np.asarray(made.sent[:, 0] - made.felt[:, 0])


def disturbance_share(made: TaskRun, rotor: float) -> float:
    """Return the median disturbance while moving, without the share of a rotor's inertia [% of the amplitude]."""
    acceleration = np.gradient(made.dq[:, 0], made.time[1] - made.time[0])
    rest = disturbance(made) - rotor * np.convolve(acceleration, np.full(STRIDE, 1.0 / STRIDE), "same")
    moving = np.abs(made.dq[:, 0]) > MOVING
    return 100.0 * float(np.median(np.abs(rest[moving]))) / AMPLITUDE


def _sign_agrees(made: TaskRun) -> float:
    moving = np.abs(made.dq[:, 0]) > MOVING
    return float(np.mean(np.sign(disturbance(made)[moving]) == np.sign(made.dq[moving, 0])))


def _panels(made: TaskRun) -> tuple[FigurePanel, ...]:
    return (
        FigurePanel(
            "Fig. 4a: command and torque by the plate",
            "time [s]",
            "torque [N m]",
            (
                FigureCurve("command", made.time, made.sent[:, 0], "dash"),
                FigureCurve("plate", made.time, made.felt[:, 0]),
            ),
        ),
        FigurePanel(
            "Fig. 4b: estimated disturbance and velocity",
            "time [s]",
            "torque [N m], velocity [0.1 rad/s]",
            (
                FigureCurve("disturbance [N m]", made.time, disturbance(made)),
                FigureCurve("velocity [0.1 rad/s]", made.time, 10.0 * made.dq[:, 0], "dash"),
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="morel-fig4",
    title="Friction of joint 1 of a PUMA, seen as command minus the plate's torque",
    source="[Morel2000], section 3.1 and Fig. 4",
    claim="The disturbance resembles Coulomb friction and is about half of the commanded torque.",
    setup="Joint 1 of the simulated PUMA 550 (stiff), open loop, sine of 10 N m and 1 s; torque by eq. (23).",
    run=run,
)
