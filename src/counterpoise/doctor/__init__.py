"""What is wrong with a recording: findings, each with its evidence and its remedy."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .diagnosis import Diagnosis as Diagnosis
    from .diagnosis import check_recording as check_recording
    from .diagnosis import diagnose as diagnose
    from .finding import ABOUT_MODEL as ABOUT_MODEL
    from .finding import ABOUT_PLATE as ABOUT_PLATE
    from .finding import PLATE_CHANNELS as PLATE_CHANNELS
    from .finding import Consequence as Consequence
    from .finding import Finding as Finding
    from .finding import LogFault as LogFault
    from .finding import listed as listed
    from .finding import percent as percent
    from .finding import short as short
    from .finding import spread as spread
    from .plate import BELIEVED as BELIEVED
    from .plate import UNRELATED as UNRELATED
    from .plate import check_plate as check_plate
    from .plate_fit import LEVER as LEVER
    from .plate_fit import PlateClass as PlateClass
    from .plate_fit import PlateFit as PlateFit
    from .plate_fit import PlateModel as PlateModel
    from .plate_fit import PlateTurn as PlateTurn
    from .plate_fit import axes_of as axes_of
    from .plate_fit import fit_plate as fit_plate
    from .pose_table import LEAST_ROWS as LEAST_ROWS
    from .pose_table import is_pose_table as is_pose_table
    from .priors import AMBIGUOUS as AMBIGUOUS
    from .priors import MassBelief as MassBelief
    from .priors import parameter_spread as parameter_spread

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "diagnosis": ("Diagnosis", "check_recording", "diagnose"),
        "finding": ("Consequence", "Finding", "LogFault"),
    },
    shared={
        "finding": ("ABOUT_MODEL", "ABOUT_PLATE", "PLATE_CHANNELS", "listed", "percent", "short", "spread"),
        "plate": ("BELIEVED", "UNRELATED", "check_plate"),
        "plate_fit": ("LEVER", "PlateClass", "PlateFit", "PlateModel", "PlateTurn", "axes_of", "fit_plate"),
        "pose_table": ("LEAST_ROWS", "is_pose_table"),
        "priors": ("AMBIGUOUS", "MassBelief", "parameter_spread"),
    },
)
