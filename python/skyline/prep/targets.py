"""Targets of arrays and tables: classes, labels or numbers, which are scaled, or whose logarithms are learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from .dataset import TargetKind
from .errors import PrepError, counted
from .split import Draw
from .wording import in_quotes, number_text, target_title

TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"log": np.log, "log1p": np.log1p}  # choices of --targets, beside the kinds
MOST_CLASSES = 1 << 16
_MOST_WHOLE = 1e15  # a float of more is no number of a class


@dataclass
class TargetColumns:
    """The targets of one part: an array, or columns of a table. All are numbers, or one is words."""

    label: str  # name in messages: "set.npz: y_train"
    names: list[str]  # names of the columns
    values: np.ndarray  # numbers [rows, columns], or the codes [rows] of words
    kind: TargetKind = "classes"  # unless another is chosen
    words: list[str] = field(default_factory=list)
    are_ordered: bool = False  # whether the source states the order of the words
    numeric_words: str = ""  # "199 of 200 values are numbers; line 57 has `typo`"
    mostly_numbers: bool = False  # the words are
    problem: str = ""  # why the words may all be numbers or dates
    title: str = ""  # "`price`: " for a column
    location: Callable[[int], str] = str  # location of a row: "train.csv:57"

    @property
    def are_whole(self) -> bool:
        return not self.words and (self.values.dtype.kind != "f" or not self.first_fraction()[1])

    def first_fraction(self) -> tuple[int, bool]:
        """Returns the first row that has a number that is not whole, and whether there is one."""
        wrong = ~((self.values == np.floor(self.values)) & (np.abs(self.values) <= _MOST_WHOLE)).all(1)
        return int(np.argmax(wrong)), bool(wrong.any())

    def refusal(self, problem: str) -> PrepError:
        return PrepError(f"{self.label}: {problem}")


@dataclass(frozen=True)
class Target:
    """A column of targets. Numbers are stored as (number - mean) / deviation, where `number` may be a logarithm."""

    column: str
    mean: float = 0.0
    deviation: float = 1.0
    transform: str = ""

    def stored(self, numbers: np.ndarray) -> np.ndarray:
        return (_transformed(numbers, self.transform) - self.mean) / self.deviation

    def formula(self) -> str:
        """Says how a number is stored."""
        value = f"{self.transform}(value)" if self.transform else "value"
        return f"({value} - {number_text(self.mean)}) / {number_text(self.deviation)}"


@dataclass
class Targets:
    kind: TargetKind
    names: list[str]  # one for each class, label or number
    values: list[np.ndarray]  # targets of each part: [n] classes, or [n, outputs]
    notes: list[str] = field(default_factory=list)

    def labels(self) -> np.ndarray:
        """Returns the classes of the training samples, or one common label."""
        return self.values[0] if self.kind == "classes" else np.zeros(len(self.values[0]), np.int64)


def join_columns(columns: Sequence[TargetColumns], chosen: TargetKind | None, class_names: Sequence[str] = ()) -> Targets:
    """Makes targets of the columns of each part; those of the training set are the first. Whole numbers are places in `class_names`, if
    there are some. Classes may be several columns with a single 1 in each row. Raises PrepError."""
    first = columns[0]
    for each in columns[1:]:
        if bool(each.words) != bool(first.words):
            raise each.refusal(f"expected {'words' if first.words else 'numbers'} as in {first.label}")
    if chosen != "classes" and first.problem:
        raise PrepError(first.problem)
    kind = chosen or first.kind
    if first.words:
        if kind != "classes":
            raise first.refusal("expected numbers, got words" + (f": {first.numeric_words}" if first.mostly_numbers else ""))
        return _word_classes(columns, class_names)
    is_single = len(first.names) == 1
    if class_names and len(class_names) != len(first.names) and not (is_single and kind == "classes"):
        raise first.refusal(f"has {counted(len(first.names), 'target')} of a sample, and class_names {counted(len(class_names), 'name')}")
    if kind == "numbers":
        return _numbers(columns, chosen, list(class_names) or first.names)
    for each in columns:
        if not each.are_whole:
            raise each.refusal(f"target number {each.first_fraction()[0]} is not a whole number")
    if kind == "labels":
        return _labels(columns, list(class_names) or first.names)
    return _classes(columns, class_names)


def _word_classes(columns: Sequence[TargetColumns], class_names: Sequence[str]) -> Targets:
    """Numbers words in the order of the names, else of the source, else of the alphabet."""
    first = columns[0]
    targets = Targets("classes", list(class_names) or (first.words if first.are_ordered else sorted(first.words)), [])
    numbers = {name: number for number, name in enumerate(targets.names)}
    for each in columns:
        unknown = next((word for word in each.words if word not in numbers), None)
        if unknown is not None:
            raise each.refusal(f"`{unknown}` is a class that {'class_names do' if class_names else 'the training set does'} not have")
        targets.values.append(np.array([numbers[word] for word in each.words])[each.values])
    return targets


def _classes(columns: Sequence[TargetColumns], class_names: Sequence[str]) -> Targets:
    one_hot = len(columns[0].names) > 1
    numbers = [_places_of_ones(each) if one_hot else each.values[:, 0].astype(np.int64) for each in columns]
    known = np.arange(len(class_names)) if class_names else np.unique(numbers[0])
    if len(known) > MOST_CLASSES:
        raise columns[0].refusal(f"{len(known)} different targets are too many classes (--targets=numbers?)")
    for each, own in zip(columns, numbers):
        unknown = ~np.isin(own, known)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise each.refusal(f"target number {row}" + (
                f": expected a class from 0 to {len(known) - 1}, the place of its name in class_names, got {own[row]}" if class_names
                else " is a class that the training set does not have"))
    names = list(class_names) or [columns[0].names[number] if one_hot else str(number) for number in known.tolist()]
    return Targets("classes", names, [np.searchsorted(known, own) for own in numbers])


def _places_of_ones(columns: TargetColumns) -> np.ndarray:
    wrong = ~(np.isin(columns.values, (0, 1)).all(1) & (columns.values.sum(1) == 1))
    if wrong.any():
        raise columns.refusal(f"row {int(np.argmax(wrong))}: expected a single 1 and else 0, since the targets are classes")
    return columns.values.argmax(1)


def _labels(columns: Sequence[TargetColumns], names: list[str]) -> Targets:
    for each in columns:
        wrong = ~np.isin(each.values, (0, 1))
        if wrong.any():
            raise each.refusal(f"expected 0 or 1 for each label, got {number_text(each.values[wrong][0])} (--targets=numbers?)")
    is_one_each = sum(each.values.sum() for each in columns) == sum(len(each.values) for each in columns)
    notes = ["check: one label per sample on average: if they exclude each other, say --targets=classes"] if is_one_each else []
    return Targets("labels", names, [each.values for each in columns], notes)


def _numbers(columns: Sequence[TargetColumns], chosen: TargetKind | None, names: list[str]) -> Targets:
    for each in columns:
        with np.errstate(over="ignore"):
            wrong = ~np.isfinite(each.values.astype(np.float32))
        if wrong.any():
            raise each.refusal(f"target number {int(np.argmax(wrong.any(1)))}: expected a finite number, got {each.values[wrong][0]}")
    values, notes = columns[0].values, []
    if chosen is None and len(names) > 1 and (np.isin(values, (0, 1)).all(1) & (values.sum(1) == 1)).all():
        notes = ["check: each row of the targets has a single 1: if they are classes, say --targets=classes"]
    elif chosen is None and (values == np.floor(values)).all():
        other = "classes" if len(names) == 1 else "labels"
        notes = [f"check: all targets are whole numbers: if they are {other}, say --targets={other}"]
    return Targets("numbers", names, [each.values.astype(np.float64) for each in columns], notes)


def check_classes(columns: TargetColumns, targets: Targets, drawn: Draw, is_chosen: bool, advice: str = "") -> None:
    """Refuses a single class, one that is never trained, and numbers that can hardly be classes unless that is chosen.

    `advice` is what mends a wrong choice of the column."""
    if targets.kind != "classes":
        return
    problem = drawn.problem_of_last(targets.labels())
    if problem:
        raise columns.refusal(problem)
    if len(targets.names) < 2:
        raise columns.refusal(f"{columns.title}expected at least 2 classes, got {in_quotes(targets.names[0])} alone"
                              + (f": {advice}" if advice else ""))
    are_numbers = not columns.words
    problem = "" if is_chosen else drawn.problem_of_classes(targets.labels(), "whole numbers" if are_numbers else "values")
    if problem and (are_numbers or columns.mostly_numbers):
        raise columns.refusal(columns.title + ("" if are_numbers else f"{columns.numeric_words}; ") + problem + ": "
                              + ("" if are_numbers else "correct the table, or ") + "say "
                              + ("--targets=numbers or " if are_numbers else "") + "--targets=classes"
                              + (f", or {advice}" if advice else ""))


def refuse_without_logarithm(columns: Sequence[TargetColumns], names: Sequence[str], chosen: str | None) -> None:
    """Refuses numbers without a logarithm, if --targets says that logarithms are learned."""
    for each in columns:
        for place, numbers in enumerate(each.values.T):
            found = _problem_of_logarithm(numbers, target_title(names, place), chosen)
            if found:
                raise PrepError(f"{each.location(found[0])}: {found[1]}")


def scale_numbers(columns: Sequence[TargetColumns], labels: Sequence[str], targets: Targets, trained: np.ndarray,
                  chosen: str | None) -> list[Target]:
    """Scales the numbers, or the logarithms that --targets says, by the training samples, and returns the scales.

    `labels` are the names of the columns in messages."""
    refuse_without_logarithm(columns, targets.names, chosen)
    scales = scales_of(targets.names, targets.values[0][trained], chosen)
    targets.values = [stored_targets(each, scales) for each in targets.values]
    targets.notes += [f"targets: {label} is numbers, stored as {each.formula()}; predict and exports give its own units (--targets)"
                      for label, each in zip(labels, scales)]
    return scales


def refuse_constant(columns: TargetColumns, targets: Targets, trained: np.ndarray) -> None:
    """Refuses numbers of which float32 keeps a single one for the training samples."""
    if targets.kind != "numbers" or not trained.any():
        return
    stored = targets.values[0][trained].astype(np.float32)
    constant = np.flatnonzero((stored == stored[0]).all(0))
    if len(stored) > 1 and len(constant):
        number = columns.values[trained][0, constant[0]] + 0.0  # 0 rather than -0
        raise columns.refusal(f"{target_title(targets.names, constant[0])}expected at least 2 different numbers, got {number:.10g} alone")


def chosen_kind(chosen: str | None) -> TargetKind | None:
    """Returns the kind of targets that the option --targets says."""
    return "numbers" if chosen in TRANSFORMS else cast("TargetKind | None", chosen)


def scales_of(names: Sequence[str], numbers: np.ndarray, chosen: str | None) -> list[Target]:
    """Returns the scale of each column of the training samples, [samples, columns]; of its logarithms if --targets says so."""
    transform = chosen if chosen in TRANSFORMS else ""
    return [Target(name, *_moments(_transformed(column, transform or "")), transform or "") for name, column in zip(names, numbers.T)]


def stored_targets(numbers: np.ndarray, scales: Sequence[Target]) -> np.ndarray:
    return np.stack([scale.stored(column) for scale, column in zip(scales, numbers.T)], 1)


def _problem_of_logarithm(numbers: np.ndarray, title: str, chosen: str | None) -> tuple[int, str] | None:
    """Returns the first row of a column without a logarithm, and why; None if all have one, or none is asked for."""
    wrong = numbers <= 0 if chosen == "log" else numbers < 0
    if chosen not in TRANSFORMS or not wrong.any():
        return None
    row = int(np.argmax(wrong))
    bound = "above 0" if chosen == "log" else "of at least 0"
    way = ": --targets=log1p learns log(1 + value), also of 0" if numbers.min() == 0 else ": say --targets=numbers"
    return row, f"{title}expected a number {bound} for --targets={chosen}, got {number_text(numbers[row])}{way}"


def _transformed(numbers: np.ndarray, transform: str) -> np.ndarray:
    return TRANSFORMS[transform](numbers) if transform else numbers


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    """Adds one after the other, so that the sums are the same whatever NumPy's way of adding is."""
    distances = numbers - numbers[0]
    mean = np.add.accumulate(distances)[-1] / len(numbers)
    variance = np.add.accumulate(distances * distances)[-1] / len(numbers) - mean * mean
    return float(numbers[0] + mean), float(np.sqrt(variance)) if variance > 0 else 1.0
