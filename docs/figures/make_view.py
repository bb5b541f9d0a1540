"""Take the pictures of the page: python docs/figures/make_view.py, on a quiet machine with Chromium and its driver.

The WAM on its plate floats; 2 kg are hung on it and weighed; a hand pulls at the tool; a recording stands beside it as
a shadow. The phone sees the same.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from counterpoise.recording import Declared, Log
from counterpoise.view import Session, State, ViewArm, ViewPage, log_timeline, view_arm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from library.browser import PATIENCE, driver_or_skip, eventually, text_of  # noqa: E402

SCREENS = (("view-desktop.png", 1280, 943, False), ("view-phone.png", 390, 844, True))
"""Files, sizes of the window [pixels], and whether it is a phone's."""
DISMISS = """
    for (const one of document.querySelectorAll('[class*=Notification]')) {
        if (one.innerText.includes('WebGL')) one.style.display = 'none';
    }
"""
"""Hides the browser's remark that it has no graphics card."""
WEIGHT = 2.0
"""What is hung on the tool [kg]."""


def swing(arm: ViewArm) -> Log:
    """Return a recording of the arm elsewhere."""
    time_s = np.linspace(0.0, 4.0, 81)
    q = np.array([0.4, -0.7, 0.0, 2.4, 0.0, 0.3, 0.0]) + 0.2 * np.sin(time_s)[:, None]
    declared = Declared(effort_kind="torque", effort_side="link")
    return Log(arm.robot.joint_names, time_s, q, np.zeros_like(q), arm.robot.gravity(q), declared=declared)


def take(name: str, width: int, height: int, phone: bool) -> None:
    """Let the arm be weighed and pulled at, and take a picture of the page."""
    arm = view_arm("wam7:plate")
    with Session(arm) as session:
        page = ViewPage(session, timeline=log_timeline(swing(arm), arm.robot, "swing"))
        driver = driver_or_skip(width, height, phone=phone)
        driver.get(page.url)
        eventually(
            lambda: session.snapshot.state is State.FLOATING and "wam7" in text_of(driver), "the page shows the arm"
        )
        session.hang(session.tip_link, WEIGHT)
        time.sleep(1.0)
        session.wait_for(lambda shot: shot.state is State.FLOATING, PATIENCE)
        driver.execute_script(DISMISS)
        session.push(session.tip_link, [0.0, 15.0, 10.0], 4.0)
        time.sleep(2.0)
        driver.save_screenshot(str(HERE / name))
        driver.quit()
        page.close()


if __name__ == "__main__":
    for screen in SCREENS:
        take(*screen)
