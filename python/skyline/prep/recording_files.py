"""One long recording, or several in a table: the values of its rows, and the stretches of rows that windows may not leave."""

from __future__ import annotations

import pathlib
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from .errors import PrepError
from .table_files import Table, available_bytes, read_table
from .table_samples import FLOAT_MAX
from .window_preparation import SECONDS_OF_UNITS, WindowPreparation
from .wording import in_quotes, number_text, printable, quoted_list

_SECONDS_OF_DAY = 86400.0
_GAP_STEPS = 3.0  # a longer time between two rows is a gap
_VALUE_BYTES = 4


@dataclass
class Recording:
    path: pathlib.Path
    part: int
    values: np.ndarray  # float32 [rows, channels], NaN where there is none
    step_s: float = 0.0  # usual time from a row to the next; 0 without a column of the time
    ends: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # [stretches + 1], rows between which windows lie
    gaps: int = 0
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # class of each row, a place in `names`; -1 where there is none
    names: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)  # group of each stretch


def open_recording(path: pathlib.Path) -> Table:
    table = read_table(path)
    if not table.has_names:
        raise PrepError(f"{table.names_location()}: expected names of the columns in the first row")
    return table


def read_recording(table: Table, part: int, known: WindowPreparation, needed: Collection[str]) -> Recording:
    """Reads the columns that are known; beside the channels those that are `needed` must be there, of class, group and time. Raises PrepError
    for other columns, and for cells that are no numbers."""
    _check_names(table, known, {*known.columns, *needed} - {""})
    need = len(table) * len(known.columns) * _VALUE_BYTES
    if need > available_bytes():
        raise PrepError(f"{table.path}: needs {need / 2**30:.3g} GiB of memory, and there are fewer")
    values = np.empty((len(table), len(known.columns)), np.float32)
    for place, name in enumerate(known.columns):
        values[:, place] = _numbers(table, table.names.index(name))
    made = Recording(table.path, part, values)
    changes = _changes(table, known)
    if known.time and known.time in table.names:
        changes |= _gaps(table, known, made, changes)
    made.ends = np.flatnonzero(np.concatenate([[True], changes, [True]]))
    if known.group and known.group in table.names:
        words = table.categories(table.names.index(known.group))
        made.groups = [str(words.iloc[begin]) for begin in made.ends[:-1]]
    else:
        made.groups = [str(table.path)] * (len(made.ends) - 1)
    if known.label in needed:
        _read_labels(table, known, made)
    return made


def _numbers(table: Table, column: int) -> np.ndarray:
    numbers = table.numbers(column)
    wrong = numbers.are_words | (np.abs(numbers.values) > FLOAT_MAX)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise PrepError(f"{table.location(row)}: {table.label(column)}: expected a number, got "
                        f"{in_quotes(printable(str(table.words(column).iloc[row])))} (--drop leaves columns out)")
    return numbers.values


def _check_names(table: Table, known: WindowPreparation, needed: set[str]) -> None:
    missing, unknown = sorted(needed - {*table.names}), [name for name in table.names if name not in known.known_names]
    problems = [f"missing {quoted_list(missing)}"] if missing else []
    problems += [f"unknown {quoted_list(unknown)} (--drop leaves columns out)"] if unknown else []
    if problems:
        raise PrepError(f"{table.names_location()}: the columns are not those of the other recordings: {'; '.join(problems)}")


def _changes(table: Table, known: WindowPreparation) -> np.ndarray:
    """Returns for each row but the first whether another recording begins there."""
    if not known.group or known.group not in table.names:
        return np.zeros(len(table) - 1, bool)
    column = table.names.index(known.group)
    words = table.categories(column)
    missing = words.map(table.reading.is_missing).to_numpy()
    if missing.any():
        raise PrepError(f"{table.location(int(np.argmax(missing)))}: {table.label(column)}: the group is missing")
    codes = words.to_numpy()
    return codes[1:] != codes[:-1]


def _gaps(table: Table, known: WindowPreparation, made: Recording, changes: np.ndarray) -> np.ndarray:
    """Returns for each row but the first whether there is a gap before it, and finds the usual time between rows."""
    seconds = seconds_of(table, table.names.index(known.time), known.time_unit)
    times = np.diff(seconds)
    back = (times < 0) & ~changes
    if back.any():
        row = int(np.argmax(back)) + 1
        raise PrepError(f"{table.location(row)}: {in_quotes(known.time)}: the time goes back: expected rows in its order (--group names the "
                        "column of several recordings)")
    own = times[~changes]
    made.step_s = float(f"{np.median(own):.6g}") if len(own) else 0.0
    gaps = (times > _GAP_STEPS * made.step_s) & ~changes if made.step_s > 0 else np.zeros(len(times), bool)
    made.gaps = int(gaps.sum())
    return gaps


def seconds_of(table: Table, column: int, unit: str) -> np.ndarray:
    """Returns the time of each row in seconds, from numbers in a unit, or from dates."""
    numbers = table.numbers(column) if not table.has_typed_dates(column) else None
    if numbers is not None and not numbers.are_words.any():
        wrong, seconds = numbers.missing, numbers.values * SECONDS_OF_UNITS[unit]
    else:
        days = table.days(column, "ymd")
        wrong, seconds = np.isnan(days.values), days.values * _SECONDS_OF_DAY
    if wrong.any():
        raise PrepError(f"{table.location(int(np.argmax(wrong)))}: {table.label(column)}: expected a time, a number or a date such as "
                        "2026-11-30 21:13:05 (--time)")
    return seconds


def _read_labels(table: Table, known: WindowPreparation, made: Recording) -> None:
    words = table.categories(table.names.index(known.label))
    made.names = sorted_names({word for word in words.unique() if not table.reading.is_missing(word)})
    places = {name: place for place, name in enumerate(made.names)}
    made.labels = words.map(lambda word: places.get(word, -1)).to_numpy(int)


def sorted_names(names: set[str]) -> list[str]:
    """Returns names of classes in their order: numbers by their values, then words."""
    return sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))


def refuse_other_rate(made: Recording, step_s: float, title: str) -> None:
    """Raises PrepError for a recording whose rows are further apart, or closer, than others' are."""
    if made.step_s > 0 and step_s > 0 and not 0.9 <= made.step_s / step_s <= 1 / 0.9:
        raise PrepError(f"{made.path}: a row each {number_text(round(made.step_s, 6))} s, and {title} each {number_text(round(step_s, 6))} s: "
                        "bring them to one rate")
