"""The native kernels of every instruction set, side by side in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from counterpoise.dynamics import kernel
from counterpoise.dynamics.reference import ReferenceKernel
from native_builds import made_build


@dataclass(frozen=True)
class NativeSet:
    """The kernels of one instruction set of one build."""

    label: str
    part: Any
    name: str

    def kernel(self, tree: Any) -> Any:
        """A kernel for a tree."""
        return self.part.make_kernel(ReferenceKernel)(tree, self.name)


def set_names() -> list[str]:
    """The instruction sets that this machine has, of the installed extension; none where it is not in use."""
    return list(kernel._PART.instruction_sets()) if kernel.NATIVE else []


def installed_sets() -> list[NativeSet]:
    """Their kernels."""
    return [NativeSet(name, kernel._PART, name) for name in set_names()]


def eight_lanes(compiler: str = "system") -> NativeSet:
    """The eight-lane templates, compiled for AVX2: they run where there is no AVX-512. Skips without a compiler."""
    return NativeSet(f"eight lanes on AVX2, {compiler} compiler", made_build(compiler), "avx512")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Let robots that are made in the meantime compute with an instruction set of the installed extension."""
    before = kernel._PART.instruction_set()
    kernel._PART.use(name)
    try:
        yield
    finally:
        kernel._PART.use(before)
