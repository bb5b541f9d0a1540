"""Builds the native code: one extension, each translation unit with its own flags.

The extension is optional: without a C++ compiler the package installs and computes with its Python specifications.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("src", "counterpoise", "native")
X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "x86")
MSVC = sys.platform == "win32"
# MSVC has no vector extensions: there the portable lanes and the baseline kernel serve.
WITH_AVX = X86 and not MSVC
AVX2 = ["-mavx2", "-mfma"]
AVX512 = ["-mavx512f", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"]
# Not contracted: these repeat their Python specification bit by bit. The filter and the steppers have the same bytes
# whichever instructions the compiler may use; a number read is Python's float() of its text.
EXACT = [] if MSVC else ["-ffp-contract=off"]
FLAGS_OF = {
    "module.cpp": [],
    "sensing.cpp": [],
    "control.cpp": EXACT,
    "plants.cpp": EXACT,
    "recording.cpp": EXACT,
    "dynamics.cpp": [],
    "dynamics/kernels_baseline.cpp": [],
    **({"dynamics/kernels_avx2.cpp": AVX2, "dynamics/kernels_avx512.cpp": AVX512} if WITH_AVX else {}),
}
"""Sources, and what each is compiled with besides the flags of all."""
UNIX_FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-ffp-contract=fast", "-g0"]
COMMON = ["/O2", "/std:c++17", "/EHsc"] if MSVC else UNIX_FLAGS
# Further flags for the compiler and the linker, after ours: 'make sanitize' builds with the sanitizers this way.
MORE = os.environ.get("COUNTERPOISE_EXTRA_FLAGS", "").split()

# A wheel without its kernels would be worse than none; elsewhere the specifications serve.
OPTIONAL = not os.environ.get("COUNTERPOISE_REQUIRE_NATIVE")


class BuildPerSource(build_ext):
    """Compiles each source with its own flags, and says what could not be built."""

    def run(self) -> None:
        """Build; without a compiler, tell what serves instead. pip shows it with -v."""
        super().run()
        if not all(os.path.exists(self.get_ext_fullpath(ext.name)) for ext in self.extensions):
            self.warn(
                "the native extension was not built. The package works without it, by its Python specifications, and "
                "is slower. Install a C++17 compiler and install again; 'counterpoise doctor --self' says what is there"
            )

    def build_extension(self, ext: Extension) -> None:
        """Wrap the compiler's single-file step so that it adds the flags that belong to the file."""
        original = getattr(self.compiler, "_compile", None)
        if original is not None:

            def compile_one(obj, src, extension, cc_args, extra_postargs, pp_opts):  # type: ignore[no-untyped-def]
                own = FLAGS_OF[Path(src).relative_to(NATIVE).as_posix()]
                original(obj, src, extension, cc_args, [*extra_postargs, *own, *MORE], pp_opts)

            self.compiler._compile = compile_one
        ext.extra_link_args = [*ext.extra_link_args, *MORE]
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "counterpoise._native",
            sources=[(NATIVE / name).as_posix() for name in FLAGS_OF],
            depends=[path.as_posix() for path in sorted(NATIVE.rglob("*")) if path.suffix in (".hpp", ".inl")],
            include_dirs=[numpy.get_include()],
            define_macros=[("COUNTERPOISE_AVX", "1")] if WITH_AVX else [],
            extra_compile_args=COMMON,
            language="c++",
            optional=OPTIONAL,
        )
    ],
    cmdclass={"build_ext": BuildPerSource},
)
