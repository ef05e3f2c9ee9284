"""Tables from files: CSV in the forms that programs write it, Parquet, Feather and Excel."""

from __future__ import annotations

import csv
import itertools
import numbers
import os
import pathlib
import resource
import sys
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pandas as pd

from .dates import days_in, days_of
from .errors import DamagedFile, PrepError, counted
from .options import shortened
from .preparation import Reading
from .source_files import open_plain_or_gzip
from .spellings import FIRST_INEXACT, SPELLINGS, Spelling, are_spelled
from .table_cells import Numbers, as_categories, as_numbers, as_words, missing_forms
from .table_dialect import MOST_ROW_BYTES, Dialect, find_dialect, is_nameless
from .table_formats import BinaryFormat, binary_format
from .wording import in_quotes, printable

_MISSING_CELLS = missing_forms()
_START_BYTES = 4096
# Numbers are read exactly, as pandas does by itself since 3.1.
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
_CHECKED_BYTES = 1 << 26
_MEMORY_OF_BYTE = 6  # bytes of memory that a byte of text takes
csv.field_size_limit(MOST_ROW_BYTES)


@dataclass
class Table:
    """The cells of a table. Columns are known by their places, since names may be missing or empty."""

    frame: pd.DataFrame  # columns 0, 1, ...
    names: list[str]  # numbers from 1 if the table has none
    path: pathlib.Path
    has_names: bool = True
    dialect: Dialect | None = None  # None: the types are known
    first_row: int = 0  # number of the first row in messages
    reading: Reading = Reading()
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def name(self) -> str:
        return self.path.name

    def label(self, column: int) -> str:
        """Returns the name of a column in quotes, or "column 3"."""
        name = self.names[column]
        return in_quotes(name) if self.has_names and name else f"column {column + 1}"

    def where(self, row: int) -> str:
        """Returns "line 57" for texts, else "row 56"."""
        return f"line {self.dialect.line_of(self.path, row)}" if self.dialect else f"row {row + self.first_row}"

    def location(self, row: int) -> str:
        """Returns FILE:LINE for texts."""
        return f"{self.path}:{self.dialect.line_of(self.path, row)}" if self.dialect else f"{self.path}: {self.where(row)}"

    def missing_text(self, missing: np.ndarray) -> str:
        """Says how many cells of a column are missing, where --missing=refuse is given."""
        count = int(missing.sum())
        return f": {counted(count, 'value')} missing, the first in {self.where(int(np.argmax(missing)))}: --missing=median fills them in"

    def names_location(self) -> str:
        """Returns the place of the names."""
        return f"{self.path}:{next(self.dialect.rows(self.path))[0]}" if self.dialect else str(self.path)

    def numbers(self, column: int, flags: bool = True) -> Numbers:
        return as_numbers(self.frame[column], self.spelling, self.reading, flags)

    @property
    def spelling(self) -> Spelling:
        """How numbers are written."""
        return SPELLINGS[self.reading.numbers] if self.reading.numbers else Spelling(self.dialect.decimal if self.dialect else ".")

    def words(self, column: int) -> pd.Series:
        """Returns the cells of a column as they are written, without blanks at their ends."""
        if self.dialect and pd.api.types.is_numeric_dtype(self.frame[column]):
            self.frame[column] = _tokenize(self.path, self.dialect, usecols=[column], dtype=str)[column]
        return as_words(self.frame[column])

    def has_typed_dates(self, column: int) -> bool:
        return pd.api.types.is_datetime64_any_dtype(self.frame[column])

    def days(self, column: int, order: str) -> Numbers:
        """Returns the dates of a column as days since 1970. Texts have year, month and day in this order."""
        cells = self.frame[column]
        if self.has_typed_dates(column):
            times = cells if cells.dt.tz is None else cells.dt.tz_convert("UTC").dt.tz_localize(None)
            return Numbers(days_of(times.to_numpy("datetime64[us]")), np.zeros(len(cells), bool))
        places, texts = pd.factorize(self.words(column))
        days, missing = days_in(texts, order), np.array([self.reading.is_missing(text) for text in texts])
        return Numbers(days[places], (np.isnan(days) & ~missing)[places])

    def categories(self, column: int) -> pd.Series:
        return as_categories(self.words(column))

    def has_typed_words(self, column: int) -> bool:
        """Returns whether a column has words by its type, whatever they look like: zip codes; but not numbers that --numbers reads."""
        if self.dialect or pd.api.types.infer_dtype(self.frame[column], skipna=True) not in ("string", "categorical"):
            return False
        return not self.reading.numbers or not are_spelled(self.words(column).unique(), Spelling())


def table_of(frame: pd.DataFrame, path: pathlib.Path, first_row: int = 0) -> Table:
    """Returns a table whose types are known."""
    names = ["" if pd.isna(name) else unicodedata.normalize("NFC", str(name).strip()) for name in frame.columns]
    cells = {column: _without_objects(frame.iloc[:, column]) for column in range(len(names))}
    return Table(pd.DataFrame(cells), names, path, first_row=first_row)


def _without_objects(cells: pd.Series) -> pd.Series:
    """Writes lists, times and the like of a column as texts."""
    if not pd.api.types.is_object_dtype(cells):
        return cells
    def plain(cell: object) -> object:
        return cell if isinstance(cell, (str, numbers.Number)) or any(cell is gap for gap in (None, pd.NA, pd.NaT)) else str(cell)

    return cells.map(plain)


def read_table(path: pathlib.Path, reading: Reading = Reading(), unneeded: Callable[[Table], Collection[int]] = lambda _: ()) -> Table:
    """Reads a table. Where memory is short, columns that are `unneeded` in a table of these names are passed over. Raises PrepError."""
    with open_plain_or_gzip(path) as file:
        start = file.read(_START_BYTES)
    if not start:
        raise DamagedFile(f"{path}: the file is empty")
    known = binary_format(path, start)
    table = _read_binary(path, known) if known else _read_text(path, reading.numbers, unneeded)
    table.reading = reading
    _check_names(table)
    return table


def available_bytes() -> float:
    """Returns the bytes that this process may still take: of the machine, and below its limits. The program tells that of control groups;
    without the program they are not known."""
    with open("/proc/self/statm", encoding="ascii") as file:
        addresses, resident = (int(pages) * resource.getpagesize() for pages in file.read().split()[:2])
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    of_process = float("inf") if limit == resource.RLIM_INFINITY else limit - addresses
    told = os.environ.get("SKYLINE_PREP_MEMORY_BYTES")
    return min(of_process, int(told) - resident if told else float("inf"), _free_bytes())


def _free_bytes() -> float:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return float("inf")


def _check_memory(path: pathlib.Path, need: float) -> None:
    """Refuses a table that needs more bytes of memory than there are, before they are taken."""
    available = available_bytes()
    if need > available:
        raise PrepError(f"{path}: needs about {need / 2**30:.3g} GiB of memory, and {available / 2**30:.3g} GiB are left: "
                        "leave out columns by --drop, or save it as Parquet with float32 columns")


def _read_binary(path: pathlib.Path, known: BinaryFormat) -> Table:
    _check_memory(path, known.memory_bytes(path))
    try:
        frame, notes = known.read(path)
    except ImportError as error:
        raise PrepError(f"{path}: {known.name} needs {known.needs}: {sys.executable} -m pip install {known.needs}, or save the table as CSV") from error
    except PrepError:
        raise
    except Exception as error:  # whatever a library raises for a damaged file
        raise DamagedFile(f"{path}: cannot be read as {known.name}: {shortened(_one_line(error))}") from error
    if not len(frame):
        raise DamagedFile(f"{path}: no rows after the names of the columns")
    if not isinstance(frame.index, pd.RangeIndex):  # pandas keeps an index that was saved beside the columns
        frame = frame.reset_index(names=[name or "" for name in frame.index.names])
    table = table_of(frame, path, known.first_row)
    table.notes += [f"check: {path.name}: {line}" for line in notes]
    return table


def _read_text(path: pathlib.Path, spelled: str, unneeded: Callable[[Table], Collection[int]]) -> Table:
    dialect = None
    try:
        dialect = find_dialect(path, spelled)
        table = Table(pd.DataFrame(), dialect.names, path, dialect.has_names, dialect)
        left_out = _short_of_memory(table, unneeded)
        table.frame = _parse(path, dialect, left_out)
        last = table.frame[len(dialect.names) - 1]
        if not len(table):
            raise DamagedFile(f"{path}: no rows after the names of the columns")
        if left_out or last.isna().any() or (last.astype(str) == "").any():  # pandas fills up rows with too few fields
            _check_widths(path, dialect)
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        if dialect:
            _check_widths(path, dialect)
        raise DamagedFile(f"{path}: {_one_line(error)}") from error
    except UnicodeError as error:
        raise DamagedFile(f"{path}: damaged or truncated text: save the table as UTF-8") from error
    if dialect.text():
        table.notes.append(f"{path.name}: {dialect.text()}")
    return table


def _short_of_memory(table: Table, unneeded: Callable[[Table], Collection[int]]) -> set[int]:
    """Returns columns to pass over because memory is short. The last one, which tells short rows, is none of them."""
    size = table.path.stat().st_size
    if size * _MEMORY_OF_BYTE <= available_bytes():
        return set()
    left_out = {*unneeded(table)} - {len(table.names) - 1}
    _check_memory(table.path, size * _MEMORY_OF_BYTE * (1 - len(left_out) / len(table.names)))
    return left_out


def _parse(path: pathlib.Path, dialect: Dialect, left_out: Collection[int]) -> pd.DataFrame:
    """Reads columns. Where numbers may be others than in the text, the text is kept."""
    places = [place for place in range(len(dialect.names)) if place not in left_out]
    chosen = {"usecols": places} if left_out else {}
    frame = _tokenize(path, dialect, na_values={place: _MISSING_CELLS for place in places}, **chosen)[places]
    doubtful = [place for place in places if _is_doubtful(frame[place])]
    if doubtful:
        frame[doubtful] = _tokenize(path, dialect, usecols=doubtful, dtype=str)
    return frame


def _is_doubtful(cells: pd.Series) -> bool:
    """Returns whether pandas may have changed a cell: NA as a word, TRUE, infinite or inexact numbers."""
    if pd.api.types.is_bool_dtype(cells):
        return True
    if pd.api.types.is_numeric_dtype(cells):
        values = cells.to_numpy()
        return max(float(np.fmax.reduce(values, initial=0)), -float(np.fmin.reduce(values, initial=0))) >= FIRST_INEXACT
    return bool(cells.isna().any())


def _tokenize(path: pathlib.Path, dialect: Dialect, **more: Any) -> pd.DataFrame:
    """Splits a text into cells by pandas."""
    with dialect.open(path) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # fields that would be dropped
        dialect.skip_names(file)
        return pd.read_csv(_Text(path, file), sep=r"\s+" if dialect.separator == " " else dialect.separator, header=None,
                           names=list(range(len(dialect.names) + dialect.ends_empty)), decimal=dialect.decimal,
                           skipinitialspace=True, keep_default_na=False, low_memory=False, index_col=False,
                           encoding_errors="surrogateescape", **_EXACT, **more)


class _Text:
    """A text as pandas reads it, which would end a cell at a NUL."""

    def __init__(self, path: pathlib.Path, file: IO[str]) -> None:
        self._path, self._file = path, file
        self._size, self._checked = 0, 0

    def read(self, size: int = -1) -> str:
        text = self._file.read(size)
        self._size += len(text)
        if self._size > self._checked + _CHECKED_BYTES:  # a packed file does not say how large it is
            self._checked = self._size
            _check_memory(self._path, _CHECKED_BYTES * _MEMORY_OF_BYTE)
        if "\0" in text:
            raise DamagedFile(f"{self._path}: a NUL in the text: expected a table as text (CSV)")
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)


def _check_widths(path: pathlib.Path, dialect: Dialect) -> None:
    """Refuses rows with too few or too many fields, and quotes that never end."""
    width, line = len(dialect.names), 0
    for line, cells in dialect.rows(path):
        if not width <= len(cells) <= width + dialect.ends_empty:
            _check_end(path, dialect, line)
            raise DamagedFile(f"{path}:{line}: expected {counted(width, 'column')}, got {len(cells)}")
    _check_end(path, dialect, line)


def _check_end(path: pathlib.Path, dialect: Dialect, line: int) -> None:
    """Refuses a row, which begins at a line, for a quote without an end."""
    with dialect.open(path) as file:
        reader = csv.reader(itertools.islice(file, line - 1 - dialect.skipped_lines, None), delimiter=dialect.separator,
                            skipinitialspace=True, strict=True)
        try:
            next(reader, None)
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise DamagedFile(f"{path}:{line}: a quote that begins in this row never ends") from error


def _check_names(table: Table) -> None:
    known: set[str] = set()
    for column, name in enumerate(table.names):
        if printable(name, "\n\r\t") != name:
            raise PrepError(f"{table.names_location()}: column {column + 1}: its name is not UTF-8, or has control characters: "
                            "save the table as UTF-8")
        if name in known and not is_nameless(name):
            raise PrepError(f"{table.names_location()}: two columns are called {in_quotes(name)}")
        known.add(name)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
