"""The kind `sounds`: files in one folder per class, or with a table of labels, as spectrograms or as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .dataset import PARTS, TRAIN, Facts
from .errors import PrepError, counted
from .kinds import Job, Kind, Rows
from .log_mel import LogMel
from .media_folder import MediaFile
from .media_import import MediaImport
from .media_reader import MediaReader
from .sound_files import SoundHeader, read_sound, read_sound_header
from .sound_kinds import SOUND
from .sound_preparation import SoundPreparation
from .wording import in_quotes, number_text, printable

_OF_THE_RUN = ("rate", "length", "features", "window", "hop", "bands", "low", "high")
_MOST_CHOSEN_S = 10
_WHOLE_SHARE = 0.95
_VALUE_BYTES = 4


class SoundsKind(Kind):
    def prepare(self, job: Job) -> None:
        _Import(job).run()

    def apply(self, job: Job) -> Rows:
        assert job.run is not None
        given = next((name for name in job.given if name in _OF_THE_RUN), None)
        if given:
            raise PrepError(f"--{given}: new sounds are prepared as the run's were")
        preparation = SoundPreparation.from_json(job.run.preparation)
        if preparation.shape != tuple(job.run.shape):
            raise PrepError(f"{job.sources[0]}: the run's preparation makes samples of {preparation.shape}, and its samples are "
                            f"{tuple(job.run.shape)}")
        job.options.test = job.options.test or 0.0
        return _Import(job, preparation).run()


@dataclass
class _Survey:
    """The headers of the sounds that can be read."""

    headers: Counter[SoundHeader] = field(default_factory=Counter)
    first: tuple[MediaFile, SoundHeader] | None = None

    def counted_lengths(self, rate: int) -> Counter[int]:
        """Returns how many sounds have so many samples at a rate."""
        lengths: Counter[int] = Counter()
        for header, count in self.headers.items():
            lengths[header.length_at(rate)] += count
        return lengths


class _Import(MediaImport):
    """Reads the sounds of a folder into a data set."""

    def __init__(self, job: Job, known: SoundPreparation | None = None) -> None:
        super().__init__(job, SOUND)
        self._reader = MediaReader(job, self._folder)
        self._known = known
        self._silent: list[str] = []

    def run(self) -> Rows:
        self._tell_folder(self._reader)
        survey = self._survey()
        made = self._known or self._preparation(survey)
        groups = self._groups()
        drawn = self._draw(groups, self._reader).text()
        self._check_classes()
        self._tell_changes(survey, made)
        source = self._source("Skyline", drawn)
        self._writer.describe(Facts(made.shape, self._folder.class_names, "classes", source, is_pixels=False, value_scale=1.0,
                                    preparation=self._job.run.preparation if self._job.run else made.to_json(), is_sound=True), self._counts())
        appended = [self._append(part, self._samples(part, made)) for part in range(len(PARTS))]
        self._set_groups(groups, appended[TRAIN])
        self._check_classes()  # again: some of the files may have been damaged
        self._reader.tell_what_is_left_out()
        if self._silent:
            self._writer.note(f"check: {counted(len(self._silent), 'sound')} without any sound, e.g. {in_quotes(printable(self._silent[0]))}")
        return self._reader.rows()

    def _survey(self) -> _Survey:
        survey = _Survey()
        for file, header in self._reader.headers(read_sound_header):
            survey.headers[header] += 1
            survey.first = survey.first or (file, header)
            if not self._known:
                self._check_like_first(file, header, survey.first)
        return survey

    def _check_like_first(self, file: MediaFile, header: SoundHeader, first: tuple[MediaFile, SoundHeader]) -> None:
        other, its = first
        if self._options.rate is None and header.rate != its.rate:
            raise PrepError(f"{file.path}: {header.rate} Hz, and {other.path} has {its.rate} Hz: make them one rate by --rate")
        if self._options.length is None and header.frames * its.rate != its.frames * header.rate:
            raise PrepError(f"{file.path}: {_seconds(header.frames, header.rate)} s, and {other.path} has {_seconds(its.frames, its.rate)} s: "
                            "make them one length by --length")

    def _preparation(self, survey: _Survey) -> SoundPreparation:
        assert survey.first is not None
        options = self._options
        rate = options.rate or survey.first[1].rate
        length = self._length(survey.counted_lengths(rate), rate)
        mel = None
        if options.features == "log-mel":
            window, hop = (max(round(ms * rate / 1000), 1) for ms in (options.window, options.hop))
            high = rate / 2 if options.high is None else options.high
            mel = LogMel(rate, window, hop, options.bands, float(options.low), float(high))
        made = SoundPreparation(rate, length, mel)
        made.check()
        return made

    def _length(self, lengths: Counter[int], rate: int) -> int:
        """Returns the number of samples of all sounds."""
        chosen = self._options.length
        if isinstance(chosen, float):
            return max(round(chosen * rate), 1)
        if len(lengths) == 1 or chosen is None:
            return max(lengths)
        ordered = sorted(lengths.elements())
        of_most = ordered[min(int(_WHOLE_SHARE * len(ordered)), len(ordered) - 1)]
        tenths = min(-(-10 * of_most // rate), 10 * _MOST_CHOSEN_S)
        self._writer.note(f"length: {tenths / 10} s, which leaves {round(100 * _WHOLE_SHARE)} of 100 sounds whole where that is at most "
                          f"{_MOST_CHOSEN_S} s; another one: --length")
        return tenths * rate // 10

    def _tell_changes(self, survey: _Survey, made: SoundPreparation) -> None:
        """Tells how many sounds are resampled, filled up or cut."""
        total = survey.headers.total()
        lengths = survey.counted_lengths(made.rate)
        shorter = sum(count for length, count in lengths.items() if length < made.length)
        longer = sum(count for length, count in lengths.items() if length > made.length)
        if shorter or longer:
            self._writer.note(f"length: {_seconds(made.length, made.rate)} s: zeros follow {shorter} of {counted(total, 'sound')}, and {longer} "
                              "are cut at their ends (--length)")
        other = sum(count for header, count in survey.headers.items() if header.rate != made.rate)
        if other:
            self._writer.note(f"rate: {made.rate} Hz: {other} of {counted(total, 'sound')} are resampled (--rate)")
        several = sum(count for header, count in survey.headers.items() if header.channels > 1)
        if several:
            self._writer.note(f"{several} of {counted(total, 'sound')} have several channels: their mean is taken")

    def _samples(self, part: int, made: SoundPreparation) -> Iterator[tuple[list[MediaFile], np.ndarray]]:
        """Yields the samples [n, channels, height, width] of some sounds of a part at a time."""
        def read(path: str) -> tuple[np.ndarray, bool]:
            samples = read_sound(path, made.rate, made.length)
            return made.features(samples), not samples.any()

        for block in self._reader.samples(part, read, int(np.prod(made.shape)) * _VALUE_BYTES):
            self._silent += [file.path for file, (_, is_silent) in block if is_silent]
            if block:
                yield [file for file, _ in block], np.stack([values for _, (values, _) in block])


def _seconds(frames: int, rate: int) -> str:
    return number_text(round(frames / rate, 4))


KINDS = {"sounds": SoundsKind()}
