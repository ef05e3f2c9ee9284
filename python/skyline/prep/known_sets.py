"""Data sets that everybody knows, from the files in which they are published."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .array_files import list_arrays
from .dataset import TEST, TRAIN, Facts
from .errors import PrepError
from .kinds import Job, Kind
from .source_array import SourceArray
from .source_files import check_file, open_plain_or_gzip

_DIGIT_PIXELS, _DIGIT_CLASSES, _LARGEST_DIGIT_PIXEL = 64, 10, 16
_MOST_DIGITS_BYTES = 64_000_000
_CIFAR_SHAPE = (3, 32, 32)


@dataclass
class _Samples:
    pixels: np.ndarray
    labels: np.ndarray


@dataclass
class _KnownData:
    shape: tuple[int, int, int]
    class_names: list[str]
    source: str
    train: _Samples
    test: _Samples
    value_scale: float = 255.0


class KnownSet(Kind):
    """A set that is small enough for memory."""

    def __init__(self, read: Callable[[Job], _KnownData]) -> None:
        self._read = read

    def prepare(self, job: Job) -> None:
        data = self._read(job)
        parts = {TRAIN: data.train, TEST: data.test}
        counts = [len(parts[part].labels) if part in parts else 0 for part in range(3)]
        job.writer.describe(Facts(data.shape, data.class_names, "classes", data.source, True, data.value_scale), counts)
        for part, samples in parts.items():
            job.writer.append(part, samples.pixels.reshape(-1, *data.shape), samples.labels)


def read_digits(job: Job) -> _KnownData:
    """Reads lines of 64 pixels and a label; the last fifth of each class is the test set."""
    path = job.sources[0] if job.sources else _shipped_digits()
    with open_plain_or_gzip(path) as stream:
        lines = stream.read(_MOST_DIGITS_BYTES).splitlines()
    if not lines:
        raise PrepError(f"{path}: the file is empty")
    rows = np.array([_digit_in(line, f"{path}:{number}") for number, line in enumerate(lines, 1)])
    pixels, labels = rows[:, :_DIGIT_PIXELS].astype(np.uint8), rows[:, _DIGIT_PIXELS]
    is_test = np.zeros(len(labels), bool)
    for label in range(_DIGIT_CLASSES):
        members = np.flatnonzero(labels == label)
        is_test[members[len(members) - len(members) // 5:]] = True
    return _KnownData((1, 8, 8), [str(label) for label in range(_DIGIT_CLASSES)],
                      "Optical Recognition of Handwritten Digits, test set (E. Alpaydin, C. Kaynak, 1998, UCI Machine Learning "
                      "Repository), CC BY 4.0", _Samples(pixels[~is_test], labels[~is_test]), _Samples(pixels[is_test], labels[is_test]),
                      _LARGEST_DIGIT_PIXEL)


def _shipped_digits() -> pathlib.Path:
    told = os.environ.get("SKYLINE_DATA")
    package = pathlib.Path(__file__).resolve().parents[1]
    of_wheel = package / "share/skyline/data"
    path = (pathlib.Path(told) if told else of_wheel if of_wheel.exists() else package.parents[1] / "data") / "digits.csv.gz"
    if not path.exists():
        raise PrepError(f"prep digits: no {path}, where an installed program has the digits that ship: name the file")
    return path


def _digit_in(line: bytes, place: str) -> list[int]:
    fields = line.split(b",")
    numbers = [int(field) for field in fields if field.isdigit() and len(field) < 3]
    if not len(numbers) == len(fields) == _DIGIT_PIXELS + 1 or max(numbers) > _LARGEST_DIGIT_PIXEL or numbers[-1] >= _DIGIT_CLASSES:
        raise PrepError(f"{place}: expected {_DIGIT_PIXELS} pixels from 0 to {_LARGEST_DIGIT_PIXEL} and a label from 0 to "
                        f"{_DIGIT_CLASSES - 1}, with commas between them")
    return numbers


@dataclass(frozen=True)
class _Mnist:
    """Four IDX files, each plain or .gz."""

    folder: str  # in torchvision's folder
    source: str
    class_names: list[str]

    def read(self, job: Job) -> _KnownData:
        folder = job.sources[0]
        _check_folder(folder)
        places = (folder, folder / "raw", folder / self.folder / "raw", folder / self.folder)
        place = next((each for each in places if _look_for(each, "train-images", "idx3-ubyte")), folder)
        train, shape = self._part(place, "train", job)
        test, test_shape = self._part(place, "t10k", job)
        if test_shape != shape:
            raise PrepError(f"{place}: test images are {'x'.join(map(str, test_shape))}, training images {'x'.join(map(str, shape))}")
        return _KnownData(shape, self.class_names, self.source, train, test)

    def _part(self, place: pathlib.Path, part: str, job: Job) -> tuple[_Samples, tuple[int, int, int]]:
        images = _idx_array(place, f"{part}-images", "idx3-ubyte", 3, job)
        labels = _idx_array(place, f"{part}-labels", "idx1-ubyte", 1, job)
        if images.rows != labels.rows:
            labels.fail(f"expected {images.rows} labels, as many as images in {images.file.name}, got {labels.rows}")
        numbers = labels.read()
        _check_labels(labels.file, numbers, len(self.class_names))
        return _Samples(images.read(), numbers), (1, images.shape[1], images.shape[2])


def _idx_array(folder: pathlib.Path, name: str, kind: str, dimensions: int, job: Job) -> SourceArray:
    path = _look_for(folder, name, kind)
    if path is None:
        raise PrepError(f"{folder}: expected {name}-{kind} or {name}-{kind}.gz, found neither")
    array, = list_arrays(path, "idx", job.report)
    if not array.is_uint8 or len(array.shape) != dimensions:
        array.fail(f"wrong IDX magic: expected bytes in {dimensions} dimensions, got {array.dtype.name} in {len(array.shape)}")
    return array


def _look_for(folder: pathlib.Path, name: str, kind: str) -> pathlib.Path | None:
    for file in (f"{name}-{kind}", f"{name}-{kind}.gz", f"{name}.{kind}", f"{name}.{kind}.gz"):  # all are published
        for path in (folder / file, folder / file / file):  # Kaggle packs each file into a folder of its name
            if path.is_file():
                return path
    return None


def _check_labels(path: pathlib.Path, labels: np.ndarray, classes: int) -> None:
    wrong = labels >= classes
    if wrong.any():
        place = int(np.argmax(wrong))
        raise PrepError(f"{path}: label number {place}: expected 0 to {classes - 1}, got {labels[place]}")


@dataclass(frozen=True)
class _Cifar:
    """A binary version: records of label bytes, of which the last counts, and pixels."""

    name: str
    folder: str  # in its archive
    python_folder: str  # folder of the version for Python
    python_file: str
    train: list[str]
    test: str
    names: str  # file of the class names
    classes: int
    label_bytes: int
    class_names: list[str] = field(default_factory=list)

    def read(self, job: Job) -> _KnownData:
        folder = job.sources[0]
        _check_folder(folder)
        place = folder if (folder / self.train[0]).exists() else folder / self.folder
        if not (place / self.train[0]).exists():
            self._fail_missing(folder)
        names = self.class_names
        if not names or (place / self.names).exists():
            names = self._names_in(place / self.names)
        return _KnownData(_CIFAR_SHAPE, names, f"{self.name} (A. Krizhevsky, 2009), binary version",
                          self._samples([place / file for file in self.train]), self._samples([place / self.test]))

    def _fail_missing(self, folder: pathlib.Path) -> None:
        for found in (folder / self.python_file, folder / self.python_folder / self.python_file):
            if found.is_file():
                raise PrepError(f"{found.parent}: the Python version of {self.name}, expected the binary version, which is offered beside "
                                "it")
        raise PrepError(f"{folder}: expected {self.train[0]} here or in {self.folder} (the binary version of {self.name})")

    def _names_in(self, path: pathlib.Path) -> list[str]:
        check_file(path)
        names = path.read_text(encoding="utf-8", errors="replace").split()
        if len(names) != self.classes:
            raise PrepError(f"{path}: expected {self.classes} class names, got {len(names)}")
        return names

    def _samples(self, paths: Sequence[pathlib.Path]) -> _Samples:
        batches = [self._batch(path) for path in paths]
        return _Samples(np.concatenate([each.pixels for each in batches]), np.concatenate([each.labels for each in batches]))

    def _batch(self, path: pathlib.Path) -> _Samples:
        check_file(path)
        record = self.label_bytes + int(np.prod(_CIFAR_SHAPE))
        size = path.stat().st_size
        if not size or size % record:
            raise PrepError(f"{path}: truncated: expected a multiple of {record} bytes, got {size}")
        records = np.fromfile(path, np.uint8).reshape(-1, record)
        _check_labels(path, records[:, self.label_bytes - 1], self.classes)
        return _Samples(records[:, self.label_bytes:], records[:, self.label_bytes - 1])


def _check_folder(folder: pathlib.Path) -> None:
    if not folder.is_dir():
        raise PrepError(f"{folder}: there is no such folder")


_CIFAR10 = _Cifar("CIFAR-10", "cifar-10-batches-bin", "cifar-10-batches-py", "data_batch_1",
                  [f"data_batch_{number}.bin" for number in range(1, 6)], "test_batch.bin", "batches.meta.txt", 10, 1,
                  ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
_CIFAR100 = _Cifar("CIFAR-100", "cifar-100-binary", "cifar-100-python", "train", ["train.bin"], "test.bin", "fine_label_names.txt", 100, 2)

_MNIST = _Mnist("MNIST", "MNIST handwritten digits (Y. LeCun, C. Cortes, C. J. C. Burges), IDX files", list("0123456789"))
_FASHION_MNIST = _Mnist("FashionMNIST", "Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, 2017), MIT licence, IDX files",
                        ["T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"])

KINDS = {"digits": KnownSet(read_digits), "mnist": KnownSet(_MNIST.read), "fashion_mnist": KnownSet(_FASHION_MNIST.read),
         "cifar10": KnownSet(_CIFAR10.read), "cifar100": KnownSet(_CIFAR100.read)}
