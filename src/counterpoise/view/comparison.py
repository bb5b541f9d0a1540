"""Two gravity models of one arm, to be compared pose by pose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..dynamics import Robot, refuse_command_units
from ..errors import InputError
from ..identification import load_calibration


@dataclass(frozen=True, slots=True, eq=False)
class ModelPair:
    """Two models.

    Attributes:
        labels: What they are called.
        first: The first.
        second: The second.
    """

    labels: tuple[str, str]
    first: Robot
    second: Robot


def compared(robot: Robot, files: tuple[str, ...]) -> ModelPair | None:
    """Return a calibration beside the description, or two calibrations beside each other; None for no files.

    Args:
        robot: The arm, as its description has it.
        files: None, one or two calibration files.

    Raises:
        InputError: More than two files, or a calibration in command units.
        CounterpoiseError: A file cannot be read, or belongs to another arm.
    """
    if not files:
        return None
    if len(files) > 2:
        raise InputError(f"{len(files)} calibrations; two can be compared at most")
    models = [
        (Path(file).name.removesuffix(".json").removesuffix(".calibration"), load_calibration(file, robot).robot)
        for file in files
    ]
    for _, model in models:
        refuse_command_units(model)
    if len(models) == 1:
        models.insert(0, ("description", robot))
    (first_name, first), (second_name, second) = models
    return ModelPair((first_name, second_name), first, second)
