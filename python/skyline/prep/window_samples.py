"""Windows as samples of a data set: their lengths, and what is told of those that are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import PrepError, counted
from .kinds import Job
from .window_preparation import WindowPreparation
from .windows import Windows
from .wording import number_text

_MOST_VALUES = 1 << 22  # values of windows that are copied at a time


def rows_of(chosen: tuple[float, bool], made: WindowPreparation, option: str) -> int:
    """Returns a length that an option says as a number of rows."""
    value, is_time = chosen
    if not is_time:
        return int(value)
    if made.step_s <= 0:
        raise PrepError(f"--{option}: seconds need a column of the time (--time)")
    rows = round(value / made.step_s)
    if rows < 1:
        raise PrepError(f"--{option}: {number_text(value)} s are less than the time from a row to the next, {number_text(made.step_s)} s "
                        "(--time-unit)")
    return rows


def append_windows(job: Job, part: int, windows: Windows, chosen: np.ndarray, labels: np.ndarray) -> None:
    at_once = max(_MOST_VALUES // (windows.length * windows.recording.values.shape[1]), 1)
    for begin in range(0, len(chosen), at_once):
        some = slice(begin, begin + at_once)
        job.writer.append(part, windows.values(chosen[some]), labels[some])


def tell_left_out(job: Job, windows: Sequence[Windows]) -> None:
    missing, gaps = sum(each.num_missing for each in windows), sum(each.recording.gaps for each in windows)
    if missing:
        job.writer.note(f"check: {counted(missing, 'window')} with a missing value left out")
    if gaps:
        job.writer.note(f"check: {counted(gaps, 'gap')} in the time, which windows do not cross")
