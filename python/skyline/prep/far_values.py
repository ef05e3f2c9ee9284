"""Numbers far outside of the others of their column: marks for missing values, and slips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

_MOST_WIDTHS = 300  # widths of the middle half of the values; heavy tails reach some dozens
_LEAST_SPREAD = 0.02  # width of the middle half, in deviations; below it a network sees no differences among most values
_MARKS = {*(sign * float("9" * digits) for digits in range(3, 9) for sign in (-1, 1)), -32768.0, -2147483648.0, 2147483647.0}
_LARGEST_PLAIN = 1e19  # larger ones are fill values: 1e20, 9.96921e36
_MOST_DIFFERENT = 1000
_FEW_TARGETS = 50
_FLOAT32_STEP = 1e-6
_SKEWED = 1.5  # skewness of numbers; that of an exponential distribution is 2, and its logarithms are skewed as well


@dataclass
class Column:
    """The values of one column, most of which lie between `low` and `high`."""

    number: int
    low: float  # quartiles of all values, or of all but the most frequent one
    high: float
    marks: set[float]  # least or largest values that are usual marks for missing ones
    count: int = 0
    far: Counter[float] = field(default_factory=Counter)
    least: float = np.inf  # bounds of the values that are not far
    largest: float = -np.inf
    _sum: float = 0.0
    _squares: float = 0.0

    def add(self, values: np.ndarray) -> None:
        width = self.high - self.low
        is_far = np.isin(values, list(self.marks))
        if width > 0:
            is_far |= (values < self.low - _MOST_WIDTHS * width) | (values > self.high + _MOST_WIDTHS * width)
        others = values[~is_far]
        self.far.update(dict(zip(*(each.tolist() for each in np.unique(values[is_far], return_counts=True)))))
        self.far = Counter(dict(self.far.most_common(_MOST_DIFFERENT)))
        self.least, self.largest = min(self.least, others.min(initial=np.inf)), max(self.largest, others.max(initial=-np.inf))
        self.count += len(values)
        self._sum += float((values - self.low).sum())
        self._squares += float(((values - self.low) ** 2).sum())

    @property
    def spread(self) -> float:
        """Width of the middle half, or of all others where that has none, in deviations of the whole column."""
        width = self.high - self.low or self.largest - self.least
        variance = self._squares / self.count - (self._sum / self.count) ** 2
        return width / np.sqrt(variance) if variance > 0 else 1.0

    def is_wrong(self) -> bool:
        """Returns whether the far values are marks for missing ones, or leave nothing of the differences among the others."""
        if not self.far or self.least > self.largest:
            return False
        marks = {value: number for value, number in self.far.items() if value in self.marks and self._is_mark(value, number)}
        self.far = Counter(marks or {value: number for value, number in self.far.items() if value not in self.marks})
        return bool(marks) or (bool(self.far) and self.spread < _LEAST_SPREAD)

    def _is_mark(self, value: float, number: int) -> bool:
        distance = max(self.least - value, value - self.largest)
        alone = value < 0 <= self.least or distance > (1 if value < 0 else 2) * (self.largest - self.least)
        return alone and (number > 1 or abs(value) > _LARGEST_PLAIN)


def suspects(sample: np.ndarray, least: np.ndarray, largest: np.ndarray) -> list[Column]:
    """Returns the columns that may have far values, by some of their rows and their bounds. All values are looked at then."""
    if not len(sample):
        return []
    lows, highs = np.percentile(sample, [25, 75], axis=0)
    columns = []
    for number in range(sample.shape[1]):
        low, high = float(lows[number]), float(highs[number])
        marks = {float(value) for value in (least[number], largest[number]) if _may_be_mark(float(value))}
        if low == high:  # most values are one: zeros of counts
            others = sample[sample[:, number] != low, number]
            low, high = map(float, np.percentile(others, [25, 75])) if len(others) else (low, high)
        if marks or (high > low and max(largest[number] - high, low - least[number]) > _MOST_WIDTHS * (high - low)):
            columns.append(Column(number, low, high, marks))
    return columns


def measure(columns: Sequence[Column], blocks: Iterable[np.ndarray]) -> list[Column]:
    """Looks at all values, in blocks [values, columns], and returns the columns with far ones."""
    for block in blocks:
        for column in columns:
            column.add(block[:, column.number].astype(np.float64))
    return [column for column in columns if column.is_wrong()]


def _may_be_mark(value: float) -> bool:
    return value in _MARKS or abs(value) > _LARGEST_PLAIN


def calming_logarithm(values: np.ndarray) -> str:
    """Returns `log` or `log1p` if positive numbers are so skewed that their logarithms are easier to learn; else an empty text.

    The numbers may be rounded as float32 is beside the largest one. The least is 0, then, if it is there more than once.
    """
    if len(values) < _FEW_TARGETS:
        return ""
    least, tiny = values.min(), _FLOAT32_STEP * values.max()
    if least < -tiny or tiny <= 0:
        return ""
    name = "log1p" if least == 0 or (least <= tiny and np.count_nonzero(values == least) > 1) else "log"
    positive = np.maximum(values, tiny)
    skewed, calm = _skewness(values), _skewness(np.log(positive) if name == "log" else np.log1p(positive))
    return name if skewed > _SKEWED and abs(calm) < skewed / 2.5 else ""


def _skewness(values: np.ndarray) -> float:
    centred = values - values.mean()
    deviation = centred.std()
    return float(((centred / deviation) ** 3).mean()) if deviation > 0 else 0.0
