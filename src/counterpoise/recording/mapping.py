"""How the columns of a recording become a log: which is what, in which unit, sign and order, on which side of a gear.

For a joint with the column ``raw``:

- position: q_side = sign · unit · raw, then q = G⁻¹ q_side where it was measured at the motors, then + offset;
- velocity: likewise, without offset; its sign is the position's unless it is given;
- effort: tau_side = sign · gain · torque constant · unit · raw, then tau = Gᵀ tau_side at the motors, then + offset.

G (``motor_per_link``) is defined by q_motor = G q_link. A wrench is matrix · unit · raw; who exerts it is only
declared. Every part may be left out: :mod:`.proposal` fills in what the names of the columns say.

A mapping file is TOML: read with the line of what is wrong, written with a reason beside each line.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec
import numpy as np

from ..errors import DataFileError, InputError
from ..foundation import Array, TomlDocument, read_toml, write_atomically
from .declared import EffortKind, SensorReads, Side, overlaid, plain
from .names import ANGLE, ANGULAR_SPEED, EFFORT, FORCE, LENGTH, SPEED, TIME, TORQUE
from .provenance import SOURCES, combined, dotted, flattened, worst

FORMAT = "counterpoise-mapping 1"
MAX_JOINTS = 1000
MAX_CONDITION = 1e9
"""Worst condition of a coupling matrix that is still inverted."""

Keys = tuple[str | int, ...]
Refuse = Callable[[Keys, str], InputError]
"""Makes the error for a place and a message."""
Put = Callable[[tuple[str, ...], Any, str], None]
"""Sets a value at a place of a mapping that grows, with its reason."""
T = TypeVar("T")
Row3 = tuple[float, float, float]
Row4 = tuple[float, float, float, float]
Row6 = tuple[float, float, float, float, float, float]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A table of the mapping file; unknown keys are refused, so that a misspelt one is not silently lost."""


class TimeSection(Section, frozen=True, kw_only=True):
    """[time]: where the time comes from, and which part of the recording is used.

    ``start`` and ``end`` [s] count from the first row, ``first`` and ``last`` are rows, counted from 0, both included.
    """

    column: str | None = None
    unit: str | None = None
    rate: float | None = None
    start: float | None = None
    end: float | None = None
    first: int | None = None
    last: int | None = None


class JointSection(Section, frozen=True, kw_only=True):
    """[joints.<name>]: the columns of one joint of the robot, or of the motor that stands for it."""

    position: str | None = None
    velocity: str | None = None
    effort: str | None = None
    position_sign: float | None = None
    position_offset: float | None = None
    velocity_sign: float | None = None
    effort_sign: float | None = None
    effort_gain: float | None = None
    effort_offset: float | None = None
    torque_constant: float | None = None
    side: str | int | None = None


class PositionSection(Section, frozen=True, kw_only=True):
    """[position]: unit of angles, unit of lengths (linear joints), side of the gears, how late the readings are [s]."""

    unit: str | None = None
    linear_unit: str | None = None
    side: Side | None = None
    lag: float | None = None


class VelocitySection(Section, frozen=True, kw_only=True):
    """[velocity]: units, how late; ``cutoff`` [Hz] of the filter where velocities are differentiated from positions."""

    unit: str | None = None
    linear_unit: str | None = None
    lag: float | None = None
    cutoff: float | None = None


class EffortSection(Section, frozen=True, kw_only=True):
    """[effort]: what is measured, in which unit, on which side of the gears, how late [s]."""

    kind: EffortKind | None = None
    side: Side | None = None
    unit: str | None = None
    lag: float | None = None


class MotorSection(Section, frozen=True, kw_only=True):
    """[motor]: G by its diagonal (``ratio``) or whole, in the order of ``joints`` (default: all recorded ones)."""

    joints: tuple[str, ...] | None = None
    ratio: tuple[float, ...] | None = None
    motor_per_link: tuple[tuple[float, ...], ...] | None = None


class WrenchSection(Section, frozen=True, kw_only=True):
    """[wrench]: the plate's six columns, force first, and what is known of the plate."""

    columns: tuple[str, str, str, str, str, str] | None = None
    force_unit: str | None = None
    moment_unit: str | None = None
    rotation: tuple[Row3, Row3, Row3] | None = None
    matrix: tuple[Row6, Row6, Row6, Row6, Row6, Row6] | None = None
    lag: float | None = None
    reads: SensorReads | None = None
    T_base_sensor: tuple[Row4, Row4, Row4, Row4] | None = None


class RobotSection(Section, frozen=True, kw_only=True):
    """[robot]: whether its controller adds gravity, and gravity in the axes of its base [m/s²]."""

    adds_gravity: bool | None = None
    gravity_base: Row3 | None = None


class PosesSection(Section, frozen=True, kw_only=True):
    """[poses]: of a table of poses at rest, from which side they were reached, and which belong together.

    ``side`` is +1 where positions rose before the arm stood, −1 where they fell, for all joints: the column that says
    so for each row, or the number for all rows. ``side`` of a joint ([joints.<name>]) is that joint's own. ``pair`` is
    the column of numbers ≥ 0 of which rows with the same one are one pose reached from both sides.
    """

    side: str | int | None = None
    pair: str | None = None


class MergeSection(Section, frozen=True, kw_only=True):
    """[merge]: longest gap [s] across which a slower source is interpolated."""

    largest_gap: float | None = None


class LogMapping(Section, frozen=True, kw_only=True):
    """A whole mapping. ``held``: positions [rad or m] of joints that the recording lacks.

    ``ignore``: joints or columns of the recording to leave out. ``source``: where numbers come from, by dotted key; see
    :mod:`.provenance`.
    """

    format: Literal["counterpoise-mapping 1"] = "counterpoise-mapping 1"
    time: TimeSection = TimeSection()
    position: PositionSection = PositionSection()
    velocity: VelocitySection = VelocitySection()
    effort: EffortSection = EffortSection()
    motor: MotorSection = MotorSection()
    wrench: WrenchSection = WrenchSection()
    robot: RobotSection = RobotSection()
    poses: PosesSection = PosesSection()
    merge: MergeSection = MergeSection()
    joints: dict[str, JointSection] = {}
    held: dict[str, float] = {}
    ignore: tuple[str, ...] = ()
    source: dict[str, str] = {}

    @staticmethod
    def from_table(table: Mapping[str, Any], refuse: Refuse | None = None) -> LogMapping:
        """Return the mapping that a nested table says, checked.

        Args:
            table: As in the mapping file.
            refuse: Makes the error for a place and a message; None makes an InputError.

        Raises:
            InputError: An unknown key, or a value of the wrong type, shape or size.
        """
        refuse = refuse or _refusal
        given = plain(table)
        if isinstance(given, dict) and isinstance(given.get("source"), dict):
            given["source"] = flattened(given["source"])
        joints = given.get("joints", {}) if isinstance(given, dict) else {}
        if isinstance(joints, dict):
            for name, entries in joints.items():
                _decoded(entries, JointSection, ("joints", name), refuse)
        mapping = _decoded(given, LogMapping, (), refuse)
        for where, message in _faults(mapping):
            raise refuse(where, message)
        return mapping

    def to_table(self) -> dict[str, Any]:
        """Return the mapping as a nested table of plain values; what is not said is left out."""
        table: dict[str, Any] = msgspec.to_builtins(self)
        return {key: plain(value) for key, value in table.items() if value != {}}

    def merged_with(self, change: LogMapping | Mapping[str, Any]) -> LogMapping:
        """Return the mapping with a change put on top of it, such as a finding's ``fix``.

        A change describes what is to be done to the log that this mapping gives: signs, gains and rotations multiply,
        offsets and lags add up, all else is replaced. A rate takes the place of a time column and the other way round.
        Where the numbers come from is taken along (see :mod:`.provenance`).

        Raises:
            InputError: The change is no mapping.
        """
        new = change if isinstance(change, LogMapping) else LogMapping.from_table(change)
        table = overlaid(self.to_table(), new.to_table())
        for name, after in new.joints.items():
            table["joints"][name] = overlaid(table["joints"][name], _composed(self.joints.get(name), after))
        for part in ("position", "velocity", "effort", "wrench"):
            before, after_lag = getattr(self, part).lag, getattr(new, part).lag
            if before is not None and after_lag is not None:
                table[part]["lag"] = before + after_lag
        before_matrix, after_matrix = self.wrench_matrix, new.wrench_matrix
        if before_matrix is not None and after_matrix is not None:
            table["wrench"].pop("rotation", None)
            table["wrench"]["matrix"] = after_matrix @ before_matrix
        gone = ("column", "unit") if new.time.rate is not None else ("rate",) if new.time.column is not None else ()
        if gone:
            table["time"] = {key: value for key, value in table["time"].items() if key not in gone}
        table["source"] = _merged_sources(self, new, table)
        return LogMapping.from_table(table)

    @property
    def wrench_matrix(self) -> Array | None:
        """What the plate's raw reading is multiplied by, shape (6, 6): rotation of forces and moments after matrix."""
        section = self.wrench
        if section.rotation is None and section.matrix is None:
            return None
        matrix = np.eye(6) if section.matrix is None else np.array(section.matrix, dtype=np.float64)
        if section.rotation is None:
            return matrix
        turned: Array = np.kron(np.eye(2), np.array(section.rotation, dtype=np.float64)) @ matrix
        return turned

    def motor_per_link(self, joint_names: tuple[str, ...]) -> Array | None:
        """Return G of q_motor = G q_link in the order of ``joint_names``; 1 for joints that [motor] does not name.

        Raises:
            InputError: [motor] names a joint that is not among them, or has another number of joints.
        """
        section = self.motor
        if section.ratio is None and section.motor_per_link is None:
            return None
        given = np.array(section.motor_per_link) if section.motor_per_link else np.diag(np.array(section.ratio))
        names = section.joints or joint_names
        if unknown := [name for name in names if name not in joint_names]:
            raise InputError(f"[motor] names {unknown}; the joints are {list(joint_names)}")
        if len(names) != len(given):
            raise InputError(f"[motor] has {len(given)} rows for the {len(names)} joints {list(names)}")
        rows = [joint_names.index(name) for name in names]
        whole = np.eye(len(joint_names))
        whole[np.ix_(rows, rows)] = given
        return whole


def _merged_sources(before: LogMapping, change: LogMapping, whole: Mapping[str, Any]) -> dict[str, str]:
    sources = combined(before.source, change.source, frozenset(dotted(change.to_table())), frozenset(dotted(whole)))
    if before.wrench_matrix is not None and change.wrench_matrix is not None:  # one matrix of all that was given
        parts = ("wrench.rotation", "wrench.matrix")
        told = [mapping.source.get(part, "declared") for mapping in (before, change) for part in parts]
        source = functools.reduce(worst, told)
        sources = {key: value for key, value in sources.items() if key not in parts}
        sources |= {} if source == "declared" else {"wrench.matrix": source}
    return sources


_COMPOSED_FACTORS = ("position_sign", "velocity_sign", "effort_sign", "effort_gain")
_COMPOSED_OFFSETS = {"position_offset": ("position_sign",), "effort_offset": ("effort_sign", "effort_gain")}


def _composed(first: JointSection | None, second: JointSection) -> dict[str, Any]:
    """Return signs, gains and offsets of two conversions, one after the other."""
    if first is None:
        return {}
    table: dict[str, Any] = {}
    for key in _COMPOSED_FACTORS:
        before, after = getattr(first, key), getattr(second, key)
        if before is not None and after is not None:
            table[key] = before * after
    for key, factors in _COMPOSED_OFFSETS.items():
        before, after = getattr(first, key), getattr(second, key)
        if before is not None:
            scale = math.prod(getattr(second, factor) or 1.0 for factor in factors)
            table[key] = scale * before + (after or 0.0)
    return table


def _refusal(where: Keys, message: str) -> InputError:
    label = ".".join(str(key) for key in where)
    return InputError(f"mapping: {label}: {message}" if label else f"mapping: {message}")


_CHOICES: dict[str | int, tuple[str, ...]] = {
    "side": get_args(Side),
    "kind": get_args(EffortKind),
    "reads": get_args(SensorReads),
}
_WORDS = {"float": "a number", "int": "a whole number", "str": "text", "array": "a list", "object": "a table"}


def _decoded(table: Any, kind: type[T], where: Keys, refuse: Refuse) -> T:
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        inner: Keys = tuple(
            int(key) if key.isdecimal() else key for key in re.findall(r"[^.\[\]`]+", place) if key != "..."
        )
        if unknown := re.search(r"unknown field `(.*)`", message):
            raise refuse((*where, *inner, unknown[1]), "is no key of a mapping; see docs/logs.md") from error
        for word, told in _WORDS.items():
            message = message.replace(f"`{word}`", told).replace(f"`{word} | null`", told)
        if message.startswith("Invalid enum value"):
            choices = _CHOICES.get(inner[-1], (FORMAT,)) if inner else (FORMAT,)
            message = f"is {message.removeprefix('Invalid enum value ')}; expected {' or '.join(map(repr, choices))}"
        message = message[:1].lower() + message[1:].replace("`", "'")
        raise refuse((*where, *inner), message) from error


_UNITS: tuple[tuple[Keys, Mapping[str, float]], ...] = (
    (("time", "unit"), TIME),
    (("position", "unit"), ANGLE),
    (("position", "linear_unit"), LENGTH),
    (("velocity", "unit"), ANGULAR_SPEED),
    (("velocity", "linear_unit"), SPEED),
    (("effort", "unit"), EFFORT),
    (("wrench", "force_unit"), FORCE),
    (("wrench", "moment_unit"), TORQUE),
)


def _faults(mapping: LogMapping) -> Iterator[tuple[Keys, str]]:
    """Yield what is wrong with values of the right type."""
    table = mapping.to_table()
    for where, number in _numbers(table, ()):
        if not abs(number) <= 1e9:  # also true for NaN
            yield where, f"{number!r} is not a finite number within ±1e9"
    for (section, key), choices in _UNITS:
        unit = getattr(getattr(mapping, str(section)), str(key))
        if unit is not None and unit not in choices:
            yield (section, key), f"the unit '{unit}' is not known; known are {', '.join(choices)}"
    if len(mapping.joints) > MAX_JOINTS:
        yield ("joints",), f"{len(mapping.joints)} joints; at most {MAX_JOINTS} are accepted"
    for name, joint in mapping.joints.items():
        for key in ("position_sign", "velocity_sign", "effort_sign"):
            if getattr(joint, key) not in (None, 1.0, -1.0):
                yield ("joints", name, key), f"is {getattr(joint, key)!r}; expected 1 or -1"
        for key in ("effort_gain", "torque_constant"):
            if getattr(joint, key) == 0.0:
                yield ("joints", name, key), "is 0; every reading would vanish"
    sides: list[tuple[Keys, str | int | None]] = [(("poses", "side"), mapping.poses.side)]
    sides += [(("joints", name, "side"), joint.side) for name, joint in mapping.joints.items()]
    for place, side in sides:
        if isinstance(side, int) and side not in (1, -1):
            yield place, f"is {side!r}; expected 1, -1 or the name of a column"
    time = mapping.time
    if time.rate is not None and not 1e-3 <= time.rate <= 1e7:
        yield ("time", "rate"), f"is {time.rate!r}; expected 0.001 to 1e7 [Hz]"
    if time.rate is not None and time.column is not None:
        yield ("time", "rate"), "is given beside a column; give one of the two"
    for low, high in (("start", "end"), ("first", "last")):
        begin, stop = getattr(time, low), getattr(time, high)
        if (begin or 0) < 0 or (stop is not None and stop < (begin or 0)):
            yield (
                ("time", low if begin is not None else high),
                f"'{low}' and '{high}' are {begin} and {stop}: no row is left",
            )
    for part in ("position", "velocity", "effort", "wrench"):
        if abs(getattr(mapping, part).lag or 0.0) > 10.0:
            yield (part, "lag"), "is more than 10 s"
    if mapping.velocity.cutoff is not None and not mapping.velocity.cutoff > 0.0:
        yield ("velocity", "cutoff"), f"is {mapping.velocity.cutoff!r}; expected a positive number [Hz]"
    if mapping.merge.largest_gap is not None and mapping.merge.largest_gap < 0.0:
        yield ("merge", "largest_gap"), "is negative"
    yield from _source_faults(mapping.source)
    yield from _motor_faults(mapping.motor)
    yield from _wrench_faults(mapping.wrench)


def _source_faults(sources: Mapping[str, str]) -> Iterator[tuple[Keys, str]]:
    sections = {entry.name: entry.type for entry in msgspec.structs.fields(LogMapping)}
    for key, source in sources.items():
        name, _, inner = key.partition(".")
        if name == "joints":
            joint, _, inner = inner.rpartition(".")
            known = bool(joint) and inner in JointSection.__struct_fields__
        else:
            section = sections.get(name)
            known = bool(inner) and (name == "held" or inner in getattr(section, "__struct_fields__", ()))
        if not known:
            yield (
                ("source", key),
                'is no key of a mapping; expected one such as "joints.elbow.effort_gain" or "time.rate"',
            )
        if source not in SOURCES:
            yield ("source", key), f"is {source!r}; expected {', '.join(map(repr, SOURCES[:-1]))} or {SOURCES[-1]!r}"


def _wrench_faults(wrench: WrenchSection) -> Iterator[tuple[Keys, str]]:
    pose, turn = wrench.T_base_sensor, wrench.rotation
    if pose is not None:
        axes = np.array(pose)[:3, :3]
        if not _orthogonal(axes) or np.linalg.det(axes) < 0.0 or pose[3] != (0.0, 0.0, 0.0, 1.0):
            yield ("wrench", "T_base_sensor"), "is no pose: expected a rotation, a position and the last row 0 0 0 1"
    if turn is not None and not _orthogonal(np.array(turn)):
        told = "is no rotation (or mirror image): its rows must be unit vectors at right angles"
        yield ("wrench", "rotation"), told


def _orthogonal(axes: Array) -> bool:
    return bool(np.max(np.abs(axes @ axes.T - np.eye(3))) <= 1e-6)


def _motor_faults(motor: MotorSection) -> Iterator[tuple[Keys, str]]:
    if motor.ratio is not None and motor.motor_per_link is not None:
        yield ("motor", "ratio"), "is given beside motor_per_link; give one of the two"
    if motor.joints is not None and len(set(motor.joints)) != len(motor.joints):
        yield ("motor", "joints"), "names a joint twice"
    if motor.ratio is not None:
        if motor.joints is not None and len(motor.joints) != len(motor.ratio):
            yield ("motor", "ratio"), f"has {len(motor.ratio)} entries for {len(motor.joints)} joints"
        if 0.0 in motor.ratio or not motor.ratio:
            yield ("motor", "ratio"), "needs an entry for each joint, none of them 0"
    if motor.motor_per_link is not None:
        size = len(motor.motor_per_link)
        if not 0 < size <= MAX_JOINTS or any(len(row) != size for row in motor.motor_per_link):
            yield ("motor", "motor_per_link"), "is not a square matrix"
        elif np.linalg.cond(np.array(motor.motor_per_link)) > MAX_CONDITION:
            yield ("motor", "motor_per_link"), "cannot be inverted: some motors would move together"


def _numbers(value: Any, where: Keys) -> Iterator[tuple[Keys, float]]:
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _numbers(member, (*where, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, value


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_mapping(path: str | Path) -> LogMapping:
    """Read a mapping file.

    Raises:
        DataFileError: It cannot be read, is no TOML, or says something that no mapping can; with the line.
    """
    return _decoded_mapping(read_toml(path), path)


def _decoded_mapping(document: TomlDocument, path: str | Path) -> LogMapping:
    def refuse(where: Keys, message: str) -> InputError:
        label = ".".join(str(key) for key in where)
        return DataFileError(f"{label}: {message}" if label else message, path=path, line=document.line(where))

    if document.root.get("format", FORMAT) != FORMAT:
        raise refuse(("format",), f"is {document.root['format']!r}; this version reads {FORMAT!r}")
    return LogMapping.from_table(document.root, refuse)


def write_mapping(mapping: LogMapping, path: str | Path, reasons: Mapping[Keys, str] | None = None) -> None:
    """Write a mapping file, all or nothing.

    Args:
        mapping: What is written.
        path: The file; replaced if it exists.
        reasons: Comments by place, e.g. ("joints", "elbow", "position").

    Raises:
        DataFileError: The file cannot be written.
    """
    write_atomically(path, mapping_toml(mapping, reasons).encode())


def mapping_toml(mapping: LogMapping, reasons: Mapping[Keys, str] | None = None) -> str:
    """Return a mapping as the text of a mapping file, with comments beside the lines that have a reason."""
    table = mapping.to_table()
    table.pop("format", None)
    lines = [f"format = {_value(FORMAT)}"]
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines += _lines(plain, (), reasons or {})
    for name, section in table.items():
        if not isinstance(section, dict):
            continue
        inner = {key: value for key, value in section.items() if isinstance(value, dict)}
        own = {key: value for key, value in section.items() if not isinstance(value, dict)}
        if own:
            lines += ["", f"[{_key(name)}]", *_lines(own, (name,), reasons or {})]
        for key, entries in inner.items():
            lines += ["", f"[{_key(name)}.{_key(key)}]", *_lines(entries, (name, key), reasons or {})]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any], where: Keys, reasons: Mapping[Keys, str]) -> Iterator[str]:
    for key, value in table.items():
        reason = reasons.get((*where, key))
        comment = "" if reason is None else f"  # {_one_line(reason)}"
        yield f"{_key(key)} = {_value(value)}{comment}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML. Its basic strings are JSON's, but for DEL and lone surrogates."""
    if isinstance(value, str):
        return json.dumps(_encodable(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in _encodable(text))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
