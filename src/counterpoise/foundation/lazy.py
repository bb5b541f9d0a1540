"""Public names of a subpackage that are imported when they are first used, so that ``import counterpoise`` stays quick.

A subpackage's ``__init__.py`` lists its names by module. Public ones are for users and documented. Shared ones are for
other subpackages of counterpoise only and may change without notice. Whatever is in neither list is private. For type
checkers the same names stand in the ``TYPE_CHECKING`` block; a test holds the two lists equal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, public: Mapping[str, Sequence[str]], shared: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package whose names live in its modules.

    Args:
        package: The package's ``__name__``.
        public: Names for users, by module relative to the package.
        shared: Names for other subpackages, likewise.
    """
    module_of = {name: module for table in (shared or {}, public) for module, names in table.items() for name in names}
    exported = sorted(name for names in public.values() for name in names)

    def get(name: str) -> Any:
        """Import a name when it is first used."""
        if name not in module_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        """Return the public names."""
        return [*exported]

    return exported, get, names
