"""The kind `images`: files in one folder per class, or samples without classes for the networks of a run."""

from __future__ import annotations

from collections import Counter

import PIL

from .dataset import PARTS, TRAIN, Facts
from .errors import PrepError, counted
from .image_files import PixelReader
from .image_kinds import IMAGE
from .image_reader import ImageReader, Survey
from .kinds import Job, Kind, Rows
from .media_import import MediaImport

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


class _Import(MediaImport):
    """Reads the images of a folder into a data set."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, IMAGE)
        self._reader = ImageReader(job, self._folder)
        self._channels = job.run.shape[0] if job.run else None  # channels of the run's samples

    def run(self) -> Rows:
        self._tell_folder(self._reader)
        survey = self._reader.survey()
        size = self._size(survey)
        shape = (self._num_channels(survey), *size)
        groups = self._groups()
        drawn = self._draw(groups, self._reader).text()
        self._check_classes()
        source = self._source(f"Pillow {PIL.__version__}", drawn)
        self._writer.describe(Facts(shape, self._folder.class_names, "classes", source, is_pixels=True), self._counts())
        pixels = PixelReader(shape, self._options.fit, self._options.size is not None or len(survey.sizes) > 1, self._channels == 1)
        appended = [self._append(part, self._reader.read(part, pixels)) for part in range(len(PARTS))]
        self._set_groups(groups, appended[TRAIN])
        self._check_classes()  # again: some of the files may have been damaged
        self._reader.tell_the_end(survey)
        return self._reader.rows()

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


KINDS = {"images": ImagesKind()}
