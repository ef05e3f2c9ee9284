"""Numbers that float32 would merge: columns of features are centred, which subtracts a number from all of them; others are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .errors import PrepError
from .preparation import Feature, Preparation
from .source_array import SourceArray
from .targets import Target
from .wording import number_text

_MOST_FEATURES = 1 << 16  # features that a preparation lists
_MOST_JUDGED = 1 << 23  # numbers by which columns are judged


def find_centre(values: np.ndarray, label: str, drop: str) -> tuple[float, str]:
    """Returns what to subtract so that float32 does not merge different numbers (else 0), and a line about it.

    `drop` is the option that leaves columns out.
    """
    offset = float(values[0])
    with np.errstate(over="ignore"):  # refused elsewhere
        floats, centred_floats = values.astype(np.float32), (values - offset).astype(np.float32)
    if (values == floats).all():
        return 0.0, ""
    different, plain = len(np.unique(values)), len(np.unique(floats))
    if plain == different:
        return 0.0, ""
    centred = len(np.unique(centred_floats))
    facts = f"its {different} different values "
    if centred > plain:
        return offset, (f"{label}: {number_text(offset)} is subtracted: {facts}would be {plain} in float32"
                        + (f", and are {centred}" if centred < different else ""))
    if 100 * plain < 99 * different:
        return 0.0, f"check: {label}: {facts}are {plain} in float32 (split it into two columns, or {drop})"
    return 0.0, ""


def centre_of(x: SourceArray, trained: np.ndarray, note: Callable[[str], None]) -> Preparation | None:
    """Returns what is to be subtracted from the columns of samples [N, F], as for tables; None where the samples stay as they are.
    `trained` are the rows from which the numbers are learned."""
    offsets = _find_offsets(x, trained, note) if _may_round(x) else []
    features = [Feature(str(number), subtract) for number, subtract in enumerate(offsets, 1)]
    return Preparation(features, has_names=False) if any(offsets) else None


def known_centre(x: SourceArray, known: Preparation | None) -> Preparation | None:
    """Returns the same for new samples of a run, by its preparation."""
    features = known.features if known and not x.is_uint8 else []
    is_of_array = all(each == Feature(each.column, each.subtract, range=each.range) for each in features)
    return known if features and is_of_array and len(features) == x.row_elements else None


def with_targets(known: Preparation | None, num_features: int, targets: list[Target]) -> Preparation:
    """Returns a preparation of arrays with scales of their targets. Raises PrepError."""
    if num_features > _MOST_FEATURES:
        raise PrepError(f"expected at most {_MOST_FEATURES} values per sample for --targets=log, got {num_features}: save the logarithms")
    features = known.features if known else [Feature(str(number)) for number in range(1, num_features + 1)]
    return Preparation(features, targets, has_names=False)


def tell_merged(array: SourceArray, note: Callable[[str], None], are_targets: bool = False) -> None:
    """Tells of an array whose different numbers float32 merges. Targets that become a single number are refused."""
    if not _may_round(array):
        return
    values = _first_values(array).reshape(-1)
    with np.errstate(over="ignore"):
        different, floats = len(np.unique(values)), len(np.unique(values.astype(np.float32)))
    if 100 * floats >= 99 * different:
        return
    text = f"its {different} different values are {floats} in float32 (subtract their mean before you save it)"
    if are_targets and floats == 1:
        array.fail(text)
    note(f"check: {array.label}: {text}")


def _find_offsets(x: SourceArray, trained: np.ndarray, note: Callable[[str], None]) -> Sequence[float]:
    values = _first_values(x)
    values = values[trained[:len(values)]]
    offsets = []
    for number, column in enumerate(values.T):
        subtract, line = find_centre(column, f"{x.label}: column {number}", "leave it out") if len(column) else (0.0, "")
        offsets.append(subtract)
        if line:
            note(line)
    return offsets


def _first_values(array: SourceArray) -> np.ndarray:
    rows = min(max(_MOST_JUDGED // array.row_elements, 1), array.rows)
    return array.read(rows).reshape(rows, -1).astype(np.float64)


def _may_round(array: SourceArray) -> bool:
    return array.dtype.itemsize > (4 if array.dtype.kind == "f" else 2)
