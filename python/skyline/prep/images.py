"""The kind `images`: files in one folder per class, or samples without classes for the networks of a run."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter

import numpy as np
import PIL

from .dataset import PARTS, TEST, TRAIN, VALIDATION, Facts
from .errors import PrepError, counted
from .image_files import PixelReader
from .image_folder import LEFT_OUT, ImageFile, ImageFolder, files_without_classes, find_images
from .image_labels import find_labelled, tell_tables
from .image_reader import ImageReader, Survey
from .kinds import Job, Kind, Rows
from .split import Draw, Groups, Shares, chosen_shares, draw
from .wording import in_quotes, printable

_MOST_CHOSEN_SIDE, _SIDE_STEP = 96, 8


class ImagesKind(Kind):
    def prepare(self, job: Job) -> None:
        _Import(job).run()

    def apply(self, job: Job) -> Rows:
        assert job.run is not None
        channels, height, width = job.run.shape
        if height * width == 1:
            raise PrepError(f"{job.sources[0]}: has images, and the run's samples are {channels} numbers each, of a table or an array")
        options = job.options
        options.size = options.size or (height, width)
        options.test = options.test or 0.0
        return _Import(job).run()


KINDS = {"images": ImagesKind()}


def _find(folder: str, options: argparse.Namespace) -> ImageFolder:
    found = find_labelled(folder, options)
    if options.label and not (found and found.is_by_table):
        raise PrepError(f"--label: a column of a table of classes, and {folder} has them in {'names' if found else 'folders'}")
    if found:
        return found
    found = find_images(folder)
    if options.labels is None:
        tell_tables(folder, found)
    return found


class _Import:
    """Reads the images of a folder into a data set."""

    def __init__(self, job: Job) -> None:
        self._job, self._options, self._writer = job, job.options, job.writer
        self._place = str(job.sources[0])
        self._folder = _find(self._place, job.options) if job.has_targets else files_without_classes([str(path) for path in job.sources])
        self._reader = ImageReader(job, self._folder)
        self._channels = job.run.shape[0] if job.run else None  # channels of the run's samples

    def run(self) -> Rows:
        for doubt in self._folder.doubts:
            self._reader.warn(doubt)
        self._writer.notes += self._folder.notes
        survey = self._reader.survey()
        size = self._size(survey)
        shape = (self._num_channels(survey), *size)
        groups = self._groups()
        drawn = self._draw(groups).text()
        self._check_classes()
        self._describe(shape, drawn)
        self._add_samples(PixelReader(shape, self._options.fit, self._options.size is not None or len(survey.sizes) > 1,
                                      self._channels == 1), groups)
        self._check_classes()  # again: some of the files may have been damaged
        self._reader.tell_the_end(survey)
        return self._reader.rows()

    def _check_classes(self) -> None:
        if self._job.has_targets:
            self._folder.check_classes()

    def _size(self, survey: Survey) -> tuple[int, int]:
        if isinstance(self._options.size, tuple):
            height, width = self._options.size
            return height, width
        first = next(iter(survey.sizes))
        if self._options.size is None or (len(survey.sizes) == 1 and max(first) <= _MOST_CHOSEN_SIDE):
            return first
        shorter = Counter[int]()
        for size, count in survey.sizes.items():
            shorter[min(size)] += count
        median = sorted(shorter.elements())[shorter.total() // 2]
        side = min(max(median // _SIDE_STEP * _SIDE_STEP, _SIDE_STEP), _MOST_CHOSEN_SIDE)
        self._writer.note(f"size: {side} x {side} pixels, by the images' shorter sides, whose median is {median}; another one: --size")
        return side, side

    def _num_channels(self, survey: Survey) -> int:
        if self._channels == 1:
            return 1
        if survey.grey and survey.colour:
            self._writer.note(f"{survey.grey} of {counted(survey.grey + survey.colour, 'image')} are grey: all become RGB")
        return 3 if survey.colour or self._channels == 3 else 1

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
            name = _group_of(file, self._options.group)
            groups[file.path] = numbers.setdefault(name, len(numbers))
            if parts.setdefault(name, file.part) != file.part:
                raise PrepError(f"{file.path}: its group {in_quotes(printable(name))} is in the {PARTS[parts[name]]} set, too")
        self._writer.note(f"{counted(len(numbers), 'group')} of images, e.g. {in_quotes(printable(min(numbers)))} (--group)")
        return groups

    def _draw(self, numbers: dict[str, int]) -> Draw:
        files = self._folder.files_of(TRAIN)
        labels = np.array([file.label for file in files], np.int64)
        groups = Groups("", np.array([numbers[file.path] for file in files])) if numbers else None
        drawn = draw(labels, True, self._shares(), groups, lambda: self._reader.equal_numbers(files), self._place)
        self._writer.notes += drawn.lines
        self._writer.keep_together(drawn)
        for file, part in zip(files, drawn.parts):
            file.part = int(part)
        return drawn

    def _describe(self, shape: tuple[int, int, int], drawn: str) -> None:
        source = f"the images of a folder, {self._folder.origin}, read by Pillow {PIL.__version__}"
        if drawn:
            source += f"; {drawn}"
            self._writer.note(drawn)
        counts = [len(self._folder.files_of(part)) for part in range(len(PARTS))]
        self._writer.describe(Facts(shape, self._folder.class_names, "classes", source, is_pixels=True), counts)

    def _add_samples(self, reader: PixelReader, groups: dict[str, int]) -> None:
        numbers: list[int] = []
        for part in range(len(PARTS)):
            for files, values in self._reader.read(part, reader):
                self._writer.append(part, values, np.array([file.label for file in files]))
                if groups and part == TRAIN:
                    numbers += [groups[file.path] for file in files]
        if groups:
            self._writer.groups = np.array(numbers, np.int32)


def _group_of(file: ImageFile, how: str) -> str:
    if how == "folder":
        parent = os.path.dirname(file.path)
        if parent == file.folder.path:
            raise PrepError(f"{file.path}: expected a folder below that of its class, named like its group (--group=folder)")
        return os.path.basename(parent)
    begin = re.match("([^_-]+)[_-]", os.path.splitext(os.path.basename(file.path))[0])
    if not begin:
        raise PrepError(f"{file.path}: expected a name that begins with its group, up to `_` or `-` (--group=name)")
    return begin[1]
