"""Costs that are counted before a trial: the section `costs` for what `skyline.search` gets as `costs`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._errors import Error
from ._functions import address_of


def _first_values(section: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the first value of each parameter of a section `space`."""
    if {"file", "network"} & section.keys():
        raise Error("costs: needs a space of parameters alone: networks have costs, and `is` metrics")
    return {name: domain["choice"][0] if "choice" in domain else domain["range"][0] for name, domain in section["parameters"].items()}


def _names_of(costs: Callable[..., Any], section: Mapping[str, Any]) -> list[str]:
    """Returns the names of what a function counts, as it counts them for the first values."""
    parameters = _first_values(section)
    try:
        counted = costs(**parameters)
    except Exception as problem:
        words = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        raise Error(f"costs: {getattr(costs, '__name__', 'the function')}({words}): {type(problem).__name__}: {problem}") from problem
    if not isinstance(counted, Mapping) or not counted:
        raise Error(f"costs: expected a function that returns numbers by name, such as {{'params': 1000}}, got {counted!r}")
    return [str(name) for name in counted]


def costs_section(costs: Any, space: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the section `costs` for a function of the parameters, or for such a section.

    space     section `space` of the configuration
    metrics   what else is known of metrics, by name
    """
    if isinstance(costs, Mapping):
        return dict(costs)
    if not callable(costs):
        raise Error(f"costs: expected a function of the parameters, got {costs!r}")
    address, folders = address_of(costs, "costs")
    run = [sys.executable, "-m", "skyline.run_costs", address]
    if folders:
        run = ["env", "PYTHONPATH=" + os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])]), *run]
    return {"run": [word.replace("{", "{{") for word in run], "metrics": {name: metrics.get(name, {}) for name in _names_of(costs, space)}}
