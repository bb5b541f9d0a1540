"""What every kind of bag gives: payloads in batches. Decoding them is another matter (decode)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...errors import DataFileError
from ..budget import Spending

Spans = npt.NDArray[np.int64]
"""Messages of a buffer, shape (k, 4): offset and length of the payload [bytes], time of receipt [ns], connection."""

MAX_CHUNK_BYTES = 256 * 2**20
"""Largest chunk that is unpacked. Recorders write chunks of 1 to 10 MB; a small file may claim any size."""

MAX_MESSAGE_BYTES = 256 * 1024
"""Largest message that is read outside chunks; a JointState of 50 joints has 3 kB."""

MAX_INDEX_BYTES = 64 * 2**20
"""Largest index that is read; a bag of 100 GB has 20 MB."""


MAX_PLACES = 10_000
"""Damaged places that are counted."""


class DamagedError(ValueError):
    """A part of a bag or a payload is not what its format says. Never leaves the room: a Ledger turns it into ours."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A stream of messages of one type under one topic.

    Attributes:
        topic: Name of the topic.
        type: Type of its messages as ``package/Name``, whatever the generation of ROS.
        encoding: Encoding of the payloads: ``cdr`` (ROS 2), ``ros1``, or another that we do not read.
    """

    topic: str
    type: str
    encoding: str


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some messages that lie in one buffer, in the order of the file.

    Attributes:
        data: The buffer.
        spans: Where the messages lie in it, shape (k, 4).
        position: Bytes of the file up to the end of the batch.
    """

    data: bytes
    spans: Spans
    position: int


class Container(Protocol):
    """One file of a bag, whatever its format."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def size(self) -> int:
        """Its length [bytes]."""
        ...

    @property
    def connections(self) -> Mapping[int, Connection]:
        """What it holds, by number."""
        ...

    def batches(self, wanted: Collection[int], ledger: Ledger) -> Iterator[Batch]:
        """Yield the messages of the wanted connections, from the start of the file; damage goes to the ledger.

        Messages of other connections may be among them.
        """
        ...


class Ledger:
    """Takes note of damage, or refuses the file at the first one; and of what reading costs.

    Attributes:
        recover: Whether reading goes on behind damage.
        spending: What reading may cost.
    """

    def __init__(self, recover: bool, spending: Spending | None = None) -> None:
        """Begin without damage."""
        self.recover = recover
        self.spending = spending or Spending()
        self._first = ""
        self._places: set[tuple[Path, int | str]] = set()

    def damaged(self, path: Path, position: int | None, what: str) -> None:
        """Take note of damage at a byte of a file; None where the place has no such number.

        Raises:
            DataFileError: Recovery was not asked for.
        """
        if not self.recover:
            where = "" if position is None else f" (byte {position})"
            raise DataFileError(
                f"{what}{where}. The file is damaged or was cut off while recording; "
                "recover=True (--recover) reads what is intact",
                path=path,
            )
        self._note(path, position, what)

    def left_out(self, path: Path, position: int, what: str) -> None:
        """Take note of a message that cannot be used, in a part of a file that is intact.

        Raises:
            DataFileError: Recovery was not asked for.
        """
        if not self.recover:
            raise DataFileError(
                f"{what} (in the part that ends at byte {position}); recover=True (--recover) leaves such messages out",
                path=path,
            )
        self._note(path, position, what)

    def _note(self, path: Path, position: int | None, what: str) -> None:
        self._first = self._first or f"{path.name}{'' if position is None else f', byte {position}'}: {what}"
        if len(self._places) < MAX_PLACES:  # the same place is met on every way through the file
            self._places.add((path, what if position is None else position))

    @property
    def reason(self) -> str | None:
        """What is wrong, the first damage in words; None without damage."""
        if len(self._places) <= 1:
            return self._first or None
        return f"{self._first}; {len(self._places) - 1} more places"


def no_spans() -> Spans:
    """Return the spans of no message."""
    return np.empty((0, 4), dtype=np.int64)


def plain_type(name: str) -> str:
    """Return a message type as ``package/Name``: ROS 2 writes ``package/msg/Name``."""
    return name.replace("::", "/").replace("/msg/", "/")
