"""Formats of tables besides CSV: those that pandas reads, and those that are named with the way out."""

from __future__ import annotations

import pathlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from .errors import DamagedFile, PrepError
from .frame_files import read_frame
from .source_files import FRAME_ENDING
from .wording import quoted_list


@dataclass(frozen=True)
class BinaryFormat:
    """A format with types, which a library reads for pandas."""

    name: str
    read: Callable[[pathlib.Path], tuple[pd.DataFrame, list[str]]]  # the table, and what may be wrong
    needs: str  # package
    first_row: int = 0  # number of the first row in messages
    unpacked: int = 2  # bytes in memory of a byte of the file, or of the files in it, about

    def memory_bytes(self, path: pathlib.Path) -> int:
        """Returns the bytes of memory that a file needs, about."""
        if not zipfile.is_zipfile(path):
            return path.stat().st_size * self.unpacked
        with zipfile.ZipFile(path) as archive:
            return sum(entry.file_size for entry in archive.infolist()) * self.unpacked


def _read_excel(path: pathlib.Path) -> tuple[pd.DataFrame, list[str]]:
    with pd.ExcelFile(path) as file:
        frame = pd.read_excel(file, dtype=object, keep_default_na=False, na_values=[""])
        sheets = file.sheet_names
    others = quoted_list([str(name) for name in sheets[1:]])
    return frame, [f"the first of {len(sheets)} sheets is read, not {others}: save another as CSV"] if len(sheets) > 1 else []


_PARQUET = BinaryFormat("Parquet", lambda path: (pd.read_parquet(path), []), "pyarrow", unpacked=8)
_FEATHER = BinaryFormat("Feather", lambda path: (pd.read_feather(path), []), "pyarrow", unpacked=4)
_EXCEL = BinaryFormat("Excel", _read_excel, "openpyxl", 2, 5)
_FRAME = BinaryFormat("a DataFrame", lambda path: (read_frame(path), []), "pandas")
_BINARY = {b"PAR1": _PARQUET, b"ARROW1": _FEATHER, b"FEA1": _FEATHER}

# Beginnings of files, and what to do with them.
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an Excel file of before 2007: save it as .xlsx or CSV",
    b"BZh": "a bzip2 file: unpack it by bunzip2",
    b"\xfd7zXZ": "an xz file: unpack it by unxz",
    b"\x28\xb5\x2f\xfd": "a zstd file: unpack it by unzstd",
    b"7z\xbc\xaf": "a 7z archive: unpack it, and give the table in it",
    b"SQLite format 3": "a database of SQLite: save a table by `sqlite3 -header -csv FILE 'select * from TABLE' > table.csv`",
    b"$FL2": "a file of SPSS: save it as CSV",
    b"<stata_dta>": "a file of Stata: save it as CSV",
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself: get it by `git lfs pull`",
    b"%PDF": "a PDF file: save the table as CSV",
    b"{\\rtf": "an RTF text: save the table as CSV",
}
_HOW_TO_SAVE = "load it in Python, and save it by DataFrame.to_csv(\"table.csv\", index=False)"


def binary_format(path: pathlib.Path, start: bytes) -> BinaryFormat | None:
    """Returns the format of a file with types by its first bytes, or None for a text. Raises PrepError for one that is not read."""
    for mark, known in _BINARY.items():
        if start.startswith(mark):
            return known
    if start.startswith(b"PK\3\4"):
        return _FRAME if path.name.endswith(FRAME_ENDING) else _in_zip(path)
    for mark, way in _FOREIGN.items():
        if start.startswith(mark):
            raise PrepError(f"{path}: {way}")
    _refuse_other_texts(path, start)
    return None


def _in_zip(path: pathlib.Path) -> BinaryFormat:
    """Returns the format of a zip archive that is one file for people."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DamagedFile(f"{path}: damaged or truncated zip archive") from error
    if "xl/workbook.xml" in names:
        return _EXCEL
    if "xl/workbook.bin" in names or "content.xml" in names:
        raise PrepError(f"{path}: a spreadsheet that is not read: save it as .xlsx or CSV")
    raise PrepError(f"{path}: a zip archive: unpack it by unzip, and give the tables or the folder in it")


def _refuse_other_texts(path: pathlib.Path, start: bytes) -> None:
    """Refuses texts with rules of their own."""
    text = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    if any(line.lower().startswith("@relation") for line in lines[:20]) or (first.startswith("%") and "@attribute" in text.lower()):
        raise PrepError(f"{path}: an ARFF file: {_HOW_TO_SAVE} (scipy.io.arff.loadarff reads it)")
    if len(lines) > 1 and all(map(_is_sparse, lines[:-1])):
        raise PrepError(f"{path}: a file of svmlight: save it by numpy.savez(\"set.npz\", x_train=..., y_train=...) "
                        "(sklearn.datasets.load_svmlight_file reads it)")
    if first[:1] in ("{", "[") and ":" in text:
        raise PrepError(f"{path}: JSON: {_HOW_TO_SAVE} (pandas.read_json reads it)")
    if first.lower().startswith(("<!doctype", "<html", "<?xml")):
        raise PrepError(f"{path}: a page of HTML or XML, not a table: was it downloaded from a page that asks for something first?")


def _is_sparse(line: str) -> bool:
    """Returns whether a line is a label and pairs of a place and a number: `1 3:0.5 7:1`."""
    fields = line.split("#")[0].split()
    pairs = [field.split(":") for field in fields[1:]]
    return bool(pairs) and all(len(pair) == 2 and (pair[0].isdecimal() or pair[0] == "qid") for pair in pairs)
