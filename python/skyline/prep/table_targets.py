"""The targets in columns of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .dates import is_date
from .errors import PrepError
from .spellings import are_spelled
from .table_files import Table
from .table_survey import first_word
from .targets import TargetColumns
from .wording import in_quotes, printable

_MOST_WORD_BYTES = 255
_WAY = " (--label names another column)"


def read_columns(table: Table, columns: Sequence[int], array: str) -> TargetColumns:
    """Reads the targets of a table. Raises PrepError for one that is missing."""
    found = TargetColumns(f"{table.path}: {array}", [table.names[column] for column in columns], np.empty((len(table), 0)),
                          title=f"{in_quotes(table.names[columns[0]])}: ", location=table.location)
    if len(columns) > 1:
        found.values = np.stack([_one_of_many(table, column) for column in columns], 1)
        found.kind = "labels" if np.isin(found.values, (0, 1)).all() else "numbers"
        return found
    column, = columns
    cells = table.numbers(column, flags=False)
    if cells.are_words.any() or table.has_typed_words(column):
        _read_words(found, table, column, cells.values)
        return found
    if np.isnan(cells.values).any():
        row = int(np.argmax(np.isnan(cells.values)))
        cell = table.words(column).iloc[row]
        is_plain = _is_no_label(cell) or not table.reading.is_missing(cell) or cell in table.reading.missing_words
        raise PrepError(f"{table.location(row)}: {table.label(column)}: the label is missing"
                        + (_WAY if is_plain else f", or a class among numbers is called {in_quotes(cell)}, and needs another name"))
    found.values = cells.values[:, None]
    found.kind = "classes" if found.are_whole else "numbers"
    return found


def _is_no_label(word: str) -> bool:
    return word.lower() in ("", "?", "nan", "-nan")


def _one_of_many(table: Table, column: int) -> np.ndarray:
    cells = table.numbers(column)
    wrong = np.isnan(cells.values)
    if not wrong.any():
        return cells.values
    row = int(np.argmax(wrong))
    word = table.words(column).iloc[row]
    if _is_no_label(word):
        raise PrepError(f"{table.location(row)}: {table.label(column)}: the label is missing")
    raise PrepError(f"{table.location(row)}: {table.label(column)}: expected a number, as one of several targets, got {in_quotes(word)}")


def _read_words(found: TargetColumns, table: Table, column: int, numbers: np.ndarray) -> None:
    label, words = table.label(column), table.words(column)
    codes, texts = pd.factorize(words)
    different = list(texts)
    wrong = {word: f"{label}: the label is missing{_WAY}" for word in different if _is_no_label(word) or word in table.reading.missing_words}
    wrong |= {word: f"a label of more than {_MOST_WORD_BYTES} bytes" for word in different
              if len(word.encode("utf-8", "surrogateescape")) > _MOST_WORD_BYTES}
    wrong |= {word: f"{label}: expected words in UTF-8 and without control characters, got {printable(in_quotes(word))}: save the table "
              "as UTF-8" for word in different if printable(word, "\n\r\t") != word and word not in wrong}
    if wrong:
        row = int(np.argmax(words.isin(wrong)))
        raise PrepError(f"{table.location(row)}: {wrong[words.iloc[row]]}")
    found.words, found.values = different, codes
    found.problem = _why_no_classes(table, column, np.isnan(numbers))
    count = int(np.count_nonzero(~np.isnan(numbers)))
    if count and not table.has_typed_words(column):
        row = int(np.argmax(np.isnan(numbers)))
        found.numeric_words = f"{count} of {len(words)} values are numbers; {table.where(row)} has {in_quotes(words.iloc[row])}"
        found.mostly_numbers = 2 * count > len(words)


def _why_no_classes(table: Table, column: int, are_words: np.ndarray) -> str:
    """Returns why words are hardly the names of classes: all may be numbers, or they are dates; an empty text if they may be names."""
    words = table.words(column)
    counts = words.value_counts()
    place = f"{table.path}: {table.label(column)}: expected numbers or the words of classes, got"
    if are_spelled(counts.index, table.spelling):
        return f"{place} {first_word(table, column, are_words)} (or say --targets=classes)"
    if 2 * sum(count for word, count in counts.items() if is_date(word)) > len(words):
        first = first_word(table, column, are_words, with_cause=False)
        return f"{place} dates, {first} (--label names another column, --targets=classes takes them for words)"
    return ""
