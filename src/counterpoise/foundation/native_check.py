"""The self-check of native code: what it computes here is compared with stored results of the specification.

A compiler can be wrong for one instruction set and one kernel. No test elsewhere can show that, so each part of the
extension is checked in the process that is about to use it. The results lie in files that ``tests/store_results.py``
writes from the Python specifications. An extension that was built from other sources is noticed by its layouts: the
numbers of enumerations and the order of rows and columns that both languages write down.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Array

TOLERANCE = 1e-8
"""Largest difference that counts as agreement, as a share of 1 + |stored|. Right kernels differ by some 1e-13, and by
1e-9 at angles of a million radians, where positions themselves are rounded; wrong ones by far more."""
STORED = Path(__file__).parent / "stored"

Cases = Mapping[str, Callable[[Any], Iterable[float]]]
"""Per entry point of a part: a function that calls it, of the given part, and returns what it gave."""
Layout = Mapping[str, Mapping[str, float] | tuple[str, ...]]
"""Numbers by name, of which a part may know some only, and names in their order; by their names in the part."""


@dataclass(frozen=True, slots=True)
class KernelCheck:
    """Whether one entry point, or one layout, of a part is right.

    Attributes:
        subpackage: Subpackage of the part, such as "dynamics".
        instruction_set: Such as "avx2"; "" where the part has one for all machines.
        kernel: Name of the entry point or the layout.
        fault: What is wrong; "" where it agrees.
    """

    subpackage: str
    instruction_set: str
    kernel: str
    fault: str

    @property
    def message(self) -> str:
        """Return subpackage, entry point, instruction set and fault."""
        where = f" ({self.instruction_set})" if self.instruction_set else ""
        return f"{self.subpackage}.{self.kernel}{where}: {self.fault}"


def stored_results(subpackage: str) -> Array:
    """Return the stored numbers of a subpackage, shape (k,).

    Raises:
        OSError: The file is missing or cannot be read.
        ValueError: It holds no whole numbers of eight bytes.
    """
    return np.frombuffer((STORED / f"{subpackage}.f64").read_bytes(), dtype="<f8").astype(np.float64, copy=False)


def store_results(subpackage: str, numbers: Array) -> Path:
    """Write the numbers of a subpackage, little endian, eight bytes each; return the file."""
    path = STORED / f"{subpackage}.f64"
    path.write_bytes(numbers.astype("<f8").tobytes())
    return path


def _agree(found: Array, stored: Array) -> npt.NDArray[np.bool_]:
    """Tell of each number whether it agrees; NaN agrees with nothing."""
    return np.abs(found - stored) <= TOLERANCE * (1.0 + np.abs(stored))


def _disagreement(found: Array, stored: Array) -> str:
    """Return how two rows of results differ; "" where they agree to TOLERANCE."""
    if found.shape != stored.shape:
        return f"gave {found.size} numbers; {stored.size} were stored"
    with np.errstate(invalid="ignore"):
        wrong, apart = ~_agree(found, stored), np.abs(found - stored)
    if not wrong.any():
        return ""
    at = int(np.argmax(wrong))
    return (
        f"{np.count_nonzero(wrong)} of {wrong.size} numbers differ from the stored results, "
        f"the first by {apart[at]:.3g} ({found[at]:.6g} instead of {stored[at]:.6g})"
    )


def disagreements(names: Sequence[str], found: Sequence[Array], stored: Sequence[Array]) -> dict[str, str]:
    """Return by name how results differ from stored ones; a name may have several. Empty where all agree."""
    if not found or (
        all(result.size == expected.size for result, expected in zip(found, stored, strict=True))
        and _agree(np.concatenate(found, axis=None), np.concatenate(stored)).all()
    ):
        return {}
    faults: dict[str, str] = {}
    for name, result, expected in zip(names, found, stored, strict=True):
        fault = _disagreement(result.reshape(-1), expected)
        if fault:
            faults.setdefault(name, fault)
    return faults


def check_layout(subpackage: str, part: Any, layout: Layout) -> list[KernelCheck]:
    """Compare the layouts of a part with Python's."""
    checks = []
    for name, expected in layout.items():
        found = getattr(part, name, None)
        if isinstance(expected, Mapping):
            agrees = isinstance(found, dict) and found.items() <= expected.items()
        else:
            agrees = found == expected
        fault = "" if agrees else f"is {found} in the extension and {expected} in Python; build the extension again"
        checks.append(KernelCheck(subpackage, "", name, fault))
    return checks


def check_cases(subpackage: str, part: Any, cases: Cases) -> list[KernelCheck]:
    """Compare every entry point of a part without instruction sets with its stored results.

    The file holds the number of cases, how many numbers each gives, and these numbers.
    """
    try:
        numbers = stored_results(subpackage)
        lengths = [int(length) for length in numbers[1 : 1 + int(numbers[0])]]
        ends = [1 + len(lengths) + end for end in accumulate(lengths, initial=0)]
        stored = [numbers[begin:end] for begin, end in pairwise(ends)]
        if len(stored) != len(cases) or ends[-1] != numbers.size:
            raise ValueError(f"{subpackage}.f64 belongs to other cases")
    except (OSError, ValueError, IndexError, OverflowError) as error:
        return [KernelCheck(subpackage, "", kernel, f"its stored results cannot be read: {error}") for kernel in cases]
    names, found, kept = [], [], []
    faults: dict[str, str] = {}
    for (kernel, run), expected in zip(cases.items(), stored, strict=True):
        try:
            found.append(flat(run(part)))
        except Exception as error:  # whatever wrong native code raises, it is wrong
            faults[kernel] = f"raised {type(error).__name__}: {error}"
            continue
        names.append(kernel)
        kept.append(expected)
    faults |= disagreements(names, found, kept)
    return [KernelCheck(subpackage, "", kernel, faults.get(kernel, "")) for kernel in cases]


def flat(numbers: Iterable[float]) -> Array:
    """Return numbers as one row."""
    return np.array(list(numbers), dtype=np.float64)


def processor() -> str:
    """Return the name of this machine's CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def faults_message(faults: Iterable[KernelCheck], compiler: str) -> str:
    """Return a message about native code that disagrees: which, on which CPU, built by which compiler."""
    kernels = "; ".join(fault.message for fault in faults)
    return (
        f"native code disagrees with the stored results of its specification on this machine (CPU: {processor()}; "
        f"compiler: {compiler}): {kernels}"
    )


def warn_of(faults: Iterable[KernelCheck], compiler: str, instead: str) -> None:
    """Warn, once for all faults, that something else computes."""
    message = faults_message(faults, compiler)
    warnings.warn(
        f"{message}. {instead} Build with another compiler, and please report this",
        RuntimeWarning,
        stacklevel=3,
    )


def forced_set() -> str:
    """Return the instruction set that COUNTERPOISE_ISA asks for; "" for the best."""
    return os.environ.get("COUNTERPOISE_ISA", "")
