"""Scripts of studies/ as modules: tests run small versions of them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

STUDIES = Path(__file__).parents[2] / "studies"


def load_study(name: str) -> ModuleType:
    """Return the module of studies/``name``.py; what it imports from its folder is found beside it."""
    sys.path.insert(0, str(STUDIES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(STUDIES))
