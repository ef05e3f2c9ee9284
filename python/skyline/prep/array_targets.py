"""Targets, groups and names in arrays. Whole numbers [N] and words are classes, whole numbers [N, K] labels that apply or not, floats
numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .array_parts import PartArrays
from .options import shortened
from .source_array import SourceArray
from .split import Groups
from .targets import MOST_CLASSES, TargetColumns

_MOST_TARGETS = 1 << 28  # targets of a part: a packed file of some kilobytes may claim any number of them


def read_targets(arrays: Sequence[SourceArray]) -> list[TargetColumns]:
    """Reads the targets of all parts; the training set's come first. Raises PrepError with the array and what was expected."""
    first = arrays[0]
    for array in arrays:
        if array.row_elements != first.row_elements or len(array.shape) > 2:
            array.fail("expected targets [N] or [N, K], the same K in all parts")
        if array.rows * array.row_elements > _MOST_TARGETS:
            array.fail(f"expected at most {_MOST_TARGETS} targets, got {array.rows} x {array.row_elements}")
    if first.row_elements > MOST_CLASSES:
        first.fail(f"expected at most {MOST_CLASSES} targets of a sample, got {first.row_elements}")
    return [_columns_of(array) for array in arrays]


def read_names(array: SourceArray) -> list[str]:
    """Returns the names in an array of words or whole numbers. Raises PrepError."""
    if array.row_elements != 1 or array.rows > MOST_CLASSES or array.dtype.kind == "f":
        array.fail(f"expected at most {MOST_CLASSES} names")
    names = [array.words[number] if array.words else str(number) for number in array.read().reshape(-1).tolist()]
    twice = sorted(name for name in set(names) if names.count(name) > 1)
    if twice:
        array.fail(f"two classes are called `{shortened(twice[0])}`")
    return names


def read_groups(parts: Sequence[PartArrays], chosen: str) -> Groups:
    """Returns the groups of the training samples. Raises PrepError for a missing or fractional entry, and for a group that is in two
    parts."""
    groups = Groups(f"array `{chosen}`")
    for part in parts:
        if part.group is None:
            groups.without.append(part.part)
            continue
        if (part.group.rows, part.group.row_elements) != (part.x.rows, 1):
            part.group.fail(f"expected {part.x.rows} groups, one for each sample, got {part.group.rows * part.group.row_elements}")
        groups.add(part.part, *_entries_of(part.group), part.group.label)
    return groups


def _columns_of(array: SourceArray) -> TargetColumns:
    values = array.read()
    if array.words:
        return TargetColumns(array.label, ["0"], values, words=array.words, are_ordered=array.are_ordered)
    values = values.reshape(array.rows, -1)
    if array.dtype.kind == "u" and int(values.max()) > np.iinfo(np.int64).max:
        array.fail("a whole number of 2^63 or more")
    is_float = array.dtype.kind == "f"
    return TargetColumns(array.label, [str(number) for number in range(array.row_elements)],
                         values.astype(np.float64 if is_float else np.int64),
                         "numbers" if is_float else "classes" if array.row_elements == 1 else "labels",
                         location=lambda row: f"{array.label}: target number {row}")


def _entries_of(array: SourceArray) -> tuple[list[str], np.ndarray]:
    """Returns the different entries as texts, in the order in which they first occur, and for each row its entry's place."""
    columns = _columns_of(array)
    values = columns.values.reshape(-1)
    if not columns.words and not columns.are_whole:
        row, _ = columns.first_fraction()
        array.fail(f"row {row}: " + ("the group is missing" if np.isnan(values[row]) else
                                     f"expected whole numbers or words for groups, got {values[row]:f}"))
    different, first_rows, places = np.unique(values.astype(np.int64), return_index=True, return_inverse=True)
    order = np.argsort(first_rows)
    entries = [columns.words[number] if columns.words else str(number) for number in different[order].tolist()]
    if "" in entries:
        array.fail(f"row {int(first_rows[order][entries.index('')])}: the group is missing")
    return entries, np.argsort(order)[places.reshape(-1)]
