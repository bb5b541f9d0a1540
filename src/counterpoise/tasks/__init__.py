"""A rig, and what is done with it: recording, floating, teaching, replaying, tuning, simulating, tracking."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .float.check import FloatCheck as FloatCheck
    from .float.check import gravity_covariance as gravity_covariance
    from .float.floating import Floating as Floating
    from .float.floating import FloatReport as FloatReport
    from .float.floating import float_arm as float_arm
    from .float.hidden import CheckResult as CheckResult
    from .float.law import SPEED_SHARE as SPEED_SHARE
    from .float.law import FloatLaw as FloatLaw
    from .float.pushes import LinkPush as LinkPush
    from .float.pushes import PushScript as PushScript
    from .float.settings import Cushion as Cushion
    from .float.settings import FloatSettings as FloatSettings
    from .float.watch import WatchSettings as WatchSettings
    from .hand_guiding import Admittance as Admittance
    from .hand_guiding import AdmittanceSettings as AdmittanceSettings
    from .hand_guiding import JointCommand as JointCommand
    from .hand_guiding import MotionBounds as MotionBounds
    from .pose_recording import BidirectionalApproach as BidirectionalApproach
    from .pose_recording import Recording as Recording
    from .pose_recording import record as record
    from .position_servo import ServoGoal as ServoGoal
    from .position_servo import ServoStiffness as ServoStiffness
    from .position_servo import identify_stiffness as identify_stiffness
    from .rig import Rig as Rig
    from .rotors.measurement import InertiaMeasurement as InertiaMeasurement
    from .rotors.measurement import announcement as announcement
    from .rotors.measurement import measure_inertias as measure_inertias
    from .rotors.measurement import unknown_rotors as unknown_rotors
    from .simulation import HiddenFriction as HiddenFriction
    from .simulation import Simulation as Simulation
    from .simulation import SimulationResult as SimulationResult
    from .simulation import SimulationSettings as SimulationSettings
    from .simulation import misjudged as misjudged
    from .teach.path import FIRST_LINE as FIRST_LINE
    from .teach.path import TaughtPath as TaughtPath
    from .teach.path import one_line as one_line
    from .teach.path import read_path as read_path
    from .teach.path import write_path as write_path
    from .teach.plan import PlanSettings as PlanSettings
    from .teach.plan import ReplayPlan as ReplayPlan
    from .teach.plan import plan_replay as plan_replay
    from .teach.replay import Outcome as Outcome
    from .teach.replay import Replay as Replay
    from .teach.replay import ReplayReport as ReplayReport
    from .teach.replay import Trace as Trace
    from .teach.replay import TrackingError as TrackingError
    from .teach.replay import tip_positions as tip_positions
    from .teach.replay import tracking_errors as tracking_errors
    from .teach.teaching import Taught as Taught
    from .teach.teaching import Teaching as Teaching
    from .tracking import Load as Load
    from .tracking import track as track
    from .tracking import track_log as track_log
    from .tracking import track_simulated as track_simulated
    from .tune.free import FreeTuning as FreeTuning
    from .tune.free import TriangleTask as TriangleTask
    from .tune.free import freely_tuned as freely_tuned
    from .tune.gains import LawGains as LawGains
    from .tune.gains import LawKind as LawKind
    from .tune.gains import TuningRule as TuningRule
    from .tune.gains import read_gains as read_gains
    from .tune.learned_friction import LearnedFriction as LearnedFriction
    from .tune.learned_friction import fit_dahl as fit_dahl
    from .tune.learned_friction import learned_friction as learned_friction
    from .tune.probe import Prober as Prober
    from .tune.probe import swing as swing
    from .tune.probe import tared_loop as tared_loop
    from .tune.tuning import JointTuner as JointTuner
    from .tune.tuning import Tuning as Tuning
    from .tune.tuning import tuned as tuned

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "float.check": ("FloatCheck",),
        "float.floating": ("FloatReport", "Floating", "float_arm"),
        "float.hidden": ("CheckResult",),
        "float.law": ("FloatLaw",),
        "float.pushes": ("LinkPush", "PushScript"),
        "float.settings": ("Cushion", "FloatSettings"),
        "float.watch": ("WatchSettings",),
        "hand_guiding": ("Admittance", "AdmittanceSettings", "JointCommand", "MotionBounds"),
        "pose_recording": ("BidirectionalApproach", "Recording", "record"),
        "position_servo": ("ServoGoal", "ServoStiffness", "identify_stiffness"),
        "rig": ("Rig",),
        "rotors.measurement": ("InertiaMeasurement", "measure_inertias"),
        "simulation": ("HiddenFriction", "Simulation", "SimulationResult", "SimulationSettings"),
        "teach.path": ("TaughtPath", "read_path", "write_path"),
        "teach.plan": ("PlanSettings", "ReplayPlan", "plan_replay"),
        "teach.replay": ("Replay", "ReplayReport"),
        "teach.teaching": ("Taught", "Teaching"),
        "tracking": ("Load", "track", "track_log", "track_simulated"),
        "tune.free": ("FreeTuning", "TriangleTask", "freely_tuned"),
        "tune.gains": ("LawGains", "LawKind", "TuningRule", "read_gains"),
        "tune.learned_friction": ("LearnedFriction", "learned_friction"),
        "tune.tuning": ("Tuning", "tuned"),
    },
    shared={
        "float.check": ("gravity_covariance",),
        "float.law": ("SPEED_SHARE",),
        "rotors.measurement": ("announcement", "unknown_rotors"),
        "simulation": ("misjudged",),
        "teach.path": ("FIRST_LINE", "one_line"),
        "teach.replay": ("Outcome", "Trace", "TrackingError", "tip_positions", "tracking_errors"),
        "tune.learned_friction": ("fit_dahl",),
        "tune.probe": ("Prober", "swing", "tared_loop"),
        "tune.tuning": ("JointTuner",),
    },
)
