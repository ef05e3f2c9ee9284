"""How long recordings become windows: kept with a data set and a run, and done again with new recordings."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from .errors import PrepError
from .option_table import MOST_ROWS
from .targets import TRANSFORMS, Target
from .wording import printable


@dataclass(frozen=True)
class WindowPreparation:
    columns: tuple[str, ...]  # the channels of a window
    length: int  # rows
    step: int
    label: str = ""  # column with the classes
    label_of: str = "majority"  # or "last"; of numbers "mean" or "last"
    group: str = ""  # column whose changes end a recording; empty: only a file's end does
    time: str = ""
    time_unit: str = "s"
    step_s: float = 0.0  # usual time from a row to the next; 0 without a column of the time
    left_out: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()  # columns of numbers in place of a class

    @property
    def target_names(self) -> list[str]:
        """Returns the columns with the class, or with the numbers, to learn."""
        return [each.column for each in self.targets] or [self.label]

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.columns), 1, self.length

    @property
    def known_names(self) -> set[str]:
        return {*self.columns, *self.target_names, self.group, self.time, *self.left_out}

    def to_json(self) -> str:
        root: dict[str, Any] = {"windows": asdict(self), "features": [{"column": name} for name in self.columns]}
        targets = root["windows"].pop("targets")
        root |= {"targets": [{key: value for key, value in each.items() if value or key != "transform"} for each in targets]} if targets else {}
        return json.dumps(root, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> WindowPreparation:
        """Reads what `to_json` has written, or somebody else. Raises PrepError."""
        try:
            root = json.loads(text)
            node = root["windows"] | {key: tuple(root["windows"][key]) for key in ("columns", "left_out")}
            made = WindowPreparation(**node, targets=tuple(Target(**each) for each in root.get("targets", [])))
            if made._is_valid():
                return made
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise PrepError(f"expected a preparation of recordings as `skyline prep` writes it, got {printable(text[:60])}")

    def _is_valid(self) -> bool:
        texts = [*self.columns, *self.target_names, self.label, self.group, self.time, *self.left_out]
        counts, transforms = [self.length, self.step], {each.transform for each in self.targets}
        return (len(self.columns) > 0 and all(isinstance(text, str) for text in texts)
                and all(type(count) is int and 1 <= count <= MOST_ROWS for count in counts) and self.step_s >= 0
                and self.label_of in ("last", "mean" if self.targets else "majority") and self.time_unit in SECONDS_OF_UNITS
                and all(math.isfinite(each.mean) and 0 < each.deviation < math.inf for each in self.targets)
                and len(transforms) <= 1 and transforms <= {"", *TRANSFORMS})


SECONDS_OF_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
