"""Which routines find and decode messages: the native ones where they were built, else their specifications.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces the specifications.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import reference, walk

__all__ = ["NATIVE", "joint_states", "mcap_messages", "ros1_messages", "wrenches"]


def _native_module() -> Any:
    """Return the extension module, or None where it was not built or is disabled."""
    if os.environ.get("COUNTERPOISE_DISABLE_NATIVE", "") not in ("", "0"):
        return None
    try:
        return import_module("counterpoise.logs._native")
    except ModuleNotFoundError:
        return None


_MODULE = _native_module()

NATIVE = _MODULE is not None
"""Whether the native routines are in use."""

if TYPE_CHECKING or _MODULE is None:
    joint_states, wrenches = reference.joint_states, reference.wrenches
    mcap_messages, ros1_messages = walk.mcap_messages, walk.ros1_messages
else:
    joint_states, wrenches = _MODULE.joint_states, _MODULE.wrenches
    mcap_messages, ros1_messages = _MODULE.mcap_messages, _MODULE.ros1_messages
