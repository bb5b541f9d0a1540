"""Locked joints: the robot without them is the full robot that rests in them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from library.random_robots import random_motion, random_robot
from library.shared_data import example_urdf

Array = npt.NDArray[np.float64]
FINGERS = "panda_finger_joint1"
SEEDS = range(40)


def near(ours: Array, theirs: Array) -> None:
    """Agreement to rounding, relative to the largest entry."""
    assert np.abs(ours - theirs).max() <= 1e-11 * max(1.0, float(np.abs(theirs).max()))


def compare(full: cp.Robot, positions: dict[str, float], seed: int) -> cp.Robot:
    """Lock joints and compare everything that depends on a pose with the full robot at rest in these joints."""
    locked = full.locked(positions)
    free = [index for index, name in enumerate(full.joint_names) if name not in positions]
    assert locked.joint_names == tuple(full.joint_names[index] for index in free)
    assert locked.link_names == full.link_names and locked.payloads == full.payloads
    motion = random_motion(locked, seed, 5)
    q, dq, ddq = (np.zeros((5, full.n)) for _ in range(3))
    for whole, part in zip((q, dq, ddq), motion, strict=True):
        whole[:, free] = part
    for name, position in positions.items():
        q[:, full.joint_names.index(name)] = position
    assert locked.total_mass == pytest.approx(full.total_mass, rel=1e-13)
    near(locked.gravity(motion[0]), full.gravity(q)[:, free])
    near(locked.inverse_dynamics(*motion), full.inverse_dynamics(q, dq, ddq)[:, free])
    near(locked.base_wrench(*motion), full.base_wrench(q, dq, ddq))
    near(locked.mass_matrix(motion[0]), full.mass_matrix(q)[:, free][:, :, free])
    near(locked.center_of_mass(motion[0]), full.center_of_mass(q))
    for link in full.link_names:
        near(locked.forward_kinematics(motion[0], at=link), full.forward_kinematics(q, at=link))
        near(locked.jacobian(motion[0], at=link), full.jacobian(q, at=link)[..., free])
    for name in ("lower", "upper", "velocity_limit", "effort_limit", "rotor_inertia_known"):
        assert np.array_equal(getattr(locked, name), getattr(full, name)[free])
    return locked


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees(seed: int) -> None:
    """Trees with rotary, linear, fixed and mimic joints, on any mount, with payloads on any link."""
    full = random_robot(seed).robot()
    if full.n < 2:
        pytest.skip("a robot with one joint has none to lock")
    rng = np.random.default_rng([6, seed])
    names = rng.permutation(full.joint_names)[: int(rng.integers(1, full.n))]
    compare(full, {str(name): float(rng.uniform(-2.0, 2.0)) for name in names}, seed)


def test_the_random_trees_have_every_case() -> None:
    """Among them are locked masters of mimics, linear joints, and payloads; else the test above would miss these."""
    robots = [random_robot(seed).robot() for seed in SEEDS]
    assert sum(any(joint.mimic for joint in robot.description.joints) for robot in robots) > 5
    assert sum(bool(robot.payloads) for robot in robots) > 5
    assert sum(any(joint.kind is JointKind.PRISMATIC for joint in robot.description.joints) for robot in robots) > 5


def panda() -> cp.Robot:
    return cp.load(example_urdf("panda.urdf"), allow_unphysical=True)


@pytest.mark.parametrize("opening", [0.0, 0.02, 0.04])
def test_panda_with_locked_fingers(opening: float) -> None:
    """The second finger mimics the first: locking one leaves the seven joints of the arm."""
    full = panda()
    locked = compare(full.with_payload(0.3, (0.0, 0.01, 0.0), link="panda_rightfinger"), {FINGERS: opening}, 1)
    assert locked.n == 7 and FINGERS not in locked.joint_names
    fingers = [locked.forward_kinematics(np.zeros(7), at=f"panda_{side}finger") for side in ("left", "right")]
    assert np.linalg.norm(fingers[0][:3, 3] - fingers[1][:3, 3]) == pytest.approx(2.0 * opening, abs=1e-12)


def test_panda_against_a_reduced_model_of_pinocchio() -> None:
    """Pinocchio reduces the model in its own manner; it takes the two fingers for independent joints."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the oracle")
    model = pin.buildModelFromUrdf(str(example_urdf("panda.urdf")))
    fingers = [model.getJointId(f"panda_finger_joint{side}") for side in (1, 2)]
    position = pin.neutral(model)
    for joint in fingers:
        position[model.joints[joint].idx_q] = 0.03
    reduced = pin.buildReducedModel(model, fingers, position)
    data = reduced.createData()
    ours = panda().locked({FINGERS: 0.03})
    assert tuple(reduced.names[1:]) == ours.joint_names
    for q, dq, ddq in zip(*random_motion(ours, 4, 6), strict=True):
        near(ours.gravity(q), pin.computeGeneralizedGravity(reduced, data, q))
        near(ours.inverse_dynamics(q, dq, ddq), pin.rnea(reduced, data, q, dq, ddq))


def test_payloads_stay_addressable() -> None:
    """A load is taken by a locked link before or after locking; it can be removed again."""
    full, com = panda(), (0.0, 0.02, 0.01)
    before = full.with_payload(0.4, com, link="panda_leftfinger").locked({FINGERS: 0.01})
    after = full.locked({FINGERS: 0.01}).with_payload(0.4, com, link="panda_leftfinger")
    q = np.linspace(-1.0, 1.0, 7)
    assert np.array_equal(before.gravity(q), after.gravity(q))
    assert np.array_equal(before.without_payload().gravity(q), full.locked({FINGERS: 0.01}).gravity(q))


def test_locking_twice_is_locking_once() -> None:
    """One after the other, in either order; the rest of the settings stays."""
    full = cp.load("wam7").mounted(rpy=(0.1, 0.2, 0.3), gravity=(0.0, 0.5, -9.0)).with_rotor_inertia(np.full(7, 0.1))
    once = full.locked({"joint2": 0.5, "joint6": -0.3})
    q = np.linspace(-0.5, 0.5, 5)
    for twice in (
        full.locked({"joint2": 0.5}).locked({"joint6": -0.3}),
        full.locked({"joint6": -0.3}).locked({"joint2": 0.5}),
        pickle.loads(pickle.dumps(once)),
    ):
        assert np.array_equal(twice.gravity(q), once.gravity(q))
    assert np.array_equal(once.rotor_inertia, np.full(5, 0.1))
    assert full.locked({}).joint_names == full.joint_names
    assert np.array_equal(full.locked({}).first_moments, full.first_moments)
    with pytest.raises(cp.ModelError):  # its frames are those of a DH table no more
        assert once.first_moments.size


def test_a_locked_arm_is_written_and_read_again(tmp_path: Path) -> None:
    """In a copy of its URDF file the joint is fixed, the meshes are there, and the torques are the same."""
    locked = panda().locked({FINGERS: 0.02})
    cp.export(locked, tmp_path / "locked.urdf")
    text, source = (path.read_text() for path in (tmp_path / "locked.urdf", example_urdf("panda.urdf")))
    assert text.count("<mesh") == source.count("<mesh") > 10
    assert source.count('type="prismatic"') == 2 and 'type="prismatic"' not in text and "<mimic" not in text
    again = cp.load(tmp_path / "locked.urdf", allow_unphysical=True)
    assert again.joint_names == locked.joint_names
    q = np.linspace(-1.0, 1.0, 7)
    near(again.gravity(q), locked.gravity(q))


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"finger": 0.0}, "there is no such joint that moves"),
        ({"panda_finger_joint2": 0.0}, "it mimics 'panda_finger_joint1'; lock that one"),
        ({"panda_hand_joint": 0.0}, "there is no such joint that moves"),
        ({FINGERS: 0.05}, "expected a number from 0 to 0.04"),
        ({FINGERS: float("nan")}, "expected a number"),
        ({FINGERS: "open"}, "expected a number"),
        ({FINGERS: True}, "expected a number"),
    ],
)
def test_what_cannot_be_locked(positions: dict[str, float], message: str) -> None:
    """The message names the joint and what was expected."""
    with pytest.raises(cp.InputError, match=message):
        panda().locked(positions)


def test_one_joint_must_be_left() -> None:
    """A robot without joints is none."""
    robot = cp.load("pendulum")
    with pytest.raises(cp.InputError, match="leave out at least one"):
        robot.locked(dict.fromkeys(robot.joint_names, 0.0))
