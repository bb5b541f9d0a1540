"""The session without a browser: the arm floats, yields to hands, sinks, finds weights, and always ends safely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from counterpoise.control import EndState
from counterpoise.errors import InputError
from counterpoise.plants import Push
from counterpoise.view.arms import view_arm
from counterpoise.view.guide import NOBODY
from counterpoise.view.session import Session
from counterpoise.view.snapshot import Snapshot, State

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")
PATIENCE = 120.0


def after(session: Session, seconds: float) -> Snapshot:
    """Return the arm so much of its own time later."""
    begun = session.snapshot.time
    return session.wait_for(lambda shot: shot.time >= begun + seconds, PATIENCE)


def in_state(session: Session, state: State) -> Snapshot:
    shot = session.wait_for(lambda shot: shot.state is state, PATIENCE)
    assert shot.state is state, f"{shot.state}: {shot.why}"
    return shot


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(view_arm("wam7"), real_time=False) as started:
        in_state(started, State.FLOATING)
        yield started


def test_it_floats_and_a_push_moves_it_and_it_stays(session: Session) -> None:
    """Without a hand it does not drift; pushed, it moves and comes to rest."""
    before = session.snapshot
    floated = after(session, 1.0)
    assert np.linalg.norm(floated.tip - before.tip) < 1e-3
    session.push(session.tip_link, (0.0, 20.0, 0.0), 0.5)
    pushed = after(session, 2.0)
    assert pushed.tip[1] > floated.tip[1] + 0.02
    assert np.linalg.norm(after(session, 1.0).tip - pushed.tip) < 1e-3


def test_a_hand_pulls_a_point_to_where_it_wants_it(session: Session) -> None:
    """The spring closes most of the way, never above its strength, and its torque shows as external."""
    before = session.snapshot
    target = before.tip + np.array([0.0, 0.0, 0.12])
    session.grab("me", session.tip_link, (0.0, 0.0, 0.0))
    session.pull("me", target)
    pulled = session.wait_for(lambda shot: bool(shot.pulls) and float(np.linalg.norm(shot.pulls[0].force)) > 1.0)
    assert np.linalg.norm(pulled.pulls[0].force) <= session.strength + 1e-9
    assert np.abs(pulled.external).max() > 0.1
    arrived = after(session, 2.0)
    assert np.linalg.norm(arrived.tip - target) < 0.5 * np.linalg.norm(before.tip - target)
    session.let_go("me")
    assert not session.wait_for(lambda shot: not shot.pulls).pulls


def test_at_rest_the_torques_add_up(session: Session) -> None:
    """commanded = gravity + friction − external, up to what amplifiers and gears get wrong."""
    shot = after(session, 0.5)
    rest = shot.commanded - shot.gravity - shot.friction + shot.external
    assert np.all(np.abs(rest) <= 0.04 * np.abs(shot.commanded) + 0.05)


def test_without_gravity_it_sinks_and_with_it_stays(session: Session) -> None:
    """Gravity off lets the tip down at a bounded speed; gravity on stops it."""
    before = session.snapshot
    session.set_gravity(False)
    sunk = after(session, 1.5)
    assert sunk.state is State.FLOATING
    assert sunk.tip[2] < before.tip[2] - 0.05
    session.set_gravity(True)
    at_rest = after(session, 1.5)
    assert np.linalg.norm(after(session, 1.0).tip - at_rest.tip) < 1e-3


def test_a_weight_is_found_compensated_and_missed(session: Session) -> None:
    """Hung on, it is found and borne; taken off, the arm knows that too; it floats in between and after."""
    session.hang("link7", 2.0)
    in_state(session, State.WEIGHING)
    found = session.wait_for(lambda shot: shot.state is not State.WEIGHING, PATIENCE)
    assert found.state is State.FLOATING, found.why
    assert found.estimate.mass == pytest.approx(2.0, abs=0.15)
    assert sum(found.estimate.links.get(link, 0.0) for link in ("link6", "link7", "toolplate")) > 0.8
    assert np.abs(found.compensated + found.external).max() < 0.6
    assert np.linalg.norm(after(session, 2.0).tip - after(session, 1.0).tip) < 2e-3
    session.unhang()
    in_state(session, State.WEIGHING)
    empty = session.wait_for(lambda shot: shot.state is not State.WEIGHING, PATIENCE)
    assert (empty.state, empty.weight, empty.trusted) == (State.FLOATING, None, False)


def test_the_plate_feels_a_weight_and_can_be_switched_off(session: Session) -> None:
    """Two kilograms are 19.6 N downwards; without the plate nothing is told."""
    session.hang("link4", 2.0)
    shot = after(session, 0.8)  # held where it was, before it moves to feel the weight
    assert shot.plate_force is not None
    assert shot.plate_force[2] == pytest.approx(-19.6, abs=3.0)
    session.use_plate(False)
    assert session.wait_for(lambda shot: shot.plate_force is None).plate_force is None


def test_hold_holds_and_float_lets_go(session: Session) -> None:
    """Held, a push hardly moves it; told to float, it moves."""
    session.hold()
    held = in_state(session, State.HOLDING)
    session.push(session.tip_link, (0.0, 15.0, 0.0), 0.5)
    assert np.linalg.norm(after(session, 1.0).tip - held.tip) < 0.02
    session.let_float()
    in_state(session, State.FLOATING)


def test_a_fault_ends_in_the_safe_stop_and_it_starts_again(session: Session) -> None:
    """An arm that is thrown is stopped with a reason; hands are off; a new start begins at the first pose."""
    plant, first = session.arm.plant, session.snapshot.q
    blow = Push(link="link4", wrench=(0.0, 300.0, 0.0, 0.0, 0.0, 0.0), start=0.0, end=1e3)
    session._orders.put(lambda: plant.push(blow))
    stopped = in_state(session, State.STOPPED)
    assert "fast" in stopped.why or "rad/s" in stopped.why
    assert session.report is not None
    session.push(session.tip_link, (0.0, 10.0, 0.0))
    session.start_again()
    again = in_state(session, State.FLOATING)
    assert np.allclose(again.q, first, atol=0.02)


def test_a_stop_is_shown_once_its_run_has_a_report(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tick would be a frame; the one on which the arm's own watch stops it is none."""
    monkeypatch.setattr("counterpoise.view.session.FRAME_TIME", 0.0)
    blow = Push(link="link4", wrench=(0.0, 300.0, 0.0, 0.0, 0.0, 0.0), start=0.0, end=1e3)
    session._orders.put(lambda: session.arm.plant.push(blow))
    in_state(session, State.STOPPED)
    assert session.report is not None


def test_a_new_start_while_it_floats(session: Session) -> None:
    """The run ends in the safe stop; the next one begins at the first pose, at time 0, without the weight."""
    first = session.snapshot.q
    session.push(session.tip_link, (0.0, 20.0, 0.0), 0.5)
    moved = after(session, 1.5)
    session.hang("link7", 1.0)
    session.wait_for(lambda shot: shot.weight is not None, PATIENCE)
    session.start_again()
    session.wait_for(lambda shot: shot.time < moved.time, PATIENCE)
    again = in_state(session, State.FLOATING)
    assert np.allclose(again.q, first, atol=0.02)
    assert again.weight is None
    assert session.report is not None
    assert session.report.end is EndState.COMPLETED


def test_when_nobody_looks_it_is_held_until_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last viewer has left, the arm is held; a hand that comes later makes it float."""
    monkeypatch.setattr("counterpoise.view.session.ALONE_TIME", 0.05)
    with Session(view_arm("planar3"), real_time=False) as session:
        in_state(session, State.FLOATING)
        session.watched(1)
        session.watched(0)
        held = session.wait_for(lambda shot: shot.why == NOBODY, PATIENCE)
        assert held.state is State.HOLDING
        session.watched(1)
        session.push(session.tip_link, (0.0, 0.0, 5.0), 0.2)
        in_state(session, State.FLOATING)


def test_stopping_ends_in_the_declared_safe_state() -> None:
    """The run is completed by the safe stop, the plant is off, and a second stop does no harm."""
    session = Session(view_arm("puma550"), real_time=False).start()
    in_state(session, State.FLOATING)
    report = session.stop()
    assert report is not None
    assert (report.end, report.stop) == (EndState.COMPLETED, "brake")
    assert session.stop() is report
    with pytest.raises(Exception, match="not switched on"):
        session.arm.plant.read()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.push("nose", (0, 0, 1)), "no link 'nose'"),
        (lambda s: s.push("link7", (0, 0, np.nan)), "three finite"),
        (lambda s: s.grab("me", "link7", (0, 0)), "three finite"),
        (lambda s: s.hang("link7", -1.0), "mass"),
        (lambda s: s.hang("nose", 1.0), "no link"),
        (lambda s: s.set_friction_fraction(1.2), "0 to 0.9"),
    ],
)
def test_nonsense_is_refused_where_it_is_said(call: object, words: str) -> None:
    """In the caller's thread, before the arm hears of it."""
    session = Session(view_arm("wam7"), real_time=False)
    with pytest.raises(InputError, match=words):
        call(session)  # type: ignore[operator]
