"""How a table is written as text."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import pathlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from .errors import DamagedFile, PrepError, counted
from .source_files import open_plain_or_gzip
from .spellings import SPELLINGS, Spelling, is_decimal_comma, numbers_in

LABEL_NAMES = {"label", "class", "target", "y"}
MOST_ROW_BYTES = 1 << 24

_SAMPLE_BYTES = 1 << 18
_ROWS_LOOKED_AT = 100
_THOUSANDS_BY_POINT = re.compile(r"[-+]?(0|[1-9][0-9]{0,2}(?P<end>\.[0-9]{3})?)")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+", re.ASCII)


@dataclass
class Dialect:
    """How a CSV file is written."""

    separator: str
    encoding: str
    decimal: str = "."
    skipped_lines: int = 0  # before the names: `sep=;`, or comments
    has_names: bool = True
    names: list[str] = field(default_factory=list)
    ends_empty: bool = False  # each row ends with a separator
    comments: int = 0  # lines at the start
    padded: set[int] = field(default_factory=set)  # columns of digits, some with zeros before them
    thousands: set[int] = field(default_factory=set)  # columns of whole numbers, if their points stand between thousands

    @contextlib.contextmanager
    def open(self, path: pathlib.Path) -> Iterator[IO[str]]:
        """Opens the text at the first line of the table. Bytes that are not UTF-8 become surrogates."""
        with open_plain_or_gzip(path) as stream, io.TextIOWrapper(stream, self.encoding, "surrogateescape", newline="") as file:
            for _ in range(self.skipped_lines):
                file.readline()
            yield file

    def rows(self, path: pathlib.Path) -> Iterator[tuple[int, list[str]]]:
        """Yields the rows of the text, names too, each with the number of its first line."""
        with self.open(path) as file:
            reader = csv.reader(file, delimiter=self.separator, skipinitialspace=True)
            begin = 1 + self.skipped_lines
            for cells in reader:
                if self.separator == " " and cells and not cells[-1]:
                    cells.pop()
                if _is_row(cells):
                    yield begin, cells
                begin = reader.line_num + 1 + self.skipped_lines

    def skip_names(self, file: IO[str]) -> None:
        """Passes over the row of names, and empty lines before it."""
        reader = csv.reader(file, delimiter=self.separator, skipinitialspace=True)
        while self.has_names and not _is_row(next(reader, ["names"])):
            pass

    def line_of(self, path: pathlib.Path, row: int) -> int:
        return next(itertools.islice(self.rows(path), row + self.has_names, None))[0]

    def text(self) -> str:
        """Says what is unusual."""
        facts = ["the text is UTF-16"] if self.encoding.startswith("utf-16") else []
        facts += [f"`{self.separator}` separates fields"] if self.separator in ";|" else []
        facts += ["numbers have decimal commas"] if self.decimal == "," else []
        facts += ["an empty last column is left out"] if self.ends_empty else []
        facts += [f"{counted(self.comments, 'line')} at the start that {'begins' if self.comments == 1 else 'begin'} with # "
                  f"{'is' if self.comments == 1 else 'are'} left out"] if self.comments else []
        return ", ".join(facts)


def _is_row(cells: list[str]) -> bool:
    """Returns whether a line has cells, rather than blanks alone."""
    return len(cells) > 1 or any(cell.strip() for cell in cells)


def is_nameless(name: str) -> bool:
    """Returns whether pandas gives such a name to a column without one."""
    return not name or name.startswith("Unnamed: ")


def find_dialect(path: pathlib.Path, numbers: str = "") -> Dialect:
    """Finds out how a file is written, from its first rows, and by the option --numbers."""
    encoding, lines = _first_lines(path)
    stated = re.fullmatch(r"sep=(.)[\r\n]*", lines[0]) if lines else None
    comments = 0 if stated else _count_comments(lines)
    lines = [line for line in (lines[1:] if stated else lines[comments:]) if line.strip()]
    separators = [stated[1]] if stated else ["\t", ";", ",", "|", " "]
    by_separator = {each: _split(lines, each) for each in separators}
    separator = next((each for each, rows in by_separator.items() if _is_even(rows)),
                     next((each for each, rows in by_separator.items() if each != " " and _usual_width(rows)),
                          next((each for each, rows in by_separator.items() if rows and len(rows[0]) > 1 and len(rows[-1]) > 1), ",")))
    rows = by_separator.get(separator) or _split(lines, separator)
    if not rows:
        raise DamagedFile(f"{path}: the file is empty")
    dialect = Dialect(separator, encoding, SPELLINGS[numbers].decimal if numbers else _decimal_sign(rows), 1 if stated else comments,
                      comments=comments)
    if len(rows[0]) == 1 < _usual_width(rows):
        raise PrepError(f"{path}:{next(dialect.rows(path))[0]}: expected {_usual_width(rows)} columns as below, got 1: leave out what is "
                        "above the table")
    _find_empty_end(dialect, rows)
    first = [unicodedata.normalize("NFC", cell.strip()) for cell in rows[0]]
    dialect.names = first[:-1] if dialect.ends_empty and not first[-1] else first
    looked_at = _split(lines, separator, len(lines))
    dialect.padded = _padded_columns(looked_at)
    dialect.thousands = _columns_of_thousands(looked_at) if separator == ";" and dialect.decimal == "." and not numbers else set()
    dialect.has_names = _are_names(dialect.names, rows, dialect.decimal)
    if not dialect.has_names:
        dialect.names = [str(number + 1) for number in range(len(dialect.names))]
    return dialect


def _first_lines(path: pathlib.Path) -> tuple[str, list[str]]:
    """Returns the encoding and the first whole lines: at least two, if the file has as many."""
    with open_plain_or_gzip(path) as file:
        start, has_more = b"", True
        while has_more and len(start) < 2 * MOST_ROW_BYTES and (len(start) < _SAMPLE_BYTES or len(start.splitlines()) < 3):
            more = file.read(max(_SAMPLE_BYTES, len(start)))
            start, has_more = start + more, bool(more)
    is_utf16 = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    if b"\0" in start and not is_utf16:
        raise DamagedFile(f"{path}: neither text (CSV), nor another format that is read: Parquet, Feather, Excel, npz, npy, HDF5, MATLAB 7.3, "
                        "IDX")
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", start.decode(encoding, "surrogateescape" if not is_utf16 else "ignore"))
    if has_more:
        lines = lines[:-1]
    if any(len(line) > MOST_ROW_BYTES for line in lines) or not lines and has_more:
        raise PrepError(f"{path}:1: a line of more than {MOST_ROW_BYTES} bytes")
    return encoding, lines


def _count_comments(lines: list[str]) -> int:
    """Returns how many lines at the start begin with # and are no row: NumPy begins the names so."""
    comments = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if comments == len(lines):
        return 0
    separators = [each for each in "\t;,|" if each in lines[comments]] or [" "]
    is_row = comments and all(lines[comments - 1].count(each) == lines[comments].count(each) for each in separators)
    return comments - 1 if is_row else comments


def _split(lines: list[str], separator: str, most_rows: int = _ROWS_LOOKED_AT) -> list[list[str]]:
    try:
        rows = [row for row in itertools.islice(csv.reader(lines, delimiter=separator, skipinitialspace=True), most_rows) if row]
    except csv.Error:
        return []
    return [row[:-1] if separator == " " and not row[-1] else row for row in rows]


def _padded_columns(rows: list[list[str]]) -> set[int]:
    """Returns the columns that have numbers such as 01234, and nothing but digits below the names."""
    columns = enumerate(itertools.zip_longest(*rows[1:], fillvalue=""))
    return {place for place, cells in columns if any(len(cell) > 1 and cell[0] == "0" and cell.isdecimal() for cell in cells)
            and all(not cell or cell.isdecimal() for cell in map(str.strip, cells))}


def _columns_of_thousands(rows: list[list[str]]) -> set[int]:
    """Returns the columns that have 999 and 1.234, and nothing else below the names."""
    columns = enumerate(itertools.zip_longest(*rows[1:], fillvalue=""))
    found = {place: [_THOUSANDS_BY_POINT.fullmatch(cell.strip()) for cell in cells if cell.strip()] for place, cells in columns}
    return {place for place, cells in found.items()
            if all(cells) and {bool(cell["end"]) for cell in cells if cell} == {True, False}}


def _is_even(rows: list[list[str]]) -> bool:
    """Returns whether all rows have as many fields as the first; the last may be empty."""
    width = len(rows[0]) if rows else 0
    return width > 1 and all(len(row) == width or (len(row) == width + 1 and not row[-1]) for row in rows)


def _usual_width(rows: list[list[str]]) -> int:
    """Returns the number of fields that most rows have if it is above 2: in a single column, a comma may be a decimal one; else 0."""
    width, count = next(iter(Counter(map(len, rows)).most_common(1)), (0, 0))
    return width if width > 2 and 2 * count > len(rows) else 0


def _decimal_sign(rows: list[list[str]]) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    commas = any(map(is_decimal_comma, cells))
    return "," if commas and not any(map(_DECIMAL_POINT.fullmatch, cells)) else "."


def _find_empty_end(dialect: Dialect, rows: list[list[str]]) -> None:
    """Finds out whether each row ends with a separator."""
    def ends_empty(row: list[str]) -> bool:
        return len(row) > 2 and not row[-1].strip()

    dialect.ends_empty = (len(rows) > 1 and dialect.separator != " " and all(map(ends_empty, rows[1:]))
                          and (ends_empty(rows[0]) or len(rows[1]) == len(rows[0]) + 1))


def _are_names(first: list[str], rows: list[list[str]], decimal: str) -> bool:
    """Returns whether the first row has names: no numbers, 0, 1, 2 ..., the label's name, or words above numbers."""
    def is_number(cell: str) -> bool:
        return not np.isnan(numbers_in([cell], Spelling(decimal))[0])

    numbers = [cell for cell in first if is_number(cell)]
    others = [cell for place, cell in enumerate(first) if not is_number(cell) and (place > 0 or not is_nameless(cell))]
    counts = numbers == [str(number) for number in range(len(numbers))] and len(first) > 2 and len(others) <= 1
    if not numbers or counts or LABEL_NAMES & {cell.lower() for cell in first}:
        return True
    if len(rows) < 2 or len(rows[1]) != len(rows[0]):
        return False
    return any(len(above) > 1 and not is_number(above) and is_number(below) for above, below in zip(first, rows[1]))
