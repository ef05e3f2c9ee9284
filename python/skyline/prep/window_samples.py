"""Windows as samples of a data set: their lengths, and what is told of those that are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import PrepError, counted
from .kinds import Job
from .window_preparation import WindowPreparation
from .windows import Windows
from .wording import number_text, quoted_list

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


def left_out(windows: Sequence[Windows], columns: Sequence[str]) -> list[str]:
    """Returns a line for each reason for which rows are in no window."""
    missing, gaps = sum(each.num_missing for each in windows), sum(each.recording.gaps for each in windows)
    unlabelled = sum(each.num_unlabelled for each in windows)
    lines = []
    if missing:
        first = next(each.recording for each in windows if each.num_missing)
        lacking = [columns[place] for place in np.flatnonzero(np.isnan(first.values).any(0))]
        lines.append(f"{counted(missing, 'window')} with a missing value left out, e.g. of {quoted_list(lacking)} in {first.path}")
    if gaps:
        lines.append(f"{counted(gaps, 'gap')} in the time, which windows do not cross")
    if unlabelled:
        lines.append(f"{counted(unlabelled, 'window')} without a {'class' if windows[0].recording.numbers is None else 'number'} left out")
    return lines
