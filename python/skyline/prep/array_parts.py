"""Which array is which part of a data set, by the names of arrays and files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .dataset import TEST, TRAIN, VALIDATION
from .errors import PrepError
from .source_array import SourceArray

_VALIDATION_NAMES = ("x_val", "x_valid", "x_validation")
_VALIDATION_TARGETS = ("y_val", "y_valid", "y_validation")
_MOST_SAMPLE_VALUES = 1 << 28


@dataclass
class PartArrays:
    """The arrays of one part of a data set."""

    part: int
    x: SourceArray
    y: SourceArray
    group: SourceArray | None = None  # groups of the samples, if --group names some and this part has them


@dataclass
class Parts:
    """All parts; the training set comes first."""

    arrays: list[PartArrays]
    class_names: SourceArray | None = None
    left_over: list[str] = field(default_factory=list)  # arrays with a row for each training sample that are not used

    @property
    def first(self) -> PartArrays:
        return self.arrays[0]

    def used(self) -> list[SourceArray]:
        """Returns the arrays that are read, each once."""
        used = [self.class_names, *(array for part in self.arrays for array in (part.x, part.y, part.group))]
        return list({id(array): array for array in used if array is not None}.values())


class _Catalogue:
    """The arrays of all files, looked up by name."""

    def __init__(self, arrays: Sequence[SourceArray]) -> None:
        self._arrays = arrays
        self._asked_for: set[str] = set()  # labels

    def find(self, chosen: str, names: Sequence[str]) -> SourceArray | None:
        """Finds the array that the user chose, else the first of `names` that exists. Raises PrepError."""
        for name in [chosen] if chosen else names:
            found = self._find_named(name, any_case=not chosen)
            if found is not None:
                return found
        if chosen:
            raise PrepError(f"no array `{chosen}`, {self._listing()}")
        return None

    def at(self, chosen: str, names: Sequence[str], key: str) -> SourceArray:
        found = self.find(chosen, names)
        if found is None:
            raise PrepError(f"no array `{names[0]}`, {self._listing()}: name it by --{key}=NAME")
        return found

    def left_over(self, training: SourceArray) -> list[str]:
        return [array.name for array in self._arrays
                if not array.problem and array.rows == training.rows and array.label not in self._asked_for]

    def _find_named(self, name: str, any_case: bool) -> SourceArray | None:
        found = None
        for array in self._arrays:
            if array.name != name and not (any_case and array.name.lower() == name) and array.file.name != name:
                continue
            if found is not None:
                raise PrepError(f"two arrays `{name}`: {found.label}, {array.label}")
            found = array
        if found is not None:
            found.check_usable()
            self._asked_for.add(found.label)
        return found

    def _listing(self) -> str:
        names = ", ".join(array.name for array in self._arrays)
        return f"there are {names}" if names else "there is none"


def find_parts(arrays: Sequence[SourceArray], options: argparse.Namespace, for_model: bool, has_targets: bool) -> Parts:
    """Finds the arrays of each part. Samples for a model need no training set. Raises PrepError if one is missing or exists twice,
    or if two do not fit together."""
    catalogue = _Catalogue(arrays)
    parts = Parts(_named_parts(catalogue, options, for_model) if has_targets else _samples_alone(catalogue, options))
    if has_targets:
        parts.class_names = catalogue.find("", ["class_names"])
    if options.group and not for_model:
        for part in parts.arrays:
            part.group = _find_group(catalogue, part.part, options.group)
    if not for_model:
        parts.left_over = catalogue.left_over(parts.first.x)
    _check_fit(parts.arrays)
    return parts


def _named_parts(catalogue: _Catalogue, options: argparse.Namespace, for_model: bool) -> list[PartArrays]:
    x_val = catalogue.find(options.x_val, _VALIDATION_NAMES)
    validation = [] if x_val is None else [PartArrays(VALIDATION, x_val, catalogue.at(options.y_val, _VALIDATION_TARGETS, "y-val"))]
    if for_model and catalogue.find(options.x_train, ["x_train"]) is None:
        x_test = catalogue.find(options.x_test, ["x_test", "x"])
        test = [] if x_test is None else [PartArrays(TEST, x_test, catalogue.at(options.y_test, ["y_test", "y"], "y-test"))]
        if test + validation:
            return test + validation
    x_names, y_names = ["x_train"], ["y_train"]
    if catalogue.find(options.x_train, x_names) is None and catalogue.find(options.y_train, y_names) is None:
        x_names, y_names = ["x_train", "x"], ["y_train", "y"]
    training = PartArrays(TRAIN, catalogue.at(options.x_train, x_names, "x-train"), catalogue.at(options.y_train, y_names, "y-train"))
    x_test = catalogue.find(options.x_test, ["x_test"])
    test = [] if x_test is None else [PartArrays(TEST, x_test, catalogue.at(options.y_test, ["y_test"], "y-test"))]
    return [training, *validation, *test]


def _samples_alone(catalogue: _Catalogue, options: argparse.Namespace) -> list[PartArrays]:
    """Returns the samples of each part that exists, without targets."""
    found = [(TRAIN, catalogue.find(options.x_train, ["x_train"])), (VALIDATION, catalogue.find(options.x_val, _VALIDATION_NAMES)),
             (TEST, catalogue.find(options.x_test, ["x_test"]))]
    parts = [PartArrays(part, x, x) for part, x in found if x is not None]
    if not parts:
        x = catalogue.at(options.x_test, ["x_test", "x"], "x-test")
        parts = [PartArrays(TEST, x, x)]
    return parts


def _find_group(catalogue: _Catalogue, part: int, chosen: str) -> SourceArray | None:
    """Finds the groups of a part. The user names the training set's; the others' have `test` or `val` where it has `train`."""
    if part == TRAIN:
        return catalogue.find(chosen, [])
    name = re.sub("train", "test" if part == TEST else "val", chosen, count=1)
    return catalogue.find("", [name]) if name != chosen else None


def _check_fit(parts: Sequence[PartArrays]) -> None:
    first = parts[0].x
    if first.row_elements > _MOST_SAMPLE_VALUES:
        first.fail(f"expected samples of at most {_MOST_SAMPLE_VALUES} values, got {first.row_elements}")
    for part in parts:
        if part.x.words:
            part.x.fail("expected numbers, got words")
        if part.x.rows != part.y.rows:
            part.y.fail(f"expected {part.x.rows} targets, one for each sample, got {part.y.rows}")
        if part.x.shape[1:] != first.shape[1:]:
            part.x.fail(f"expected samples of the same dimensions as in {first.label}")
        if part.x.is_uint8 != first.is_uint8:
            part.x.fail(f"is {part.x.dtype.name}, and {first.label} is {first.dtype.name}")
