"""A fix fixes: a faulty recording, read again through the mapping that the doctor writes, is the sound one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.doctor.diagnosis import Diagnosis, diagnose
from counterpoise.doctor.finding import Consequence, Finding, LogFault
from counterpoise.foundation import rotation_from_rpy
from counterpoise.recording import Log, LogMapping, write_mapping
from library.analytic_log import late, moving_log
from library.doctor_cases import exchanged, recording, reversed_effort, scaled_effort, shifted_effort, wrong_model
from library.study_module import load_study

ARM = cp.load("wam4")
MODEL = wrong_model(ARM)
EXACT = {
    *("effort sign", "all effort signs", "position sign", "effort order", "position order", "whole-joint order"),
    "degrees",
}
"""Faults whose fix has no number that is estimated."""


@dataclass(frozen=True)
class Mended:
    """What became of a faulty recording."""

    model: cp.Robot
    before: Diagnosis
    log: Log

    def alarms(self) -> tuple[Finding, ...]:
        """Return what is still said of the recording."""
        return diagnose(self.model, self.log).alarms


def fixed(model: cp.Robot, faulty: Log, folder: Path) -> Mended:
    """Write the recording as CSV, diagnose it, write the mapping that fixes it, and read it again through that."""
    cp.write_log(faulty, folder / "run.csv")
    first = cp.read_log(folder / "run.csv", model)
    before = diagnose(model, first)
    mapping = LogMapping.from_table(first.declared.mapping).merged_with(before.fix)
    write_mapping(mapping, folder / "fix.toml")
    log = cp.read_log(folder / "run.csv", model, folder / "fix.toml")
    return Mended(model, before, log)


def assert_same(found: Log, sound: Log) -> None:
    """Positions, velocities and efforts are the same but for rounding."""
    for name in ("time", "q", "dq", "tau"):
        np.testing.assert_allclose(getattr(found, name), getattr(sound, name), rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.fixture(scope="module")
def log() -> Log:
    return recording(ARM)


@pytest.fixture(scope="module")
def study() -> Any:
    """Return the faults that the study puts into recordings."""
    return load_study("doctor_model_faults")


@pytest.fixture(scope="module")
def put_in(study: Any, log: Log) -> Callable[[str], tuple[Log, Any]]:
    """Return a function that puts one of the study's faults into the recording."""
    made = study.Recording("wam4", "multisine", 0, MODEL, ARM, log)
    return lambda kind: study.INJECTIONS[kind](made, log, np.random.default_rng(5))


def test_every_fault_of_the_study_is_tried_here(study: Any) -> None:
    others = {"effort is current", "motor side", "gain", "offset", "gravity compensated"}
    assert EXACT | others == set(study.INJECTIONS)


@pytest.mark.parametrize("kind", sorted(EXACT))
def test_signs_order_and_units_are_mended_exactly(
    put_in: Callable[[str], tuple[Log, Any]], log: Log, tmp_path: Path, kind: str
) -> None:
    """By the mapping file, and by the fix alone, as docs/doctor.md has it: read_log(path, robot, diagnosis.fix)."""
    faulty, expected = put_in(kind)
    done = fixed(MODEL, faulty, tmp_path)
    assert expected.named_by(done.before.findings)
    assert_same(done.log, log)
    assert_same(cp.read_log(tmp_path / "run.csv", MODEL, done.before.fix), log)


def test_efforts_without_gravity_may_be_currents_and_then_nothing_is_written(
    put_in: Callable[[str], tuple[Log, Any]], tmp_path: Path
) -> None:
    """What is left without gravity is small: efforts in a unit of their own are as likely here."""
    faulty, _ = put_in("gravity compensated")
    done = fixed(MODEL, faulty, tmp_path)
    (finding,) = (one for one in done.before.findings if one.fault is LogFault.GRAVITY_COMPENSATED)
    assert finding.alternatives == (LogFault.EFFORT_IS_CURRENT.value,)
    assert finding.fix == {}


def test_efforts_without_gravity_are_declared_where_they_are_no_currents(log: Log, tmp_path: Path) -> None:
    """Gravity that the robot adds is declared, not put back."""
    fast = replace(log, time=log.time / 2.0, dq=2.0 * log.dq)
    torque = ARM.inverse_dynamics(fast.q, fast.dq, np.gradient(fast.dq, fast.time, axis=0)) - ARM.gravity(fast.q)
    faulty = replace(fast, tau=torque + 0.3 * np.tanh(fast.dq / 0.05))
    done = fixed(MODEL, faulty, tmp_path)
    assert done.before.fix["robot"] == {"adds_gravity": True}
    assert_same(done.log, faulty)
    assert done.log.declared.adds_gravity is True
    assert done.alarms() == ()


def test_of_the_recording_that_mending_gives_back_nothing_is_said(log: Log, tmp_path: Path) -> None:
    """Those fixed exactly are this one: it stands for them all."""
    cp.write_log(log, tmp_path / "run.csv")
    assert diagnose(MODEL, cp.read_log(tmp_path / "run.csv", MODEL)).alarms == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda log: replace(log, q=np.degrees(log.q)), LogFault.DEGREES),
        (lambda log: replace(log, q=log.q * [1.0, 1.0, 1.0, -1.0]), LogFault.POSITION_SIGN),
        (lambda log: exchanged(log, 1, 3, "q"), LogFault.JOINT_ORDER),
    ],
    ids=["degrees", "sign", "order"],
)
def test_velocities_that_were_right_are_left_alone(
    log: Log, tmp_path: Path, change: Callable[[Log], Log], fault: LogFault
) -> None:
    """Positions alone are wrong: their fix must not turn the velocities."""
    done = fixed(MODEL, change(log), tmp_path)
    assert [finding.fault for finding in done.before.alarms if finding.consequence is Consequence.DANGER] == [fault]
    assert_same(done.log, log)


def test_a_gain_is_mended_within_its_uncertainty(
    put_in: Callable[[str], tuple[Log, Any]], log: Log, tmp_path: Path
) -> None:
    faulty, expected = put_in("gain")
    done = fixed(MODEL, faulty, tmp_path)
    (finding,) = done.before.alarms
    assert (finding.fault, finding.subjects) == (LogFault.GAIN, expected.joints)
    joint = ARM.joint_names.index(expected.joints[0])
    left = done.log.tau[:, joint] @ log.tau[:, joint] / (log.tau[:, joint] @ log.tau[:, joint])
    assert abs(np.log(left)) < 3.0 * finding.evidence["relative_std"] < 0.5
    assert done.alarms() == ()
    np.testing.assert_allclose(np.delete(done.log.tau, joint, 1), np.delete(log.tau, joint, 1), rtol=1e-12)


def test_an_offset_is_named_within_its_uncertainty_and_left_to_the_calibration(log: Log, tmp_path: Path) -> None:
    faulty = shifted_effort(log, 1, 3.0)
    done = fixed(MODEL, faulty, tmp_path)
    (finding,) = done.before.alarms
    assert (finding.fault, finding.subjects) == (LogFault.OFFSET, ("joint2",))
    true = float(np.mean(faulty.tau[:, 1] - log.tau[:, 1]))
    assert abs(finding.evidence["offset"] - true) < 3.0 * finding.evidence["offset_std"]
    assert finding.evidence["offset_std"] < 0.5 * float(log.tau[:, 1].std())
    assert done.before.fix == {}
    fit = cp.calibrate(MODEL, faulty, findings=())
    assert abs(fit.offset[1] - true) < 0.2 * abs(true)


def test_an_offset_that_masses_explain_as_well_is_named_and_not_mended(
    put_in: Callable[[str], tuple[Log, Any]], tmp_path: Path
) -> None:
    faulty, expected = put_in("offset")
    done = fixed(MODEL, faulty, tmp_path)
    assert expected.named_by(done.before.findings)
    assert done.before.fix == {}


def test_currents_are_declared_and_their_size_is_not_guessed(
    put_in: Callable[[str], tuple[Log, Any]], log: Log, tmp_path: Path
) -> None:
    """By masses that may be off nobody knows torque constants: the efforts stay as they were recorded."""
    faulty, _ = put_in("effort is current")
    done = fixed(MODEL, faulty, tmp_path)
    (finding,) = done.before.alarms
    assert finding.fault is LogFault.EFFORT_IS_CURRENT
    assert done.before.fix == {"effort": {"kind": "current"}, "source": {"effort.kind": "guessed"}}
    found = finding.evidence["torque_per_unit"]
    for name, doubt in finding.evidence["relative_std"].items():
        joint = ARM.joint_names.index(name)
        factor = float(np.median(log.tau[:, joint] / faulty.tau[:, joint]))
        assert abs(np.log(found[name] / factor)) < 3.0 * doubt + 0.05, name
    assert done.log.declared.effort_kind == "current"
    np.testing.assert_allclose(done.log.tau, faulty.tau, rtol=1e-9)
    (left,) = done.alarms()
    assert (left.fault, left.consequence) == (LogFault.EFFORT_IS_CURRENT, Consequence.LIMITS)


def test_motor_side_needs_the_makers_ratios_and_is_mended_with_them(
    put_in: Callable[[str], tuple[Log, Any]], log: Log, tmp_path: Path
) -> None:
    faulty, _ = put_in("motor side")
    ratio = np.median(faulty.q / log.q, axis=0)
    without = fixed(MODEL, faulty, tmp_path)
    assert [finding.fault for finding in without.before.alarms] == [LogFault.MOTOR_SIDE]
    assert [finding.fault for finding in without.alarms()] == [LogFault.MOTOR_SIDE]
    sides = {"position": {"side": "motor"}, "effort": {"side": "motor"}}  # degrees are possible: nothing is written
    assert without.before.fix == {}
    told = {"motor": {"ratio": ratio.tolist()}, **sides}
    mapping = LogMapping.from_table(without.log.declared.mapping).merged_with(told)
    done = cp.read_log(tmp_path / "run.csv", MODEL, mapping)
    assert diagnose(MODEL, done).alarms == ()
    np.testing.assert_allclose(done.q, log.q, atol=1e-9)
    np.testing.assert_allclose(done.tau, log.tau, rtol=1e-9)


def test_a_gain_is_mended_beside_an_offset_of_the_same_joint(log: Log, tmp_path: Path) -> None:
    """The offset is found on the corrected effort, and stays."""
    faulty = scaled_effort(shifted_effort(log, 3, 6.0), 3, 0.45)
    done = fixed(MODEL, faulty, tmp_path)
    found = {finding.fault: finding for finding in done.before.alarms}
    assert set(found) == {LogFault.GAIN, LogFault.OFFSET}
    gain, offset = found[LogFault.GAIN].evidence, found[LogFault.OFFSET].evidence
    left = np.polyfit(log.tau[:, 3], done.log.tau[:, 3], 1)
    assert abs(np.log(left[0])) < 3.0 * gain["relative_std"] + 0.02
    doubt = np.hypot(offset["offset_std"], gain["relative_std"] * offset["offset"])
    assert abs(left[1] - offset["offset"]) < 3.0 * doubt
    assert [finding.fault for finding in done.alarms()] == [LogFault.OFFSET]


def test_a_second_fix_is_put_on_top_of_a_first(log: Log, tmp_path: Path) -> None:
    """A mapping that already turns signs and exchanges columns is changed, not replaced."""
    faulty = exchanged(reversed_effort(log, 1), 1, 3, "tau")  # the columns of 2 and 4 exchanged; 4 now holds −tau2
    wrong = {"joints": {"joint3": {"effort_sign": -1}}}
    done = fixed(MODEL, faulty, tmp_path)
    assert {finding.fault for finding in done.before.alarms} == {LogFault.EFFORT_SIGN, LogFault.JOINT_ORDER}
    assert_same(done.log, log)
    cp.write_log(log, tmp_path / "sound.csv")
    misread = cp.read_log(tmp_path / "sound.csv", MODEL, wrong)
    fix = diagnose(MODEL, misread).fix
    assert fix["joints"] == {"joint3": {"effort_sign": -1}}
    both = LogMapping.from_table(misread.declared.mapping).merged_with(fix)
    assert_same(cp.read_log(tmp_path / "sound.csv", MODEL, both), log)


def test_other_mountings_are_mended_in_the_mapping(tmp_path: Path) -> None:
    done = fixed(MODEL, recording(ARM.mounted(rpy=(0.3, -0.5, 0.0))), tmp_path)
    assert [finding.fault for finding in done.before.alarms] == [LogFault.MOUNT]
    assert done.alarms() == ()


@pytest.mark.parametrize(("channel", "name", "lag"), [("velocity", "dq", 0.25), ("effort", "tau", 0.2)])
def test_delays_are_mended_within_their_uncertainty(
    log: Log, tmp_path: Path, channel: str, name: str, lag: float
) -> None:
    done = fixed(MODEL, late(log, name, lag)[100:], tmp_path)  # the first values stand in for what was before
    (finding,) = done.before.alarms
    assert finding.fault is LogFault.DELAY and finding.subjects == (channel,)
    assert abs(finding.evidence["lag_s"] - lag) < max(3.0 * finding.evidence["std_s"], 2e-3)
    assert done.alarms() == ()
    rows = np.searchsorted(log.time, done.log.time)[50:-50]
    sound, was = getattr(log, name)[rows], getattr(late(log, name, lag), name)[rows]
    left = np.sqrt(np.mean((getattr(done.log, name)[50:-50] - sound) ** 2, axis=0))
    before = np.sqrt(np.mean((was - sound) ** 2, axis=0))
    noise = np.std(np.diff(sound, axis=0), axis=0)
    assert np.all(left < np.hypot(3.0 * finding.evidence["std_s"] / lag * before, 1.5 * noise))
    assert np.all(left < 0.5 * before)


def _turned(degrees: tuple[float, float, float], sign: float = 1.0) -> np.ndarray:
    return sign * np.kron(np.eye(2), rotation_from_rpy(np.radians(degrees)))


@pytest.mark.parametrize(
    ("matrix", "faults"),
    [
        (_turned((0.0, 0.0, 0.0), -1.0), {LogFault.PLATE_SIGN}),
        (_turned((0.0, 0.0, 25.0)), {LogFault.PLATE_YAW}),
        (_turned((6.0, -4.0, 0.0)), {LogFault.PLATE_TILT}),
        (np.diag([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]), {LogFault.PLATE_HANDEDNESS}),
    ],
    ids=["sign", "yaw", "tilt", "mirrored"],
)
def test_a_plate_is_mended(tmp_path: Path, matrix: np.ndarray, faults: set[LogFault]) -> None:
    """By angles, to their uncertainty: the wrench is off by no more than the turn that is left."""
    sound = moving_log(ARM, seed=5)
    faulty = replace(sound, wrench=sound.wrench @ matrix.T)
    done = fixed(MODEL, faulty, tmp_path)
    assert {finding.fault for finding in done.before.alarms} == faults
    assert done.alarms() == ()
    weight = float(np.linalg.norm(sound.wrench[:, :3], axis=1).max())
    doubt = np.radians(np.linalg.norm(done.before.alarms[0].evidence["std_deg"]))
    sign = -1.0 if done.log.declared.sensor_reads == "on_sensor" else 1.0
    off = np.abs(sign * done.log.wrench - sound.wrench)[:, :3].max()
    assert off < 3.0 * doubt * weight


def test_a_late_plate_is_mended(tmp_path: Path) -> None:
    done = fixed(MODEL, late(moving_log(ARM, seed=5), "wrench", 0.12), tmp_path)
    (finding,) = done.before.alarms
    assert finding.fault is LogFault.PLATE_LAG
    assert finding.fix["wrench"]["lag"] == pytest.approx(0.12, abs=max(0.005, 3.0 * finding.evidence["lag_std_s"]))
    assert done.alarms() == ()


def test_with_a_guessed_rate_nothing_is_written_that_hangs_on_accelerations(
    put_in: Callable[[str], tuple[Log, Any]],
) -> None:
    """The same recording with and without somebody source of the time."""
    for fault, hangs in (("effort is current", True), ("gain", True), ("effort sign", False)):
        faulty, expected = put_in(fault)
        told = replace(faulty, declared=replace(faulty.declared, rate_source="declared"))
        guessed = replace(faulty, declared=replace(faulty.declared, rate_source="guessed"))
        assert diagnose(MODEL, told).fix != {}
        found = diagnose(MODEL, guessed)
        assert expected.named_by(found.findings)
        assert (found.fix == {}) == hangs, fault
