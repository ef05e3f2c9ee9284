"""Reads the files of a folder on several threads, and keeps account of those that give no sample."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import pathlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from .dataset import PARTS
from .errors import PrepError, counted
from .image_files import ImageHeader, PixelReader, Pixels, not_read, read_header, rounded
from .image_folder import LEFT_OUT, ImageFile, ImageFolder, counts_text
from .image_kinds import ImageProblem, digest_of, other_kind
from .kinds import Job, Rows
from .report import Progress
from .wording import printable

_FILES_AT_ONCE = 64  # files of a thread
_BYTES_AT_ONCE = 1 << 23  # bytes of their pixels
_PACKAGES = {"HEIC": "pillow-heif", "AVIF": "pillow>=11.3"}  # with which kinds are read
T = TypeVar("T")


@dataclass
class Survey:
    """The headers of the images that can be read."""

    grey: int = 0
    colour: int = 0
    deep_colours: int = 0  # images of 16 bits for each of their colours
    with_frames: int = 0
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    first: tuple[ImageFile, tuple[int, int]] | None = None

    def add(self, file: ImageFile, header: ImageHeader) -> None:
        self.grey += header.is_grey
        self.colour += not header.is_grey
        self.deep_colours += header.has_deep_colours
        self.with_frames += header.has_frames
        size = header.height, header.width
        self.sizes[size] += 1
        self.first = self.first or (file, size)


class ImageReader:
    """Reads headers, then pixels."""

    def __init__(self, job: Job, folder: ImageFolder) -> None:
        self._job, self._folder = job, folder
        self._place = str(job.sources[0])
        self._problems: dict[str, str] = {}  # reasons why images give no sample
        self._skipped = 0
        self._not_read: Counter[str] = Counter()  # kinds of images that are not read here
        self._others: Counter[str] = Counter()  # files that are no images
        self._num_deep = 0
        self._deep = np.zeros(1 << 16, bool)  # the different values of images with more than 8 bits for each

    def survey(self) -> Survey:
        """Reads every file's header, because the shape of the set must be known before the first sample is written."""
        survey = Survey()
        progress = Progress(self._job.report, f"looking at the files in {self._place}", len(self._folder.files))
        for file, header in self._read(self._folder.files, _FILES_AT_ONCE, read_header):
            if isinstance(header, ImageProblem):
                self._leave_out(file, str(header))
            else:
                survey.add(file, header)
                self._check_size(survey, file, (header.height, header.width))
            progress.advance()
        self._tell_what_is_not_read()
        is_answered = not self._job.has_targets and self._problems  # with the reasons
        if not survey.sizes and not is_answered:
            last = next(reversed(self._problems.values()), "")
            raise PrepError(f"{self._place}: no image that can be read" + (f": {last}" if last else ""))
        return survey

    def equal_numbers(self, files: Sequence[ImageFile]) -> np.ndarray:
        """Returns a number for each file, the same for files of the same bytes. Only those of one length are read."""
        lengths = [_length(file.path) for file in files]
        counts = Counter(lengths)
        alike = [file for file, length in zip(files, lengths) if counts[length] > 1]
        digests = {file.path: str(digest) for file, digest in self._read(alike, _FILES_AT_ONCE, digest_of)}
        known: dict[str, int] = {}
        return np.array([known.setdefault(digests.get(file.path, file.path), len(known)) for file in files], np.int64)

    def read(self, part: int, reader: PixelReader) -> Iterator[tuple[list[ImageFile], np.ndarray]]:
        """Yields the pixels [n, channels, height, width] of some images of a part at a time."""
        files = self._folder.files_of(part)
        progress = Progress(self._job.report, f"reading the {PARTS[part]} set", len(files))
        at_once = min(max(_BYTES_AT_ONCE // int(np.prod(reader.shape)), 1), _FILES_AT_ONCE)
        results = self._read(files, at_once, reader)
        while block := list(itertools.islice(results, at_once)):
            read = [(file, result) for file, result in block if isinstance(result, Pixels)]
            for file, result in block:
                if isinstance(result, ImageProblem):
                    self._skip(file, str(result))
                elif result.deep is not None:
                    self._num_deep += 1
                    self._deep[result.deep] = True
            if read:
                yield [file for file, _ in read], np.stack([pixels.values for _, pixels in read])
            progress.advance(len(block))

    def tell_the_end(self, survey: Survey) -> None:
        """Tells how many files were left out, and of values that were different in their files and are equal as pixels."""
        note = self._job.writer.note
        if self._skipped:
            self.warn(f"{counted(self._skipped, 'file')} left out")
        stored, kept = np.count_nonzero(self._deep), len(np.unique(rounded(np.flatnonzero(self._deep))))
        if stored != kept:
            note(f"check: {counted(self._num_deep, 'image')} with more than 8 bits per value: their {stored} different values are {kept} "
                 "as pixels (`skyline prep arrays` keeps those of an array)")
        if survey.deep_colours:
            note(f"check: {counted(survey.deep_colours, 'image')} with more than 8 bits per value and several channels: the upper 8 are "
                 "read (`skyline prep arrays` keeps those of an array)")
        if survey.with_frames:
            note(f"check: {counted(survey.with_frames, 'file')} with several frames or pages: the first is read")

    def rows(self) -> Rows:
        """Returns the row of each file that is an image."""
        rows = Rows("file", may_fail=True)
        for file in self._folder.files:
            problem = self._problems.get(file.path, "")
            if file.part == LEFT_OUT and not problem:
                continue
            rows.names.append(printable(os.path.normpath(file.path)))
            rows.problems.append(problem)
            rows.parts.append(file.folder.part if file.part == LEFT_OUT else file.part)
        return rows

    def warn(self, text: str) -> None:
        self._job.report.line(f"check: {text}")

    def _read(self, files: Sequence[ImageFile], at_once: int, read: Callable[[str], T]) -> Iterator[tuple[ImageFile, T | ImageProblem]]:
        """Yields the results for files, in their order."""
        def result_for(file: ImageFile) -> T | ImageProblem:
            self._job.report.reading(pathlib.Path(file.path))
            try:
                return read(file.path)
            except ImageProblem as problem:
                return problem

        threads = max(self._job.threads, 1)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for begin in range(0, len(files), at_once * threads):
                some = files[begin:begin + at_once * threads]
                yield from zip(some, map(result_for, some) if threads == 1 else pool.map(result_for, some))

    def _check_size(self, survey: Survey, file: ImageFile, size: tuple[int, int]) -> None:
        assert survey.first is not None
        first, its_size = survey.first
        if self._job.options.size is None and size != its_size:
            raise PrepError(f"{file.path}: {size[0]} x {size[1]} pixels, and {first.path} has {its_size[0]} x {its_size[1]}: make them one "
                            "size by --size")

    def _leave_out(self, file: ImageFile, problem: str) -> None:
        """Leaves out a file whose header cannot be read: files that are no images, and images that are not read here, are counted; others
        are damaged."""
        kind = other_kind(file.path)
        if kind is None:
            self._skip(file, problem)
            return
        name, is_image = kind
        (self._not_read if is_image else self._others)[name] += 1
        if is_image:
            self._problems[file.path] = not_read(name)
        file.part = LEFT_OUT

    def _skip(self, file: ImageFile, problem: str) -> None:
        line = problem if file.path in problem else f"{file.path}: {problem}"  # the system's errors name the file
        self._skipped += 1
        most = self._job.options.skip
        if self._skipped > most:
            raise PrepError(f"{self._place}: more than {counted(most, 'file')} cannot be read as images (--skip=N allows N), the last of "
                            f"them {line}")
        self.warn(f"left out: {line}")
        self._problems[file.path] = problem
        file.part = LEFT_OUT

    def _tell_what_is_not_read(self) -> None:
        if self._others:
            self.warn(f"{self._place}: files that are no images are not read: {counts_text(self._others)}")
        if self._not_read:
            packages = sorted(_PACKAGES[kind] for kind in self._not_read if kind in _PACKAGES)
            self.warn(f"{self._place}: images of these kinds are left out, since they are not read: {counts_text(self._not_read)}"
                      + "".join(f"; {sys.executable} -m pip install '{package}'" for package in packages))


def _length(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # told when it is read
        return -1
