"""Which kernel computes: the native one where it was built, else the NumPy reference.

``COUNTERPOISE_DISABLE_NATIVE=1`` in the environment forces the reference.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .reference import ReferenceKernel

__all__ = ["NATIVE", "Kernel", "ReferenceKernel"]

if TYPE_CHECKING:
    Kernel = ReferenceKernel
    NATIVE: str
else:
    try:
        if os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0"):
            raise ImportError("disabled by COUNTERPOISE_DISABLE_NATIVE")
        from . import _native
    except ImportError:
        Kernel = ReferenceKernel
        NATIVE = ""
    else:
        Kernel = _native.make_kernel(ReferenceKernel)
        NATIVE = _native.instruction_set()
