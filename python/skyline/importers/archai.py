"""A search of Archai, a Python file with an ArchParamTree and perhaps the YAML of its algorithm, as a configuration."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import pathlib
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from .. import archai
from ..prep.errors import PrepError, counted
from ..prep.wording import in_quotes, suggestion
from .archai_tree import TreeReader
from .configuration import Configuration
from .source import Node

_METRIC = "val_acc"
_FUNCTION = "train.py:train"
_COUNT = "count"
_DEFAULT_TRIALS = 100
# Algorithms by Archai's names, with their keys here by Archai's.
_ALGORITHMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "evolution_pareto": ("evolution_pareto", {"num_iters": "iterations", "init_num_models": "initial", "max_unseen_population": "max_unseen",
                                              "mutations_per_parent": "mutations_per_parent", "num_crossovers": "crossovers",
                                              "num_random_mix": "random_mix"}),
    "mo_bananas": ("mo_bananas", {"init_num_models": "initial", "num_parents": "parents", "mutations_per_parent": "mutations_per_parent",
                                  "num_candidates": "batch"}),
    "local_search": ("local_search", {"init_num_models": "initial"}),
    "random_search": ("random", {}),
    "regularized_evolution": ("regularized_evolution", {"init_num_models": "initial", "pareto_sample_size": "sample", "history_size": "population"}),
    "successive_halving": ("successive_halving", {"init_num_models": "initial"}),
}
_PER_ITERATION = {"mo_bananas": ("num_candidates", 10), "random_search": ("samples_per_iter", 10), "regularized_evolution": ("pareto_sample_size", 40)}
# What stands in place of a key that is not taken, by algorithm and key.
_INSTEAD = dict.fromkeys((("successive_halving", key) for key in ("num_iters", "init_budget", "budget_multiplier")),
                         ", `search.budgets` and `search.reduction` say how long trials are trained")


def _loaded(file: pathlib.Path) -> dict[str, Any]:
    """Returns what a Python file has at its top level, where `archai` is what skyline.archai has. Raises PrepError."""
    archai.stand_in()
    sys.path.insert(0, str(file.resolve().parent))
    name = f"__skyline_{file.stem}"  # no module of its own has this name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise PrepError(f"{file}: expected a Python file with an ArchParamTree")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as problem:
        if not (problem.name or "").startswith("archai"):
            raise
        raise PrepError(f"{file}{_line_of(problem, file)}: there is no {problem.name} here: leave the tree alone in a file, "
                        "without search and training") from problem
    except SyntaxError as problem:
        raise PrepError(f"{problem.filename}:{problem.lineno}: {problem.msg}") from problem
    except (Exception, SystemExit) as problem:
        said = f"{type(problem).__name__}: {problem}".splitlines()[0]
        raise PrepError(f"{file}{_line_of(problem, file)}: {said}") from problem
    return vars(module)


def _line_of(problem: BaseException, file: pathlib.Path) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if os.path.abspath(frame.filename) == os.path.abspath(file)]
    return f":{lines[-1]}" if lines else ""


def _tree_of(file: pathlib.Path) -> archai.ArchParamTree:
    found: dict[int, tuple[str, archai.ArchParamTree]] = {}
    for name, value in _loaded(file).items():
        tree = value.arch_param_tree if isinstance(value, archai.ConfigSearchSpace) else value
        if isinstance(tree, archai.ArchParamTree):
            found.setdefault(id(tree), (name, tree))
    if len(found) != 1:
        got = " and ".join(in_quotes(name) for name, _ in found.values()) or "none"
        raise PrepError(f"{file}: expected one ArchParamTree at the top level, such as tree = ArchParamTree({{...}}), got {got}")
    return next(tree for _, tree in found.values())


def _counted(file: pathlib.Path) -> list[str]:
    """Returns the names of the numbers that the function `count` of a file returns, as far as a dictionary in its text says them."""
    try:
        statements = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    functions = [each for each in statements if isinstance(each, ast.FunctionDef) and each.name == _COUNT]
    returned = [each.value for function in functions for each in ast.walk(function) if isinstance(each, ast.Return)]
    keys = [key for each in returned if isinstance(each, ast.Dict) for key in each.keys]
    return list(dict.fromkeys(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)))


class ArchaiSearch:
    """Makes the configuration of a search."""

    def __init__(self, file: pathlib.Path, conf: Node | None) -> None:
        """Reads all of it. Raises PrepError."""
        self.made = Configuration(f"Made by `skyline import archai` of {file.name}. What Archai has in another form, and what was not taken:")
        self._reader = TreeReader(str(file))
        self._reader.read(_tree_of(file).config_tree)
        self._metric, self._epochs, self._seed = _METRIC, None, None
        self._search: dict[str, Any] = {"algorithm": "evolution_pareto"}
        if conf is not None:
            self._read_conf(conf)
        if not pathlib.Path(_FUNCTION.partition(":")[0]).is_file():
            self.made.note(f"{_FUNCTION} is to be written: a function of the parameters, which builds the model of archai.config() "
                           "(docs/coming_from.md)")
        self._counted = _counted(pathlib.Path(_FUNCTION.partition(":")[0]))
        names = ", ".join(self._counted)
        counted_by = f"count() of train.py returns: {names}" if names else "a function count() of train.py returns"
        self.made.note("objectives are code in Archai: add others to command.metrics and objectives. Bounds on what is known before a training "
                       f"(compute_intensive=False) are constraints on what {counted_by}; then no trial outside is trained (docs/coming_from.md)")
        self._write()

    def summary(self, out: str) -> list[str]:
        """Returns the lines for the person. `out`: name of the file."""
        parameters = counted(len(self._reader.domains), "parameter")
        return [f"{out}: {parameters}, {self._search['algorithm']}", *(f"check: {note}" for note in self.made.notes)]

    def _read_conf(self, conf: Node) -> None:
        section = conf.find("search") or conf
        algorithm = section.find("algorithm")
        named = algorithm.find("name") if algorithm is not None else None
        if algorithm is None or named is None:
            conf.refuse("expected search.algorithm.name, an algorithm of Archai")
        name = named.text("an algorithm")
        if name not in _ALGORITHMS:
            named.refuse(f"unknown algorithm {in_quotes(name)}, {suggestion(name, [*_ALGORITHMS])}")
        given = algorithm.find("params")
        self._read_algorithm(name, dict(given.entries()) if given else {})
        training = conf.find("training")
        if training is not None:
            self._read_training(training)
        for left in ("search_space", "target"):
            if section.find(left) is not None:
                self.made.note(f"{section.path or 'search'}.{left}: not taken, since it is read by code of Archai")
        for left in conf.entries():
            if conf is not section and left not in ("search", "training"):
                self.made.note(f"{left}: not taken (clusters: docs/clusters.md)")

    def _read_algorithm(self, name: str, params: dict[str, Node]) -> None:
        algorithm, keys = _ALGORITHMS[name]
        self._search = {"algorithm": algorithm}
        seed = params.pop("seed", None)
        if seed is not None:
            self._seed = seed.whole(0)
        for key, ours in keys.items():
            if key in params:
                self._search[ours] = params[key].whole(0)
        if name in _PER_ITERATION:
            self._search["trials"] = self._trials(name, params)
        elif name == "local_search":
            self._search["trials"] = _DEFAULT_TRIALS
            self.made.note(f"Archai's local_search ends by num_iters: here by search.trials, {_DEFAULT_TRIALS} of them")
        lengths = ("num_iters", _PER_ITERATION[name][0]) if name in _PER_ITERATION else ()
        for key in params:
            if key not in (*keys, *lengths, "save_pareto_model_weights", "clear_evaluated_models"):
                self.made.note(f"{params[key].path}: not taken{_INSTEAD.get((name, key), '')}")

    def _trials(self, name: str, params: dict[str, Node]) -> int:
        def whole(key: str, default: int) -> int:
            return params[key].whole(1) if key in params else default

        key, default = _PER_ITERATION[name]
        iterations, each = whole("num_iters", 10), whole(key, default)
        return iterations * each if name == "random_search" else whole("init_num_models", 10) + (iterations - 1) * each

    def _read_training(self, training: Node) -> None:
        epochs, metric = training.find("partial_training_epochs"), training.find("metric_key")
        if epochs is not None:
            if type(epochs.value) not in (int, float) or not epochs.value > 0:
                epochs.refuse_as("a number above 0")
            self._epochs = epochs.value
        self._metric = metric.text("a name") if metric is not None else _METRIC
        for key, each in training.entries().items():
            if key not in ("partial_training_epochs", "metric_key"):
                self.made.note(f"{each.path}: not taken, {_FUNCTION} has it")

    def _write(self) -> None:
        made = self.made
        made.sections["space"] = {"parameters": self._reader.domains}
        made.conditions = self._reader.conditions()
        epochs = {} if self._epochs is None else {"epochs": self._epochs}
        made.sections["command"] = {"python": _FUNCTION, "metrics": {self._metric: {"better": "higher"}}, **epochs,
                                    "env": {"ARCHAI_FORM": json.dumps(self._reader.form)}}
        if self._counted:
            form = f"ARCHAI_FORM={json.dumps(self._reader.form)}".replace("{", "{{")
            made.sections["costs"] = {"run": ["env", form, "python3", "-m", "skyline.run_costs", f"train.py:{_COUNT}"],
                                      "metrics": {name: {} for name in self._counted}}
        made.sections["objectives"] = [{"maximize": self._metric}]
        made.sections["search"] = self._search
        if self._seed is not None:
            made.sections["run"] = {"seed": self._seed}


def imported(file: pathlib.Path, conf: Node | None, out: str) -> tuple[str, list[str]]:
    """Returns the configuration, and lines for the person. Raises PrepError."""
    search = ArchaiSearch(file, conf)
    return search.made.text(), search.summary(out)
