"""Reads the files of a folder on several threads, and keeps account of those that give no sample."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import pathlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from .dataset import PARTS
from .errors import PrepError, counted
from .kinds import Job, Rows
from .media import MediaProblem, digest_of, not_read
from .media_folder import LEFT_OUT, MediaFile, MediaFolder, counts_text
from .report import Progress
from .wording import printable

_FILES_AT_ONCE = 64  # files of a thread
_BYTES_AT_ONCE = 1 << 23  # bytes of their samples
T = TypeVar("T")


class MediaReader:
    """Reads headers, then samples."""

    def __init__(self, job: Job, folder: MediaFolder) -> None:
        self._job, self._folder = job, folder
        self._place = str(job.sources[0])
        self._problems: dict[str, str] = {}  # reasons why files give no sample
        self._skipped = 0
        self._not_read: Counter[str] = Counter()  # kinds of files of the medium that are not read here
        self._others: Counter[str] = Counter()  # files of other kinds

    def headers(self, read_header: Callable[[str], T]) -> Iterator[tuple[MediaFile, T]]:
        """Yields every file's header, because the shape of the set must be known before the first sample is written."""
        progress = Progress(self._job.report, f"looking at the files in {self._place}", len(self._folder.files))
        is_any = False
        for file, header in self._read(self._folder.files, _FILES_AT_ONCE, read_header):
            if isinstance(header, MediaProblem):
                self._leave_out(file, str(header))
            else:
                is_any = True
                yield file, header
            progress.advance()
        self._tell_what_is_not_read()
        is_answered = not self._job.has_targets and self._problems  # with the reasons
        if not is_any and not is_answered:
            last = next(reversed(self._problems.values()), "")
            raise PrepError(f"{self._place}: no {self._folder.medium.noun} that can be read" + (f": {last}" if last else ""))

    def equal_numbers(self, files: Sequence[MediaFile]) -> np.ndarray:
        """Returns a number for each file, the same for files of the same bytes. Only those of one length are read."""
        lengths = [_length(file.path) for file in files]
        counts = Counter(lengths)
        alike = [file for file, length in zip(files, lengths) if counts[length] > 1]
        digests = {file.path: str(digest) for file, digest in self._read(alike, _FILES_AT_ONCE, digest_of)}
        known: dict[str, int] = {}
        return np.array([known.setdefault(digests.get(file.path, file.path), len(known)) for file in files], np.int64)

    def samples(self, part: int, read: Callable[[str], T], sample_bytes: int) -> Iterator[list[tuple[MediaFile, T]]]:
        """Yields what is read of some files of a part at a time. Any thread may call `read`."""
        files = self._folder.files_of(part)
        progress = Progress(self._job.report, f"reading the {PARTS[part]} set", len(files))
        at_once = min(max(_BYTES_AT_ONCE // sample_bytes, 1), _FILES_AT_ONCE)
        results = self._read(files, at_once, read)
        while block := list(itertools.islice(results, at_once)):
            for file, result in block:
                if isinstance(result, MediaProblem):
                    self._skip(file, str(result))
            yield [(file, result) for file, result in block if not isinstance(result, MediaProblem)]
            progress.advance(len(block))

    def tell_what_is_left_out(self) -> None:
        if self._skipped:
            self.warn(f"{counted(self._skipped, 'file')} left out")

    def rows(self) -> Rows:
        """Returns the row of each file of the medium."""
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

    def _read(self, files: Sequence[MediaFile], at_once: int, read: Callable[[str], T]) -> Iterator[tuple[MediaFile, T | MediaProblem]]:
        """Yields the results for files, in their order."""
        def result_for(file: MediaFile) -> T | MediaProblem:
            self._job.report.reading(pathlib.Path(file.path))
            try:
                return read(file.path)
            except MediaProblem as problem:
                return problem

        threads = max(self._job.threads, 1)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for begin in range(0, len(files), at_once * threads):
                some = files[begin:begin + at_once * threads]
                yield from zip(some, map(result_for, some) if threads == 1 else pool.map(result_for, some))

    def _leave_out(self, file: MediaFile, problem: str) -> None:
        """Leaves out a file whose header cannot be read: files of other kinds, and those that are not read here, are counted; others are damaged."""
        kind = self._folder.medium.other_kind(file.path)
        if kind is None:
            self._skip(file, problem)
            return
        name, is_of_medium = kind
        (self._not_read if is_of_medium else self._others)[name] += 1
        if is_of_medium:
            self._problems[file.path] = not_read(name)
        file.part = LEFT_OUT

    def _skip(self, file: MediaFile, problem: str) -> None:
        line = problem if file.path in problem else f"{file.path}: {problem}"  # the system's errors name the file
        self._skipped += 1
        most = self._job.options.skip
        if self._skipped > most:
            raise PrepError(f"{self._place}: more than {counted(most, 'file')} cannot be read as {self._folder.medium.noun}s (--skip=N allows N), the last of "
                            f"them {line}")
        self.warn(f"left out: {line}")
        self._problems[file.path] = problem
        file.part = LEFT_OUT

    def _tell_what_is_not_read(self) -> None:
        medium = self._folder.medium
        if self._others:
            self.warn(f"{self._place}: files that are no {medium.noun}s are not read: {counts_text(self._others)}")
        if self._not_read:
            packages = sorted({medium.packages[kind] for kind in self._not_read if kind in medium.packages})
            self.warn(f"{self._place}: {medium.noun}s of these kinds are left out, since they are not read: {counts_text(self._not_read)}"
                      + "".join(f"; {sys.executable} -m pip install '{package}'" for package in packages))


def _length(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # told when it is read
        return -1
