"""How long recordings become windows: kept with a data set and a run, and done again with new recordings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from .errors import PrepError
from .option_table import MOST_ROWS
from .wording import printable


@dataclass(frozen=True)
class WindowPreparation:
    columns: tuple[str, ...]  # the channels of a window
    length: int  # rows
    step: int
    label: str = ""  # column with the classes
    label_of: str = "majority"  # or "last"
    group: str = ""  # column whose changes end a recording; empty: only a file's end does
    time: str = ""
    time_unit: str = "s"
    step_s: float = 0.0  # usual time from a row to the next; 0 without a column of the time
    left_out: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.columns), 1, self.length

    @property
    def known_names(self) -> set[str]:
        return {*self.columns, self.label, self.group, self.time, *self.left_out}

    def to_json(self) -> str:
        return json.dumps({"windows": asdict(self)}, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> WindowPreparation:
        """Reads what `to_json` has written, or somebody else. Raises PrepError."""
        try:
            node = json.loads(text)["windows"]
            made = WindowPreparation(**node | {key: tuple(node[key]) for key in ("columns", "left_out")})
            if made._is_valid():
                return made
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise PrepError(f"expected a preparation of recordings as `skyline prep` writes it, got {printable(text[:60])}")

    def _is_valid(self) -> bool:
        texts = [*self.columns, self.label, self.group, self.time, *self.left_out]
        counts = [self.length, self.step]
        return (len(self.columns) > 0 and all(isinstance(text, str) for text in texts)
                and all(type(count) is int and 1 <= count <= MOST_ROWS for count in counts) and self.step_s >= 0
                and self.label_of in ("majority", "last") and self.time_unit in SECONDS_OF_UNITS)


SECONDS_OF_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
