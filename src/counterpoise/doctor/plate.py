r"""The plate under the base: sign, axes, mounting, timing and cross-talk, judged by the model's own base wrench.

What shows depends on the motion. Gravity's moments (mx, my) change with every pose and carry yaw, mirrored axes, tilt
and cross-talk among moments. The sign shows in the constant weight (unless the plate was tared) and in what
accelerations add. Shares of fz in other channels are constant in slow motion and look like a bias. A plate whose origin
lies elsewhere than declared is not judged here.

**Axes.** What is said about a plate's axes, and what its fix applies, is one turn for both. The axes of the force
channels in the declared ones, the columns of B (3, 3), are told as

.. math:: B = R\, P,

a turn R (doctor/plate_fit.py) and, after it, P: which axes are exchanged or turned over, or a sign; 1 for a plate that
is only turned. So R is the turn of the plate once its axes are made right-handed. Parts of R that are not sure are
neither stated nor applied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics import Robot
from ..foundation import Array
from ..recording import Log, Motion
from .finding import PLATE_CHANNELS, Consequence, Finding, LogFault, short, spread
from .plate_fit import LEVER, PlateClass, PlateFit, PlateModel, PlateTurn, fit_plate, turn
from .priors import AMBIGUOUS

SURE = 5.0
"""Standard deviations by which a number must differ from none."""
NEAR_AXIS = math.radians(20.0)
_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
_MIRROR = np.diag([1.0, -1.0, 1.0])
_MIRRORED = (
    "y points the other way",
    "x and y are exchanged",
    "x points the other way",
    "x and y are exchanged, and both point the other way",
)
"""What a mirrored class is, by the nearest quarter of its yaw."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateAxes:
    """How a plate's axes lie, in words and numbers.

    Attributes:
        found: The turn R that was found, whole.
        order: What comes after it, P, shape (3, 3).
        left_handed: Which axes are exchanged or turned over, in words; "" where none is.
        sure_yaw: Whether the yaw is sure.
        sure_tilt: Whether the tilt is.
        std: Standard deviations of yaw and of the tilt about x and y [rad], shape (3,).
        moment: Sign of the moment channels against the force channels.
    """

    found: PlateTurn
    order: Array
    left_handed: str
    sure_yaw: bool
    sure_tilt: bool
    std: Array
    moment: float

    @classmethod
    def of(cls, fit: PlateFit) -> PlateAxes:
        """Return how the axes of a fitted plate are told."""
        kind = fit.kind
        found, order, words = upright(kind, PlateTurn(fit.yaw, *fit.tilt.tolist())), np.eye(3), ""
        if not found.upside_down:
            quarters = 0
            if kind.mirrored:
                quarters = round(fit.yaw / (0.5 * math.pi)) % 4
                words = _MIRRORED[quarters]
            elif kind.force < 0.0 and abs(abs(fit.yaw) - math.pi) < NEAR_AXIS:
                quarters, words = 2, "z points the other way"
            begin = np.linalg.matrix_power(_QUARTER, quarters)
            order = kind.force * begin @ (_MIRROR if kind.mirrored else np.eye(3))
            found = PlateTurn(_wrapped(fit.yaw - 0.5 * math.pi * quarters), *(begin[:2, :2] @ fit.tilt).tolist())
        tilt = max(float(np.linalg.norm(fit.tilt)), 1e-12)
        along = float(np.linalg.norm(fit.std[1:3] * fit.tilt)) / tilt
        return cls(
            found=found,
            order=order,
            left_handed=words,
            sure_yaw=abs(found.yaw) > SURE * float(fit.std[0]),
            sure_tilt=tilt > SURE * along,
            std=fit.std[:3],
            moment=kind.force * kind.moment,
        )

    def words(self, *, yaw: bool, tilt: bool) -> str:
        """Return turn and tilt in words, each where it is asked for; "" where none is."""
        parts = []
        if yaw:
            std = spread(math.degrees(float(self.std[0])))
            parts.append(f"turned by {math.degrees(self.found.yaw):.2f} ± {std}° about its z axis")
        if tilt:
            x, y = math.degrees(self.found.tilt_x), math.degrees(self.found.tilt_y)
            std = spread(math.degrees(float(self.std[1:].max())))
            parts.append(f"tilted by {x:.2f}° about its x axis and {y:.2f}° about its y axis (± {std}°)")
        return " and ".join(parts)

    def correction(self, *, yaw: bool, tilt: bool) -> dict[str, Any]:
        """Return the mapping's change that turns a reading back: a rotation, or a matrix where signs or mirrors differ.

        Args:
            yaw: Whether the yaw is stated, and so turned back.
            tilt: Whether the tilt is.
        """
        stated = PlateTurn(
            self.found.yaw if yaw else 0.0,
            self.found.tilt_x if tilt else 0.0,
            self.found.tilt_y if tilt else 0.0,
            self.found.upside_down,
        )
        back = stated.rotation @ self.order
        if self.moment > 0.0 and np.array_equal(self.order, np.eye(3)):
            return {"rotation": back.tolist()}
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = back, self.moment * back
        return {"matrix": matrix.tolist()}


def upright(kind: PlateClass, found: PlateTurn) -> PlateTurn:
    """Return a class's turn as it is told: an upside-down plate's from half a turn about x on.

    Negated and mirrored, Rz(yaw) S(tilt) is U Rz(π − yaw) S(−tilt x, tilt y).
    """
    if not (kind.mirrored and kind.force < 0.0 and kind.moment < 0.0):
        return found
    return PlateTurn(_wrapped(math.pi - found.yaw), -found.tilt_x, found.tilt_y, upside_down=True)


def _wrapped(angle: float) -> float:
    return math.atan2(math.sin(angle), math.cos(angle))


SMALL_YAW = math.radians(2.0)
SMALL_TILT = math.radians(2.0)
"""Turns that an ordinary mounting has [rad]."""
SMALL_LAG = 0.02
"""Delay that a plate's filter has [s]."""
SMALL_MIX = 0.03
"""Share of a foreign component that good plates stay far below (0.5 %); per N m in force channels over 0.5 m."""
LEAST_TIME = 5.0
"""Shortest recording that a plate is judged by [s]."""
BELIEVED = 10.0
"""Log evidence over the plate as declared from which something is wrong."""
UNRELATED = 0.7
"""Deviation of mx and my from the prediction, relative to their own, from which the comparison means nothing."""
DECLARE = "Declare the plate's true pose ([wrench] T_base_sensor), or turn its reading ([wrench] rotation)."
_FACTOR = {"on_robot": 1.0, "on_sensor": -1.0, None: 1.0}


def check_plate(robot: Robot, log: Log, motion: Motion | None) -> list[Finding]:
    """Name what is wrong with the plate.

    Found, on arms that move over a good part of their range: sign; mirrored axes; yaw and tilt above 2° and SURE
    standard deviations; delays above SMALL_LAG; shares of mx and my in other channels above SMALL_MIX. Smaller ones are
    left alone, but for turns beside a larger one: what is sure of them is stated and fixed with it.

    Args:
        robot: The model, mounted as the robot stands.
        log: The recording, joints as in ``robot``.
        motion: The recording's motion at even times; None where it is too short.
    """
    if motion is None or log.wrench is None or motion.usable.sum() * motion.dt < LEAST_TIME:
        return []
    known = np.isfinite(log.wrench)
    if np.mean(known.all(axis=1)) < 0.5 or np.any(np.nanstd(log.wrench, axis=0) == 0.0):
        return []
    declared = log.declared
    pose = np.eye(4) if declared.T_base_sensor is None else np.asarray(declared.T_base_sensor)
    model = PlateModel(robot, motion, pose, _FACTOR[declared.sensor_reads])
    fit = fit_plate(model)
    if fit.mismatch > UNRELATED:
        return []
    mixed = _cross_talk(fit)
    return _axes(fit, declared.sensor_reads) + _lag(fit, log.rate, mixed=bool(mixed)) + mixed


def _numbers(fit: PlateFit) -> dict[str, Any]:
    """Return what every finding about the plate rests on."""
    degrees = np.degrees
    turned = PlateAxes.of(fit).found
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


@dataclass(frozen=True, slots=True)
class _Named:
    """What is said about turns.

    Attributes:
        yaw: The yaw is a fault by itself.
        tilt: The tilt is one.
        stated_yaw: The yaw is stated, there or beside another fault of the axes, and fixed.
        stated_tilt: The same of the tilt.
    """

    yaw: bool
    tilt: bool
    stated_yaw: bool
    stated_tilt: bool


def _named(fit: PlateFit, axes: PlateAxes) -> _Named:
    """Decide what is said; a yaw that mixed channels explain is not."""
    shear = _shear(fit)
    by_mixing = shear is not None and abs(shear.turn) < 1.3 * shear.size + 3.0 * shear.std
    other = bool(axes.left_handed) or axes.found.upside_down
    sure = axes.sure_yaw and not by_mixing
    yaw = sure and not other and abs(axes.found.yaw) > SMALL_YAW
    tilt = axes.sure_tilt and float(np.linalg.norm(fit.tilt)) > SMALL_TILT
    turned = yaw or tilt or other
    return _Named(yaw, tilt, axes.found.upside_down or (turned and sure), turned and axes.sure_tilt)


def _axes(fit: PlateFit, reads: str | None) -> list[Finding]:
    """Return what is wrong with signs and axes; the first finding has the fix, which applies what all of them state."""
    if fit.gain < BELIEVED:
        return []
    axes = PlateAxes.of(fit)
    named = _named(fit, axes)
    findings = _discrete(fit, axes, named, reads) + _turns(fit, axes, named)
    if not findings:
        return []
    if {finding.fault for finding in findings} == {LogFault.PLATE_SIGN} and fit.kind.force == fit.kind.moment:
        change: dict[str, Any] = {"reads": "on_robot" if reads == "on_sensor" else "on_sensor"}
    else:
        change = axes.correction(yaw=named.stated_yaw, tilt=named.stated_tilt)
    return [replace(findings[0], fix={"wrench": change}), *findings[1:]]


def _discrete(fit: PlateFit, axes: PlateAxes, named: _Named, reads: str | None) -> list[Finding]:
    """Return what signs and mirror mean."""
    kind = fit.kind
    if (kind.force, kind.moment, kind.mirrored) == (1.0, 1.0, False):
        return []
    also = _alternatives(fit)
    if axes.found.upside_down:
        return [_upside_down(fit, axes, named, also)]
    if not axes.left_handed:
        which = {(-1.0, -1.0): "forces and moments", (-1.0, 1.0): "forces", (1.0, -1.0): "moments"}[
            kind.force, kind.moment
        ]
        return [_sign(fit, which, reads, also)]
    if not kind.mirrored:
        return [_left_handed(fit, axes, named, ("plate-sign with a yaw of 180°", *also))]
    findings = [_left_handed(fit, axes, named, also)]
    if kind.force < 0.0:
        findings.append(_sign(fit, "forces", reads, also))
    return findings


def _alternatives(fit: PlateFit) -> tuple[str, ...]:
    if fit.margin > AMBIGUOUS:
        return ()
    kind, yaw = fit.runner_up
    turned = upright(kind, PlateTurn(yaw, 0.0, 0.0))
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


def _left_handed(fit: PlateFit, axes: PlateAxes, named: _Named, also: tuple[str, ...]) -> Finding:
    turned = axes.words(yaw=named.stated_yaw, tilt=named.stated_tilt and not named.tilt)
    rest = f" Once its axes are right-handed, the plate is {turned} against what is declared." if turned else ""
    return Finding(
        LogFault.PLATE_HANDEDNESS,
        Consequence.DANGER,
        ("plate",),
        f"The plate's axes are left-handed: {axes.left_handed} (log evidence {short(fit.gain)} better than as "
        f"declared).{rest}",
        "Convert to right-handed axes with the matrix below ([wrench] matrix).",
        _numbers(fit) | {"axes": axes.left_handed, "mirrored": True, "R_base_sensor": None},
        alternatives=also,
    )


def _upside_down(fit: PlateFit, axes: PlateAxes, named: _Named, also: tuple[str, ...]) -> Finding:
    turned = axes.words(yaw=True, tilt=named.stated_tilt and not named.tilt)
    return Finding(
        LogFault.PLATE_TILT,
        Consequence.DANGER,
        ("plate",),
        f"The plate is mounted upside down: half a turn about its x axis, and from there {turned} "
        f"(log evidence {short(fit.gain)} better).",
        DECLARE,
        _numbers(fit),
        alternatives=also,
    )


def _turns(fit: PlateFit, axes: PlateAxes, named: _Named) -> list[Finding]:
    """Return yaw and tilt beyond what the class says; a smaller one beside them is stated with them."""
    findings = []
    against = "against what is declared"
    if named.yaw:
        turned = axes.words(yaw=True, tilt=named.stated_tilt and not named.tilt)
        findings.append(
            Finding(
                LogFault.PLATE_YAW,
                Consequence.DANGER if abs(axes.found.yaw) > 0.5 * math.pi else Consequence.INVALIDATES,
                ("plate",),
                f"The plate is {turned} {against}.",
                DECLARE,
                _numbers(fit),
            )
        )
    if named.tilt:
        told_before = named.yaw or bool(axes.left_handed) or axes.found.upside_down
        turned = axes.words(yaw=named.stated_yaw and not told_before, tilt=True)
        begin = "Once its axes are right-handed, the" if axes.left_handed else "The"
        findings.append(
            Finding(
                LogFault.PLATE_TILT,
                Consequence.INVALIDATES,
                ("plate",),
                f"{begin} plate is {turned} {against}.",
                DECLARE,
                _numbers(fit),
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
            Consequence.INVALIDATES if largest > 0.1 else Consequence.LIMITS,
            tuple(dict.fromkeys(PLATE_CHANNELS[i] for i, _ in found)),
            f"The {PLATE_CHANNELS[worst[1]]} shows in {PLATE_CHANNELS[worst[0]]}: {mix[worst]:+.3f} ± "
            f"{fit.mix_std[worst]:.3f}{unit}, where good plates stay below 0.005.",
            "Use the plate's calibration matrix ([wrench] matrix), or have it calibrated.",
            _numbers(fit) | {"shares": pairs},
            alternatives=("plate-yaw",) if worst in ((3, 4), (4, 3)) else (),
        )
    ]
