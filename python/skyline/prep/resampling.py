"""Changes the rate of a sound by a ratio of whole numbers: a polyphase filter, a sinc in a Kaiser window."""

from __future__ import annotations

import functools
import math

import numpy as np

_CROSSINGS = 24  # zeros of the sinc on each side
_CUTOFF = 0.94  # share of half the lower rate
_BETA = 9.0  # shape of the window, which weakens other frequencies by 90 dB
_MOST_WEIGHTS = 1 << 22
_BLOCK_VALUES = 1 << 20


def _ratio(source: int, target: int) -> tuple[int, int]:
    common = math.gcd(source, target)
    return target // common, source // common


def _reach(up: int, down: int) -> int:
    """Returns the samples on each side that a sample of the result depends on."""
    return math.ceil(_CROSSINGS / (_CUTOFF * min(1.0, up / down)))


def frames_needed(count: int, source: int, target: int) -> int:
    """Returns how many of the first samples the first `count` of the result depend on."""
    if source == target:
        return count
    up, down = _ratio(source, target)
    return (count - 1) * down // up + 1 + _reach(up, down)


def resampled(samples: np.ndarray, source: int, target: int) -> np.ndarray:
    """Returns float64 samples [ceil(n target / source)] of another rate. Beyond both ends the sound is zero."""
    if source == target:
        return samples
    up, down = _ratio(source, target)
    reach = _reach(up, down)
    count = -(-len(samples) * up // down)
    padded = np.concatenate([np.zeros(reach - 1), samples, np.zeros(reach + 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach)
    table = _weights(up, down) if up * 2 * reach <= _MOST_WEIGHTS else None
    step = max(_BLOCK_VALUES // (2 * reach), 1)
    made = np.empty(count)
    for begin in range(0, count, step):
        places = np.arange(begin, min(begin + step, count)) * down
        phases = places % up
        weights = table[phases] if table is not None else _weights_of(phases, up, down)
        made[begin:begin + step] = (windows[places // up] * weights).sum(1)
    return made


@functools.lru_cache(4)
def _weights(up: int, down: int) -> np.ndarray:
    return _weights_of(np.arange(up), up, down)


def _weights_of(phases: np.ndarray, up: int, down: int) -> np.ndarray:
    """Returns the weights of the samples around those places, [phases, 2 reach]. The weights of a place add up to 1."""
    reach = _reach(up, down)
    distances = np.arange(1 - reach, reach + 1) - phases[:, None] / up
    cutoff = _CUTOFF * min(1.0, up / down)
    weights = np.sinc(cutoff * distances) * np.i0(_BETA * np.sqrt(np.maximum(1 - (distances / reach) ** 2, 0)))
    return weights / weights.sum(1, keepdims=True)
