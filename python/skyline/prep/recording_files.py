"""One long recording, or several in a table: the values of its rows, and the stretches of rows that windows may not leave."""

from __future__ import annotations

import pathlib
import re
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
_LARGE_WHOLE = re.compile(r"\d{1,19}", re.ASCII)


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
    numbers: np.ndarray | None = None  # float64 [rows, targets], NaN where there is none; None where classes are learned


def open_recording(path: pathlib.Path) -> Table:
    table = read_table(path)
    if not table.has_names:
        raise PrepError(f"{table.names_location()}: expected names of the columns in the first row")
    return table


def read_recording(table: Table, part: int, known: WindowPreparation, needed: Collection[str], of_run: bool = False) -> Recording:
    """Reads the columns that are known; beside the channels those that are `needed` must be there, of class or targets, group and time. Raises PrepError
    for other columns, and for cells that are no numbers; it advises options unless a run has decided what the columns are for."""
    _check_names(table, known, {*known.columns, *needed} - {""}, of_run)
    need = len(table) * len(known.columns) * _VALUE_BYTES
    if need > available_bytes():
        raise PrepError(f"{table.path}: needs {need / 2**30:.3g} GiB of memory, and there are fewer")
    values = np.empty((len(table), len(known.columns)), np.float32)
    for place, name in enumerate(known.columns):
        values[:, place] = _numbers(table, table.names.index(name), of_run)
    made = Recording(table.path, part, values)
    changes = _changes(table, known)
    if known.time and known.time in table.names:
        changes |= _gaps(table, known, made, changes, of_run)
    made.ends = np.flatnonzero(np.concatenate([[True], changes, [True]]))
    if known.group and known.group in table.names:
        words = table.categories(table.names.index(known.group))
        made.groups = [str(words.iloc[begin]) for begin in made.ends[:-1]]
    else:
        made.groups = [str(table.path)] * (len(made.ends) - 1)
    if known.targets and known.targets[0].column in needed:
        advice = "--targets=classes learns words"
        made.numbers = np.stack([_numbers(table, table.names.index(each.column), of_run, advice) for each in known.targets], 1)
    elif known.label in needed:
        _read_labels(table, known, made)
    return made


def _advice(text: str, of_run: bool) -> str:
    return "" if of_run else f" ({text})"


def _numbers(table: Table, column: int, of_run: bool, advice: str = "--drop leaves columns out") -> np.ndarray:
    numbers = table.numbers(column)
    wrong = numbers.are_words | (np.abs(numbers.values) > FLOAT_MAX)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise PrepError(f"{table.location(row)}: {table.label(column)}: expected a number, got "
                        f"{in_quotes(printable(str(table.words(column).iloc[row])))}{_advice(advice, of_run)}")
    return numbers.values


def _check_names(table: Table, known: WindowPreparation, needed: set[str], of_run: bool) -> None:
    missing, unknown = sorted(needed - {*table.names}), [name for name in table.names if name not in known.known_names]
    problems = [f"missing {quoted_list(missing)}"] if missing else []
    advice = "rename the columns, or take the file away" if missing else "--drop leaves columns out"
    problems += [f"unknown {quoted_list(unknown)}{_advice(advice, of_run)}"] if unknown else []
    if problems:
        others = "the run" if of_run else "the other recordings"
        raise PrepError(f"{table.names_location()}: the columns are not those of {others}: {'; '.join(problems)}")


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


def _gaps(table: Table, known: WindowPreparation, made: Recording, changes: np.ndarray, of_run: bool) -> np.ndarray:
    """Returns for each row but the first whether there is a gap before it, and finds the usual time between rows."""
    seconds = _seconds(table, table.names.index(known.time), known.time_unit, of_run)
    times = np.diff(seconds)
    back = (times < 0) & ~changes
    if back.any():
        row = int(np.argmax(back)) + 1
        raise PrepError(f"{table.location(row)}: {in_quotes(known.time)}: the time goes back: expected rows in its order"
                        + _advice("--group names the column of several recordings", of_run))
    own = times[~changes]
    made.step_s = float(f"{np.median(own):.6g}") if len(own) else 0.0
    gaps = (times > _GAP_STEPS * made.step_s) & ~changes if made.step_s > 0 else np.zeros(len(times), bool)
    made.gaps = int(gaps.sum())
    return gaps


def _seconds(table: Table, column: int, unit: str, of_run: bool) -> np.ndarray:
    """Returns the time of each row in seconds from any moment on, from numbers in a unit, or from dates."""
    numbers = table.numbers(column) if not table.has_typed_dates(column) else None
    if numbers is not None and numbers.are_words.any() and all(map(_LARGE_WHOLE.fullmatch, table.words(column))):
        counts = [int(word) for word in table.words(column)]  # nanoseconds since 1970, which are no floats
        return np.array([count - counts[0] for count in counts], float) * SECONDS_OF_UNITS[unit]
    readings = [] if numbers is None else [(numbers.missing | numbers.are_words, numbers.values * SECONDS_OF_UNITS[unit])]
    if not readings or readings[0][0].any():
        days = table.days(column, "ymd").values
        readings.append((np.isnan(days), days * _SECONDS_OF_DAY))
    wrong, seconds = min(readings, key=lambda reading: int(reading[0].sum()))  # a single wrong cell does not make all others wrong
    if wrong.any():
        row = int(np.argmax(wrong))
        got = printable(str(table.words(column).iloc[row]))
        raise PrepError(f"{table.location(row)}: {table.label(column)}: expected a time, a number or a date such as 2026-11-30 21:13:05, got "
                        f"{in_quotes(got) if got else 'nothing'}{_advice('--time', of_run)}")
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
