"""Builds the native code: the dynamics kernel, one translation unit per instruction set with its own flags, and the
steppers of the simulated drives, the safety filter, the recursive estimator, and the readers of recordings.

All extensions are optional: without a C++ compiler the package installs and computes with its NumPy references.
"""

from __future__ import annotations

import os
import platform
import sys

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = "src/counterpoise/dynamics/native"
ESTIMATION = "src/counterpoise/sensing/native"
FILTER = "src/counterpoise/control/native"
READERS = "src/counterpoise/recording/native"
STEPPERS = "src/counterpoise/plants/native"
COMPILER = f"{NATIVE}/compiler.hpp"
X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "x86")
MSVC = sys.platform == "win32"
# MSVC has no vector extensions: there the portable lanes and the baseline kernel serve.
WITH_AVX = X86 and not MSVC
FLAGS_OF = {
    "kernels_avx2.cpp": ["-mavx2", "-mfma"],
    "kernels_avx512.cpp": ["-mavx512f", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"],
}
SOURCES = ["module.cpp", "kernels_baseline.cpp", *(FLAGS_OF if WITH_AVX else ())]
UNIX_FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-ffp-contract=fast", "-g0"]
COMMON = ["/O2", "/std:c++17", "/EHsc"] if MSVC else UNIX_FLAGS
# Further flags for the compiler and the linker, after ours: 'make sanitize' builds with the sanitizers this way.
MORE = os.environ.get("COUNTERPOISE_EXTRA_FLAGS", "").split()

# A wheel without its kernels would be worse than none; elsewhere the references serve.
OPTIONAL = not os.environ.get("COUNTERPOISE_REQUIRE_NATIVE")


class BuildPerSource(build_ext):
    """Compiles each source with the flags of its instruction set, and says what could not be built."""

    def run(self) -> None:
        """Build; without a compiler, tell what serves instead. pip shows it with -v."""
        super().run()
        missing = [ext.name for ext in self.extensions if not os.path.exists(self.get_ext_fullpath(ext.name))]
        if missing:
            self.warn(
                f"not built: {', '.join(missing)}. The package works without them, by its NumPy references, and is "
                "slower. Install a C++17 compiler and install again for the native kernels; "
                "'counterpoise doctor --self' tells which are there"
            )

    def build_extension(self, ext: Extension) -> None:
        """Wrap the compiler's single-file step so that it adds the flags that belong to the file."""
        original = getattr(self.compiler, "_compile", None)
        if original is not None:

            def compile_one(obj, src, extension, cc_args, extra_postargs, pp_opts):  # type: ignore[no-untyped-def]
                own = next((flags for name, flags in FLAGS_OF.items() if src.endswith(name)), [])
                original(obj, src, extension, cc_args, [*extra_postargs, *own, *MORE], pp_opts)

            self.compiler._compile = compile_one
        ext.extra_link_args = [*ext.extra_link_args, *MORE]
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "counterpoise.dynamics._native",
            sources=[f"{NATIVE}/{name}" for name in SOURCES],
            depends=[
                f"{NATIVE}/{name}"
                for name in (
                    "compiler.hpp",
                    "model.hpp",
                    "spoil.hpp",
                    "stations.hpp",
                    "lanes.hpp",
                    "vectors.hpp",
                    "recursions.hpp",
                    "plate.hpp",
                    "poses.hpp",
                    "gravity_regressor.hpp",
                    "kernels.inl",
                    "state.hpp",
                    "construction.hpp",
                    "arguments.hpp",
                    "methods.hpp",
                    "plate_methods.hpp",
                )
            ],
            include_dirs=[numpy.get_include()],
            define_macros=[("COUNTERPOISE_AVX", "1")] if WITH_AVX else [],
            extra_compile_args=COMMON,
            language="c++",
            optional=OPTIONAL,
        ),
        Extension(
            "counterpoise.control._native",
            sources=[f"{FILTER}/module.cpp"],
            depends=[f"{FILTER}/filter.hpp", COMPILER],
            include_dirs=[numpy.get_include()],
            # Not contracted: the filter repeats its Python specification bit by bit.
            extra_compile_args=[*COMMON, *([] if MSVC else ["-ffp-contract=off"])],
            language="c++",
            optional=OPTIONAL,
        ),
        Extension(
            "counterpoise.sensing._native",
            sources=[f"{ESTIMATION}/module.cpp"],
            depends=[COMPILER],
            extra_compile_args=COMMON,
            language="c++",
            optional=OPTIONAL,
        ),
        Extension(
            "counterpoise.recording._native",
            sources=[f"{READERS}/module.cpp"],
            depends=[
                COMPILER,
                *(
                    f"{READERS}/{name}"
                    for name in ("csv_numbers.hpp", "bag_methods.hpp", "bag_records.hpp", "joint_state.hpp")
                ),
            ],
            # Not contracted: a number read is Python's float() of its text, bit by bit.
            extra_compile_args=[*COMMON, *([] if MSVC else ["-ffp-contract=off"])],
            language="c++",
            optional=OPTIONAL,
        ),
        Extension(
            "counterpoise.plants._native",
            sources=[f"{STEPPERS}/module.cpp"],
            depends=[COMPILER, *(f"{STEPPERS}/{name}" for name in ("drive.hpp", "one_joint.hpp"))],
            # Not contracted: a simulation has the same bytes whichever instructions the compiler may use.
            extra_compile_args=[*COMMON, *([] if MSVC else ["-ffp-contract=off"])],
            language="c++",
            optional=OPTIONAL,
        ),
    ],
    cmdclass={"build_ext": BuildPerSource},
)
