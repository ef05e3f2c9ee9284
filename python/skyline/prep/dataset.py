"""The data set file that Skyline trains on (docs/internals/files.md). The program checks and seals what is written here."""

from __future__ import annotations

import json
import math
import pathlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import h5py
import numpy as np

from .content import Content
from .errors import PrepError
from .ranges import bounds_in
from .wording import printable

if TYPE_CHECKING:
    from .split import Draw

TRAIN, VALIDATION, TEST = range(3)
PARTS = ("train", "validation", "test")
TargetKind = Literal["classes", "labels", "numbers"]
TARGET_TYPES = {"classes": "<i4", "labels": "u1", "numbers": "<f4"}

_USER_BLOCK_BYTES = 1024  # room for the program's seal
_ALIGNMENT = 64
_BLOCK_BYTES = 1 << 24


@dataclass
class Facts:
    """What holds for all samples of a data set."""

    shape: tuple[int, int, int]  # channels, height, width
    class_names: list[str]  # names of the outputs: of classes, labels or numbers
    target_kind: TargetKind
    source: str  # origin and terms of use, for people
    is_pixels: bool  # values are uint8; else float32
    value_scale: float = 255.0  # the largest pixel value; 1 for floats
    preparation: str = ""  # how rows of a table became samples, as JSON
    in_time_order: bool = False
    is_sound: bool = False  # silent samples are told when they are read
    is_table: bool = False  # the preparation is that of a table, whose columns the options name

    def features(self) -> list[dict[str, Any]]:
        """Returns what the preparation says of each channel, or an empty list if it says nothing."""
        features = json.loads(self.preparation or "{}").get("features", [])
        return features if len(features) == self.shape[0] else []


@dataclass
class _Part:
    values: h5py.Dataset
    targets: list[np.ndarray] = field(default_factory=list)
    count: int = 0


class DatasetWriter:
    """Writes samples as they come: values go to disk at once, and only the targets are kept in memory."""

    def __init__(self, path: pathlib.Path, shown: pathlib.Path | None = None) -> None:
        self.path, self.shown = path, shown or path  # the second one is its name in messages
        self.notes: list[str] = []  # lines for the person who started this; `check: ` begins what looks wrong
        self.groups: np.ndarray | None = None  # numbers of the training samples' groups
        self.is_drawn = False  # whether --equal-samples decides where equal samples are
        self.keeps_equal = False  # equal training samples become groups, so that a search holds them out together

    def describe(self, facts: Facts, counts: Sequence[int]) -> None:
        """Sets the facts. Call once, before the first samples. `counts` are upper bounds of the samples of each part."""
        self.check_room(sum(counts) * math.prod(facts.shape), facts.is_pixels)
        self.facts = facts
        self.content = Content(facts.shape, facts.is_pixels, counts[TRAIN], bounds_in(facts.features()))
        self._file = _new_file(self.path)
        dtype = "u1" if facts.is_pixels else "<f4"
        self._parts = [_Part(self._file.create_dataset(f"{name}/values", (count, *facts.shape), dtype))
                       for name, count in zip(PARTS, counts)]

    def check_room(self, values: int, is_pixels: bool) -> None:
        """Raises PrepError if the disk has no room for so many values."""
        needed, free = values * (1 if is_pixels else 4), shutil.disk_usage(self.path.absolute().parent).free
        if needed > free:
            raise PrepError(f"{self.shown}: needs {needed} bytes, and {free} are free")

    def append(self, part: int, values: np.ndarray, targets: np.ndarray) -> None:
        """Adds samples [n, channels, height, width] and their targets: [n] numbers of classes, or [n, outputs]."""
        if not len(values):
            return
        to, end = self._parts[part], self._parts[part].count + len(values)
        values = np.ascontiguousarray(values, to.values.dtype)
        if not self.facts.is_pixels and not np.isfinite(values).all():
            raise PrepError(f"{PARTS[part]}: a value that is not finite")
        self.content.add(part, values)
        to.values[to.count:end] = values
        to.targets.append(np.ascontiguousarray(targets, TARGET_TYPES[self.facts.target_kind]))
        to.count = end

    def keep_together(self, drawn: Draw) -> None:
        """Remembers the groups of a draw, or that equal samples stay together: a search holds samples out in the same way."""
        self.groups = drawn.groups.numbers[drawn.trained] if drawn.groups else None
        self.is_drawn, self.keeps_equal = drawn.shares.is_drawn, drawn.keeps_equal

    def note(self, line: str) -> None:
        self.notes.append(line)

    def counts(self) -> list[int]:
        return [part.count for part in self._parts]

    def class_counts(self, part: int) -> np.ndarray:
        """Returns the number of samples of each class; empty if the targets are not classes."""
        if self.facts.target_kind != "classes":
            return np.array([], int)
        return np.bincount(self.targets(part), minlength=len(self.facts.class_names))

    def written_blocks(self, part: int) -> Iterator[np.ndarray]:
        """Yields the values of a finished file, some samples at a time."""
        with h5py.File(self.path) as file:
            values = file[f"{PARTS[part]}/values"]
            step = _rows_at_once(values)
            for begin in range(0, len(values), step):
                yield values[begin:begin + step]

    def finish(self) -> None:
        """Writes targets and facts, and closes the file."""
        self._drop_unused_rows()
        file, facts = self._file, self.facts
        for number, name in enumerate(PARTS):
            file[f"{name}/targets"] = self.targets(number)
        if self.keeps_equal and self.groups is None:
            self.groups = self.content.equal_training_samples()
        if self.groups is not None:
            file["train/groups"] = self.groups.astype("<i4")
        file.attrs.update(format="skyline-dataset", version=np.int64(2), value_scale=float(facts.value_scale),
                          source=printable(facts.source))
        if facts.in_time_order:
            file.attrs["split"] = "last"
        _add_texts(file, "class_names", facts.class_names)
        if facts.preparation:
            _add_texts(file, "preparation", [facts.preparation])
        file.close()

    def targets(self, part: int) -> np.ndarray:
        """Returns the targets as they are stored: [n], or [n, outputs]."""
        kind = self.facts.target_kind
        empty = np.empty(0 if kind == "classes" else (0, len(self.facts.class_names)), TARGET_TYPES[kind])
        return np.concatenate([empty, *self._parts[part].targets])

    def _drop_unused_rows(self) -> None:
        """Copies the values into a file of the right size if samples were left out."""
        if all(part.count == len(part.values) for part in self._parts):
            return
        whole = self.path.with_name(self.path.name + ".whole")
        file = _new_file(whole)
        for name, part in zip(PARTS, self._parts):
            values = file.create_dataset(f"{name}/values", (part.count, *self.facts.shape), part.values.dtype)
            step = _rows_at_once(values)
            for begin in range(0, part.count, step):
                end = min(begin + step, part.count)
                values[begin:end] = part.values[begin:end]
            part.values = values
        self._file.close()
        whole.replace(self.path)
        self._file = file


def _rows_at_once(values: h5py.Dataset) -> int:
    return max(_BLOCK_BYTES // max(values.dtype.itemsize * int(np.prod(values.shape[1:])), 1), 1)


def _new_file(path: pathlib.Path) -> h5py.File:
    return h5py.File(path, "w", userblock_size=_USER_BLOCK_BYTES, alignment_threshold=1, alignment_interval=_ALIGNMENT)


def _add_texts(file: h5py.File, name: str, texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    file[name] = np.array(encoded, h5py.string_dtype("utf-8", max(*map(len, encoded), 1)))
