"""``counterpoise doctor --self``: what is there, what is missing, what is broken, and what fixes it."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from counterpoise.cli import self_check
from counterpoise.dynamics import kernel
from counterpoise.dynamics.kernel_cases import NAMES
from library.native_builds import set_names


def importer(missing: str, raised: ImportError):
    """What imports every module but one."""
    real = importlib.import_module

    def imported(name: str, package: str | None = None):
        if name == missing:
            raise raised
        return real(name, package)

    return imported


def test_this_installation_is_sound(run, run_json):
    """Nothing is broken where the tests run; the JSON says the same as the table."""
    document = run_json("doctor", "--self")
    assert document["valid"] and document["findings"][0]["what"] == "python"
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
    """Not installed is an option; half installed is a defect with the command that fixes it."""
    monkeypatch.setattr(self_check.importlib, "import_module", importer("mujoco", raised))
    found = {each.what: each for each in self_check.self_check()}["extra 'sim' (simulated arms, MJCF files)"]
    assert found.state == state and words in found.remedy
    assert run("doctor", "--self").exit_code == (3 if state == "broken" else 0)


def test_mujoco_that_imports_and_does_not_work(monkeypatch):
    """A split installation may import and lack its library."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    monkeypatch.setattr(mujoco, "mj_step", None)
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", lambda text: (_ for _ in ()).throw(OSError("no library")))
    found = [each for each in self_check.self_check() if each.what.startswith("extra 'sim'")]
    assert found[0].state == "broken" and "no library" in found[0].details


def test_kernels_that_are_missing(monkeypatch):
    """Without the native kernels everything works, slowly."""
    for raised, state in ((ModuleNotFoundError("no _native"), "missing"), (ImportError("no symbol"), "broken")):
        monkeypatch.setattr(self_check.importlib, "import_module", importer(self_check.EXTENSION, raised))
        python, found, *others = self_check.self_check()
        assert found.state == state and "compiler" in found.remedy and python.state == "good"
        assert not any(each.what.startswith("native code") for each in others)
        monkeypatch.undo()
    monkeypatch.setenv("COUNTERPOISE_DISABLE_NATIVE", "1")
    assert "disabled" in self_check.self_check()[1].details


@pytest.mark.skipif(not kernel.NATIVE, reason="the native kernel is not built or is disabled")
def test_every_kernel_of_every_set_is_told(run, run_json):
    """Per subpackage and instruction set of the machine, each entry point agrees with the stored results."""
    findings = {each["what"]: each for each in run_json("doctor", "--self")["findings"]}
    for name in set_names():
        used = ", in use" if name == kernel.NATIVE else ""
        found = findings[f"native code of 'dynamics' ({name}{used})"]
        assert found["state"] == "good"
        assert [each["kernel"] for each in found["kernels"]] == list(NAMES)
        assert all(each["instruction_set"] == name and each["fault"] == "" for each in found["kernels"])
    for name in ("recording", "control", "plants", "sensing"):
        assert findings[f"native code of '{name}'"]["kernels"]
    assert "✓ base_torques" in " ".join(run("doctor", "--self").stdout.split())


@pytest.mark.skipif(not kernel.NATIVE, reason="the native kernel is not built or is disabled")
def test_a_kernel_that_disagrees_is_told(monkeypatch, run, run_json):
    """It is named with what it gave, and the installation is not valid."""
    real = self_check.check_instruction_set
    fault = "3 of 9 numbers differ"

    def wrong(module, name):
        return [replace(each, fault=fault if each.kernel == "jacobian" else "") for each in real(module, name)]

    monkeypatch.setattr(self_check, "check_instruction_set", wrong)
    shown = run("doctor", "--self")
    words = " ".join(shown.stdout.split())  # a narrow table breaks its lines anywhere
    assert shown.exit_code == 3 and "✗ jacobian" in words and "✓ gravity" in words
    broken = [each for each in self_check.self_check() if each.state == "broken"]
    assert len(broken) == len(set_names())
    assert all(f"jacobian: {fault}" in each.details and "compiler" in each.remedy for each in broken)
    assert not run_json("doctor", "--self", exit_code=3)["valid"]


def test_wrong_command_lines(run):
    """Files and --self exclude each other; one of them is needed."""
    assert run("doctor").exit_code == 2
    assert run("doctor", "run.csv", "--self").exit_code == 2
