"""A gain that a mapping calls guessed, through the commands: each one's first line says it, or refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterpoise as cp
from library.calibration_data import motion, other_masses

KEY = "joints.joint2.effort_gain"
TOLD = f"'{KEY}' of the mapping is guessed"
MAPPING = f"""[joints.joint2]
effort_gain = 1.0
[source]
"{KEY}" = "guessed"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    arm = cp.load("planar3")
    for name, seed in (("first", 0), ("second", 5)):
        cp.write_log(motion(other_masses(arm), coulomb=0.5, noise=0.1, seed=seed), tmp_path / f"{name}.npz")
    (tmp_path / "arm.toml").write_text(MAPPING)
    return tmp_path


def flat(text: str) -> str:
    return " ".join(text.split())


def test_every_command_says_it_first_or_refuses(run, run_json, folder: Path) -> None:
    first, second, mapping = folder / "first.npz", folder / "second.npz", ("--mapping", folder / "arm.toml")
    looked = run("doctor", first, "--robot", "planar3", *mapping, "--page", folder / "doctor.html")
    assert TOLD in looked.stdout.splitlines()[0]
    asked = ("calibrate", "planar3", first, *mapping, "--out", folder / "arm.calibration.json")
    made = run(*asked, "--page", folder / "calibration.html")
    assert f"in command units: {TOLD}" in flat(made.stdout)[:200]
    path = next(folder.glob("arm*.calibration.json"))
    checked = run("verify", "planar3", path, second, *mapping, "--page", folder / "verification.html")
    assert f"in command units: {TOLD}" in flat(checked.stdout)[:200]
    document = run_json("verify", "planar3", path, second, *mapping, exit_code=checked.exit_code)
    assert document["units"] == "command units" and document["guessed"] == [KEY]
    for page in ("doctor.html", "calibration.html", "verification.html"):
        text = (folder / page).read_text(encoding="utf-8")
        assert KEY in text and "of the mapping is guessed" in text
    for command in (
        *(("export", "planar3", "--calibration", path, "--out", folder / f"x{end}") for end in (".h", ".urdf", ".xml")),
        ("track", second, "--robot", "planar3", "--calibration", path),
        ("track", second, "--robot", "planar3", *mapping),
        ("view", "planar3", "--calibration", path),
    ):
        refused = run(*command)
        assert refused.exit_code == 1 and TOLD in flat(refused.stderr), command
    assert not list(folder.glob("x.*"))
