"""How the columns of a training table become features."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .centres import find_centre
from .date_columns import learn_dates, chosen_dates
from .dates import is_date, possible_orders
from .errors import PrepError, counted
from .preparation import Feature
from .spellings import cause_of, numbers_in, proposal
from .table_cells import Numbers, is_number_like
from .table_columns import Columns, columns_in
from .table_dialect import is_nameless
from .table_files import Table
from .table_samples import FLOAT_MAX
from .wording import in_quotes, names_alike, number_text, printable, quoted_list

_FEW_ROWS = 20
_MOST_TOLD = 20  # lines of a kind, which are one for each column
_MOST_WORDS = 1 << 16
_MOST_JUDGED = 1 << 23  # numbers of all columns by which merged floats are found


@dataclass
class Survey:
    """Looks at the columns of a table, and learns features from its training rows."""

    table: Table
    columns: Columns
    trained: np.ndarray  # which rows are training samples
    options: argparse.Namespace
    features: list[Feature] = field(default_factory=list)
    feature_columns: list[int] = field(default_factory=list)  # column of each feature
    problems: dict[int, str] = field(default_factory=dict)  # the column of each is its key
    _told: Counter[str] = field(default_factory=Counter)  # lines of each kind

    def learn(self) -> None:
        """Finds the features. Columns that tell nothing are left out. Raises PrepError for all that cannot be read at once."""
        categories = columns_in(self.table, self.options.categories, "categories")
        dates = chosen_dates(self.table, self.options.dates)
        for column in self.columns.features:
            if column in dates:
                self._describe_dates(column, dates[column])
            else:
                self._describe(column, column in categories)
        for kind, count in self._told.items():
            if count > _MOST_TOLD:
                self._note(f"{counted(count - _MOST_TOLD, 'more column')} with {kind}")
        self._tell_padded({*categories, *dates})
        self._tell_thousands()
        if self.problems:
            names = [self.table.names[column] for column in self.problems if self.table.names[column]]
            advice = f" (--drop={','.join(names)} leaves {'it' if len(names) == 1 else 'them'} out)" if names else ""
            raise PrepError(f"{self.table.path}: {'; '.join(self.problems.values())}{advice}")
        if not self.features:
            raise PrepError(f"{self.table.path}: no column is left for features")

    def _note(self, line: str) -> None:
        self.table.notes.append(line)

    def _note_of(self, kind: str, line: str) -> None:
        """Notes a line about a column, unless there are many of its kind."""
        self._told[kind] += 1
        if self._told[kind] <= _MOST_TOLD:
            self._note(line)

    def _add(self, column: int, *features: Feature) -> None:
        self.features += features
        self.feature_columns += [column] * len(features)

    def _leave_out(self, column: int, reason: str) -> None:
        self.columns.left_out.append(column)
        self._note_of("nothing that can be learned, which are left out", f"{self.table.label(column)}{reason}")

    def _refuse(self, column: int, problem: str) -> None:
        self.problems[column] = f"{self.table.label(column)}{problem}"

    def _describe(self, column: int, is_category: bool) -> None:
        rows = len(self.table)
        is_words = is_category or self.table.has_typed_words(column)
        if self.table.has_typed_dates(column):
            return self._refuse(column, f": expected numbers or words, got dates{self._way_to_dates(column)}")
        cells = Numbers(np.full(rows, np.nan), np.ones(rows, bool)) if is_words else self.table.numbers(column)
        present = cells.values[~np.isnan(cells.values)]
        if self.table.has_names and is_nameless(self.table.names[column]):
            return self._describe_nameless(column, cells)
        if cells.missing.all():
            return self._leave_out(column, " is empty: it is left out")
        if len(present) == 0:
            return self._describe_words(column, is_category, is_words)
        if cells.are_words.any():
            return self._refuse(column, f": expected a number, got {first_word(self.table, column, cells.are_words)}"
                                + self._way_to_missing(column, cells.are_words))
        if np.isnan(cells.values[self.trained]).all():
            return self._leave_out(column, " is empty where training samples are: it is left out")
        return self._describe_numbers(column, cells, present)

    def _way_to_dates(self, column: int) -> str:
        """Names the option that reads dates; not for times of the day."""
        texts = [word for word in self.table.words(column).unique() if not self.table.reading.is_missing(word)]
        is_read = self.table.has_typed_dates(column) or possible_orders(texts)
        return f": --dates={self.table.names[column]} reads them" if is_read else ""

    def _way_to_missing(self, column: int, are_words: np.ndarray) -> str:
        """Names the option for one word without digits among numbers, which stands for missing ones."""
        words = self.table.words(column)[are_words].unique()
        is_mark = len(words) == 1 and "," not in words[0] and not any(map(str.isdigit, words[0]))
        return f": --missing-words={words[0]} takes it for missing" if is_mark else ""

    def _describe_dates(self, column: int, order: str) -> None:
        features, problem = learn_dates(self.table, column, order, self.trained, self.options.missing)
        if problem:
            return self._refuse(column, problem)
        if not features:
            return self._leave_out(column, " is empty where training samples are: it is left out")
        self._add(column, *features)
        shown = ", ".join(each.date or "is missing" for each in features)
        self._note(f"{self.table.label(column)} has dates: {shown} are features (--dates)")

    def _tell_padded(self, chosen: set[int]) -> None:
        """Tells columns of numbers with zeros before them, which may be codes."""
        padded = self.table.dialect.padded if self.table.dialect else set()
        names = [self.table.names[column] for column in self.columns.features if column in (padded - chosen) & {*self.feature_columns}]
        if names:
            self._note(f"check: {counted(len(names), 'column')} of numbers with zeros before them, as codes have: {quoted_list(names)} "
                       f"(--categories={','.join(names)} takes them for words)")

    def _tell_thousands(self) -> None:
        """Tells columns whose points may stand between thousands, as in 999 and 1.234."""
        found = self.table.dialect.thousands if self.table.dialect else set()
        names = [self.table.names[column] for column in sorted(found & {*self.feature_columns, *self.columns.targets})]
        if names:
            self._note(f"check: {counted(len(names), 'column')} of numbers whose points may stand between thousands, and are read as "
                       f"decimal points: {quoted_list(names)} (--numbers=comma reads 1.234 as 1234)")

    def _describe_nameless(self, column: int, cells: Numbers) -> None:
        if not _names_rows(cells.values):
            return self._refuse(column, " has no name: give it one")
        counts = bool((np.diff(cells.values) == 1).all())
        self._leave_out(column, (" counts the rows" if counts else " has a number for each row")
                        + " and has no name: it is left out (name it to keep it)")

    def _describe_words(self, column: int, is_chosen: bool, is_typed: bool) -> None:
        words = self.table.categories(column)
        counts = words.value_counts()
        problem = self._problem_of_words(column, words, counts, is_chosen, is_typed)
        if problem:
            return self._refuse(column, problem)
        for text in names_alike(sorted(counts.index)):
            self._note_of("words that are alike", f"check: {self.table.label(column)}: {text}, and are two words")
        trained = words[self.trained].value_counts().sort_index().sort_values(ascending=False, kind="stable")
        kept = sorted(trained.index[:self.options.most_categories])
        name = self.table.names[column]
        self._add(column, *(Feature(name, is_word=word) for word in kept))
        is_bounded = len(trained) > len(kept)
        if is_bounded:
            self._add(column, Feature(name, is_not=tuple(kept)))
        self._note_of("words", f"{self.table.label(column)} has {len(counts)} different words"
                      f"{' (empty cells are one)' if '' in counts.index else ''}: a feature for each"
                      + (f" that training samples have ({len(trained)})" if len(trained) < len(counts) else "")
                      + (f" of the {len(kept)} most frequent, and one for others" if is_bounded else "") + " (--drop, --most-categories)")

    def _problem_of_words(self, column: int, words: pd.Series, counts: pd.Series, is_chosen: bool, is_typed: bool) -> str:
        """Returns why a column cannot be read as categories; an empty text if it can."""
        missing = [] if is_chosen else [word for word in counts.index if self.table.reading.is_missing(word)]
        are_words = ~words.isin(missing).to_numpy()
        word = words.iloc[int(np.argmax(are_words))]
        if 2 * sum(count for each, count in counts.items() if is_date(each)) > len(words):
            return (f": expected numbers or words, got dates, {first_word(self.table, column, are_words, with_cause=False)}"
                    + self._way_to_dates(column))
        if word.startswith("{'bytes': b"):
            return ": expected numbers or words, got images: save them as files, a folder for each class (`skyline prep images`)"
        if any(printable(each) != each for each in counts.index):
            return ": its words are not UTF-8, or have control characters: save the table as UTF-8, e.g. by iconv -f cp1252 -t utf-8"
        spelled = "" if is_chosen else proposal(counts.index, self.table.spelling)
        if spelled or (not is_chosen and not is_typed and is_number_like(word)):
            return (f": expected a number, got {first_word(self.table, column, are_words)}"
                    + (f", and a word by --categories={self.table.names[column]}" if spelled else ""))
        if len(counts) > _MOST_WORDS or (not is_chosen and len(words) > 2 and 2 * len(counts) > len(words)):
            return (f": expected numbers or the words of some categories, got {len(counts)} different words, "
                    f"{first_word(self.table, column, are_words, with_cause=False)}"
                    + (f": --id={self.table.names[column]}, if it names the rows" if len(counts) == len(words) else "")
                    + (", or save them as numbers, not as texts" if is_typed and not np.isnan(numbers_in(counts.index)).any() else ""))
        return ""

    def _describe_numbers(self, column: int, cells: Numbers, present: np.ndarray) -> None:
        learned = cells.values[self.trained]
        learned = learned[~np.isnan(learned)]
        label, name, missing = self.table.label(column), self.table.names[column], self.options.missing
        subtract, note = find_centre(learned[:max(_MOST_JUDGED // len(self.columns.features), 1)], label, "--drop")
        if note:
            self._note(note)
        if np.abs(present - subtract).max() > FLOAT_MAX:
            return self._refuse(column, ": a number is too large for float32")
        gaps = len(cells.values) - len(present)
        if gaps and missing == "refuse":
            return self._refuse(column, self.table.missing_text(cells.missing))
        if gaps:
            stand_in = float(np.median(learned)) if missing == "median" else float(missing)
            how = "the median, " if missing == "median" else ""
            place = "" if cells.missing[self.trained].any() else (", none in a training sample, the first in "
                                                                  + self.table.where(int(np.argmax(cells.missing))))
            self._note_of("missing values", f"{label}: {counted(gaps, 'value')} missing{place}: {how}{number_text(stand_in)}, and a "
                          "feature that says so (--missing)")
            self._add(column, Feature(name, subtract, stand_in), Feature(name, is_missing=True))
        else:
            self._add(column, Feature(name, subtract))
        if len(cells.values) >= _FEW_ROWS and not gaps and self._looks_like_index(name, present):
            self._note_of("numbers that look like an index", f"check: {label} looks like an index or an id, which says nothing about new "
                          f"samples (--drop={name} or --id={name})")

    def _looks_like_index(self, name: str, numbers: np.ndarray) -> bool:
        lower = name.lower()
        is_named = self.table.has_names and (lower in ("id", "index") or lower.endswith("_id") or name.endswith(("Id", "ID")))
        if (np.diff(numbers) > 0).all():
            return True
        return (is_named or numbers.max() - numbers.min() + 1 == len(numbers)) and _names_rows(numbers)


def first_word(table: Table, column: int, are_words: np.ndarray, with_cause: bool = True) -> str:
    """Returns the first word of a column, its place, and why it may be no number: "`5 %` in line 3: a unit?"."""
    row = int(np.argmax(are_words))
    words = table.words(column)
    text = f"{in_quotes(words.iloc[row])} in {table.where(row)}"
    if not with_cause:
        return text
    if is_date(words.iloc[row]):
        return f"{text}: a date?"
    read = proposal(words[are_words].unique(), table.spelling)
    cause = cause_of(words.iloc[row])
    return f"{text}{cause}" + (f"{'' if cause else ':'} {read}" if read else "")


def _names_rows(numbers: np.ndarray) -> bool:
    """Returns whether the numbers are whole and differ from row to row."""
    return bool((numbers == np.floor(numbers)).all()) and len(np.unique(numbers)) == len(numbers)
