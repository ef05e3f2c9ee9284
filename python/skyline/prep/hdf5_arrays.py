"""Arrays in HDF5 files, also those that MATLAB writes since version 7.3."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import re
import signal
from collections.abc import Iterator

import h5py
import numpy as np

from .errors import PrepError
from .report import Report
from .source_array import SourceArray, check_shape, turned

_MOST_DEPTH = 32
_MOST_OBJECTS = 10_000
_MOST_TEXT_BYTES = 1 << 28
_TEXTS_AT_ONCE = 1 << 16
_CACHE_BYTES, _CACHE_SLOTS = 1 << 30, 100_003  # cache of chunks: one is unpacked once for all of its rows
_ELSEWHERE = "a link to another file: copy the array into this one"
_MATLAB_NUMBERS = {"double", "single", "logical", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_MOST_CHUNK_BYTES = 1 << 30  # a chunk is held in memory as a whole
_MOST_LISTED_ONE_BY_ONE = 10_000  # chunks: an older library searches all of them for each
_FILTER_NAMES = {4: "szip", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32015: "zstd", 32026: "blosc2"}
_DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError)  # raised by h5py


def list_hdf5(path: pathlib.Path, report: Report) -> list[SourceArray]:
    """Lists the arrays of a file, and follows links within it. Raises PrepError."""
    with _opened(path) as file, _limited(path):
        listing = _Listing(path, file, report)
        listing.add_group("", 0, False)
    return listing.arrays


@contextlib.contextmanager
def _opened(path: pathlib.Path) -> Iterator[h5py.File]:
    try:
        with h5py.File(path, "r", rdcc_nbytes=_CACHE_BYTES, rdcc_nslots=_CACHE_SLOTS, rdcc_w0=1.0) as file:
            yield file
    except _DAMAGED as error:
        raise PrepError(f"cannot read {path}: {_cause_of(error)}") from error


@contextlib.contextmanager
def _limited(path: pathlib.Path) -> Iterator[None]:
    """Ends this process by SIGVTALRM if the library comes to no end. The limit is far more seconds of CPU than it needs for a file,
    also if a chunk unpacks to a thousand times its size."""
    outer_limit, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 10 + path.stat().st_size / (1 << 16))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, outer_limit)


def _cause_of(error: Exception) -> str:
    """Returns the library's own words: "Unable to open file (truncated file: ...)" has them in brackets."""
    text = " ".join(str(error).split())
    return "HDF5: " + re.sub(r"^[^(]*\((.*)\)$", r"\1", text)


class _Listing:
    def __init__(self, path: pathlib.Path, file: h5py.File, report: Report) -> None:
        self._path, self._file, self._report = path, file, report
        self._objects = 0
        self.arrays: list[SourceArray] = []

    def add_group(self, group: str, depth: int, is_linked: bool) -> None:
        """Links to groups are followed once, since they may lead back: `is_linked` says that a soft link led here."""
        if depth > _MOST_DEPTH:
            raise PrepError(f"{self._path}: groups within groups, more than {_MOST_DEPTH} deep")
        for name in sorted(self._file["/" + group]):
            self._objects += 1
            if self._objects > _MOST_OBJECTS:
                raise PrepError(f"{self._path}: more than {_MOST_OBJECTS} arrays and groups")
            self._add_link(f"{group}/{name}" if group else name, depth, is_linked)

    def _add_link(self, name: str, depth: int, is_linked: bool) -> None:
        found, problem = self._follow(name)
        if problem:
            self.arrays.append(SourceArray(name, self._path, problem=problem))
        elif isinstance(found, h5py.Dataset):
            self._add_array(SourceArray(name, self._path), found)
        elif isinstance(found, h5py.Group):
            is_soft = isinstance(self._file.get(name, getlink=True), h5py.SoftLink)
            if not (is_soft and is_linked):
                self.add_group(name, depth + 1, is_linked or is_soft)

    def _follow(self, name: str) -> tuple[h5py.HLObject | None, str]:
        """Returns what a link leads to, and why that cannot be read."""
        try:
            if not isinstance(self._file.get(name, getlink=True), (h5py.HardLink, h5py.SoftLink)):
                return None, _ELSEWHERE
        except TypeError:  # a kind that users define
            return None, _ELSEWHERE
        try:
            found = self._file[name]
        except _DAMAGED:
            return None, "a link that leads nowhere"
        return found, "" if found.file.filename == self._file.filename else _ELSEWHERE

    def _add_array(self, array: SourceArray, dataset: h5py.Dataset) -> None:
        self.arrays.append(array)
        try:
            _set_facts(array, dataset, self._report)
        except PrepError as error:
            array.problem = str(error)
        except _DAMAGED as error:
            array.problem = _cause_of(error)


def _set_facts(array: SourceArray, dataset: h5py.Dataset, report: Report) -> None:
    """Reads what is known of an array before its values. Raises PrepError without the file's name."""
    shape = dataset.shape or ()
    check_shape(shape)
    array.shape = shape
    stored = _type_of(dataset)
    if stored is not None and h5py.check_string_dtype(stored) is not None:
        _set_texts(array, dataset, stored, report)
        return
    enumeration = h5py.check_enum_dtype(stored) if stored is not None else None
    dtype = _element_type(stored)
    of_matlab = _matlab_class(dataset)
    if dtype is None and not of_matlab:
        raise PrepError("expected whole numbers, floats or texts")
    _check_storage(dataset)
    array.dtype = dtype or np.dtype("u1")
    array.blocks = _Reader(array, report)
    if of_matlab:
        _set_matlab(array, of_matlab)
    elif enumeration is not None:
        array.load = lambda: _set_enumeration(array, enumeration)


def _type_of(dataset: h5py.Dataset) -> np.dtype | None:
    try:
        return dataset.dtype
    except TypeError:  # no type of NumPy is like it
        return None


def _element_type(stored: np.dtype | None) -> np.dtype | None:
    """Returns the type in memory, in this machine's byte order, or None if they are not numbers."""
    if stored is None or h5py.check_ref_dtype(stored) or h5py.check_vlen_dtype(stored):
        return None
    if stored.kind == "f":
        return np.dtype("f4" if stored.itemsize <= 4 else "f8")
    return {"b": np.dtype("u1"), "i": stored.newbyteorder("="), "u": stored.newbyteorder("=")}.get(stored.kind)


class _Reader:
    """Reads the rows of an array of numbers, some at a time."""

    def __init__(self, array: SourceArray, report: Report) -> None:
        self._name, self._path, self._dtype, self._report = array.name, array.file, array.dtype, report
        self._label, self._notes = array.label, array.notes
        self._is_checked = False

    def __call__(self, at_once: int) -> Iterator[np.ndarray]:
        self._report.reading(self._path)
        with _opened(self._path) as file:
            with _limited(self._path):
                dataset = file[self._name]
                self._tell_unwritten(dataset)
            for begin in range(0, len(dataset), at_once):
                with _limited(self._path):
                    rows = dataset[begin:begin + at_once].astype(self._dtype, copy=False)
                yield rows

    def _tell_unwritten(self, dataset: h5py.Dataset) -> None:
        row = None if self._is_checked else _first_unwritten_row(dataset)
        self._is_checked = True
        if row is not None:
            self._notes.append(f"check: {self._label}: values were never written, as in row {row}: the fill value of the file stands for "
                               "them")


def _set_texts(array: SourceArray, dataset: h5py.Dataset, stored: np.dtype, report: Report) -> None:
    if array.row_elements != 1:
        raise PrepError("texts in several columns, expected one word per sample")
    if array.rows * stored.itemsize > _MOST_TEXT_BYTES:
        raise PrepError("more texts than can be read")
    _check_storage(dataset)

    def load() -> None:
        report.reading(array.file)
        with _opened(array.file) as file, _limited(array.file):
            array.set_words(_texts_in(file[array.name]))

    array.load = load


def _texts_in(dataset: h5py.Dataset) -> Iterator[np.ndarray]:
    for begin in range(0, len(dataset), _TEXTS_AT_ONCE):
        block = dataset[begin:begin + _TEXTS_AT_ONCE].reshape(-1)
        yield np.array([text.partition(b"\0")[0] for text in block.tolist()], object)


def _set_enumeration(array: SourceArray, names: dict[str, int]) -> None:
    """Makes this an array of words: the names of the numbers, in the order of these."""
    if array.row_elements != 1:
        raise PrepError("an enumeration in several columns, expected one value per sample")
    if array.rows * array.dtype.itemsize > _MOST_TEXT_BYTES:
        raise PrepError("more values of an enumeration than can be read")
    different, codes = np.unique(array.read(), return_inverse=True)
    by_number = {number: name for name, number in names.items()}
    unknown = [number for number in different.tolist() if number not in by_number]
    if unknown:
        raise PrepError(f"a value that its enumeration does not name: {unknown[0]}")
    array.words = [by_number[number] for number in different.tolist()]
    array.are_ordered = True
    array.set_codes(codes.astype(np.uint32).reshape(-1))


def _matlab_class(dataset: h5py.Dataset) -> str:
    """Returns the class that MATLAB gave an array, or an empty text if MATLAB did not write it."""
    if "MATLAB_class" not in dataset.attrs:
        return ""
    try:
        name = dataset.attrs["MATLAB_class"]
    except _DAMAGED:
        return "unknown"
    return name.decode("latin-1") if isinstance(name, bytes) else "unknown"


def _set_matlab(array: SourceArray, of_class: str) -> None:
    """Takes an array of MATLAB, which writes the dimensions in reverse. Each row of letters is a word."""
    are_letters = of_class == "char" and array.dtype.itemsize == 2 and len(array.shape) == 2
    if not are_letters and of_class not in _MATLAB_NUMBERS:
        shown = of_class.encode("ascii", "backslashreplace").decode()
        raise PrepError(f"MATLAB's class `{shown}`, expected numbers or words: save words as char(y)")
    if len(array.shape) < 2:
        return
    array.notes.append(f"{array.label}: written by MATLAB, its dimensions are read in reverse")
    stored = SourceArray(array.name, array.file, array.shape, array.dtype, array.blocks)
    array.shape = stored.shape[::-1]
    array.blocks = turned(array, stored.read)
    if are_letters:
        array.load = lambda: _set_letters(array, stored)


def _set_letters(array: SourceArray, stored: SourceArray) -> None:
    if stored.rows * stored.row_elements * stored.dtype.itemsize > _MOST_TEXT_BYTES:
        raise PrepError("more words than can be read")
    letters = np.ascontiguousarray(stored.read().T, "<u2")
    words = [row.tobytes().decode("utf-16-le", "surrogatepass").rstrip("\0").rstrip(" ") for row in letters]
    array.set_words([np.array(words, object)])


def _check_storage(dataset: h5py.Dataset) -> None:
    """Checks that the values can be read. Raises PrepError without the file's name."""
    creation = dataset.id.get_create_plist()
    if creation.get_layout() == h5py.h5d.VIRTUAL or creation.get_external_count() > 0:
        raise PrepError("its values lie in other files: copy them into this one")
    if creation.get_layout() != h5py.h5d.CHUNKED:
        stored, expected = dataset.id.get_storage_size(), dataset.size * _value_bytes(dataset)
        if stored not in (0, expected):
            raise PrepError(f"damaged: {stored} bytes are stored, expected {expected}")
        return
    for number, _, _, name in map(creation.get_filter, range(creation.get_nfilters())):
        if not h5py.h5z.filter_avail(number):
            text = _FILTER_NAMES.get(number, name.decode("ascii", "backslashreplace"))
            raise PrepError(f"packed by the filter {text} ({number}), which the HDF5 library here does not have: save it with "
                            'compression="gzip", or name the folder of the filter\'s plugin by HDF5_PLUGIN_PATH')
    if int(np.prod(dataset.chunks, dtype=object)) * _value_bytes(dataset) > _MOST_CHUNK_BYTES:
        raise PrepError(f"chunks of more than {_MOST_CHUNK_BYTES} bytes")


def _first_unwritten_row(dataset: h5py.Dataset) -> int | None:
    """Returns the first row with values that were never written."""
    if dataset.chunks is None:
        return 0 if dataset.id.get_storage_size() == 0 else None
    count = dataset.id.get_num_chunks()
    expected = int(np.prod([-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks)], dtype=object))
    if count >= expected or (count > _MOST_LISTED_ONE_BY_ONE and not hasattr(dataset.id, "chunk_iter")):
        return None
    known = {chunk.chunk_offset for chunk in _chunks_of(dataset, count)}
    places = itertools.product(*[range(0, size, chunk) for size, chunk in zip(dataset.shape, dataset.chunks)])
    return next((place[0] for place in places if place not in known), None)


def _chunks_of(dataset: h5py.Dataset, count: int) -> list[h5py.h5d.StoreInfo]:
    if not hasattr(dataset.id, "chunk_iter"):
        return [dataset.id.get_chunk_info(number) for number in range(count)]
    chunks: list[h5py.h5d.StoreInfo] = []
    dataset.id.chunk_iter(chunks.append)
    return chunks


def _value_bytes(dataset: h5py.Dataset) -> int:
    stored = dataset.id.get_type()
    is_variable = isinstance(stored, h5py.h5t.TypeStringID) and stored.is_variable_str()
    return 16 if is_variable else stored.get_size()  # a reference: a length, the place of a heap, an index
