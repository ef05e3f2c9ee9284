"""What the dimensions of an array of samples are, and the shape of a sample in the data set."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from .errors import PrepError
from .source_array import SourceArray

Shape = tuple[int, int, int]  # channels, height, width

_MOST_CHANNELS_LAST = 16
_MOST_FEATURES = 32  # more numbers of a sample may be a sequence or a flat image
_MOST_SIDE = 1 << 20
_RANKS = {"nchw": 4, "nhwc": 4, "nhw": 3, "nl": 2, "ncl": 3, "nlc": 3, "nf": 2}


@dataclass(frozen=True)
class SampleLayout:
    """The shape of a sample, and whether its channels are last in the array."""

    shape: Shape
    channels_last: bool = False

    def samples(self, rows: np.ndarray) -> np.ndarray:
        """Turns rows of an array into samples [n, channels, height, width]."""
        channels, height, width = self.shape
        if self.channels_last:
            return rows.reshape(len(rows), height, width, channels).transpose(0, 3, 1, 2)
        return rows.reshape(len(rows), *self.shape)


def sample_layout(x: SourceArray, layout: str | None, shape: str, expected: Shape | None) -> SampleLayout:
    """Returns the layout that is chosen by `layout` or `shape`, else the one of the expected shape, else the one that the number of
    dimensions suggests, unless it is ambiguous. Raises PrepError."""
    if shape:
        return SampleLayout(chosen_shape(shape, x.row_elements, x.label))
    if layout:
        return _laid_out(layout, x) or _fail_rank(layout, x)
    fitting = _fitting_layout(x, expected) if expected else None
    suggested = fitting or _laid_out(_layout_of(x, is_careful=expected is None), x)
    assert suggested is not None
    return suggested


def _fail_rank(layout: str, x: SourceArray) -> NoReturn:
    x.fail(f"expected {_RANKS[layout]} dimensions for this layout, got {list(x.shape)}")


def _layout_of(x: SourceArray, is_careful: bool) -> str:
    """Returns the layout that the number of dimensions suggests; a careful guess refuses an array that could have another one."""
    if len(x.shape) == 4:
        few_last = x.shape[3] < x.shape[1] and x.shape[3] <= _MOST_CHANNELS_LAST
        if is_careful and x.shape[1] not in (1, 3, 4) and (x.shape[3] in (1, 3, 4) or few_last):
            x.fail(f"{list(x.shape)} may have its channels last: say --layout=nhwc or nchw")
        return "nchw"
    if len(x.shape) < 3:
        if is_careful:
            _check_features(x)
        return "nf"
    if is_careful and x.shape[1] > 1:
        x.fail(f"{list(x.shape)} may be grey images or sequences: say --layout=nhw, ncl or nlc (samples, height, width, channels, length)")
    return "ncl"


def _check_features(x: SourceArray) -> None:
    """Refuses rows of numbers that may have an order."""
    if len(x.shape) != 2 or x.shape[1] <= _MOST_FEATURES:
        return
    side = math.isqrt(x.shape[1])
    flat = f", or --shape=1x{side}x{side} if they are flat images" if side * side == x.shape[1] else ""
    x.fail(f"{list(x.shape)} may be features or sequences: say --layout=nf or nl{flat}")


def chosen_shape(chosen: str, num_values: int, label: str) -> Shape:
    """Returns the shape that --shape says, for samples of so many values."""
    sizes = [int(size) for size in chosen.split("x")] if re.fullmatch(r"\d{1,7}(x\d{1,7}){1,2}", chosen, re.ASCII) else []
    if not sizes or min(sizes) < 1 or max(sizes) > _MOST_SIDE:
        raise PrepError(f"--shape: expected CHANNELSxHEIGHTxWIDTH, e.g. 1x28x28, or CHANNELSxLENGTH, got {chosen}")
    if math.prod(sizes) != num_values:
        raise PrepError(f"{label}: expected {math.prod(sizes)} values per sample for --shape={chosen}, got {num_values}")
    return sizes[0], sizes[1] if len(sizes) == 3 else 1, sizes[-1]


def _laid_out(layout: str, x: SourceArray) -> SampleLayout | None:
    """Returns None if the array has another number of dimensions."""
    d = x.shape
    if len(d) == 1 and layout == "nf":  # one number per sample
        return SampleLayout((1, 1, 1))
    if len(d) != _RANKS[layout]:
        return None
    if layout == "nhwc":
        return SampleLayout((d[3], d[1], d[2]), channels_last=True)
    if layout == "nlc":
        return SampleLayout((d[2], 1, d[1]), channels_last=True)
    shapes = {"nchw": d[1:], "nhw": (1, *d[1:]), "nl": (1, 1, d[-1]), "ncl": (d[1], 1, d[-1]), "nf": (d[1], 1, 1)}
    channels, height, width = shapes[layout]
    return SampleLayout((channels, height, width))


def _fitting_layout(x: SourceArray, expected: Shape) -> SampleLayout | None:
    """Returns the layout in which samples have the expected shape. Rows of numbers have it if their number fits."""
    laid_out = {layout: _laid_out(layout, x) for layout in ("nchw", "nhwc", "nhw", "ncl", "nlc")}
    fitting = {layout: found for layout, found in laid_out.items() if found and found.shape == expected}
    if len({found.channels_last for found in fitting.values()}) > 1 and x.row_elements > 1:
        x.fail(f"{list(x.shape)} may have its channels first or last: say --layout={' or '.join(fitting)}")
    if fitting:
        return next(iter(fitting.values()))
    return SampleLayout(expected) if len(x.shape) <= 2 and x.row_elements == math.prod(expected) else None
