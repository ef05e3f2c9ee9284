"""`infer npy OUTPUTS.npy`: what a network of another program says of all samples, as an array of people's own."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence

import numpy as np

from .errors import PrepError
from .report import Report

_ROWS_AT_ONCE = 1 << 14


def run(words: Sequence[str], report: Report) -> None:
    """Writes the outputs as float32 [rows, each]. Raises PrepError for an array of another size or type."""
    parser = argparse.ArgumentParser(prog="python3 -m skyline.prep infer", allow_abbrev=False)
    parser.add_argument("--rows", type=int, help="samples")
    parser.add_argument("--each", type=int, help="outputs of a sample")
    parser.add_argument("--outputs", type=pathlib.Path, help="file that gets the outputs")
    parser.add_argument("file", type=pathlib.Path)
    told = parser.parse_args(words)
    report.reading(told.file)
    values = _load(told.file)
    if values.shape != (told.rows, told.each):
        raise PrepError(f"{told.file}: has {list(values.shape)}, expected [{told.rows}, {told.each}]: a row for each sample of `train`, "
                        "then of `validation`, with a number for each class, label or number of the data")
    if values.dtype.kind != "f":
        raise PrepError(f"{told.file}: has {values.dtype}, expected float numbers")
    with told.outputs.open("wb") as stream:
        for begin in range(0, len(values), _ROWS_AT_ONCE):
            with np.errstate(over="ignore"):
                stream.write(values[begin:begin + _ROWS_AT_ONCE].astype(np.float32).tobytes())


def _load(file: pathlib.Path) -> np.ndarray:
    try:
        values = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise PrepError(f"{file}: no array that NumPy can read: {' '.join(str(error).split())}") from error
    if not isinstance(values, np.ndarray):
        raise PrepError(f"{file}: has several arrays, expected one (.npy)")
    return values
