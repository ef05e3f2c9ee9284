"""Reads the images of a folder: their headers, then their pixels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .errors import PrepError, counted
from .image_files import ImageHeader, PixelReader, read_header, rounded
from .kinds import Job
from .media_folder import MediaFile, MediaFolder
from .media_reader import MediaReader


@dataclass
class Survey:
    """The headers of the images that can be read."""

    grey: int = 0
    colour: int = 0
    deep_colours: int = 0  # images of 16 bits for each of their colours
    with_frames: int = 0
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    first: tuple[MediaFile, tuple[int, int]] | None = None

    def add(self, file: MediaFile, header: ImageHeader) -> None:
        self.grey += header.is_grey
        self.colour += not header.is_grey
        self.deep_colours += header.has_deep_colours
        self.with_frames += header.has_frames
        size = header.height, header.width
        self.sizes[size] += 1
        self.first = self.first or (file, size)


class ImageReader(MediaReader):
    """Reads headers, then pixels."""

    def __init__(self, job: Job, folder: MediaFolder) -> None:
        super().__init__(job, folder)
        self._num_deep = 0
        self._deep = np.zeros(1 << 16, bool)  # the different values of images with more than 8 bits for each

    def survey(self) -> Survey:
        survey = Survey()
        for file, header in self.headers(read_header):
            survey.add(file, header)
            self._check_size(survey, file, (header.height, header.width))
        return survey

    def read(self, part: int, reader: PixelReader) -> Iterator[tuple[list[MediaFile], np.ndarray]]:
        """Yields the pixels [n, channels, height, width] of some images of a part at a time."""
        for block in self.samples(part, reader, int(np.prod(reader.shape))):
            for _, pixels in block:
                if pixels.deep is not None:
                    self._num_deep += 1
                    self._deep[pixels.deep] = True
            if block:
                yield [file for file, _ in block], np.stack([pixels.values for _, pixels in block])

    def tell_the_end(self, survey: Survey) -> None:
        """Tells how many files were left out, and of values that were different in their files and are equal as pixels."""
        note = self._job.writer.note
        self.tell_what_is_left_out()
        stored, kept = np.count_nonzero(self._deep), len(np.unique(rounded(np.flatnonzero(self._deep))))
        if stored != kept:
            note(f"check: {counted(self._num_deep, 'image')} with more than 8 bits per value: their {stored} different values are {kept} "
                 "as pixels (`skyline prep arrays` keeps those of an array)")
        if survey.deep_colours:
            note(f"check: {counted(survey.deep_colours, 'image')} with more than 8 bits per value and several channels: the upper 8 are "
                 "read (`skyline prep arrays` keeps those of an array)")
        if survey.with_frames:
            note(f"check: {counted(survey.with_frames, 'file')} with several frames or pages: the first is read")

    def _check_size(self, survey: Survey, file: MediaFile, size: tuple[int, int]) -> None:
        assert survey.first is not None
        first, its_size = survey.first
        if self._job.options.size is None and size != its_size:
            raise PrepError(f"{file.path}: {size[0]} x {size[1]} pixels, and {first.path} has {its_size[0]} x {its_size[1]}: make them one "
                            "size by --size")
