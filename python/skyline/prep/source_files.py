"""Files of people, opened with care: no library that may be missing is imported here."""

from __future__ import annotations

import contextlib
import gzip
import os
import pathlib
import stat
import zlib
from collections.abc import Iterator
from typing import IO, cast

from .errors import DamagedFile, PrepError

FRAME_ENDING = ".frame.npz"  # ending of a DataFrame's file (frame_files.py)


@contextlib.contextmanager
def open_plain_or_gzip(path: pathlib.Path) -> Iterator[IO[bytes]]:
    """Opens a plain or gzip file."""
    check_file(path)
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_packed else file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFile(f"{path}: damaged or truncated gzip file") from error


def check_file(path: pathlib.Path) -> None:
    """Checks that a path is that of a file. Raises PrepError."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(None, "Is a directory")
        if not stat.S_ISREG(mode):
            raise PrepError(f"{path}: expected a file, found a pipe or a device")
        if not os.access(path, os.R_OK):
            raise PermissionError(None, "Permission denied")
    except OSError as error:
        raise PrepError(f"cannot read {path}: {error.strerror}") from error
