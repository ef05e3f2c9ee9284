"""The values that a run writes for TensorBoard, read by the description of the format alone.

A file is a sequence of records: length, its checksum, an Event message, its checksum. Source: tensorboard/compat/proto.
"""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MOST_BYTES = 1 << 20  # limit of a record; ours have some hundred
_STEP, _SUMMARY, _VALUE, _TAG, _SIMPLE_VALUE, _WALL_TIME = 2, 5, 1, 1, 2, 1  # numbers of fields


class Event(NamedTuple):
    step: int  # place in the journal
    unix_s: float
    values: dict[str, float]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        value |= (data[at + place] & 0x7F) << 7 * place
        if data[at + place] < 0x80:
            return value, at + place + 1
    raise ValueError("a number of more than 64 bits")


def _fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yields number and value of the fields of a protocol buffers message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value: int | float | bytes
        if tag & 7 == 0:
            value, at = _varint(message, at)
        elif tag & 7 == 2:
            length, at = _varint(message, at)
            value, at = message[at:at + length], at + length
        else:
            form = {1: "<d", 5: "<f"}[tag & 7]
            value, = struct.unpack_from(form, message, at)
            at += struct.calcsize(form)
        yield tag >> 3, value


def _shortest(value: float) -> float:
    """The shortest decimal number that is this one in the file's 32 bits: 0.969 and not 0.9689999818801880."""
    for digits in range(6, 9):
        shorter = float(f"{value:.{digits}g}")
        if struct.pack("<f", shorter) == struct.pack("<f", value):
            return shorter
    return value


def _event(record: bytes) -> Event | None:
    """Returns the values in a record, or None if it has none, as at the beginning of a file."""
    step, unix_s, summary = 0, 0.0, b""
    for number, value in _fields(record):
        if number == _STEP and isinstance(value, int):
            step = value
        elif number == _WALL_TIME and isinstance(value, float):
            unix_s = value
        elif number == _SUMMARY and isinstance(value, bytes):
            summary = value
    values = {}
    for number, entry in _fields(summary):
        if number == _VALUE and isinstance(entry, bytes):
            named = dict(_fields(entry))
            tag, simple = named.get(_TAG), named.get(_SIMPLE_VALUE, 0.0)
            if isinstance(tag, bytes) and isinstance(simple, float):
                values[tag.decode(errors="replace")] = _shortest(simple)
    return Event(step, unix_s, values) if values else None


class EventReader:
    """Reads what is new in a folder of event files at each call."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}  # bytes by file
        self._damaged: set[str] = set()

    def new_events(self, say: Callable[[str], None]) -> Iterator[Event]:
        """Yields the events that were written since the last call. A record that is not whole is left to the next call.

        A job that resumes a run may write steps once more that a killed one had written. Of a damaged file what comes after the
        damage is left out, with a line to `say`. Raises OSError if a file cannot be read.
        """
        for file in sorted(self._folder.glob("events.out.tfevents.*.skyline")):
            if file.name in self._damaged:
                continue
            at = self._read.get(file.name, 0)
            with file.open("rb") as stream:
                stream.seek(at)
                data = stream.read()
            begin = 0
            while begin + 12 <= len(data):
                length, = struct.unpack_from("<Q", data, begin)
                end = begin + 16 + length
                if length <= _MOST_BYTES and end > len(data):
                    break
                try:
                    if length > _MOST_BYTES:
                        raise ValueError("too long")
                    event = _event(data[begin + 12:end - 4])
                except (IndexError, KeyError, TypeError, ValueError, struct.error):
                    say(f"{file}: is damaged at byte {at + begin}: what comes after is left out")
                    self._damaged.add(file.name)
                    break
                begin = end
                self._read[file.name] = at + begin
                if event:
                    yield event
