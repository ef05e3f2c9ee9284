"""How long `python3 -m skyline.mlflow` goes on: the job that works on the run, a request to stop, and the turn to send it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import signal
import sys
import time
from typing import Any

from ._errors import Error
from ._files import read_json
from ._run import open_run

KILLED = -9  # in place of the exit code of a job that was killed
_STARTED_S = time.time()  # before MLflow is loaded, which takes seconds
_SILENCE_S = 30.0  # after which a job may be dead
_NEXT_JOB_S = 600.0  # within which a next job may follow one that has ended


def say(line: str) -> None:
    print(f"skyline.mlflow: {line}", file=sys.stderr, flush=True)


class Stop:
    """The request to send what is there and end."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._note)
        signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, _: Any) -> None:
        if self.asked:
            os._exit(128 + number)
        self.asked = True

    def sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.asked and time.monotonic() < end:
            time.sleep(min(0.2, seconds))


class Search:
    """The job that works on the run, as far as its files tell."""

    def __init__(self, folder: pathlib.Path, until: str, stop: Stop) -> None:
        self.folder = folder
        self._until = until
        self._stop = stop
        self._begun = _STARTED_S
        self._looked = 0.0
        self._said = False

    def wait_for_run(self) -> None:
        """Waits until the folder holds a run, if it is followed. Raises Error if it holds none."""
        journal = self.folder / "journal.jsonl"
        if self._until and not journal.exists():
            say(f"{self.folder}: holds no run yet, which is waited for")
        while self._until and not self._stop.asked and not journal.exists():
            self._stop.sleep(1)
        open_run(self.folder)

    def _status(self) -> dict[str, Any]:
        with contextlib.suppress(Error):
            return read_json(self.folder / "status.json")
        return {}

    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        code = self._status().get("exit_code")
        return int(code) if isinstance(code, int) else KILLED if self._is_dead() else None

    def _is_dead(self) -> bool:
        with contextlib.suppress(Error):  # without the program it counts as alive
            return not open_run(self.folder).running
        return False

    def is_over(self) -> bool:
        """Whether nothing more comes. A job that ended before this program began may be followed by a next one."""
        if not self._until or self._stop.asked:
            return True
        if self._until == "--until-sigterm":
            return False
        status = self._status()
        updated = float(status.get("updated", 0))
        ended = status.get("exit_code") is not None
        if updated > self._begun and ended:
            return True
        if not ended and time.time() - max(updated, self._looked) <= _SILENCE_S:
            return False
        if not ended:
            self._looked = time.time()
            if not self._is_dead():
                return False
        if updated <= self._begun and time.time() - self._begun <= _NEXT_JOB_S:
            if not self._said:
                say(f"{self.folder}: no job works on it; the next one is waited for, for {_NEXT_JOB_S / 60:.0f} minutes")
                self._said = True
            return False
        return True


def take_turn(search: Search, stop: Stop) -> bool:
    """Waits while another process sends the run; returns False if that is so to the end. The turn ends with this process."""
    name = search.folder / "mlflow.lock"  # stays: whoever removed it would let two others in
    try:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as problem:
        raise Error(f"{name}: cannot be opened: {problem.strerror}") from problem
    said = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if search.is_over():
                return False
            if not said:
                say(f"{search.folder}: another process sends it; this one waits until that ends")
                said = True
            stop.sleep(1)
        except OSError as problem:
            say(f"{name}: no lock: {problem.strerror}; one process at a time can send a run")
            return True
