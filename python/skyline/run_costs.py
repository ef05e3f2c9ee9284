"""Counts costs of architectures by a function, in a process that Skyline starts (`costs.run`).

usage: python -m skyline.run_costs FUNCTION

FUNCTION is package.module:function, or folder/script.py:function. It is called with the parameters by name, and returns
numbers by name. What it prints goes to logs/costs.log in the run's folder. The lines of JSON that this module reads and
writes are described in docs/metrics.md.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from skyline.run_trial import load

_DESCRIPTOR = "SKYLINE_COSTS_FD"


def _number(name: str, value: Any) -> float:
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"{name} is {value!r}: expected a number")
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}: expected a finite number")
    return number


def _costs(count: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, float] | str:
    """Returns the costs of an architecture, or why it has none."""
    try:
        counted = count(**parameters)
        if not isinstance(counted, Mapping):
            raise TypeError(f"the function returned {counted!r}: expected numbers by name")
        return {str(name): _number(name, value) for name, value in counted.items()}
    except Exception as problem:
        traceback.print_exc()
        return f"{type(problem).__name__}: {problem}"


def serve(count: Callable[..., Any], lines: Iterable[str], output: TextIO) -> None:
    """Answers the lines of a search until they end."""
    for line in lines:
        output.write(json.dumps({"costs": [_costs(count, parameters) for parameters in json.loads(line)["count"]]}) + "\n")
        output.flush()


def main() -> None:
    if len(sys.argv) != 2 or ":" not in sys.argv[1] or _DESCRIPTOR not in os.environ:
        sys.exit(__doc__)
    channel = socket.socket(fileno=int(os.environ.pop(_DESCRIPTOR)))
    channel.set_inheritable(False)
    serve(load(sys.argv[1]), channel.makefile("r", encoding="utf-8"), channel.makefile("w", encoding="utf-8"))


if __name__ == "__main__":
    main()
