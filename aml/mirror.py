"""Copies of a run folder on the mount of an object store, from which a new job resumes the run: `skyline-aml --mirror`.

usage: mirror.py restore MIRROR RUN
       mirror.py follow MIRROR RUN [--every SECONDS]

`restore` makes RUN from the newest whole copy, if there is one and RUN holds no run. `follow` makes a copy every minute and
at SIGUSR1. When its standard input ends, it makes the last one and ends.

  MIRROR/files/SHA256      contents of files, which never change
  MIRROR/copies/N.json     names the contents of all files of the run; the newest five are kept
  MIRROR/job               the job that makes copies; an earlier one that finds another name here makes no more

A copy is published last, by a rename, and a restore compares the sums of all contents. So neither the order in which a
mount uploads files nor a kill can make a copy that is wrong: it is whole or it is not used.

Exit codes: 0; 2 for a mirror of another run, or without a whole copy; 76 if the mirror could not be read or written.
"""

import argparse
import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import resource
import secrets
import select
import shutil
import signal
import stat
import sys
import tempfile
import time

from run_look import JOURNAL, PIECE, Changed, Found, look_twice, open_file, read_pieces, trial_of, walk

KEPT_COPIES = 5  # more than a job makes before a mount's cache (2 minutes) shows it that another one has begun
SETTLED_S = 0.5  # a file that changed later may be changing


class Refusal(Exception):
    """What a person has to mend: exit code 2."""


def say(line):
    print(f"skyline-aml: {line}", file=sys.stderr, flush=True)


def write_file(path, pieces):
    """Writes a file, which a mount uploads when it is closed. Returns the sum of its bytes as text, and their number."""
    sha, size = hashlib.sha256(), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb", buffering=0) as file:
        for piece in pieces:
            sha.update(piece)
            size += len(piece)
            view = memoryview(piece)
            while view:
                view = view[file.write(view):]
    return sha.hexdigest(), size


def run_of(header):
    """What tells runs apart, from the first line of a journal."""
    try:
        fields = json.loads(header)
        return {name: fields[name] for name in ("config_hash", "seed")}
    except (ValueError, KeyError, TypeError):
        raise Refusal(f"{JOURNAL}: its first line is not that of a journal") from None


def check_run(mirror, copy, run, expected):
    if copy["run"] != expected:
        said = [" and ".join(f"{name} {value}" for name, value in each.items()) for each in (expected, copy["run"])]
        raise Refusal(f"--mirror {mirror.folder}: holds copies of another run than {run}: expected {said[0]}, got {said[1]}: give each "
                      "run a mirror of its own")


class Mirror:
    """The folder that holds the copies."""

    def __init__(self, folder):
        self.folder = folder

    def numbers(self):
        """The numbers of the copies, newest first."""
        names = os.listdir(self.folder / "copies") if (self.folder / "copies").is_dir() else []
        return sorted((int(name[:-5]) for name in names if re.fullmatch(r"\d+\.json", name)), reverse=True)

    def path_of(self, number):
        return self.folder / "copies" / f"{number}.json"

    def contents(self, entry):
        return self.folder / "files" / entry["sha256"]

    def read(self, number):
        """Returns a copy, or nothing if it is damaged or gone."""
        try:
            copy = json.loads(self.path_of(number).read_bytes())
            sound = (copy["format"], copy["version"]) == ("skyline-mirror", 1) and JOURNAL in copy["files"] and copy["lines"] > 0
            for path, entry in copy["files"].items():
                place = pathlib.PurePosixPath(path)
                sound = sound and not place.is_absolute() and ".." not in place.parts
                if "sha256" in entry:
                    sound = sound and bool(re.fullmatch(r"[0-9a-f]{64}", entry["sha256"])) and \
                        all(isinstance(entry[name], int) for name in ("bytes", "mode", "mtime_ns"))
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return copy if sound else None

    def copies(self):
        """Yields the copies with their numbers, newest first."""
        for number in self.numbers():
            if copy := self.read(number):
                yield number, copy

    def publish(self, copy):
        number = max(self.numbers(), default=0) + 1
        temporary = self.path_of(number).with_suffix(".tmp")
        write_file(temporary, [json.dumps(copy).encode()])
        os.replace(temporary, self.path_of(number))
        return number


class Copier:
    """Makes the copies of a run."""

    def __init__(self, mirror, run):
        self.mirror, self.run = mirror, run
        self.known = {}  # path: what was found there, and its entry in a copy
        self.copies = {number: copy["files"] for number, copy in mirror.copies()}
        entries = [entry for files in self.copies.values() for entry in files.values() if "sha256" in entry]
        self.whole = {entry["sha256"] for entry in entries if self._is_there(entry)}
        self.last = self.copies[max(self.copies)] if self.copies else {}
        self.stored = set(os.listdir(mirror.folder / "files")) if (mirror.folder / "files").is_dir() else set()
        self.token = secrets.token_hex(8).encode()
        write_file(mirror.folder / "job", [self.token])

    def _is_there(self, entry):
        with contextlib.suppress(FileNotFoundError):
            return os.stat(self.mirror.contents(entry)).st_size == entry["bytes"]
        return False

    def copy(self):
        """Makes a copy, if the run has begun. Returns false if another job makes them now."""
        if not (self.run / JOURNAL).exists():
            return True
        if not (job := self.mirror.folder / "job").exists():
            write_file(job, [self.token])  # somebody has removed it
        elif job.read_bytes() != self.token:
            return False
        self._forget_lost()
        self._store_early()
        first, second = look_twice(self.run, self.known)
        try:
            header = os.pread(second.held[JOURNAL], PIECE, 0).partition(b"\n")[0]
            files = self._files(first, second)
            lines = sum(piece.count(b"\n") for piece in read_pieces(second.held[JOURNAL], second.journal.bytes))
        finally:
            first.close()
            second.close()
        if files == self.last:
            return True
        copy = {"format": "skyline-mirror", "version": 1, "run": run_of(header), "lines": lines, "files": files}
        newest = max(self.mirror.numbers(), default=0)
        if newest not in self.copies and (other := self.mirror.read(newest)):
            check_run(self.mirror, other, self.run, copy["run"])
        self.copies[self.mirror.publish(copy)] = self.last = files
        self.clean()
        return True

    def _forget_lost(self):
        """Has contents stored again that are gone: an earlier job may have removed them, or a rule of the store."""
        folder = self.mirror.folder / "files"
        self.whole &= set(os.listdir(folder)) if folder.is_dir() else set()
        self.known = {path: each for path, each in self.known.items() if each[1]["sha256"] in self.whole}

    def _store_early(self):
        """Stores what does not change any more, so that few files are held open at the moment of the copy."""
        before_ns = time.time_ns() - SETTLED_S * 1e9
        for path, status in walk(self.run):
            if not stat.S_ISREG(status.st_mode) or status.st_mtime_ns > before_ns:
                continue
            if path not in self.known or self.known[path][0] != Found.of(status):
                with contextlib.suppress(FileNotFoundError, PermissionError, Changed):
                    descriptor = open_file(self.run / path)
                    try:
                        self._store(path, Found.of(os.fstat(descriptor)), descriptor)
                    finally:
                        os.close(descriptor)

    def _files(self, first, second):
        """Stores the contents of what was seen. Returns the files of the copy."""
        files = {path: self._entry(path, found, first.held) for path, found in first.files.items() if path not in second.files}
        files |= {path: self._entry(path, found, second.held) for path, found in second.files.items()}
        files[JOURNAL] = self._entry(JOURNAL, second.journal, second.held)
        for trial in first.trials | second.trials:
            files |= self._trial(trial, first, second)
        return files

    def _trial(self, trial, first, second):
        """The folder of a trial as it was at one moment: a kill could never leave a mixture of two. Once its marker is there, nothing
        in it changes. Where a program was just changing it, that is the one of the copy before."""
        before, seen = first.trials.get(trial, {}), second.trials.get(trial, {})
        settled_ns = first.began_ns - SETTLED_S * 1e9
        if f"{trial}/done" in before and seen != before:
            look = first
        elif f"{trial}/done" in seen or seen == before and all(found and found.mtime_ns < settled_ns for found in seen.values()):
            look = second
        else:
            look = None
        if look:
            with contextlib.suppress(Changed):
                return {path: self._entry(path, found, look.held, True) for path, found in look.trials[trial].items()}
        files = {path: entry for path, entry in self.last.items() if trial_of(path) == trial}
        return files if {entry.get("sha256") for entry in files.values()} <= self.whole | {None} else {}

    def _entry(self, path, found, held, whole=False):
        if found is None:
            raise Changed
        if stat.S_ISDIR(found.mode):
            return {"folder": stat.S_IMODE(found.mode)}
        if stat.S_ISLNK(found.mode):
            return {"link": found.target}
        if path in self.known and self.known[path][0] == found:
            return self.known[path][1]
        entry = self._store(path, found, held[path])
        if whole and Found.of(os.fstat(held[path])) != found:
            raise Changed
        return entry

    def _store(self, path, found, descriptor):
        """Stores the bytes that a file had when it was found, since when it may have grown. Returns its entry."""
        pieces = list(read_pieces(descriptor, found.bytes)) if found.bytes <= PIECE else None
        sha, size = hashlib.sha256(), 0
        for piece in pieces if pieces is not None else read_pieces(descriptor, found.bytes):
            sha.update(piece)
            size += len(piece)
        name = sha.hexdigest()
        entry = {"sha256": name, "bytes": size, "mode": stat.S_IMODE(found.mode), "mtime_ns": found.mtime_ns}
        if name not in self.whole:
            self.stored.add(name)
            if write_file(self.mirror.contents(entry), pieces if pieces is not None else read_pieces(descriptor, size))[0] != name:
                raise Changed
            self.whole.add(name)
        self.known[path] = found, entry
        return entry

    def clean(self):
        """Removes old copies, and contents that none of the others names."""
        numbers = self.mirror.numbers()
        for number in numbers[KEPT_COPIES:]:
            self.mirror.path_of(number).unlink(missing_ok=True)
        self.copies = {number: files for number, files in self.copies.items() if number in numbers[:KEPT_COPIES]}
        used = {entry.get("sha256") for files in self.copies.values() for entry in files.values()}
        for name in self.stored - used:
            (self.mirror.folder / "files" / name).unlink(missing_ok=True)
        self.stored &= used
        self.whole &= used
        self.known = {path: each for path, each in self.known.items() if each[1]["sha256"] in used}


def follow(mirror, run, every_s):
    woken, waker = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    copier, problem, due, last = None, None, time.monotonic(), False
    while not last:
        ready = select.select([0, woken], [], [], max(0.0, due - time.monotonic()))[0]
        last = 0 in ready
        if woken in ready:
            os.read(woken, 4096)
        try:
            copier = copier or Copier(mirror, run)
            if not copier.copy():
                say(f"another job makes copies in {mirror.folder} now, and this one makes no more")
                return 0
            if problem:
                say(f"copies are made in {mirror.folder} again")
            problem = None
        except (OSError, Changed) as fault:
            if not problem:
                say(f"cannot copy {run} to {mirror.folder}: {str(fault) or 'a file changes too fast'}; the search goes on, and it is "
                    f"tried again every {every_s:g} s")
            problem = fault
            if copier and isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
                with contextlib.suppress(OSError):
                    copier.clean()
        due = time.monotonic() + every_s
    return 76 if problem else 0


def restore(mirror, run):
    if (run / JOURNAL).exists():
        for number, copy in mirror.copies():
            return compare(mirror, number, copy, run)
        return None
    numbers = mirror.numbers()
    if numbers and run.exists() and os.listdir(run):
        raise Refusal(f"--run {run}: holds files but no run, and {mirror.folder} holds copies of one: name an empty folder")
    for number, copy in mirror.copies():
        if not (lack := make_folder(mirror, copy, run)):
            return say(f"{run} is copy {number} of {mirror.folder}, with {copy['lines']} lines in its journal")
        say(f"copy {number} of {mirror.folder} is left out: {lack}")
    if numbers:
        raise Refusal(f"--mirror {mirror.folder}: none of its copies is whole: name another folder to begin a run")
    run.mkdir(parents=True, exist_ok=True)  # the other ranks wait for it
    return None


def compare(mirror, number, copy, run):
    """Checks that the run in the folder is the one in the mirror, and no older."""
    with open(run / JOURNAL, "rb") as file:
        header, lines = file.readline(), 1 + sum(1 for _ in file)
    check_run(mirror, copy, run, run_of(header))
    if lines < copy["lines"]:
        raise Refusal(f"--run {run}: its journal has {lines} lines, and that of copy {number} in {mirror.folder} has "
                      f"{copy['lines']}: remove the folder to resume from the copy")


def make_folder(mirror, copy, run):
    """Makes the run folder. Returns what the copy lacks, or nothing."""
    run.parent.mkdir(parents=True, exist_ok=True)
    for left in run.parent.glob(f"{run.name}.restored.*"):
        shutil.rmtree(left, ignore_errors=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix=f"{run.name}.restored.", dir=run.parent))  # renamed at the end
    folders = {path: entry["folder"] for path, entry in copy["files"].items() if "folder" in entry}
    if any(str(above) in copy["files"] and "folder" not in copy["files"][str(above)]
           for path in copy["files"] for above in pathlib.PurePosixPath(path).parents):
        return "a file became a folder meanwhile"
    for path in folders:
        (place / path).mkdir(parents=True, exist_ok=True)
    for path, entry in copy["files"].items():
        if "sha256" not in entry:
            continue
        try:
            source = open_file(mirror.contents(entry))
        except FileNotFoundError:
            return f"the contents of {path} are missing"
        try:
            if write_file(place / path, read_pieces(source, entry["bytes"])) != (entry["sha256"], entry["bytes"]):
                mirror.contents(entry).unlink()  # so that they are stored again
                return f"the contents of {path} are damaged"
        finally:
            os.close(source)
        os.chmod(place / path, entry["mode"])
        os.utime(place / path, ns=(entry["mtime_ns"], entry["mtime_ns"]))
    for path, entry in copy["files"].items():
        if "link" in entry:  # after the files: nothing is written where it leads
            os.symlink(entry["link"], place / path)
    for path, mode in folders.items():
        os.chmod(place / path, mode)
    os.umask(umask := os.umask(0o077))  # it is read by setting it
    os.chmod(place, 0o777 & ~umask)
    os.sync()
    os.rename(place, run)
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=("restore", "follow"))
    options.add_argument("mirror", type=pathlib.Path)
    options.add_argument("run", type=pathlib.Path)
    options.add_argument("--every", type=float, default=60, metavar="SECONDS")
    parsed = options.parse_args()
    mirror, run = Mirror(parsed.mirror.resolve()), parsed.run.resolve()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        if mirror.folder.is_relative_to(run):
            raise Refusal(f"--mirror {mirror.folder}: lies in the run folder {run}")
        return (follow(mirror, run, parsed.every) if parsed.action == "follow" else restore(mirror, run)) or 0
    except Refusal as problem:
        say(problem)
        return 2
    except OSError as problem:
        say(f"--mirror {mirror.folder}: {problem}")
        return 76


if __name__ == "__main__":
    sys.exit(main())
