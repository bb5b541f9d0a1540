"""Arms behind the plant protocol: simulated, replayed."""

from typing import TYPE_CHECKING

from ..foundation import lazy_names

if TYPE_CHECKING:
    from .base import SimulatedPlant as SimulatedPlant
    from .config import ArmConfig as ArmConfig
    from .config import Brake as Brake
    from .config import Drive as Drive
    from .config import EffortSensor as EffortSensor
    from .config import Encoder as Encoder
    from .config import FlowValve as FlowValve
    from .config import Gear as Gear
    from .config import Plate as Plate
    from .config import Stops as Stops
    from .config import Timing as Timing
    from .config import TorqueSource as TorqueSource
    from .config import Warmth as Warmth
    from .events import AttachPayload as AttachPayload
    from .events import Bond as Bond
    from .events import Event as Event
    from .events import Push as Push
    from .events import RemovePayloads as RemovePayloads
    from .events import Surface as Surface
    from .hand import GuidingHand as GuidingHand
    from .hand import closed_path as closed_path
    from .kernel import NATIVE as NATIVE
    from .links import Links as Links
    from .presets.base import Assumption as Assumption
    from .presets.base import Preset as Preset
    from .presets.choice import VARIANTS as VARIANTS
    from .presets.choice import ideal as ideal
    from .presets.choice import preset as preset
    from .presets.plates import force_platform as force_platform
    from .replay import ReplayPlant as ReplayPlant
    from .simulated import Disturbances as Disturbances
    from .simulated import SimulatedArm as SimulatedArm
    from .simulated import Touch as Touch
    from .simulated import Touching as Touching
    from .single_joint import OneLink as OneLink
    from .single_joint import SingleJoint as SingleJoint

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "config": (
            "ArmConfig",
            "Brake",
            "Drive",
            "EffortSensor",
            "Encoder",
            "FlowValve",
            "Gear",
            "Plate",
            "Stops",
            "Timing",
            "TorqueSource",
            "Warmth",
        ),
        "events": ("AttachPayload", "Bond", "Push", "RemovePayloads", "Surface"),
        "hand": ("GuidingHand", "closed_path"),
        "presets.base": ("Assumption", "Preset"),
        "presets.choice": ("VARIANTS", "ideal", "preset"),
        "replay": ("ReplayPlant",),
        "simulated": ("SimulatedArm",),
        "single_joint": ("OneLink", "SingleJoint"),
    },
    shared={
        "base": ("SimulatedPlant",),
        "events": ("Event",),
        "kernel": ("NATIVE",),
        "links": ("Links",),
        "presets.plates": ("force_platform",),
        "simulated": ("Disturbances", "Touch", "Touching"),
    },
)
