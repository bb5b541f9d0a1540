"""The mapping file in docs/logs.md is one that is read."""

from __future__ import annotations

import re
from pathlib import Path

from counterpoise.logs.mapping_file import read_mapping

PAGE = Path(__file__).resolve().parents[2] / "docs" / "logs.md"


def test_the_documented_mapping_is_read(tmp_path: Path) -> None:
    """Every key of the example is a key of a mapping."""
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    mapping = read_mapping(path)
    assert mapping.joints["elbow"].effort_gain == 1.3
    assert mapping.motor.motor_per_link == ((45.0, 0.0), (32.0, 32.0))
