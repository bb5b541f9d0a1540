"""``counterpoise tour``: every stop finds what was hidden from it; one run serves all tests."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from counterpoise.lab import LOAD_MASS, REVERSED, hidden_arm, sentences
from counterpoise.recording import read_mapping

pytest.importorskip("mujoco", reason="MuJoCo is not installed")


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """The tour's document and the folder with its files."""
    folder = tmp_path_factory.mktemp("tour")
    page = folder / "tour.html"
    command = [sys.executable, "-c", "from counterpoise.cli.main import main; main()", "tour", "--json"]
    done = subprocess.run(
        [*command, "--page", str(page), "--keep", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def test_every_fault_is_found(taken):
    """The doctor names the reversed effort and the tool; the calibration is trusted and holds."""
    document, folder = taken
    found = {row["what"]: row for row in document["summary"]}
    assert found["effort with the wrong sign"]["found"] == REVERSED
    assert found["tool that the description lacks"]["found"] == "named"
    assert document["trusted"] and document["verified"]
    assert read_mapping(folder / "fixed.toml").joints[REVERSED].effort_sign == -1


def test_the_stops_show_what_they_promise(taken):
    """The wrong model may not float, the right one does; the load is weighed; the plate beats PID."""
    document, _ = taken
    _, (_, torques), (refused, floats), (load,), (fine,) = document["stops"]
    before, after = (float(torques.split(word)[1].split()[0]) for word in ("were ", "model, "))
    assert after < 0.2 * before
    assert "is not let go" in refused and "it floats" in floats
    mass = float(load.split("later: ")[1].split()[0])
    assert mass == pytest.approx(LOAD_MASS, rel=0.1)
    assert float(fine.split("plate, ")[1].split()[0]) > 2.0


def test_page_and_files_are_written(taken):
    """A page without requests, the recordings and the calibration."""
    document, folder = taken
    text = (folder / "tour.html").read_text(encoding="utf-8")
    assert document["page"] == str(folder / "tour.html") and "Hidden, and found" in text
    assert {"recording.csv", "fresh.csv", "arm.calibration.json"} <= {path.name for path in folder.iterdir()}


def test_another_seed_is_another_arm():
    """Masses differ from seed to seed and from the description; the same seed gives the same arm."""
    first, again, other = hidden_arm(0), hidden_arm(0), hidden_arm(1)
    assert first.true.total_mass == again.true.total_mass
    assert first.true.total_mass != other.true.total_mass
    with pytest.raises(TypeError, match="no stop of the tour"):
        sentences("nothing")
