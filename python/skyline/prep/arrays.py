"""Data sets from arrays in files. Tables, which are of the same kind, are read by tables.py."""

from __future__ import annotations

import numpy as np

from .centres import centre_of, known_centre, tell_merged, with_targets
from .array_files import array_format, list_arrays
from .array_parts import PartArrays, Parts, find_parts
from .array_targets import read_groups, read_names, read_targets
from .content import sample_hashes
from .dataset import TRAIN, Facts
from .errors import PrepError
from .kinds import Job, Kind, Rows
from .layouts import sample_layout
from .option_table import ARRAYS, TABLES, refuse_foreign
from .preparation import Preparation
from .report import Progress
from .source_array import SourceArray
from .split import Draw, chosen_shares, draw
from .targets import (TRANSFORMS, Targets, check_classes, chosen_kind, join_columns, refuse_constant, refuse_without_logarithm,
                      scale_numbers, stored_targets)
from .wording import target_labels

_PIXELS_SCALE = 255.0


class ArraysKind(Kind):
    def prepare(self, job: Job) -> None:
        arrays = _arrays_of(job)
        if arrays is None:
            from .tables import prepare_tables

            prepare_tables(job)
        else:
            _ArrayImport(job, arrays).run()

    def apply(self, job: Job) -> Rows:
        arrays = _arrays_of(job)
        if arrays is None:
            from .tables import apply_table

            return apply_table(job)
        return _ArrayImport(job, arrays).run()


def _arrays_of(job: Job) -> list[SourceArray] | None:
    """Returns the arrays of all files, or None if they are tables."""
    formats = [array_format(path) for path in job.sources]
    refuse_foreign(job.given, ARRAYS if any(formats) else TABLES, job.sources[0])
    if not any(formats):
        return None
    if not all(formats):
        raise PrepError(f"{job.sources[formats.index('')]}: expected an npz, npy, IDX or HDF5 file beside other files of arrays")
    return [array for path, kind in zip(job.sources, formats) for array in list_arrays(path, kind, job.report)]


class _ArrayImport:
    """Reads arrays into a data set."""

    def __init__(self, job: Job, arrays: list[SourceArray]) -> None:
        self._job, self._options, self._run, self._writer = job, job.options, job.run, job.writer
        if self._run is not None:
            self._adapt_options(self._run.targets)
        self._parts: Parts = find_parts(arrays, job.options, job.run is not None, job.has_targets)
        self._layout = sample_layout(self._parts.first.x, job.options.layout, job.options.shape, self._run.shape if self._run else None)
        self._known = Preparation.from_json(self._run.preparation) if self._run and self._run.preparation else None
        self._offsets: np.ndarray | None = None
        targets = self._known.targets if self._known and job.has_targets else []
        self._scales = targets if any(each.transform for each in targets) else []  # scales of logarithms; the program scales others

    def run(self) -> Rows:
        arrays = [part.x for part in self._parts.arrays]  # a packed file of some kilobytes may claim any number of values
        self._writer.check_room(sum(x.rows * x.row_elements for x in arrays), arrays[0].is_uint8)
        self._targets = self._read_targets()
        self._drawn = self._draw()
        if self._run is None:
            is_chosen = bool(self._options.targets or self._parts.class_names or self._parts.first.y.words)
            check_classes(self._columns[0], self._targets, self._drawn, is_chosen)
        self._scale_targets()
        preparation = self._prepare()
        if self._run is None:
            refuse_constant(self._columns[0], self._targets, self._drawn.trained)
        self._note_guesses()
        x = self._parts.first.x
        drawn = self._drawn.text()
        scale = self._options.value_scale or (self._run.value_scale if self._run else _PIXELS_SCALE)
        counts = [sum(int((self._parts_of(part) == number).sum()) for part in self._parts.arrays) for number in range(3)]
        self._writer.describe(Facts(self._layout.shape, self._targets.names, self._targets.kind,
                                    f"arrays of {x.file.name}" + (f"; {drawn}" if drawn else ""), x.is_uint8, scale if x.is_uint8 else 1.0,
                                    preparation, self._drawn.shares.last), counts)
        for part, targets in zip(self._parts.arrays, self._targets.values):
            self._add(part, targets)
        self._writer.keep_together(self._drawn)
        for line in (line for array in self._parts.used() for line in array.notes):
            self._writer.note(line)
        return self._rows()

    def _adapt_options(self, targets: str) -> None:
        """Sets the options that follow from the run, unless they are given."""
        if self._options.test is None:
            self._options.test = 0.0
        if self._options.targets is None:
            self._options.targets = targets

    def _read_targets(self) -> Targets:
        arrays = self._parts.arrays
        if not self._job.has_targets:
            return Targets("classes", ["unknown"], [np.zeros(part.x.rows, np.int32) for part in arrays])
        names = read_names(self._parts.class_names) if self._parts.class_names else []
        self._columns = read_targets([part.y for part in arrays])
        targets = join_columns(self._columns, chosen_kind(self._options.targets), names)
        if self._scales:
            refuse_without_logarithm(self._columns, targets.names, self._scales[0].transform)
        return targets

    def _draw(self) -> Draw:
        """Finds the part of each row of the first array."""
        parts = self._parts.arrays
        shares = chosen_shares(self._options, {part.part: f"{part.x.label} is" for part in parts})
        groups = read_groups(parts, self._options.group) if self._parts.first.group else None

        def hashes() -> np.ndarray:
            return np.concatenate([sample_hashes(rows) for rows in self._parts.first.x.rows_in_blocks()])

        return draw(self._targets.labels(), self._targets.kind == "classes", shares, groups, hashes,
                    self._parts.first.group.label if self._parts.first.group else "")

    def _prepare(self) -> str:
        """Finds out what is subtracted from columns, and returns it as a preparation. Tells of numbers that are rounded."""
        x, note, made = self._parts.first.x, self._writer.note, None
        if self._options.layout in (None, "nf") and not self._options.shape and len(x.shape) <= 2:
            made = known_centre(x, self._known) if self._run else centre_of(x, self._drawn.trained, note)
            self._offsets = np.array([each.subtract for each in made.features]) if made else None
        elif self._run is None:
            tell_merged(x, note)
        if self._targets.kind == "numbers" and self._run is None:
            tell_merged(self._parts.first.y, note, are_targets=True)
        if self._scales:
            made = self._known or with_targets(made, x.row_elements, self._scales)
        return made.to_json() if made else ""

    def _scale_targets(self) -> None:
        """Scales the logarithms of targets, if they are what is learned."""
        targets, chosen = self._targets, self._options.targets
        if self._scales:
            targets.values = [stored_targets(values, self._scales) for values in targets.values]
        elif self._run is None and chosen in TRANSFORMS:
            self._scales = scale_numbers(self._columns, target_labels(targets.names), targets, self._drawn.trained, chosen)

    def _note_guesses(self) -> None:
        note = self._writer.note
        for line in self._targets.notes:
            note(line)
        for name in self._parts.left_over:
            note(f"array `{name}` is not read (--group={name} keeps its groups of samples together)")
        if self._parts.class_names:
            note("names of the outputs: array `class_names`")
        for line in self._drawn.notes():
            note(line)

    def _parts_of(self, part: PartArrays) -> np.ndarray:
        """Returns the part of each row of an array."""
        return self._drawn.parts if part.part == TRAIN else np.full(part.x.rows, part.part)

    def _add(self, part: PartArrays, targets: np.ndarray) -> None:
        to = self._parts_of(part)
        progress = Progress(self._job.report, f"reading {part.x.label}", part.x.rows)
        begin = 0
        for rows in part.x.rows_in_blocks():
            samples = self._layout.samples(self._values(part.x, rows, begin))
            end = begin + len(rows)
            for each in np.unique(to[begin:end]):
                chosen = to[begin:end] == each
                self._writer.append(int(each), samples[chosen], targets[begin:end][chosen])
            begin = end
            progress.advance(len(rows))

    def _values(self, x: SourceArray, rows: np.ndarray, begin: int) -> np.ndarray:
        """Returns rows as uint8 or finite float32."""
        if x.is_uint8:
            return rows
        with np.errstate(over="ignore", invalid="ignore"):
            if self._offsets is not None:
                rows = rows.reshape(len(rows), -1) - self._offsets
            values = rows.astype(np.float32)
        wrong = ~np.isfinite(values).reshape(len(values), -1).all(1)
        if wrong.any():
            x.fail(f"sample {begin + int(np.argmax(wrong))}: a number that is not finite")
        return values

    def _rows(self) -> Rows:
        rows = Rows()
        for each in range(3):
            for part in self._parts.arrays:
                names = map(str, np.flatnonzero(self._parts_of(part) == each).tolist())
                rows.names += names
                rows.parts += [each] * (len(rows.names) - len(rows.parts))
        rows.problems = [""] * len(rows.names)
        return rows


KINDS = {"arrays": ArraysKind()}
