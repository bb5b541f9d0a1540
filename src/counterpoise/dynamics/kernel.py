"""Which kernel computes: the native one where it was built, else the NumPy reference.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the reference and ``COUNTERPOISE_ISA=baseline`` (or
``avx2``, ``avx512``) picks an instruction set other than the machine's best.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .native_module import native_module
from .reference import ReferenceKernel

MAX_THREADS = 256


def _loaded_module() -> Any:
    """Return the extension module, or None where it was not built or is disabled."""
    try:
        return native_module("dynamics")
    except ImportError as error:
        if os.environ.get("COUNTERPOISE_ISA", ""):
            raise InputError(str(error)) from error
        warnings.warn(f"the native kernel cannot be loaded, the slow reference is used: {error}", stacklevel=2)
        return None


_MODULE = _loaded_module()

NATIVE: str = "" if _MODULE is None else _MODULE.instruction_set()
"""Instruction set of the native kernel in use: "avx512", "avx2" or "baseline"; "" for the NumPy reference."""

if TYPE_CHECKING:
    Kernel = ReferenceKernel
else:
    Kernel = ReferenceKernel if _MODULE is None else _MODULE.make_kernel(ReferenceKernel)


def set_batch_threads(count: int) -> None:
    """Let large batches run on up to ``count`` threads; 1, the default, runs them in the calling thread.

    Results have the same bytes for any number of threads. The reference kernel always runs in the calling thread.
    """
    if not isinstance(count, int) or not 1 <= count <= MAX_THREADS:
        raise InputError(f"the number of threads must be a whole number from 1 to {MAX_THREADS}, got {count!r}")
    if _MODULE is not None:
        _MODULE.set_batch_threads(count)
