"""How the rows of a table, or of an array, become samples: learned from the training rows, and done again with new ones."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, field

from .errors import PrepError
from .spellings import SPELLINGS
from .targets import Target
from .wording import printable

MISSING_WORDS = {"", "?", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>"}


@dataclass(frozen=True)
class Reading:
    """What the cells of a table mean where their texts alone do not say it: the same for training and for new samples."""

    numbers: str = ""  # a name in SPELLINGS; an empty text: as plain numbers are written
    missing_words: tuple[str, ...] = ()
    missing_values: tuple[float, ...] = ()

    @staticmethod
    def of(options: argparse.Namespace) -> Reading:
        return Reading(options.numbers or "", options.missing_words, options.missing_values)

    def or_else(self, other: Reading) -> Reading:
        """Returns what is told here, and else what another says."""
        return Reading(self.numbers or other.numbers, self.missing_words or other.missing_words,
                       self.missing_values or other.missing_values)

    def is_missing(self, word: str) -> bool:
        """Returns whether a word stands for a missing value, as pandas and the UCI archive write it, or as it was told."""
        return word.strip().lower() in MISSING_WORDS or word.strip() in self.missing_words


@dataclass(frozen=True)
class Feature:
    """One value of a sample, made from a column (docs/internals/files.md)."""

    column: str
    subtract: float = 0.0
    missing: float | None = None  # stands for a missing number
    is_missing: bool = False
    is_word: str | None = None
    is_not: tuple[str, ...] = ()
    date: str = ""  # which number of a date: `days`, `year`, `month`, `weekday` or `hour`
    order: str = ""  # in which year, month and day are written: `ymd`, `dmy` or `mdy`
    range: tuple[float, float] | None = None  # least and largest value in training samples (ranges.py)

    @property
    def is_category(self) -> bool:
        return self.is_word is not None or bool(self.is_not)


@dataclass
class Preparation:
    features: list[Feature]
    targets: list[Target] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    id: str = ""
    has_names: bool = True
    reading: Reading = Reading()

    def to_json(self) -> str:
        names = {"is_word": "is"}
        default = asdict(Feature(""))
        features = [{names.get(key, key): value for key, value in asdict(each).items()
                     if key == "column" or value != default[key]} for each in self.features]
        targets = [{"column": each.column} | ({} if each == Target(each.column) else {"mean": each.mean, "deviation": each.deviation})
                   | ({"transform": each.transform} if each.transform else {}) for each in self.targets]
        root = {"has_names": self.has_names, "features": features} | ({"targets": targets} if targets else {})
        root |= {"left_out": self.left_out} if self.left_out else {}
        root |= {"id": self.id} if self.id else {}
        root |= {key: value for key, value in asdict(self.reading).items() if value}
        return json.dumps(root, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Preparation:
        try:
            root = json.loads(text)
            features = [Feature(is_word=node.pop("is", None), is_not=tuple(node.pop("is_not", ())), **node) for node in root["features"]]
            targets = [Target(**node) for node in root.get("targets", [])]
            is_known = root.get("numbers", "") in ("", *SPELLINGS)
            if isinstance(root["has_names"], bool) and is_known and all(each.deviation > 0 for each in targets):
                reading = Reading(root.get("numbers", ""), *(tuple(root.get(key, ())) for key in ("missing_words", "missing_values")))
                return Preparation(features, targets, root.get("left_out", []), root.get("id", ""), root["has_names"], reading)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise PrepError(f"expected a preparation as `skyline prep` writes it, got {printable(text[:60])}")

    @property
    def is_plain(self) -> bool:
        """Returns whether all values are numbers as they are written."""
        return all(each == Feature(each.column) for each in self.features)
