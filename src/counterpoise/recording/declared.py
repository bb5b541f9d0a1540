"""What is known about the numbers of a recording: what they measure, on which side of the gears, who adds gravity.

``plain`` and ``overlaid`` work on nested tables of plain values, as TOML and JSON hold them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np

from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from .provenance import SOURCES, scales_efforts, sets_time


def plain(value: Any) -> Any:
    """Return a value made of dictionaries, lists and single values: arrays and read-only tables become such."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list | tuple) else value


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with another put on top of it: where both have a value, the upper one stays."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = overlaid(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


EffortKind = Literal["torque", "current"]
Side = Literal["link", "motor"]
SensorReads = Literal["on_robot", "on_sensor"]
VelocityFrom = Literal["measured", "position"]
"""Where the velocities of a recording come from: measured, or differences of the positions."""
TimeFrom = Literal["stamp", "received", "column", "rate"]
SentKind = Literal["torque", "position"]
RateSource = Literal["declared", "recorded", "measured", "guessed"]
"""Who says how fast time goes, from best to worst."""

CHOICES: dict[str, tuple[str, ...]] = {
    "effort_kind": get_args(EffortKind),
    "effort_side": get_args(Side),
    "position_side": get_args(Side),
    "sensor_reads": get_args(SensorReads),
    "velocity_from": get_args(VelocityFrom),
    "time_from": get_args(TimeFrom),
    "sent_kind": get_args(SentKind),
    "rate_source": get_args(RateSource),
}
_ARRAYS: dict[str, tuple[int | None, ...]] = {
    "motor_per_link": (None, None),
    "torque_constant": (None,),
    "T_base_sensor": (4, 4),
    "gravity_base": (3,),
}


@dataclass(frozen=True, slots=True, eq=False)
class Declared(PublishedData):
    """What is known of a log's numbers as they stand in the log. None: nobody said.

    Attributes:
        effort_kind: Whether ``tau`` holds torques [N m or N] or motor currents [A].
        effort_side: Whether ``tau`` is on the link's or the motor's side of the gears.
        position_side: Whether ``q`` and ``dq`` are on the link's or the motor's side of the gears.
        motor_per_link: G of q_motor = G q_link and tau_link = Gᵀ tau_motor, shape (n, n), gears and couplings.
        torque_constant: Torque per current at the motor [N m/A], shape (n,).
        adds_gravity: Whether the arm's own controller added the torque that holds its weight; the recorded effort then
            lacks it.
        sensor_reads: "on_robot" when the plate's reading is what it exerts on the robot (upright at rest fz = +m g),
            "on_sensor" when it is the opposite.
        T_base_sensor: Pose of the plate's frame in the base frame, shape (4, 4).
        gravity_base: Gravity during the recording, in the axes of the base [m/s²], shape (3,).
        velocity_from: Whether ``dq`` was measured or differentiated from ``q``.
        time_from: Where ``time`` comes from: the messages' stamps, their times of arrival, a column, or an assumed
            rate.
        sent_kind: Whether ``sent`` holds torques [N m or N], as where nobody said, or the goals of position servos
            [rad or m].
        rate_source: Who says how fast time goes: "declared" in the mapping, "recorded" by stamps whose unit is known,
            "measured" by recorded velocities against positions, or "guessed".
        source: Where numbers of the conversion come from, "measured" or "guessed" by dotted key; what is not there is
            declared. See recording/provenance.py.
        mapping: How the recording was converted (columns, units, signs, joint order), as in a mapping file; empty for a
            log that was not converted. See recording/mapping.py.
        notes: Anything else that JSON can hold, read-only. ``held``: joints that the recording lacks, with the
            positions [rad or m] they are taken to keep. ``assumed_rate``: samples per second [Hz] that nobody
            confirmed. ``time``: what was concluded about the time, in one sentence. ``time_refused``: a column that
            is called time and is none, because it goes back.
    """

    effort_kind: EffortKind | None = None
    effort_side: Side | None = None
    position_side: Side | None = None
    motor_per_link: Array | None = None
    torque_constant: Array | None = None
    adds_gravity: bool | None = None
    sensor_reads: SensorReads | None = None
    T_base_sensor: Array | None = None
    gravity_base: Array | None = None
    velocity_from: VelocityFrom | None = None
    time_from: TimeFrom | None = None
    sent_kind: SentKind | None = None
    rate_source: RateSource | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    mapping: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze arrays and tables; refuse values without a meaning."""
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise InputError(
                    f"declared.{name} is {value!r}; expected one of {', '.join(map(repr, choices))} or None"
                )
        if self.adds_gravity not in (True, False, None) or isinstance(self.adds_gravity, int | float) != isinstance(
            self.adds_gravity, bool
        ):
            raise InputError(f"declared.adds_gravity is {self.adds_gravity!r}; expected True, False or None")
        for name, shape in _ARRAYS.items():
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else _array(value, name, shape))
        for name in ("source", "mapping", "notes"):
            object.__setattr__(self, name, _read_only(getattr(self, name), name))

        for key, source in self.source.items():
            if source not in SOURCES:
                raise InputError(f"declared.source: '{key}' is {source!r}; expected one of {', '.join(SOURCES)}")

    def __eq__(self, other: object) -> bool:
        """Compare everything, arrays by their numbers."""
        return isinstance(other, Declared) and self.to_table() == other.to_table()

    __hash__ = None  # type: ignore[assignment]

    @property
    def held(self) -> Mapping[str, float]:
        """Joints that the recording lacks, with the positions [rad or m] they are taken to keep."""
        held: Mapping[str, float] = self.notes.get("held", {})
        return held

    @property
    def guessed(self) -> tuple[str, ...]:
        """Dotted keys of the mapping's numbers that are guessed, such as "joints.elbow.effort_gain"."""
        return tuple(key for key, source in self.source.items() if source == "guessed")

    @property
    def effort_is_guessed(self) -> bool:
        """Whether a guess decides the size of ``tau``: a gain, torque constant, gear ratio, unit, side or kind."""
        return any(scales_efforts(key) for key in self.guessed)

    @property
    def effort_is_command(self) -> bool:
        """Whether ``tau`` is in a unit of its own: currents without torque constants, efforts in front of the gears.

        Where nobody said what the efforts are, they are taken for torques on the links.
        """
        as_current = self.effort_kind == "current" and self.torque_constant is None
        return as_current or (self.effort_side == "motor" and self.motor_per_link is None)

    @property
    def rate_is_guessed(self) -> bool:
        """Whether nobody declared how fast time goes, and nothing that was recorded tells."""
        return (
            self.rate_source == "guessed"
            or any(sets_time(key) for key in self.guessed)
            or (self.rate_source is None and "assumed_rate" in self.notes)
        )

    def to_table(self) -> dict[str, Any]:
        """Return what is declared as plain values that JSON can hold; what nobody said is left out."""
        table: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is not None and not (isinstance(value, Mapping) and not value):
                table[entry.name] = plain(value)
        return table

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Return the declaration that :meth:`to_table` gave.

        Raises:
            InputError: An unknown key or a value without a meaning.
        """
        known = {entry.name for entry in fields(cls)}
        for key in table:
            if key not in known:
                raise InputError(f"declared has no '{key}'; it has {', '.join(sorted(known))}")
        return cls(**table)


def _array(value: Any, name: str, shape: tuple[int | None, ...]) -> Array:
    try:
        array = frozen(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"declared.{name} is no array of numbers: {error}") from error
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits or not np.all(np.isfinite(array)) or (name == "motor_per_link" and len(set(array.shape)) > 1):
        shown = "(" + ", ".join("n" if size is None else str(size) for size in shape) + ")"
        raise InputError(f"declared.{name} has shape {array.shape}; expected finite numbers of shape {shown}")
    return array


def _read_only(given: Any, name: str) -> Mapping[str, Any]:
    """Return a read-only copy of a JSON table, at every level."""
    if not isinstance(given, Mapping):
        raise InputError(f"declared.{name} is {given!r}; expected a table")
    try:
        copy = json.loads(json.dumps(plain(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"declared.{name} holds something that JSON cannot: {error}") from error
    frozen_copy: Mapping[str, Any] = _frozen_value(copy)
    return frozen_copy


def _frozen_value(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen_value(member) for key, member in value.items()})
    return tuple(_frozen_value(member) for member in value) if isinstance(value, list) else value
