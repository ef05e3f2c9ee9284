"""Skyline's search without its runs: it proposes, and whoever asks trains."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Union

from ._config import in_arguments, yaml_text
from ._errors import Error
from ._program import child_environment, error_of, find_program
from ._search import COSTS, EVALUATORS, configuration
from ._space import Domain, space_section, used_parameters

if TYPE_CHECKING:
    import optuna

_TRAINER = ("true", "{parameters}")  # is never started: its section names the metrics
_MOST_TRIALS = 1_000_000
# Algorithms whose length is `trials`, and nothing else.
_OPEN_ENDED = {"skyline", "random", "nsga2", "local_search", "regularized_evolution", "mo_bananas", "mo_asha", "program"}
_TO_END_S = 5.0

Values = Union[Mapping[str, float], float, None]


class Proposal(NamedTuple):
    """A trial that a sampler proposes: its number, and the values of its parameters by name."""

    number: int
    parameters: dict[str, Any]


def _trainer(space: Mapping[str, Any], objectives: Sequence[Mapping[str, Any]], metrics: Mapping[str, Mapping[str, Any]],
             sections: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Returns the program of a section `command`: None where no metric is told, or a section of the caller's has the metrics."""
    if "command" in sections:
        return _TRAINER  # the caller gives further keys
    if EVALUATORS & sections.keys():
        return None
    computed = {name for name, described in metrics.items() if "is" in described}
    computed.update(COSTS if "network" in space_section(space) else ())
    named = [each[sense] for each in objectives for sense in ("maximize", "minimize") if sense in each]
    return _TRAINER if {*named, *metrics} - computed else None


def _most_trials(sections: Mapping[str, Any]) -> int | None:
    """Returns the length of the search; None where the caller gives it, or the algorithm has another one."""
    search = sections.get("search", {})
    is_open = isinstance(search, Mapping) and "trials" not in search and search.get("algorithm", "skyline") in _OPEN_ENDED
    return _MOST_TRIALS if is_open else None


def _number(metric: str, value: Any) -> float:
    """Returns a value that is told of a metric: NaN for None, and infinity for what no fraction can be."""
    try:
        return math.nan if value is None else float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError, RuntimeError) as problem:  # torch raises the last for several numbers
        raise Error(f"tell: {metric}: expected a number or None, got {value!r}") from problem


def _plain(value: Any) -> Any:
    """Returns a value as JSON has it: of NumPy as of Python, and in place of what no parameter can be its text."""
    value = value.item() if hasattr(value, "item") else value
    is_value = value is None or isinstance(value, (bool, int, str, list, tuple)) or isinstance(value, float) and math.isfinite(value)
    return value if is_value else repr(value)


class _Process:
    """The program `skyline sampler` with a configuration. It runs until `close`, or the end of this object."""

    def __init__(self, program: str, configuration: Mapping[str, Any]) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="skyline-sampler-", suffix=".yaml", encoding="utf-8") as file:
            file.write(yaml_text(configuration))
            file.flush()
            self._errors = tempfile.TemporaryFile()
            self.process = subprocess.Popen([program, "sampler", file.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self._errors, text=True, encoding="utf-8", env=child_environment(),
                                            start_new_session=True)  # Ctrl-C is for this process
            self.close = weakref.finalize(self, _end, self.process, self._errors)
            self._file = file.name
            self._awaited = 1  # lines that the program has yet to write
            self.task = self._last_line()  # before it the program reads the file

    def answer(self, message: Mapping[str, Any]) -> Any:
        """Returns what the program answers to a line."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):  # it has ended, or is closed
            self._raise()
        self._awaited += 1
        return self._last_line()

    def _last_line(self) -> Any:
        """Returns the last line that is awaited. Earlier ones are answers to calls that were interrupted."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline() if self.close.alive else ""
            if not line.endswith("\n"):
                self._raise()
            self._awaited -= 1
            if not self._awaited:
                return json.loads(line)

    def _raise(self) -> Any:
        if not self.close.alive:
            raise Error("the sampler is closed")
        _wait(self.process)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        self.close()
        code = self.process.returncode
        said = error_of(lines, code if code >= 0 else 128 - code)
        raise Error("\n".join(in_arguments(line, self._file) for line in str(said).splitlines()), said.exit_code)


def _wait(process: subprocess.Popen[str]) -> None:
    """Has the program end, by the end of its input."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        process.wait(_TO_END_S)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


def _end(process: subprocess.Popen[str], errors: IO[bytes]) -> None:
    _wait(process)
    if process.stdout is not None:
        process.stdout.close()
    errors.close()


class Sampler:
    """Proposes trials, as `skyline.search` with `run.window: 1` does after the same results.

    space        as for `skyline.search`
    objectives   a list such as [{"maximize": "accuracy"}, {"minimize": "size"}]
    constraints  bounds of metrics, such as [{"size": [0, 1e6]}]
    metrics      what else is known of metrics, such as {"accuracy": {"range": [0, 1]}}
    seed         of all random draws; 1 unless given
    sections     further sections of the configuration, such as search={"algorithm": "nsga2", "trials": 500}; `trials` is a million
                 unless given, where the algorithm has that key

    Raises Error with the program's own line for what is wrong. The program `skyline sampler` runs until `close`, or the end of a
    `with`, or of this process. Threads may share a sampler.
    """

    def __init__(self, space: Mapping[str, Domain] | Mapping[str, Any], objectives: Sequence[Mapping[str, Any]], *,
                 constraints: Sequence[Mapping[str, Any]] = (), metrics: Mapping[str, Mapping[str, Any]] | None = None,
                 seed: int | None = None, program: str | os.PathLike[str] | None = None, **sections: Any) -> None:
        for each in objectives:
            if not isinstance(each, Mapping) or not each.keys() & {"maximize", "minimize"}:
                raise Error(f'objectives: expected a list such as [{{"maximize": "accuracy"}}], got {each!r} in it')
        chosen = configuration(space, _trainer(space, objectives, metrics or {}, sections),
                               [dict(each) for each in objectives], None, _most_trials(sections), metrics or {}, sections)
        if constraints:
            chosen["constraints"] = list(constraints)
        if seed is not None:
            chosen["run"] = {**chosen.get("run", {}), "seed": seed}
        self._lock = threading.Lock()
        self._process = _Process(find_program(program), chosen)
        task = self._process.task
        self.space: dict[str, list[Any]] = task["space"]
        self.conditional: list[str] = task.get("conditional", [])  # parameters that a trial may lack
        self.done = False
        names = [name for each in task["objectives"] for name in each.values()] + [name for each in task["constraints"] for name in each]
        self._needed = [name for name in dict.fromkeys(names) if name not in task["computed"]]

    def ask(self, n: int = 1) -> list[Proposal]:
        """Returns the next trials: fewer where there are no more, which `done` then says, or an algorithm waits for results."""
        answer = self._answer("ask", _plain(n))
        self.done = answer.get("done", False)
        return [Proposal(answer["first"] + place, parameters) for place, parameters in enumerate(answer["answer"])]

    def tell(self, trial: int | Mapping[str, Any], values: Values) -> None:
        """Tells the result of a trial, by its number, or of other parameters that somebody has tried, by name.

        `values` are those of the metrics of objectives and constraints, or a number where there is one. Metrics that are known
        before a training, such as {"params": {"is": "$a * $b"}}, need none. None is a failure, and so is a value that is None or not
        finite. Raises Error for a trial that has a result, for parameters that are not of the space or lack one that is used, and for
        parameters of which the algorithm takes no result. Then nothing is told.
        """
        told: dict[str, Any]
        if isinstance(trial, Mapping):
            used = used_parameters(trial, self.space, self.conditional)
            told = {"parameters": {str(name): _plain(value) for name, value in used.items()}}
        else:
            told = {"trial": _plain(trial)}
        found = self._values(values)
        told.update({"failed": "told as failed"} if found is None else {"values": found})
        self._answer("tell", told)

    def close(self) -> None:
        """Ends the program."""
        self._process.close()

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, request: str, message: Any) -> Any:
        with self._lock:
            answer = self._process.answer({request: message})
        if "error" in answer:
            raise Error(f"{request}: {answer['error'].removeprefix(f'{request}: ')}")
        return answer

    def _values(self, values: Values) -> dict[str, float] | None:
        if values is None:
            return None
        if not isinstance(values, Mapping):
            if len(self._needed) != 1:
                raise Error(f"tell: expected values by name, of {', '.join(self._needed) or 'no metric'}, got {values!r}")
            values = {self._needed[0]: values}
        found = {name: _number(name, values[name]) for name in self._needed if name in values}
        return found if all(map(math.isfinite, found.values())) else None


def optuna_sampler(space: Mapping[str, Any], *, seed: int | None = None, **settings: Any) -> optuna.samplers.BaseSampler:
    """Returns a sampler for `optuna.create_study(sampler=...)`, whose directions are the objectives.

    space     what the trials of the study suggest, by name: lists for `suggest_categorical`, `skyline.range(low, high)` for
              `suggest_int` and `suggest_float`, or distributions of Optuna
    seed      of all random draws; 1 unless given
    settings  further arguments of `Sampler`

    Results of trials that others chose count as well, with the nearest values of the space. A pruned trial counts with the last
    value that it reported. Parameters that are not in `space` are drawn at random.
    """
    from ._optuna import SkylineSampler  # imports Optuna

    return SkylineSampler(space, seed, settings)
