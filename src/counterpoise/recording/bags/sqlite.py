"""ROS 2 bags in an SQLite database (.db3)."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Collection, Iterator
from contextlib import closing
from itertools import islice
from operator import lt
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataFileError, reason_of
from .batch import MAX_MESSAGE_BYTES, Batch, Connection, Ledger, Spans, plain_type

MAGIC = b"SQLite format 3\x00"
BLOCK_ROWS = 512
BLOCK_BYTES = 4 * 2**20
STEPS_PER_CALL = 100_000
MAX_RESTARTS = 1000
REMEMBERED_BYTES = 256 * 2**20
"""Bytes of messages that all open databases together may keep after the first look, so as not to read them again."""

_ERRORS = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""What Python raises for damaged databases: also where SQLite's own words are no text."""

Columns = list[tuple[Any, ...]]
"""Of some rows: row numbers, topics, times of receipt [ns], payloads."""


class _Remembered:
    """What all open databases keep together [bytes]."""

    total = 0

    def forget(self, count: int) -> None:
        self.total -= count


_remembered = _Remembered()


class SqliteFile:
    """One database of a bag. It is opened as a file that nobody changes: no locks, nothing is written beside it."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Read the topics and look for signs that the recording was not closed."""
        self.path = path
        self._remembered: tuple[frozenset[int], list[Batch]] | None = None
        try:
            self.size = path.stat().st_size
            with path.open("rb") as stream:
                header = stream.read(100)
            self._check(header, ledger)
            with closing(self._open(ledger)) as database:
                tables = {str(name, "utf-8", "replace") for (name,) in database.execute(_TABLES)}
                if not {"topics", "messages"} <= tables:
                    damage = "" if ledger.reason is None else f" ({ledger.reason})"
                    raise DataFileError(f"is an SQLite database without the tables of a ROS 2 bag{damage}", path=path)
                self._check_columns(database, "topics", ("id", "name", "type", "serialization_format"))
                self._check_columns(database, "messages", ("topic_id", "timestamp", "data"))
                rows = self._topics(database)
        except OSError as error:
            raise DataFileError(f"cannot be read: {reason_of(error)}", path=path) from error
        except _ERRORS as error:
            raise DataFileError(f"its topics cannot be read, nothing can be recovered: {error}", path=path) from error
        self.connections: dict[int, Connection] = {
            int(number): Connection(_text(topic), plain_type(_text(type_)), _text(encoding))
            for number, topic, type_, encoding in rows
            if isinstance(number, int)
        }

    def _check_columns(self, database: sqlite3.Connection, table: str, needed: tuple[str, ...]) -> None:
        """Refuse columns that no recorder makes: those that SQLite computes, at any cost, and those that hide others.

        Raises:
            DataFileError: The table is none of a ROS 2 bag.
        """
        found = {_text(row[1]).lower(): row for row in database.execute(f"PRAGMA table_xinfo({table})")}
        for name in needed:
            if name not in found:
                raise DataFileError(f"is no ROS 2 bag: its table '{table}' has no column '{name}'", path=self.path)
            if found[name][6] != 0:
                raise DataFileError(f"is no ROS 2 bag: it computes '{name}' of its table '{table}'", path=self.path)
        if shadows := {"rowid", "oid", "_rowid_"} & found.keys():
            told = f"is no ROS 2 bag: a column '{min(shadows)}' of its table '{table}' hides the number of the row"
            raise DataFileError(told, path=self.path)

    def _topics(self, database: sqlite3.Connection) -> list[tuple[Any, ...]]:
        """Return the topics; rows that hold more than the file does are made up (by the default of a column).

        Raises:
            DataFileError: There are such rows.
        """
        rows: list[tuple[Any, ...]] = []
        length = 0
        for row in database.execute("SELECT id, name, type, serialization_format FROM topics NOT INDEXED"):
            length += sum(len(value) for value in row if isinstance(value, bytes))
            if length > self.size:
                raise DataFileError("is no ROS 2 bag: its topics hold more than the file", path=self.path)
            rows.append(row)
        return rows

    def _check(self, header: bytes, ledger: Ledger) -> None:
        """Compare the file with its own header: SQLite itself fills up a cut last page with zeros."""
        page_size = int.from_bytes(header[16:18], "big")
        self._page_size = 65536 if page_size == 1 else max(page_size, 1)
        pages = int.from_bytes(header[28:32], "big") if header[24:28] == header[92:96] else 0
        self._is_cut = self.size % self._page_size != 0
        if self._is_cut or self.size < pages * self._page_size:
            ledger.damaged(
                self.path, self.size, f"the database ends early: {pages} pages of {self._page_size} bytes were expected"
            )
        for ending in ("-wal", "-journal"):
            beside = self.path.with_name(self.path.name + ending)
            if beside.exists() and beside.stat().st_size > 0:
                ledger.damaged(self.path, None, f"the recording was not closed: what is in {beside.name} is not read")

    def _open(self, ledger: Ledger) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            database.text_factory = bytes
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_MESSAGE_BYTES)
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            if ledger.recover:
                database.execute("PRAGMA writable_schema = ON")  # lets SQLite open a database that ends early
            # A damaged tree can lead in circles: more steps than rows can fit into the file are not taken.
            calls = iter(range(1 + 4 * (self.size + 65536) // STEPS_PER_CALL))
            database.set_progress_handler(lambda: int(next(calls, None) is None), STEPS_PER_CALL)
        except _ERRORS:
            database.close()
            raise
        return database

    def batches(self, wanted: Collection[int], ledger: Ledger) -> Iterator[Batch]:
        """Yield the messages of the wanted topics in the order of the rows, perhaps with those of others."""
        if self._remembered is not None and self._remembered[0].issuperset(wanted):
            yield from self._remembered[1]
            return
        # SQLite hands out rows one by one, ten times slower than chunks are unpacked: small bags are read only once.
        seen: list[Batch] = []
        left = allowed = REMEMBERED_BYTES - _remembered.total
        for batch in self._read(wanted, ledger):
            left -= len(batch.data) + batch.spans.nbytes
            if left >= 0:
                seen.append(batch)
            else:
                seen.clear()
            yield batch
        if left >= 0 and ledger.reason is None:
            self._remembered = (frozenset(wanted), seen)
            _remembered.total += allowed - left
            weakref.finalize(self, _remembered.forget, allowed - left)

    def _read(self, wanted: Collection[int], ledger: Ledger) -> Iterator[Batch]:
        held: Columns = [(), (), (), ()]
        read = 0
        try:
            with closing(self._open(ledger)) as database:
                last_row = self._last_row(database)
                for fetched in self._rows(database, wanted, ledger):
                    columns = fetched
                    if self._is_cut:
                        columns, held = self._trusted([old + new for old, new in zip(held, fetched, strict=True)])
                    if len(columns[0]) > 0:
                        batch = self._batch(columns, last_row, read)
                        read += len(batch.data)
                        if read > self.size:
                            ledger.damaged(self.path, self.size, "the rows hold more than the file")
                            return
                        yield batch
        except _ERRORS as error:
            ledger.damaged(self.path, None, f"the database cannot be read: {error}")

    def _trusted(self, columns: Columns) -> tuple[Columns, Columns]:
        """Part off the last rows, which may lie on the page where the file was cut.

        SQLite reads the missing part of that page as zeros, and with it wrong numbers. Rows are written one after the
        other, so that those of the last page are the last ones.
        """
        payloads = columns[3]
        length, count = 0, len(payloads)
        while count > 0 and length <= self._page_size:
            count -= 1
            length += len(payloads[count])
        return [column[:count] for column in columns], [column[count:] for column in columns]

    def _rows(self, database: sqlite3.Connection, wanted: Collection[int], ledger: Ledger) -> Iterator[Columns]:
        """Yield rows of rising number; behind damage, go on where rows can be read again."""
        topics = ", ".join(str(number) for number in sorted(wanted))
        chosen = f"rowid > ? AND topic_id IN ({topics}) ORDER BY rowid"
        query = f"SELECT rowid, topic_id, timestamp, data FROM messages NOT INDEXED WHERE {chosen}"
        last, skip = -1, 0
        for _ in range(MAX_RESTARTS):
            try:
                for rows in _blocks(database.execute(query, (min(last + skip, 2**63 - 1),))):
                    columns = list(zip(*rows, strict=True))
                    numbers, times, payloads = columns[0], columns[2], columns[3]
                    rising = numbers[0] > last and all(map(lt, numbers, numbers[1:]))
                    if not rising or set(map(type, times)) != {int} or set(map(type, payloads)) != {bytes}:
                        columns = self._messages(rows, last, ledger)
                    last, skip = max(last, numbers[-1]), 0
                    if columns:
                        yield columns
                return
            except _ERRORS as error:
                ledger.damaged(self.path, None, f"the database cannot be read behind row {last}: {error}")
                skip = max(1, 2 * skip)
                if last + skip >= 2**63 or "interrupted" in str(error):
                    return

    def _messages(self, rows: list[Any], last: int, ledger: Ledger) -> Columns:
        """Return the rows that are messages of rising number."""
        good = []
        for row in rows:
            if type(row[3]) is bytes and type(row[2]) is int and row[0] > last:
                last = row[0]
                good.append(row)
            else:
                ledger.damaged(self.path, None, f"row {row[0]} behind row {last} is no message")
        return list(zip(*good, strict=True))

    def _last_row(self, database: sqlite3.Connection) -> int:
        """Return the largest row number; 0 where damage hides it."""
        try:
            return int(database.execute("SELECT max(rowid) FROM messages").fetchone()[0] or 0)
        except _ERRORS:
            return 0

    def _batch(self, columns: Columns, last_row: int, read: int) -> Batch:
        """Put the payloads of rows behind each other. The position in the file is estimated by the row number."""
        numbers, topics, times, payloads = columns
        spans: Spans = np.empty((len(numbers), 4), dtype=np.int64)
        lengths = np.fromiter(map(len, payloads), dtype=np.int64, count=len(payloads))
        spans[:, 0], spans[:, 1], spans[:, 2], spans[:, 3] = np.cumsum(lengths) - lengths, lengths, times, topics
        data = b"".join(payloads)
        share = self.size * numbers[-1] // last_row if last_row >= numbers[-1] > 0 else read + len(data)
        return Batch(data, spans, min(share, self.size))


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"


def _blocks(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    """Yield rows in blocks. Rows that came before an error are given before it is raised; fetchmany would lose them."""
    while True:
        rows: list[Any] = []
        length = 0
        try:
            for row in islice(cursor, BLOCK_ROWS):
                rows.append(row)
                length += len(row[3]) if isinstance(row[3], bytes) else 0
                if length > BLOCK_BYTES:
                    break
        except _ERRORS:
            if rows:
                yield rows
            raise
        if not rows:
            return
        yield rows


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
