"""C code: compiled without a warning, it gives the robot's torques; bad input and lost bits are told."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.exporters.c_code import c_code, c_prefix
from counterpoise.foundation import Array
from library.calibration_data import other_masses
from library.random_robots import random_robot

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
STRICT = ("-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
ARMS = [entry.name for entry in cp.catalog()]


class Compiled:
    """Generated code, loaded; torque(q) gives what it returns and the torques, which were 7 before the call."""

    def __init__(self, text: str, folder: Path, prefix: str = "arm") -> None:
        (folder / "arm_gravity.h").write_text(text)
        code = '#include "arm_gravity.h"\nint torque(const double *q, double *tau);\nint check(void);\n'
        code += f"int torque(const double *q, double *tau) {{ return {prefix}_gravity(q, tau); }}\n"
        code += f"int check(void) {{ return {prefix}_gravity_check(); }}\n"
        (folder / "arm.c").write_text(code)
        command = [str(COMPILER), "-std=c99", *STRICT, "-shared", "-fPIC", "-o", "arm.so", "arm.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        self._library = ctypes.CDLL(str(folder / "arm.so"))

    def torque(self, q: Array) -> tuple[int, Array]:
        tau, q = np.full(len(q), 7.0), np.ascontiguousarray(q, dtype=float)
        pointers = (values.ctypes.data_as(ctypes.c_void_p) for values in (q, tau))
        return int(self._library.torque(*pointers)), tau

    def check(self) -> int:
        return int(self._library.check())


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Compiled]:
    return lambda text, prefix="arm": Compiled(text, tmp_path, prefix)


def assert_same(robot: cp.Robot, compiled: Compiled, seed: int) -> None:
    for q in np.random.default_rng(seed).uniform(-3.0, 3.0, (20, robot.n)):
        expected = robot.gravity(q)
        told, tau = compiled.torque(q)
        np.testing.assert_allclose(tau, np.clip(expected, -robot.effort_limit, robot.effort_limit), atol=1e-11)
        assert told == int(np.any(np.abs(expected) > robot.effort_limit))
    assert compiled.check() == 0


@pytest.mark.parametrize("name", ARMS)
def test_bundled_arms(name: str, compiled: Callable[..., Compiled]) -> None:
    robot = cp.load(name)
    assert_same(robot, compiled(c_code(robot, "arm")), 0)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_mounts_loads_and_mimics(seed: int, compiled: Callable[..., Compiled]) -> None:
    robot = random_robot(seed).robot()
    assert_same(robot, compiled(c_code(robot, "arm")), seed)


def test_what_is_not_finite_leaves_the_torques_alone(compiled: Callable[..., Compiled]) -> None:
    """NaN and infinity, and positions of linear joints whose torques overflow."""
    gantry = compiled(c_code(cp.load("scara"), "arm"))
    for bad in (np.nan, np.inf, -np.inf, 1e308):
        for joint in range(4):
            told, tau = gantry.torque(np.where(np.arange(4) == joint, bad, 0.1))
            assert np.isfinite(tau).all()
            assert told in (0, 1) if bad == 1e308 else (told == -1 and np.all(tau == 7.0))


def test_torques_are_bounded_by_the_limits(compiled: Callable[..., Compiled]) -> None:
    robot = cp.load("wam7").with_payload(60.0)
    arm = compiled(c_code(robot, "arm"))
    q = np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    told, tau = arm.torque(q)
    assert told == 1
    np.testing.assert_allclose(tau, np.clip(robot.gravity(q), -robot.effort_limit, robot.effort_limit), atol=1e-11)


def test_a_limit_of_zero_is_a_limit(tmp_path: Path, compiled: Callable[..., Compiled]) -> None:
    """A file's effort="0" forbids any torque; it does not mean that none is known."""
    (tmp_path / "arm.urdf").write_text(
        """<robot name="a"><link name="b"/><link name="l"><inertial><origin xyz="0.3 0 0"/><mass value="5"/></inertial>
        </link><joint name="j" type="revolute"><parent link="b"/><child link="l"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="0" velocity="1"/></joint></robot>"""
    )
    told, tau = compiled(c_code(cp.load(tmp_path / "arm.urdf"), "arm")).torque(np.zeros(1))
    assert (told, tau.tolist()) == (1, [0.0])


def test_fast_math_is_refused(tmp_path: Path) -> None:
    """It would not see what is not finite."""
    (tmp_path / "a.c").write_text(c_code(cp.load("planar3"), "arm"))
    done = subprocess.run(
        [str(COMPILER), "-std=c99", "-O2", "-ffast-math", "-c", "a.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "compile without -ffast-math" in done.stderr


def test_two_arms_in_one_program(tmp_path: Path) -> None:
    """Names are distinguished by case, too."""
    for prefix, arm in (("arm", "wam7"), ("Arm", "planar3")):
        (tmp_path / f"{arm}.h").write_text(c_code(cp.load(arm), prefix))
    code = '#include "wam7.h"\n#include "planar3.h"\n'
    code += "int main(void) { return arm_gravity_check() + Arm_gravity_check(); }\n"
    (tmp_path / "two.c").write_text(code)
    subprocess.run([str(COMPILER), "-std=c99", *STRICT, "-o", "two", "two.c", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "two"], check=False).returncode == 0


def test_a_changed_number_is_found_by_the_check(compiled: Callable[..., Compiled]) -> None:
    text = c_code(cp.load("planar3"), "arm")
    begun = text.index("arm_mass[arm_bodies] = {")
    end = text.index("}", begun)
    start = text.rindex(",", begun, end) + 1
    wrong = f"{text[:start]}{float(text[start:end]) + 1e-6!r}{text[end:]}"
    assert compiled(wrong).check() == 4  # every pose


def test_names_and_comments_cannot_break_the_code(compiled: Callable[..., Compiled]) -> None:
    """Robot names become identifiers; text cannot end the comment, continue a line or begin a new one."""
    text = c_code(
        cp.load("planar3"), "a1", about=["*/ int a = ;", "*\\ int b = ;", "/*", "*/*", "/*/", "ends in \\", "c\nd", "ö"]
    )
    assert compiled(text, "a1").check() == 0
    assert f"{c_prefix(cp.load('planar3'))}_gravity(" in c_code(cp.load("planar3"))
    assert re.fullmatch("planar3_[0-9a-f]{8}", c_prefix(cp.load("planar3")))
    for prefix in ("", "1a", "a-b", "a b", "größe", "a\n"):
        with pytest.raises(cp.InputError, match="C identifier"):
            c_code(cp.load("planar3"), prefix)


def test_it_is_c_plus_plus_too(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "a.h").write_text(c_code(cp.load("wam7"), "arm"))
    (tmp_path / "a.cpp").write_text('#include "a.h"\nint main() { return arm_gravity_check(); }\n')
    subprocess.run([compiler, "-std=c++11", *STRICT, "-o", "a", "a.cpp"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a"], check=False).returncode == 0


def others(folder: Path) -> dict[str, cp.Robot]:
    """The WAM as described, with two loads, hung from a wall, with other torque limits and with other masses."""
    wam = cp.load("wam7")
    description = wam.description
    joints = tuple(replace(joint, effort_limit=0.5 * joint.effort_limit) for joint in description.joints)
    return {
        "bare": wam,
        "loaded": wam.with_payload(2.0, com=(0.0, 0.0, 0.1)),
        "heavier": wam.with_payload(2.0 + 1e-12, com=(0.0, 0.0, 0.1)),
        "wall": wam.mounted(rpy=(0.0, np.pi / 2, 0.0)),
        "weaker": cp.Robot(replace(description, joints=joints)),
        "calibrated": other_masses(wam),
    }


@pytest.mark.parametrize("language", ["c99", "c++11"])
def test_headers_of_one_robot_in_one_file(tmp_path: Path, language: str) -> None:
    """Each gives its own torques: none is skipped because another was included before."""
    compiler = COMPILER if language == "c99" else shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    robots = others(tmp_path)
    q = np.array([0.1, 1.4, 0.3, 0.5, -0.2, 0.4, 0.1])
    include, body = "#include <stdio.h>\n", f"double q[7] = {{{', '.join(map(repr, q.tolist()))}}}, tau[7]; int i;\n"
    for name, robot in robots.items():
        (tmp_path / f"{name}.h").write_text(c_code(robot))
        include += f'#include "{name}.h"\n#include "{name}.h"\n'  # twice: the guard of itself still works
        body += f"if ({c_prefix(robot)}_gravity_check() != 0) return 1;\n{c_prefix(robot)}_gravity(q, tau);\n"
        body += 'for (i = 0; i < 7; ++i) printf("%.17g ", tau[i]);\n'
    source = tmp_path / ("all.c" if language == "c99" else "all.cpp")
    source.write_text(f"{include}int main(void) {{\n{body}return 0; }}\n")
    subprocess.run([compiler, f"-std={language}", *STRICT, "-o", "all", source.name, "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "all"], capture_output=True, text=True, check=True)
    found = np.array(done.stdout.split(), dtype=float).reshape(len(robots), 7)
    for tau, robot in zip(found, robots.values(), strict=True):
        np.testing.assert_allclose(tau, np.clip(robot.gravity(q), -robot.effort_limit, robot.effort_limit), atol=1e-11)


def test_one_prefix_for_two_contents_does_not_compile(tmp_path: Path) -> None:
    """Whichever is included first; the same content twice is no error."""
    robots = others(tmp_path)
    (tmp_path / "bare.h").write_text(c_code(robots["bare"], "arm", about=["first"]))
    (tmp_path / "again.h").write_text(c_code(robots["bare"], "arm", about=["written again"]))
    for name in ("loaded", "heavier", "wall", "weaker", "calibrated"):
        (tmp_path / "other.h").write_text(c_code(robots[name], "arm"))
        for first, second in (("bare", "other"), ("other", "bare")):
            (tmp_path / "two.c").write_text(f'#include "{first}.h"\n#include "{second}.h"\n')
            done = subprocess.run(
                [str(COMPILER), "-std=c99", "-c", "two.c"], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode != 0
            assert "other numbers: write one of them with another prefix" in done.stderr
    (tmp_path / "two.c").write_text(
        '#include "bare.h"\n#include "again.h"\nint main(void) { return arm_gravity_check(); }\n'
    )
    subprocess.run([str(COMPILER), "-std=c99", *STRICT, "-o", "two", "two.c", "-lm"], cwd=tmp_path, check=True)
