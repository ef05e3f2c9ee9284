"""Calls a function for one trial, in a process of its own.

usage: python -m skyline.run_trial FUNCTION FILE [METRIC...]   as `command.python` has Skyline start it
       python -m skyline.run_trial FUNCTION NAME=VALUE...      by hand

FUNCTION is package.module:function, or folder/script.py:function. It is called with the parameters by name. It returns its
metrics by name, or a number where there is one METRIC.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from skyline import trial


def load_module(place: str) -> ModuleType:
    """Imports a module by its name or its file. Raises what the import raises."""
    if place.endswith(".py"):
        sys.path[0] = os.path.dirname(os.path.abspath(place))  # the entry that Python sets for a started script
        stem = os.path.basename(place)[:-len(".py")]
        spec = importlib.util.spec_from_file_location(f"__skyline_{stem}" if stem in sys.modules else stem, place)
        if spec is None or spec.loader is None:
            raise ImportError(f"{place} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(place)


def load(address: str) -> Callable[..., Any]:
    """Returns the function that an address names. Raises what the import of its module raises."""
    place, _, name = address.rpartition(":")
    function: Callable[..., Any] = operator.attrgetter(name)(load_module(place))
    return function


def _metrics(returned: Any, names: list[str]) -> Mapping[str, Any]:
    if isinstance(returned, Mapping):
        return returned
    if len(names) == 1 and returned is not None:
        return {names[0]: returned}
    raise TypeError(f"the function returned {returned!r}: expected a dictionary of its metrics ({', '.join(names) or 'by name'})")


def call(function: Callable[..., Any], words: list[str]) -> int:
    """Calls the function for the trial of this process. Returns the exit code. @param words: what follows the function"""
    try:
        returned = function(**trial.parameters)
        if not trial.pruned and not (returned is None and trial.has_result):
            trial.result(**_metrics(returned, [word for word in words if "=" not in word and not word.endswith(".json")]))
    except Exception as problem:
        _show(problem)
        return 1
    return 0


def _show(problem: Exception) -> None:
    calls = problem.__traceback__
    traceback.print_exception(type(problem), problem, calls.tb_next if calls else None)  # without the caller of this package


def main() -> None:
    if len(sys.argv) < 2 or ":" not in sys.argv[1]:
        sys.exit(__doc__)
    try:
        function = load(sys.argv[1])
    except Exception as problem:
        _show(problem)
        sys.exit(1)
    sys.exit(call(function, sys.argv[2:]))


if __name__ == "__main__":
    main()
