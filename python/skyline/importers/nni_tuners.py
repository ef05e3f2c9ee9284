"""NNI's tuners and advisors as algorithms of a search, with the reason."""

from __future__ import annotations

from typing import Any

from ..prep.wording import in_quotes, suggestion
from .source import Node

_MODEL = "a model of all results chooses the trials, too"
# Tuners by name, without the ending `Tuner`: the algorithm here, and the reason.
_ALGORITHMS = {
    "TPE": ("skyline", _MODEL),
    "SMAC": ("skyline", _MODEL),
    "GP": ("skyline", _MODEL),
    "Metis": ("skyline", _MODEL),
    "DNGO": ("skyline", _MODEL),
    "BOHB": ("skyline", "a model of all results chooses the trials, which begin with short trainings"),
    "Hyperband": ("mo_asha", "short trainings, the best of which go on, without a barrier between the rungs"),
    "Anneal": ("local_search", "neighbours of the best are tried"),
    "Evolution": ("regularized_evolution", "mutants of the best of a sample, and the oldest results leave"),
    "Random": ("random", "random values"),
    "GridSearch": ("exhaustive", "all values, the last parameter's first"),
    "Batch": ("exhaustive", "all that are listed, in their order"),
    "PBT": ("skyline", "values never change during a training here, so a model chooses those of new trials"),
}
_WITHOUT = {
    "NetworkMorphism": "write the networks as a space (docs/spaces.md)",
    "PPO": "write the networks as a space (docs/spaces.md)",
}
_MINIMIZING = ("TPE", "Anneal")  # tuners that minimize unless optimize_mode says otherwise; all others maximize
_MOST_RUNGS = 5


def _rungs(least: int, most: int, reduction: int) -> list[int]:
    rungs = [most]
    while len(rungs) < _MOST_RUNGS and rungs[0] // reduction >= least:
        rungs.insert(0, rungs[0] // reduction)
    return rungs


class Tuner:
    """How a search chooses trials."""

    def __init__(self, tuner: Node | None) -> None:
        self._section: dict[str, Any] = {"algorithm": "skyline"}
        self.reason = "No tuner: a model of the results chooses the trials."
        self.maximizes = True
        self.seed: int | None = None
        self.is_batch = False  # whether a trial gets one of listed maps
        self.epochs: int | None = None  # budget of a whole trial, which trials get as TRIAL_BUDGET
        self.notes: list[str] = []
        if tuner is None or not self._read(tuner):
            self.notes.append(f"no `optimize_mode`: NNI's default, {'maximize' if self.maximizes else 'minimize'}")

    def search(self, trials: int) -> dict[str, Any]:
        """Returns the section `search`. A search has at least as many trials as budgets, of which the shortest are left out."""
        section = {**self._section, "trials": trials}
        budgets = section.pop("budgets", [])[-trials:]
        if len(budgets) > 1:
            section["budgets"] = budgets
            if section["algorithm"] == "mo_asha":
                section["brackets"] = len(budgets)  # Hyperband's begin on each rung
            return section
        section.pop("reduction", None)
        return {**section, "algorithm": "random"} if section["algorithm"] == "mo_asha" else section

    def _read(self, tuner: Node) -> bool:
        """Returns whether it says what is better."""
        arguments = tuner.find("classArgs")
        given = dict(arguments.entries()) if arguments else {}
        mode = given.pop("optimize_mode", None)
        if mode is not None and mode.value not in ("maximize", "minimize"):
            mode.refuse_as("`maximize` or `minimize`")
        named = tuner.find("name", "builtinTunerName", "builtinAdvisorName")
        if named is None:
            own = tuner.find("className", "classFileName")
            title = in_quotes(str(own.plain())) if own else "of your own"
            self.reason = f"Tuner {title}, which is code for NNI: a model of the results chooses the trials."
        else:
            self._choose(named, given)
        if mode is not None:
            self.maximizes = mode.value == "maximize"
        for name in given:
            self.notes.append(f"{tuner.path}.classArgs.{name}: not taken, {self._section['algorithm']} has options of its own (docs/algorithms.md)")
        return mode is not None

    def _choose(self, named: Node, given: dict[str, Node]) -> None:
        written = named.text("the name of a tuner")
        name = written.removesuffix("Tuner")
        if name in _WITHOUT:
            named.refuse(f"there is nothing like {in_quotes(written)} here: {_WITHOUT[name]}")
        if name not in _ALGORITHMS:
            named.refuse(f"unknown tuner {in_quotes(written)}, {suggestion(written, [*_ALGORITHMS])}")
        algorithm, reason = _ALGORITHMS[name]
        self.is_batch = name == "Batch"
        self.maximizes = name not in _MINIMIZING
        self._section["algorithm"] = algorithm
        self.reason = f"{written}: {reason}."
        seed = given.get("seed")
        if seed is not None and seed.value is not None:
            self.seed = seed.whole(0)
        given.pop("seed", None)
        if name == "Evolution" and "population_size" in given:
            self._section["population"] = given.pop("population_size").whole(1)
        if name in ("Hyperband", "BOHB"):
            self._set_rungs(name, given)

    def _set_rungs(self, name: str, given: dict[str, Node]) -> None:
        def read(key: str, default: int, low: int) -> int:
            return given.pop(key).whole(low) if key in given else default

        reduction = read("eta", 3, 2)
        self.epochs = read("R", 60, 1) if name == "Hyperband" else read("max_budget", 3, 1)
        least = 1 if name == "Hyperband" else read("min_budget", 1, 1)
        if least > self.epochs:
            self.notes.append("min_budget is above max_budget, so all trials are whole")
        self._section["budgets"] = _rungs(least, self.epochs, reduction)
        if name == "Hyperband":
            self._section["reduction"] = reduction
