"""What a person is told of a data set that was made."""

from __future__ import annotations

from collections.abc import Iterator

from .dataset import PARTS, TRAIN, DatasetWriter
from .wording import names_alike, printable

_MOST_CLASSES = 100
_MUCH_LARGER = 4
_COLUMN = 12
_SINGULARS = {"classes": "class", "labels": "label", "numbers": "number"}


def summary_lines(writer: DatasetWriter) -> Iterator[str]:
    """Yields the number of samples of each class in each part, and of all."""
    facts, totals = writer.facts, writer.counts()
    if facts.target_kind == "classes":
        yield from _class_table(writer)
    train, validation, test = totals
    kind = _SINGULARS[facts.target_kind] if len(facts.class_names) == 1 else facts.target_kind
    yield (f"{writer.shown}: {train} training" + (f", {validation} validation" if validation else "") + f" and {test} test samples of "
           f"{'x'.join(map(str, facts.shape))}, {len(facts.class_names)} {kind}")


def _class_table(writer: DatasetWriter) -> Iterator[str]:
    counts = {part: writer.class_counts(part) for part in range(3) if writer.counts()[part]}
    names = [printable(name) for name in writer.facts.class_names]
    width = max(map(len, ["class", *names]))
    yield "class".ljust(width) + "".join(PARTS[part].rjust(_COLUMN) for part in counts)
    for number, name in enumerate(names[:_MOST_CLASSES]):
        yield name.ljust(width) + "".join(str(own[number]).rjust(_COLUMN) for own in counts.values())
    if len(names) > _MOST_CLASSES:
        yield f"and {len(names) - _MOST_CLASSES} more"


def check_lines(writer: DatasetWriter) -> Iterator[str]:
    """Yields what looks wrong."""
    names = writer.facts.class_names
    if not writer.counts()[2]:
        yield "check: the test set is empty"
    if writer.facts.target_kind != "classes":
        return
    yield from (f"check: classes {text}" for text in names_alike(names))
    train = writer.class_counts(TRAIN)
    if train.min() > 0 and train.max() >= _MUCH_LARGER * train.min():
        yield (f"check: classes have {train.min()} to {train.max()} training samples, and accuracy counts the large ones most: "
               "`training.metrics: [accuracy, macro_f1]`, `maximize: validation_macro_f1` and "
               "`training.loss: {cross_entropy: {class_weights: balanced}}` count all alike")
