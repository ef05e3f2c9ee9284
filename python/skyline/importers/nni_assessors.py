"""NNI's assessors, which end trials that are far behind, as pruning of a search."""

from __future__ import annotations

from typing import Any

from ..prep.wording import in_quotes
from .source import Node

_REDUCTION = 3  # a comparison is after so many times the reports of the one before, as rungs are
_MOST_COMPARISONS = 8  # a `start_step` of 1 reaches 2,187 reports by these
_COMPARISONS_OF_UNKNOWN = 3  # where nobody says how many reports a trial makes
_FIRST = {"Medianstop": 0, "Curvefitting": 6}  # NNI's defaults of start_step
_BY_HAND = "`search: {pruning: {at: [1, 3, 9]}}` ends trials that are far behind after so many reports (docs/search.md)"


class Assessor:
    """After how many reports trials are compared, of how many."""

    def __init__(self, assessor: Node | None, has_rungs: bool) -> None:
        """Reads an assessor, if there is one. `has_rungs`: whether the search has rungs, beside which nothing is pruned. Raises PrepError."""
        self.pruning: dict[str, Any] | None = None
        self.epochs: int | None = None  # reports of a whole trial
        self.notes: list[str] = []
        if assessor is None:
            return
        named = assessor.find("name", "builtinAssessorName", "className")
        name = str(named.plain()) if named else ""
        title = f"assessor {in_quotes(name)}" if name else "assessor"
        first = _FIRST.get(name.removesuffix("Assessor"))
        if has_rungs:
            self.notes.append(f"{title}: not taken, since the search has rungs, which end trials in their own way")
        elif first is None:
            self.notes.append(f"{title}: not taken; {_BY_HAND}")
        else:
            self._read(assessor, title, first)

    def _read(self, assessor: Node, title: str, first: int) -> None:
        arguments = assessor.find("classArgs")
        given = dict(arguments.entries()) if arguments else {}
        step = max(1, given["start_step"].whole(0) if "start_step" in given else first)
        reports = given["epoch_num"].whole(1) if "epoch_num" in given else None
        most = _MOST_COMPARISONS if reports is not None else _COMPARISONS_OF_UNKNOWN
        at = [step * _REDUCTION ** number for number in range(most)]
        if reports is not None:
            at = [each for each in at if each < reports]
        if not at:
            self.notes.append(f"{title}: not taken, since it would begin after the last report")
            return
        self.pruning = {"at": at}
        self.epochs = reports or at[-1] + 1
        listed = ", ".join(map(str, at))
        guessed = "" if reports else f" As many as a trial reports belong into command.epochs, where {self.epochs} stands."
        self.notes.append(f"{title}: search.pruning ends trials that are far behind after {listed} reports.{guessed}")
        left = [name for name in given if name not in ("optimize_mode", "start_step", "epoch_num")]
        if left:
            self.notes.append(f"assessor.classArgs.{', '.join(left)}: not taken, pruning has options of its own (docs/search.md)")
