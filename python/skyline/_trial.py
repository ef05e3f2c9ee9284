"""What a trainer that Skyline starts knows of its trial, and how it reports."""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import os
import pathlib
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skyline._decisions import Decisions

_MOST_STEPS = 1_000  # newest steps whose reported names a trial remembers
PARAMETERS_FILE = "parameters.json"  # the name of the file that {parameters} stands for


class Parameters(dict[str, Any]):
    """The values of a trial's parameters by name."""

    def __missing__(self, name: str) -> Any:
        if trial.by_hand:
            raise KeyError(f"{name}: has no value by hand: give {name}=VALUE as an argument, or trial.defaults({name}=...)")
        raise KeyError(f"{name}: this trial does not use it (it uses {', '.join(self)}): read a parameter with a condition by .get({name!r})")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise TypeError(f"{name}: expected a number, got {value!r}") from problem
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, got {number}")
    return number


def _plain(value: Any) -> float | str:
    """Returns what a line of a report can have of any value: a number that may be NaN, or a text."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return repr(value)[:60]


def _step(step: Any) -> int | float | str:
    number = _plain(step)
    return int(number) if isinstance(number, float) and number.is_integer() else number


class Trial:
    """The trial of this process.

    A script that a section `command` starts has `"{parameters}"` among its arguments, from which everything here is read when
    it is first asked for. Started by hand, the script gets its parameters from arguments NAME=VALUE and from
    `trial.defaults`, and prints what it reports.
    """

    def __init__(self) -> None:
        self._facts: dict[str, Any] | None = None
        self._parameters = Parameters()
        self._own_folder: tempfile.TemporaryDirectory[str] | None = None
        self._step = 0
        self._epoch: int | None = None
        self._listens = False
        self._stops = False
        self._reported: dict[int, set[str]] = {}  # names that were reported of the newest steps
        self.has_result = False
        self.pruned = False  # True once should_stop has ended it because it is far behind others
        self.is_known = True  # False where a module is imported for many trials

    def _read(self) -> dict[str, Any]:
        if self._facts is None:
            if self.by_hand:
                given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word and not word.startswith("-"))
                self._facts = {"parameters": {name: _value(text) for name, text in given.items()}}
            else:
                files = [word for word in sys.argv[1:] if os.path.basename(word) == PARAMETERS_FILE]
                if not files:
                    raise RuntimeError('the trainer was started without its parameters: add "{parameters}" to command.run')
                self._facts = json.loads(pathlib.Path(files[0]).read_text(encoding="utf-8"))
            self._parameters = Parameters(self._facts["parameters"])
        assert self._facts is not None
        return self._facts

    def _require_known(self) -> None:
        if not self.is_known:
            raise RuntimeError("this module is imported once for many trials, so skyline.trial is known only within the function; "
                               "read it there, or set command.start: fresh")

    @property
    def by_hand(self) -> bool:
        """Whether no Skyline started this process."""
        self._require_known()
        return "SKYLINE_REPORT_FD" not in os.environ and "SKYLINE_REPORT_FILE" not in os.environ

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the parameters by name: int, float, str, bool or None."""
        self._read()
        return self._parameters

    def defaults(self, **values: Any) -> dict[str, Any]:
        """Returns the parameters; by hand, those that no argument gives have these values. An argument that looks misspelt is told."""
        given = self.parameters
        if self.by_hand:
            for name in given.keys() - values.keys():
                for like in difflib.get_close_matches(name, values.keys() - given.keys(), 1):
                    print(f"{name}={given[name]}: did you mean {like}={given[name]}? {like} is {values[like]!r}", file=sys.stderr)
            self._parameters = Parameters({**values, **given})
        return self._parameters

    @property
    def name(self) -> str:
        """Its number in the run, such as `17`, or `17.final` for a full training; empty by hand."""
        return str(self._read().get("trial", ""))

    @property
    def budget(self) -> float:
        """Its epochs: an int, or a float for a fraction of one; 1 by hand."""
        budget: float = self._read().get("epochs", 1)
        return budget

    @property
    def horizon(self) -> float:
        """The epochs to which it may be continued, over which schedules should run; else its budget."""
        horizon: float = self._read().get("horizon", self.budget)
        return horizon

    @property
    def seed(self) -> int:
        """Its seed, below 2^31; 1 by hand."""
        return int(self._read().get("seed", 1))

    @property
    def final(self) -> bool:
        """Whether it is a full training after the search."""
        return bool(self._read().get("final", False))

    @property
    def folder(self) -> pathlib.Path:
        """The trial's folder in the run, for checkpoints: the same when it is tried again or resumed.

        A trial that continues another one gets a copy of that one's files. By hand it is empty, and removed at the end.
        """
        if self.by_hand and self._own_folder is None:
            self._own_folder = tempfile.TemporaryDirectory(prefix="skyline-trial-")
        return pathlib.Path(self._own_folder.name if self._own_folder else self._read()["folder"])

    @property
    def resumed(self) -> bool:
        """Whether `folder` had files at the start, with which the trainer should go on; False by hand."""
        return bool(self._read().get("resumed", False))

    @property
    def parent_folder(self) -> pathlib.Path | None:
        """The finished folder of the parent, with `command.inherit`; it must only be read. None without a parent."""
        folder = self._read().get("parent_folder")
        return pathlib.Path(folder) if folder else None

    @property
    def cache(self) -> pathlib.Path:
        """A folder that all trials of the run on this host share; by hand the same as `folder`."""
        return self.folder if self.by_hand else pathlib.Path(self._read()["cache"])

    @property
    def data(self) -> pathlib.Path | None:
        """The file of the section `data`, if there is one."""
        file = self._read().get("data")
        return pathlib.Path(file) if file else None

    @property
    def rank(self) -> int:
        """The number of this process among those of its trial, from 0. Only process 0 may report."""
        self._require_known()
        if "TF_CONFIG" in os.environ:
            tensorflow = json.loads(os.environ["TF_CONFIG"])
            servers = 0 if tensorflow["task"]["type"] == "ps" else len(tensorflow["cluster"].get("ps", []))
            return servers + int(tensorflow["task"]["index"])
        return self._of_group("RANK", "OMPI_COMM_WORLD_RANK", 0)

    @property
    def world_size(self) -> int:
        """How many processes train this trial."""
        self._require_known()
        if "TF_CONFIG" in os.environ:
            return sum(map(len, json.loads(os.environ["TF_CONFIG"])["cluster"].values()))
        return self._of_group("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", 1)

    @staticmethod
    def _of_group(of_torch: str, of_azure: str, alone: int) -> int:
        return int(os.environ.get(of_torch, os.environ.get(of_azure, alone)))

    def epochs(self, by_hand: int = 1, done: int = 0) -> Iterator[int]:
        """Yields the epochs of the budget, from 1; a fraction at the end counts as a whole one. By hand: so many.

        A trainer that goes on from what it found in `folder` says how many epochs are `done`. It ends early once `should_stop` has returned True: what the trainer then returns is dropped.
        """
        try:
            for epoch in range(1 + done, 1 + (by_hand if self.by_hand else math.ceil(self.budget))):
                if self._stops or self.pruned:
                    return
                self._step = self._epoch = epoch
                yield epoch
        finally:
            self._epoch = None

    def should_stop(self) -> bool:
        """Whether the trainer should end: the search stops, or the trial is far behind others (`search.pruning`).

        If the search stops, the trainer has `command.grace` (20 s) to end. The first call has SIGTERM noted, which before ends the
        process at once: a trainer that has nothing to save in `folder` needs no call. Only the main thread can begin to listen;
        elsewhere only pruning is noticed. If the trial is pruned, its values are those of the last step at which it was compared,
        and what the trainer returns is dropped. Of several processes of a trial only process 0 is told, and tells the others.
        """
        if not self._listens and not self.by_hand:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGTERM, self._note_stop)
                self._listens = True
        self._note_decision()
        return self._stops or self.pruned

    def _note_decision(self) -> None:
        file = os.environ.get("SKYLINE_DECISION_FILE")
        if file and not self.by_hand and self.rank == 0 and not self.pruned:
            self.pruned = Decisions(file).stop_after(self._reported, lambda: self._stops)

    def _note_stop(self, _signal: int, _frame: Any) -> None:
        self._stops = True

    def report(self, step: int | None = None, **metrics: Any) -> None:
        """Reports a point of the learning curve. It decides nothing, and never fails a trial.

        It may have any names, not only those of metrics. Without `step` it belongs to the epoch of `epochs`, or comes after the
        point before; points of one step are joined. Values are numbers or what `float` takes. Others, NaN and infinite ones
        are left out, and so is a step that is no whole number, or below the last one; the search's log says so once.
        """
        given = self._epoch or self._step + 1 if step is None else _step(step)
        if isinstance(given, int):
            self._step = max(self._step, given)  # one below is left out, and those after it are not
            self._note_reported(given, metrics)
        values = {name: _plain(value) for name, value in metrics.items()}
        self._send({"step": given, **values}, f"step {given}", values)

    def _note_reported(self, step: int, names: Iterable[str]) -> None:
        if self._reported and step < next(reversed(self._reported)):
            return  # the search leaves it out
        self._reported.setdefault(step, set()).update(names)
        if len(self._reported) > _MOST_STEPS:
            del self._reported[next(iter(self._reported))]

    def result(self, **metrics: Any) -> None:
        """Reports the result, once, as the last report. Names that are no metrics are left out, as the search's log says.

        Raises TypeError or ValueError for a metric that is no finite number, and RuntimeError at a second result.
        """
        if self.has_result:
            raise RuntimeError("a trial has one result, and this is the second one")
        try:
            declared = self._read().get("metrics", metrics)
        except RuntimeError:  # a trainer that is not given its parameters
            declared = metrics
        values = {name: _finite(name, value) if name in declared else _plain(value) for name, value in metrics.items()}
        self.has_result = True
        if not self.pruned:
            self._send({"result": values}, "result", values)

    def _send(self, line: Mapping[str, Any], title: str, values: Mapping[str, float | str]) -> None:
        if self.by_hand:
            print(f"{title}: " + " ".join(f"{name}={value if isinstance(value, str) else format(value, 'g')}" for name, value in values.items()),
                  flush=True)
            return
        if self.rank != 0:
            return
        text = json.dumps(line).encode() + b"\n"
        # Below torchrun the descriptor may be another file's; in a container the file may not be there.
        file = os.environ.get("SKYLINE_REPORT_FILE", "")
        if os.path.isfile(file):
            with open(file, "ab") as stream:
                stream.write(text)
            return
        descriptor = int(os.environ["SKYLINE_REPORT_FD"])
        while text:
            text = text[os.write(descriptor, text):]


trial = Trial()
