"""Checks of a data set's content: a line for each kind of fault, with numbers and the option that mends it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from .dataset import PARTS, TEST, TRAIN, VALIDATION, DatasetWriter, Facts
from .errors import counted
from .far_values import Column, calming_logarithm, measure, suspects
from .wording import in_quotes, quoted_list, target_labels

_MOST_NAMED = 5
_DIGITS = 6
_SMALL_SPREAD = 0.1  # deviations
_MOST_FAR = 3  # columns
_MOST_MARKS = 2  # in a column
_FEW_VALUES = 50
_FEW_SAMPLES = 10  # fewer of a class are named in a line


def content_lines(writer: DatasetWriter, options: set[str]) -> Iterator[str]:
    """Yields what looks wrong in a data set that was written. `options` has the names of the kind's options."""
    yield from _equal_samples(writer)
    yield from _several_targets(writer)
    yield from _constant_values(writer)
    yield from _constant_labels(writer)
    yield from _far_values(writer)
    yield from _skewed_targets(writer, options)
    yield from _classes(writer)


def feature_names(facts: Facts) -> list[str]:
    """Returns names of the channels: those of columns for a table."""
    kind = "feature" if facts.shape[1] * facts.shape[2] == 1 else "channel"
    return [_name_of(feature) for feature in facts.features()] or [f"{kind} {number}" for number in range(facts.shape[0])]


def _name_of(feature: dict) -> str:
    if feature.get("is_missing"):
        return f"{feature['column']} is missing"
    if "is" in feature:
        return f"{feature['column']} = {feature['is']}"
    if feature.get("is_not"):
        return f"{feature['column']} = other"
    return f"{feature['column']} ({feature['date']})" if "date" in feature else str(feature["column"])


def _equal_samples(writer: DatasetWriter) -> Iterator[str]:
    """Tells samples that are in the training set as well."""
    trained = np.unique(writer.content.hashes(TRAIN))
    facts = []
    for part in (VALIDATION, TEST):
        hashes = writer.content.hashes(part)
        number = int(np.isin(hashes, trained).sum())
        facts += [f"{number} of {counted(len(hashes), f'{PARTS[part]} sample')}"] * bool(number)
    if facts:
        way = "--equal-samples=together draws equal ones into one part" if writer.is_drawn and writer.groups is None else "leave them out"
        yield f"check: {' and '.join(facts)} are in the training set as well, which makes their scores too good ({way})"


def _several_targets(writer: DatasetWriter) -> Iterator[str]:
    """Tells equal samples with different targets, unless they are no wonder: rows of a few categories, numbers beside features."""
    shape = writer.facts.shape
    if writer.facts.target_kind == "numbers" and shape[1] * shape[2] == 1:
        return
    hashes = np.concatenate([writer.content.hashes(part) for part in range(3)])
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order][:1] - 1)) if len(order) else order
    sizes = np.diff(np.append(begins, len(order)))
    repeated = np.flatnonzero(sizes > 1)
    if not len(repeated) or 5 * len(repeated) >= len(sizes):
        return
    targets = np.concatenate([writer.targets(part) for part in range(3)])
    rows = targets[order].reshape(len(order), -1)
    differs = np.logical_or.reduceat((rows != rows[np.repeat(begins, sizes)]).any(1), begins)
    if not differs.any():
        return
    example = ""
    if writer.facts.target_kind == "classes":
        first = np.flatnonzero(differs)[0]
        different = np.unique(rows[begins[first]:begins[first] + sizes[first]])
        example = ", e.g. " + " and ".join(in_quotes(writer.facts.class_names[each]) for each in different[:2])
    number = int(differs.sum())
    yield (f"check: {counted(number, 'different sample')} {'is' if number == 1 else 'are'} there under several targets{example}, "
           f"{int(sizes[differs].sum())} times in all: correct them, or leave them out")


def _constant_values(writer: DatasetWriter) -> Iterator[str]:
    """Tells features that are always the same in the training set, and samples without any difference in them."""
    content, facts = writer.content, writer.facts
    total = writer.counts()[TRAIN]
    constant = np.flatnonzero(content.low == content.high) if total > 1 else np.empty(0, int)
    marks = [number for number, feature in enumerate(facts.features()) if feature.get("is_missing")]  # told with the missing values
    constant = np.setdiff1d(constant, marks)
    if len(constant):
        names = feature_names(facts)
        noun = "column" if facts.is_table else "feature" if facts.shape[1] * facts.shape[2] == 1 else "channel"
        yield (f"check: {counted(len(constant), noun)} always the same: {quoted_list([names[each] for each in constant], _MOST_NAMED)}"
               + " (--drop)" * facts.is_table)
    if content.num_flat and len(constant) < facts.shape[0] and not _may_be_flat(writer):
        kind = "are of a single colour" if facts.is_pixels else "have one value everywhere"
        yield f"check: {content.num_flat} of {counted(sum(writer.counts()), 'sample')} {kind} (leave them out if they are faults)"


def _may_be_flat(writer: DatasetWriter) -> bool:
    """Returns whether samples whose features are all equal are no wonder, as most features are 0 or have one of a few values, or are told
    elsewhere."""
    if writer.facts.is_sound:
        return True
    shape, values = writer.facts.shape, writer.content.some_values()
    return shape[1] * shape[2] == 1 and bool(np.mean(values == 0) > 0.5 or len(np.unique(values)) < _FEW_VALUES)


def _constant_labels(writer: DatasetWriter) -> Iterator[str]:
    if writer.facts.target_kind != "labels" or not writer.counts()[TRAIN]:
        return
    shares = writer.targets(TRAIN).mean(0)
    for text, found in (("in no training sample", shares == 0), ("in all training samples", shares == 1)):
        if found.any():
            names = [writer.facts.class_names[each] for each in np.flatnonzero(found)]
            yield f"check: {counted(len(names), 'label')} {text}: {quoted_list(names, _MOST_NAMED)}"


def unscaled_targets(writer: DatasetWriter, part: int) -> np.ndarray:
    """Returns number targets in the units of the source, or their logarithms."""
    targets = writer.targets(part).astype(np.float64)
    scales = json.loads(writer.facts.preparation or "{}").get("targets", [])
    for place, scale in enumerate(scales[:targets.shape[1]]):
        targets[:, place] = targets[:, place] * scale.get("deviation", 1.0) + scale.get("mean", 0.0)
    return targets


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """Returns numbers, [rows, columns], without the digits that float32 does not keep of a column's largest one."""
    digits = _DIGITS - np.ceil(np.log10(np.maximum(np.abs(numbers).max(0), 1e-30)))
    return np.round(numbers * 10.0**digits) / 10.0**digits


def _far_values(writer: DatasetWriter) -> Iterator[str]:
    """Tells numbers far outside of the others, and what scaling makes of these."""
    facts, content = writer.facts, writer.content
    columns = suspects(content.some_values(), content.low, content.high)
    wrong = measure(columns, _training_values(writer)) if columns else []
    names = feature_names(facts)
    shifts = [feature.get("subtract", 0.0) for feature in facts.features()] or [0.0] * facts.shape[0]
    found = [(in_quotes(names[column.number]), column, shifts[column.number]) for column in wrong]
    marks = sorted({value + shift for _, column, shift in found for value in column.far if len(column.far) <= _MOST_MARKS})
    way = f" (--missing-values={','.join(f'{mark:.9g}' for mark in marks)} takes them for missing)" if marks and facts.is_table else ""
    found += [(target_labels(facts.class_names)[column.number], column, 0.0) for column in _far_targets(writer)]
    if not found:
        return
    texts = [_far_text(*each) for each in found[:_MOST_FAR]]
    yield f"check: values far outside: {'; '.join(texts)}{'; ...' if len(found) > _MOST_FAR else ''}{way}"


def _far_targets(writer: DatasetWriter) -> list[Column]:
    if writer.facts.target_kind != "numbers" or not writer.counts()[TRAIN]:
        return []
    targets = _rounded(unscaled_targets(writer, TRAIN))
    return measure(suspects(targets, targets.min(0), targets.max(0)), [targets])


def _far_text(label: str, column: Column, shift: float) -> str:
    value, number = column.far.most_common(1)[0]
    total = sum(column.far.values())
    shown = f"{value + shift:.9g}" if len(column.far) == 1 else f"{min(column.far) + shift:.6g} to {max(column.far) + shift:.6g}"
    rest = f", and scaling leaves {column.spread:.2g} deviations to their middle half" if column.spread < _SMALL_SPREAD else ""
    others = f"{column.least + shift:.6g} to {column.largest + shift:.6g}"
    return f"{label}: {shown} in {total} of {column.count}, the others are {others}{rest}"


def _training_values(writer: DatasetWriter) -> Iterator[np.ndarray]:
    """Yields the training samples as [values, channels]."""
    channels = writer.facts.shape[0]
    for block in writer.written_blocks(TRAIN):
        yield block.reshape(len(block), channels, -1).transpose(0, 2, 1).reshape(-1, channels)


def _skewed_targets(writer: DatasetWriter, options: set[str]) -> Iterator[str]:
    """Proposes to learn the logarithms of positive, skewed numbers."""
    facts = writer.facts
    is_chosen = '"transform"' in facts.preparation
    if facts.target_kind != "numbers" or is_chosen or "targets" not in options:
        return
    columns = unscaled_targets(writer, TRAIN).T
    ways = [calming_logarithm(column) for column in columns]
    if not ways or not all(ways):
        return
    way = max(ways)  # log1p, if one of them needs it
    column = columns[0]
    yield (f"check: {target_labels(facts.class_names)[0]} is {'positive' if way == 'log' else 'never negative'} and skewed (median {np.median(column):.6g}, "
           f"largest {column.max():.6g}): --targets={way} learns its logarithm")


def _classes(writer: DatasetWriter) -> Iterator[str]:
    """Tells classes with few samples or none in a part."""
    if writer.facts.target_kind != "classes":
        return
    names, counts = writer.facts.class_names, [writer.class_counts(part) for part in range(3)]
    every = counts[TRAIN] + counts[VALIDATION] + counts[TEST]
    few = np.flatnonzero((every > 1) & (every < _FEW_SAMPLES))
    kinds = [("with one sample", np.flatnonzero(every == 1)), (f"with fewer than {_FEW_SAMPLES} samples", few)]
    kinds += [(f"without {name} samples", np.flatnonzero(count == 0)) for name, count in zip(("training", "validation", "test"), counts)
              if count.any()]
    for text, found in kinds:
        if len(found):
            yield f"check: {len(found)} of {len(names)} classes {text}: {quoted_list([names[each] for each in found], _MOST_NAMED)}"
