"""``counterpoise doctor --self``: what is there, what is missing, what is broken, and what mends it."""

from __future__ import annotations

import importlib

import pytest

from counterpoise.cli import self_check


def test_this_installation_is_sound(run, run_json):
    """Nothing is broken where the tests run; the JSON says the same as the table."""
    document = run_json("doctor", "--self")
    assert document["sound"] and document["findings"][0]["what"] == "python"
    shown = run("doctor", "--self")
    assert shown.exit_code == 0 and "native kernels" in shown.stdout and "extra 'view'" in shown.stdout


@pytest.mark.parametrize(
    ("raised", "state", "words"),
    [
        (ModuleNotFoundError("No module named 'mujoco'", name="mujoco"), "missing", "pip install 'counterpoise[sim]'"),
        (ModuleNotFoundError("No module named 'glfw'", name="glfw"), "broken", "force-reinstall"),
        (ImportError("libmujoco.so.3.17.0: cannot open"), "broken", "mujoco-core"),
    ],
)
def test_mujoco_that_does_not_import(monkeypatch, run, raised, state, words):
    """Not installed is an option; half installed is a defect with the command that mends it."""
    real = importlib.import_module

    def imported(name: str, package: str | None = None):
        if name == "mujoco":
            raise raised
        return real(name, package)

    monkeypatch.setattr(self_check.importlib, "import_module", imported)
    found = {each.what: each for each in self_check.self_check()}["extra 'sim' (simulated arms, MJCF files)"]
    assert found.state == state and words in found.remedy
    assert run("doctor", "--self").exit_code == (1 if state == "broken" else 0)


def test_mujoco_that_imports_and_does_not_work(monkeypatch):
    """A split installation may import and lack its library."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    monkeypatch.setattr(mujoco, "mj_step", None)
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", lambda text: (_ for _ in ()).throw(OSError("no library")))
    found = [each for each in self_check.self_check() if each.what.startswith("extra 'sim'")]
    assert found[0].state == "broken" and "no library" in found[0].details


def test_kernels_that_are_missing(monkeypatch):
    """Without the native kernels everything works, slowly."""
    monkeypatch.setattr(self_check, "NATIVE_ROOMS", ("dynamics", "friction"))
    found = self_check.self_check()[1]
    assert found.state == "missing" and "friction" in found.details and "compiler" in found.remedy
    monkeypatch.setenv("COUNTERPOISE_DISABLE_NATIVE", "1")
    assert "disabled" in self_check.self_check()[1].details


def test_wrong_command_lines(run):
    """Files and --self exclude each other; one of them is needed."""
    assert run("doctor").exit_code == 2
    assert run("doctor", "run.csv", "--self").exit_code == 2
