"""Proposing a mapping: what the names of columns, topics and files say, and why it is believed.

Proposed are the columns of the joints, the time's column and its unit, and the six columns of the plate. No column is
guessed: where names fit two ways, or a name fits nothing, the answer is an error that shows both lists and how to write
a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics import WRENCH_COMPONENTS
from ..errors import DataFileError, listed
from .garbage import without_garbage
from .mapping import Keys, LogMapping, Put, mapping_toml
from .names import (
    CURRENT_WORDS,
    FILLER,
    KINDS,
    MEASURED,
    NOT_MEASURED,
    PLATE_WORDS,
    TIME,
    TIME_WORDS,
    TORQUE_WORDS,
    WRIST_WORDS,
    Kind,
    contains,
    kind_of,
    unit_of,
    without_unit,
    word_set,
    words_of,
)
from .provenance import Source
from .table import SHOWN_NAMES, Column, Columns, TableSource

HEAD_ROWS = 200
"""Rows by which a time is recognised: it does not go back, and its size and steps tell the unit."""
SLOWEST, FASTEST = 0.5, 20_000.0
"""Sampling rates [Hz] that a recording of an arm has."""
LONGEST_STEP = 60.0
"""Time between two rows [s] beyond which large numbers are no seconds since 1970: they count something finer."""

_NANOSECONDS = word_set("nsec nsecs nanosec nanosecs nanoseconds")
_EPOCH = (0.94e9, 4.1e9)
"""Seconds since 1970 in the years 2000 to 2099."""


@dataclass(frozen=True, slots=True)
class TimeProposal:
    """What names and numbers say about the time.

    Attributes:
        columns: The column of the time by source; absent for sources that have time of their own, or none.
        open_units: Units that the time may have, by its steps, where neither name nor size tell; None where they do.
        refused: A column that is called time and goes back: "file", "column", the first "row" that does, counted from
            0, "back" of "steps".
    """

    columns: Mapping[int, Column]
    open_units: tuple[str, ...] | None = None
    refused: Mapping[str, Any] = field(default_factory=dict)


def propose_time(columns: Columns, given: LogMapping, put: Put) -> TimeProposal:
    """Find the column of the time in each source that has no time of its own.

    Args:
        columns: The columns of the recording.
        given: What the mapping says already.
        put: Sets a value of the mapping, with its reason.

    Raises:
        DataFileError: The mapping names a column that is not there.
    """
    if given.time.rate is not None:
        return TimeProposal({})
    if given.time.column is not None and not any(given.time.column in s.column_names for s in columns.sources):
        columns.find(given.time.column)  # by "file:name", or an error with the names there are
    found: dict[int, Column] = {}
    open_units: tuple[str, ...] | None = None
    refused: dict[str, Any] = {}
    for number, source in enumerate(columns.sources):
        if source.has_time:
            continue
        own = [column for column in columns.all if column.source == number]
        named = [column for column in own if given.time.column in (column.name, column.reference)]
        times = named or [column for column in own if _is_time(column.name, own)]
        if not times:
            continue
        head = _head(source)
        chosen = next((column for column in times if named or _increases(head[:, column.index])), None)
        if chosen is None:
            refused = refused or _refusal(source, times[0], head[:, times[0].index])
            continue
        found[number] = chosen
        put(("time", "column"), chosen.name, "its name says time, and it does not go back")
        if given.time.unit is not None:
            continue
        told = unit_of(chosen.name)
        unit = told if told in TIME else _unit_since_1970(head[:, chosen.index])
        if unit is None:
            open_units = _units_by_step(head[:, chosen.index]) if open_units is None else open_units
        elif unit != "s":
            put(("time", "unit"), unit, "its name says so" if told == unit else f"as time since 1970 it is in {unit}")
    return TimeProposal(found, open_units, refused)


def _is_time(name: str, own: list[Column]) -> bool:
    words = set(words_of(name))
    if not words & TIME_WORDS or words & _NANOSECONDS or kind_of(tuple(words - TIME_WORDS)) is not None:
        return False
    # Whole seconds beside a column of nanoseconds are no time by themselves.
    whole = words & {"sec", "secs"}
    return not (whole and any(_NANOSECONDS & set(words_of(column.name)) for column in own))


def _head(source: TableSource) -> np.ndarray[Any, np.dtype[np.float64]]:
    tables = source.tables(HEAD_ROWS)
    try:
        table = next(tables, None)
    finally:
        tables.close()  # type: ignore[attr-defined]
    return np.empty((0, len(source.column_names))) if table is None else without_garbage(table)


def _increases(values: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether nearly all steps go forward: a recording may have some bad times."""
    known = values[np.isfinite(values)]
    if known.size < 2:
        return bool(known.size == len(values))
    return bool(np.mean(known[1:] >= known[:-1]) > 0.9 and known[-1] > known[0])


def _unit_since_1970(values: np.ndarray[Any, np.dtype[np.float64]]) -> str | None:
    """Return the unit in which numbers are times of our century; None where they are not."""
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, high = np.quantile(known, [0.1, 0.9]).tolist()  # single stamps may be wild
    step = float(np.median(np.abs(np.diff(known)))) if known.size > 1 else 0.0
    for unit, factor in TIME.items():
        if low * factor > _EPOCH[0] and high * factor < _EPOCH[1] and step * factor < LONGEST_STEP:
            return unit
    return None


def _units_by_step(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[str, ...] | None:
    """Return the units in which steps make a likely rate; None where seconds alone do, or nothing tells."""
    steps = np.diff(values[np.isfinite(values)])
    steps = steps[steps > 0.0]
    if not steps.size:
        return None
    usual = float(np.median(steps))
    units = tuple(unit for unit, factor in TIME.items() if SLOWEST <= 1.0 / (usual * factor) <= FASTEST)
    return None if units == ("s",) else units


def _refusal(source: TableSource, column: Column, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    rows = np.flatnonzero(np.isfinite(values))
    back = np.flatnonzero(np.diff(values[rows]) < 0.0)
    file = Path(source.path).name
    first = int(rows[back[0] + 1]) if len(back) else 0
    return {"file": file, "column": column.name, "row": first, "back": len(back), "steps": max(len(rows) - 1, 0)}


_CHANNELS: dict[tuple[str, ...], str] = {(f"{letter}{axis}",): f"{letter}{axis}" for letter in "fm" for axis in "xyz"}
_CHANNELS |= {(f"t{axis}",): f"m{axis}" for axis in "xyz"}
_CHANNELS |= {("force", axis): f"f{axis}" for axis in "xyz"}
_CHANNELS |= {(word, axis): f"m{axis}" for word in ("torque", "moment") for axis in "xyz"}
"""Words that name a channel: fx, tx, (force, x), ..."""


def propose_wrench(columns: Columns, free: Sequence[Column], given: LogMapping, put: Put) -> set[Column]:
    """Find the plate's six columns, and every column that belongs to some wrench and not to a joint.

    Args:
        columns: The columns of the recording.
        free: Those that are not used otherwise.
        given: What the mapping says already.
        put: Sets a value of the mapping, with its reason.

    Returns:
        All columns that are channels of a complete wrench.

    Raises:
        DataFileError: Several wrenches may be the plate's.
    """
    groups: dict[tuple[int, tuple[str, ...]], dict[str, Column]] = {}
    for column in free:
        words = words_of(without_unit(column.name))
        for begin in range(len(words)):
            for length in (1, 2):
                channel = _CHANNELS.get(words[begin : begin + length])
                if channel is not None:
                    rest = words[:begin] + words[begin + length :]
                    groups.setdefault((column.source, rest), {})[channel] = column
    whole = {key: group for key, group in groups.items() if set(group) == set(WRENCH_COMPONENTS)}
    used = {column for group in whole.values() for column in group.values()}
    if given.wrench.columns is not None:
        return used
    said = {key: {*key[1], *columns.words(key[0])[0]} for key in whole}
    plates = [key for key in whole if not said[key] & (WRIST_WORDS | NOT_MEASURED)]
    if len(plates) > 1 and any(said[key] & PLATE_WORDS for key in plates):
        plates = [key for key in plates if said[key] & PLATE_WORDS]
    if len(plates) > 1:
        first, second = (whole[key]["fx"].reference for key in plates[:2])
        raise DataFileError(
            f"two wrenches may be the plate's, those with '{first}' and '{second}'; say which in a mapping file:\n"
            f'  [wrench]\n  columns = ["{first}", ... six names, force first]',
            path=columns.path,
        )
    if plates:
        chosen = [whole[plates[0]][channel].reference for channel in WRENCH_COMPONENTS]
        put(("wrench", "columns"), chosen, "the names say force and moment, of no wrist or tool")
    return used


_TOO_VAGUE = FILLER | MEASURED | word_set("x y z rx ry rz qx qy qz qw roll pitch yaw tcp tool ee")

_SIDES = word_set("left right")
"""Words that a series of numbered columns must share with the robot's names: no left arm is taken for a right one."""
_NAMED_UNITS: dict[Kind, dict[str, str]] = {
    "position": {"deg": "deg", "rad": "rad"},
    "velocity": {"deg": "deg/s", "deg/s": "deg/s", "rad/s": "rad/s", "rpm": "rpm"},
    "effort": {"Nm": "Nm", "mNm": "mNm", "Nmm": "Nmm", "A": "A", "mA": "mA"},
}
"""Units at the end of names, as the mapping writes them."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A complete mapping, with the reasons for what was not given.

    Attributes:
        mapping: The mapping.
        joint_names: The recorded joints: in the robot's order, or the recording's where no robot is given.
        time: What names and numbers say about the time.
        by_number: Whether joints were matched by their numbers, their names being others or none.
        reasons: Why, by place in the mapping.
        unused: Columns that are not used.
    """

    mapping: LogMapping
    joint_names: tuple[str, ...]
    time: TimeProposal
    by_number: bool
    reasons: Mapping[Keys, str]
    unused: tuple[str, ...]

    def with_value(self, where: tuple[str, str], value: Any, reason: str, source: Source) -> Proposal:
        """Return the proposal with one more value of the mapping, its reason and where it comes from."""
        section, key = where
        change: dict[str, Any] = {section: {key: value}}
        if source != "declared":
            change["source"] = {f"{section}.{key}": source}
        return replace(self, mapping=self.mapping.merged_with(change), reasons={**self.reasons, where: reason})

    def to_toml(self) -> str:
        """Return the mapping as the text of a mapping file, a reason beside each line that was proposed."""
        rest = f"# not used: {listed(self.unused, SHOWN_NAMES)}\n" if self.unused else ""
        return (
            mapping_toml(self.mapping, self.reasons) + "".join(filter(str.isprintable, rest)) + ("\n" if rest else "")
        )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A column that may be the measured kind of a joint."""

    column: Column
    kind: Kind
    word: str
    joint: str | None = None
    number: int | None = None
    rest: tuple[str, ...] = ()
    measured: bool = False
    reason: str = ""


@dataclass(slots=True)
class _Draft:
    """The mapping while it grows."""

    table: dict[str, Any]
    reasons: dict[Keys, str] = field(default_factory=dict)

    def put(self, where: tuple[str, ...], value: Any, reason: str) -> None:
        """Set a value that is not given yet."""
        table = self.table
        for key in where[:-1]:
            table = table.setdefault(key, {})
        if where[-1] not in table:
            table[where[-1]] = value
            self.reasons[where] = reason


def propose(
    columns: Columns, robot_joints: Sequence[str] | None, given: LogMapping, *, described: bool = False
) -> Proposal:
    """Propose a mapping for a recording.

    Args:
        columns: The columns of the recording.
        robot_joints: Names of the robot's joints, in order; None takes the names the recording gives.
        given: What is known already; only the rest is proposed.
        described: Whether units and the kind of effort are known already, as of a log of ours.

    Raises:
        DataFileError: Names fit two ways, joints of the recording fit none of the robot's, or no column holds
            positions.
    """
    draft = _Draft(given.to_table())
    taken = {columns.find(reference) for reference in _references(given)}
    time = propose_time(columns, given, draft.put)
    time_columns = time.columns
    free = [column for column in columns.all if column not in taken and column not in time_columns.values()]
    free = [column for column in free if not {column.name, column.reference} & set(given.ignore)]
    wrench = propose_wrench(columns, free, given, draft.put)
    free = [column for column in free if column not in wrench]
    candidates = [found for column in free if (found := _candidate(columns, column, robot_joints)) is not None]
    if robot_joints is None:
        candidates = [_named(candidate) for candidate in candidates]
        robot_joints = tuple(
            dict.fromkeys([*given.joints, *(str(c.joint) for c in candidates if c.kind == "position")])
        )
    else:
        if unknown := [name for name in given.joints if name not in robot_joints]:
            raise _both_lists("the mapping names joints that the robot lacks", unknown, robot_joints, columns)
        candidates = _numbered(candidates, robot_joints, given, columns)
        _refuse_extra(candidates, robot_joints, given, columns)
    by_number = False
    fitting: dict[tuple[str | None, Kind], list[_Candidate]] = {}
    for candidate in candidates:
        fitting.setdefault((candidate.joint, candidate.kind), []).append(candidate)
    for joint in robot_joints:
        for kind in KINDS:
            if getattr(given.joints.get(joint), kind, None) is None and (joint, kind) in fitting:
                chosen = _choose(joint, kind, fitting[joint, kind], columns)
                draft.put(("joints", joint, kind), chosen.column.reference, chosen.reason)
                by_number |= chosen.number is not None
    recorded = tuple(j for j in robot_joints if draft.table.get("joints", {}).get(j, {}).get("position"))
    _refuse_incomplete(draft, recorded, robot_joints, columns)
    if not described:
        _describe(draft, columns)
    mapping = LogMapping.from_table(draft.table)
    used = {columns.find(reference) for reference in _references(mapping)} | set(time_columns.values())
    unused = tuple(column.reference for column in columns.all if column not in used)
    return Proposal(mapping, recorded, time, by_number, draft.reasons, unused)


def _references(mapping: LogMapping) -> Iterator[str]:
    for joint in mapping.joints.values():
        yield from (reference for kind in KINDS if (reference := getattr(joint, kind)) is not None)
    yield from mapping.wrench.columns or ()


def _candidate(columns: Columns, column: Column, joints: Sequence[str] | None) -> _Candidate | None:
    """Read the name of a column; None where it is not a measured position, velocity or effort."""
    words = words_of(without_unit(column.name))
    joint, rest = _joint_in(column.name, words, joints or ())
    topic, stem = columns.words(column.source)
    found, where = kind_of(rest), "its name"
    if found is None and joint is not None and (found := kind_of(words)) is not None:
        joint, rest = (None, words) if any(word.isdecimal() for word in words) else (joint, rest)
    rest_of_file: tuple[str, ...] = ()
    if found is None and kind_of(words) is None:
        found, where = kind_of(topic), f"the topic {columns.sources[column.source].name}"
        if found is None and (found := kind_of(stem)) is not None:
            where, rest_of_file = "the file's name", stem
    if found is None or NOT_MEASURED & {*rest, *topic, *rest_of_file}:
        return None
    kind, word = found
    numbers = [int(part) for part in rest if part.isdecimal() and len(part) < 6]
    number = numbers[-1] if joint is None and numbers else None
    reason = f"{where} says {kind}" + ("" if word == kind else f" ('{word}')")
    others = tuple(part for part in rest if part not in (word, *word.split()) and not part.isdecimal())
    measured = bool(MEASURED & {*rest, *rest_of_file})
    return _Candidate(column, kind, word, joint, number, others, measured, reason)


def _joint_in(name: str, words: tuple[str, ...], joints: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the robot's joint that a name contains, the longest, and the words besides it."""
    for joint in joints:  # "position.elbow" of a JointState, "q.elbow" of ours
        if name.endswith(f".{joint}"):
            return joint, words_of(name.removesuffix(f".{joint}"))
    best: tuple[int, str, int] | None = None
    for joint in joints:
        part = words_of(joint)
        begin = contains(words, part) if part else None
        if begin is not None and (best is None or len(part) > best[0]):
            best = (len(part), joint, begin)
    if best is None:
        return None, words
    length, joint, begin = best
    return joint, words[:begin] + words[begin + length :]


def _named(candidate: _Candidate) -> _Candidate:
    """Name the joint of a column by what its own name leaves over."""
    name, word = candidate.column.name, candidate.word
    if not set(candidate.rest) - FILLER - MEASURED:
        return replace(candidate, joint="joint" if candidate.number is None else f"joint_{candidate.number}")
    head, _, tail = name.partition(".")
    if tail and words_of(head) == (word,):
        return replace(candidate, joint=tail)
    for drop in (*word.split(), *(MEASURED & set(candidate.rest))):
        name = re.sub(rf"(?i)(?<![a-z]){re.escape(drop)}(?![a-z])", " ", name)
    return replace(candidate, joint="_".join(re.findall(r"\w+", re.sub(r"_*\s+_*", " ", name))) or "joint")


def _numbered(
    candidates: list[_Candidate], joints: Sequence[str], given: LogMapping, columns: Columns
) -> list[_Candidate]:
    """Give numbered columns (q_0, q_1, ...) their joints, where there are as many as the robot has."""
    kept = [candidate for candidate in candidates if candidate.joint is not None]
    for kind in KINDS:
        if any(candidate.kind == kind for candidate in kept):
            continue
        groups: dict[tuple[int, str, tuple[str, ...]], list[_Candidate]] = {}
        for candidate in candidates:
            if candidate.kind == kind and candidate.number is not None:
                groups.setdefault((candidate.column.source, candidate.word, candidate.rest), []).append(candidate)
        wrong = []
        for group in groups.values():
            group.sort(key=lambda candidate: candidate.number or 0)
            numbers = [candidate.number for candidate in group]
            meant, told = _series(numbers, joints)
            if any(_SIDES & set(group[0].rest) - set(words_of(joint)) for joint in meant):
                meant = ()
            kept += [
                replace(candidate, joint=joint, reason=f"{candidate.reason}; number {candidate.number} {told}")
                for candidate, joint in zip(group, meant, strict=False)
            ]
            if not meant:
                wrong.append(group)
        if kind == "position" and wrong and not given.joints and not any(c.kind == kind for c in kept):
            names = [candidate.column.reference for candidate in wrong[0]]
            raise _both_lists("numbered columns do not fit the robot's joints one to one", names, joints, columns)
    unplaced = [candidate for candidate in candidates if candidate.joint is None and candidate.number is None]
    if len(joints) == 1:
        kept += [replace(candidate, joint=joints[0]) for candidate in unplaced]
        unplaced = []
    return kept + unplaced


def _series(numbers: Sequence[int | None], joints: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the joints that numbers from 0 or 1 on stand for, and why; none where that is not clear.

    They are all joints in order, or the one series of the robot's names that has as many: panda_joint1 to panda_joint7.
    """
    first, count = numbers[0], len(numbers)
    if first not in (0, 1) or list(numbers) != list(range(first, first + count)):
        return (), ""
    if count == len(joints):
        return joints, f"of {first} to {numbers[-1]}, counted from {first}"
    series: dict[tuple[str, ...], list[str]] = {}
    for joint in joints:
        words = words_of(joint)
        if any(word.isdecimal() for word in words):
            series.setdefault(tuple(word for word in words if not word.isdecimal()), []).append(joint)
    fitting = [names for names in series.values() if len(names) == count > 1]
    if len(fitting) != 1:
        return (), ""
    return fitting[0], f"of {first} to {numbers[-1]}, as many as {fitting[0][0]} to {fitting[0][-1]}"


def _refuse_extra(candidates: list[_Candidate], joints: Sequence[str], given: LogMapping, columns: Columns) -> None:
    """Refuse positions of joints that the robot does not have."""
    extra: dict[str, str] = {}
    for candidate in candidates:
        name = candidate.column.name
        exact = name.partition(".")[2] if words_of(name.partition(".")[0]) == (candidate.word,) else ""
        label = exact or "_".join(candidate.rest)
        if candidate.joint is None and candidate.kind == "position" and set(candidate.rest) - _TOO_VAGUE:
            extra[label] = candidate.column.reference
    extra = {label: name for label, name in extra.items() if label not in given.ignore}
    if extra:
        hint = f"leave them out with  ignore = [{', '.join(f'{chr(34)}{label}{chr(34)}' for label in extra)}]"
        raise _both_lists("the recording has joints that the robot lacks", list(extra), joints, columns, hint)


def _choose(joint: str, kind: Kind, found: list[_Candidate], columns: Columns) -> _Candidate:
    """Return the one column that is the measured kind of a joint."""
    if len(found) > 1 and any(candidate.measured for candidate in found):
        found = [candidate for candidate in found if candidate.measured]
    if kind == "effort":  # a torque says more than a current
        for words in (TORQUE_WORDS, frozenset(w for c in found for w in [c.word]) - CURRENT_WORDS):
            if len(found) > 1 and any(candidate.word in words for candidate in found):
                found = [candidate for candidate in found if candidate.word in words]
    if len(found) > 1:
        told = " or ".join(f'"{candidate.column.reference}"' for candidate in found)
        raise DataFileError(
            f"the {kind} of joint '{joint}' may be {told}; say which in a mapping file (mapping=, --mapping):\n"
            f'  [joints.{joint}]\n  {kind} = "{found[0].column.reference}"',
            path=columns.path,
        )
    return found[0]


def _refuse_incomplete(draft: _Draft, recorded: Sequence[str], joints: Sequence[str], columns: Columns) -> None:
    entries = draft.table.get("joints", {})
    for joint, entry in entries.items():
        if "position" not in entry and {"velocity", "effort"} & set(entry):
            raise _both_lists(f"joint '{joint}' has no position", [columns.listed()], joints, columns)
    if not recorded:
        raise _both_lists("no column is known to hold a joint's position", [columns.listed()], joints, columns)


def _both_lists(
    what: str, names: Sequence[str], joints: Sequence[str], columns: Columns, hint: str = ""
) -> DataFileError:
    first = joints[0] if joints else "elbow"
    hint = (
        hint or f'write the columns into a mapping file, for example  [joints.{first}] position = "..." effort = "..."'
    )
    return DataFileError(
        f"{what}.\n  recording: {listed(names, SHOWN_NAMES)}\n"
        f"  robot: {listed(joints, SHOWN_NAMES) or 'none given'}\n  {hint}",
        path=columns.path,
    )


def _describe(draft: _Draft, columns: Columns) -> None:
    """Take units and the kind of effort from the names of the chosen columns, where all of them agree."""
    for kind in KINDS:
        chosen = [columns.find(entry[kind]) for entry in draft.table["joints"].values() if kind in entry]
        if not chosen:
            continue
        if kind == "effort":
            found = {_effort_kind(columns, column) for column in chosen}
            if len(found) == 1 and (told := found.pop()) is not None:
                draft.put(("effort", "kind"), told, "the name says so")
        units = {unit_of(column.name) for column in chosen}
        unit = units.pop() if len(units) == 1 else None
        if unit is not None and unit in _NAMED_UNITS[kind]:
            draft.put((kind, "unit"), _NAMED_UNITS[kind][unit], "the names end in it")
            if kind == "effort":
                draft.put(("effort", "kind"), "current" if unit in ("A", "mA") else "torque", "its unit says so")


def _effort_kind(columns: Columns, column: Column) -> str | None:
    words = {*words_of(column.name)}
    if not words & (TORQUE_WORDS | CURRENT_WORDS) and kind_of(tuple(words)) is None:
        words = {*columns.words(column.source)[1]}
    return "torque" if words & TORQUE_WORDS else "current" if words & CURRENT_WORDS else None
