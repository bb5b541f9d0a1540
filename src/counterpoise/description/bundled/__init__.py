"""The bundled arms: DH tables that ship with the package, each number with a source or marked as assumed."""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ...errors import InputError

if TYPE_CHECKING:
    from ...foundation import TomlDocument
    from ..dh import DhTable, Numbers
    from ..model import Description

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One bundled arm.

    Attributes:
        name: Name to load it by.
        joints: Degrees of freedom.
        mass: Total mass, base link included where the file states it [kg].
        summary: One line on what it is.
        sources: Citations of its numbers.
        assumed: What its file assumes and why, one sentence each; empty where every number is sourced.
    """

    name: str
    joints: int
    mass: float
    summary: str
    sources: tuple[str, ...]
    assumed: tuple[str, ...]


@cache
def catalog_names() -> tuple[str, ...]:
    """Names of the bundled arms, sorted."""
    names = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def read_bundled(name: str) -> Description:
    """Read a bundled arm.

    Raises:
        InputError: There is no arm of that name.
    """
    from ..dh import describe

    return describe(*_table(name))


@cache
def catalog() -> tuple[CatalogEntry, ...]:
    """List the bundled arms, sorted by name."""
    return tuple(_entry(name) for name in catalog_names())


def _table(name: str) -> tuple[DhTable, TomlDocument]:
    from ...foundation import load_toml
    from ..dh import decode_table

    if name not in catalog_names():
        near = difflib.get_close_matches(str(name).lower(), catalog_names(), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise InputError(f"no bundled arm is called {name!r}; {hint}the catalog has: {', '.join(catalog_names())}")
    file_name = name + _SUFFIX
    document = load_toml((files(__name__) / file_name).read_bytes(), f"counterpoise/description/bundled/{file_name}")
    return decode_table(document), document


def _entry(name: str) -> CatalogEntry:
    from ..dh import describe, origins

    table, document = _table(name)
    description = describe(table, document)
    mass = sum(link.inertia.mass for link in description.links if link.inertia is not None)
    return CatalogEntry(
        name=name,
        joints=len(table.joint),
        mass=mass,
        summary=table.summary,
        sources=tuple(table.sources.values()),
        assumed=_assumptions(tuple(origins(table, document))),
    )


def _assumptions(found: tuple[Numbers, ...]) -> tuple[str, ...]:
    """Put assumptions into sentences, those alike into one."""
    reasons = {numbers.assumed_why for numbers in found}
    if len(reasons) == 1 and all(reasons):
        return tuple(f"every number: {why}" for why in reasons)
    owners: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for numbers in found:
        if numbers.assumed_why:
            owners[", ".join(numbers.fields), numbers.assumed_why].append(numbers.owner)
    return tuple(f"{fields} of {', '.join(names)}: {why}" for (fields, why), names in owners.items())
