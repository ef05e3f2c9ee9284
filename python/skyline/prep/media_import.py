"""Reads the files of a folder of images or sounds into a data set: what holds for both."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from .dataset import PARTS, TEST, TRAIN, VALIDATION
from .errors import PrepError, counted
from .kinds import Job
from .media import Medium
from .media_folder import LEFT_OUT, MediaFile, MediaFolder, files_without_classes, find_by_folders
from .media_groups import Grouping
from .media_labels import find_labelled, tell_tables
from .media_reader import MediaReader
from .split import Draw, Groups, Shares, chosen_shares, draw
from .wording import in_quotes, printable


def _find(folder: str, options: argparse.Namespace, medium: Medium) -> MediaFolder:
    found = find_labelled(folder, options, medium)
    if options.label and not (found and found.is_by_table):
        raise PrepError(f"--label: a column of a table of classes, and {folder} has them in {'names' if found else 'folders'}")
    if found:
        return found
    found = find_by_folders(folder, medium)
    if options.labels is None:
        tell_tables(folder, found)
    return found


class MediaImport:
    """What the imports of images and of sounds have in common: classes, groups, the draw of the parts, and the order of the samples."""

    def __init__(self, job: Job, medium: Medium) -> None:
        self._job, self._options, self._writer = job, job.options, job.writer
        self._place = str(job.sources[0])
        paths = [str(path) for path in job.sources]
        self._folder = _find(self._place, job.options, medium) if job.has_targets else files_without_classes(paths, medium)
        self._grouping = Grouping(job.options.group, self._folder)

    def _tell_folder(self, reader: MediaReader) -> None:
        for doubt in self._folder.doubts:
            reader.warn(doubt)
        self._writer.notes += self._folder.notes

    def _check_classes(self) -> None:
        if self._job.has_targets:
            self._folder.check_classes()

    def _shares(self) -> Shares:
        return chosen_shares(self._options, {part: f"{self._place}: it has a folder for" for part in (VALIDATION, TEST)
                                           if self._folder.has_part(part)})

    def _groups(self) -> dict[str, int]:
        """Numbers the groups of the files, in their order, and compares the parts that have folders. Empty if there are none."""
        if self._options.group == "none":
            return {}
        numbers: dict[str, int] = {}
        parts: dict[str, int] = {}
        groups = {}
        for file in self._folder.files:
            if file.part == LEFT_OUT:
                continue
            name = self._grouping.of(file)
            groups[file.path] = numbers.setdefault(name, len(numbers))
            if parts.setdefault(name, file.part) != file.part:
                raise PrepError(f"{file.path}: its group {in_quotes(printable(name))} is in the {PARTS[parts[name]]} set, too")
        self._writer.note(f"{counted(len(numbers), 'group')} of {self._folder.medium.noun}s, e.g. {in_quotes(printable(min(numbers)))} (--group)")
        return groups

    def _draw(self, numbers: dict[str, int], reader: MediaReader) -> Draw:
        files = self._folder.files_of(TRAIN)
        labels = np.array([file.label for file in files], np.int64)
        groups = Groups("", np.array([numbers[file.path] for file in files])) if numbers else None
        drawn = draw(labels, True, self._shares(), groups, lambda: reader.equal_numbers(files), self._place)
        self._writer.notes += drawn.lines
        self._writer.keep_together(drawn)
        for file, part in zip(files, drawn.parts):
            file.part = int(part)
        return drawn

    def _counts(self) -> list[int]:
        """Returns upper bounds of the samples of each part."""
        return [len(self._folder.files_of(part)) for part in range(len(PARTS))]

    def _source(self, reader: str, drawn: str) -> str:
        """Returns the origin of the samples, and notes the draw."""
        source = f"the {self._folder.medium.noun}s of a folder, {self._folder.origin}, read by {reader}"
        if drawn:
            self._writer.note(drawn)
        return source + (f"; {drawn}" if drawn else "")

    def _append(self, part: int, blocks: Iterator[tuple[list[MediaFile], np.ndarray]]) -> list[MediaFile]:
        """Appends the samples of a part. Returns their files."""
        appended = []
        for files, values in blocks:
            self._writer.append(part, values, np.array([file.label for file in files]))
            appended += files
        return appended

    def _set_groups(self, groups: dict[str, int], trained: list[MediaFile]) -> None:
        if groups:
            self._writer.groups = np.array([groups[file.path] for file in trained], np.int32)
