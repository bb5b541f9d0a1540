"""Counterpoise makes robot arms weightless.

>>> import counterpoise as cp
>>> robot = cp.load("pendulum")
>>> robot.gravity([0.0]).shape
(1,)
"""

from .base_sensor.sensor import BaseSensor as BaseSensor
from .control.loop import ControlLoop as ControlLoop
from .control.safety import SafetyFilter as SafetyFilter
from .description.catalog import CatalogEntry as CatalogEntry
from .description.catalog import catalog as catalog
from .dynamics.load import load as load
from .dynamics.robot import Robot as Robot
from .errors import ControlError as ControlError
from .errors import CounterpoiseError as CounterpoiseError
from .errors import DataFileError as DataFileError
from .errors import EndOfLogError as EndOfLogError
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
from .logs.files import write_log as write_log
from .logs.log import Log as Log
from .logs.read import read_log as read_log
from .logs.read import stream_log as stream_log
from .logs.sample import Sample as Sample
from .plants.replay import ReplayPlant as ReplayPlant

__version__ = "0.1.0.dev0"
