"""Which samples become the validation and the test set."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .dataset import PARTS, TEST, TRAIN, VALIDATION
from .errors import PrepError, counted
from .wording import in_quotes


_FEW_SAMPLES = 20  # too few for targets to show their kind


@dataclass(frozen=True)
class Shares:
    test: float = 0.2
    validation: float = 0.0
    seed: int = 1
    last: bool = False  # take the last samples rather than draw them
    equal_samples: str | None = None  # `together` in one part, or drawn `apart`; by default by their number

    def __post_init__(self) -> None:
        if self.test + self.validation >= 1:
            raise PrepError("--test and --validation: together they leave nothing to train on")

    def text(self, is_grouped: bool = False, has_classes: bool = True, parts: Collection[int] = (VALIDATION, TEST)) -> str:
        """Says for a person what is taken for `parts`; an empty text if nothing is. Without classes the shares are those of all samples."""
        shares = [(_percent(share), f"{PARTS[part]} set") for part, share in ((TEST, self.test), (VALIDATION, self.validation))
                  if share > 0 and part in parts]
        if not shares:
            return ""
        if self.last:
            before = "".join(f", the {share} before them the {name}" for share, name in shares[1:])
            return f"the last {shares[0][0]} are the {shares[0][1]}{before}"
        of = "" if shares[0][1] != "test set" else " of the samples" if is_grouped or not has_classes else " of every class"
        taken = [f"{share}{of} are the {name}" if name == "test set" else f"{share} the {name}" for share, name in shares]
        return f"{'about ' if is_grouped else ''}{', '.join(taken)}, {'in whole groups, ' if is_grouped else ''}drawn with seed {self.seed}"

    @property
    def may_part_equal(self) -> bool:
        """Returns whether a draw may part equal samples, unless they are looked for."""
        return self.is_drawn and self.equal_samples != "apart"

    @property
    def is_drawn(self) -> bool:
        return self.test + self.validation > 0 and not self.last

    def find_equal(self, hashes: np.ndarray) -> tuple[np.ndarray | None, list[str]]:
        """Returns the numbers of samples that stay in one part, if equal ones do, and lines about it.

        By default they do where less than a fifth of the different samples is there more than once: a table of a few categories has
        equal rows by its nature.
        """
        counts = np.unique(hashes, return_counts=True)[1] if self.may_part_equal else np.empty(0, int)
        num_repeated = int((counts > 1).sum())
        if not num_repeated or (self.equal_samples is None and 5 * num_repeated >= len(counts)):
            return None, []
        return hashes, [f"{counted(int(counts[counts > 1].sum()), 'sample')} of {len(hashes)} equal others: equal ones are drawn into one "
                        "part (--equal-samples)"]


def _percent(share: float) -> str:
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + " %"


def chosen_shares(options: argparse.Namespace, given: Mapping[int, str]) -> Shares:
    """Returns the shares that options say. `given` has the beginning of a sentence for each part that the source has: "x.csv is"."""
    test = options.test if options.test is not None else 0.2 if given.keys() <= {TRAIN} else 0.0
    for part, share in ((TEST, test), (VALIDATION, options.validation)):
        if share > 0 and part in given:
            raise PrepError(f"{given[part]} the {PARTS[part]} set, so leave out --{PARTS[part]}")
    return Shares(test, options.validation, options.seed, getattr(options, "split", "") == "last",
                  getattr(options, "equal_samples", None))


@dataclass
class Groups:
    """Groups of samples that stay in one part."""

    source: str  # "column `patient`"
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # group of each training sample, from 0
    names: dict[str, int] = field(default_factory=dict)
    without: list[int] = field(default_factory=list)  # parts that have none

    def add(self, part: int, names: Sequence[str], numbers: np.ndarray, location: str) -> None:
        """Adds the groups of a part, the training set's first. Raises PrepError for one that is in two parts."""
        if part == TRAIN:
            self.names, self.numbers = {name: number for number, name in enumerate(names)}, numbers
            return
        shared = [name for name in names if name in self.names]
        if shared:
            raise PrepError(f"{location}: {len(shared)} of {counted(len(names), 'group')} are in the training set, too, e.g. "
                            f"{in_quotes(shared[0])}")


@dataclass
class Draw:
    """Which training samples become the validation and the test set."""

    shares: Shares
    parts: np.ndarray  # part of each sample
    groups: Groups | None
    has_classes: bool
    lines: list[str] = field(default_factory=list)  # about equal samples

    @property
    def trained(self) -> np.ndarray:
        return self.parts == TRAIN

    @property
    def keeps_equal(self) -> bool:
        return bool(self.lines)

    def text(self) -> str:
        """Says which parts were drawn; those that stayed empty are told elsewhere."""
        return self.shares.text(self.groups is not None, self.has_classes, {*self.parts.tolist()})

    def notes(self) -> list[str]:
        """Returns lines for a person: what was drawn, and how."""
        notes = [f"{self.text()} (--test, --validation, --seed)"] if self.text() else []
        notes += [*self.lines, *([self._groups_text(self.groups)] if self.groups else [])]
        return notes + (["samples in the order of time: a search holds out the last training samples, too (--split)"]
                        if self.shares.last else [])

    def problem_of_classes(self, labels: np.ndarray, what: str) -> str:
        """Says why `what`, such as whole numbers, can hardly be classes; an empty text if they may be some."""
        counts = np.bincount(labels)
        once = int((counts == 1).sum())
        no_test = self.shares.test > 0 and not (self.parts == TEST).any()
        if len(labels) < _FEW_SAMPLES or (3 * len(counts) <= len(labels) and not once and not no_test):
            return ""
        return (f"{len(counts)} different {what} in {counted(len(labels), 'sample')}" + (f", {once} of them once" if once else "")
                + ("; as classes they leave the test set empty" if no_test else ""))

    def problem_of_last(self, labels: np.ndarray) -> str:
        """Says which classes the last samples alone have."""
        untrained = len(np.setdiff1d(labels, labels[self.trained])) if self.shares.last else 0
        return (f"{untrained} of the classes without a sample to train on, since {self.shares.text()}: put the samples in the order of "
                "time, or leave out --split=last") if untrained else ""

    def _groups_text(self, groups: Groups) -> str:
        text = f"groups: {groups.source}, {counted(len(groups.names), 'group')}"
        for part in (TEST, VALIDATION):
            members = groups.numbers[self.parts == part]
            if len(members):
                percent = (200 * len(members) + len(self.parts)) // (2 * len(self.parts))
                text += f"; {PARTS[part]} set: {len(np.unique(members))} of them, {percent} % of samples"
        return text + "".join(f"; the {PARTS[part]} set has no groups to compare" for part in groups.without) + " (--group)"


def draw(labels: np.ndarray, has_classes: bool, shares: Shares, groups: Groups | None, hashes: Callable[[], np.ndarray],
         location: str) -> Draw:
    """Draws parts. `hashes` returns a number for each sample, equal for equal ones, and `location` is that of the groups."""
    if groups is None:
        equal, lines = shares.find_equal(hashes()) if shares.may_part_equal else (None, [])
        return Draw(shares, draw_parts(labels, shares, equal=equal), None, has_classes, lines)
    if shares.last:
        raise PrepError("--group and --split=last exclude each other: leave one of them out")
    try:
        return Draw(shares, draw_parts(labels, shares, groups.numbers), groups, has_classes)
    except PrepError as error:
        raise PrepError(f"{location}: {error}") from error


def draw_parts(labels: np.ndarray, shares: Shares, groups: np.ndarray | None = None, equal: np.ndarray | None = None) -> np.ndarray:
    """Returns the part of each sample. Labels are whole numbers; all 0 where there are no classes.

    Samples of one group stay in one part; so do samples with the same number in `equal` (Shares.find_equal), if there are no groups.
    """
    if groups is not None:
        parts = np.full(len(labels), TRAIN)
        if shares.test > 0:
            _move_groups(labels, groups, (TEST, shares.test, 2 if shares.validation > 0 else 1), shares.seed, parts)
        if shares.validation > 0:
            _move_groups(labels, groups, (VALIDATION, shares.validation, 1), shares.seed, parts)
        return parts
    if equal is None:
        return _draw(labels, np.ones(len(labels), int), shares)
    _, first, places, sizes = np.unique(equal, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)  # samples in their order, rather than sorted numbers
    parts = np.empty(len(order), int)
    parts[order] = _draw(labels[first[order]], sizes[order], shares)
    return parts[places.ravel()]


def _draw(labels: np.ndarray, sizes: np.ndarray, shares: Shares) -> np.ndarray:
    """Returns the part of each unit, which stands for some equal samples."""
    parts = np.full(len(labels), TRAIN)
    members = [np.arange(len(labels))] if shares.last else [np.flatnonzero(labels == each) for each in np.unique(labels)]
    for place, units in enumerate(members):
        if not shares.last:
            units = shuffled(units, shares.seed, f"class {place}")
        total = sizes[units].sum()
        test, held_out = int(total * shares.test + 1e-9), int(total * shares.test + 1e-9) + int(total * shares.validation + 1e-9)
        is_large = sizes[units] > max(test, held_out - test)
        units = np.concatenate([units[is_large], units[~is_large]])  # large units would leave a part empty
        from_end = np.cumsum(sizes[units][::-1])[::-1]
        parts[units[from_end <= held_out]] = VALIDATION
        parts[units[from_end <= test]] = TEST
    return parts


def shuffled(values: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """Shuffles by SplitMix64: NumPy does not promise that its generators stay as they are."""
    digest = hashlib.sha256(f"{seed} {purpose}".encode()).digest()
    state = np.arange(1, len(values) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state += np.frombuffer(digest[:8], "<u8")
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values[np.argsort(state ^ (state >> np.uint64(31)), kind="stable")]


def _move_groups(labels: np.ndarray, groups: np.ndarray, wish: tuple[int, float, int], seed: int, parts: np.ndarray) -> None:
    """Moves whole groups of the training set, in random order, as long as the part comes closer to its share of each class.

    `wish` is the part, its share, and the number of groups to leave.
    """
    part, share, least_left = wish
    _, labels = np.unique(labels, return_inverse=True)
    numbers, groups = np.unique(groups, return_inverse=True)
    table = np.zeros((len(numbers), labels.max() + 1))  # samples of each group by class
    np.add.at(table, (groups[parts == TRAIN], labels[parts == TRAIN]), 1)
    candidates = np.flatnonzero(table.sum(1))
    if len(candidates) < least_left + 1:
        raise PrepError(f"groups: expected at least {least_left + 1}, one for each part, got {len(candidates)}")
    total = np.bincount(labels)
    wanted, trained, left = share * total, table.sum(0), len(candidates)
    best: tuple[float, int] | None = None
    for group in shuffled(candidates, seed, f"groups {part}"):
        counts = table[group]
        if left == least_left or ((counts > 0) & (counts >= trained)).any():
            continue
        growth = float((counts * (counts - 2 * wanted) / total).sum())
        if growth < 0:
            parts[groups == group] = part
            wanted, trained, left = wanted - counts, trained - counts, left - 1
        elif best is None or growth < best[0]:
            best = growth, group
    if left == len(candidates) and best is None:
        raise PrepError(f"groups: none can be the {PARTS[part]} set, since each has all training samples of a class")
    if left == len(candidates) and best is not None:
        parts[groups == best[1]] = part
