"""Ranges of the features of a table: kept in its preparation, so that new samples outside of them are told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .content import Content
    from .dataset import DatasetWriter

_MUCH = 0.05  # share of the samples
_MOST_SHOWN = 3  # features


def with_ranges(preparation: str, content: Content) -> str:
    """Adds to features that are numbers the least and the largest of their values in the training samples."""
    root = json.loads(preparation) if preparation else {}
    if len(root.get("features", [])) != content.shape[0] or content.is_pixels or not np.isfinite(content.low).all():
        return preparation
    for feature, low, high in zip(root["features"], content.low.tolist(), content.high.tolist()):
        if _is_number(feature):
            feature["range"] = [low, high]
    return json.dumps(root, ensure_ascii=False, separators=(",", ":"))


def bounds_in(features: Sequence[dict]) -> np.ndarray | None:
    """Returns the ranges of the features of a run's preparation, [2, channels]; None if it has none."""
    if not any("range" in feature for feature in features):
        return None
    return np.array([feature.get("range", (-np.inf, np.inf)) for feature in features]).T


def outside_lines(writer: DatasetWriter) -> Iterator[str]:
    """Tells new samples with values outside of the training samples' ranges, where they are many or far away."""
    content, total = writer.content, sum(writer.counts())
    if content.bounds is None or not total:
        return
    low, high = content.bounds
    far = np.maximum(low - content.low, content.high - high) > high - low
    wrong = np.flatnonzero((content.num_outside > 0) & (far | (content.num_outside > max(_MUCH * total, 1))))
    if not len(wrong):
        return
    features = writer.facts.features()
    texts = []
    for number in wrong[:_MOST_SHOWN]:
        name, shift = features[number]["column"], features[number].get("subtract", 0.0)
        name += f" ({features[number]['date']})" if "date" in features[number] else ""
        shown = [f"{each[number] + shift:.6g}" for each in (content.low, content.high, low, high)]
        texts.append("`{}` has {} to {}, in training {} to {}".format(name, *shown))
    yield (f"check: {content.num_with_outside} of {total} samples have values outside of those of the training data: {'; '.join(texts)}"
           + "; ..." * (len(wrong) > _MOST_SHOWN))


def _is_number(feature: dict) -> bool:
    return not feature.get("is_missing") and "is" not in feature and "is_not" not in feature
