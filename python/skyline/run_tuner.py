"""Lets a class of one's own choose the trials of a search, in a process that Skyline starts (`search.run`).

usage: python -m skyline.run_tuner TUNER

TUNER is package.module:name, or folder/script.py:name, of an object with the methods `ask` and `tell`, or of a class that makes
one. What it prints goes to logs/tuner.log in the run's folder. The lines of JSON that this module reads and writes are
described in docs/algorithms.md.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from skyline._space import used_parameters
from skyline._tuner import FACTS, Result
from skyline.run_trial import load

_DESCRIPTOR = "SKYLINE_TUNER_FD"


def _made(tuner: Any, task: Mapping[str, Any]) -> Any:
    """Returns the object itself, or one of the class, whose constructor gets what it has parameters for."""
    if not isinstance(tuner, type):
        return tuner
    facts = {name: task[name] for name in FACTS}
    try:
        names = list(inspect.signature(tuner).parameters.values())
    except (TypeError, ValueError):  # it does not say
        names = []
    given = {each.name: facts[each.name] for each in names if each.name in facts}
    for first in names[:1]:
        is_place = first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
        if is_place and first.name not in facts and first.default is first.empty:
            return tuner(facts["space"], **given)
    return tuner(**given)


def _plain(value: Any) -> Any:
    """Returns what JSON has for a value of NumPy."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a proposal has a value that is no number and no text: {value!r}")


def _answer(said: Any, asked: int, task: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the line for what `ask` has returned: fewer proposals than were asked for are the last ones."""
    proposals = [used_parameters(each, task["space"], task["conditional"]) if isinstance(each, Mapping) else each
                 for each in ([said] if isinstance(said, Mapping) else said or ())]
    answer: dict[str, Any] = {"answer": proposals}
    if len(proposals) < asked:
        answer["done"] = True
    return answer


def _has(proposals: Iterable[Mapping[str, Any]], trial: Mapping[str, Any]) -> bool:
    """Whether a trial is one of the proposals, which may have values of parameters that it does not use."""
    return any(trial.items() <= each.items() for each in proposals)


def serve(tuner: Any, task: Mapping[str, Any], lines: Iterable[str], output: TextIO) -> None:
    """Answers the lines of a search until they end. The first line was read before."""
    has_warned = False
    for line in lines:
        message = json.loads(line)
        if "tell" in message:
            told = message["tell"]
            tuner.tell(Result(told["trial"], told["parameters"], told.get("values"), told.get("failed"), told.get("pruned", False)))
            continue
        recorded = message.get("answer")
        if recorded is not None and hasattr(tuner, "accept"):
            tuner.accept(recorded, message["seed"])
            continue
        text = json.dumps(_answer(tuner.ask(message["ask"], message["seed"]), message["ask"], task), default=_plain, allow_nan=False)
        if recorded is None:
            output.write(text + "\n")
            output.flush()
        elif not has_warned and not all(_has(json.loads(text)["answer"], each) for each in recorded):
            has_warned = True
            print(f"trial {message['first']}: `ask` answers otherwise than in the job before, whose answer counts: its proposals depend on "
                  "more than the seed and the results", flush=True)


def main() -> None:
    if len(sys.argv) != 2 or ":" not in sys.argv[1] or _DESCRIPTOR not in os.environ:
        sys.exit(__doc__)
    channel = socket.socket(fileno=int(os.environ.pop(_DESCRIPTOR)))
    channel.set_inheritable(False)
    lines = channel.makefile("r", encoding="utf-8")
    task = {"conditional": [], **json.loads(next(lines))}
    serve(_made(load(sys.argv[1]), task), task, lines, channel.makefile("w", encoding="utf-8"))


if __name__ == "__main__":
    main()
