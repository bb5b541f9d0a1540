"""Joint torques of a whole recording: bands, joints without information, tares, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.recording import smoothed
from counterpoise.sensing.plate.log_estimate import measured_motion
from counterpoise.sensing.plate.recording_torques import reading_noise, recording_torques
from counterpoise.sensing.plate.recording_verdict import CALIBRATE, judged, used_plate
from counterpoise.sensing.plate.torque_estimate import EstimateFlag
from library.analytic_log import PLATE_POSE, moving_log, standing_log, with_column

PUMA = cp.load("puma560")
BIAS = np.array([3.0, -2.0, 5.0, 0.5, -0.4, 0.2])
"""Zero of the plate in library/analytic_log.py."""
RAW = moving_log(PUMA)
LOG = replace(RAW, wrench=RAW.wrench - BIAS)
STANDING = standing_log(PUMA, [1.0, -1.0])


def truth(log) -> np.ndarray:
    """Torques of the model, which made the recording."""
    dq, ddq = (smoothed(log.time, log.dq, 5.0, derivative=order) for order in (0, 1))
    return PUMA.inverse_dynamics(log.q, dq, ddq)


def test_torques_are_those_of_the_model_within_their_bands():
    """Masses exact, zero known: the plate's torque is the model's, within three bands, and no band is far too wide."""
    found = recording_torques(PUMA, LOG, masses="exact")
    error = found.torque.value - truth(LOG)
    inside = np.abs(error[100:-100]) < 3.0 * found.torque.std[100:-100]
    assert np.all(inside.mean(axis=0) > 0.97)
    rms = np.sqrt(np.mean(error[100:-100] ** 2, axis=0))
    assert np.all([joint.band < 3.0 * own for joint, own in zip(found.joints, rms, strict=True)])
    assert found.form == "full" and found.torque.includes_gravity and not found.dynamic.includes_gravity
    difference = found.torque.value - found.dynamic.value
    assert np.allclose(difference, PUMA.gravity(LOG.q), atol=1e-9)


def test_arm_joints_speak_and_wrist_joints_are_said_to_be_silent():
    """With a CAD model's masses the shoulder stands out; the last wrist joint, which carries 0.09 kg, does not."""
    found = recording_torques(PUMA, LOG)
    by_name = {joint.name: joint for joint in found.joints}
    assert by_name["joint2"].informative and by_name["joint1"].informative
    assert not by_name["joint6"].informative
    assert "does not stand out from its band" in by_name["joint6"].why
    verdict = judged(found)
    assert verdict.level == "good" and "of 6 joints" in verdict.headline
    assert any(sentence.startswith("No information on") and "joint6" in sentence for sentence in verdict.sentences)


def test_pure_noise_is_no_signal():
    """A plate that is nothing but noise tells nothing of any joint, though its torques are far from zero."""
    noise = np.random.default_rng(1).normal(size=LOG.wrench.shape) * [30.0] * 6
    found = recording_torques(PUMA, replace(LOG, wrench=noise))
    assert found.informative == ()
    verdict = judged(found)
    assert verdict.level == "bad" and CALIBRATE in verdict.sentences


def test_what_the_model_does_not_explain_widens_the_bands():
    """A tool of 2 kg that nobody told of: the bands grow over it where it is felt."""
    loaded = moving_log(PUMA.with_payload(2.0, com=(0.0, 0.0, 0.1)))
    with_load = recording_torques(PUMA, replace(loaded, wrench=loaded.wrench - BIAS), masses="exact")
    without = recording_torques(PUMA, LOG, masses="exact")
    assert with_load.joints[1].band > 5.0 * without.joints[1].band
    assert with_load.joints[0].band < 30.0 * without.joints[0].band


def test_short_contact_does_not_widen_them():
    """Half a second of a hand on the arm is not the plate's error."""
    touched = np.array(LOG.wrench)
    touched[1000:1050, 0] += 80.0
    found = recording_torques(PUMA, replace(LOG, wrench=touched), masses="exact")
    plain = recording_torques(PUMA, LOG, masses="exact")
    assert found.joints[1].band < 1.3 * plain.joints[1].band


@pytest.mark.parametrize("cutoff", [5.0, 20.0])
def test_noise_is_what_smoothing_leaves_of_white_noise(cutoff):
    """The standard deviation of smoothed white noise, measured from what is above the cutoff."""
    noise = np.array([0.3, 0.2, 0.5, 0.03, 0.02, 0.01])
    rows = noise * np.random.default_rng(2).normal(size=(20_000, 6))
    log = cp.Log(("a",), np.arange(20_000) / 500.0, *np.zeros((3, 20_000, 1)), wrench=rows)
    left = smoothed(log.time, rows, cutoff).std(axis=0)
    assert reading_noise(measured_motion(log, cutoff)) == pytest.approx(left, rel=0.15)


def test_zero_that_is_off_is_named_and_a_tare_mends_it():
    """Three newtons of zero: told with what to do; against a tare the same recording has no such sentence."""
    found = judged(recording_torques(PUMA, STANDING))
    assert found.level == "doubtful"
    told = next(sentence for sentence in found.sentences if "zero is off" in sentence)
    assert "fx +3" in told and "--tare" in told and "--calibrate-sensor" in told
    tared = recording_torques(PUMA, STANDING, tare=(0.0, 0.5))
    assert tared.form == "tared+model" and tared.tare is not None and tared.tare.count == 50
    assert not any("zero is off" in sentence for sentence in judged(tared).sentences)
    assert np.abs(tared.check.offset[0]) < 0.2


def test_turned_plate_is_not_to_be_used():
    """A plate that reads the opposite sign makes the verdict bad, with the doctor's words and the way out."""
    verdict = judged(recording_torques(PUMA, replace(RAW, wrench=-RAW.wrench)))
    assert verdict.level == "bad" and "DO NOT USE" in verdict.headline
    assert any("opposite sign" in sentence for sentence in verdict.sentences)
    assert CALIBRATE in verdict.sentences


def test_motor_effort_less_plate_is_the_friction_that_was_put_in():
    """Friction of a tenth of gravity's maximum, and little else, is between motor and plate."""
    found = recording_torques(PUMA, LOG, masses="exact")
    friction = 0.1 * np.abs(PUMA.gravity(LOG.q)[:, 1]).max()
    assert found.joints[1].effort_difference == pytest.approx(friction, rel=0.15)


@pytest.mark.parametrize(
    ("declared", "word"), [({"effort_kind": "current"}, "currents"), ({"effort_side": "motor"}, "motor's side")]
)
def test_efforts_that_are_no_link_torques_are_not_compared(declared, word):
    log = replace(LOG, declared=replace(LOG.declared, **declared))
    found = recording_torques(PUMA, log)
    assert word in found.effort_note and np.isnan(found.joints[1].effort_difference)
    assert any(word in sentence for sentence in judged(found).sentences)


def test_frozen_plate_and_missing_readings_make_samples_invalid():
    wrench = np.array(LOG.wrench)
    wrench[500:600] = wrench[500]
    wrench[700:720] = np.nan
    found = recording_torques(PUMA, replace(LOG, wrench=wrench))
    assert not found.torque.valid[550] and found.torque.flags[550] & EstimateFlag.FROZEN
    assert not found.torque.valid[710] and np.isnan(found.torque.value[710]).all()
    assert found.torque.valid[100]
    told = " ".join(judged(found).sentences)
    assert "frozen" in told and "is NaN" in told


def test_infinite_readings_are_no_readings():
    """A reader may give ±inf for an overflow: those rows are invalid, the others as good as before."""
    wrench = np.array(LOG.wrench)
    wrench[[300, 900], [0, 5]] = np.inf, -np.inf
    found = recording_torques(PUMA, replace(LOG, wrench=wrench))
    assert not found.torque.valid[[300, 900]].any() and found.torque.valid.sum() == len(LOG) - 2


def test_kinematics_alone_need_a_tare_and_give_torques_near_it():
    massless = cp.Robot(
        replace(PUMA.description, links=tuple(replace(link, inertia=None) for link in PUMA.description.links))
    )
    with pytest.raises(cp.InputError, match="needs a tare or masses"):
        recording_torques(massless, STANDING)
    found = recording_torques(massless, STANDING, tare=(0.0, 0.45))
    assert found.form == "tared" and found.check is None
    assert found.torque.valid[:40].all() and not found.torque.valid[-40:].any()


def test_tare_in_which_the_arm_moves_is_refused_and_says_where_it_stands():
    with pytest.raises(cp.InputError, match=r"tare from 0\.3 s to 2 s: joint '.*' moved .*; the arm stands in 0:0\."):
        recording_torques(PUMA, STANDING, tare=(0.3, 2.0))


def test_tare_outside_the_recording_is_refused():
    with pytest.raises(cp.InputError, match="holds no sample; the recording runs from 0 s"):
        recording_torques(PUMA, LOG, tare=(500.0, 501.0))


@pytest.mark.parametrize(
    ("log", "word"),
    [
        (replace(LOG, wrench=None), "has no plate"),
        (replace(LOG, wrench=with_column(LOG.wrench, 3, np.nan)), "fewer than 20 samples"),
        (LOG[:10], "fewer than 20 samples"),
        (replace(LOG, joint_names=tuple("abcdef")), "expected those of robot"),
    ],
)
def test_recordings_without_a_usable_plate_are_refused(log, word):
    with pytest.raises(cp.InputError, match=word):
        recording_torques(PUMA, log)


def test_plate_of_which_nothing_is_declared_is_said_to_be_assumed():
    bare = replace(LOG, declared=replace(LOG.declared, T_base_sensor=None, sensor_reads=None))
    assert "Nothing is declared of the plate" in used_plate(recording_torques(PUMA, bare))
    assert "as the recording declares it" in used_plate(recording_torques(PUMA, LOG))
    assert recording_torques(PUMA, LOG).sensor.frame.T_base_sensor == pytest.approx(PLATE_POSE)


def test_mean_of_one_pose_is_that_pose():
    """A zero found over poses is differenced like a tare; over one pose it is the same."""
    variance = recording_torques(PUMA, LOG).sensor.variance
    one, q = LOG.q[10], LOG.q[::100]
    alone = variance.std(q, zero_known=True, q_tare=one, gravity=True)
    assert variance.std(q, zero_known=True, q_tare=np.tile(one, (4, 1)), gravity=True) == pytest.approx(alone)
    apart = variance.std(q, zero_known=True, q_tare=LOG.q[::50], gravity=True)
    assert not np.allclose(apart, alone, rtol=1e-2)


def test_a_tare_outside_the_recording_is_told_how_long_that_is():
    """To the last sample, from the first."""
    with pytest.raises(cp.InputError, match="holds no sample; the recording runs from 0 s to ") as caught:
        recording_torques(PUMA, LOG, tare=(1e5, 1e6))
    assert float(str(caught.value).rpartition(" to ")[2].split()[0]) == pytest.approx(LOG.time[-1] - LOG.time[0])


def test_flagged_samples_are_counted():
    """The sentence of every flag says how many samples have it, in per cent or, where they are few, in numbers."""
    wrench = np.array(LOG.wrench)
    wrench[1000:1400] = np.nan
    found = recording_torques(PUMA, replace(LOG, wrench=wrench), masses="exact")
    told = " ".join(judged(found).sentences)
    flags = found.torque.flags.tolist()
    counts = {flag: sum(1 for value in flags if value & int(flag)) for flag in EstimateFlag}
    assert any(counts.values())
    for flag, count in counts.items():
        share = f"{count / len(flags):.1%} of the" if count >= 1e-3 * len(flags) else f"{count} of {len(flags)}"
        assert (f"{share} samples" in told) or not count, flag
