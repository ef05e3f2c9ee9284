"""The kinds of sources: those of this package, and those that other packages add as entry points `skyline.prep`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import itertools
import json
import os
import pathlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import PrepError
from .option_table import add_options_of
from .report import Report

if TYPE_CHECKING:  # these import NumPy and h5py, which a Python may lack that names kinds alone
    from .dataset import DatasetWriter, TargetKind

TABLE_ENDINGS = {".csv", ".tsv", ".parquet", ".feather", ".xlsx"}
_MOST_LOOKED_AT = 10_000  # files of a folder


@dataclass
class RunData:
    """What a run's config.yaml says of its data: new samples become like these."""

    shape: tuple[int, int, int]
    class_names: list[str]
    targets: TargetKind
    value_scale: float
    preparation: str = ""


@dataclass
class Rows:
    """The rows of a source, by which predictions are joined to it: those without a sample have a problem."""

    title: str = "row"  # meaning of the names: "file", "row", or the title of a column
    may_fail: bool = False  # whether rows without a sample are left out rather than refused
    names: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # reasons why there is no sample; empty where there is one
    parts: list[int] = field(default_factory=list)


@dataclass
class Job:
    """What to read, and where its samples go."""

    sources: list[pathlib.Path]
    options: argparse.Namespace
    writer: DatasetWriter
    report: Report
    threads: int = 1
    kind: str = ""  # name
    given: list[str] = field(default_factory=list)  # names of the options that are given
    run: RunData | None = None  # the samples are for the networks of this run
    has_targets: bool = True  # False: only the samples are wanted, whether there are targets or not


class Kind:
    """A kind of source. Errors and notes name options as `skyline prep` has them, "--size" or "--size=32"."""

    meaning = ""  # one sentence for `skyline prep --help`
    sources = "FILE..."  # or "FOLDER", or "[FILE]" if none is needed
    reads_samples_alone = False  # whether it can read samples without targets

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds its options."""

    def prepare(self, job: Job) -> None:
        """Describes the data set and appends all its samples to the writer; the caller finishes it. Raises PrepError."""
        raise NotImplementedError

    def apply(self, job: Job) -> Rows:
        """Does the same for samples of `job.run`, and returns the source's rows (none: samples are known by their numbers)."""
        self.prepare(job)
        return Rows()


class _BuiltIn(Kind):
    """A kind of this package: what it needs is imported when it reads."""

    def __init__(self, module: str, meaning: str, sources: str = "FOLDER", reads_samples_alone: bool = False) -> None:
        self._module, self.meaning, self.sources, self.reads_samples_alone = module, meaning, sources, reads_samples_alone

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_options_of(parser, self._module)

    def prepare(self, job: Job) -> None:
        self._reader(job).prepare(job)

    def apply(self, job: Job) -> Rows:
        return self._reader(job).apply(job)

    def _reader(self, job: Job) -> Kind:
        return importlib.import_module(f".{self._module}", __package__).KINDS[job.kind]


_BUILT_IN = {
    "images": _BuiltIn("images", "Images of all kinds that Pillow reads, in one folder per class, or in such folders in `train`, `val` and "
                       "`test`.", reads_samples_alone=True),
    "sounds": _BuiltIn("sounds", "Sounds, WAV or what the package soundfile reads, in one folder per class, or in such folders in `train`, "
                       "`val` and `test`.", reads_samples_alone=True),
    "recordings": _BuiltIn("recordings", "Long recordings of sensors, tables with a row for each moment, cut into windows.", "SOURCE...",
                           reads_samples_alone=True),
    "arrays": _BuiltIn("arrays", "Tables (CSV, Parquet, Feather, Excel), or arrays x_train and y_train, with x_val, y_val, x_test and y_test "
                       "if there are, in npz, npy, HDF5, MATLAB 7.3 or IDX files.", "FILE...", reads_samples_alone=True),
    "digits": _BuiltIn("known_sets", "The digits that ship with Skyline.", "[FILE]"),
    "mnist": _BuiltIn("known_sets", "MNIST's four IDX files, each plain or .gz."),
    "fashion_mnist": _BuiltIn("known_sets", "Fashion-MNIST's four IDX files, each plain or .gz."),
    "cifar10": _BuiltIn("known_sets", "The binary version of CIFAR-10."),
    "cifar100": _BuiltIn("known_sets", "The binary version of CIFAR-100, with its 100 fine labels."),
}


def kind_names() -> list[str]:
    return sorted({*_BUILT_IN, *(entry.name for entry in importlib.metadata.entry_points(group="skyline.prep"))})


def find_kind(name: str) -> Kind:
    """Returns a kind; the libraries of another package's are imported now. Raises PrepError for an unknown one."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    for entry in importlib.metadata.entry_points(group="skyline.prep"):
        if entry.name == name:
            return entry.load()()
    raise PrepError(f"unknown kind of data `{name}`, expected one of {', '.join(kind_names())}")


def source_kind(sources: Sequence[pathlib.Path], options: Collection[str] = ()) -> str:
    """Returns the kind of a source that nobody has named: images, sounds or recordings of a folder, the first two of a file that is one, else
    arrays. A table is a recording where the names of the options have the length of a window."""
    from .image_kinds import IMAGE
    from .sound_kinds import SOUND

    first = sources[0]
    if first.is_dir():
        return _kind_of_folder(first, {"images": IMAGE.has_ending, "sounds": SOUND.has_ending})
    if not first.is_file():  # refused there; a read would wait for a pipe's writer
        return "arrays"
    if "length" in options and _is_table(first.name):
        return "recordings"
    return "images" if IMAGE.is_one(first) else "sounds" if SOUND.is_one(first) else "arrays"


def _is_table(name: str) -> bool:
    return pathlib.PurePath(name.removesuffix(".gz")).suffix.lower() in TABLE_ENDINGS


def _kind_of_folder(folder: pathlib.Path, media: Mapping[str, Callable[[str], bool]]) -> str:
    """Returns the medium of most of the first files; recordings if there are tables alone."""
    counts = Counter[str]()
    names = (name for _, _, names in os.walk(folder) for name in names)
    for name in itertools.islice(names, _MOST_LOOKED_AT):
        counts.update(kind for kind, has_ending in media.items() if has_ending(name))
        counts["tables"] += _is_table(name)
    if counts["tables"] and counts["images"] == counts["sounds"] == 0:
        return "recordings"
    return "sounds" if counts["sounds"] > counts["images"] else "images"


def kind_of_run(preparation: str) -> str:
    """Returns the kind from which alone a run with this preparation takes new samples, or an empty text."""
    with contextlib.suppress(ValueError, AttributeError, RecursionError):
        return next((kind for key, kind in (("sound", "sounds"), ("windows", "recordings")) if key in json.loads(preparation).keys()), "")
    return ""
