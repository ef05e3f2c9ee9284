"""Whether a trial should end because it is far behind others (`search.pruning`)."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable, Mapping, Set
from typing import Any

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


class Decisions:
    """The file in which the search answers: a line with the declared steps, then one for each of them that was reported."""

    def __init__(self, file: str) -> None:
        self._file = pathlib.Path(file)

    def _lines(self) -> list[dict[str, Any]]:
        """The whole lines: none while the file is being written."""
        return [json.loads(line) for line in self._file.read_text(encoding="utf-8").split("\n")[:-1]]

    def stop_after(self, reported: Mapping[int, Set[str]], is_interrupted: Callable[[], bool]) -> bool:
        """Whether the trial should end. Waits for the decisions about steps of which all compared metrics are reported.

        reported   the names that were reported of each step
        """
        pause_s = _FIRST_PAUSE_S
        while not is_interrupted():
            try:
                lines = self._lines()
            except OSError:  # a container may lack the file
                return False
            if any(answer["stop"] for answer in lines[1:]):
                return True
            if lines and not self._awaited(lines, reported):
                return False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return False

    @staticmethod
    def _awaited(lines: list[dict[str, Any]], reported: Mapping[int, Set[str]]) -> list[int]:
        """The steps whose decisions come yet. One before a decided step, which an earlier attempt may have left, gets none."""
        decided = max((answer["step"] for answer in lines[1:]), default=-1)
        return [step for step in lines[0]["at"] if step > decided and step in reported and reported[step].issuperset(lines[0]["of"])]
