"""DataFrames in files: columns arrive as what they are, also in another version of pandas. Nothing in them is run as code."""

from __future__ import annotations

import decimal
import json
import pathlib
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from .errors import PrepError

# Files are recognized by source_files.FRAME_ENDING.
_COLUMNS = "columns.json"
_CELLS: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": "True".__eq__, "Decimal": decimal.Decimal}
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)


def write_frame(frame: pd.DataFrame, path: pathlib.Path) -> None:
    """Writes the columns of a frame, whose index is left out. Cells of other types than numbers, flags and dates become texts."""
    with zipfile.ZipFile(path, "w") as file:
        cells = [_write_column(file, place, frame.iloc[:, place]) for place in range(frame.shape[1])]
        file.writestr(_COLUMNS, json.dumps({"rows": len(frame), "names": [str(name) for name in frame.columns], "cells": cells}))


def read_frame(path: pathlib.Path) -> pd.DataFrame:
    """Reads what write_frame wrote. Raises PrepError."""
    try:
        with zipfile.ZipFile(path) as file:
            facts = json.loads(file.read(_COLUMNS))
            columns = [_read_column(file, place, cells) for place, cells in enumerate(facts["cells"])]
        frame = pd.DataFrame(dict(enumerate(columns)), index=range(facts["rows"]))
        frame.columns = pd.Index(facts["names"], dtype=object)
    except _DAMAGED as error:
        raise PrepError(f"{path}: expected a table as `skyline.prepare` writes it: {' '.join(str(error).split())}") from error
    return frame


def _write_column(file: zipfile.ZipFile, place: int, series: pd.Series) -> list[tuple[str, str]] | None:
    """Writes an array: values, or the places of a column's cells among its different ones, which are returned."""
    if isinstance(series.dtype, pd.CategoricalDtype):  # words, whatever they look like
        series = series.cat.rename_categories([str(each) for each in series.cat.categories])
    values, cells = _plain_values(series), None
    if values is None:
        known: dict[tuple[str, str], int] = {}
        values = np.full(len(series), -1, np.int64)
        for row, cell in enumerate(series.astype(object)):
            if not (cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell)):
                values[row] = known.setdefault(_text_of(cell), len(known))
        cells = list(known)
    with file.open(f"{place}.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array(entry, np.ascontiguousarray(values), allow_pickle=False)
    return cells


def _plain_values(series: pd.Series) -> np.ndarray | None:
    """Returns a column as an array of NumPy that keeps all its values, or None."""
    kind = series.dtype
    if isinstance(kind, np.dtype):
        return series.to_numpy() if kind.kind in "biufMm" else None
    if isinstance(kind, pd.SparseDtype):
        return _plain_values(series.sparse.to_dense())
    if isinstance(kind, pd.DatetimeTZDtype):
        return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if pd.api.types.is_datetime64_any_dtype(kind):  # dates of another library
        return _plain_values(pd.to_datetime(series.astype(object)))
    return series.to_numpy("f8", na_value=np.nan) if pd.api.types.is_float_dtype(kind) else None


def _read_column(file: zipfile.ZipFile, place: int, cells: list[tuple[str, str]] | None) -> pd.Series:
    with file.open(f"{place}.npy") as entry:
        values = np.lib.format.read_array(entry, allow_pickle=False)
    if cells is None:
        return pd.Series(values)
    different = np.empty(len(cells) + 1, object)  # the last stands for missing ones
    different[:-1] = [_CELLS[kind](text) for kind, text in cells]
    return pd.Series(different[values], dtype=object)


def _text_of(cell: object) -> tuple[str, str]:
    """Returns the type of a cell and its text."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    kind = type(cell).__name__
    return kind if kind in _CELLS else "str", str(cell)
