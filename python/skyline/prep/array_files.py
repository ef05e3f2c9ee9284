"""Arrays in files: npy, npz and IDX here, HDF5 in hdf5_arrays.py. Nothing of a file is run as code."""

from __future__ import annotations

import contextlib
import pathlib
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from .errors import PrepError
from .report import Report
from .source_array import MOST_BYTES_OF_WORDS, SourceArray, check_shape, turned
from .source_files import FRAME_ENDING, open_plain_or_gzip

_START_BYTES = 4096
_PIECE_BYTES = 1 << 24  # a file that claims more than it has takes no more memory than this
_MOST_LETTERS = 4096  # letters of a word
_MOST_ENTRIES = 1000
_HDF5 = b"\x89HDF\r\n\x1a\n"
_PACKINGS = {12: "bzip2", 14: "lzma"}
_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_NO_HEADER = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError)  # raised by NumPy
_DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, OverflowError,
                struct.error)

OpenStream = Callable[[], "contextlib.AbstractContextManager[IO[bytes]]"]


def array_format(path: pathlib.Path) -> str:
    """Returns "npy", "npz", "hdf5", "idx", or an empty text for what may be a table. Raises PrepError for other known formats."""
    with open_plain_or_gzip(path) as stream:
        start = stream.read(_START_BYTES)
    if not start:
        raise PrepError(f"{path}: the file is empty")
    if start.startswith(b"\x93NUMPY"):
        return "npy"
    if start.startswith(b"PK\3\4"):
        return "npz" if _has_npy_entries(path) and not path.name.endswith(FRAME_ENDING) else ""
    if any(start[place:].startswith(_HDF5) for place in (0, 512, 1024, 2048)):
        return "hdf5"
    if start.startswith(b"\0\0"):
        return "idx"
    if start.startswith(b"MATLAB 5.0 MAT-file"):
        raise PrepError(f"{path}: a MATLAB file of version 5: save it by save(..., '-v7.3')")
    if len(start) > 1 and start[0] == 0x80 and 2 <= start[1] <= 5:
        raise PrepError(f"{path}: a Python pickle, which is not read, since it may run code: load it in Python, and save its arrays by "
                        'numpy.savez("set.npz", x_train=..., y_train=...)')
    return ""


def list_arrays(path: pathlib.Path, kind: str, report: Report) -> list[SourceArray]:
    """Lists the arrays of a file of a known format. An array without a name in it is named after the file. Raises PrepError."""
    report.reading(path)
    if kind == "hdf5":
        from .hdf5_arrays import list_hdf5

        return list_hdf5(path, report)
    return _list_npz(path) if kind == "npz" else [_single_array(path, _read_npy_header if kind == "npy" else _read_idx_header)]


@dataclass
class _Header:
    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool = False  # the first dimension varies fastest


def _single_array(path: pathlib.Path, read_header: Callable[[IO[bytes]], _Header]) -> SourceArray:
    name = path.name.removesuffix(".gz")
    array = SourceArray(name.removesuffix(".npy"), path)

    @contextlib.contextmanager
    def open_values() -> Iterator[IO[bytes]]:
        with open_plain_or_gzip(path) as stream:
            read_header(stream)
            yield stream

    cut_off = f"{path}: truncated: it ends before its array does"
    try:
        with open_plain_or_gzip(path) as stream:
            header = read_header(stream)
        _set_header(array, header, open_values, cut_off)
    except PrepError as error:
        raise error if str(error).startswith(str(path)) else PrepError(f"{path}: {error}") from error
    return array


def _list_npz(path: pathlib.Path) -> list[SourceArray]:
    with _damaged_zip(path), zipfile.ZipFile(path) as file:
        entries = file.infolist()
    if len(entries) > _MOST_ENTRIES:
        raise PrepError(f"{path}: more than {_MOST_ENTRIES} entries")
    return [_array_in_zip(path, entry) for entry in entries if entry.filename.endswith(".npy")]


def _array_in_zip(path: pathlib.Path, entry: zipfile.ZipInfo) -> SourceArray:
    array = SourceArray(entry.filename.removesuffix(".npy"), path)

    @contextlib.contextmanager
    def open_values() -> Iterator[IO[bytes]]:
        with _damaged_zip(path), zipfile.ZipFile(path) as file, file.open(entry) as stream:
            _read_npy_header(stream)
            yield stream

    try:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            method = _PACKINGS.get(entry.compress_type, f"method {entry.compress_type}")
            raise PrepError(f"packed by {method}: save it by numpy.savez or numpy.savez_compressed")
        with _damaged_zip(path), zipfile.ZipFile(path) as file, file.open(entry) as stream:
            header = _read_npy_header(stream)
            array.shape = header.shape
            if entry.file_size - stream.tell() != _bytes_in(header):
                raise PrepError("its size is not what its header says")
        _set_header(array, header, open_values, f"{path}: truncated: an entry ends before its array does")
    except PrepError as error:
        array.problem = str(error).removeprefix(f"{path}: ")
    return array


def _has_npy_entries(path: pathlib.Path) -> bool:
    """Returns whether a zip file is one of NumPy; those of other programs may be tables."""
    with _damaged_zip(path), zipfile.ZipFile(path) as file:
        names = file.namelist()
    return not names or any(name.endswith(".npy") for name in names)


@contextlib.contextmanager
def _damaged_zip(path: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED_ZIP as error:
        if "Bad CRC" in str(error):
            raise PrepError(f"{path}: damaged: a checksum does not match") from error
        raise PrepError(f"{path}: damaged or truncated zip file") from error


def _set_header(array: SourceArray, header: _Header, open_values: OpenStream, cut_off: str) -> None:
    """Gives an array what its header says. Words, and what lies in another order, are read as a whole."""
    array.shape, array.dtype = header.shape, header.dtype
    if header.dtype.kind in "SU":
        if _bytes_in(header) > MOST_BYTES_OF_WORDS:
            raise PrepError("more words than can be read")
        if array.row_elements != 1:
            raise PrepError("words in several columns, expected one word per sample")
        array.load = lambda: _load_words(array, header, open_values, cut_off)
        return

    def blocks(at_once: int) -> Iterator[np.ndarray]:
        with open_values() as stream:
            for begin in range(0, array.rows, at_once):
                shape = (min(at_once, array.rows - begin), *array.shape[1:])
                values = _values_in(stream, shape, array.dtype, cut_off)
                if begin + at_once >= array.rows and stream.read(1):  # at its end, a packed file compares its checksum
                    array.fail("longer than its header says")
                yield values

    def load() -> np.ndarray:
        with open_values() as stream:
            return _values_in(stream, header.shape[::-1], header.dtype, cut_off)

    array.blocks = turned(array, load) if header.by_columns and len(header.shape) > 1 else blocks


def _load_words(array: SourceArray, header: _Header, open_values: OpenStream, cut_off: str) -> None:
    with open_values() as stream:
        array.set_words([_words_in(_read_exactly(stream, _bytes_in(header), cut_off), header.dtype)])


def _values_in(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype, cut_off: str) -> np.ndarray:
    count = int(np.prod(shape, dtype=object))
    return np.frombuffer(_read_exactly(stream, count * dtype.itemsize, cut_off), dtype).reshape(shape)


def _words_in(stored: bytes, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "U" and (np.frombuffer(stored, dtype.str[0] + "u4") > 0x10ffff).any():
        raise PrepError("a word with a letter that Unicode does not have")
    return np.frombuffer(stored, dtype)


def _bytes_in(header: _Header) -> int:
    return int(np.prod(header.shape, dtype=object)) * header.dtype.itemsize


def _read_exactly(stream: IO[bytes], count: int, cut_off: str) -> bytes:
    pieces, left = [], count
    while left:
        pieces.append(stream.read(min(left, _PIECE_BYTES)))
        if not pieces[-1]:
            raise PrepError(cut_off)
        left -= len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _read_npy_header(stream: IO[bytes]) -> _Header:
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise PrepError("not an npy file of version 1 or 2")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy under Python 2 writes 100L
            shape, by_columns, dtype = read(stream)
    except _NO_HEADER as error:
        raise PrepError("not a header that NumPy writes for numbers, or truncated") from error
    _check_type(dtype)
    check_shape(shape)
    return _Header(shape, np.dtype("u1") if dtype.kind == "b" else dtype, by_columns)


def _check_type(dtype: np.dtype) -> None:
    if dtype.kind == "O":
        raise PrepError("Python objects: save words as y.astype(str), and samples of several lengths cut or filled to one length")
    is_word = dtype.kind in "SU" and 1 <= dtype.itemsize <= 4 * _MOST_LETTERS
    if not is_word and (dtype.kind not in "biuf" or dtype.itemsize > 8):
        raise PrepError(f"elements of type '{dtype.str}', expected whole numbers or floats")


def _read_idx_header(stream: IO[bytes]) -> _Header:
    cut_off = "truncated: it ends before its array does"
    magic = _read_exactly(stream, 4, cut_off)
    if magic[:2] != b"\0\0" or magic[2] not in _IDX_TYPES:
        raise PrepError("wrong IDX magic")
    if not 1 <= magic[3] <= 4:
        raise PrepError(f"wrong IDX magic: expected 1 to 4 dimensions, got {magic[3]}")
    shape = struct.unpack(f">{magic[3]}I", _read_exactly(stream, 4 * magic[3], cut_off))
    check_shape(shape)
    return _Header(shape, np.dtype(_IDX_TYPES[magic[2]]))
