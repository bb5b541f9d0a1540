"""The mapping files in docs/logs.md are read."""

from __future__ import annotations

import re
from pathlib import Path

from counterpoise.recording.mapping import read_mapping

PAGE = Path(__file__).resolve().parents[2] / "docs" / "logs.md"


def test_the_documented_mapping_is_read(tmp_path: Path) -> None:
    """Every key of the examples is a key of a mapping."""
    path = tmp_path / "m.toml"
    sources, mapping = (
        read_mapping(path)
        for text in re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        if path.write_text(text, encoding="utf-8")
    )
    assert sources.source == {"time.rate": "measured", "joints.elbow.effort_gain": "guessed"}
    assert mapping.source == {"joints.elbow.effort_gain": "guessed"}
    assert mapping.joints["elbow"].effort_gain == 1.3
    assert mapping.motor.motor_per_link == ((45.0, 0.0), (32.0, 32.0))
