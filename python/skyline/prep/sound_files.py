"""Sound files: their headers, and their samples as one channel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from .media import MediaProblem, open_media_file
from .option_table import LEAST_RATE, MOST_RATE
from .resampling import frames_needed, resampled
from .sound_kinds import SOUND, has_soundfile, sound_kind
from .wave_files import read_wave_header, read_wave_values
from .wording import printable

_START_BYTES = 512
_MOST_CHANNELS = 64
_MOST_VALUES = 1 << 24  # values of the part of a sound that is read, checked before memory is taken
_UNKNOWN = "not a WAV sound, nor another that the package soundfile reads"


@dataclass(frozen=True)
class SoundHeader:
    rate: int  # Hz
    frames: int
    channels: int

    def length_at(self, rate: int) -> int:
        """Returns the number of samples at this rate."""
        return -(-self.frames * rate // self.rate)


def read_sound_header(path: str) -> SoundHeader:
    """Raises MediaProblem."""
    with _opened(path) as sound:
        return sound.header


def read_sound(path: str, rate: int, most: int) -> np.ndarray:
    """Returns the first samples of a sound at a rate, float32 [at most `most`]: the mean of its channels. Raises MediaProblem."""
    with _opened(path) as sound:
        header = sound.header
        frames = min(header.frames, frames_needed(most, header.rate, rate))
        if frames * header.channels > _MOST_VALUES:
            raise MediaProblem(f"expected at most {_MOST_VALUES} values, got {header.channels} x {frames}: a shorter --length reads the "
                               "beginning of a sound")
        values = sound.values(frames)
    if not np.isfinite(values).all():
        raise MediaProblem("a value that is not finite")
    mono = values.mean(1, dtype=np.float64)
    return resampled(mono, header.rate, rate)[:most].astype(np.float32)


class _WaveSound:
    def __init__(self, file: BinaryIO) -> None:
        self._file, self._wave = file, read_wave_header(file)
        self.header = SoundHeader(self._wave.rate, self._wave.frames, self._wave.channels)
        self.is_plain = self._wave.is_plain
        self.tag, self.width = self._wave.tag, self._wave.width

    def values(self, frames: int) -> np.ndarray:
        return read_wave_values(self._file, self._wave, frames)


class _LibrarySound:
    """A sound that the package soundfile reads."""

    def __init__(self, opened: Any, kind: str) -> None:
        self._opened, self._kind = opened, kind
        self.header = SoundHeader(int(opened.samplerate), int(opened.frames), int(opened.channels))

    def values(self, frames: int) -> np.ndarray:
        values = self._opened.read(frames, dtype="float32", always_2d=True)
        if len(values) < (1 if self._kind == "MP3" else frames):  # lengths of MP3 are estimates
            raise MediaProblem(f"damaged {self._kind}: its header claims {frames} samples, and there are {len(values)}")
        return values


@contextlib.contextmanager
def _opened(path: str) -> Iterator[_WaveSound | _LibrarySound]:
    """Opens a sound, and checks its header. Errors of the library become a MediaProblem."""
    with open_media_file(path) as file:
        start = file.read(_START_BYTES)
        kind = sound_kind(start)
        if not kind:
            raise MediaProblem(_UNKNOWN if start else "the file is empty")
        wave = _WaveSound(file) if kind == "WAV" else None
        if wave and wave.is_plain:
            yield _checked(wave)
            return
        if wave and not has_soundfile():
            raise MediaProblem(f"a WAV file of codec {wave.tag} with {wave.width} bytes for a value, which needs the package soundfile")
        if not wave and not SOUND.is_read(kind):
            raise MediaProblem(f"a {kind} file, which is not read")
        with _by_library(file, kind) as opened:
            yield _checked(_LibrarySound(opened, kind))


@contextlib.contextmanager
def _by_library(file: BinaryIO, kind: str) -> Iterator[Any]:
    import soundfile

    os.lseek(file.fileno(), 0, os.SEEK_SET)  # a buffered file may not move
    try:
        with soundfile.SoundFile(file.fileno(), closefd=False) as opened:
            yield opened
    except MediaProblem:
        raise
    except MemoryError:  # a damaged file may claim any length
        raise MediaProblem(f"a {kind} file, for which there is too little memory") from None
    except Exception as error:  # whatever the library raises for a damaged file
        raise MediaProblem(f"damaged {kind}: {printable(str(error)) or type(error).__name__}") from None


def _checked(sound: _WaveSound | _LibrarySound) -> _WaveSound | _LibrarySound:
    header = sound.header
    if not LEAST_RATE <= header.rate <= MOST_RATE:
        raise MediaProblem(f"expected {LEAST_RATE} to {MOST_RATE} samples of a second, got {header.rate}")
    if header.channels > _MOST_CHANNELS:
        raise MediaProblem(f"expected at most {_MOST_CHANNELS} channels, got {header.channels}")
    if header.frames < 1:
        raise MediaProblem("a sound without samples")
    return sound
