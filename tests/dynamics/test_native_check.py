"""Native code proves itself where it runs: stored results, broken kernels that are caught, and what serves instead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.dynamics import kernel, kernel_cases
from counterpoise.dynamics.reference import ReferenceKernel
from counterpoise.foundation import native_check, native_module
from library.native_builds import built, made_build
from store_results import SPECIFICATIONS, all_results

native_only = pytest.mark.skipif(not kernel.NATIVE, reason="the native kernel is not built or is disabled")
SUBPACKAGES = tuple(SPECIFICATIONS)
ENTRY_POINTS = [(subpackage, name) for subpackage, (cases, _) in SPECIFICATIONS.items() for name in cases]


def faults(checks: list[native_check.KernelCheck]) -> dict[str, str]:
    return {check.kernel: check.fault for check in checks if check.fault}


# ----------------------------------------------------------------------------------------------------- stored results


def test_the_stored_results_are_those_of_the_specifications() -> None:
    """To rounding: tests/store_results.py would write the same files.

    Of many turns the positions have 1e-9 left, and gravity depends on the order in which a processor's BLAS adds: 3e-9
    between AVX2 and AVX-512. All else agrees to 1e-10.
    """
    expected = all_results()
    far = {
        name: np.abs(native_check.stored_results(name) - numbers) / (1.0 + np.abs(numbers))
        for name, numbers in expected.items()
    }
    assert all(apart.max() <= 1e-10 for name, apart in far.items() if name != "dynamics"), "run tests/store_results.py"
    # Where in the file the operations lie, as kernel_cases.stored_arms reads it.
    beyond = set(np.flatnonzero(far["dynamics"] > 1e-10).tolist())
    begin = 0
    allowed: set[int] = set()
    for stored in kernel_cases.stored_arms():
        begin += sum(np.size(getattr(stored.tree, field)) for field in kernel_cases.TREE_FIELDS)
        for operation, (_, rows) in zip(stored.arm.operations, stored.results, strict=True):
            begin += 1
            if "many turns" in operation.kernel:
                allowed |= set(range(begin, begin + rows.size))
            begin += rows.size
    assert begin == far["dynamics"].size
    assert beyond <= allowed, "run tests/store_results.py"
    assert far["dynamics"].max() <= 0.5 * native_check.TOLERANCE, "run tests/store_results.py"


def test_the_arms_are_of_every_kind_and_their_poses_differ() -> None:
    """Serial and branching, rotary and linear, with mimics and swung axes; long enough for whole vectors of joints."""
    serial, linear, tree, mixed = (stored.tree for stored in kernel_cases.stored_arms())
    assert list(serial.parent) == list(range(-1, 8)) and not serial.kind.any()
    assert list(linear.parent) == [-1, 0, 1, 2] and list(linear.kind) == [0, 1, 0, 0]
    assert not tree.kind.any() and sorted(tree.parent)[:2] == [-1, -1] and len(set(tree.parent)) < len(tree.parent)
    assert mixed.kind.sum() == 2 and len(mixed.q_gain) > len(mixed.joint_names) and set(mixed.q_gain) != {1.0}
    for arm in kernel_cases.ARMS:
        for rows in kernel_cases.poses(arm.n):
            assert len({row.tobytes() for row in rows}) == len(rows) == 33
    tilted = np.abs(serial.gravity_base)
    assert tilted.min() > 1.0


@native_only
def test_every_set_of_this_machine_agrees() -> None:
    """And the check of the set in use takes little time: measured 2 ms, here with room for a busy machine."""
    part = kernel._PART
    for name in part.instruction_sets():
        checks = kernel.check_instruction_set(part, name)
        assert [check.kernel for check in checks] == list(kernel_cases.NAMES) and faults(checks) == {}, name
    took = []
    for _ in range(30):
        begun = time.process_time()
        kernel.check_instruction_set(part, kernel.NATIVE)
        took.append(time.process_time() - begun)
    assert min(took) < 0.015


@native_only
@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_the_parts_without_sets_agree(subpackage: str) -> None:
    """Every entry point of them has a stored case, and gives it; every layout that they name is compared."""
    part = native_module.unchecked_part(subpackage)
    assert faults(native_module.check_part(subpackage, part)) == {}
    public = {name: value for name, value in vars(part).items() if not name.startswith("_") and name != "COMPILER"}
    covered = {name.partition(".")[0] for name in SPECIFICATIONS[subpackage][0]}
    covered = {name.replace("FilterCore", "NativeFilterCore") for name in covered}
    assert {name for name, value in public.items() if callable(value)} == covered
    layout = import_module(f"counterpoise.{subpackage}.kernel_cases").LAYOUT
    assert {name for name, value in public.items() if not callable(value)} == set(layout)


@native_only
def test_every_part_is_known() -> None:
    """The extension has a namespace for each subpackage of PARTS, and those of the dynamics are all compared."""
    extension = import_module(native_module.EXTENSION)
    assert {name for name in vars(extension) if not name.startswith("_")} == set(native_module.PARTS)
    assert set(SUBPACKAGES) | {"dynamics"} == set(native_module.PARTS)
    assert faults(native_check.check_layout("dynamics", kernel._PART, kernel_cases.LAYOUT)) == {}
    named = {name for name, value in vars(kernel._PART).items() if isinstance(value, dict | tuple)}
    assert named == set(kernel_cases.LAYOUT)


# ------------------------------------------------------------------------------------------------- broken on purpose


@pytest.mark.parametrize("name", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize("compiler", ["system", "ziglang"])
def test_every_broken_instantiation_is_caught(compiler: str, name: str) -> None:
    """Each template instantiation of a set (8, 4, 2 lanes) is made wrong by 1e-4 in one lane, and the check sees it."""
    module = made_build(compiler)
    lanes = module.instruction_sets()[name]
    kernel_type, arms = module.make_kernel(ReferenceKernel), kernel_cases.stored_arms()
    stations = [(index, place, poses) for index, (own, place, poses) in enumerate(module.stations()) if own == lanes]
    assert len(stations) > 100 and {poses for _, _, poses in stations} >= {1, lanes, 2 * lanes}
    assert faults(kernel_cases.check_set(module, kernel_type, name, arms)) == {}
    try:
        for index, place, poses in stations:
            for lane in {-1} if poses == 1 else {index % poses, poses - 1}:
                module.spoil(index, lane)
                assert faults(kernel_cases.check_set(module, kernel_type, name, arms)), (place, lane)
    finally:
        module.spoil(-1, -1)


def test_lanes_without_vector_extensions_agree() -> None:
    """What compilers without them build computes the same."""
    module = made_build("portable")
    assert list(module.instruction_sets()) == ["baseline"]
    assert faults(kernel.check_instruction_set(module, "baseline")) == {}


def station_of(module: Any, lanes: int, words: str) -> int:
    stations = enumerate(module.stations())
    return next(i for i, (own, place, poses) in stations if own == lanes == poses and words in place)


def test_a_set_that_disagrees_is_passed_over_with_one_warning() -> None:
    """The next lower one is used; the warning names CPU, compiler and kernel. Forced, it is an error."""
    module = made_build()
    try:
        assert kernel.choose_set(module) == "avx512"  # what is right gives no warning
        module.spoil(station_of(module, 8, "plate_pass_of_chain"), 3)
        with pytest.warns(RuntimeWarning) as caught:
            assert kernel.choose_set(module) == "avx2" == module.instruction_set()
        assert len(caught) == 1
        text = str(caught[0].message)
        for words in (
            native_check.processor(),
            module.COMPILER,
            "dynamics.base_torques",
            "(avx512)",
            "avx2 is used instead",
        ):
            assert words in text, words
        assert "gravity (avx512)" not in text
        with pytest.raises(cp.InputError, match=r"COUNTERPOISE_ISA=avx512.*base_torques") as refused:
            kernel.choose_set(module, "avx512")
        assert module.COMPILER in str(refused.value)
        assert kernel.choose_set(module, "baseline") == "baseline"
    finally:
        module.spoil(-1, -1)
        module.use("avx512")


@native_only
def test_below_the_lowest_set_the_reference_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no set agrees, or the stored results cannot be read, one warning says that the slow reference is used."""
    arms = kernel_cases.stored_arms()
    width, rows = arms[2].results[0]
    arms[2].results[0] = (width, rows + np.where(np.arange(rows.size) == 5, 1e-6, 0.0))
    monkeypatch.setattr(kernel, "stored_arms", lambda: arms)
    before = kernel._PART.instruction_set()
    with pytest.warns(RuntimeWarning, match=r"dynamics\.gravity .*slow NumPy reference") as caught:
        assert kernel.choose_set(kernel._PART) == ""
    assert len(caught) == 1 and all(name in str(caught[0].message) for name in kernel._PART.instruction_sets())
    assert kernel._PART.instruction_set() == before
    monkeypatch.setattr(kernel, "stored_arms", kernel_cases.stored_arms)
    for damaged in (b"", b"123", np.zeros(9).tobytes(), np.full(20_000, np.nan).tobytes()):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native_check.Path, "read_bytes", lambda _, damaged=damaged: damaged)
            with pytest.warns(RuntimeWarning, match="reference is used"), np.errstate(invalid="ignore"):
                assert kernel.choose_set(kernel._PART) == ""


STARTED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("counterpoise._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for index, (lanes, place, poses) in enumerate(module.dynamics.stations()):
    if lanes == 8 and poses == 16 and sys.argv[2] in place:
        module.dynamics.spoil(index, 5)
sys.modules["counterpoise._native"] = module
import counterpoise as cp
from counterpoise.dynamics import kernel
print(kernel.NATIVE, cp.load("pendulum").gravity([0.3]).tolist())
"""


def started(broken: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that imports counterpoise with a test build, wrong where ``broken`` says."""
    command = [sys.executable, "-c", STARTED, str(built("system")), broken]
    own = {name: value for name, value in os.environ.items() if name != "COUNTERPOISE_ISA"}
    return subprocess.run(command, env=own | environment, capture_output=True, text=True, check=False)


def test_a_fresh_process_does_not_use_a_broken_set() -> None:
    """From import on: right torques of a lower set and one warning; an error where the set is forced."""
    done = started("gravity_pass")
    assert done.stdout.startswith("avx2 ") and done.stderr.count("RuntimeWarning") == 1, done.stderr
    assert "dynamics.gravity (avx512)" in done.stderr
    right = started("nothing of this name")
    assert right.stdout.startswith("avx512 ") and right.stderr == ""
    assert done.stdout.split()[1:] == right.stdout.split()[1:]
    forced = started("gravity_pass", COUNTERPOISE_ISA="avx512")
    assert forced.returncode == 1 and "InputError: COUNTERPOISE_ISA=avx512" in forced.stderr


def without(specification: Any, entry: str) -> Any:
    """A specification in which one entry point does nothing."""
    name, _, method = entry.partition(".")
    name = {"FilterCore": "NativeFilterCore"}.get(name, name)
    if not method:
        return SimpleNamespace(**{**vars(specification), name: lambda *_: 0})
    broken = type("Broken", (getattr(specification, name),), {method: lambda *_: 0})
    return SimpleNamespace(**{**vars(specification), name: broken})


@pytest.mark.parametrize(("subpackage", "entry"), ENTRY_POINTS)
def test_every_broken_entry_point_is_caught(subpackage: str, entry: str) -> None:
    """One that does nothing is seen; the whole specification agrees."""
    cases, specification = SPECIFICATIONS[subpackage]
    assert faults(native_check.check_cases(subpackage, specification, cases)) == {}
    assert entry in faults(native_check.check_cases(subpackage, without(specification, entry), cases))


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_a_part_that_disagrees_is_not_used(subpackage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning names subpackage, entry point, CPU and compiler; the Python specification serves."""
    cases, specification = SPECIFICATIONS[subpackage]
    layout = import_module(f"counterpoise.{subpackage}.kernel_cases").LAYOUT
    named = {name: each if isinstance(each, tuple) else dict(each) for name, each in layout.items()}
    named["COMPILER"] = "gcc 0.9"
    entry = next(iter(cases))
    broken = SimpleNamespace(**named, **vars(without(specification, entry)))
    monkeypatch.setattr(native_module, "unchecked_part", lambda _: broken)
    with pytest.warns(RuntimeWarning) as caught:
        assert native_module.native_part.__wrapped__(subpackage) is None
    assert len(caught) == 1
    for words in (f"{subpackage}.{entry}", "gcc 0.9", native_check.processor(), f"'{subpackage}' is used instead"):
        assert words in str(caught[0].message)
    whole = SimpleNamespace(**named, **vars(specification))
    monkeypatch.setattr(native_module, "unchecked_part", lambda _: whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native_module.native_part.__wrapped__(subpackage) is whole
    for name, changed in changed_layouts(layout):
        other = SimpleNamespace(**{**vars(whole), name: changed})
        monkeypatch.setattr(native_module, "unchecked_part", lambda _, other=other: other)
        with pytest.warns(RuntimeWarning, match=rf"{subpackage}\.{name}: .*build the extension again"):
            assert native_module.native_part.__wrapped__(subpackage) is None
    monkeypatch.setattr(native_module, "unchecked_part", lambda _: whole)
    monkeypatch.setattr(native_check, "STORED", native_check.STORED / "elsewhere")
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert native_module.native_part.__wrapped__(subpackage) is None


def changed_layouts(layout: native_check.Layout) -> Iterator[tuple[str, Any]]:
    """Every layout missing, with a number more by one, an unknown name, two names swapped, or a name fewer."""
    for name, each in layout.items():
        yield name, None
        if isinstance(each, tuple):
            yield name, (each[1], each[0], *each[2:])
            yield name, each[:-1]
        else:
            first, *_ = each
            yield name, {**each, first: each[first] + 1}
            yield name, {**each, "ANOTHER": 1}


@native_only
def test_kernels_built_from_other_sources_are_not_used() -> None:
    """Of the dynamics too: whatever the instruction set, with one warning; where a set is forced, an error."""
    for name, changed in changed_layouts(kernel_cases.LAYOUT):
        others = {each: getattr(kernel._PART, each) for each in dir(kernel._PART) if not each.startswith("_")}
        other = SimpleNamespace(**{**others, name: changed})
        with pytest.warns(RuntimeWarning, match=rf"dynamics\.{name}: .*reference is used") as caught:
            assert kernel.choose_set(other) == ""
        assert len(caught) == 1
        with pytest.raises(cp.InputError, match=f"COUNTERPOISE_ISA=baseline.*{name}"):
            kernel.choose_set(other, "baseline")


@native_only
def test_a_kernel_that_accepts_nan_is_caught() -> None:
    """The refusal of NaN is checked in every lane, behind whole vectors, and for one pose."""
    arm = kernel_cases.stored_arms()[1]
    kernels = kernel.Kernel(arm.tree)
    q = kernel_cases.poses(4).q

    class Careless:
        def __init__(self, blind: int) -> None:
            self.blind = blind

        def gravity(self, rows: Any) -> Any:
            if np.isnan(rows.reshape(-1)[self.blind]):
                return np.zeros_like(rows)
            return kernels.gravity(rows)

    assert kernel_cases.refuses(kernels, q, 8)
    assert not any(kernel_cases.refuses(Careless(blind), q, 8) for blind in (*range(4), -1))
