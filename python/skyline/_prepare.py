"""Data sets from objects of Python: handed over in files with the types that they have, so that the rules of `skyline prep` hold."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import Error
from ._files import absolute, folders_for, near
from ._program import child_environment, error_of, find_program
from .prep.kinds import source_kind
from .prep.option_table import OPTIONS, respelled
from .prep.source_files import FRAME_ENDING

_PARTS = {"train": "train", "val": "val", "validation": "val", "test": "test"}
Options = dict[str, Any]


def prepare(data: Any, *, out: str | os.PathLike[str], label: Any = None, force: bool = False, quiet: bool = False,
            program: str | os.PathLike[str] | None = None, **options: Any) -> pathlib.Path:
    """Makes a data set file by `skyline prep`, shows what that guesses, and returns the file's path.

    `data` is one of these, or a dictionary of them for the parts `train`, `val` and `test`; without these a fifth is drawn:

    - a DataFrame of pandas: its columns keep their types, such as dates, words and missing values; its index is left out
    - a pair of arrays (samples, targets) of NumPy or torch: [N, channels, height, width] or [N, features], and [N]
    - a data set of torch with a length, whose items are pairs of such a sample, or an image of Pillow, and its target
    - a folder of images or sounds, with one folder per class, or of recordings

    `label` names the column of the targets, or is a list of several. All other options are those of `skyline prep` by their
    names, such as `test=0.3`, `layout="nhwc"`, `group="patient"` or `size=64`. Samples are written in pieces beside `out`, and
    removed again. Raises Error with the program's line if it refuses them, or if `out` is there without `force=True`.
    """
    target = absolute(out)
    if target.exists() and not force:
        raise Error(f"{near(target)}: is there already: give another file, or force=True")
    if label is not None:
        options["label"] = label
    with folders_for(target), tempfile.TemporaryDirectory(prefix=".skyline-prepare-", dir=target.parent) as folder:
        kind, sources = _write(data, pathlib.Path(folder), options)
        command = [find_program(program), "prep", kind, *map(near, sources), "--out", near(target)]
        command += ["--force"] if force else []
        for name, value in options.items():
            names = [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]
            if len(names) > 1 and any("," in each for each in names):
                raise Error(f"{name}: expected names without commas, got {', '.join(map(repr, names))}: rename the columns")
            command += ["--" + name.replace("_", "-"), ",".join(names)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, env=child_environment())
        said = _in_words_of_python(re.sub(rf"\S*{re.escape(os.path.basename(folder))}/", "", done.stdout), options).splitlines()
        if done.returncode != 0:
            raise error_of(said, done.returncode)
    if not quiet and said:
        print("\n".join(said), flush=True)
    return pathlib.Path(near(target))


def _in_words_of_python(said: str, options: Options) -> str:
    """Names arguments and DataFrames where the program names its options and files: `--label=a` becomes `label=a`."""
    names = {*(option.name for option in OPTIONS), *(name.replace("_", "-") for name in options), "force", "help", "out", "threads"}
    said = respelled(said, names, lambda name, end: name.replace("-", "_") + end)
    said = re.sub(rf"\b(val|test){re.escape(FRAME_ENDING)}", r"the DataFrame `\1`", said)
    return said.replace(f"train{FRAME_ENDING}", "the DataFrame")


def _write(data: Any, folder: pathlib.Path, options: Options) -> tuple[str, list[pathlib.Path]]:
    """Writes the samples, and returns the kind of `skyline prep` and what it shall read. It may add an option that says what they are."""
    if isinstance(data, (str, os.PathLike)):
        path = absolute(data)
        return source_kind([path], options), [path]
    parts = data if isinstance(data, Mapping) else {"train": data}
    files: list[pathlib.Path] = []
    for name, part in parts.items():
        if name not in _PARTS:
            raise Error(f"data: expected the parts train, val and test, got {name!r}")
        if hasattr(part, "columns") and hasattr(part, "iloc"):
            from .prep.frame_files import write_frame

            files.append(folder / f"{_PARTS[name]}{FRAME_ENDING}")
            write_frame(part, files[-1])
        elif isinstance(part, (tuple, list)) and len(part) == 2:
            files += _arrays(part[0], part[1], folder, _PARTS[name])
        elif hasattr(part, "__len__") and hasattr(part, "__getitem__"):
            files += _samples(part, folder, _PARTS[name], options)
        else:
            raise Error("data: expected a DataFrame, a pair of arrays, a data set of torch, a folder or a file, "
                        f"got {type(part).__name__}")
    return "arrays", files


def _arrays(samples: Any, targets: Any, folder: pathlib.Path, part: str) -> Iterator[pathlib.Path]:
    import numpy

    for name, array in ((f"x_{part}", _array(samples)), (f"y_{part}", _array(targets))):
        if array.dtype == object:  # words of pandas
            array = array.astype(str)
        numpy.save(folder / f"{name}.npy", array, allow_pickle=False)
        yield folder / f"{name}.npy"


def _array(values: Any) -> Any:
    import numpy

    return numpy.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _sample(sample: Any) -> tuple[Any, str | None]:
    """Returns a sample as an array; for an image of Pillow also the layout of many of them."""
    if hasattr(sample, "convert") and hasattr(sample, "mode"):
        if sample.mode in ("1", "L", "LA"):
            return _array(sample.convert("L")), "nhw"
        if sample.mode == "F" or sample.mode.startswith("I"):  # Pillow would cut their values off at 255
            return _array(sample), "nhw"
        return _array(sample.convert("RGB")), "nhwc"
    return _array(sample), None


def _samples(data: Any, folder: pathlib.Path, part: str, options: Options) -> Iterator[pathlib.Path]:
    import numpy

    if len(data) == 0:
        raise Error(f"data: {part}: has no samples")
    if not isinstance(data[0], (tuple, list)) or len(data[0]) != 2:
        raise Error(f"data: {part}: expected pairs of a sample and its target, got {type(data[0]).__name__}: give (samples, targets)")
    first, layout = _sample(data[0][0])
    if layout:
        options.setdefault("layout", layout)
    file = folder / f"x_{part}.npy"
    write_header: Any = numpy.lib.format.write_array_header_1_0
    descr: Any = numpy.lib.format.dtype_to_descr
    targets = []
    with file.open("wb") as stream:
        write_header(stream, {"descr": descr(first.dtype), "fortran_order": False, "shape": (len(data), *first.shape)})
        for number in range(len(data)):
            sample, target = data[number]
            array, own_layout = _sample(sample)
            if array.shape != first.shape or array.dtype != first.dtype or own_layout != layout:
                raise Error(f"data: {part}: sample {number} is {array.dtype} {list(array.shape)}, and the first one "
                            f"{first.dtype} {list(first.shape)}")
            stream.write(array.tobytes())
            targets.append(target if isinstance(target, (int, str)) else _array(target))
    names = getattr(data, "classes", None)
    if names and all(isinstance(target, int) and target < len(names) for target in targets):
        targets = [str(names[target]) for target in targets]
    numpy.save(folder / f"y_{part}.npy", numpy.asarray(targets), allow_pickle=False)
    yield from (file, folder / f"y_{part}.npy")
