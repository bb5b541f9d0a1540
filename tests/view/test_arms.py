"""The arms of the page: presets with their drives, others with drives that are assumed and said so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from counterpoise.dynamics import load
from counterpoise.errors import InputError
from counterpoise.view.arms import view_arm

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")

BARE = """<robot name="bare">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.003"/></inertial></link>
  <link name="finger"><inertial><origin xyz="0 0 0.05"/><mass value="0.2"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
  <link name="twin"><inertial><origin xyz="0 0 0.05"/><mass value="0.2"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="finger"/><origin xyz="0 0 0.4"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.04" effort="0" velocity="0"/></joint>
  <joint name="mirror" type="prismatic"><parent link="upper"/><child link="twin"/><origin xyz="0 0 0.4"/>
    <axis xyz="-1 0 0"/><limit lower="0" upper="0.04" effort="5" velocity="1"/><mimic joint="slide"/></joint>
</robot>
"""


@pytest.mark.parametrize("name", ["wam7", "wam7:ground", "puma550:50Hz", "titan2", "dualarm19", "scara", "gantry"])
def test_bundled_arms_have_drives_a_plate_and_a_friction_band(name: str) -> None:
    """Each is ready to float, and lists what it assumes."""
    arm = view_arm(name)
    assert arm.plant.plate is not None
    assert np.all(arm.friction_band > 0.0)
    assert arm.assumed


def test_a_bare_file_gets_limits_and_says_so(tmp_path: Path) -> None:
    """Unknown and zero limits are put in, a joint that mimics is fixed, gravity is the file's own."""
    file = tmp_path / "bare.urdf"
    file.write_text(BARE)
    arm = view_arm(str(file))
    assert arm.robot.joint_names == ("shoulder", "slide")
    assert np.all(np.isfinite(arm.plant.effort_limit) & (arm.plant.effort_limit > 0.0))
    text = " ".join(arm.assumed)
    for word in ("effort limit", "velocity limit", "rotor inertia", "friction", "mirror", "plate"):
        assert word in text
    q = np.array([0.7, 0.02])
    assert arm.robot.gravity(q)[0] == pytest.approx(load(file).gravity(q)[0], rel=1e-9)


def test_what_cannot_float_is_refused() -> None:
    """A flow valve holds by itself; a variant of no preset does not exist."""
    with pytest.raises(InputError, match="cannot float"):
        view_arm("titan2:flow-valve")
    with pytest.raises(InputError, match="no preset 'scara'"):
        view_arm("scara:fast")
