"""Joint torques, gravity and payload from sensors, while an arm works."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .center_of_mass import center_of_mass_jacobian as center_of_mass_jacobian
    from .contact import tip_wrench as tip_wrench
    from .contact import touched_link as touched_link
    from .gravity_prior import described_covariance as described_covariance
    from .gravity_prior import states_of as states_of
    from .inverse_regressor import compact_form as compact_form
    from .inverse_regressor import largest_inertias as largest_inertias
    from .kernel import NATIVE as NATIVE
    from .momentum_observer import ExternalTorque as ExternalTorque
    from .momentum_observer import MomentumObserver as MomentumObserver
    from .momentum_observer import friction_band_of as friction_band_of
    from .momentum_observer import momentum_of as momentum_of
    from .online_gravity import OnlineGravity as OnlineGravity
    from .payload_estimate import PayloadBlend as PayloadBlend
    from .payload_estimate import PayloadEstimate as PayloadEstimate
    from .payload_estimate import no_payload as no_payload
    from .payload_estimator import WRENCH_STD as WRENCH_STD
    from .payload_estimator import PayloadEstimator as PayloadEstimator
    from .payload_estimator import estimate_payload as estimate_payload
    from .payload_statistics import Places as Places
    from .payload_statistics import places_of as places_of
    from .plate.friction import PlateFriction as PlateFriction
    from .plate.friction import plate_friction as plate_friction
    from .plate.friction_curve import FrictionCurve as FrictionCurve
    from .plate.friction_curve import JointFriction as JointFriction
    from .plate.gravity_table import LinearTable as LinearTable
    from .plate.gravity_table import TrigonometricTable as TrigonometricTable
    from .plate.gravity_table_file import load_table as load_table
    from .plate.gravity_table_file import save_table as save_table
    from .plate.joint_analyzer import JointAnalyzer as JointAnalyzer
    from .plate.joint_analyzer import Term as Term
    from .plate.joint_analyzer import analyzed as analyzed
    from .plate.joint_analyzer import link_wrenches as link_wrenches
    from .plate.log_estimate import CUTOFF as CUTOFF
    from .plate.log_estimate import estimate_log as estimate_log
    from .plate.parameters import PlateParameters as PlateParameters
    from .plate.parameters import plate_parameters as plate_parameters
    from .plate.recording_torques import Masses as Masses
    from .plate.recording_torques import RecordingTorques as RecordingTorques
    from .plate.recording_torques import recording_torques as recording_torques
    from .plate.recording_torques import refuse_without_plate as refuse_without_plate
    from .plate.recording_torques import write_recording_torques as write_recording_torques
    from .plate.recording_verdict import RecordingVerdict as RecordingVerdict
    from .plate.recording_verdict import judged as judged
    from .plate.recording_verdict import used_plate as used_plate
    from .plate.sensor import FORMS as FORMS
    from .plate.sensor import BaseSensor as BaseSensor
    from .plate.sensor_calibration import SensorCalibration as SensorCalibration
    from .plate.sensor_calibration import calibrate_sensor as calibrate_sensor
    from .plate.sensor_calibration import load_sensor_calibration as load_sensor_calibration
    from .plate.sensor_calibration import parameter_root as parameter_root
    from .plate.torque_estimate import EstimateFlag as EstimateFlag
    from .plate.torque_estimate import TorqueEstimate as TorqueEstimate
    from .plate.variance import Uncertainty as Uncertainty
    from .plate.wrench_check import JointSummary as JointSummary
    from .plate.wrench_check import WrenchCheck as WrenchCheck
    from .plate.wrench_frame import Mounting as Mounting
    from .plate.wrench_frame import WrenchFrame as WrenchFrame
    from .plate.wrench_frame import checked_pose as checked_pose
    from .plate.wrench_frame import split as split
    from .recursive import RecursiveGravity as RecursiveGravity
    from .track import Track as Track
    from .track import Tracker as Tracker
    from .wrist_calibration import WristFit as WristFit
    from .wrist_calibration import calibrate_wrist_poses as calibrate_wrist_poses
    from .wrist_calibration import load_wrist_fit as load_wrist_fit
    from .wrist_calibration import wrist_poses as wrist_poses
    from .wrist_sensor import WristCalibration as WristCalibration
    from .wrist_sensor import calibrate_wrist_sensor as calibrate_wrist_sensor
    from .wrist_sensor import tool_columns as tool_columns

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "center_of_mass": ("center_of_mass_jacobian",),
        "contact": ("tip_wrench", "touched_link"),
        "inverse_regressor": ("compact_form",),
        "momentum_observer": ("ExternalTorque", "MomentumObserver"),
        "online_gravity": ("OnlineGravity",),
        "payload_estimate": ("PayloadBlend", "PayloadEstimate"),
        "payload_estimator": ("PayloadEstimator", "estimate_payload"),
        "payload_statistics": ("Places", "places_of"),
        "plate.friction": ("PlateFriction", "plate_friction"),
        "plate.gravity_table": ("LinearTable", "TrigonometricTable"),
        "plate.gravity_table_file": ("load_table", "save_table"),
        "plate.joint_analyzer": ("JointAnalyzer", "Term"),
        "plate.log_estimate": ("estimate_log",),
        "plate.parameters": ("PlateParameters", "plate_parameters"),
        "plate.recording_torques": ("RecordingTorques", "recording_torques", "write_recording_torques"),
        "plate.recording_verdict": ("RecordingVerdict", "judged"),
        "plate.sensor": ("BaseSensor",),
        "plate.sensor_calibration": ("SensorCalibration", "calibrate_sensor", "load_sensor_calibration"),
        "plate.torque_estimate": ("TorqueEstimate",),
        "plate.variance": ("Uncertainty",),
        "plate.wrench_frame": ("WrenchFrame",),
        "recursive": ("RecursiveGravity",),
        "track": ("Track", "Tracker"),
        "wrist_calibration": ("WristFit", "calibrate_wrist_poses", "load_wrist_fit", "wrist_poses"),
        "wrist_sensor": ("WristCalibration", "calibrate_wrist_sensor"),
    },
    shared={
        "gravity_prior": ("described_covariance", "states_of"),
        "inverse_regressor": ("largest_inertias",),
        "kernel": ("NATIVE",),
        "momentum_observer": ("friction_band_of", "momentum_of"),
        "payload_estimate": ("no_payload",),
        "payload_estimator": ("WRENCH_STD",),
        "plate.friction_curve": ("FrictionCurve", "JointFriction"),
        "plate.joint_analyzer": ("analyzed", "link_wrenches"),
        "plate.log_estimate": ("CUTOFF",),
        "plate.recording_torques": ("Masses", "refuse_without_plate"),
        "plate.recording_verdict": ("used_plate",),
        "plate.sensor": ("FORMS",),
        "plate.sensor_calibration": ("parameter_root",),
        "plate.torque_estimate": ("EstimateFlag",),
        "plate.wrench_check": ("JointSummary", "WrenchCheck"),
        "plate.wrench_frame": ("Mounting", "checked_pose", "split"),
        "wrist_sensor": ("tool_columns",),
    },
)
