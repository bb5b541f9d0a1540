"""The fault-injection matrix again, on honest simulated arms: friction, gears, encoders, noise, delays."""

from __future__ import annotations

import pytest

from library.fault_cases import CASES, try_fault

pytest.importorskip("mujoco")

from counterpoise.plants import preset


@pytest.mark.parametrize("name", ["puma550", "wam7", "dualarm19"])
@pytest.mark.parametrize("title", [title for title, case in CASES.items() if not case.plate])
def test_fault_ends_in_the_specified_state(name: str, title: str) -> None:
    """The same end states as on an ideal arm."""
    chosen = preset(name)
    try_fault(chosen.arm(), chosen.robot(), CASES[title])
