"""The plate under the base: sign, axes, mounting, timing and cross-talk, judged by the model's own base wrench.

What shows depends on the motion. Gravity's moments (mx, my) change with every pose and carry yaw, mirrored axes, tilt
and cross-talk among moments. The sign shows in the constant weight (unless the plate was tared) and in what
accelerations add. Shares of fz in other channels are constant in slow motion and look like a bias. A plate whose origin
lies elsewhere than declared is not judged here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from ..logs.log import Log
from .cost import AMBIGUOUS
from .finding import Consequence, Finding, LogFault
from .plate_fit import LEVER, PlateClass, PlateFit, PlateModel, axes_of, fit_plate, turn
from .plate_turn import PlateTurn
from .prepared import Prepared
from .wording import PLATE_CHANNELS, short, spread

SMALL_YAW = math.radians(2.0)
SMALL_TILT = math.radians(2.0)
"""Turns that an ordinary mounting has [rad]."""
SMALL_LAG = 0.02
"""Delay that a plate's filter has [s]."""
SMALL_MIX = 0.03
"""Share of a foreign component that good plates stay far below (0.5 %); per N m in force channels over 0.5 m."""
LEAST_TIME = 5.0
"""Shortest recording that a plate is judged by [s]."""
SURE = 5.0
"""Standard deviations by which a number must differ from none."""
BELIEVED = 10.0
"""Log evidence over the plate as declared from which something is wrong."""
UNRELATED = 0.7
"""Deviation of mx and my from the prediction, relative to their own, from which the comparison means nothing."""
NEAR_AXIS = math.radians(20.0)
_FACTOR = {"on_robot": 1.0, "on_sensor": -1.0, None: 1.0}


def check_plate(robot: Robot, log: Log, smooth: Prepared | None) -> list[Finding]:
    """Name what is wrong with the plate.

    Found, on arms that move over a good part of their range: sign; mirrored axes; yaw and tilt above 2° and SURE
    standard deviations; delays above SMALL_LAG; shares of mx and my in other channels above SMALL_MIX. Smaller ones are
    left alone.

    Args:
        robot: The model, mounted as the robot stands.
        log: The recording, joints as in ``robot``.
        smooth: The recording made ready; None where it is too short.
    """
    if smooth is None or log.wrench is None or smooth.good.sum() * smooth.dt < LEAST_TIME:
        return []
    known = np.isfinite(log.wrench)
    if np.mean(known.all(axis=1)) < 0.5 or np.any(np.nanstd(log.wrench, axis=0) == 0.0):
        return []
    declared = log.declared
    pose = np.eye(4) if declared.T_base_sensor is None else np.asarray(declared.T_base_sensor)
    model = PlateModel(robot, smooth, pose, _FACTOR[declared.sensor_reads])
    fit = fit_plate(model)
    if fit.mismatch > UNRELATED:
        return []
    findings = _discrete(fit, declared.sensor_reads) + _turns(fit)
    mixed = _cross_talk(fit)
    findings += _lag(fit, log.rate, mixed=bool(mixed)) + mixed
    return _with_one_fix(findings, fit, declared.sensor_reads)


def _numbers(fit: PlateFit) -> dict[str, Any]:
    """Return what every finding about the plate rests on."""
    degrees = np.degrees
    turned = _told(fit)
    return {
        "log_evidence_gain": fit.gain,
        "log_evidence_margin": fit.margin if math.isfinite(fit.margin) else None,
        "yaw_deg": math.degrees(turned.yaw),
        "tilt_deg": [math.degrees(turned.tilt_x), math.degrees(turned.tilt_y)],
        "upside_down": turned.upside_down,
        "R_base_sensor": None if fit.axes is None else fit.axes.tolist(),
        "lag_s": fit.lag,
        "std_deg": degrees(fit.std[:3]).tolist(),
        "lag_std_s": float(fit.std[3]),
        "tared": fit.tared,
        "signal": dict(zip(PLATE_CHANNELS, fit.signal.tolist(), strict=True)),
        "left_over": dict(zip(PLATE_CHANNELS, fit.noise.tolist(), strict=True)),
    }


def _told(fit: PlateFit) -> PlateTurn:
    """Return the turn as it is told: an upside-down plate's from half a turn about x on."""
    return _upright(fit.kind, PlateTurn(fit.yaw, *fit.tilt.tolist()))


def _upright(kind: PlateClass, found: PlateTurn) -> PlateTurn:
    axes = axes_of(kind, np.array([found.yaw, found.tilt_x, found.tilt_y]), np.eye(3))
    return found if axes is None or not kind.mirrored else PlateTurn.between(axes, np.eye(3))


def _is_half_turn(yaw: float) -> bool:
    return abs(abs(yaw) - math.pi) < NEAR_AXIS


def _discrete(fit: PlateFit, reads: str | None) -> list[Finding]:
    """Return what signs and mirror mean."""
    kind = fit.kind
    if fit.gain < BELIEVED or (kind.force, kind.moment, kind.mirrored) == (1.0, 1.0, False):
        return []
    also = _alternatives(fit)
    if not kind.mirrored and _is_half_turn(fit.yaw) and kind.force < 0.0:
        return [_left_handed(fit, "z points the other way", ("plate-sign with a yaw of 180°", *also))]
    if not kind.mirrored:
        which = {(-1.0, -1.0): "forces and moments", (-1.0, 1.0): "forces", (1.0, -1.0): "moments"}[
            kind.force, kind.moment
        ]
        return [_sign(fit, which, reads, also)]
    if kind.force < 0.0 and kind.moment < 0.0:
        return [_upside_down(fit, also)]
    findings = [_left_handed(fit, _MIRRORED[round(fit.yaw / (0.5 * math.pi)) % 4], also)]
    if kind.force < 0.0:
        findings.append(_sign(fit, "forces", reads, also))
    return findings


_MIRRORED = (
    "y points the other way",
    "x and y are exchanged",
    "x points the other way",
    "x and y are exchanged, and both point the other way",
)
"""What a mirrored class is, by the nearest quarter of its yaw."""


def _alternatives(fit: PlateFit) -> tuple[str, ...]:
    if fit.margin > AMBIGUOUS:
        return ()
    kind, yaw = fit.runner_up
    turned = _upright(kind, PlateTurn(yaw, 0.0, 0.0))
    if turned.upside_down:
        return (f"upside down with a yaw of {math.degrees(turned.yaw):.0f}°",)
    told = [] if kind.force > 0.0 and kind.moment > 0.0 else ["plate-sign"]
    told += ["plate-handedness"] if kind.mirrored else []
    return (f"{' and '.join(told) or 'as declared'} with a yaw of {math.degrees(yaw):.0f}°",)


def _sign(fit: PlateFit, which: str, reads: str | None, also: tuple[str, ...]) -> Finding:
    declared = reads or "on_robot"
    told = "what the plate exerts on the robot" if declared == "on_robot" else "what the robot exerts on the plate"
    return Finding(
        LogFault.PLATE_SIGN,
        Consequence.DANGER,
        ("plate",),
        f"The plate's {which} have the opposite sign of what is declared ({told}): with the sign turned over, the "
        f"model's wrench fits better by {short(fit.gain)} in log evidence.",
        "Declare the other convention ([wrench] reads), or turn the sign over.",
        _numbers(fit) | {"channels": which},
        alternatives=also,
    )


def _left_handed(fit: PlateFit, axes: str, also: tuple[str, ...]) -> Finding:
    return Finding(
        LogFault.PLATE_HANDEDNESS,
        Consequence.DANGER,
        ("plate",),
        f"The plate's axes are left-handed: {axes} (log evidence {short(fit.gain)} better than as declared).",
        "Convert to right-handed axes with the matrix below ([wrench] matrix).",
        _numbers(fit) | {"axes": axes, "mirrored": True, "R_base_sensor": None},
        alternatives=also,
    )


def _yaw_words(fit: PlateFit) -> str:
    std = math.degrees(float(fit.std[0]))
    return f"turned by {math.degrees(_told(fit).yaw):.1f} ± {std:.1f}° about its z axis"


def _upside_down(fit: PlateFit, also: tuple[str, ...]) -> Finding:
    return Finding(
        LogFault.PLATE_TILT,
        Consequence.DANGER,
        ("plate",),
        f"The plate is mounted upside down: half a turn about its x axis, and from there {_yaw_words(fit)} "
        f"(log evidence {short(fit.gain)} better).",
        "Declare the plate's true pose ([wrench] T_base_sensor), or turn its reading ([wrench] rotation).",
        _numbers(fit),
        alternatives=also,
    )


def _turns(fit: PlateFit) -> list[Finding]:
    """Return yaw and tilt beyond what the class says."""
    if fit.gain < BELIEVED:
        return []
    findings = []
    numbers = _numbers(fit)
    half_turn = not fit.kind.mirrored and fit.kind.force < 0.0 and _is_half_turn(fit.yaw)
    shear = _shear(fit)
    by_mixing = shear is not None and abs(shear.turn) < 1.3 * shear.size + 3.0 * shear.std
    wide = max(SMALL_YAW, SURE * float(fit.std[0]))
    if not fit.kind.mirrored and not half_turn and abs(fit.yaw) > wide and not by_mixing:
        findings.append(
            Finding(
                LogFault.PLATE_YAW,
                Consequence.DANGER if abs(fit.yaw) > 0.5 * math.pi else Consequence.SPOILS,
                ("plate",),
                f"The plate is {_yaw_words(fit)} against what is declared.",
                "Declare the plate's true pose ([wrench] T_base_sensor), or turn its reading ([wrench] rotation).",
                numbers,
            )
        )
    tilt = float(np.linalg.norm(fit.tilt))
    sure = SURE * float(np.linalg.norm(fit.std[1:3] * fit.tilt)) / max(tilt, 1e-12)
    if tilt > max(SMALL_TILT, sure):
        x, y = math.degrees(_told(fit).tilt_x), math.degrees(_told(fit).tilt_y)
        std = math.degrees(float(fit.std[1:3].max()))
        findings.append(
            Finding(
                LogFault.PLATE_TILT,
                Consequence.SPOILS,
                ("plate",),
                f"The plate is tilted by {x:.1f}° about its x axis and {y:.1f}° about its y axis (± {std:.1f}°) "
                "against what is declared.",
                "Declare the plate's true pose ([wrench] T_base_sensor), or turn its reading ([wrench] rotation).",
                numbers,
                alternatives=("plate-cross-talk", "mount"),
            )
        )
    return findings


@dataclass(frozen=True, slots=True)
class _Shear:
    """How mx and my show in each other in a way that no turn makes.

    Attributes:
        shares: Share of my in mx and of mx in my, the yaw included.
        size: Half the sum of the two: a turn has none.
        turn: Half their difference: what a turn by as many rad would make.
        std: Standard deviation of both.
    """

    shares: tuple[float, float]
    size: float
    turn: float
    std: float


def _shear(fit: PlateFit) -> _Shear | None:
    """Return the mixing of mx and my that is no turn; None where it is small or not sure.

    A share of one in the other alone has the same size and turn: then there is no yaw beside it.
    """
    if fit.kind.mirrored or abs(fit.yaw) > 0.5:
        return None
    whole = turn(fit.kind, np.array([fit.yaw, 0.0, 0.0]))[:2, :2] @ (np.eye(2) + fit.mix[3:5, 3:5])
    size, turned = 0.5 * float(whole[0, 1] + whole[1, 0]), 0.5 * float(whole[0, 1] - whole[1, 0])
    std = 0.5 * float(math.hypot(fit.mix_std[3, 4], fit.mix_std[4, 3]))
    if abs(size) < max(0.5 * SMALL_MIX, SURE * std):
        return None
    return _Shear((float(whole[0, 1]), float(whole[1, 0])), abs(size), abs(turned), std)


def _lag(fit: PlateFit, rate: float, *, mixed: bool) -> list[Finding]:
    """Return the delay; where components are mixed, the one that was found together with the mixing."""
    lag, std = fit.mixed_lag if mixed else (fit.lag, float(fit.std[3]))
    small = 3.0 * SMALL_LAG if mixed else SMALL_LAG  # what mixing leaves over looks like a short delay
    if abs(lag) < max(small, 1.5 / rate, SURE * std):
        return []
    late = "later" if lag > 0.0 else "earlier"
    return [
        Finding(
            LogFault.PLATE_LAG,
            Consequence.LIMITS,
            ("plate",),
            f"The plate's reading comes {short(1e3 * abs(lag))} ± {spread(1e3 * std)} ms {late} than the positions.",
            "Shift it in the mapping ([wrench] lag), or stamp all channels when they are measured.",
            _numbers(fit),
            fix={"wrench": {"lag": round(lag, 5)}},
        )
    ]


def _cross_talk(fit: PlateFit) -> list[Finding]:
    """Return shares of mx and my in other channels; the other components hardly vary, so their shares are not known."""
    scale = np.ones((6, 6))
    scale[:3, 3:] = LEVER
    share = np.abs(fit.mix) * scale
    sure = np.abs(fit.mix) > SURE * fit.mix_std
    found = [(i, j) for i in range(6) for j in (3, 4) if share[i, j] > SMALL_MIX and sure[i, j]]
    shear = _shear(fit)
    mix = fit.mix.copy()
    found = [pair for pair in found if pair not in ((3, 4), (4, 3))]
    if shear is not None:
        mix[3, 4], mix[4, 3] = shear.shares
        share = np.abs(mix) * scale
        found += [pair for pair in ((3, 4), (4, 3)) if share[pair] > 0.5 * shear.size]
    if not found:
        return []
    worst = max(found, key=lambda pair: share[pair])
    pairs = {
        f"{PLATE_CHANNELS[j]} in {PLATE_CHANNELS[i]}": {"share": float(mix[i, j]), "std": float(fit.mix_std[i, j])}
        for i, j in found
    }
    unit = " per N m" if worst[0] < 3 <= worst[1] else ""
    largest = float(share[worst])
    return [
        Finding(
            LogFault.PLATE_CROSS_TALK,
            Consequence.SPOILS if largest > 0.1 else Consequence.LIMITS,
            tuple(dict.fromkeys(PLATE_CHANNELS[i] for i, _ in found)),
            f"The {PLATE_CHANNELS[worst[1]]} shows in {PLATE_CHANNELS[worst[0]]}: {mix[worst]:+.3f} ± "
            f"{fit.mix_std[worst]:.3f}{unit}, where good plates stay below 0.005.",
            "Use the plate's calibration matrix ([wrench] matrix), or have it calibrated.",
            _numbers(fit) | {"shares": pairs},
            alternatives=("plate-yaw",) if worst in ((3, 4), (4, 3)) else (),
        )
    ]


def _with_one_fix(findings: list[Finding], fit: PlateFit, reads: str | None) -> list[Finding]:
    """Give the change of signs, mirror and turns to the first finding that needs it: it mends all of them at once."""
    turned = [index for index, finding in enumerate(findings) if finding.fault in _TURNS]
    if not turned:
        return findings
    first = turned[0]
    only_sign = [findings[index].fault for index in turned] == [LogFault.PLATE_SIGN]
    kind = fit.kind
    if only_sign and kind.force < 0.0 and kind.moment < 0.0:
        other = "on_robot" if reads == "on_sensor" else "on_sensor"
        change: dict[str, Any] = {"reads": other}
    else:
        angles = np.array([fit.yaw, *fit.tilt])
        named = {findings[index].fault for index in turned}
        if not named & {LogFault.PLATE_TILT}:
            angles[1:] = 0.0
        if only_sign:
            angles[:] = 0.0
        change = _correction(kind, angles)
    mended = list(findings)
    mended[first] = replace(findings[first], fix={"wrench": change})
    return mended


_TURNS = (
    LogFault.PLATE_SIGN,
    LogFault.PLATE_HANDEDNESS,
    LogFault.PLATE_YAW,
    LogFault.PLATE_TILT,
)


def _correction(kind: PlateClass, angles: Array) -> dict[str, Any]:
    """Return the mapping's change that turns a reading back: a rotation, or a matrix where signs or mirrors differ."""
    back = turn(kind, angles).T
    if kind.force > 0.0 and kind.moment > 0.0 and not kind.mirrored:
        return {"rotation": back.tolist()}
    matrix = np.zeros((6, 6))
    matrix[:3, :3], matrix[3:, 3:] = kind.force * back, kind.moment * back
    return {"matrix": matrix.tolist()}
