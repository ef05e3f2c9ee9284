"""The kind `recordings`: tables of sensors with a row for each moment, cut into windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .dataset import PARTS, TEST, TRAIN, VALIDATION, Facts
from .errors import PrepError, counted
from .kinds import Job, Kind, Rows
from .options import number_in
from .recording_files import Recording, read_recording, refuse_other_rate, sorted_names
from .recording_sources import RecordingFiles
from .recordings_for_runs import apply_recordings
from .split import Draw, Groups, chosen_shares, draw
from .table_columns import columns_in, one_column
from .table_dialect import is_nameless
from .table_files import Table
from .targets import Target, TargetColumns, Targets, refuse_constant, scale_numbers
from .window_preparation import WindowPreparation
from .window_samples import append_windows, left_out, rows_of
from .windows import Windows, cut
from .wording import in_quotes, number_text, quoted_list

_LABEL_NAMES = {"label", "class", "target", "activity"}  # not y, which is a direction here
_TIME_NAMES = {"time", "timestamp"}
_MOST_SAMPLE_VALUES = 1 << 24
_FEW_WINDOWS = 30


class RecordingsKind(Kind):
    def prepare(self, job: Job) -> None:
        _Import(job).run()

    def apply(self, job: Job) -> Rows:
        return apply_recordings(job)


class _Import:
    """Reads recordings into a data set."""

    def __init__(self, job: Job) -> None:
        self._job, self._options, self._writer = job, job.options, job.writer
        self._place = str(job.sources[0])
        if self._options.length is None:
            raise PrepError("--length: the rows of a window are needed, e.g. --length=128, or --length=2.56s by the column of the time")

    def run(self) -> None:
        files = RecordingFiles(self._job)
        recordings, made = self._read(files)
        windows = [cut(each, made.length, made.step, made.label_of) for each in recordings]
        if not any(len(each.begins) for each in windows):
            longest = max((rows for each in recordings for rows in np.diff(each.ends)), default=0)
            why = "; ".join(left_out(windows, made.columns)) or f"at most {longest} rows belong together (--length, --group)"
            raise PrepError(f"{self._place}: no window of {made.length} rows: {why}")
        names = made.target_names if made.targets else self._class_names(windows, made.label)
        targets = [each.labels if made.targets else self._numbered(each, names) for each in windows]
        drawn, parts = self._draw(windows, [np.zeros(len(own), int) if made.targets else own for own in targets], not made.targets)
        self._tell(windows, made)
        text = drawn.text()
        self._writer.notes += drawn.notes()
        if made.targets:
            made, targets = self._scaled(made, windows, parts)
        self._writer.describe(Facts(made.shape, names, "numbers" if made.targets else "classes", f"windows of {counted(len(recordings), 'recording')}"
                                    + (f"; {text}" if text else ""), is_pixels=False, value_scale=1.0, preparation=made.to_json()),
                              [sum(int((own == part).sum()) for own in parts) for part in range(len(PARTS))])
        for part in range(len(PARTS)):
            for each, own, of_each in zip(windows, parts, targets):
                chosen = np.flatnonzero(own == part)
                append_windows(self._job, part, each, chosen, of_each[chosen])
        self._writer.keep_together(drawn)

    def _read(self, files: RecordingFiles) -> tuple[list[Recording], WindowPreparation]:
        """Reads all files, which must be like the first one."""
        recordings: list[Recording] = []
        made: WindowPreparation | None = None
        for table, part in files.opened(self._job):
            if made is None:
                if part != TRAIN:
                    raise PrepError(f"{self._place}: no recording to train on")
                made = self._columns(table)
            recording = read_recording(table, part, made, {*made.target_names, made.group, made.time})
            recordings.append(recording)
            if len(recordings) == 1:
                made = self._sized(made, recording)
            refuse_other_rate(recording, made.step_s, str(recordings[0].path))
            if len(recording.values) < made.length:
                raise PrepError(f"{table.path}: {counted(len(recording.values), 'row')}, expected at least {made.length}, those of a window "
                                "(--length)")
            self._writer.notes += [note for note in table.notes if note not in self._writer.notes]
        assert made is not None
        return recordings, made

    def _columns(self, table: Table) -> WindowPreparation:
        """Finds what the columns of the first table are for."""
        options, names = self._options, table.names
        are_numbers = options.targets != "classes"
        left_out = [names[place] for place in columns_in(table, options.drop, "drop")]
        left_out += [name for name in names if is_nameless(name) and name not in left_out]
        label_of = self._label_of()
        labels = [names[place] for place in columns_in(table, options.label, "label")] if are_numbers else []
        labels = labels or [self._named(table, "label", options.label, _LABEL_NAMES)]
        if not labels[0]:
            raise PrepError(f"{table.names_location()}: which column has the {'numbers' if are_numbers else 'classes'}? Name it by --label"
                            f"{'' if are_numbers else ', or numbers by --label and --targets=numbers'}: {quoted_list(names)}")
        time = self._named(table, "time", options.time, _TIME_NAMES)
        group = "" if options.group == "file" else self._named(table, "group", options.group, set())
        taken = [*labels, group, time, *left_out]
        twice = next((name for name in names if name and taken.count(name) > 1 and name != group), None)
        if twice:
            raise PrepError(f"{table.names_location()}: {in_quotes(twice)} is named by several of --label, --time and --drop")
        columns = tuple(name for name in names if name not in taken)
        if not columns:
            raise PrepError(f"{table.names_location()}: no column with values beside the label, the time and the group")
        self._writer.note(f"channels: {quoted_list(columns)} (--drop leaves columns out)")
        return WindowPreparation(columns, 1, 1, "" if are_numbers else labels[0], label_of, group, time, options.time_unit, 0.0, tuple(left_out),
                                 tuple(map(Target, labels)) if are_numbers else ())

    def _label_of(self) -> str:
        """Returns which rows of a window decide its class, or its numbers."""
        are_numbers, chosen = self._options.targets != "classes", self._options.label_of
        usual, other = ("mean", "majority") if are_numbers else ("majority", "mean")
        if chosen == other:
            raise PrepError(f"--label-of={other} is for {'classes' if are_numbers else 'numbers (--targets)'}: expected {usual} or last")
        return chosen or usual

    def _named(self, table: Table, option: str, chosen: str, usual: set[str]) -> str:
        """Returns the name of the column that an option names, or of the one with a usual name."""
        if chosen:
            place = one_column(table, chosen, option)
            assert place is not None
            return table.names[place]
        found = [name for name in table.names if name.lower() in usual]
        if len(found) > 1:
            raise PrepError(f"{table.names_location()}: {in_quotes(found[0])} and {in_quotes(found[1])} may both be meant: name one by --{option}")
        if found:
            self._writer.note(f"{option}: {in_quotes(found[0])}, by its name (--{option})")
        return found[0] if found else ""

    def _sized(self, made: WindowPreparation, first: Recording) -> WindowPreparation:
        """Finds the rows of a window and of a step, which the options may say in seconds."""
        made = replace(made, step_s=first.step_s)
        length = rows_of(self._options.length, made, "length")
        step = rows_of(self._options.step, made, "step") if self._options.step else max(length // 2, 1)
        if length * len(made.columns) > _MOST_SAMPLE_VALUES:
            raise PrepError(f"--length: windows of {length * len(made.columns)} values, expected at most {_MOST_SAMPLE_VALUES}")
        return replace(made, length=length, step=step)

    def _class_names(self, windows: Sequence[Windows], label: str) -> list[str]:
        names = sorted_names({name for each in windows for name in (each.recording.names[label] for label in np.unique(each.labels))})
        if len(names) < 2:
            raise PrepError(f"{self._place}: {in_quotes(label)}: expected at least 2 classes of windows, got "
                            + (f"{in_quotes(names[0])} alone" if names else "0"))
        total = sum(len(each.begins) for each in windows)
        are_numbers = 3 * len(names) > max(total, _FEW_WINDOWS) and all(number_in(name) is not None for name in names)
        if are_numbers and "targets" not in self._job.given:
            raise PrepError(f"{self._place}: {in_quotes(label)}: {len(names)} different numbers in {total} windows: say --targets=numbers or "
                            "--targets=classes")
        return names

    def _scaled(self, made: WindowPreparation, windows: Sequence[Windows],
                parts: Sequence[np.ndarray]) -> tuple[WindowPreparation, list[np.ndarray]]:
        """Scales the numbers by the training windows. Returns the preparation with the scales, and the numbers as they are stored."""
        bounds = np.cumsum([len(each.begins) for each in windows])

        def location(row: int) -> str:
            own = int(np.searchsorted(bounds, row, "right"))
            return windows[own].location(row - (bounds[own - 1] if own else 0))

        numbers = np.concatenate([each.labels for each in windows])
        columns = TargetColumns(self._place, made.target_names, numbers, "numbers", location=location)
        targets, trained = Targets("numbers", columns.names, [columns.values]), np.concatenate(parts) == TRAIN
        if not trained.any():
            raise PrepError(f"{self._place}: the training set is empty")
        scales = scale_numbers([columns], [in_quotes(name) for name in columns.names], targets, trained, self._options.targets)
        refuse_constant(columns, targets, trained)
        self._writer.notes += targets.notes
        return replace(made, targets=tuple(scales)), np.split(targets.values[0], bounds[:-1])

    def _numbered(self, windows: Windows, names: Sequence[str]) -> np.ndarray:
        places = {name: place for place, name in enumerate(names)}
        numbers = np.array([places.get(name, -1) for name in windows.recording.names], int)
        return numbers[windows.labels] if len(windows.labels) else np.empty(0, int)

    def _draw(self, windows: Sequence[Windows], labels: Sequence[np.ndarray], has_classes: bool) -> tuple[Draw, list[np.ndarray]]:
        """Draws the parts of whole recordings. Returns the part of each window, too."""
        of_parts = {part: [place for place, each in enumerate(windows) if each.recording.part == part] for part in (TRAIN, VALIDATION, TEST)}
        shares = chosen_shares(self._options, {part: f"{self._place}: it has a folder for" for part, own in of_parts.items()
                                               if own and part != TRAIN})
        source = f"column {in_quotes(self._options.group)}" if self._options.group != "file" else "files"
        groups = Groups(source)
        for part, own in of_parts.items():
            numbers, names = _group_numbers([windows[place] for place in own])
            if own:
                groups.add(part, names, numbers, f"{self._place}: the {PARTS[part]} set")
        if shares.test + shares.validation > 0 and len(groups.names) < 2:
            raise PrepError(f"{self._place}: one recording alone cannot be divided into parts: name the column of persons, days or recordings "
                            "by --group, or cut it into files, of which a search needs 3, and 2 with --test=0")
        of_training = [labels[place] for place in of_parts[TRAIN]]
        drawn = draw(np.concatenate([np.empty(0, int), *of_training]), has_classes, shares, groups, lambda: np.empty(0, int), self._place)
        bounds = np.cumsum([len(own) for own in of_training])[:-1]
        of_drawn = dict(zip(of_parts[TRAIN], np.split(drawn.parts, bounds)))
        return drawn, [of_drawn[place] if place in of_drawn else np.full(len(each.begins), each.recording.part)
                       for place, each in enumerate(windows)]

    def _tell(self, windows: Sequence[Windows], made: WindowPreparation) -> None:
        note, total = self._writer.note, sum(len(each.begins) for each in windows)
        of_time = f" ({number_text(round(made.length * made.step_s, 4))} s)" if made.step_s > 0 else ""
        note(f"{counted(total, 'window')} of {made.length} rows{of_time}, one each {counted(made.step, 'row')} (--length, --step)")
        self._writer.notes += [f"check: {line}" for line in left_out(windows, made.columns)]


def _group_numbers(windows: Sequence[Windows]) -> tuple[np.ndarray, list[str]]:
    """Returns the number of the group of each window, and the groups' names."""
    numbers: dict[str, int] = {}
    own = [np.array([numbers.setdefault(name, len(numbers)) for name in each.recording.groups], int)[each.stretches] for each in windows]
    return np.concatenate([np.empty(0, int), *own]), [*numbers]


KINDS = {"recordings": RecordingsKind()}
