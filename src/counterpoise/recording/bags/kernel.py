"""Which routines find and decode messages: the native ones where they were built, else their specifications.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specifications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...foundation import native_part
from . import reference
from . import reference as walk

__all__ = ["NATIVE", "joint_states", "mcap_messages", "ros1_messages", "wrenches"]


_MODULE = native_part("recording")

NATIVE = _MODULE is not None
"""Whether the native routines are in use."""

if TYPE_CHECKING or _MODULE is None:
    joint_states, wrenches = reference.joint_states, reference.wrenches
    mcap_messages, ros1_messages = walk.mcap_messages, walk.ros1_messages
else:
    joint_states, wrenches = _MODULE.joint_states, _MODULE.wrenches
    mcap_messages, ros1_messages = _MODULE.mcap_messages, _MODULE.ros1_messages
