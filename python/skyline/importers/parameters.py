"""Names and conditions of parameters that stand below the value of another one, for NNI and Archai, and chances for Archai."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any


def new_name(words: Sequence[str], taken: Container[str]) -> str:
    """Returns a name of letters, digits and `_` that is not taken."""
    name = re.sub(r"\W", "_", "__".join(words), flags=re.ASCII)
    name = name if re.match(r"[A-Za-z_]", name) else f"p_{name}"
    number = 1
    while (unique := name if number == 1 else f"{name}_{number}") in taken:
        number += 1
    return unique


def literal(value: Any) -> str:
    """Returns a value as a condition has it."""
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return json.dumps(value)


def _number_of_values(domain: Mapping[str, Any]) -> int:
    if "choice" in domain:
        return len(domain["choice"])
    if "count" in domain:
        return int(domain["count"])
    low, high = domain["range"]
    return round((high - low) / domain.get("step", 1)) + 1


def _set_weights(domain: dict[str, Any], logs: Sequence[float]) -> None:
    largest = max(logs)
    weights = [max(float(f"{math.exp(log - largest):.12g}"), sys.float_info.min) for log in logs]
    if len(set(weights)) > 1:
        domain["weights"] = weights
    else:
        domain.pop("weights", None)


def keep_chances(domains: Mapping[str, dict[str, Any]], below: Mapping[str, Mapping[Any, Sequence[str]]]) -> None:
    """Sets the weights of choices. `below`: names of the parameters below each value, by the name of the choice.

    Such a parameter keeps its first value where it does not count, so a value has as many genotypes as the parameters below
    it have combinations. The weights make up for that: random samples take each value as often as in the other system.
    """
    firsts: dict[str, float] = {}  # logarithm of the chance of a first value, and of the first values below that

    def first(name: str) -> float:
        if name not in firsts:
            domain = domains[name]
            own = domain.get("weights") or [1.0] * _number_of_values(domain)
            logs = [math.log(weight) for weight in own]
            if name in below:
                logs = [log + math.fsum(map(first, below[name].get(value, ()))) for log, value in zip(logs, domain["choice"])]
                _set_weights(domain, logs)
            firsts[name] = logs[0] - math.log(math.fsum(own))
        return firsts[name]

    for name in below:
        first(name)
