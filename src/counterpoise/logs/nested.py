"""Nested tables of plain values, as TOML and JSON hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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
