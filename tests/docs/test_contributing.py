"""The examples of CONTRIBUTING.md: a reader, a law, a driver and a page in one file each, built and used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpoise as cp
from counterpoise.control import Plant
from counterpoise.recording import TableSource, register_reader
from counterpoise.report import write_page
from library.docs_pages import ROOT, snippets


def built(page: str, word: str) -> dict[str, Any]:
    """Return the names that the page's snippet with a word defines."""
    (text,) = (block.text for block in snippets(ROOT / page) if word in block.text)
    namespace: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(text, page, "exec", dont_inherit=True), namespace)
    return namespace


def test_a_reader_is_one_file(tmp_path: Path) -> None:
    """A recording in the new format is the same log as in CSV, pieces and budget included; damage is refused."""
    names = built("CONTRIBUTING.md", "register_reader")
    robot = cp.load("pendulum")
    time = np.arange(200) / 100.0
    q = 0.5 * np.sin(2.0 * time)[:, None]
    joint = robot.joint_names[0]
    rows = np.column_stack([time, q, np.cos(time), 3.0 * q])
    columns = ["time", f"{joint}_position", f"{joint}_velocity", f"{joint}_effort"]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows.tolist()))
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
    source = names["JsonLines"](path, cp.recording.Spending())
    pieces = [table.columns for table in source.tables(7)]
    assert max(map(len, pieces)) == 7 and np.array_equal(np.vstack(pieces), rows)
    log, other = cp.read_log(path, robot), cp.read_log(tmp_path / "run.csv", robot)
    for name in ("time", "q", "dq", "tau"):
        assert np.array_equal(getattr(log, name), getattr(other, name))
    with pytest.raises(cp.errors.BudgetError):
        cp.read_log(path, robot, budget=cp.recording.ReadingBudget(rows=100))
    path.write_text('{"time": 0}\n{"time": ')
    with pytest.raises(cp.errors.DataFileError, match="JSON lines"):
        cp.read_log(path, robot)
    missing = {name for name in vars(TableSource) if not name.startswith("_")} - set(dir(source))
    assert not missing


@pytest.mark.parametrize("magic", [b"", b"PAR1", b"PA", b"PAR1more", b"\x89MCAP0\r\n", b"x" * 17])
def test_formats_of_the_package_are_not_taken_over(magic: bytes) -> None:
    """A reader for bytes that the package reads itself, for none or for too many, is refused."""
    with pytest.raises(cp.InputError):
        register_reader(magic, lambda path, spending: ())


def test_a_law_is_one_file() -> None:
    """It drives an arm through loop and filter, and its torque is that of its equation."""
    pytest.importorskip("mujoco", reason="the arm is simulated")
    plant = cp.plants.preset("puma550").arm()
    law = built("CONTRIBUTING.md", "class Damping")["Damping"](plant.robot, np.full(6, 5.0))
    assert isinstance(law, cp.Law)
    with plant:
        report = cp.ControlLoop(plant, law, plant.robot).run(0.05)
    assert report.ticks > 1
    q, dq = np.full(6, 0.1), np.full(6, 0.2)
    sample = cp.Sample(0.0, q, dq, np.zeros(6), None)
    assert law.torque(sample, 0.0) == pytest.approx(plant.robot.gravity(q) - 1.0)


def test_a_driver_is_one_file() -> None:
    """The driver of docs/plants.md has every member of a plant, and sends nothing once it is stopped."""
    robot = cp.load("pendulum")
    driver = built("docs/plants.md", "class MyArm")["MyArm"](robot, "can0")
    assert isinstance(driver, Plant)
    with driver:
        assert driver.read().q.shape == (robot.n,)
        assert driver.write(np.full(robot.n, 1e-3)) == pytest.approx(1e-3)
        driver.emergency_stop()
        assert driver.write(np.full(robot.n, 1e-3)) == pytest.approx(0.0)


def test_a_page_is_one_file(tmp_path: Path) -> None:
    """It is written, and shows every link's mass."""
    pytest.importorskip("jinja2", reason="the extra 'report' writes pages")
    robot = cp.load("wam7")
    write_page(built("CONTRIBUTING.md", "def masses_page")["masses_page"](robot), tmp_path / "masses.html")
    text = (tmp_path / "masses.html").read_text(encoding="utf-8")
    masses = [link.inertia.mass for link in robot.description.links if link.inertia]
    assert masses and all(f"{mass:.3f}" in text for mass in masses)
