"""The content of a data set's samples, looked at while they are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_PARTS = 3
_BLOCK_BYTES = 1 << 24
_MOST_KEPT = 1 << 22  # values of training samples, all together
_MOST_KEPT_OF_CHANNEL = 1 << 16
_MOST_PLACES = 1 << 8  # places of a channel that are kept of one sample
_FEWEST_ROWS = 1 << 8
_FEWEST_FEATURES = 8  # enough that equal values are no chance


class Content:
    """A hash of every sample, the bounds of every channel of the training samples, and some of these samples."""

    def __init__(self, shape: tuple[int, int, int], is_pixels: bool, num_training: int, bounds: np.ndarray | None = None) -> None:
        """`bounds` are the least and largest values of a run's training samples, [2, channels], if these are new samples for it."""
        self.shape = shape
        self.low, self.high = np.full(shape[0], np.inf), np.full(shape[0], -np.inf)
        self.num_flat = 0  # samples with one value in each channel, or in all features
        self.bounds = bounds
        self.num_outside = np.zeros(shape[0], int)  # samples with values outside of the bounds
        self.num_with_outside = 0
        self.is_pixels = is_pixels
        self._hashes: list[list[np.ndarray]] = [[] for _ in range(_PARTS)]
        self._kept: list[np.ndarray] = []
        self._place_step = -(-shape[1] * shape[2] // _MOST_PLACES)
        places = -(-shape[1] * shape[2] // self._place_step)
        most_rows = max(min(_MOST_KEPT // (shape[0] * places), _MOST_KEPT_OF_CHANNEL // places), _FEWEST_ROWS)
        self._step = max(-(-num_training // most_rows), 1)
        self._seen = 0  # number of training samples

    def add(self, part: int, values: np.ndarray) -> None:
        """Looks at samples [n, channels, height, width] as they are stored."""
        self._hashes[part].append(sample_hashes(values))
        channels = values.reshape(len(values), self.shape[0], -1)
        if channels.shape[2] > 1:
            low, high = channels.min(2), channels.max(2)
            self.num_flat += int((low == high).all(1).sum())
        else:
            low = high = channels[:, :, 0]
            if self.shape[0] >= _FEWEST_FEATURES and not self.is_pixels:
                self.num_flat += int((low == low[:, :1]).all(1).sum())
        if self.bounds is not None:
            outside = (low < self.bounds[0]) | (high > self.bounds[1])
            self.num_outside += outside.sum(0)
            self.num_with_outside += int(outside.any(1).sum())
        if part == 0 or self.bounds is not None:
            self.low, self.high = np.minimum(self.low, low.min(0)), np.maximum(self.high, high.max(0))
            if not self.is_pixels:
                self._kept.append(channels[-self._seen % self._step::self._step, :, ::self._place_step].copy())
            self._seen += len(values)

    def hashes(self, part: int) -> np.ndarray:
        return np.concatenate([np.empty(0, np.int64), *self._hashes[part]])

    def equal_training_samples(self) -> np.ndarray:
        """Returns a number for each training sample, the same for equal ones, from 0 in the order of their first samples."""
        _, first, places = np.unique(self.hashes(0), return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[places.ravel()]

    def some_values(self) -> np.ndarray:
        """Returns values of each channel of some training samples, [values, channels]; none of pixels."""
        kept = [values.transpose(0, 2, 1).reshape(-1, self.shape[0]) for values in self._kept]
        return np.concatenate([np.empty((0, self.shape[0]), np.float32), *kept])


def sample_hashes(*arrays: np.ndarray) -> np.ndarray:
    """Returns a number of 64 bits for each row of arrays of the same length, equal for equal rows. It differs from process to process."""
    count = len(arrays[0])
    row_bytes = sum(array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays)
    step = max(_BLOCK_BYTES // max(row_bytes, 1), 1)
    blocks = [_hashes_of([array[begin:begin + step] for array in arrays]) for begin in range(0, count, step)]
    return np.concatenate([np.empty(0, np.int64), *blocks])


def _hashes_of(arrays: Sequence[np.ndarray]) -> np.ndarray:
    columns = []
    for array in arrays:
        rows = array.reshape(len(array), -1)
        rows = np.ascontiguousarray(rows + rows.dtype.type(0) if rows.dtype.kind == "f" else rows)  # -0 becomes 0
        columns.append(rows.view(np.uint8))
    rows = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
    keys = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel().tolist()
    return np.fromiter(map(hash, keys), np.int64, len(keys))
