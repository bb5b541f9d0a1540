"""Which filter computes: the native one where it was built, else its Python specification.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dynamics.native_module import native_module
from .filter_reference import ReferenceFilterCore

__all__ = ["FilterCore", "ReferenceFilterCore"]


_MODULE = native_module("control")

if TYPE_CHECKING:
    FilterCore = ReferenceFilterCore
else:
    FilterCore = ReferenceFilterCore if _MODULE is None else _MODULE.NativeFilterCore
