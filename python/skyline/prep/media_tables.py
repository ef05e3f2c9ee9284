"""Tables of files and their classes, beside images and sounds."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import PrepError, counted
from .media_folder import MediaFolder, files_in, in_one_form
from .media_groups import is_column
from .source_files import open_plain_or_gzip
from .wording import in_quotes, printable, quoted_list

if TYPE_CHECKING:  # reading a table takes pandas, which folders do without
    from .table_files import Table


@dataclass
class Labelled:
    """A file with its class, and with its group where a column has it."""

    path: str
    name: str  # name of its class
    row: int = 0
    group: str = ""
    table: Table | None = None

    @property
    def location(self) -> str:
        """The place where the class is said."""
        return self.table.location(self.row) if self.table else self.path


def rows_of(path: str, place: str, options: argparse.Namespace, found: MediaFolder) -> Iterator[Labelled]:
    """Yields the files below a place that the rows of a table name."""
    table = _read_table(pathlib.Path(path))
    names = _Names(files_in(place), place)
    of_files = max(range(len(table.names)), key=lambda column: names.count(table, column))
    if not names.count(table, of_files):
        raise PrepError(f"{path}: no column names files below {place}, e.g. {in_quotes(table.words(0).iloc[0])} is none")
    groups = _groups_of(table, options)
    classes, source = _classes_of(table, {of_files, *(() if groups is None else [groups])}, options)
    found.notes += [*table.notes, f"{path}: files by {table.label(of_files)}, classes by {source} (--labels, --label)"]
    without_file, without_class = [], []
    of_rows = table.categories(groups) if groups is not None else itertools.repeat("")
    for row, (name, label, group) in enumerate(zip(table.words(of_files), classes, of_rows)):
        file = names.find(name)
        if file is None:
            without_file.append(name)
        elif not label:
            without_class.append(name)
        else:
            if groups is not None and table.reading.is_missing(group):
                raise PrepError(f"{table.location(row)}: {table.label(groups)}: the group is missing")
            yield Labelled(file, in_one_form(label), row, group, table)
    for rows, what in ((without_file, "name no file"), (without_class, "have no class")):
        if rows:
            found.doubts.append(f"{path}: {len(rows)} of {counted(len(table), 'row')} {what}, e.g. that of {in_quotes(printable(rows[0]))}")


def _read_table(path: pathlib.Path) -> Table:
    """Reads a table, or lines of JSON as Hugging Face has them. Raises PrepError."""
    from .table_files import read_table, table_of

    if path.suffix != ".jsonl":
        return read_table(path)
    import pandas as pd

    rows = []
    with open_plain_or_gzip(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                rows.append({str(key): value for key, value in json.loads(line).items()})
            except (ValueError, AttributeError, RecursionError) as error:
                raise PrepError(f"{path}:{number}: expected an object of JSON, as Hugging Face's metadata.jsonl has on each line") from error
    if not rows:
        raise PrepError(f"{path}: the file is empty")
    return table_of(pd.DataFrame(rows, dtype=object), path, first_row=1)


class _Names:
    """Finds files by their paths below a folder, or by their names alone, with or without the ending."""

    def __init__(self, files: Iterable[str], place: str) -> None:
        self._files: dict[str, list[str]] = {}
        for path in files:
            below = in_one_form(os.path.relpath(path, place))
            name = os.path.basename(below)
            for form in {below, name, os.path.splitext(name)[0]}:
                self._files.setdefault(form, []).append(path)

    def find(self, name: str) -> str | None:
        found = self._all(name)
        if len(found) > 1:
            raise PrepError(f"{found[0]} and {found[1]}: {in_quotes(printable(name))} may be either: write paths into the table")
        return found[0] if found else None

    def count(self, table: Table, column: int) -> int:
        """Returns how many files the cells of a column name."""
        return len({found[0] for word in table.words(column) if (found := self._all(word))})

    def _all(self, name: str) -> list[str]:
        path = os.path.normpath(in_one_form(name).replace("\\", "/")) if name else ""
        return self._files.get(path) or self._files.get(os.path.basename(path)) or []


def _groups_of(table: Table, options: argparse.Namespace) -> int | None:
    """Returns the column of the groups, if the option names one."""
    from .table_columns import one_column

    return one_column(table, options.group, "group") if is_column(options.group) else None


def _classes_of(table: Table, taken: set[int], options: argparse.Namespace) -> tuple[Iterable[str], str]:
    """Returns the class of each row, and the columns that have them: one, or one of 0 and 1 for each class."""
    from .table_columns import one_column
    from .table_dialect import LABEL_NAMES

    chosen = one_column(table, options.label, "label")
    others = [column for column in range(len(table.names)) if column not in taken]
    if not others:
        raise PrepError(f"{table.names_location()}: expected a column with the classes beside that of the files")
    named = [column for column in others if table.names[column].lower() in LABEL_NAMES]
    if chosen is None and (len(others) == 1 or len(named) == 1):
        chosen = (named or others)[0]
    if chosen is not None:
        return table.categories(chosen), table.label(chosen)
    shares = [table.numbers(column).values for column in others]
    if all(((share == 0) | (share == 1)).all() for share in shares) and (sum(shares) == 1).all():
        places = [row.index(1) for row in zip(*(share.tolist() for share in shares))]
        return [table.names[others[place]] for place in places], f"the 1 in one of {len(others)} columns"
    raise PrepError(f"{table.names_location()}: which column has the classes? Name it by --label: "
                    f"{quoted_list([table.names[each] for each in others])}")
