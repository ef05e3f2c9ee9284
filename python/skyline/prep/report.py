"""What the process that started this one is told, and passes on to a person."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

from .wording import printable

_INTERVAL_S = 5.0  # between two lines of progress


class Report:
    """Lines for a person. With a descriptor they go there, as one JSON object a line with one key:

    - `started`: the version of this Python, first of all
    - `reading`: the file that is read now, to be named if a library crashes on it
    - `progress`: how far a long task is
    - `line`: a line of the summary, or what was guessed; one that begins with `check: ` is about what looks wrong
    - `error`: the one line of a refusal; nothing follows
    - `missing`: packages that this Python lacks, as `pip install` takes them; nothing follows
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor
        self.spell: Callable[[str], str] = str  # names options as the person's command has them

    def started(self) -> None:
        if self._descriptor is not None:
            self._send("started", sys.version.split()[0])

    def reading(self, path: pathlib.Path) -> None:
        if self._descriptor is not None:
            self._send("reading", str(path))

    def progress(self, text: str) -> None:
        self._send("progress", text)

    def line(self, text: str) -> None:
        self._send("line", self.spell(text))

    def error(self, text: str) -> None:
        self._send("error", self.spell(text))

    def missing(self, packages: list[str]) -> None:
        self._send("missing", " ".join(packages))

    def _send(self, key: str, text: str) -> None:
        text = text if text.isprintable() else printable(text)  # bytes that are no UTF-8 can be neither JSON nor shown
        if self._descriptor is not None:
            os.write(self._descriptor, (json.dumps({key: text}) + "\n").encode())
        elif key == "line":
            print(text)
        else:
            print({"error": "skyline: ", "missing": "skyline: missing: "}.get(key, "") + text, file=sys.stderr)


class Progress:
    """Reports how far a long task is, from time to time. A short task reports nothing."""

    def __init__(self, report: Report, task: str, total: int) -> None:
        self._report, self._task, self._total = report, task, total
        self._done, self._started = 0, time.monotonic()
        self._next_s = _INTERVAL_S

    def advance(self, count: int = 1) -> None:
        self._done += count
        elapsed_s = time.monotonic() - self._started
        if elapsed_s >= self._next_s:
            self._next_s = elapsed_s + _INTERVAL_S
            self._report.progress(f"{self._task}: {self._done} of {self._total}, {self._done / elapsed_s:.0f}/s")
