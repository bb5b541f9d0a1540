"""Counterpoise makes robot arms weightless.

>>> import counterpoise as cp
>>> robot = cp.load("pendulum")
>>> robot.gravity([0.0]).shape
(1,)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .description.bundled import catalog as catalog
from .dynamics.robot import Robot as Robot
from .dynamics.robot import load as load
from .errors import BudgetError as BudgetError
from .errors import CounterpoiseError as CounterpoiseError
from .errors import DataFileError as DataFileError
from .errors import EndOfLogError as EndOfLogError
from .errors import FallError as FallError
from .errors import InfeasiblePathError as InfeasiblePathError
from .errors import InputError as InputError
from .errors import JointLimitError as JointLimitError
from .errors import LawError as LawError
from .errors import MissingExtraError as MissingExtraError
from .errors import ModelError as ModelError
from .errors import ModelFileError as ModelFileError
from .errors import OverrunError as OverrunError
from .errors import PhysicalConsistencyError as PhysicalConsistencyError
from .errors import PlantError as PlantError
from .errors import SafetyError as SafetyError
from .errors import SensorFaultError as SensorFaultError
from .errors import StaleSampleError as StaleSampleError
from .errors import UnsupportedJointError as UnsupportedJointError

if _TYPE_CHECKING:
    from .control.loop import ControlLoop as ControlLoop
    from .control.safety import SafetyFilter as SafetyFilter
    from .doctor.diagnosis import diagnose as diagnose
    from .export.writing import export as export
    from .identification.calibration import calibrate as calibrate
    from .identification.design import design_poses as design_poses
    from .identification.file import load_calibration as load_calibration
    from .identification.verification import verify as verify
    from .recording.log import Log as Log
    from .recording.log import Sample as Sample
    from .recording.own_format import write_log as write_log
    from .recording.reading import read_log as read_log
    from .recording.reading import stream_log as stream_log
    from .sensing.online_gravity import OnlineGravity as OnlineGravity
    from .sensing.payload_estimator import PayloadEstimator as PayloadEstimator
    from .sensing.plate.sensor import BaseSensor as BaseSensor

__version__ = "0.1.0"

_MODULE_OF = {
    "BaseSensor": "base_sensor.sensor",
    "ControlLoop": "control.loop",
    "Log": "logs.log",
    "OnlineGravity": "estimation.online_gravity",
    "PayloadEstimator": "estimation.payload_estimator",
    "SafetyFilter": "control.safety",
    "Sample": "logs.sample",
    "calibrate": "calibration.calibrate",
    "design_poses": "calibration.design",
    "diagnose": "doctor.diagnose",
    "export": "exporters.write",
    "load_calibration": "calibration.file",
    "read_log": "logs.read",
    "stream_log": "logs.read",
    "verify": "calibration.verify",
    "write_log": "logs.files",
}
"""Where the names live that are imported when they are first used, so that ``import counterpoise`` stays quick."""


def __getattr__(name: str) -> _Any:
    """Import a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'counterpoise' has no attribute '{name}'")
    value = globals()[name] = getattr(_import_module(f".{_MODULE_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    """Return the names of the package, those not yet imported included."""
    return sorted({*globals(), *_MODULE_OF})
