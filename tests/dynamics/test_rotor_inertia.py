"""Rotor inertias: stated, unknown, or stated to be none; never assumed."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import InputError
from library.two_link_arm import two_links

WAM = cp.load("wam7")


def test_a_urdf_file_leaves_them_unknown(tmp_path: Path) -> None:
    """0 in the array, and marked as not known; what was stated by name is known, and the rest stays unknown."""
    robot = two_links(tmp_path)
    assert robot.rotor_inertia.tolist() == [0.0, 0.0] and robot.rotor_inertia_known.tolist() == [False, False]
    stated = cp.load(tmp_path / "two_links.urdf", rotor_inertia={"joint2": 0.0})
    assert stated.rotor_inertia_known.tolist() == [False, True]
    whole = cp.load(tmp_path / "two_links.urdf", rotor_inertia=[0.4, 0.1])
    assert whole.rotor_inertia.tolist() == [0.4, 0.1] and whole.rotor_inertia_known.all()


def test_tables_and_mjcf_state_them() -> None:
    """The catalog knows all of its rotors, the Titan's hydraulic drives have none; an armature of 0 says nothing."""
    for entry in cp.catalog():
        assert cp.load(entry.name).rotor_inertia_known.all(), entry.name
    assert not cp.load("titan2").rotor_inertia.any()


def test_mjcf_armature_is_known_and_its_default_is_not(tmp_path: Path) -> None:
    """MuJoCo's default of 0 is no statement."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    body = '<body><joint name="{}" axis="0 1 0" {}/><geom size=".1" mass="1"/>{}</body>'
    bodies = body.format("a", 'armature="0.2"', body.format("b", "", ""))
    path = tmp_path / "arm.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    robot = cp.load(path)
    assert dict(zip(robot.joint_names, robot.rotor_inertia_known.tolist(), strict=True)) == {"a": True, "b": False}


def test_they_stay_with_the_robot() -> None:
    """Through a payload, a mounting, a copy and a pickle; the arrays are read-only; None makes one unknown again."""
    robot = WAM.with_rotor_inertia({"joint1": None, "joint2": 0.5})
    for other in (
        robot.with_payload(1.0),
        robot.mounted(rpy=[0.1, 0.0, 0.0]),
        copy.deepcopy(robot),
        pickle.loads(pickle.dumps(robot)),
    ):
        assert other.rotor_inertia_known.tolist() == [False] + 6 * [True]
        assert other.rotor_inertia[:2].tolist() == [0.0, 0.5]
        assert not other.rotor_inertia_known.flags.writeable
    assert WAM.rotor_inertia_known.all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([0.1, 0.2], "expected"),
        (np.ones((2, 7)), "shape"),
        ({"elbow": 0.1}, "no joint 'elbow'"),
        ({"joint1": -0.1}, "from 0"),
        ({"joint1": float("nan")}, "from 0"),
        ({"joint1": float("inf")}, "from 0"),
        ({"joint1": True}, "from 0"),
        ({"joint1": "0.1"}, "from 0"),
        ([0.1] * 6 + [-1.0], "joint7"),
    ],
)
def test_nonsense_is_refused(wrong: object, said: str) -> None:
    """With the joint by name."""
    with pytest.raises(InputError, match=said):
        cp.load("wam7", rotor_inertia=wrong)  # type: ignore[arg-type]


@given(st.dictionaries(st.sampled_from(WAM.joint_names), st.none() | st.floats() | st.integers() | st.text(max_size=3)))
def test_anything_gives_a_robot_or_our_error(stated: dict[str, object]) -> None:
    """And a robot has exactly what was stated."""
    try:
        robot = WAM.with_rotor_inertia(stated)  # type: ignore[arg-type]
    except InputError:
        return
    for name, value in stated.items():
        index = WAM.joint_names.index(name)
        assert robot.rotor_inertia_known[index] == (value is not None)
        assert robot.rotor_inertia[index] == (0.0 if value is None else value)
