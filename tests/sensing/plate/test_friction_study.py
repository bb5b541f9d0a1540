"""A small version of studies/base_sensor_friction.py: friction, gains and masses of simulated arms on their plates."""

from __future__ import annotations

import numpy as np
import pytest

from library.study_module import load_study

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(scope="module")
def study():
    return load_study("base_sensor_friction")


@pytest.mark.parametrize(("arm", "informed"), [("puma550", 3), ("wam7", 4)])
def test_friction_and_gains_of_a_simulated_arm(study, arm, informed) -> None:
    """Curves within 5 % of the Coulomb level, gains within 2 %, rotors near; gravity at unseen poses; silent wrists."""
    run = study.simulated(arm, 11, 20.0)
    model = study.wrong_model(run.robot, 11)
    found = study.plate_friction(model, run.log, study.plate_of(run, model))
    for joint in range(informed):
        entry = found.joints[joint]
        assert entry.determined, entry.reason
        assert study.curve_error(run, found, joint) < 0.05
        assert entry.gain == pytest.approx(run.gains[joint], rel=0.02)
        assert entry.rotor_inertia == pytest.approx(run.robot.rotor_inertia[joint], rel=0.2)
    assert not found.joints[-1].determined and "no information" in found.joints[-1].reason
    for joint, entry in enumerate(found.joints[informed:], informed):
        # What is printed of a wrist at all lies near the truth.
        assert not entry.determined or abs(entry.gain - run.gains[joint]) < max(4.0 * entry.gain_std, 0.02)
    errors = study.gravity_errors(run, found.parameters)
    assert errors["fitted moment"] < 0.12 * errors["described moment"]
    assert errors["fitted torque"] < 0.3 * errors["described torque"]
    assert found.parameters.lag == pytest.approx(2.25e-3, abs=5e-4)  # √2/ω of the plate's 100 Hz filter


def test_without_friction_there_is_none(study) -> None:
    """Control run of the PUMA: what is left is the amplifiers' offsets, and no term is printed."""
    run = study.simulated("puma550", 12, 20.0, frictionless=True)
    model = study.wrong_model(run.robot, 12)
    found = study.plate_friction(model, run.log, study.plate_of(run, model))
    for joint, entry in enumerate(found.joints[:3]):
        assert entry.determined, entry.reason
        left = entry.curve.friction + run.offset[joint]
        assert np.abs(left).max() < 0.05
        assert np.all(np.abs(left) < 4.0 * entry.curve.std + 0.01)
        assert entry.gain == pytest.approx(run.gains[joint], rel=0.02)


def test_the_tables_of_the_page(study) -> None:
    """A row per joint, and "no information" where no run knew it."""
    run = {
        "determined": [True, False],
        "curve_error": [0.01, float("nan")],
        "gain_error": [-0.002, float("nan")],
        "gain_std": [0.001, float("nan")],
        "rotor_error": [0.01, float("nan")],
        "gravity": dict.fromkeys(("described moment", "fitted moment", "described torque", "fitted torque"), 1.0),
    }
    lines = study.friction_table([run, run])
    assert len(lines) == 4 and "2 of 2" in lines[2] and "no information" in lines[3]
    assert len(study.gravity_table({"arm": [run]})) == 3
