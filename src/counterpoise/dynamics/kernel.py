"""Which kernel computes: the native one where it was built and proves right here, or the NumPy specification.

The native kernels of the machine's best instruction set are compared with stored results of the specification before
anything uses them (kernel_cases.py). A set that disagrees is not used; the next lower one is.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specification and ``COUNTERPOISE_ISA=baseline`` (or
``avx2``, ``avx512``) picks an instruction set other than the machine's best.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..foundation import KernelCheck, check_layout, faults_message, forced_set, unchecked_part, warn_of
from .kernel_cases import LAYOUT, NAMES, check_set, stored_arms
from .reference import ReferenceKernel

MAX_THREADS = 256


def _loaded_part() -> Any:
    """Return the native code of this subpackage, or None where there is none or it is disabled."""
    try:
        return unchecked_part("dynamics")
    except ImportError as error:
        if forced_set():
            raise InputError(str(error)) from error
        warnings.warn(f"the native kernel cannot be loaded, the slow reference is used: {error}", stacklevel=2)
        return None


def check_instruction_set(part: Any, instruction_set: str) -> list[KernelCheck]:
    """Compare an instruction set of the native code with the stored results, entry point by entry point."""
    try:
        arms = stored_arms()
    except (OSError, ValueError) as error:
        fault = f"its stored results cannot be read: {error}"
        return [KernelCheck("dynamics", instruction_set, name, fault) for name in NAMES]
    return check_set(part, part.make_kernel(ReferenceKernel), instruction_set, arms)


def choose_set(part: Any, forced: str = "") -> str:
    """Let the native code use its best instruction set that agrees with the stored results.

    Args:
        part: The native code of this subpackage.
        forced: The only set that will do; "" for any.

    Returns:
        The set; "" where none agrees.

    Raises:
        InputError: The forced set is not available on this machine, or disagrees.

    Warns:
        RuntimeWarning: A better set than the one in use disagrees. It names CPU, compiler and kernels.
    """
    sets = list(part.instruction_sets())
    if forced and forced not in sets:
        raise InputError(f"COUNTERPOISE_ISA={forced} is not available on this machine; expected one of {sets}")
    faults = [check for check in check_layout("dynamics", part, LAYOUT) if check.fault]
    candidates = [forced] if forced else sets
    for name in () if faults else candidates:  # with another layout no set is right
        wrong = [check for check in check_instruction_set(part, name) if check.fault]
        if not wrong:
            part.use(name)
            if faults:
                warn_of(faults, part.COMPILER, f"The instruction set {name} is used instead.")
            return name
        faults += wrong
    if forced:
        raise InputError(f"COUNTERPOISE_ISA={forced}: {faults_message(faults, part.COMPILER)}")
    warn_of(faults, part.COMPILER, "The slow NumPy reference is used instead.")
    return ""


_PART = _loaded_part()

NATIVE: str = "" if _PART is None else choose_set(_PART, forced_set())
"""Instruction set of the native kernel in use: "avx512", "avx2" or "baseline"; "" for the NumPy reference."""

if TYPE_CHECKING:
    Kernel = ReferenceKernel
else:
    Kernel = _PART.make_kernel(ReferenceKernel) if NATIVE else ReferenceKernel


def set_batch_threads(count: int) -> None:
    """Let large batches run on up to ``count`` threads; 1, the default, runs them in the calling thread.

    Results have the same bytes for any number of threads. The reference kernel always runs in the calling thread.
    """
    if not isinstance(count, int) or not 1 <= count <= MAX_THREADS:
        raise InputError(f"the number of threads must be a whole number from 1 to {MAX_THREADS}, got {count!r}")
    if NATIVE:
        _PART.set_batch_threads(count)
