"""A recording with a fault in it: the doctor names it, the fixed recording gives a calibration that may be trusted.

Run: python examples/02_wrong_recording.py                       (needs the extra "sim")
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import counterpoise as cp
from counterpoise.identification import PosePlan
from counterpoise.plants import SimulatedArm, preset

# The arm as drawn, and the arm as it is: a tool of 0.8 kg that the drawing lacks.
made = preset("wam7")
drawn = made.robot()
real = drawn.with_payload(0.8, com=(0.0, 0.0, 0.06), link="toolplate")


def recording(poses: np.ndarray, seed: int) -> cp.Log:
    """Go to some poses, each from both sides, and record; the logger writes the elbow's torque with the wrong sign."""
    arm = SimulatedArm(real, made.config.replaced(seed=seed))
    with arm:
        log = cp.record(cp.Rig(arm, drawn), PosePlan.of(drawn, poses, dwell=0.5, travel_speed=np.full(drawn.n, 1.5)))
    sign = np.ones(drawn.n)
    sign[3] = -1.0
    return replace(log, tau=log.tau * sign)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "run.npz"
    poses = cp.design_poses(drawn, count=6, seed=0)
    cp.write_log(recording(poses, seed=1), path)

    diagnosis = cp.diagnose(drawn, cp.read_log(path, drawn))
    print("The doctor says:")
    for finding in diagnosis.alarms:
        print(f"  {finding.sentence}\n    {finding.remedy}")

    # The mapping that the doctor proposes says how the columns are to be read.
    fit = cp.calibrate(drawn, cp.read_log(path, drawn, diagnosis.fix))
    print(f"\nCalibration: {'trusted' if fit.trusted else 'not trusted: ' + '; '.join(fit.reasons)}")
    print(f"  good for: {', '.join(statement.use for statement in fit.statements)}")
    print(f"  gravity torques may be off by [N m]: {np.round(fit.errors.gravity, 3).tolist()}")
    print(f"  error on poses it has not seen [N m]: {np.round(fit.heldout_rms, 3).tolist()}")

    # Other poses, midway between those: what is promised, is promised where the arm was.
    fresh = Path(folder) / "fresh.npz"
    cp.write_log(recording(0.5 * (poses[:3] + poses[1:4]), seed=2), fresh)
    check = cp.verify(fit, cp.read_log(fresh, drawn, diagnosis.fix))
    print(f"  on a fresh recording it {'holds' if check.holds else 'does not hold'}")
    fit.save(Path(folder) / "wam7.calibration.json")

anywhere = np.random.default_rng(0).uniform(0.8 * drawn.lower, 0.8 * drawn.upper, (200, drawn.n))
for name, model in (("drawing", drawn), ("calibrated", fit.robot)):
    off = np.sqrt(np.mean((model.gravity(anywhere) - real.gravity(anywhere)) ** 2))
    print(f"  {name}: gravity torques {off:.3f} N m off over random poses")
