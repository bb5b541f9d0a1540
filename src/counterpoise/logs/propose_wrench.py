"""Which six columns are the plate's."""

from __future__ import annotations

from collections.abc import Sequence

from ..dynamics.reference import WRENCH_COMPONENTS
from ..errors import DataFileError
from .columns import Column, Columns
from .mapping import LogMapping, Put
from .names import NOT_MEASURED, PLATE_WORDS, WRIST_WORDS, without_unit, words_of

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
