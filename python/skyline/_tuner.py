"""Algorithms of one's own: the section `search` for what `skyline.search` gets as `algorithm`."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from typing import Any

from ._errors import Error
from ._functions import address_of

FACTS = ("space", "objectives", "constraints", "seed", "trials", "conditional")  # arguments that the constructor of a class may have


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a trial: values by metric, None for those that it has not measured; or why it failed."""

    number: int | None  # None for a result that was known before the search
    parameters: dict[str, Any]
    values: dict[str, float | None] | None = None
    failed: str | None = None
    pruned: bool = False  # ended within its training, with the values that it had then


def _is_as_made(tuner: Any) -> bool:
    """Whether another process makes the same object of the class: its constructor gets nothing but what a search tells it."""
    try:
        return inspect.signature(type(tuner)).parameters.keys() <= set(FACTS)
    except (TypeError, ValueError):
        return False


def _address_of_tuner(tuner: Any) -> tuple[str, list[str]]:
    try:
        return address_of(tuner, "algorithm")
    except Error:
        if isinstance(tuner, type) or not _is_as_made(tuner):
            raise
        return address_of(type(tuner), "algorithm")


def algorithm_section(algorithm: Any) -> dict[str, Any]:
    """Returns the keys of `search` for a name, a program with its arguments, or an object or a class with `ask` and `tell`."""
    if isinstance(algorithm, str):
        return {"algorithm": algorithm}
    if isinstance(algorithm, (list, tuple)):
        return {"algorithm": "program", "run": [str(word) for word in algorithm]}
    if not all(callable(getattr(algorithm, name, None)) for name in ("ask", "tell")):
        raise Error(f"algorithm: expected a name, a class or an object with `ask` and `tell`, or a program with its arguments in a list, "
                    f"got {algorithm!r}")
    address, folders = _address_of_tuner(algorithm)
    run = [sys.executable, "-m", "skyline.run_tuner", address]
    if folders:
        path = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
        run = ["env", f"PYTHONPATH={path}", *run]
    return {"algorithm": "program", "run": [word.replace("{", "{{") for word in run]}
