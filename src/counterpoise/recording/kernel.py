"""Which routines read rows of numbers, and find and decode messages: the native ones, or else those of Python.

In the environment, ``COUNTERPOISE_DISABLE_NATIVE=1`` forces those of Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import native_part
from .bags import reference
from .csv_numbers import ParseRows, parse_rows_numpy

_PART = native_part("recording")

NATIVE = _PART is not None
"""Whether the native routines are in use."""

parse_rows: ParseRows = _PART.parse_rows if NATIVE else parse_rows_numpy

if TYPE_CHECKING:
    joint_states, wrenches = reference.joint_states, reference.wrenches
    mcap_messages, ros1_messages = reference.mcap_messages, reference.ros1_messages
else:
    joint_states, wrenches, mcap_messages, ros1_messages = (
        getattr(_PART or reference, name) for name in ("joint_states", "wrenches", "mcap_messages", "ros1_messages")
    )
