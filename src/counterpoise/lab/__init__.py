"""Published experiments run again, the guided tour, and the benchmark."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .benchmark.machine import COPY_BAR as COPY_BAR
    from .benchmark.machine import CopyResult as CopyResult
    from .benchmark.machine import import_seconds as import_seconds
    from .benchmark.machine import machine as machine
    from .benchmark.machine import measure_copy as measure_copy
    from .benchmark.peer import peer_of as peer_of
    from .benchmark.results import Results as Results
    from .benchmark.results import measure as measure
    from .benchmark.robot import BATCH_BARS as BATCH_BARS
    from .benchmark.robot import CALL_BARS as CALL_BARS
    from .benchmark.robot import Effort as Effort
    from .benchmark.robot import Operation as Operation
    from .benchmark.robot import RobotResult as RobotResult
    from .benchmark.robot import measure_robot as measure_robot
    from .benchmark.timing import COUNTS_CPU_TIME as COUNTS_CPU_TIME
    from .benchmark.timing import Ratio as Ratio
    from .benchmark.timing import RoundTimes as RoundTimes
    from .benchmark.timing import Statement as Statement
    from .benchmark.timing import time_interleaved as time_interleaved
    from .papers.base_sensor_map import AXES as AXES
    from .papers.base_sensor_map import BANDS as BANDS
    from .papers.base_sensor_map import FRESH as FRESH
    from .papers.base_sensor_map import Judged as Judged
    from .papers.base_sensor_map import judged as judged
    from .papers.base_sensor_map import outcome_of as outcome_of
    from .papers.base_sensor_map import random_joint as random_joint
    from .papers.experiment import Comparison as Comparison
    from .papers.experiment import Experiment as Experiment
    from .papers.experiment import FigureCurve as FigureCurve
    from .papers.experiment import FigurePanel as FigurePanel
    from .papers.experiment import Outcome as Outcome
    from .papers.jo_2018 import DT as DT
    from .papers.jo_2018 import GROUPS as GROUPS
    from .papers.jo_2018 import PHASES as PHASES
    from .papers.jo_2018 import Phase as Phase
    from .papers.jo_2018 import ScenarioRun as ScenarioRun
    from .papers.jo_2018 import run_scenario as run_scenario
    from .papers.morel_plants import MakeJoint as MakeJoint
    from .papers.morel_plants import TunedJoint as TunedJoint
    from .papers.morel_plants import puma_joint_1 as puma_joint_1
    from .papers.morel_plants import tuned_joint as tuned_joint
    from .papers.registry import LONG_STUDIES as LONG_STUDIES
    from .papers.registry import MODULES as MODULES
    from .papers.registry import Done as Done
    from .papers.registry import experiment as experiment
    from .papers.registry import experiment_names as experiment_names
    from .papers.registry import run_many as run_many
    from .papers.task import RULE as RULE
    from .papers.task import follow as follow
    from .papers.task import rms as rms
    from .papers.task import run_laws as run_laws
    from .tour.hidden_arm import LOAD_MASS as LOAD_MASS
    from .tour.hidden_arm import REVERSED as REVERSED
    from .tour.hidden_arm import hidden_arm as hidden_arm
    from .tour.tour import STOPS as STOPS
    from .tour.tour import Stop as Stop
    from .tour.tour import Tour as Tour
    from .tour.tour import take_tour as take_tour
    from .tour.words import sentences as sentences
    from .tour.words import summary as summary

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "papers.experiment": ("Comparison", "Experiment", "FigureCurve", "FigurePanel", "Outcome"),
        "papers.registry": ("Done", "experiment", "run_many"),
        "papers.task": ("follow",),
        "tour.tour": ("Tour", "take_tour"),
    },
    shared={
        "benchmark.machine": ("COPY_BAR", "CopyResult", "import_seconds", "machine", "measure_copy"),
        "benchmark.peer": ("peer_of",),
        "benchmark.results": ("Results", "measure"),
        "benchmark.robot": ("BATCH_BARS", "CALL_BARS", "Effort", "Operation", "RobotResult", "measure_robot"),
        "benchmark.timing": ("COUNTS_CPU_TIME", "Ratio", "RoundTimes", "Statement", "time_interleaved"),
        "papers.base_sensor_map": ("AXES", "BANDS", "FRESH", "Judged", "judged", "outcome_of", "random_joint"),
        "papers.jo_2018": ("DT", "GROUPS", "PHASES", "Phase", "ScenarioRun", "run_scenario"),
        "papers.morel_plants": ("MakeJoint", "TunedJoint", "puma_joint_1", "tuned_joint"),
        "papers.registry": ("LONG_STUDIES", "MODULES", "experiment_names"),
        "papers.task": ("RULE", "rms", "run_laws"),
        "tour.hidden_arm": ("LOAD_MASS", "REVERSED", "hidden_arm"),
        "tour.tour": ("STOPS", "Stop"),
        "tour.words": ("sentences", "summary"),
    },
)
