"""The options of this package's kinds: one table, by which they are parsed, refused, shown by --help and listed in docs/data.md.

No package is imported here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from .errors import PrepError
from .options import Value, add_option, choice, number, number_in, text, whole
from .wording import joined

# Forms of sources; the kind `arrays` reads tables and arrays.
IMAGES, SOUNDS, RECORDINGS, TABLES, ARRAYS = FORMS = ("images", "sounds", "recordings", "tables", "arrays")
_FACTS = {TABLES: "is a table", ARRAYS: "has arrays"}
_FORMS_OF_KINDS = {"images": (IMAGES,), "sounds": (SOUNDS,), "recordings": (RECORDINGS,), "arrays": (TABLES, ARRAYS)}
_MOST_CATEGORIES = 10_000
MOST_SIDE = 1 << 15  # pixels
LEAST_RATE, MOST_RATE = 1000, 768_000  # Hz
MOST_SECONDS = 600
MOST_ROWS = 1 << 16  # rows of a window


@dataclass(frozen=True)
class Option:
    name: str
    forms: tuple[str, ...]  # sources that it is for
    value: Value
    meaning: str
    default: object = None


def add_options_of(parser: argparse.ArgumentParser, kind: str) -> None:
    """Adds the options of a kind of this package; those for some of its sources alone have a group of their own in its help."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in OPTIONS:
        own = " and ".join(form for form in option.forms if form in _FORMS_OF_KINDS.get(kind, ()))
        if own:
            group = groups[own] if own in groups else groups.setdefault(own, parser.add_argument_group(f"options of {own}"))
            add_option(group, option.name, option.value, option.meaning, option.default)


def forms_of(name: str) -> list[str]:
    """Returns the forms of sources that have an option; none for one that is unknown."""
    return [form for form in FORMS if any(option.name == name and form in option.forms for option in OPTIONS)]


def refuse_foreign(given: Iterable[str], form: str, source: object) -> None:
    """Raises PrepError for an option that a source of this form does not have, although others have it."""
    for name in given:
        forms = forms_of(name)
        if forms and form not in forms:
            raise PrepError(f"--{name}: an option of {joined(forms)}, and {source} {_FACTS[form]}")


def respelled(line: str, names: Collection[str], spell: Callable[[str, str], str]) -> str:
    """Names the options of a line in another way. `spell` gets a name and what is behind it: "=", ":", or else an empty text."""
    def spelled(found: re.Match[str]) -> str:
        return spell(found[1], found[2]) if found[1] in names else found[0]

    return re.sub(r"(?<![^ (`])--([a-z][a-z-]*)([=:]?)", spelled, line)


def _size_in(given: str) -> tuple[int, int] | str | None:
    if given == "auto":
        return given
    found = re.fullmatch(r"(\d{1,6})(?:x(\d{1,6}))?", given, re.ASCII)
    size = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    return size if 1 <= min(size) and max(size) <= MOST_SIDE else None


def _words_in(given: str) -> tuple[str, ...] | None:
    return tuple(word.strip() for word in given.split(",")) or None


def _numbers_in(given: str) -> tuple[float, ...] | None:
    values = [number_in(each.strip()) for each in given.split(",")]
    return None if None in values else tuple(value for value in values if value is not None)


def _missing_in(given: str) -> str | None:
    return given if given in ("median", "refuse") or number_in(given) is not None else None


def _length_in(given: str) -> float | str | None:
    if given == "auto":
        return given
    seconds = number_in(given.removesuffix("s"))
    return seconds if seconds is not None and 0 < seconds <= MOST_SECONDS else None


def _sounds() -> list[Option]:
    milliseconds = number("a number of milliseconds above 0, at most 1000", lambda value: 0 < value <= 1000)
    hertz = number("a number of at least 0", lambda value: value >= 0)
    return [
        Option("rate", (SOUNDS,), whole(LEAST_RATE, MOST_RATE), "Samples of a second, Hz, to which sounds are resampled (default: their own)."),
        Option("length", (SOUNDS,), Value(f"a number of seconds above 0, at most {MOST_SECONDS}, or auto", _length_in, "SECONDS"),
               "Makes all sounds so long: zeros follow shorter ones, and of longer ones the beginning stays. `auto`: their own length, or "
               "one that leaves 95 of 100 whole, of at most 10 s."),
        Option("features", (SOUNDS,), choice("log-mel", "samples"),
               "`log-mel`: the energy in bands of frequencies, an image; `samples`: the sound as it is, a sequence.", "log-mel"),
        Option("window", (SOUNDS,), milliseconds, "Length of a frame, ms.", 30.0),
        Option("hop", (SOUNDS,), milliseconds, "From the start of one frame to that of the next, ms.", 20.0),
        Option("bands", (SOUNDS,), whole(1, 256), "Bands of frequencies.", 40),
        Option("low", (SOUNDS,), hertz, "Lower end of the lowest band, Hz.", 20.0),
        Option("high", (SOUNDS,), hertz, "Upper end of the highest band, Hz (default: half the rate)."),
    ]


def _recordings(columns: Value) -> list[Option]:
    return [
        Option("length", (RECORDINGS,), Value(f"a number of rows up to {MOST_ROWS}, or of seconds, as 2.56s", _rows_in, "LENGTH"),
               "Rows of a window: 128, or with `--time` 2.56s. Needed."),
        Option("step", (RECORDINGS,), Value(f"a number of rows up to {MOST_ROWS}, or of seconds, as 1.28s", _rows_in, "STEP"),
               "Rows from the start of a window to that of the next (default: half the length)."),
        Option("time", (RECORDINGS,), text("a column"),
               "The column with the time, numbers or dates, in its order (default: the one called time or timestamp)."),
        Option("time-unit", (RECORDINGS,), choice("s", "ms", "us", "ns"), "Unit of its numbers.", "s"),
        Option("label", (RECORDINGS,), columns, "The column that has the class, or the columns of numbers (default: the one called label, "
               "class, target or activity).", ""),
        Option("targets", (RECORDINGS,), choice("classes", "numbers", "log", "log1p"), "What the label is: a class, or numbers to predict, or "
               "their logarithms, as of tables.", "classes"),
        Option("label-of", (RECORDINGS,), choice("majority", "last", "mean"), "Class of a window: that of most of its rows (default), or of "
               "the last one. Numbers of a window: their mean over its rows (default), or those of the last one."),
        Option("drop", (RECORDINGS,), columns, "Columns to leave out.", ""),
        Option("group", (RECORDINGS,), text("`file`, or a column"), "What one recording is: a `file`, or a column of persons, days or "
               "recordings.", "file"),
    ]


def _rows_in(given: str) -> tuple[float, bool] | None:
    """Returns a length, and whether it is in seconds."""
    is_time = given.endswith("s")
    value = number_in(given[:-1] if is_time else given)
    if value is None or value <= 0 or value > MOST_ROWS or (not is_time and value != int(value)):
        return None
    return value, is_time


def _table() -> list[Option]:
    every, numbers, media = FORMS, (TABLES, ARRAYS), (IMAGES, SOUNDS)
    name, columns = text("the name of an array, or its file's"), text("names of columns, or their numbers from 1, with commas between them")
    share = number("a number of at least 0 and below 1", lambda value: 0 <= value < 1)
    return [
        Option("size", (IMAGES,), Value(f"a number of pixels up to {MOST_SIDE}, HEIGHTxWIDTH, or auto", _size_in, "SIZE"),
               "Makes all images of this size: 32, or 24x32 (height first). `auto`: their own size, or a square by the median of their "
               "shorter sides, of at most 96 pixels."),
        Option("fit", (IMAGES,), choice("resize", "crop"),
               "`resize` changes height and width each on its own; `crop` covers the size and cuts the rest.", "resize"),
        *_sounds(),
        Option("labels", media, text("`folders`, `names`, a pattern, or a table"),
               "Where the classes are: in the `folders`, in the beginnings of the `names` (cat.17.jpg, cat_17.jpg), in a part of the names "
               "(`*_{class}_*`), or in a table, e.g. labels.csv. By default the first of folders, a table and names that is there."),
        Option("label", media, text("a column"), "The column of this table that has the classes.", ""),
        Option("skip", (*media, RECORDINGS), whole(0), "Most files that are left out because they cannot be read.", 100),
        Option("group", media, text("`none`, `folder`, `name`, a pattern or a column"),
               "Keeps files of one person in one part: those in a `folder` of one name below their classes, or those whose `name` "
               "begins alike, up to the first `_` or `-`. A pattern (`*_{group}_*`) or a column of the table of labels may tell it, too.", "none"),
        Option("x-train", numbers, name, "Array of the training samples (default: x_train), or the training table.", ""),
        Option("x-val", numbers, name, "Array of the validation samples (default: x_val, if there is one), or their table.", ""),
        Option("x-test", numbers, name, "Array of the test samples (default: x_test, if there is one), or their table.", ""),
        Option("y-train", (ARRAYS,), name, "Array of the training samples' targets (default: y_train).", ""),
        Option("y-val", (ARRAYS,), name, "Array of the validation samples' targets.", ""),
        Option("y-test", (ARRAYS,), name, "Array of the test samples' targets.", ""),
        Option("label", (TABLES,), columns, "The columns that have the targets (default: the one called label, class, target or y, else the "
               "last one).", ""),
        Option("drop", (TABLES,), columns, "Columns to leave out.", ""),
        Option("id", (TABLES,), text("a column"), "The column that names the samples.", ""),
        Option("group", numbers, text("a column, or the name of an array"),
               "The column, or the array [N], whose equal entries mark samples that stay in one part.", ""),
        Option("categories", (TABLES,), columns, "Columns whose numbers are categories.", ""),
        Option("most-categories", (TABLES,), whole(1, _MOST_CATEGORIES),
               "Most categories of a column that get a feature each; one more stands for all others.", 32),
        Option("dates", (TABLES,), columns, "Columns with dates, which become features. NAME:dmy or NAME:mdy says whether the day or the "
               "month comes first.", ""),
        Option("numbers", (TABLES,), choice("point", "comma"),
               "Decimal sign of numbers with thousands, units or signs of their own, which are then read: `point` (1,234.5) or `comma` "
               "(1.234,5)."),
        Option("missing-words", (TABLES,), Value("words with commas between them", _words_in),
               "Words that stand for missing values, beside NA, ? and the like.", ()),
        Option("missing-values", (TABLES,), Value("numbers with commas between them", _numbers_in),
               "Numbers that stand for missing values, e.g. -9999.", ()),
        Option("missing", (TABLES,), Value("`median`, `refuse` or a number", _missing_in),
               "What stands for missing numbers; one more feature says where they were missing.", "median"),
        Option("layout", (ARRAYS,), choice("nchw", "nhwc", "nhw", "nl", "ncl", "nlc", "nf"),
               "What the dimensions are: n samples, c channels, h height, w width, l length, f features (default: nchw, nf, or what the "
               "run has)."),
        Option("shape", numbers, text("CHANNELSxHEIGHTxWIDTH or CHANNELSxLENGTH"),
               "Shape of a sample whose numbers lie in this order, e.g. 1x28x28, whatever the array's dimensions.", ""),
        Option("targets", numbers, choice("classes", "labels", "numbers", "log", "log1p"),
               "What the targets are (default: whole numbers [N] and words are classes, whole numbers [N, K] labels, floats numbers). "
               "`log` are positive numbers whose logarithms are learned, `log1p` those of 1 + number, which may be 0."),
        Option("value-scale", numbers, number("a number above 0", lambda value: value > 0),
               "Largest value of pixels, of arrays of uint8 or of a table whose numbers are pixels (default: 255)."),
        *_recordings(columns),
        Option("test", every, share, "Share of every class that becomes the test set (default: 0.2, or 0 with a test or validation set)."),
        Option("validation", every, share, "Share of every class that is stored as the validation set.", 0.0),
        Option("seed", every, whole(0), "Of the draw of these shares.", 1),
        Option("equal-samples", (IMAGES, SOUNDS, TABLES, ARRAYS), choice("together", "apart"),
               "Whether samples with equal values are drawn into one part (default: "
               "`together` where less than a fifth of the different samples is there more than once)."),
        Option("split", numbers, choice("drawn", "last"),
               "How these shares are taken: `drawn` from every class, or the `last` samples, for series in time.", "drawn"),
    ]


OPTIONS = _table()
