"""Data sets from objects of Python: written as files that `skyline prep` reads, so that its rules and guesses hold."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._program import child_environment, error_of, find_program

if TYPE_CHECKING:
    import pandas

_PARTS = {"train": "train", "val": "val", "validation": "val", "test": "test"}
_READ_BY_PREP = {".png", ".jpg", ".jpeg", ".webp", ".pbm", ".pgm", ".ppm"}
_ROWS_AT_ONCE = 10_000
_MOST_OF_PNG = 65535
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
Options = dict[str, Any]


def prepare(data: Any, *, out: str | os.PathLike[str], label: Any = None, force: bool = False, quiet: bool = False,
            program: str | os.PathLike[str] | None = None, **options: Any) -> pathlib.Path:
    """Makes a data set file by `skyline prep`, shows what that guesses, and returns the file's path.

    `data` is one of these, or a dictionary of them for the parts `train`, `val` and `test`; without these a fifth is drawn:

    - a DataFrame: columns by name, also those of categories, words and missing values; its index is left out
    - a pair of arrays (samples, targets) of NumPy or torch: [N, channels, height, width] or [N, features], and [N]
    - a data set of torch with a length, whose items are pairs of such a sample, or an image of Pillow, and its target
    - a folder of images, with one folder per class: of any format that Pillow reads

    `label` names the column of the targets, or is a list of several. All other options are those of `skyline prep` by their
    names, such as `test=0.3`, `layout="nhwc"`, `group="patient"` or `size=64`. Samples are written in pieces beside `out`, and
    removed again. Raises Error with the program's line if it refuses them, or if `out` is there without `force=True`.
    """
    target = pathlib.Path(out)
    if target.exists() and not force:
        raise Error(f"{target}: is there already: give another file, or force=True")
    target.parent.mkdir(parents=True, exist_ok=True)
    if label is not None:
        options["label"] = [label] if isinstance(label, str) and label in getattr(data, "columns", ()) else label
    with tempfile.TemporaryDirectory(prefix=".skyline-prepare-", dir=target.parent) as folder:
        kind, sources = _write(data, pathlib.Path(folder), options)
        command = [find_program(program), "prep", kind, *map(str, sources), "--out", str(target)]
        command += ["--force"] if force else []
        for name, value in options.items():
            names = _names(value)
            if isinstance(value, (list, tuple)) and any("," in each for each in names):
                raise Error(f"{name}: expected names without commas, got {', '.join(map(repr, names))}: rename the columns")
            command += ["--" + name.replace("_", "-"), ",".join(names)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, env=child_environment())
        said = re.sub(rf"\S*{re.escape(os.path.basename(folder))}/", "", done.stdout).splitlines()
    if done.returncode != 0:
        raise error_of(said, done.returncode)
    if not quiet and said:
        print("\n".join(said), flush=True)
    return target


def _write(data: Any, folder: pathlib.Path, options: Options) -> tuple[str, list[pathlib.Path]]:
    """Writes the samples, and returns the kind of `skyline prep` and what it shall read. It adds options to say what they are."""
    if isinstance(data, (str, os.PathLike)):
        return "images", [_images(pathlib.Path(data), folder)]
    parts = data if isinstance(data, Mapping) else {"train": data}
    files: list[pathlib.Path] = []
    for name, part in parts.items():
        if name not in _PARTS:
            raise Error(f"data: expected the parts train, val and test, got {name!r}")
        if hasattr(part, "to_csv"):
            files.append(_table(part, folder / f"{_PARTS[name]}.csv", options))
        elif isinstance(part, (tuple, list)) and len(part) == 2:
            files += _arrays(part[0], part[1], folder, _PARTS[name])
        elif hasattr(part, "__len__") and hasattr(part, "__getitem__"):
            files += _samples(part, folder, _PARTS[name], options)
        else:
            raise Error("data: expected a DataFrame, a pair of arrays, a data set of torch or a folder, "
                        f"got {type(part).__name__}")
    return "arrays", files


def _table(frame: pandas.DataFrame, file: pathlib.Path, options: Options) -> pathlib.Path:
    names = [str(name) for name in frame.columns]
    label = options.get("label")
    # A row of numbers would be taken for a sample, unless it has the name of the label.
    known = [name for name in _names(label) if name in names and not _NUMBER.fullmatch(name)]
    like_samples = not known and any(map(_NUMBER.fullmatch, names))
    if len(set(names)) < len(names) or not all(map(str.strip, names)) or like_samples:
        wanted = "different names that are no numbers" if like_samples else "different names"
        raise Error(f"data: expected columns with {wanted}, got {', '.join(names)}")
    words = [name for name, kind in zip(names, frame.dtypes) if str(kind) in ("object", "str", "string", "category")]
    no_features = {name for option in ("label", "id", "group", "drop") for name in _names(options.get(option))}
    categories = [name for name, column in zip(names, frame.columns) if name in words and name not in no_features
                  and frame[column].dropna().astype(str).str.fullmatch(_NUMBER.pattern).all()]
    if categories:  # words that look like numbers, such as zip codes
        options["categories"] = list(dict.fromkeys([*_names(options.get("categories")), *categories]))
    if len(_names(label)) == 1 and _names(label)[0] in words:
        options.setdefault("targets", "classes")
    frame.to_csv(file, index=False, header=names, chunksize=_ROWS_AT_ONCE)
    return file


def _names(value: Any) -> list[str]:
    return [] if value is None else [str(each) for each in value] if isinstance(value, (list, tuple)) else str(value).split(",")


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


def _images(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Returns the folder itself, or a copy with PNG files in place of images of formats that only Pillow reads."""
    others = [file for file in source.rglob("*") if file.suffix.lower() not in _READ_BY_PREP
              and file.is_file() and _is_image(file)]
    if not others:
        return source
    from PIL import Image, ImageOps

    copy = folder / source.resolve().name
    shutil.copytree(source, copy, copy_function=_link, ignore=shutil.ignore_patterns(folder.name))
    for file in others:
        place = copy / file.relative_to(source)
        made = place.with_name(place.name + ".png")
        while made.exists():  # a link to an image of the user
            made = made.with_name("_" + made.name)
        with Image.open(file) as image:
            _as_png(ImageOps.exif_transpose(image), file).save(made)
        place.unlink()
    return copy


def _as_png(image: Any, file: pathlib.Path) -> Any:
    """Returns an image in a mode that PNG files have, with the same values."""
    if image.mode == "F":
        raise Error(f"{file}: is an image of floats: expected whole numbers, or an array (docs/training.md)")
    if image.mode.startswith("I"):
        image = image.convert("I")
        least, most = image.getextrema()
        if least < 0 or most > _MOST_OF_PNG:
            raise Error(f"{file}: has values from {least} to {most}: expected at most {_MOST_OF_PNG}, or an array (docs/training.md)")
        return image.convert("I;16")
    return image if image.mode in ("1", "L", "RGB", "RGBA", "P") else image.convert("RGB")


def _is_image(file: pathlib.Path) -> bool:
    try:
        from PIL import Image

        with Image.open(file) as image:
            return image.format is not None
    except (ImportError, OSError):  # UnidentifiedImageError is an OSError
        return False


def _link(source: str, target: str) -> None:
    try:
        os.link(os.path.realpath(source), target)
    except OSError:  # another file system
        shutil.copy2(source, target)
