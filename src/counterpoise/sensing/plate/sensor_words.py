"""What a calibrated plate's numbers mean, in words: what a recording shows, what it does not, what was found."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...doctor import PlateTurn, listed, percent, short, spread
from ...dynamics import WRENCH_COMPONENTS
from ...foundation import Array, Check, Verdict
from .wrench_frame import Mounting

SURE_TURN = math.radians(2.0)
"""A turn of a greater standard deviation is not shown [rad]."""
SURE_ORIGIN = 0.05
"""... nor an origin [m]."""
SURE_ZERO = 0.01
"""... nor a zero, relative to the robot's weight (and LEVER)."""
SURE_LAG = 0.005
"""... nor a lag [s], or one sample where that is longer."""
LEARNED = 0.5
"""A gain or a drift is shown where its standard deviation is below this share of what it was beforehand."""
NOTABLE = 0.01
"""Gain errors and cross-talk above this are told."""
UNEXPLAINED = 0.1
"""Share of what a channel varies by that may be left over; with more, the numbers found mean little."""


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """Standard deviations of the canonical split, after and before the data.

    Attributes:
        rotation: About the sensor's axes [rad], shape (3,).
        origin: Base axes [m], shape (3,).
        gain: Shape (6, 6).
        gain_before: Shape (6, 6).
        bias: [N, N m], shape (6,).
        drift: Shape (6,).
        drift_before: Shape (6,).
        lag: [s].
        unit: The robot's weight, and with LEVER its moment [N, N m], shape (6,).
    """

    rotation: Array
    origin: Array
    gain: Array
    gain_before: Array
    bias: Array
    drift: Array
    drift_before: Array
    lag: float
    unit: Array


def shown_gains(spreads: Spreads) -> npt.NDArray[np.bool_]:
    """Return which entries of the gain the recording shows, shape (6, 6)."""
    return np.asarray((spreads.gain_before > 0.0) & (spreads.gain < LEARNED * spreads.gain_before))


def determined(spreads: Spreads, parts: Collection[str], rate: float, *, sign_shown: bool) -> dict[str, bool]:
    """Return what was looked for, in words, and whether the recording shows it."""
    found = {"sign": sign_shown}
    if "rotation" in parts:
        x, y, z = (bool(value < SURE_TURN) for value in spreads.rotation)
        found |= {"yaw": z, "tilt about x": x, "tilt about y": y}
    if "origin" in parts:
        names = ("origin along x", "origin along y", "height")
        found |= {name: bool(std < SURE_ORIGIN) for name, std in zip(names, spreads.origin, strict=True)}
    if "gain" in parts:
        shown = shown_gains(spreads)
        found |= {f"gain of {name}": bool(shown[i, i]) for i, name in enumerate(WRENCH_COMPONENTS)}
        for j, name in enumerate(WRENCH_COMPONENTS):
            foreign = np.delete(shown[:, j], j)
            # Shares that the split counts as rotation or origin have no spread of their own.
            known = np.delete(spreads.gain_before[:, j] > 0.0, j)
            found[f"cross-talk of {name}"] = bool(np.all(foreign[known]))
    if "bias" in parts:
        for name, std, unit in zip(WRENCH_COMPONENTS, spreads.bias, spreads.unit, strict=True):
            found[f"zero of {name}"] = bool(std < SURE_ZERO * unit)
    if "lag" in parts:
        found["lag"] = spreads.lag < max(SURE_LAG, 1.0 / rate)
    if "drift" in parts:
        found["drift"] = bool(np.all(spreads.drift < LEARNED * spreads.drift_before))
    return found


def explained(signal: Array, left: Array) -> Check:
    """Return whether the model explains what every channel varies by.

    Args:
        signal: Deviation of each channel of the reading [N, N m], shape (6,).
        left: What is left over after the fit [N, N m], shape (6,).
    """
    fraction = left / np.maximum(signal, 1e-12)
    worst = float(fraction.max())
    poor = [
        f"{name} ({percent(float(part))})"
        for name, part in zip(WRENCH_COMPONENTS, fraction, strict=True)
        if part > UNEXPLAINED
    ]
    sentence = f"After the fit, at most {percent(worst)} of what a channel varies by stays unexplained."
    if poor:
        sentence = (
            f"Do not rely on these numbers: after the fit, {listed(poor)} of what the channel varies by stays "
            "unexplained. The arm shakes, its gears yield, it was touched, or its masses are far off. Record a calmer "
            "motion."
        )
    return Check("explained", not poor, sentence, worst, UNEXPLAINED)


def sign_certain(*, shown: bool) -> Check:
    """Return whether the recording tells the plate's sign."""
    if shown:
        return Check("sign", True, "The recording determines the plate's sign.")
    return Check(
        "sign",
        False,
        "The sign is not certain: the recording does not distinguish it from a turned plate. Faster motion, or a plate "
        "that was not tared under the robot, would.",
        decides=False,
    )


def sentences(
    *,
    mounting: Mounting,
    declared: Mounting,
    reads: str,
    turned_over: bool,
    lag: float,
    spreads: Spreads,
    shown: Mapping[str, bool],
    signal: Array,
    residual: tuple[Array, Array],
    drift: tuple[Array, float, str],
    outliers: float,
    masses: str,
) -> tuple[str, ...]:
    """Return what was found.

    Args:
        mounting: Pose and gain that were found.
        declared: Pose that was declared.
        reads: Sign convention that was found.
        turned_over: Whether it is the opposite of the declared one.
        lag: [s].
        spreads: Standard deviations.
        shown: What the recording shows.
        signal: Deviation of the reading [N, N m], shape (6,).
        residual: Left over before and after [N, N m], shapes (6,).
        drift: Its rates, shape (6,), how far its variable reached, and its unit.
        outliers: Share of readings weighted down.
        masses: How well the robot's masses are known.
    """
    told = list(Verdict([explained(signal, residual[1])]).reasons)
    if turned_over:
        told.append(f"The plate reads the opposite of what is declared: '{reads}'.")
    told += Verdict([sign_certain(shown=shown["sign"])]).reasons
    if "yaw" in shown:
        told += _turn_sentences(mounting, declared, spreads, shown)
    if "height" in shown:
        told.append(_origin_sentence(mounting, spreads, shown))
    if "lag" in shown:
        std = spread(1e3 * spreads.lag)
        late = "after" if lag >= 0.0 else "before"
        told.append(
            f"The reading comes {short(1e3 * abs(lag))} ± {std} ms {late} the positions."
            if shown["lag"]
            else f"The lag does not show (± {std} ms): the arm moves too slowly."
        )
    told += _gain_sentences(mounting, spreads, shown)
    told += _rest(shown, spreads)
    if "drift" in shown:
        rates, span, unit = drift
        worst = int(np.argmax(np.abs(rates) * span / spreads.unit))
        told.append(
            f"The zero drifts by {rates[worst]:+.2g} ± {spread(float(spreads.drift[worst]))} "
            f"{'N' if worst < 3 else 'N m'}/{unit} in {WRENCH_COMPONENTS[worst]}, the most of all channels."
        )
    before, after = (float(np.linalg.norm(values[3:5])) for values in residual)
    told.append(f"Of mx and my, {short(before)} N m were unexplained before and {short(after)} N m are after.")
    if outliers > 0.01:
        told.append(f"{percent(outliers)} of the readings are outliers and count little: was the arm touched?")
    if masses != "exact":
        told.append(
            "The robot's masses are taken to be uncertain (masses="
            f"'{masses}'); gains cannot be known better than they are."
        )
    return tuple(told)


def _turn_sentences(mounting: Mounting, declared: Mounting, spreads: Spreads, shown: Mapping[str, bool]) -> list[str]:
    turned = PlateTurn.between(mounting.rotation, declared.rotation)
    told = []
    if turned.upside_down:
        told.append("The plate lies upside down; its turns are counted from a half turn about its x axis.")
    yaw, x, y = (math.degrees(angle) for angle in (turned.yaw, turned.tilt_x, turned.tilt_y))
    stds = np.degrees(spreads.rotation)
    told.append(
        f"The plate is turned by {yaw:.2f} ± {spread(stds[2])}° about its z axis against what is declared."
        if shown["yaw"]
        else f"The turn about the plate's z axis does not show (± {spread(stds[2])}°)."
    )
    if shown["tilt about x"] and shown["tilt about y"]:
        told.append(f"It is tilted by {x:.2f} ± {spread(stds[0])}° about x and {y:.2f} ± {spread(stds[1])}° about y.")
    else:
        told.append(f"Its tilt does not show (± {spread(stds[0])}° about x, ± {spread(stds[1])}° about y).")
    return told


def _origin_sentence(mounting: Mounting, spreads: Spreads, shown: Mapping[str, bool]) -> str:
    names = ("origin along x", "origin along y", "height")
    parts = [
        f"{'xyz'[i]} = {mounting.origin[i]:+.3f} ± {spread(float(spreads.origin[i]))} m"
        for i, name in enumerate(names)
        if shown[name]
    ]
    if not parts:
        return "Where the plate's origin lies does not show: forces hardly change in this recording."
    return f"The plate's origin lies at {', '.join(parts)} in the base frame."


def _gain_sentences(mounting: Mounting, spreads: Spreads, shown: Mapping[str, bool]) -> list[str]:
    told = []
    off = [
        f"{name} {mounting.gain[i, i]:.3f} ± {spread(float(spreads.gain[i, i]))}"
        for i, name in enumerate(WRENCH_COMPONENTS)
        if shown.get(f"gain of {name}")
        and abs(mounting.gain[i, i] - 1.0) > max(NOTABLE, 2.0 * float(spreads.gain[i, i]))
    ]
    if off:
        told.append(f"Gains other than 1: {', '.join(off)}.")
    entries = shown_gains(spreads)
    scale = spreads.unit[None, :] / spreads.unit[:, None]
    shares = np.abs(mounting.gain - np.eye(6)) * scale
    np.fill_diagonal(shares, 0.0)
    shares[~entries | (np.abs(mounting.gain) < 2.0 * spreads.gain)] = 0.0
    i, j = np.unravel_index(int(np.argmax(shares)), shares.shape)
    if shares[i, j] > NOTABLE:
        share = percent(float(shares[i, j]))
        told.append(f"The largest cross-talk is that of {WRENCH_COMPONENTS[j]} in {WRENCH_COMPONENTS[i]}: {share}.")
    return told


def _rest(shown: Mapping[str, bool], spreads: Spreads) -> list[str]:
    """Say what stays at its prior."""
    gains = [name for name, known in shown.items() if name.startswith("gain of") and not known]
    zeros = [name for name, known in shown.items() if name.startswith("zero of") and not known]
    mixed = [name for name, known in shown.items() if name.startswith("cross-talk") and not known]
    told = []
    if gains:
        channels = [name.removeprefix("gain of ") for name in gains]
        told.append(f"The gain of {listed(channels)} does not show and is taken to be near 1.")
    if mixed:
        channels = [name.removeprefix("cross-talk of ") for name in mixed]
        told.append(f"Shares of {listed(channels)} in other channels do not all show and are taken to be near 0.")
    if zeros:
        channels = [name.removeprefix("zero of ") for name in zeros]
        told.append(f"The zero of {listed(channels)} does not show well: tare before use, or use a difference form.")
    if not any(shown.get(f"gain of {name}") for name in WRENCH_COMPONENTS[:3]) and shown.get("gain of mx"):
        told.append(
            "Forces hardly change here: of a slow upright arm only yaw, tilt and the two moment gains are visible. "
            "Record faster motion to see the rest."
        )
    return told
