"""The windows of recordings, and their classes or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .recording_files import Recording


@dataclass
class Windows:
    """The windows of a recording that are samples."""

    recording: Recording
    length: int
    begins: np.ndarray  # first row of each
    labels: np.ndarray  # class of each, a place in the recording's names, or its numbers [windows, targets]; zeros without either
    stretches: np.ndarray  # stretch of each
    num_missing: int = 0  # windows that are left out for a missing value
    num_unlabelled: int = 0
    skipped: np.ndarray | None = None  # first rows of windows with a missing value

    def location(self, place: int) -> str:
        """Returns the file and the rows of a window."""
        return f"{self.recording.path}: rows {self.begins[place] + 1}-{self.begins[place] + self.length}"

    def values(self, chosen: np.ndarray) -> np.ndarray:
        """Returns samples, float32 [chosen, channels, 1, length]."""
        views = np.lib.stride_tricks.sliding_window_view(self.recording.values, self.length, axis=0)
        return views[self.begins[chosen]][:, :, None, :]


def cut(recording: Recording, length: int, step: int, label_of: str = "") -> Windows:
    """Cuts a recording into windows of so many rows, one each `step` rows of a stretch. With `label_of` those without a class, or without
    their numbers, are left out."""
    ends = recording.ends
    own = [np.arange(begin, end - length + 1, step) for begin, end in zip(ends, ends[1:])]
    begins = np.concatenate([np.empty(0, int), *own])
    stretches = np.repeat(np.arange(len(own)), [len(each) for each in own])
    gaps = np.concatenate([[0], np.cumsum(np.isnan(recording.values).any(1))])
    missing = gaps[begins + length] > gaps[begins]
    made = Windows(recording, length, begins, np.zeros(len(begins), int), stretches, int(missing.sum()), skipped=begins[missing])
    kept = ~missing
    if label_of:
        made.labels = _classes(recording, begins, length, label_of) if recording.numbers is None else \
            _numbers(recording.numbers, begins, length, label_of)
        has_labels = made.labels >= 0 if recording.numbers is None else np.isfinite(made.labels).all(1)
        made.num_unlabelled = int((kept & ~has_labels).sum())
        kept &= has_labels
    made.begins, made.labels, made.stretches = begins[kept], made.labels[kept], stretches[kept]
    return made


def _numbers(numbers: np.ndarray, begins: np.ndarray, length: int, label_of: str) -> np.ndarray:
    """Returns the numbers of each window, [windows, targets]: those of the last row, or the means of all rows."""
    if label_of == "last":
        return numbers[begins + length - 1]
    return np.array([numbers[begin:begin + length].mean(0) for begin in begins]).reshape(-1, numbers.shape[1])


def _classes(recording: Recording, begins: np.ndarray, length: int, label_of: str) -> np.ndarray:
    """Returns the class of each window: that of the last row, or of most rows, the first of equals; -1 if most have none."""
    if label_of == "last":
        return recording.labels[begins + length - 1]
    found, most = np.full(len(begins), -1), np.zeros(len(begins), int)
    for label in [*range(len(recording.names)), -1]:
        counts = np.concatenate([[0], np.cumsum(recording.labels == label)])
        own = counts[begins + length] - counts[begins]
        found[own > most] = label
        most = np.maximum(most, own)
    return found
