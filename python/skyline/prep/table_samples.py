"""The rows of a table as samples, by a preparation that was learned from training rows (table_survey.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .dates import date_number
from .errors import PrepError, counted
from .preparation import Feature
from .table_files import Table
from .wording import printable

FLOAT_MAX = float(np.finfo(np.float32).max)


def sample_values(table: Table, columns: Sequence[int], features: Sequence[Feature]) -> tuple[np.ndarray, dict[int, str]]:
    """Returns the samples of a table, float64 [rows, features], and the reasons why rows are none.

    `columns` has the column of each feature.
    """
    result = np.empty((len(table), len(features)))
    problems: dict[int, str] = {}
    by_column: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        by_column.setdefault(column, []).append(place)
    for column, places in by_column.items():
        own = [features[place] for place in places]
        if own[0].is_category:
            _fill_words(table, column, own, result, places)
        else:
            _fill_numbers(table, column, own, result, places, problems)
    return result, problems


def refuse_rows(table: Table, problems: dict[int, str]) -> None:
    """Refuses the table for its first row that cannot be a sample."""
    if problems:
        row = min(problems)
        raise PrepError(f"{table.location(row)}: {problems[row]}")


def _fill_words(table: Table, column: int, features: Sequence[Feature], values: np.ndarray, places: Sequence[int]) -> None:
    words = table.categories(column)
    known = np.zeros(len(table), bool)
    for place, feature in zip(places, features):
        applies = (words == feature.is_word if feature.is_word is not None else ~words.isin(feature.is_not)).to_numpy()
        values[:, place] = applies
        known |= applies
    unknown = len(known) - int(np.count_nonzero(known))
    if unknown:
        table.notes.append(f"check: {table.path}: {table.label(column)}: {counted(unknown, 'row')} with words, or empty cells, "
                           "that the training data do not have: none of its features applies")


def _fill_numbers(table: Table, column: int, features: Sequence[Feature], values: np.ndarray, places: Sequence[int],
                  problems: dict[int, str]) -> None:
    cells = table.days(column, features[0].order) if features[0].order else table.numbers(column)
    stand_in = next((each.missing for each in features if each.missing is not None), None)
    bad = cells.are_words if stand_in is not None else np.isnan(cells.values)
    words: list[str] = list(table.words(column)) if bad.any() else []
    for row in np.flatnonzero(bad):
        why = ": a missing value, where the training data have none" if table.reading.is_missing(words[row]) else ""
        problems.setdefault(int(row), f"{table.label(column)}: expected a {'date' if features[0].order else 'number'}, "
                            f"got `{printable(words[row][:40])}`{why}")
    for place, feature in zip(places, features):
        if feature.is_missing:
            values[:, place] = cells.missing
            continue
        numbers = date_number(cells.values, feature.date) if feature.date else cells.values
        values[:, place] = np.where(np.isnan(numbers), feature.missing or 0.0, numbers) - feature.subtract
        for row in np.flatnonzero(np.abs(values[:, place]) > FLOAT_MAX):
            problems.setdefault(int(row), f"{table.label(column)}: too large for float32: {table.frame[column].iloc[row]}")
