"""Files of people that become a sample each: images and sounds. What holds for both; no library that may be missing is imported."""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import BinaryIO

from .errors import PrepError
from .source_files import check_file

_START_BYTES = 512
_MOST_FILE_BYTES = 1 << 29
_BLOCK_BYTES = 1 << 20


class MediaProblem(Exception):
    """Why a file gives no sample; its text leaves out the file's name unless the system's error has it."""


@dataclass(frozen=True)
class Medium:
    """A kind of media, and how its files are known."""

    noun: str  # "image"
    one: str  # "an image"
    endings: Set[str]
    kind_of: Callable[[bytes], str]  # kind of a file that begins so, e.g. "PNG"; an empty text if it is of another medium
    is_read: Callable[[str], bool]  # whether this Python reads a kind
    packages: Mapping[str, str]  # packages with which kinds are read

    def has_ending(self, path: str) -> bool:
        return ending_of(path) in self.endings

    def is_one(self, path: pathlib.Path) -> bool:
        """Returns whether the content of a file is of this medium, of a kind that is read or not."""
        try:
            return self._kind_in(str(path)) != ""
        except MediaProblem:
            return False

    def other_kind(self, path: str) -> tuple[str, bool] | None:
        """Returns what a file is that cannot be read: "HEIC" and True for one of this medium, ".txt" and False for another.

        Returns None if it should be one that is read, by its content or its name: then it is damaged."""
        try:
            kind = self._kind_in(path)
        except (MediaProblem, OSError):
            return None
        if kind:
            return None if self.is_read(kind) else (kind, True)
        return None if self.has_ending(path) else (ending_of(path), False)

    def _kind_in(self, path: str) -> str:
        with open_media_file(path) as file:
            return self.kind_of(file.read(_START_BYTES))


def not_read(kind: str) -> str:
    return f"a {kind} file, which is not read"


def open_media_file(path: str) -> BinaryIO:
    """Opens a file of people, who may have a pipe or a folder there."""
    try:
        check_file(pathlib.Path(path))
        if os.path.getsize(path) > _MOST_FILE_BYTES:
            raise MediaProblem(f"larger than {_MOST_FILE_BYTES} bytes")
        return open(path, "rb")
    except PrepError as error:
        raise MediaProblem(str(error)) from None
    except OSError as error:
        raise MediaProblem(f"cannot read {path}: {error.strerror}") from None


def digest_of(path: str) -> str:
    """Returns the same text for files of the same bytes. Raises MediaProblem."""
    digest = hashlib.blake2b(digest_size=16)
    with open_media_file(path) as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def ending_of(path: str) -> str:
    return os.path.splitext(path)[1].lower() or "without an ending"
