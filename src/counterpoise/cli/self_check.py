"""``counterpoise doctor --self``: whether this installation is whole, and what would fix it."""

from __future__ import annotations

import importlib
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any, Literal

from .. import __version__
from ..dynamics import NATIVE, check_instruction_set
from ..foundation import EXTENSION, PARTS, KernelCheck, check_part, native_disabled
from ..recording import ZSTD_MODULE

MUJOCO_FIX = "pip install --force-reinstall --no-deps mujoco mujoco-core mujoco-studio"
"""Since MuJoCo 4 is split into several packages, an upgrade in place may leave files of two versions."""

EXTRAS: dict[str, tuple[tuple[str, ...], str]] = {
    "sim": (("mujoco",), "simulated arms, MJCF files"),
    "report": (("jinja2", "plotly"), "pages"),
    "view": (("viser", "trimesh"), "the arm in 3D"),
    "parquet": (("pyarrow",), "Parquet files"),
    "ros": (("lz4.frame", ZSTD_MODULE), "compressed bags"),
    "xacro": (("xacrodoc",), "xacro files"),
}
"""Modules behind each extra, and what it is for."""


@dataclass(frozen=True, slots=True)
class SelfFinding:
    """One thing that was looked at.

    Attributes:
        what: What it is.
        state: "good", "missing" (optional) or "broken".
        details: What was found.
        remedy: What to do; "" where nothing needs to be done.
        kernels: Of native code, each entry point compared with its stored results.
    """

    what: str
    state: Literal["good", "missing", "broken"]
    details: str
    remedy: str = ""
    kernels: tuple[KernelCheck, ...] = ()


def self_check() -> list[SelfFinding]:
    """Look at Python, native kernels and whether they compute right here, and extras."""
    return [_python(), _native(), *_native_checks(), *(_extra(name) for name in EXTRAS)]


def document(findings: list[SelfFinding]) -> dict[str, Any]:
    """Return the findings as JSON has them."""
    broken = any(each.state == "broken" for each in findings)
    return {"valid": not broken, "findings": [asdict(each) for each in findings]}


def _python() -> SelfFinding:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy"))
    return SelfFinding("python", "good", f"{platform.python_version()}, counterpoise {__version__}, {versions}")


def _native() -> SelfFinding:
    if native_disabled():
        return SelfFinding("native kernels", "missing", "disabled by COUNTERPOISE_DISABLE_NATIVE", "unset it")
    again = "install a C++ compiler, then: pip install --force-reinstall --no-deps counterpoise"
    try:
        importlib.import_module(EXTENSION)
    except ModuleNotFoundError:
        details = (
            "none: the Python specifications serve; gravity takes half a millisecond a call, and batches some hundred "
            "times longer"
        )
        return SelfFinding("native kernels", "missing", details, again)
    except ImportError as error:
        return SelfFinding("native kernels", "broken", str(error), again)
    return SelfFinding(
        "native kernels", "good", f"for {', '.join(PARTS)}; {NATIVE or 'and the NumPy reference for dynamics'}"
    )


def _native_checks() -> list[SelfFinding]:
    """Compare every part of the extension, and every instruction set of this machine, with the stored results."""
    if native_disabled():
        return []
    try:
        extension = importlib.import_module(EXTENSION)
    except ImportError:
        return []  # _native() says so
    findings = []
    for name in PARTS:
        part = getattr(extension, name)
        if name != "dynamics":
            findings.append(_judged(f"native code of '{name}'", check_part(name, part), part.COMPILER))
            continue
        for each in part.instruction_sets():
            used = ", in use" if each == NATIVE else ""
            checks = check_instruction_set(part, each)
            findings.append(_judged(f"native code of '{name}' ({each}{used})", checks, part.COMPILER))
    return findings


def _judged(what: str, checks: list[KernelCheck], compiler: str) -> SelfFinding:
    wrong = [check for check in checks if check.fault]
    marks = ", ".join(f"{'✗' if check.fault else '✓'} {check.kernel}" for check in checks)
    if not wrong:
        return SelfFinding(what, "good", f"agrees with the stored results: {marks}", kernels=tuple(checks))
    faults = "; ".join(f"{check.kernel}: {check.fault}" for check in wrong)
    return SelfFinding(
        what,
        "broken",
        f"disagrees with the stored results, and is not used: {faults} (compiler: {compiler}): {marks}",
        "build with another compiler (CXX=clang++ pip install --force-reinstall --no-deps --no-binary counterpoise "
        "counterpoise), and please report this",
        kernels=tuple(checks),
    )


def _extra(name: str) -> SelfFinding:
    modules, purpose = EXTRAS[name]
    what = f"extra '{name}' ({purpose})"
    found = []
    for module in modules:
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                return SelfFinding(what, "broken", f"{module}: {error}", f"pip install --force-reinstall {module}")
            return SelfFinding(what, "missing", f"{module} is not installed", f"pip install 'counterpoise[{name}]'")
        except (ImportError, OSError) as error:
            fixed = MUJOCO_FIX if module == "mujoco" else f"pip install --force-reinstall {module}"
            return SelfFinding(what, "broken", f"{module} does not import: {error}", fixed)
        found.append(f"{module} {getattr(imported, '__version__', '')}".strip())
    if name == "sim" and (failed := _mujoco_works()):
        return SelfFinding(what, "broken", failed, MUJOCO_FIX)
    return SelfFinding(what, "good", ", ".join(found))


def _mujoco_works() -> str:
    """Return what is wrong with MuJoCo; "" where a small model compiles and steps."""
    import mujoco

    try:
        model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
        mujoco.mj_step(model, mujoco.MjData(model))
    except (AttributeError, OSError, RuntimeError, ValueError) as error:
        return f"mujoco imports and does not work: {error}"
    return ""
