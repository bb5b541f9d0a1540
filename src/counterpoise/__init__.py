"""Counterpoise makes robot arms weightless.

>>> import counterpoise as cp
>>> robot = cp.load("pendulum")
>>> robot.gravity([0.0]).shape
(1,)

What a first day needs is here; everything else is one level down, in the subpackages: ``cp.sensing``, ``cp.control``.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import errors as errors
from .description import catalog as catalog
from .dynamics import Robot as Robot
from .dynamics import load as load
from .errors import CounterpoiseError as CounterpoiseError
from .errors import InputError as InputError
from .errors import ModelError as ModelError
from .errors import SafetyError as SafetyError
from .foundation import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from . import control as control
    from . import description as description
    from . import doctor as doctor
    from . import dynamics as dynamics
    from . import exporters as exporters
    from . import fitting as fitting
    from . import identification as identification
    from . import lab as lab
    from . import plants as plants
    from . import recording as recording
    from . import report as report
    from . import sensing as sensing
    from . import tasks as tasks
    from . import view as view
    from .control import PD as PD
    from .control import PID as PID
    from .control import ControlLoop as ControlLoop
    from .control import Gravity as Gravity
    from .control import Law as Law
    from .control import PDGravity as PDGravity
    from .control import Plant as Plant
    from .control import TorqueLoop as TorqueLoop
    from .doctor import diagnose as diagnose
    from .exporters import export as export
    from .identification import calibrate as calibrate
    from .identification import design_poses as design_poses
    from .identification import load_calibration as load_calibration
    from .identification import verify as verify
    from .plants import SimulatedArm as SimulatedArm
    from .recording import Log as Log
    from .recording import Sample as Sample
    from .recording import read_log as read_log
    from .recording import write_log as write_log
    from .sensing import BaseSensor as BaseSensor
    from .sensing import OnlineGravity as OnlineGravity
    from .sensing import PayloadEstimator as PayloadEstimator
    from .sensing import calibrate_sensor as calibrate_sensor
    from .tasks import Rig as Rig
    from .tasks import float_arm as float_arm
    from .tasks import record as record

__version__ = "0.1.0"

_SUBPACKAGES = (
    *("control", "description", "doctor", "dynamics", "exporters", "fitting", "identification", "lab", "plants"),
    *("recording", "report", "sensing", "tasks", "view"),
)
_NAMES, _get, _ = _lazy_names(
    __name__,
    {
        "control": ("PD", "PID", "ControlLoop", "Gravity", "Law", "PDGravity", "Plant", "TorqueLoop"),
        "doctor": ("diagnose",),
        "exporters": ("export",),
        "identification": ("calibrate", "design_poses", "load_calibration", "verify"),
        "plants": ("SimulatedArm",),
        "recording": ("Log", "Sample", "read_log", "write_log"),
        "sensing": ("BaseSensor", "OnlineGravity", "PayloadEstimator", "calibrate_sensor"),
        "tasks": ("Rig", "float_arm", "record"),
    },
)
__all__ = [  # noqa: PLE0604  computed
    *("CounterpoiseError", "InputError", "ModelError", "Robot", "SafetyError", "catalog", "load"),
    *_NAMES,
]


def __getattr__(name: str) -> _Any:
    """Import a public name or a subpackage when it is first used."""
    return _import_module(f".{name}", __name__) if name in _SUBPACKAGES else _get(name)


def __dir__() -> list[str]:
    """Return the public names and the subpackages."""
    return sorted({*__all__, *_SUBPACKAGES, "errors"})
