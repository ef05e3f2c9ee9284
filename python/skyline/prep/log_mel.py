"""Log-mel spectrograms: the logarithms of a sound's energy in bands of frequencies, frame by frame."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

_FLOOR = 1e-6  # added to energies before the logarithm
_BLOCK_VALUES = 1 << 22  # values of frames that are transformed at a time


@dataclass(frozen=True)
class LogMel:
    """Sizes of frames in samples, and ends of the bands in Hz."""

    rate: int
    window: int
    hop: int
    bands: int
    low: float
    high: float

    @property
    def fft(self) -> int:
        """The length of the transform: the smallest power of two that holds a frame, which zeros follow."""
        return 1 << (self.window - 1).bit_length()

    def num_frames(self, length: int) -> int:
        """Returns the number of whole frames in so many samples."""
        return max((length - self.window) // self.hop + 1, 0)

    def __call__(self, samples: np.ndarray) -> np.ndarray:
        """Returns ln(energy + 1e-6), float32 [bands, frames]. In float64:

        - frame t has the samples t * hop to t * hop + window - 1, times 0.5 - 0.5 cos(2 pi n / window);
        - P[k] is the squared magnitude of its discrete Fourier transform of length `fft`, for frequencies k * rate / fft up to rate / 2;
        - the energy of a band is the sum of P[k] times the band's weight (`weights`).
        """
        frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), self.window)[::self.hop]
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.window) / self.window)
        made = np.empty((self.bands, len(frames)), np.float32)
        step = max(_BLOCK_VALUES // self.fft, 1)
        for begin in range(0, len(frames), step):
            spectrum = np.fft.rfft(frames[begin:begin + step] * window, self.fft)
            power = spectrum.real ** 2 + spectrum.imag ** 2
            made[:, begin:begin + len(power)] = np.log(weights(self) @ power.T + _FLOOR)
        return made


@functools.lru_cache(8)
def weights(of: LogMel) -> np.ndarray:
    """Returns the weights of frequencies in bands, [bands, fft / 2 + 1]: triangles over Hz from 0 to 1 and back to 0.

    Their corners are at bands + 2 places of equal distances in mel, 2595 log10(1 + Hz / 700), from `low` to `high`.
    """
    ends = 2595 * np.log10(1 + np.array([of.low, of.high]) / 700)
    corners = 700 * (10 ** (np.linspace(*ends, of.bands + 2) / 2595) - 1)
    frequencies = np.arange(of.fft // 2 + 1) * (of.rate / of.fft)
    widths = np.diff(corners)
    rising = (frequencies - corners[:-2, None]) / widths[:-1, None]
    falling = (corners[2:, None] - frequencies) / widths[1:, None]
    return np.maximum(np.minimum(rising, falling), 0)
