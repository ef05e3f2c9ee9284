"""What is in a run folder at one moment, while a search goes on in it."""

import contextlib
import os
import re
import stat
import time
from typing import NamedTuple

JOURNAL = "journal.jsonl"
# The claim of a job, temporary files and where trainers work: a next job needs none of them.
LEFT_OUT = re.compile(r"owner\.json|mlflow\.lock|trainer|\.mlflow\.json\.\w+|(.*/)?[^/]+\.tmp\.[^/]+\.\d+\.\d+")
MOST_LOOKS = 20  # at a folder that changes meanwhile
PIECE = 8 << 20  # bytes that are read at once


class Changed(Exception):
    """A file changed while it was read."""


class Found(NamedTuple):
    """A file, link or folder of the run: equal as long as it does not change."""

    mode: int
    inode: int
    bytes: int
    mtime_ns: int
    target: str  # of a link

    @classmethod
    def of(cls, status, target=""):
        if stat.S_ISDIR(status.st_mode):
            return cls(status.st_mode, status.st_ino, 0, 0, "")
        return cls(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, target)


def open_file(path):
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def walk(run, folder=""):
    """Yields path and status of all that is in the run folder."""
    with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(run / folder) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if LEFT_OUT.fullmatch(path):
                continue
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                yield path, status
                if stat.S_ISDIR(status.st_mode):
                    yield from walk(run, path)


def trial_of(path):
    """The folder trials/K that a path belongs to, which is copied as a whole; else nothing."""
    parts = path.split("/", 2)
    return "/".join(parts[:2]) if parts[0] == "trials" and len(parts) > 1 else None


class Look:
    """What was in a run folder. Files whose contents are not known yet are held open, so that they stay if they go."""

    def __init__(self, run, known):
        self.began_ns = time.time_ns()
        self.files, self.trials, self.held = {}, {}, {}
        try:
            self.journal = self._hold(run, JOURNAL)
            for path, status in walk(run):
                if path != JOURNAL:
                    self._add(run, path, status, known)
            self.journal_at_end = Found.of(os.stat(run / JOURNAL))
        except BaseException:
            self.close()
            raise

    def _hold(self, run, path):
        self.held[path] = open_file(run / path)
        return Found.of(os.fstat(self.held[path]))

    def _add(self, run, path, status, known):
        found = Found.of(status)
        trial = trial_of(path)
        try:
            if stat.S_ISLNK(status.st_mode):
                found = Found.of(status, os.readlink(run / path))
            elif stat.S_ISREG(status.st_mode) and (path not in known or known[path][0] != found):
                found = self._hold(run, path)
        except FileNotFoundError:
            return
        except OSError:
            if not trial:
                raise
            found = None  # a program has made it unreadable: its trial has not ended well
        if found is None or stat.S_IFMT(found.mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            (self.trials.setdefault(trial, {}) if trial else self.files)[path] = found

    def close(self):
        for descriptor in self.held.values():
            os.close(descriptor)


def look_twice(run, known):
    """Looks twice at the folder, until nothing is committed meanwhile.

    What is there at a moment between the looks is seen by one of them, unless it came after the first and went before the
    second. That is impossible for what a resume needs, as long as the journal stays the same; if it never does, the
    last two looks have to do.
    """
    first = Look(run, known)
    try:
        second = Look(run, known)
        for _ in range(MOST_LOOKS):
            if first.journal == second.journal_at_end:
                break
            first.close()
            first = second
            second = Look(run, known)
    except BaseException:
        first.close()
        raise
    return first, second


def read_pieces(descriptor, size):
    """Yields the first `size` bytes of a file; fewer if it is shorter."""
    place = 0
    while place < size and (piece := os.pread(descriptor, min(PIECE, size - place), place)):
        yield piece
        place += len(piece)
