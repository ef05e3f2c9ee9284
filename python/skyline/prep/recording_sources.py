"""The tables of a folder of recordings, and the part of each."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator

from .dataset import PARTS, TRAIN
from .errors import DamagedFile, PrepError, counted
from .kinds import TABLE_ENDINGS, Job
from .media import ending_of
from .media_folder import counts_text, files_in, stated_part
from .recording_files import open_recording
from .report import Progress
from .table_files import Table
from .tables import part_in_name


class RecordingFiles:
    """The tables of the sources, and the part that their folders state."""

    def __init__(self, job: Job) -> None:
        self.parts: dict[pathlib.Path, int] = {}
        self.damaged: dict[pathlib.Path, str] = {}  # reasons why files are left out
        others: Counter[str] = Counter()
        for source in job.sources:
            for path in map(pathlib.Path, files_in(str(source)) if source.is_dir() else [str(source)]):
                if not source.is_dir() or ending_of(str(path).removesuffix(".gz")) in TABLE_ENDINGS:
                    top, *below = path.relative_to(source).parts if source.is_dir() else [""]
                    self.parts[path] = (stated_part(top) if below else None) or TRAIN
                else:
                    others[ending_of(str(path))] += 1
        if others:
            job.writer.note(f"check: {job.sources[0]}: files that are no tables are not read: {counts_text(others)}")
        for path, part in self.parts.items():
            stated = part_in_name(path)
            if part == TRAIN and stated not in (None, TRAIN):
                job.writer.note(f"check: {path}: taken for training, although it is named like the {PARTS[stated]} set: parts are folders "
                                "`train`, `val` and `test`")
        if not self.parts:
            raise PrepError(f"{job.sources[0]}: no table in it, expected {', '.join(sorted(TABLE_ENDINGS))}")

    def opened(self, job: Job) -> Iterator[tuple[Table, int]]:
        """Yields the tables, those of the training set first. Damaged ones among others are left out and told."""
        progress = Progress(job.report, "reading the recordings", len(self.parts))
        for path, part in sorted(self.parts.items(), key=lambda each: (each[1], str(each[0]))):
            job.report.reading(path)
            try:
                yield open_recording(path), part
            except DamagedFile as problem:
                self._leave_out(job, path, problem)
            progress.advance()

    def _leave_out(self, job: Job, path: pathlib.Path, problem: DamagedFile) -> None:
        self.damaged[path] = str(problem)
        if len(self.damaged) == len(self.parts):
            raise problem
        if len(self.damaged) > job.options.skip:
            raise PrepError(f"{job.sources[0]}: more than {counted(job.options.skip, 'file')} cannot be read (--skip=N allows N), the last of "
                            f"them {problem}")
        job.report.line(f"check: left out: {problem}")
