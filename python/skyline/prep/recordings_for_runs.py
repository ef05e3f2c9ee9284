"""Reads new recordings for the networks of a run."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from .dataset import PARTS, Facts
from .errors import PrepError, counted
from .kinds import Job, Rows, RunData
from .recording_files import read_recording, refuse_other_rate
from .recording_sources import RecordingFiles
from .targets import TargetColumns, refuse_without_logarithm, stored_targets
from .window_preparation import WindowPreparation
from .window_samples import append_windows, left_out, rows_of
from .windows import Windows, cut
from .wording import in_quotes, printable, quoted_list

_OF_THE_RUN = ("length", "time", "time-unit", "label", "targets", "label-of", "group", "drop")


def apply_recordings(job: Job) -> Rows:
    assert job.run is not None
    given = next((name for name in job.given if name in _OF_THE_RUN), None)
    if given:
        raise PrepError(f"--{given}: new recordings are prepared as the run's were")
    known = WindowPreparation.from_json(job.run.preparation)
    if known.shape != tuple(job.run.shape):
        raise PrepError(f"{job.sources[0]}: the run's preparation makes samples of {known.shape}, and its samples are {tuple(job.run.shape)}")
    return _Application(job, known).run()


class _Application:
    """Reads new recordings for the networks of a run."""

    def __init__(self, job: Job, known: WindowPreparation) -> None:
        step = rows_of(job.options.step, known, "step") if job.options.step else known.step
        self._job, self._known = job, replace(known, step=step)

    def run(self) -> Rows:
        job, known, run, rows = self._job, self._known, self._job.run, Rows("window", may_fail=True)
        assert run is not None
        cuts, all_labels = [], []
        files = RecordingFiles(job)
        for table, part in files.opened(job):
            recording = read_recording(table, part, known, known.target_names if job.has_targets else (), of_run=True)
            refuse_other_rate(recording, known.step_s, "those of the run")
            windows = cut(recording, known.length, known.step, known.label_of if job.has_targets else "")
            unknown = sorted({*recording.names} - {*run.class_names}) if job.has_targets else []
            if unknown:
                raise PrepError(f"{table.path}: {in_quotes(known.label)}: a class that the run does not know: {quoted_list(unknown)}")
            cuts.append(windows)
            all_labels.append(self._targets(windows, run))
            _add_rows(rows, windows, len(recording.values))
        for path, problem in files.damaged.items():
            _add_row(rows, printable(os.path.normpath(path)), problem, files.parts[path])
        job.writer.notes += [f"check: {line}" for line in left_out(cuts, known.columns)]
        counts = [sum(len(each.begins) for each in cuts if each.recording.part == part) for part in range(len(PARTS))]
        job.writer.describe(Facts(known.shape, run.class_names, run.targets, str(job.sources[0]), is_pixels=False, value_scale=1.0,
                                  preparation=run.preparation), counts)
        for windows, labels in zip(cuts, all_labels):
            append_windows(job, windows.recording.part, windows, np.arange(len(windows.begins)), labels)
        return rows

    def _targets(self, windows: Windows, run: RunData) -> np.ndarray:
        """Returns the targets of the windows as they are stored; zeros where none are wanted."""
        targets = self._known.targets
        if targets and windows.recording.numbers is not None:
            columns = TargetColumns("", self._known.target_names, windows.labels, "numbers", location=windows.location)
            refuse_without_logarithm([columns], columns.names, targets[0].transform)
            return stored_targets(windows.labels, targets)
        if targets:
            return np.zeros((len(windows.begins), len(run.class_names)))
        places = np.array([run.class_names.index(name) for name in windows.recording.names], int)
        return places[windows.labels] if len(places) else windows.labels


def _add_rows(rows: Rows, windows: Windows, total: int) -> None:
    """Adds the windows of a recording, and those that are no samples."""
    path, length, part = printable(os.path.normpath(windows.recording.path)), windows.length, windows.recording.part
    problems = {int(begin): "" for begin in windows.begins}
    problems |= {int(begin): "a missing value" for begin in ([] if windows.skipped is None else windows.skipped)}
    if not problems:
        problems = {0: f"{counted(total, 'row')} without a gap at most, a window has {length}" if total >= length else
                    f"{counted(total, 'row')}, a window has {length}"}
    for begin, problem in sorted(problems.items()):
        _add_row(rows, f"{path} rows {begin + 1}-{min(begin + length, total)}", problem, part)


def _add_row(rows: Rows, name: str, problem: str, part: int) -> None:
    rows.names.append(name)
    rows.problems.append(problem)
    rows.parts.append(part)
