"""Arrays in the files of people, whatever their format."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from .errors import PrepError
from .options import shortened
from .wording import printable

_BLOCK_BYTES = 1 << 22  # bytes of rows that are read at a time
_MOST_TURNED_BYTES = 1 << 30  # bytes of an array in Fortran's order, which is read as a whole
MOST_BYTES_OF_WORDS = 1 << 28
_MOST_ELEMENTS = 1 << 44
_MOST_WORDS = 1 << 16

Blocks = Callable[[int], Iterator[np.ndarray]]  # yields all rows in their order, so many at a time


@dataclass
class SourceArray:
    """An array in a file. Its elements are codes, places in `words`, if it has words."""

    name: str  # e.g. "x_train"
    file: pathlib.Path
    shape: tuple[int, ...] = (1,)
    dtype: np.dtype = np.dtype("u1")
    blocks: Blocks = field(default=lambda at_once: iter(()))
    words: list[str] = field(default_factory=list)
    are_ordered: bool = False  # whether the file states the order of the words
    problem: str = ""  # why it cannot be read
    notes: list[str] = field(default_factory=list)  # lines about it, for when it is read
    load: Callable[[], None] | None = None  # reads what must be in memory: words

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def row_elements(self) -> int:
        return int(np.prod(self.shape[1:], dtype=object))

    @property
    def label(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def is_uint8(self) -> bool:
        return self.dtype == np.uint8

    def fail(self, message: str) -> NoReturn:
        raise PrepError(f"{self.label}: {message}")

    def check_usable(self) -> None:
        """Loads the array, and raises PrepError if it cannot be read."""
        load, self.load = self.load, None
        if load is not None:
            try:
                load()
            except PrepError as error:
                self.problem = str(error).removeprefix(f"{self.label}: ").removeprefix(f"{self.file}: ")
        if self.problem:
            self.fail(self.problem)

    def read(self, rows: int | None = None) -> np.ndarray:
        """Returns the first rows, by default all of them."""
        wanted = self.rows if rows is None else min(rows, self.rows)
        values = np.empty((wanted, *self.shape[1:]), self.dtype)
        count = 0
        for block in self.rows_in_blocks():
            taken = block[:wanted - count]
            values[count:count + len(taken)] = taken
            count += len(taken)
            if count == wanted:
                break
        return values

    def rows_in_blocks(self) -> Iterator[np.ndarray]:
        return self.blocks(max(_BLOCK_BYTES // (self.row_elements * self.dtype.itemsize), 1))

    def set_words(self, blocks: Iterable[np.ndarray]) -> None:
        """Makes this an array of words, one for each row. Raises PrepError without the file's name."""
        known: dict[bytes | str, int] = {}
        codes = []
        for block in blocks:
            different, of_rows = np.unique(block, return_inverse=True)
            numbers = [known.setdefault(each, len(known)) for each in different.tolist()]
            if len(known) > _MOST_WORDS:
                raise PrepError("too many different words")
            codes.append(np.array(numbers, np.uint32)[of_rows.reshape(-1)])
        self.words = [_word(each) for each in known]
        self.set_codes(np.concatenate(codes))

    def set_codes(self, codes: np.ndarray) -> None:
        """Makes this an array of codes of `words`."""
        self.shape, self.dtype = (len(codes),), codes.dtype
        self.blocks = in_memory(codes)


def in_memory(array: np.ndarray) -> Blocks:
    def blocks(at_once: int) -> Iterator[np.ndarray]:
        for begin in range(0, len(array), at_once):
            yield array[begin:begin + at_once]

    return blocks


def check_shape(shape: Sequence[int]) -> None:
    """Checks that there are 1 to 4 dimensions above 0 with a bounded product. Raises PrepError without the file's name."""
    if not 1 <= len(shape) <= 4:
        raise PrepError(f"expected 1 to 4 dimensions, got {len(shape)}")
    elements = 1
    for size in shape:
        if not 1 <= size <= _MOST_ELEMENTS // elements:
            raise PrepError(f"a dimension of size {size}" + ("" if size < 1 else ": larger than any array that can be read"))
        elements *= size


def turned(array: SourceArray, load: Callable[[], np.ndarray]) -> Blocks:
    """Yields the rows of an array whose last dimension is the first in its file, as Fortran has it: it is loaded as a whole."""
    def blocks(at_once: int) -> Iterator[np.ndarray]:
        if array.rows * array.row_elements * array.dtype.itemsize > _MOST_TURNED_BYTES:
            array.fail("too large to be turned from Fortran's order: save it as numpy.ascontiguousarray(...)")
        yield from in_memory(load().T)(at_once)

    return blocks


def _word(stored: bytes | str) -> str:
    text = stored if isinstance(stored, str) else stored.decode("utf-8", "surrogateescape")
    if printable(text) != text:
        raise PrepError(f"expected words in UTF-8 and without control characters, got `{shortened(printable(text))}`")
    return text
