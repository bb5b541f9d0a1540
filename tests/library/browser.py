"""A real browser on a page: finding it, starting it, and where a point of the scene is on its screen."""

from __future__ import annotations

import json
import shutil
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 90.0
"""How long a busy machine may take for anything [s]."""


def driver_or_skip(width: int, height: int, *, phone: bool = False) -> Any:
    """Start a headless browser, or skip the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-gl=angle", "--use-angle=swiftshader"),
        *("--enable-unsafe-swiftshader", "--disable-background-networking", f"--window-size={width},{height}"),
    ):
        options.add_argument(argument)
    if phone:
        metrics = {"width": width, "height": height, "pixelRatio": 2.0}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    started.set_page_load_timeout(PATIENCE)
    started.set_script_timeout(PATIENCE)
    return started


def eventually(condition: Any, what: str, patience: float = PATIENCE) -> Any:
    """Wait until ``condition()`` is true and return what it returned."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {patience:g} s in vain: {what}")


def text_of(driver: Any) -> str:
    """Return all text on the page."""
    return str(driver.execute_script("return document.body.innerText"))


def click(driver: Any, label: str) -> None:
    """Click the button that shows exactly this text."""
    script = """
        const wanted = arguments[0];
        const found = [...document.querySelectorAll('button')].filter(
            one => one.innerText.trim() === wanted && one.offsetParent !== null);
        if (found.length) { found[0].scrollIntoView({block: 'center'}); found[0].click(); }
        return found.length;
    """
    eventually(lambda: driver.execute_script(script, label), f"no button '{label}'")


def open_tab(driver: Any, label: str) -> None:
    """Click the tab that shows exactly this text with the mouse: tabs can be dragged and want a real pointer."""
    from selenium.webdriver import ActionChains

    script = """
        const found = [...document.querySelectorAll('*')].filter(
            one => one.children.length === 0 && one.textContent.trim() === arguments[0] && one.offsetParent !== null);
        return found.length ? found[0] : null;
    """
    found = eventually(lambda: driver.execute_script(script, label), f"no tab '{label}'")
    ActionChains(driver, duration=50).move_to_element(found).click().perform()


def toggle(driver: Any, label: str) -> None:
    """Click the checkbox beside this text."""
    script = """
        const wanted = arguments[0];
        const words = [...document.querySelectorAll('*')].filter(
            one => one.children.length === 0 && one.textContent.trim() === wanted);
        for (const word of words) {
            for (let box = word; box; box = box.parentElement) {
                const input = box.querySelector && box.querySelector('input[type=checkbox]');
                if (input) { input.click(); return 1; }
                if (box.querySelectorAll && box.querySelectorAll('input').length > 1) break;
            }
        }
        return 0;
    """
    eventually(lambda: driver.execute_script(script, label), f"no checkbox '{label}'")


def on_screen(driver: Any, camera: Any, point_world: Any) -> tuple[int, int]:
    """Return where a point of the scene is in the window [pixels].

    Args:
        driver: The browser.
        camera: viser's camera of that browser; its axes are x right, y down, z forward.
        point_world: The point [m], shape (3,).
    """
    script = "const r = document.querySelector('canvas').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]"
    left, top, width, height = driver.execute_script(script)
    w, x, y, z = camera.wxyz
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    seen = rotation.T @ (np.asarray(point_world) - camera.position)
    focal = 0.5 * height / np.tan(0.5 * camera.fov)
    return int(left + 0.5 * width + focal * seen[0] / seen[2]), int(top + 0.5 * height + focal * seen[1] / seen[2])


def drag(driver: Any, begin: tuple[int, int], end: tuple[int, int], *, held: float = 0.0, release: bool = True) -> None:
    """Press the mouse at one place, move it to another in steps, wait, and release."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    builder = ActionBuilder(driver, duration=20)
    pointer = builder.pointer_action
    pointer.move_to_location(*begin).pointer_down()
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        pointer.move_to_location(*(int(a + share * (b - a)) for a, b in zip(begin, end, strict=True)))
        pointer.pause(0.05)
    if held:
        pointer.pause(held)
    if release:
        pointer.pointer_up()
    builder.perform()


def hosts_asked(driver: Any) -> set[str]:
    """Return the hosts that the page asked since the last call."""
    hosts = set()
    for entry in driver.get_log("performance"):
        told = json.loads(entry["message"])["message"]
        if told["method"] == "Network.requestWillBeSent":
            url = urlsplit(told["params"]["request"]["url"])
            if url.scheme not in ("data", "blob"):
                hosts.add(url.netloc)
    return hosts
