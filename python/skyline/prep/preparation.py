"""How the rows of a table become samples: learned from the training rows (table_survey.py), and done again with new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from .dates import date_number
from .errors import PrepError, counted
from .spellings import SPELLINGS
from .table_cells import Reading
from .table_files import Table
from .targets import Target
from .wording import printable

FLOAT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Feature:
    """One value of a sample, made from a column (docs/internals/files.md)."""

    column: str
    subtract: float = 0.0
    missing: float | None = None  # stands for a missing number
    is_missing: bool = False
    is_word: str | None = None
    is_not: tuple[str, ...] = ()
    date: str = ""  # which number of a date: `days`, `year`, `month`, `weekday` or `hour`
    order: str = ""  # in which year, month and day are written: `ymd`, `dmy` or `mdy`
    range: tuple[float, float] | None = None  # least and largest value in training samples (ranges.py)

    @property
    def is_category(self) -> bool:
        return self.is_word is not None or bool(self.is_not)


@dataclass
class Preparation:
    features: list[Feature]
    targets: list[Target] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    id: str = ""
    has_names: bool = True
    reading: Reading = Reading()

    def to_json(self) -> str:
        names = {"is_word": "is"}
        default = asdict(Feature(""))
        features = [{names.get(key, key): value for key, value in asdict(each).items()
                     if key == "column" or value != default[key]} for each in self.features]
        targets = [{"column": each.column} | ({} if each == Target(each.column) else {"mean": each.mean, "deviation": each.deviation})
                   | ({"transform": each.transform} if each.transform else {}) for each in self.targets]
        root = {"has_names": self.has_names, "features": features, "targets": targets}
        root |= {"left_out": self.left_out} if self.left_out else {}
        root |= {"id": self.id} if self.id else {}
        root |= {key: value for key, value in asdict(self.reading).items() if value}
        return json.dumps(root, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Preparation:
        try:
            root = json.loads(text)
            features = [Feature(is_word=node.pop("is", None), is_not=tuple(node.pop("is_not", ())), **node) for node in root["features"]]
            targets = [Target(**node) for node in root.get("targets", [])]
            is_known = root.get("numbers", "") in ("", *SPELLINGS)
            if isinstance(root["has_names"], bool) and is_known and all(each.deviation > 0 for each in targets):
                reading = Reading(root.get("numbers", ""), *(tuple(root.get(key, ())) for key in ("missing_words", "missing_values")))
                return Preparation(features, targets, root.get("left_out", []), root.get("id", ""), root["has_names"], reading)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise PrepError(f"expected a preparation as `skyline prep` writes it, got {printable(text[:60])}")

    @property
    def is_plain(self) -> bool:
        """Returns whether all values are numbers as they are written."""
        return all(each == Feature(each.column) for each in self.features)


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
