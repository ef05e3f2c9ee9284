"""Parameters of a search space."""

from __future__ import annotations

import builtins
import enum
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._errors import Error

Domain = Union[Mapping[str, Any], Sequence[Any], builtins.range]


class Range(dict[str, Any]):
    """The values of a parameter between two ends, told from a section of a configuration by its type."""


def range(low: float, high: float, step: float | None = None, *, count: int | None = None, log: bool = False,
          when: str | None = None) -> dict[str, Any]:
    """Returns the values of a parameter from `low` to `high`, both included.

    Two whole numbers alone mean all whole numbers between them, two fractions as many values as four digits tell apart, at
    most 1,000. `log=True`: evenly spaced by their ratios, 100 values unless `count` says otherwise. `when`: a condition on
    other parameters, such as "$optimizer == sgd", without which the parameter is not used.
    """
    domain = Range(range=[low, high])
    if step is not None:
        domain["step"] = step
    if count is not None:
        domain["count"] = count
    if log:
        domain["log"] = True
    if when is not None:
        domain["when"] = when
    return domain


def _are_sides(value: Any) -> bool:
    """Whether a value is a height and a width, which a function gets as a list."""
    return isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value)


def _check_values(name: str, values: Sequence[Any]) -> None:
    """Refuses a value that a function would get as something else, or not at all."""
    for value in values:
        plain = value.item() if getattr(value, "ndim", None) == 0 else value  # a number of NumPy
        is_value = plain is None or isinstance(plain, (bool, int, float, str, os.PathLike)) or _are_sides(value)
        is_infinite = isinstance(plain, float) and math.isinf(plain)
        if isinstance(value, enum.Enum) or not is_value or is_infinite:
            raise Error(f"space: {name}: a value is a finite number, a text, True, False, None or two whole numbers, got {value!r}: "
                        "give it a name, a text that the function looks up")


def _domain(name: str, values: Domain) -> dict[str, Any]:
    if isinstance(values, Mapping):
        listed = values.get("choice")
        _check_values(name, listed if isinstance(listed, (list, tuple)) else ())
        return dict(values)
    if isinstance(values, builtins.range):
        if len(values) == 0:
            raise Error(f"space: {name}: expected a range with values, got {values!r}")
        values = list(values)
    if hasattr(values, "tolist"):  # an array of NumPy
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        _check_values(name, values)
        return {"choice": list(values)}
    raise Error(f"space: {name}: expected a list of values or skyline.range(low, high), got {values!r}")


def space_section(space: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the section `space` of a configuration.

    `space` has the values of each parameter by its name, or is such a section: with the key `parameters` or `file`.
    """
    if not isinstance(space, Mapping):
        raise Error(f"space: expected parameters by name, got {space!r}")
    named = space.get("parameters")
    is_section = isinstance(named, Mapping) and not isinstance(named, Range) or isinstance(space.get("file"), str)
    parameters = space.get("parameters", {}) if is_section else space
    section = {key: value for key, value in space.items() if key != "parameters"} if is_section else {}
    domains = {name: _domain(name, values) for name, values in parameters.items()}
    return {"parameters": domains, **section} if domains else section


def used_parameters(parameters: Mapping[str, Any], space: Mapping[str, Sequence[Any]], conditional: Sequence[str]) -> dict[str, Any]:
    """Returns the parameters without those that are None because a trial does not use them, as in the rows of a run.

    `space` has the values of each parameter, and `conditional` names those with a condition.
    """
    return {name: value for name, value in parameters.items()
            if value is not None or name not in conditional or None in space[name]}
