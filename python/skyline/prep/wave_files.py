"""WAV files of uncompressed samples, as microphones and editors write them."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from .errors import counted
from .media import MediaProblem

_WHOLE, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE  # tags of formats
_FORMAT_BYTES, _EXTENSIBLE_BYTES = 16, 40
_UNKNOWN_LENGTH = 0xFFFFFFFF  # written by programs that cannot go back
_MOST_CHUNKS = 1000


@dataclass(frozen=True)
class WaveHeader:
    tag: int
    channels: int
    rate: int  # Hz
    width: int  # bytes of a value
    begin: int  # place of the first sample
    frames: int

    @property
    def is_plain(self) -> bool:
        """Returns whether samples are numbers that can be read as they are."""
        return (self.tag == _WHOLE and 1 <= self.width <= 4) or (self.tag == _FLOAT and self.width in (4, 8))


def read_wave_header(file: BinaryIO) -> WaveHeader:
    """Reads the chunks before the samples. No memory is taken for what they claim. Raises MediaProblem."""
    size = os.fstat(file.fileno()).st_size
    form: tuple[int, int, int, int] | None = None
    place = 12
    for _ in range(_MOST_CHUNKS):
        file.seek(place)
        head = file.read(8)
        if len(head) < 8:
            break
        name, length = struct.unpack("<4sI", head)
        if name == b"fmt ":
            form = _read_format(file, length)
        if name == b"data" and form:
            return _header_of(form, place + 8, length, size)
        place += 8 + length + length % 2
    raise MediaProblem(f"damaged WAV: no {'samples' if form else 'format'} in it")


def _read_format(file: BinaryIO, length: int) -> tuple[int, int, int, int]:
    """Returns tag, channels, rate and bytes of a frame."""
    content = file.read(min(length, _EXTENSIBLE_BYTES))
    if len(content) < _FORMAT_BYTES:
        raise MediaProblem(f"damaged WAV: a format of {counted(len(content), 'byte')}")
    tag, channels, rate, _, frame_bytes, _ = struct.unpack("<HHIIHH", content[:_FORMAT_BYTES])
    if tag == _EXTENSIBLE and len(content) >= _EXTENSIBLE_BYTES:
        tag, = struct.unpack("<H", content[24:26])
    if channels < 1 or frame_bytes < 1:
        raise MediaProblem(f"damaged WAV: {counted(channels, 'channel')}, {counted(frame_bytes, 'byte')} for all of them")
    return tag, channels, rate, frame_bytes


def _header_of(form: tuple[int, int, int, int], begin: int, length: int, size: int) -> WaveHeader:
    tag, channels, rate, frame_bytes = form
    there = size - begin
    if length == _UNKNOWN_LENGTH:
        length = there
    if length > there:
        raise MediaProblem(f"damaged WAV: its header claims {counted(length, 'byte')} of samples, and there are {there}")
    width = frame_bytes // channels if frame_bytes % channels == 0 else 0
    return WaveHeader(tag, channels, rate, width, begin, length // frame_bytes)


def read_wave_values(file: BinaryIO, header: WaveHeader, frames: int) -> np.ndarray:
    """Returns the first values, float32 [frames, channels], from -1 to 1 for whole numbers. Raises MediaProblem."""
    file.seek(header.begin)
    stored = file.read(frames * header.channels * header.width)
    if len(stored) < frames * header.channels * header.width:
        raise MediaProblem("damaged WAV: it became shorter while it was read")
    return _values(stored, header).astype(np.float32).reshape(frames, header.channels)


def _values(stored: bytes, header: WaveHeader) -> np.ndarray:
    if header.tag == _FLOAT:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.frombuffer(stored, f"<f{header.width}").astype(np.float32)
    if header.width == 1:  # without a sign
        return (np.frombuffer(stored, np.uint8).astype(np.float32) - 128) / 128
    if header.width != 3:
        return np.frombuffer(stored, f"<i{header.width}") / np.float64(1 << (8 * header.width - 1))
    padded = np.zeros((len(stored) // 3, 4), np.uint8)
    padded[:, 1:] = np.frombuffer(stored, np.uint8).reshape(-1, 3)
    return padded.view("<i4").ravel() / np.float64(1 << 31)
