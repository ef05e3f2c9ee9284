"""Whether a trial should end because it is far behind others (`search.pruning`)."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable, Set
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

    def stop_after(self, step: int, names: Set[str], is_interrupted: Callable[[], bool]) -> bool:
        """Whether the trial should end. Waits for the decision about a step if all its compared metrics are among `names`."""
        pause_s = _FIRST_PAUSE_S
        while not is_interrupted():
            try:
                lines = self._lines()
            except OSError:  # a container may lack the file
                return False
            if any(answer["stop"] for answer in lines[1:]):
                return True
            is_awaited = not lines or (step in lines[0]["at"] and names.issuperset(lines[0]["of"]))
            if not is_awaited or any(answer["step"] >= step for answer in lines[1:]):  # an earlier attempt left a later one
                return False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return False
