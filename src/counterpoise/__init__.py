"""Counterpoise makes robot arms weightless.

>>> import counterpoise as cp
>>> robot = cp.load("pendulum")
>>> robot.gravity([0.0]).shape
(1,)
"""

from .description.catalog import CatalogEntry as CatalogEntry
from .description.catalog import catalog as catalog
from .dynamics.load import load as load
from .dynamics.robot import Robot as Robot
from .errors import CounterpoiseError as CounterpoiseError
from .errors import DataFileError as DataFileError
from .errors import InputError as InputError
from .errors import MissingExtraError as MissingExtraError
from .errors import ModelError as ModelError
from .errors import ModelFileError as ModelFileError
from .errors import PhysicalConsistencyError as PhysicalConsistencyError
from .errors import UnsupportedJointError as UnsupportedJointError

__version__ = "0.1.0.dev0"
