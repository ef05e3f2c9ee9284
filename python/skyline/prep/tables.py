"""Data sets from tables: which file is which part, and how their rows become samples. For new samples of a run, too."""

from __future__ import annotations

import argparse
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .content import sample_hashes
from .dataset import PARTS, TARGET_TYPES, TEST, TRAIN, VALIDATION, Facts
from .errors import PrepError, counted
from .kinds import Job, Rows, RunData
from .layouts import chosen_shape
from .preparation import Feature, Preparation, Reading
from .split import Draw, Groups, draw, chosen_shares
from .table_columns import Columns, columns_in, find_columns, find_columns_for_model, match_columns
from .table_dialect import is_nameless
from .table_files import Table, read_table
from .table_samples import refuse_rows, sample_values
from .table_survey import Survey
from .table_targets import read_columns
from .targets import (Target, TargetColumns, Targets, check_classes, chosen_kind, join_columns, refuse_constant, refuse_without_logarithm,
                      scale_numbers, stored_targets)
from .wording import in_quotes, number_text, suggestion

_NOT_TESTS = {"contest", "fastest", "greatest", "latest"}
_ARRAY_PARTS = ("train", "val", "test")  # in names of arrays, and of options
_PIXELS_SCALE = 255.0


def part_in_name(path: pathlib.Path) -> int | None:
    """Returns the part that a word in the file's name states: `train.csv`, `my_test2.csv`, `val.csv`."""
    parts = set()
    for word in re.findall("[a-z]+", path.name.lower()):
        parts |= {TRAIN} if word.startswith("train") else set()
        parts |= {TEST} if word.startswith("test") or (word.endswith("test") and word not in _NOT_TESTS) else set()
        parts |= {VALIDATION} if word in ("val", "valid", "validation") else set()
    return parts.pop() if len(parts) == 1 else None


def prepare_tables(job: Job) -> None:
    """Makes a data set of files: a training table, and tables of other parts if there are some."""
    files = _files_by_part(job)
    if TRAIN not in files:
        there = " and ".join(f"{path.name} ({PARTS[part]})" for part, path in files.items())
        raise PrepError(f"no table to train on, there are {there}: name it by --x-train=FILE")
    for part, path in files.items():
        is_guess = part != TRAIN and part_in_name(files[TRAIN]) is None and path.name != getattr(job.options, f"x_{_ARRAY_PARTS[part]}")
        if is_guess:
            job.writer.note(f"check: {path.name} is taken for the {PARTS[part]} set by its name (--x-train={path.name} takes it for "
                            "training)")
    prepare_frames(_read(job, files, Reading.of(job.options)), job)


def _files_by_part(job: Job) -> dict[int, pathlib.Path]:
    """Returns the file of each part: by the options, else by the files' names."""
    chosen = {getattr(job.options, f"x_{name}"): part for part, name in enumerate(_ARRAY_PARTS)}
    names = [path.name for path in job.sources]
    for name, part in chosen.items():
        if name and name not in names:
            raise PrepError(f"--x-{_ARRAY_PARTS[part]}: no table {in_quotes(name)}, {suggestion(name, names)}")
    files: dict[int, pathlib.Path] = {}
    for path in job.sources:
        stated = TRAIN if job.run is None and len(names) == 1 else part_in_name(path)  # one table alone is there to train on
        part = chosen.get(path.name, stated or TRAIN)
        if part in files:
            raise PrepError(f"{files[part]} and {path}: both are taken for the {PARTS[part]} set: leave one out, or say what it is by "
                            f"--x-test={path.name} or --x-val={path.name}")
        files[part] = path
    return dict(sorted(files.items()))


def _read(job: Job, files: Mapping[int, pathlib.Path], reading: Reading) -> dict[int, Table]:
    def unneeded(table: Table) -> list[int]:
        known = Preparation.from_json(job.run.preparation).left_out if job.run and job.run.preparation else []
        return [*columns_in(table, job.options.drop, "drop"), *(place for place, name in enumerate(table.names) if name in known)]

    tables = {}
    for part, path in files.items():
        job.report.reading(path)
        tables[part] = read_table(path, reading, unneeded)
    return tables


def prepare_frames(tables: Mapping[int, Table], job: Job) -> None:
    """Makes a data set of tables by their parts, with the types that they have. One is the training table."""
    plan = _plan(tables, job.options)
    check_classes(plan.read, plan.targets, plan.drawn, bool(job.options.targets), "name the label by --label")
    training, columns = plan.table, plan.columns
    survey = Survey(training, columns, plan.drawn.trained, job.options)
    survey.learn()
    preparation = Preparation(survey.features, [Target(name) for name in plan.read.names],
                              [training.names[column] for column in columns.left_out],
                              training.names[columns.id] if columns.id is not None else "", training.has_names, training.reading)
    sources = [_Source(TRAIN, training, survey.feature_columns, plan.read)]
    for part, table in tables.items():
        if part != TRAIN:
            own = match_columns(table, preparation, needs_targets=True)
            sources.append(_Source(part, table, own.features, read_columns(table, own.targets, f"y_{_ARRAY_PARTS[part]}")))
    chosen = job.options.targets
    targets = join_columns([source.read for source in sources], chosen_kind(chosen))
    if targets.kind == "numbers":
        preparation.targets = scale_numbers([source.read for source in sources], [training.label(column) for column in columns.targets],
                                            targets, plan.drawn.trained, chosen)
        refuse_constant(plan.read, targets, plan.drawn.trained)
    plan.targets = targets
    _write(plan, sources, preparation, job)


@dataclass
class _Plan:
    """The training table, and what its columns and rows are for."""

    table: Table
    columns: Columns
    read: TargetColumns
    targets: Targets
    drawn: Draw


@dataclass
class _Source:
    """A table that has samples."""

    part: int
    table: Table
    feature_columns: Sequence[int]
    read: TargetColumns


def _plan(tables: Mapping[int, Table], options: argparse.Namespace) -> _Plan:
    training = tables[TRAIN]
    columns = find_columns(training, options)
    read = read_columns(training, columns.targets, "y_train")
    targets = join_columns([read], chosen_kind(options.targets))
    shares = chosen_shares(options, {part: f"{table.path}: x_{_ARRAY_PARTS[part]} is" for part, table in tables.items()})
    groups = _groups(tables, columns.group) if columns.group is not None else None
    drawn = draw(targets.labels(), targets.kind == "classes", shares, groups, lambda: _row_hashes(training, columns),
                 f"{training.path}: group_train")
    return _Plan(training, columns, read, targets, drawn)


def _row_hashes(table: Table, columns: Columns) -> np.ndarray:
    """Returns a number for each row, equal for those with the same features."""
    cells = [table.frame[column] for column in columns.features if not (table.has_names and is_nameless(table.names[column]))]
    arrays = [each.to_numpy() if isinstance(each.dtype, np.dtype) and each.dtype.kind in "iuf" else pd.factorize(each)[0] for each in cells]
    return sample_hashes(*arrays) if arrays else np.arange(len(table))


def _write(plan: _Plan, sources: Sequence[_Source], preparation: Preparation, job: Job) -> None:
    """Describes the data set, tells what was guessed, and appends the samples of each part."""
    targets, writer = plan.targets, job.writer
    samples = [_samples(source, preparation) for source in sources]
    features = len(preparation.features)
    shape = chosen_shape(job.options.shape, features, f"{plan.table.path}: x_train") if job.options.shape else (features, 1, 1)
    scale = job.options.value_scale
    is_pixels = scale is not None or (shape[1] > 1 and preparation.is_plain and all(map(_are_bytes, samples)))
    if scale is not None:
        for source, values in zip(sources, samples):
            _check_pixels(values, source.table, source.feature_columns, np.arange(len(values)), scale, "--value-scale")
    drawn = plan.drawn.text()
    writer.notes += _notes(plan, sources)
    rows = [(part, number, np.flatnonzero(plan.drawn.parts == part) if source.part == TRAIN else np.arange(len(source.table)))
            for part in range(3) for number, source in enumerate(sources) if source.part in (part, TRAIN)]
    writer.describe(Facts(shape, targets.names, targets.kind, f"arrays of {plan.table.name}{f'; {drawn}' if drawn else ''}", is_pixels,
                          (scale or _PIXELS_SCALE) if is_pixels else 1.0, preparation.to_json(), plan.drawn.shares.last,
                          is_table=True),
                    [sum(len(own) for each, _, own in rows if each == part) for part in range(3)])
    for part, number, own in rows:
        writer.append(part, samples[number][own].reshape(-1, *shape), targets.values[number][own])
    writer.keep_together(plan.drawn)


def _samples(source: _Source, preparation: Preparation) -> np.ndarray:
    values, problems = sample_values(source.table, source.feature_columns, preparation.features)
    refuse_rows(source.table, problems)
    return values


def _notes(plan: _Plan, sources: Sequence[_Source]) -> Iterator[str]:
    for source in sources:
        yield from source.table.notes
        if source.read.numeric_words:
            yield f"check: {in_quotes(source.read.names[0])}: {source.read.numeric_words}: all are taken for words"
    yield from plan.targets.notes
    yield from plan.drawn.notes()


def _are_bytes(values: np.ndarray) -> bool:
    return bool(((values >= 0) & (values <= 255) & (values == np.floor(values))).all())


def _check_pixels(values: np.ndarray, table: Table, columns: Sequence[int], rows: np.ndarray, scale: float, why: str) -> None:
    """Refuses a value that is no pixel. `rows` has the row of each sample in the table, and `columns` the column of each feature."""
    is_wrong = (values < 0) | (values > min(scale, 255)) | (values != np.floor(values))
    if is_wrong.any():
        row, place = np.argwhere(is_wrong)[0]
        raise PrepError(f"{table.path}: expected whole numbers from 0 to {number_text(min(scale, 255))}, {why}, got others, e.g. "
                        f"{number_text(values[row, place])} in {table.where(int(rows[row]))}, {table.label(columns[place])}")


def _groups(tables: Mapping[int, Table], column: int) -> Groups:
    """Reads the groups of the training rows. Other parts must have other groups."""
    name = tables[TRAIN].names[column]
    groups = Groups(f"column {in_quotes(name)}")
    for part, table in tables.items():
        if name not in table.names:
            groups.without.append(part)
            continue
        own = table.names.index(name)
        words = table.categories(own)
        missing = words.map(table.reading.is_missing)
        if missing.any():
            raise PrepError(f"{table.location(int(np.argmax(missing)))}: {table.label(own)}: the group is missing")
        numbers, names = pd.factorize(words)
        groups.add(part, list(names), numbers, f"{table.path}: group_{_ARRAY_PARTS[part]}")
    return groups


def apply_table(job: Job) -> Rows:
    """Reads new samples for a run: as its own were, by the names of their columns. Rows that cannot be samples get the reason."""
    assert job.run is not None
    run, rows = job.run, Rows()
    known = Preparation.from_json(run.preparation) if run.preparation else None
    reading = Reading.of(job.options).or_else(known.reading if known else Reading())
    applied = [_apply(part, table, job, known, rows) for part, table in _read(job, _files_by_part(job), reading).items()]
    job.writer.describe(Facts(run.shape, run.class_names, run.targets, str(job.sources[0]), run.value_scale != 1.0, run.value_scale,
                              run.preparation), [sum(len(each.values) for each in applied if each.part == part) for part in range(3)])
    for each in applied:
        job.writer.append(each.part, each.values.reshape(-1, *run.shape), each.targets)
    return rows


@dataclass
class _Applied:
    """The samples of a table."""

    part: int
    values: np.ndarray
    targets: np.ndarray


def _apply(part: int, table: Table, job: Job, known: Preparation | None, rows: Rows) -> _Applied:
    """Reads the samples of a table, and adds its rows."""
    run = job.run
    assert run is not None
    if known:
        columns, features = match_columns(table, known, job.has_targets, job.options), known.features
    else:
        columns = find_columns_for_model(table, job.options, int(np.prod(run.shape)), job.has_targets)
        features = [Feature(table.names[column]) for column in columns.features]
    if len(features) != np.prod(run.shape):
        what = ", those of images or sequences" if run.shape[1] * run.shape[2] > 1 else ""
        raise PrepError(f"{table.path}: a table, whose samples are {len(features)}x1x1; the run's are {'x'.join(map(str, run.shape))}{what}")
    values, problems = sample_values(table, columns.features, features)
    if job.has_targets and len(problems) == len(table):
        refuse_rows(table, problems)
    if problems:
        row = min(problems)
        table.notes.append(f"check: {len(problems)} of {counted(len(table), 'row')} cannot be samples, e.g. {table.location(row)}: "
                           f"{problems[row]}")
    kept = np.array([row for row in range(len(table)) if row not in problems], int)
    values = values[kept]
    if run.value_scale != 1.0:
        _check_pixels(values, table, columns.features, kept, run.value_scale, "as the run's data are")
    targets = _targets_of_run(part, table, columns, run, known)[kept] if job.has_targets else _no_targets(len(values), run)
    job.writer.notes += table.notes
    rows.title = table.names[columns.id] if columns.id is not None else rows.title
    rows.names += list(table.words(columns.id)) if columns.id is not None else [str(row) for row in range(len(table))]
    rows.problems += [problems.get(row, "") for row in range(len(table))]
    rows.parts += [part] * len(table)
    return _Applied(part, values, targets)


def _no_targets(count: int, run: RunData) -> np.ndarray:
    return np.zeros(count if run.targets == "classes" else (count, len(run.class_names)), TARGET_TYPES[run.targets])


def _targets_of_run(part: int, table: Table, columns: Columns, run: RunData, known: Preparation | None) -> np.ndarray:
    """Returns the targets of a table as the run's: classes by their names, numbers with their scale."""
    if run.targets == "classes" and len(columns.targets) == 1:
        words = table.words(columns.targets[0])
        if words.isin(run.class_names).all():
            return words.map({name: number for number, name in enumerate(run.class_names)}).to_numpy()
    read = read_columns(table, columns.targets, f"y_{_ARRAY_PARTS[part]}")
    targets = join_columns([read], run.targets)
    if targets.kind == "classes":
        for name in targets.names:
            if name not in run.class_names:
                raise PrepError(f"{table.path}: the run does not know the class `{name}`, {suggestion(name, run.class_names)}")
        return np.array([run.class_names.index(name) for name in targets.names])[targets.values[0]]
    if len(targets.names) != len(run.class_names):
        raise PrepError(f"{table.path}: has {len(targets.names)} {targets.kind}, the run {len(run.class_names)}")
    if targets.kind != "numbers" or not known:
        return targets.values[0]
    refuse_without_logarithm([read], targets.names, known.targets[0].transform)
    return stored_targets(targets.values[0], known.targets)
