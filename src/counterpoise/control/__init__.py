"""Driving a plant: the protocol, the laws, the safety filter, the loop."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .base_sensor_law import base_sensor_control as base_sensor_control
    from .base_sensor_law import plate_of as plate_of
    from .fault import Fault as Fault
    from .fault import FilterFlag as FilterFlag
    from .friction import FrictionCompensation as FrictionCompensation
    from .friction import FrictionFeedforward as FrictionFeedforward
    from .gains import ROTOR_TICKS as ROTOR_TICKS
    from .gains import Gains as Gains
    from .gains import default_gains as default_gains
    from .gains import soft_reach as soft_reach
    from .gains import softest_gains as softest_gains
    from .gravity import Gravity as Gravity
    from .gravity import PDGravity as PDGravity
    from .law import Law as Law
    from .law import Reporting as Reporting
    from .law import checked_dt as checked_dt
    from .law import gain as gain
    from .limits import Limits as Limits
    from .limits import joint_array as joint_array
    from .limits import resolve_limits as resolve_limits
    from .loop import ControlLoop as ControlLoop
    from .loop import checked_filter as checked_filter
    from .pd import PD as PD
    from .pid import PID as PID
    from .plant import BrakedPlant as BrakedPlant
    from .plant import Clock as Clock
    from .plant import Plant as Plant
    from .plant import PlateInfo as PlateInfo
    from .plant import WallClock as WallClock
    from .plant import installed_plants as installed_plants
    from .plant import make_plant as make_plant
    from .plant import standing_sample as standing_sample
    from .plate_torque import PlateTorque as PlateTorque
    from .reference import Desired as Desired
    from .reference import Eased as Eased
    from .reference import Hold as Hold
    from .reference import PoseList as PoseList
    from .reference import Reference as Reference
    from .reference import Sine as Sine
    from .reference import Triangle as Triangle
    from .reference import minimum_jerk as minimum_jerk
    from .reference import move_time as move_time
    from .reference import not_begun as not_begun
    from .reference import smooth_step as smooth_step
    from .report import EndState as EndState
    from .report import HistoryEntry as HistoryEntry
    from .report import PlateLoss as PlateLoss
    from .report import RunReport as RunReport
    from .safe_stop import nominal_time as nominal_time
    from .safety import SafetyFilter as SafetyFilter
    from .safety import SafetySettings as SafetySettings
    from .stop_signals import INTERRUPTIONS as INTERRUPTIONS
    from .stop_signals import Deferral as Deferral
    from .stop_signals import Driving as Driving
    from .stop_signals import PlantUse as PlantUse
    from .stop_signals import SignalSafe as SignalSafe
    from .stop_signals import StoppedFromOutside as StoppedFromOutside
    from .stop_signals import drive_begins as drive_begins
    from .stop_signals import drive_ends as drive_ends
    from .stop_signals import longest_stop as longest_stop
    from .swing import SwingWatch as SwingWatch
    from .tip.hybrid_force import HybridForce as HybridForce
    from .tip.impedance import Impedance as Impedance
    from .tip.load_switch import LoadSwitch as LoadSwitch
    from .tip.tip import SCALE as SCALE
    from .tip.tip import FixedPose as FixedPose
    from .tip.tip import Straight as Straight
    from .tip.tip import number_of as number_of
    from .tip.tip import shortened as shortened
    from .tip.tip_wrench import TipWrench as TipWrench
    from .tip.two_hands import TwoHands as TwoHands
    from .tip.wrist_feedback import WristFeedback as WristFeedback
    from .torque_loop import IntegralCompensator as IntegralCompensator
    from .torque_loop import TorqueLoop as TorqueLoop
    from .torque_loop import TorqueSignal as TorqueSignal

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base_sensor_law": ("base_sensor_control", "plate_of"),
        "gains": ("Gains", "default_gains"),
        "fault": ("Fault", "FilterFlag"),
        "friction": ("FrictionCompensation", "FrictionFeedforward"),
        "gravity": ("Gravity", "PDGravity"),
        "law": ("Law", "Reporting"),
        "limits": ("Limits",),
        "loop": ("ControlLoop",),
        "pd": ("PD",),
        "pid": ("PID",),
        "plant": ("BrakedPlant", "Clock", "Plant", "PlateInfo", "WallClock", "installed_plants", "make_plant"),
        "reference": ("Desired", "Eased", "Hold", "PoseList", "Reference", "Sine", "Triangle"),
        "report": ("EndState", "PlateLoss", "RunReport"),
        "safety": ("SafetyFilter", "SafetySettings"),
        "stop_signals": ("SignalSafe", "StoppedFromOutside"),
        "swing": ("SwingWatch",),
        "tip.hybrid_force": ("HybridForce",),
        "tip.impedance": ("Impedance",),
        "tip.load_switch": ("LoadSwitch",),
        "tip.tip": ("FixedPose", "Straight"),
        "tip.tip_wrench": ("TipWrench",),
        "tip.two_hands": ("TwoHands",),
        "tip.wrist_feedback": ("WristFeedback",),
        "torque_loop": ("IntegralCompensator", "TorqueLoop"),
    },
    shared={
        "gains": ("ROTOR_TICKS", "soft_reach", "softest_gains"),
        "law": ("checked_dt", "gain"),
        "limits": ("joint_array", "resolve_limits"),
        "loop": ("checked_filter",),
        "plant": ("standing_sample",),
        "plate_torque": ("PlateTorque",),
        "reference": ("minimum_jerk", "move_time", "not_begun", "smooth_step"),
        "report": ("HistoryEntry",),
        "safe_stop": ("nominal_time",),
        "stop_signals": (
            "Deferral",
            "Driving",
            "INTERRUPTIONS",
            "PlantUse",
            "drive_begins",
            "drive_ends",
            "longest_stop",
        ),
        "tip.tip": ("SCALE", "number_of", "shortened"),
        "torque_loop": ("TorqueSignal",),
    },
)
