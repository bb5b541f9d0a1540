"""Where the numbers of a mapping come from: somebody declared them, this recording measures them, or they are guessed.

A mapping's ``[source]`` table says so by dotted keys, such as "joints.elbow.effort_gain" or "time.rate". What it does
not name is declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, get_args

from ..errors import listed

Source = Literal["declared", "measured", "guessed"]
"""Who says a number: somebody who knows (a user, a header), this recording alone, or a comparison with the description
that is itself in question."""

SOURCES: tuple[Source, ...] = get_args(Source)
"""From best to worst: what two numbers make together is as good as the worse of them."""
COMPOSED = frozenset(
    {
        *("position_sign", "position_offset", "velocity_sign", "effort_sign", "effort_gain", "effort_offset"),
        *("lag", "rotation", "matrix"),
    }
)
"""Keys whose value, when a mapping is changed, is made of the old one and the new one."""
REFERENCES = frozenset({"position", "velocity", "effort", "column", "columns"})
"""Keys that name columns: they are no numbers."""
_SCALES_EFFORT = frozenset({"effort_gain", "torque_constant"})
_SCALES_EFFORTS = frozenset({"effort.kind", "effort.unit", "effort.side", "motor.ratio", "motor.motor_per_link"})
_SETS_TIME = frozenset({"time.rate", "time.unit"})


def dotted(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a mapping's values: "effort.unit", "joints.elbow.effort_gain"; not those of ``[source]``."""
    for name, section in table.items():
        if name == "source" or not isinstance(section, Mapping):
            continue
        for key, value in section.items():
            if isinstance(value, Mapping):
                yield from (f"{name}.{key}.{inner}" for inner in value)
            else:
                yield f"{name}.{key}"


def flattened(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a source table with dotted keys, whether it was written with such or as tables within tables."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": member for inner, member in flattened(value).items()}
        else:
            flat[key] = value
    return flat


def combined(
    before: Mapping[str, str], after: Mapping[str, str], changed: frozenset[str], kept: frozenset[str] | None = None
) -> dict[str, str]:
    """Return the sources of a mapping with a change on top of it, without what is declared.

    Args:
        before: The mapping's sources.
        after: The change's sources. One that names a value which it does not change says anew who knows that value.
        changed: Keys of the values that it changes.
        kept: Keys that the whole has; None keeps all.
    """
    result: dict[str, str] = {}
    for key in (*before, *(key for key in after if key not in before)):
        source = after.get(key, "declared") if key in changed else after.get(key, before.get(key, "declared"))
        if key in changed and key.rpartition(".")[2] in COMPOSED:
            source = worst(before.get(key, "declared"), source)
        if source != "declared" and (kept is None or key in kept):
            result[key] = source
    return result


def worst(first: str, second: str) -> str:
    """Return the source of a number that is made of two."""
    order = [str(source) for source in SOURCES]
    return max(first, second, key=order.index)


def scales_efforts(key: str) -> bool:
    """Whether the number of a dotted key decides the size of efforts in N m."""
    return key in _SCALES_EFFORTS or (key.startswith("joints.") and key.rpartition(".")[2] in _SCALES_EFFORT)


def effort_guesses(keys: Iterable[str]) -> str:
    """Say which of the guessed keys decide the size of efforts; "" where none does."""
    guessed = [repr(key) for key in keys if scales_efforts(key)]
    if not guessed:
        return ""
    return f"{listed(guessed)} of the mapping {'is' if len(guessed) == 1 else 'are'} guessed"


def sets_time(key: str) -> bool:
    """Whether the number of a dotted key decides how fast time goes."""
    return key in _SETS_TIME
