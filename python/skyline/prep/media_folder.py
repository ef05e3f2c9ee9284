"""The files of a folder of images or sounds: which part and which class each belongs to."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .dataset import PARTS, TEST, TRAIN, VALIDATION
from .errors import PrepError, counted
from .media import Medium, ending_of
from .wording import printable

LEFT_OUT = 3  # in place of a part
_OF_SYSTEMS = {"__MACOSX", "@eaDir", "__pycache__", "$RECYCLE.BIN", "lost+found"}
_TEMPORARY = re.compile(r".+\.tmp\.[^/]+\.\d+\.\d+")  # temporary file of the program, whose data set may be written beside the files
_FILLERS = {"set", "data", "dataset", "images", "image", "imgs", "img", "seg", "split", "folder", "pictures", "photos",
            "audio", "sounds", "clips", "wavs"}
_PART_WORDS = {"training": TRAIN, "train": TRAIN, "validation": VALIDATION, "valid": VALIDATION, "val": VALIDATION,
               "testing": TEST, "test": TEST}


@dataclass
class ClassFolder:
    """The folder of a class, in one part."""

    path: str
    part: int
    label: int


@dataclass
class MediaFile:
    __slots__ = ("path", "part", "folder", "group")
    path: str
    part: int  # or LEFT_OUT
    folder: ClassFolder
    group: str  # group in a column of a table; empty without one

    @property
    def label(self) -> int:
        return self.folder.label


@dataclass
class MediaFolder:
    """Files in the order of parts, classes and names. Hidden ones, and folders that systems make (`__MACOSX`), are passed over."""

    class_names: list[str]
    medium: Medium
    folders: list[ClassFolder] = field(default_factory=list)
    files: list[MediaFile] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)  # lines about what is not read, or may be meant otherwise
    notes: list[str] = field(default_factory=list)  # lines about guesses
    origin: str = "one folder per class"
    is_by_table: bool = False

    def has_part(self, part: int) -> bool:
        return any(folder.part == part for folder in self.folders)

    def files_of(self, part: int) -> list[MediaFile]:
        return [file for file in self.files if file.part == part]

    def check_classes(self) -> None:
        """Checks that each class has a file to train on."""
        trained = {file.label for file in self.files if file.part == TRAIN}
        for folder in self.folders:
            if folder.part == TRAIN and folder.label not in trained:
                raise PrepError(f"{folder.path}: a class without {self.medium.one} to train on")

    def add(self, path: str, part: int, label: int) -> None:
        """Adds a file, or those of a folder of any depth."""
        folder = ClassFolder(path, part, label)
        self.folders.append(folder)
        self.files += [MediaFile(each, part, folder, "") for each in ([path] if os.path.isfile(path) else files_in(path))]


def files_without_classes(paths: Sequence[str], medium: Medium) -> MediaFolder:
    found = MediaFolder(["unknown"], medium)
    for path in paths:
        found.add(path, TRAIN, 0)
    return found


def find_by_folders(folder: str, medium: Medium) -> MediaFolder:
    """Finds the files of each class in a folder, or in its folders of the parts: `train`, `Testing`, `valid`, `seg_test`."""
    parts = _part_folders(folder)
    training = _unwrapped(parts[TRAIN]) if parts else folder
    found = MediaFolder([], medium)
    _tell_rest(folder, "parts" if parts else "classes", set(parts.values()), found)
    _find_classes(training, bool(parts), found)
    for part, place in (parts or {TRAIN: folder}).items():
        if parts:
            place = _unwrapped(place)
            _tell_rest(place, "classes", set(), found)
        for path in folders_in(place):
            name = in_one_form(os.path.basename(path))
            if name not in found.class_names:
                raise PrepError(f"{path}: a class that the training set does not have")
            found.add(path, part, found.class_names.index(name))
    return found


def has_class_folders(folder: str) -> bool:
    """Returns whether there are folders that can only be those of classes."""
    parts = _part_folders(folder)
    return len(folders_in(_unwrapped(parts[TRAIN])) if parts else [path for path in folders_in(folder) if stated_part(path) is None]) >= 2


def in_one_form(name: str) -> str:
    """Returns the form in which names are compared: file systems differ in how they write accents."""
    return unicodedata.normalize("NFC", name)


def check_class_name(name: str, place: str, mend: str) -> None:
    if printable(name) != name:
        raise PrepError(f"{place}: expected a class's name in UTF-8 and without control characters: {mend}")


def counts_text(kinds: Counter[str]) -> str:
    """Returns "20 BMP, 3 GIF"."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".") and entry.name not in _OF_SYSTEMS
                           and not _TEMPORARY.fullmatch(entry.name)), key=lambda entry: entry.name)
    except NotADirectoryError:
        raise PrepError(f"{folder}: expected a folder, got a file (tables and arrays: skyline prep arrays {folder})") from None
    except OSError as error:
        raise PrepError(f"cannot read the folder {folder}: {error.strerror}") from None


def folders_in(folder: str) -> list[str]:
    return [entry.path for entry in _entries(folder) if _is_folder(entry)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # told when it is read
        return False


def files_in(folder: str) -> Iterator[str]:
    """Yields the files below a folder, in the order of their names."""
    levels = [iter(_entries(folder))]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
        elif entry.is_dir(follow_symlinks=False):  # links could form a circle: one is refused as a file
            levels.append(iter(_entries(entry.path)))
        else:
            yield entry.path


def stated_part(folder: str) -> int | None:
    """Returns the part that a folder's name states: "Training", "seg_test", "TestSet", "train2017"; not "test tube", which is a class."""
    stated = None
    for word in re.findall("[a-z]+", os.path.basename(folder).lower()):
        if word in _FILLERS:
            continue
        part = next((_PART_WORDS[name] for name in _PART_WORDS if word.startswith(name) and word[len(name):] in _FILLERS | {""}), None)
        if part is None or stated is not None:
            return None
        stated = part
    return stated


def _unwrapped(folder: str) -> str:
    """Goes into a folder of the same part that is all that a part's folder contains: "seg_train/seg_train"."""
    while True:
        entries = _entries(folder)
        if len(entries) != 1 or not _is_folder(entries[0]) or stated_part(entries[0].name) != stated_part(folder):
            return folder
        folder = entries[0].path


def _part_folders(folder: str) -> dict[int, str]:
    """Finds the folders of the parts, which have a folder for each class: one that has only files is a class of this name."""
    found: dict[int, str] = {}
    for path in folders_in(folder):
        part = stated_part(path)
        if part is None or not folders_in(_unwrapped(path)):
            continue
        if part in found:
            raise PrepError(f"{folder}: `{os.path.basename(found[part])}` and `{os.path.basename(path)}` are both named like the "
                            f"{PARTS[part]} set")
        found[part] = path
    return dict(sorted(found.items())) if TRAIN in found else {}


def _tell_rest(folder: str, what: str, parts: set[str], found: MediaFolder) -> None:
    """Tells what a folder contains beside the folders that are read: those of the parts, or of the classes."""
    files: Counter[str] = Counter()
    rest = []
    for entry in _entries(folder):
        if not _is_folder(entry):
            files[ending_of(entry.name)] += 1
        elif parts and entry.path not in parts:
            rest.append(f"`{printable(entry.name)}`")
    if files:
        rest.append(counts_text(files))
    if rest:
        found.doubts.append(f"{folder}: not read, beside the folders of the {what}: {', '.join(rest)}")


def _find_classes(folder: str, in_parts: bool, found: MediaFolder) -> None:
    folders = folders_in(folder)
    for path in folders:
        name = in_one_form(os.path.basename(path))
        check_class_name(name, path, "rename the folder")
        if not in_parts and stated_part(path) is not None:
            found.doubts.append(f"{path}: taken for a class, although it is named like a part of the set: parts are `train`, `val` and "
                                "`test`, each with a folder for each class")
        if name in found.class_names:
            found.doubts.append(f"{path}: its name differs from that of another folder in the form of Unicode alone: both are one class")
        else:
            found.class_names.append(name)
    found.class_names.sort()
    medium = found.medium
    files = sum(medium.has_ending(entry.name) for entry in _entries(folder)) if not folders else 0
    if files:
        raise PrepError(f"{folder}: {counted(files, medium.noun)} and no folders: expected a folder for each class, or a table labels.csv "
                        f"beside the {medium.noun}s, whose columns have the files and their classes")
    if len(folders) < 2:
        inner = folders and len(folders_in(folders[0])) >= 2
        raise PrepError(f"{folder}: expected a folder of {medium.noun}s for each of at least 2 classes, or the folders train, val and test with "
                        f"such, got {len(folders)}" + (f": did you mean {folders[0]}?" if inner else ""))
    common = sorted(set.intersection(*({os.path.basename(each) for each in folders_in(path)} for path in folders)))
    if len(common) >= 2:
        names = ", ".join(f"`{printable(name)}`" for name in common)
        found.doubts.append(f"{folder}: {len(folders)} folders are taken for classes, although each has {names}: if these are the classes, "
                            f"call the folders above them `train`, `val` and `test`, or put the {medium.noun}s of a class into one folder")
