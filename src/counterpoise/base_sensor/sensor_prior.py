"""What is assumed of a plate before a recording is seen."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class SensorPrior:
    """Standard deviations about the plate as declared, after its sign and yaw were found roughly.

    Attributes:
        gain: Of a channel's own gain about 1; factory calibrations hold 0.2 to 2 %.
        cross_talk: Of a share of a foreign component; moments and forces relate by LEVER (doctor/plate_fit.py).
        rotation: Of each small turn of the axes [rad].
        origin: Of the sensor's origin in each direction [m]; a stand of unknown height lies within.
        bias: Of the reading's zero, relative to the robot's weight; wide enough for a plate that was tared with the
            robot on it.
        drift: Of what the zero moves over the whole recording, relative to the robot's weight.
        lag: Of the lag [s].
    """

    gain: float = 0.03
    cross_talk: float = 0.02
    rotation: float = 1.0
    origin: float = 1.0
    bias: float = 3.0
    drift: float = 0.02
    lag: float = 0.3

    def __post_init__(self) -> None:
        """Refuse what is no spread."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not 0.0 < float(value) < 1e3:
                raise InputError(f"prior.{entry.name} is {value!r}; expected a positive standard deviation below 1000")
