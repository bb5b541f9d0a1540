"""The page in a real browser: it opens, the arm is pushed and loaded, a log replays, nobody leaves it moving."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from counterpoise.recording import Declared, Log
from counterpoise.view.arms import view_arm
from counterpoise.view.comparison import ModelPair
from counterpoise.view.guide import NOBODY
from counterpoise.view.session import Session
from counterpoise.view.snapshot import Snapshot, State
from counterpoise.view.timeline import log_timeline
from library.browser import (
    PATIENCE,
    click,
    drag,
    driver_or_skip,
    eventually,
    hosts_asked,
    on_screen,
    open_tab,
    text_of,
    toggle,
)

pytest.importorskip("viser", reason="viser is not installed: pip install 'counterpoise[view]'")
pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'counterpoise[sim]'")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

COARSE = "?fixedDpr=0.15"
"""The scene is drawn with few pixels: without a graphics card that is what a browser spends its time on."""


@dataclass
class Shown:
    """A session, its page, and a browser that looks at it."""

    session: Session
    page: Any
    driver: Any

    @property
    def camera(self) -> Any:
        return next(iter(self.page._server.get_clients().values())).camera

    def after(self, seconds: float) -> Snapshot:
        """Return the arm so much of its own time later."""
        begun = self.session.snapshot.time
        return self.session.wait_for(lambda shot: shot.time >= begun + seconds, PATIENCE)

    def in_state(self, state: State) -> Snapshot:
        shot = self.session.wait_for(lambda shot: shot.state is state, PATIENCE)
        assert shot.state is state, f"{shot.state}: {shot.why}"
        return shot

    def at_start(self) -> Snapshot:
        """Return the arm at its first pose, empty and floating."""
        self.session.start_again()
        self.session.wait_for(lambda shot: shot.time < 1.0, PATIENCE)
        return self.in_state(State.FLOATING)


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    from counterpoise.view.page import ViewPage

    driver = driver_or_skip(1280, 800)
    try:
        arm = view_arm("wam7")
        moments = np.linspace(0.0, 4.0, 81)
        q = np.array([0.0, -1.0, 0.0, 2.0, 0.0, 0.5, 0.0]) + 0.4 * np.sin(moments)[:, None]
        declared = Declared(effort_kind="torque", effort_side="link")
        log = Log(arm.robot.joint_names, moments, q, np.zeros_like(q), arm.robot.gravity(q), declared=declared)
        heavier = arm.robot.with_payload(0.5, link="link7")
        comparison = ModelPair(("description", "with a tool"), arm.robot, heavier)
        with Session(arm) as session:
            timeline = log_timeline(log, arm.robot, "swing")
            page = ViewPage(session, port=18080, timeline=timeline, comparison=comparison)
            driver.get(page.url + COARSE)
            eventually(lambda: "floating" in text_of(driver), "the page shows the arm's state")
            eventually(page._server.get_clients, "the server knows the browser")
            yield Shown(session, page, driver)
            page.close()
    finally:
        driver.quit()


def test_the_page_opens_and_asks_nobody_else(shown: Shown) -> None:
    """It shows the arm, its joints and switches, and all requests go to its own address."""
    text = text_of(shown.driver)
    for word in ("wam7 (plate)", "joint7", "Gravity compensation", "Friction fraction", "Hang it on", "from outside"):
        assert word in text
    assert hosts_asked(shown.driver) == {shown.page.url.removeprefix("http://")}


def test_a_push_with_the_mouse_moves_the_arm_and_it_stays(shown: Shown) -> None:
    """Dragging the tool pulls it along; when let go, it stays where it is."""
    before = shown.at_start()
    begin = on_screen(shown.driver, shown.camera, before.tip)
    drag(shown.driver, begin, (begin[0] - 60, begin[1] - 70), held=1.0)
    shown.session.wait_for(lambda shot: not shot.pulls, PATIENCE)
    let_go = shown.after(1.0)
    assert let_go.state is State.FLOATING
    assert np.linalg.norm(let_go.tip - before.tip) > 0.03
    later = shown.after(1.0)
    assert np.linalg.norm(later.tip - let_go.tip) < 1e-3


def test_a_push_with_a_button_moves_the_arm(shown: Shown) -> None:
    """The same without a mouse drag, for a phone."""
    before = shown.at_start()
    click(shown.driver, "+y")
    moved = shown.session.wait_for(lambda shot: bool(shot.tip[1] > before.tip[1] + 0.02), PATIENCE)
    assert moved.tip[1] > before.tip[1] + 0.02


def test_without_gravity_compensation_it_sinks(shown: Shown) -> None:
    """The switch takes ĝ away: the tip goes down; switched on again, it stays there."""
    before = shown.at_start()
    toggle(shown.driver, "Gravity compensation")
    sunk = shown.session.wait_for(lambda shot: bool(shot.tip[2] < before.tip[2] - 0.05), PATIENCE)
    toggle(shown.driver, "Gravity compensation")
    assert sunk.tip[2] < before.tip[2] - 0.05
    at_rest = shown.after(1.5)
    assert np.linalg.norm(shown.after(1.0).tip - at_rest.tip) < 2e-3


def test_a_dragged_weight_is_found_and_compensated(shown: Shown) -> None:
    """Dropped on the forearm's end it hangs there, is found with its mass, and the arm floats with it."""
    start = shown.at_start()
    open_tab(shown.driver, "Payload")
    begin = on_screen(shown.driver, shown.camera, shown.page._ball._stand)
    drag(shown.driver, begin, on_screen(shown.driver, shown.camera, start.tip))
    hung = shown.session.wait_for(lambda shot: shot.weight is not None, PATIENCE)
    assert hung.weight is not None
    found = shown.session.wait_for(lambda shot: shot.trusted and shot.state is State.FLOATING, PATIENCE)
    assert found.estimate.mass == pytest.approx(hung.weight.mass, abs=0.25)
    assert "toolplate" in found.estimate.links or "link7" in found.estimate.links
    eventually(lambda: "compensated:" in text_of(shown.driver), "the page says that it is compensated")
    at_rest = shown.after(1.0)
    assert np.linalg.norm(shown.after(1.0).tip - at_rest.tip) < 2e-3


def test_a_log_replays(shown: Shown) -> None:
    """Play moves the slider and the ghost; pause stops them."""
    open_tab(shown.driver, "Time line")
    player = shown.page._controls.player
    click(shown.driver, "Play")
    eventually(lambda: player.position > 0.5, "the player moves on")
    slider = shown.page._controls._slider
    eventually(lambda: slider.value > 0.3, "the slider follows")
    click(shown.driver, "Pause")
    eventually(lambda: not player.playing, "it pauses")
    stood = player.position
    time.sleep(0.2)
    assert player.position == stood


def test_two_calibrations_are_compared(shown: Shown) -> None:
    """The tab shows both models and what friction does not hide."""
    open_tab(shown.driver, "Compare")
    eventually(lambda: "with a tool" in text_of(shown.driver), "both models are named")
    assert "friction hides" in text_of(shown.driver).lower()


def test_two_tabs_see_the_same_arm_and_a_closed_one_lets_go(shown: Shown) -> None:
    """A drag in the second tab moves the arm of the first; closed in the middle of the drag, its hand is gone."""
    before, driver = shown.at_start(), shown.driver
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(shown.page.url + COARSE)
    eventually(lambda: len(shown.page._server.get_clients()) == 2, "the server knows both")
    eventually(lambda: "floating" in text_of(driver), "the second page is there")
    newest = shown.page._server.get_clients()[max(shown.page._server.get_clients())]
    begin = on_screen(driver, newest.camera, before.tip)
    drag(driver, begin, (begin[0] - 60, begin[1] - 70), held=0.2, release=False)
    assert shown.session.wait_for(lambda shot: bool(shot.pulls), PATIENCE).pulls
    second = driver.current_window_handle
    driver.switch_to.window(first)
    assert "floating" in text_of(driver)
    driver.switch_to.window(second)
    driver.close()
    driver.switch_to.window(first)
    assert not shown.session.wait_for(lambda shot: not shot.pulls, PATIENCE).pulls
    eventually(lambda: len(shown.page._server.get_clients()) == 1, "the server noticed")


def test_when_the_last_tab_is_closed_the_arm_is_held(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks: a moment later the arm is held; a page that comes back finds it so."""
    monkeypatch.setattr("counterpoise.view.session.ALONE_TIME", 0.3)
    shown.in_state(State.FLOATING)
    tab = shown.driver.current_window_handle
    shown.driver.switch_to.new_window("tab")
    empty = shown.driver.current_window_handle
    shown.driver.switch_to.window(tab)
    shown.driver.close()
    shown.driver.switch_to.window(empty)
    held = shown.session.wait_for(lambda shot: shot.state is State.HOLDING and shot.why == NOBODY, PATIENCE)
    assert held.why == NOBODY
    shown.driver.get(shown.page.url + COARSE)
    eventually(lambda: "nobody is looking" in text_of(shown.driver), "the page says why the arm is held")
    click(shown.driver, "Float")
    shown.in_state(State.FLOATING)
