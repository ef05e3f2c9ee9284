"""Parameters of a search space."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._errors import Error

Domain = Union[Mapping[str, Any], Sequence[Any], builtins.range]


def range(low: float, high: float, step: float | None = None, *, count: int | None = None, log: bool = False) -> dict[str, Any]:
    """Returns the values of a parameter from `low` to `high`, both included.

    Two whole numbers alone mean all whole numbers between them. Fractions need a `step`, a `count` of values, or
    `log=True`: evenly spaced by their ratios, 100 values unless `count` says otherwise.
    """
    domain: dict[str, Any] = {"range": [low, high]}
    if step is not None:
        domain["step"] = step
    if count is not None:
        domain["count"] = count
    if log:
        domain["log"] = True
    return domain


def _domain(name: str, values: Domain) -> dict[str, Any]:
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, builtins.range):
        if len(values) == 0:
            raise Error(f"space: {name}: expected a range with values, got {values!r}")
        values = list(values)
    if hasattr(values, "tolist"):  # an array of NumPy
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        return {"choice": list(values)}
    raise Error(f"space: {name}: expected a list of values or skyline.range(low, high), got {values!r}")


def space_section(space: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the section `space` of a configuration.

    `space` has the values of each parameter by its name, or is such a section: with the key `parameters` or `file`.
    """
    if not isinstance(space, Mapping):
        raise Error(f"space: expected parameters by name, got {space!r}")
    is_section = isinstance(space.get("parameters"), Mapping) or isinstance(space.get("file"), str)
    parameters = space.get("parameters", {}) if is_section else space
    section = {key: value for key, value in space.items() if key != "parameters"} if is_section else {}
    domains = {name: _domain(name, values) for name, values in parameters.items()}
    return {"parameters": domains, **section} if domains else section
