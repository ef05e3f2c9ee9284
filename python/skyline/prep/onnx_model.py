"""Networks in ONNX files, for `skyline evaluate MODEL.onnx`: what a file says of its network, and the outputs by ONNX Runtime."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime

from .errors import PrepError
from .report import Progress, Report

_INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
_LARGEST_SIZE = 2**31 - 1  # the largest dimension of a sample
_VALUES_AT_ONCE = 1 << 22  # values of a batch, unless the file says how many samples it has
_MOST_AT_ONCE = 256
_LONGEST_REASON = 300  # characters of a message of ONNX Runtime
_ORIGIN = ("run", "trial", "arch_id", "weights")  # metadata that `evaluate` repeats
_LARGEST_VALUE = re.compile(r"values as stored, up to (\d{1,9}(?:\.\d{1,9})?); the model scales them")  # exported_network.cpp writes both
_NORMALIZED = "values as stored; the model normalizes them"


class OnnxModel:
    """An ONNX file with one input of samples and one output. Raises PrepError where it is another one."""

    def __init__(self, file: pathlib.Path, report: Report) -> None:
        self._file, self._report = file, report
        if not file.is_file():
            raise PrepError(f"{file}: expected an ONNX model, found {'no regular file' if file.exists() else 'nothing'}")
        report.reading(file)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.log_severity_level = 4  # else it prints what it then raises
        with self._one_line("no model that ONNX Runtime can load"):
            self._session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(outputs) != 1:
            raise PrepError(f"{file}: expected one input and one output, got {len(inputs)} and {len(outputs)}")
        self._input = inputs[0]
        if self._input.type not in _INPUT_TYPES:
            raise PrepError(f"{file}: its input is {self._input.type}, expected {' or '.join(_INPUT_TYPES)}")
        self.shape = self._shape_of_samples()  # channels, height, width

    def facts(self) -> dict[str, Any]:
        """Returns what the file says of its samples, with None or an empty value for what it does not say."""
        with self._one_line("its metadata cannot be read"):
            metadata = self._session.get_modelmeta().custom_metadata_map
        return {"shape": self.shape, "targets": metadata.get("targets", ""), "class_names": self._class_names(metadata),
                "value_scale": self._value_scale(metadata.get("input", "")), "preparation": metadata.get("preparation", ""),
                "origin": {name: metadata[name] for name in _ORIGIN if name in metadata}}

    def write_outputs(self, samples: np.ndarray, divisor: float, each: int, file: pathlib.Path) -> None:
        """Writes float32 [samples, each].

        @param samples  [n, values of one] as they are stored
        @param divisor  divides them, as float32
        """
        progress = Progress(self._report, f"samples through {self._file.name}", len(samples))
        stated = self._input.shape[0]
        is_fixed = isinstance(stated, int)
        batch = stated if is_fixed else max(1, min(_MOST_AT_ONCE, _VALUES_AT_ONCE // math.prod(self.shape)))
        with file.open("wb") as stream:
            for begin in range(0, len(samples), batch):
                values = samples[begin:begin + batch].astype(np.float32) / np.float32(divisor)
                count = len(values)
                if is_fixed and count < batch:
                    values = np.concatenate([values, np.zeros([batch - count, values.shape[1]], np.float32)])
                outputs = self._outputs(values, each)[:count]
                if np.isnan(outputs).any():
                    sample = begin + int(np.argmax(np.isnan(outputs).any(1)))
                    raise PrepError(f"{self._file}: its output for sample {sample} (from 0) is not a number (NaN)")
                stream.write(outputs.tobytes())
                progress.advance(count)

    def _outputs(self, values: np.ndarray, each: int) -> np.ndarray:
        """Returns float32 [values, each]."""
        values = values.reshape(len(values), *self._input.shape[1:]).astype(_INPUT_TYPES[self._input.type])
        with self._one_line("ONNX Runtime cannot compute it"):
            outputs = self._session.run(None, {self._input.name: values})[0]
        if not isinstance(outputs, np.ndarray) or outputs.dtype.kind != "f":
            raise PrepError(f"{self._file}: its output is {getattr(outputs, 'dtype', type(outputs).__name__)}, expected float numbers")
        if outputs.size != len(values) * each:
            raise PrepError(f"{self._file}: its output is {list(outputs.shape)} for {len(values)} samples, expected "
                            f"[{len(values)}, {each}], as the data have {each} classes, labels or numbers")
        return outputs.reshape(len(values), each).astype(np.float32)

    def _shape_of_samples(self) -> list[int]:
        batch, *sizes = self._input.shape or [None]
        fits = len(sizes) in (1, 3) and all(isinstance(size, int) and 1 <= size <= _LARGEST_SIZE for size in sizes)
        if not fits or (isinstance(batch, int) and not 1 <= batch <= _LARGEST_SIZE):
            raise PrepError(f"{self._file}: its input is {self._input.shape}, expected [batch, channels, height, width] or [batch, values] "
                            "with sizes that are numbers")
        return sizes if len(sizes) == 3 else [sizes[0], 1, 1]

    @staticmethod
    def _value_scale(text: str) -> float | None:
        """Returns the largest value of the stored samples that the network scales; None if it does not say that it scales any."""
        found = _LARGEST_VALUE.match(text)
        return float(found[1]) if found else 1.0 if text == _NORMALIZED else None

    def _class_names(self, metadata: Mapping[str, str]) -> list[str]:
        text = metadata.get("class_names")
        if text is None:
            return []
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.isprintable() for name in names):
            raise PrepError(f"{self._file}: its metadata `class_names` are no list of printable texts")
        return names

    @contextlib.contextmanager
    def _one_line(self, problem: str) -> Iterator[None]:
        try:
            yield
        except MemoryError:
            raise
        except Exception as reason:  # the errors of ONNX Runtime have no common class
            raise PrepError(f"{self._file}: {problem}: {' '.join(str(reason).split())[:_LONGEST_REASON]}") from reason


def run(words: Sequence[str], report: Report) -> None:
    """Writes the facts of a model; with samples, its outputs for them. Raises PrepError."""
    parser = argparse.ArgumentParser(prog="python3 -m skyline.prep infer", allow_abbrev=False)
    parser.add_argument("--facts", type=pathlib.Path, help="file that gets facts() as JSON")
    parser.add_argument("--samples", type=pathlib.Path, help="file with the values of all samples")
    parser.add_argument("--pixels", action="store_true", help="they are uint8; else float32")
    parser.add_argument("--divisor", type=float, default=1.0)
    parser.add_argument("--outputs", type=pathlib.Path, help="file that gets the outputs")
    parser.add_argument("--each", type=int, help="outputs of a sample")
    parser.add_argument("model", type=pathlib.Path)
    told = parser.parse_args(words)
    model = OnnxModel(told.model, report)
    if told.facts:
        told.facts.write_text(json.dumps(model.facts()), encoding="utf-8")
    if told.samples:
        values = np.memmap(told.samples, np.uint8 if told.pixels else np.float32, "r")
        model.write_outputs(values.reshape(-1, math.prod(model.shape)), told.divisor, told.each, told.outputs)
