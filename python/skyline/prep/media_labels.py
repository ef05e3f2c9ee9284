"""Images and sounds whose classes are in a table beside them, or in their names."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterable

from .dataset import TRAIN
from .errors import PrepError
from .media import Medium, ending_of
from .media_folder import (ClassFolder, MediaFile, MediaFolder, check_class_name, counts_text, files_in, folders_in,
                           has_class_folders, in_one_form, stated_part)
from .media_tables import Labelled, rows_of
from .name_pattern import NamePattern, is_pattern
from .wording import in_quotes, printable

_TABLES = [*(f"{name}{ending}" for name in ("labels", "metadata", "train", "annotations") for ending in (".csv", ".tsv")), "metadata.jsonl"]
_NUMBERED = re.compile(r"(.+)\.\d+")  # cat.17
_BEGINNING = re.compile(r"(.*[^\d._ -])[._ -]*\d+")  # cat-17, cat_17, cat 17


def find_labelled(folder: str, options: argparse.Namespace, medium: Medium) -> MediaFolder | None:
    """Finds files by a table, or by their names, as `--labels` says. Without it, only where there are no folders of classes."""
    how = options.labels
    if how == "folders":
        return None
    if how and how != "names":
        if is_pattern(how):
            return _by_pattern(folder, NamePattern(how, "class", "--labels"), medium)
        return _by_tables(folder, [_named_table(folder, how)], options, medium)
    if how == "names":
        return _by_names(folder, _BEGINNING, medium, is_guess=False)
    if has_class_folders(folder):
        return None
    tables = _tables_in(folder)
    return _by_tables(folder, tables, options, medium) if tables else _by_names(folder, _NUMBERED, medium, is_guess=True)


def tell_tables(folder: str, found: MediaFolder) -> None:
    """Tells of tables that may have the classes beside folders of classes."""
    found.doubts += [f"{path}: not read, since each class has a folder (--labels={os.path.basename(path)} reads the classes there)"
                     for path in _tables_in(folder)]


def _named_table(folder: str, name: str) -> str:
    within = os.path.join(folder, name)
    if not os.path.isfile(within) and not os.path.isfile(name):
        raise PrepError(f"--labels: expected `folders`, `names`, a pattern with {{class}}, or a table in {folder}, got {in_quotes(printable(name))}")
    return within if os.path.isfile(within) else name


def _tables_in(folder: str) -> list[str]:
    """Returns the table of a folder, or those of the folders of its parts."""
    for places in ([folder], [path for path in folders_in(folder) if stated_part(path) is not None]):
        tables = [next((path for name in _TABLES if os.path.isfile(path := os.path.join(place, name))), "") for place in places]
        if any(tables):
            return [path for path in tables if path]
    return []


def _by_tables(folder: str, tables: list[str], options: argparse.Namespace, medium: Medium) -> MediaFolder:
    found = MediaFolder([], medium, origin="classes by a table", is_by_table=True)
    labelled: dict[str, Labelled] = {}
    for path in tables:
        for each in rows_of(path, folder if len(tables) == 1 else os.path.dirname(path), options, found):
            known = labelled.setdefault(each.path, each)
            if known.name != each.name:
                raise PrepError(f"{each.location}: {each.path} has two classes, {in_quotes(known.name)} and {in_quotes(each.name)}: "
                                f"expected one class for each {medium.noun}")
    _add_all(folder, labelled.values(), found)
    _tell_rest(folder, {*labelled, *tables}, "a row in " + ", ".join(os.path.basename(path) for path in tables), found)
    return found


def _by_pattern(folder: str, pattern: NamePattern, medium: Medium) -> MediaFolder:
    """Finds files whose names have their class in a place."""
    files = [path for path in files_in(folder) if medium.has_ending(path)]
    labelled = {path: Labelled(path, in_one_form(name)) for path in files
                if (name := pattern.find(os.path.splitext(os.path.basename(path))[0]))}
    if not labelled:
        example = f", e.g. {in_quotes(printable(os.path.basename(files[0])))}" if files else ""
        raise PrepError(f"{folder}: --labels={pattern.text}: found no {medium.noun} with such a name{example}")
    found = MediaFolder([], medium, origin="classes by their names")
    _add_all(folder, labelled.values(), found)
    _tell_rest(folder, set(labelled), f"a name like {pattern.text}", found)
    return found


def _by_names(folder: str, pattern: re.Pattern[str], medium: Medium, is_guess: bool) -> MediaFolder | None:
    """Finds files whose names begin with their class. A guess holds only if all files to train on have such names."""
    files = [path for path in files_in(folder) if medium.has_ending(path)]
    has_train = any(_part_of(folder, path) == TRAIN for path in files)
    labelled, others = {}, []
    for path in files:
        begin = pattern.fullmatch(os.path.splitext(os.path.basename(path))[0])
        if begin:
            labelled[path] = Labelled(path, in_one_form(begin[1]))
        else:
            others.append(path)
    counts = Counter(each.name for each in labelled.values())
    is_sure = len(counts) >= 2 and min(counts.values()) >= 2 and all(has_train and _part_of(folder, path) != TRAIN for path in others)
    if is_guess and not is_sure:
        return None
    if not labelled:
        example = f", e.g. {in_quotes(printable(os.path.basename(files[0])))}" if files else ""
        raise PrepError(f"{folder}: --labels=names: expected names of {medium.noun}s that begin with their class, as cat.17.jpg, found none"
                        + example)
    found = MediaFolder([], medium, origin="classes by their names")
    _add_all(folder, labelled.values(), found)
    found.doubts.append(f"{folder}: classes by the beginnings of the files' names, e.g. {in_quotes(printable(found.class_names[0]))} "
                        "(--labels=folders: by folders)")
    _tell_rest(folder, set(labelled), "a name that begins with a class", found)
    return found


def _add_all(folder: str, some: Iterable[Labelled], found: MediaFolder) -> None:
    """Adds files by part, class and name. Those in a folder at the top whose name states a part have this part, if one is for training."""
    labelled = list(some)
    stated = [_part_of(folder, each.path) for each in labelled]
    parts = [part if part is not None and TRAIN in stated else TRAIN for part in stated]
    names = sorted({each.name for each in labelled}, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    if len(names) < 2:
        raise PrepError(f"{folder}: expected at least 2 classes, got " + (f"{in_quotes(names[0])} alone" if names else "0"))
    for each in labelled:
        check_class_name(each.name, each.location, "write another")
    found.class_names = names
    numbers = {name: number for number, name in enumerate(names)}
    folders: dict[tuple[int, str], ClassFolder] = {}
    for part, label, path, group in sorted((part, numbers[each.name], each.path, each.group) for part, each in zip(parts, labelled)):
        of_class = folders.setdefault((part, names[label]), ClassFolder(f"{folder}: {in_quotes(names[label])}", part, label))
        found.files.append(MediaFile(path, part, of_class, group))
    found.folders = list(folders.values())


def _part_of(folder: str, path: str) -> int | None:
    top, *below = os.path.relpath(path, folder).split(os.sep)
    return stated_part(top) if below else None


def _tell_rest(folder: str, read: set[str], what: str, found: MediaFolder) -> None:
    rest = Counter(ending_of(path) for path in files_in(folder) if path not in read)
    if rest:
        found.doubts.append(f"{folder}: files without {what} are not read: {counts_text(rest)}")
