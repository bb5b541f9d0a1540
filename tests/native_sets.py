"""The native kernels of every instruction set, side by side in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from counterpoise.dynamics import kernel
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.sensing import ReferencePlateKernel
from native_builds import made_build


@dataclass(frozen=True)
class NativeSet:
    """The kernels of one instruction set of one build."""

    label: str
    module: Any
    name: str

    def kernel(self, tree: Any) -> Any:
        """A kernel for a tree."""
        return self.module.make_kernel(ReferenceKernel)(tree, self.name)

    def plate(self, tree: Any) -> Any:
        """A bare plate's kernel for a tree."""
        kernel_of_robot = self.kernel(tree)
        return self.module.make_plate_kernel(ReferencePlateKernel)(kernel_of_robot)


def set_names() -> list[str]:
    """The instruction sets that this machine has, of the installed extension; none where it is not in use."""
    return list(kernel._MODULE.instruction_sets()) if kernel.NATIVE else []


def installed_sets() -> list[NativeSet]:
    """Their kernels."""
    return [NativeSet(name, kernel._MODULE, name) for name in set_names()]


def eight_lanes(compiler: str = "system") -> NativeSet:
    """The eight-lane templates, compiled for AVX2: they run where there is no AVX-512. Skips without a compiler."""
    return NativeSet(f"eight lanes on AVX2, {compiler} compiler", made_build(compiler), "avx512")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Let robots that are made in the meantime compute with an instruction set of the installed extension."""
    before = kernel._MODULE.instruction_set()
    kernel._MODULE.use(name)
    try:
        yield
    finally:
        kernel._MODULE.use(before)
