"""Columns of what a fitted model leaves out: their shapes, where they are zero, and pieces that make a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.description import JointKind
from counterpoise.fitting import EffortModel, Samples, Terms
from counterpoise.foundation import Array
from counterpoise.identification.fitted_recordings import Extent
from counterpoise.identification.nuisances import (
    GAIN,
    HARMONIC,
    HARMONICS,
    LEAST_RANGE,
    OFFSET,
    OFFSET_OF_FRICTION,
    POSITION,
    PRESLIDING,
    SIZES,
    Nuisances,
    presliding,
)
from library.random_robots import random_robot

DURATION = 20.0
AT_REST = ("position",) * POSITION + ("harmonic",) * HARMONIC + ("gain", "offset")
FRICTION, DRIFT = slice(OFFSET + 1, -2), slice(-2, None)


def samples_of(arm: cp.Robot, count: int = 400, *, seed: int = 0) -> Samples:
    """Return a smooth motion with the efforts of a rigid arm."""
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, DURATION, count)
    q, dq, ddq = np.zeros((3, count, arm.n))
    for joint in range(arm.n):
        omega, phase = 0.5 + random.random(), 6.0 * random.random()
        q[:, joint] = 0.3 + 0.8 * np.sin(omega * time + phase)
        dq[:, joint] = 0.8 * omega * np.cos(omega * time + phase)
        ddq[:, joint] = -0.8 * omega**2 * np.sin(omega * time + phase)
    return Samples(arm.joint_names, time, q, dq, ddq, arm.inverse_dynamics(q, dq, ddq), np.full(arm.n, 0.01))


def extent_of(arm: cp.Robot, samples: Samples) -> Extent:
    weight = np.abs(arm.gravity(samples.q))
    size = np.sqrt(np.mean(weight**2, axis=0))
    waves = [turn(order * samples.q) for order in (1, *HARMONICS) for turn in (np.cos, np.sin)]
    return Extent(
        lower=samples.q.min(axis=0),
        upper=samples.q.max(axis=0),
        speed=np.sqrt(np.mean(samples.dq**2, axis=0)),
        effort=np.sqrt(np.mean(np.nan_to_num(samples.tau) ** 2, axis=0)),
        variation=np.std(np.nan_to_num(samples.tau), axis=0),
        weight=size,
        load=weight.mean(axis=0) / np.maximum(size, 1e-9),
        centre=np.array([each.mean(axis=0) for each in (samples.q, *waves)]),
        reverses=np.ones(arm.n, dtype=bool),
        times=((0.0, DURATION),),
    )


def nuisances_of(
    arm: cp.Robot, samples: Samples, *, friction: float | Array = 1.0, moving: bool = True, terms: Terms | None = None
) -> Nuisances:
    columns = EffortModel(arm, terms or Terms.moving(), samples.active, np.eye(arm.n))
    return Nuisances(
        columns, columns.start(), extent_of(arm, samples), np.broadcast_to(friction, (arm.n,)).astype(float), moving
    )


def at_start(samples: Samples) -> Array:
    return np.vstack([np.zeros((len(PRESLIDING), samples.q.shape[1])), samples.q[:1]])


def bodies_of(arm: cp.Robot, samples: Samples) -> Array:
    return arm.inverse_dynamics(samples.q, samples.dq, samples.ddq)[:, samples.active]


def values_of(nuisances: Nuisances, samples: Samples) -> Array:
    arm = nuisances.model.robot
    return nuisances.values(samples, bodies_of(arm, samples), 0, at_start(samples))[0]


@pytest.fixture(scope="module")
def arm() -> cp.Robot:
    return cp.load("wam4")


@pytest.fixture(scope="module")
def samples(arm: cp.Robot) -> Samples:
    return samples_of(arm)


@pytest.mark.parametrize(("moving", "frictions", "drifts"), [(True, 9, 2), (False, 3, 0)])
def test_there_is_a_column_for_every_kind(
    arm: cp.Robot, samples: Samples, moving: bool, frictions: int, drifts: int
) -> None:
    found = nuisances_of(arm, samples, moving=moving)
    expected = AT_REST + ("friction",) * frictions + ("drift",) * drifts
    assert found.kinds == expected
    assert set(found.kinds) <= set(SIZES)
    values = values_of(found, samples)
    assert values.shape == (len(samples), arm.n, len(expected))
    assert np.isfinite(values).all()


def test_at_rest_without_direction_there_is_no_friction(arm: cp.Robot, samples: Samples) -> None:
    found = nuisances_of(arm, samples, friction=0.0, moving=False)
    assert found.kinds == AT_REST
    assert values_of(found, samples).shape[2] == OFFSET + 1


def test_joints_without_effort_have_no_columns(arm: cp.Robot, samples: Samples) -> None:
    tau = samples.tau.copy()
    tau[:, 1] = np.nan
    some = replace(samples, tau=tau)
    found, whole = nuisances_of(arm, some), nuisances_of(arm, samples)
    kept = [0, 2, 3]
    expected = values_of(whole, samples)[:, kept]
    np.testing.assert_allclose(values_of(found, some), expected)


def test_position_has_no_constant_part_and_spans_the_weight(arm: cp.Robot, samples: Samples) -> None:
    found = nuisances_of(arm, samples)
    at = found.at_rest(samples.q, bodies_of(arm, samples))[:, :, : POSITION + HARMONIC]
    np.testing.assert_allclose(at.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.ptp(at[:, :, 0], axis=0), 2.0 * found.weight)


def test_friction_that_does_not_show_is_a_constant(arm: cp.Robot, samples: Samples) -> None:
    """Of joints that do not reverse, and of no others."""
    plain = nuisances_of(arm, samples)
    reverses = np.array([True, False, True, False])
    found = replace(plain, extent=replace(plain.extent, reverses=reverses))
    assert "unseen" not in plain.kinds and found.kinds.count("unseen") == 1
    column = values_of(found, samples)[:, :, found.kinds.index("unseen")]
    np.testing.assert_array_equal(column, np.broadcast_to(column[0], column.shape))
    np.testing.assert_array_equal(column[0] > 0.0, ~reverses)
    # It may differ by direction, as any friction: what is recorded at rest does not tell the offset that would remain.
    assert np.all(found.offset[~reverses] >= OFFSET_OF_FRICTION * found.unseen[~reverses])
    # It may change along the way, by shares of the usual friction.
    np.testing.assert_array_equal(found.sliding, np.maximum(found.friction, found.unseen))
    ripples = values_of(replace(found, friction=np.full(4, 1e-9)), samples)[:, :, OFFSET + 2]
    assert np.all(np.ptp(ripples[:, ~reverses], axis=0) > 0.1 * found.unseen[~reverses])


def test_a_joint_that_hardly_moves_shows_no_spring(arm: cp.Robot, samples: Samples) -> None:
    """Its column stays small: a steep spring is not looked for in a small range."""
    q = samples.q.copy()
    q[:, 2] = 0.1 + 1e-6 * np.sin(samples.time)
    stood = replace(samples, q=q)
    found = nuisances_of(arm, stood)
    assert found.half_range[2] == LEAST_RANGE
    assert np.all(np.abs(values_of(found, stood)[:, 2, 0]) < 1e-4 * found.weight[2])


def test_slides_have_no_counterbalance() -> None:
    slides = (JointKind.PRISMATIC,)
    made = random_robot(3, joints=3, kinds=slides, mimics=False, massless=False, shape="chain").robot()
    found = nuisances_of(made, samples_of(made))
    values = values_of(found, samples_of(made))
    assert np.any(values[:, :, 0])
    assert not np.any(values[:, :, 1:GAIN])
    along = values[:, :, OFFSET + 2 : OFFSET + 4]
    assert not np.any(along)


def test_gain_is_the_rigid_body_effort_itself(arm: cp.Robot, samples: Samples) -> None:
    values = values_of(nuisances_of(arm, samples), samples)
    np.testing.assert_allclose(values[:, :, GAIN], bodies_of(arm, samples))


def test_offsets_are_constant_and_only_where_they_are_fitted(arm: cp.Robot, samples: Samples) -> None:
    some = Terms(offset=(arm.joint_names[1],), coulomb=("all",))
    values = values_of(nuisances_of(arm, samples, terms=some), samples)[:, :, OFFSET]
    assert np.all(values[:, [0, 2, 3]] == 0.0)
    assert np.all(values[:, 1] == values[0, 1]) and values[0, 1] > 0.0


def test_friction_columns_follow_the_joints_friction(arm: cp.Robot, samples: Samples) -> None:
    """None where there is none, twice as large where it is twice as large."""
    friction = np.array([1.0, 0.0, 2.0, 0.5])
    values = values_of(nuisances_of(arm, samples, friction=friction), samples)[:, :, FRICTION]
    unit = values_of(nuisances_of(arm, samples, friction=1.0), samples)[:, :, FRICTION]
    assert np.all(values[:, 1] == 0.0)
    np.testing.assert_allclose(values, unit * friction[:, None])


def test_friction_of_an_arm_that_stands_is_nothing(arm: cp.Robot, samples: Samples) -> None:
    q = np.tile(samples.q[:1], (len(samples), 1))
    still = replace(samples, q=q, dq=np.zeros_like(q), ddq=np.zeros_like(q))
    moving = nuisances_of(arm, samples)
    assert np.all(values_of(moving, still)[:, :, FRICTION] == 0.0)


def test_friction_that_grows_with_the_load_has_its_mean_in_coulomb_friction(arm: cp.Robot, samples: Samples) -> None:
    """The column is about the mean load: what a load changes on average is no news."""
    values = values_of(nuisances_of(arm, samples), samples)[:, :, FRICTION][:, :, 0]
    side = np.tanh(samples.dq / samples.v0)
    mean = np.mean(values * side, axis=0) / np.maximum(np.mean(np.abs(values), axis=0), 1e-12)
    heavy = np.sqrt(np.mean(arm.gravity(samples.q) ** 2, axis=0)) > 1.0
    assert np.all(np.abs(mean[heavy]) < 0.2)


def test_drifts_go_from_one_end_to_the_other(arm: cp.Robot, samples: Samples) -> None:
    found = nuisances_of(arm, samples)
    drifts = values_of(found, samples)[:, :, DRIFT]
    np.testing.assert_allclose(drifts[0, :, 0], -found.weight)
    np.testing.assert_allclose(drifts[-1, :, 0], found.weight)
    np.testing.assert_allclose(drifts[:, :, 0].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(drifts[-1, :, 1], bodies_of(arm, samples)[-1])


@pytest.mark.parametrize("cuts", [(100,), (1, 2, 3), (57, 58, 399)])
def test_pieces_make_a_whole(arm: cp.Robot, samples: Samples, cuts: tuple[int, ...]) -> None:
    found, bodies, state = nuisances_of(arm, samples), bodies_of(arm, samples), at_start(samples)
    whole, last = found.values(samples, bodies, 0, state)
    pieces = []
    for begin, end in zip((0, *cuts), (*cuts, len(samples)), strict=True):
        piece, state = found.values(samples[begin:end], bodies[begin:end], 0, state)
        pieces.append(piece)
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-12)
    np.testing.assert_allclose(state, last, atol=1e-12)


def test_presliding_in_pieces_is_presliding_as_a_whole() -> None:
    q = np.cumsum(0.01 * np.random.default_rng(0).standard_normal((200, 3)), axis=0)
    state = np.vstack([np.zeros((len(PRESLIDING), 3)), q[:1]])
    whole, last = presliding(q, state)
    first, between = presliding(q[:77], state)
    empty, between = presliding(q[77:77], between)
    second, end = presliding(q[77:], between)
    assert all(len(one) == 0 for one in empty)
    for one, two, both in zip(first, second, whole, strict=True):
        np.testing.assert_allclose(np.concatenate([one, two]), both, atol=1e-15)
        assert np.all(np.abs(both) <= 1.0)
    np.testing.assert_allclose(end, last)


def test_presliding_builds_up_over_its_way() -> None:
    """From standing 1 − e^(−s/way); after a reversal it passes zero at way ln 2."""
    for number, way in enumerate(PRESLIDING):
        q = np.array([[0.0], [way], [20.0 * way], [20.0 * way - way * np.log(2.0)], [0.0]])
        shares, _ = presliding(q, np.vstack([np.zeros((len(PRESLIDING), 1)), q[:1]]))
        np.testing.assert_allclose(shares[number][:, 0], [0.0, 1.0 - np.exp(-1.0), 1.0, 0.0, -1.0], atol=1e-7)


def test_presliding_does_not_depend_on_the_step() -> None:
    """Only the way and the reversals count, not how many samples the way has."""
    way = np.concatenate([np.linspace(0.0, 0.05, 6), np.linspace(0.05, -0.02, 8)[1:]])
    fine = np.concatenate([np.linspace(0.0, 0.05, 501), np.linspace(0.05, -0.02, 701)[1:]])
    start = np.zeros((len(PRESLIDING) + 1, 1))
    coarse_end = presliding(way[:, None], start)[1]
    np.testing.assert_allclose(presliding(fine[:, None], start)[1], coarse_end, atol=1e-9)


def test_every_later_recording_has_its_own_offset(arm: cp.Robot, samples: Samples) -> None:
    """A constant in the column of its own recording, nothing in those of the others; the first has none."""
    times = tuple((DURATION * run, DURATION * (run + 1)) for run in range(3))
    usual = nuisances_of(arm, samples)
    found = replace(usual, extent=replace(usual.extent, times=times), own_offsets=True)
    own = [place for place, kind in enumerate(found.kinds) if kind == "run offset"]
    assert len(own) == 2 and found.offset.all()
    for run in range(3):
        values = found.values(samples, bodies_of(arm, samples), run, at_start(samples))[0][:, :, own]
        for later in (1, 2):
            expected = found.offset if later == run else np.zeros(arm.n)
            np.testing.assert_allclose(values[:, :, later - 1], np.broadcast_to(expected, (len(samples), arm.n)))
