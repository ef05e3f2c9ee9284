"""Starts a search from Python."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import os
import pathlib
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

from ._config import in_arguments, yaml_text
from ._costs import costs_section
from ._errors import Error
from ._files import absolute, folders_for, near, publish
from ._functions import address_of
from ._program import find_program, launch_command
from ._run import REFUSED, Run
from ._space import Domain, space_section
from ._tuner import algorithm_section

Objectives = Union[str, Sequence[str], Mapping[str, Mapping[str, Any]], None]
COSTS = ("parameters", "flops", "macs", "peak_activation_bytes", "training_activation_bytes", "weight_bytes",
         "int8_peak_activation_bytes", "int8_weight_bytes")  # costs of networks
_PLAIN = (Mapping, list, tuple, str, int, float, type(None))
EVALUATORS = {"command", "computed", "synthetic", "table", "training"}  # sections, each of which evaluates trials
_FIRST_LINE = "# Written by skyline.search.\n"
# Arguments of search, by what they are called elsewhere. The program knows the words for keys (docs/configuration.md).
_ELSEWHERE = {"maximize` or `minimize": "direction directions mode metric objective optimization_mode", "maximize": "maximise", "minimize": "minimise",
              "trials": "n_trials num_samples max_trials maxTrialNumber", "algorithm": "sampler search_alg tuner suggester",
              "slots": "n_jobs max_concurrent_trials trialConcurrency",
              "ranks": "rank world_size nproc_per_node nnodes num_nodes node_count process_count_per_node workers num_workers",
              "folder": "storage study_name output out output_dir log_dir logdir save_dir checkpoint_dir local_dir storage_path default_root_dir "
                        "name",
              "quiet": "verbose", "run={'time_limit': '1h'}": "timeout time_budget_s", "run={'seed': 1}": "seed random_state"}


def search(space: Mapping[str, Domain] | Mapping[str, Any], train: Callable[..., Any] | Sequence[str] | None = None, *,
           maximize: Objectives = None, minimize: Objectives = None, algorithm: Any = None, trials: int | None = None, ranks: int = 1,
           folder: str | os.PathLike[str] = "runs/search", metrics: Mapping[str, Mapping[str, Any]] | None = None,
           costs: Callable[..., Any] | Mapping[str, Any] | None = None, slots: int | None = None, resume: bool = False, changed: bool = False, quiet: bool = False,
           program: str | os.PathLike[str] | None = None, **sections: Any) -> Run:
    """Starts a search in the background, and returns its run when it works.

    space     a list of values or `skyline.range(low, high)` for each parameter by name; or a section `space` with a network
    train     a function that each rank imports by name, and that a fork of it calls for each trial; it gets the parameters by
              name, and returns its metrics by name, or a number if there is one. It may also be an object that can be called,
              or a method of an object, which a module has by name. Or a program with its arguments; or None for Skyline's own
              training (sections `data` and `training`), or where all objectives are known before a trial
    maximize, minimize   objectives: a metric's name, several, or {name: {reference: 0, ideal: 1}}
    algorithm the name of an algorithm; or a class, or an object, with `ask` and `tell`, that chooses the trials in a process of its own;
              or a program with its arguments that does
    trials    how many trials; 100 unless given
    ranks     processes of the search, by mpirun from 2 on; each trains `slots` trials at a time, unless given one a core
    folder    the run's folder; its configuration is written beside it, as FOLDER.yaml. `~` is the home folder
    metrics   what else is known of metrics, such as {"accuracy": {"range": [0, 1], "unit": "%"}}, and further metrics, also such
              as are known before a trial: {"params": {"is": "$layers * $width ** 2"}}
    costs     a function of the parameters, by name, that counts numbers by name before a trial, such as {"params": 1000}: bounds on
              them are met before anything is trained. It must return the same numbers each time; it is called here once, for the
              first values of the parameters, and then in a process of its own
    resume    whether to resume the run in the folder, if there is one
    changed   whether to resume it although files of the trainer have changed; the journal says after which trial
    quiet     shows nothing
    sections  further sections of the configuration, or keys of `command` and `search`, as dictionaries

    Raises Error with the program's own line if the configuration is refused, and for a function that cannot be imported by
    name; FOLDER.yaml is then as it was before. A script that ends waits for its searches first; `Run.wait` shows how far they are.
    """
    if "SKYLINE_PROCESS_MARK" in os.environ:  # process of a trial, or one that imports the function for trials
        raise Error('search: is called in a process of a trial: call it below `if __name__ == "__main__":`')
    _check_words(sections)
    launch_command(find_program(program), ranks)  # refuses before anything is written
    place = absolute(folder)
    if not place.name:
        raise Error(f"folder: expected one of its own, got {place}")
    config = place.with_name(place.name + ".yaml")
    objectives = _objectives(maximize, minimize)
    text = _FIRST_LINE + yaml_text(configuration(space, train, objectives, algorithm, trials, metrics or {}, sections, costs))
    if (place / "journal.jsonl").exists() and not resume:
        raise Error(f"{near(place)}: holds a run already: give another folder, or resume=True")
    if config.exists() and not config.read_text(encoding="utf-8").startswith(_FIRST_LINE):
        raise Error(f"{near(config)}: is no file of skyline.search, which would overwrite it: give another folder")
    run = Run(place, program=program)
    words = [near(config), *(["--resume"] if resume else []), *(["--changed"] if changed else []),
             *(["--slots", str(slots)] if slots else [])]
    if not quiet:
        command = ["skyline", "search", *words, "--run", near(place)]
        print(text + "$ " + shlex.join((["mpirun", "-np", str(ranks)] if ranks > 1 else []) + command), flush=True)
    try:
        with folders_for(config), _written(config, text, place / "journal.jsonl"):
            return run._start(words, ranks, quiet, pathlib.Path.cwd())
    except Error as problem:
        senses = ["maximize" if "maximize" in each else "minimize" for each in objectives]
        said = "\n".join(_with_argument_meant(in_arguments(line, near(config), senses)) for line in str(problem).splitlines())
        if " is in use by process " in said:
            said += f"; skyline.open_run({near(place)!r}).wait() follows it"
        raise Error(said, problem.exit_code) from None


@contextlib.contextmanager
def _written(file: pathlib.Path, text: str, journal: pathlib.Path) -> Iterator[None]:
    """Writes a file. If what then happens is refused, or makes no run, it is as it was before."""
    earlier = file.read_bytes() if file.exists() else None
    publish(file, text.encode())
    try:
        yield
    except BaseException as problem:  # Ctrl-C too
        if getattr(problem, "exit_code", None) == REFUSED or not journal.exists():
            file.unlink() if earlier is None else publish(file, earlier)
        raise


def _letters(word: str) -> str:
    return word.replace("_", "").lower()


def _check_words(names: Iterable[str]) -> None:
    """Refuses what is an argument of search by another name, and no section."""
    for name in names:
        for argument, words in _ELSEWHERE.items():
            if _letters(name) in map(_letters, words.split()):
                raise Error(f"{name}: the argument of skyline.search is `{argument}`")


def _with_argument_meant(line: str) -> str:
    """Returns the program's line about a section that it does not know with the argument of search that has such a name."""
    unknown = re.match(r"unknown key `(\w+)`, known here: ", line)
    like = difflib.get_close_matches(unknown[1], inspect.signature(search).parameters, 1) if unknown else []
    return f"unknown argument `{unknown[1]}`, did you mean `{like[0]}`?" if unknown and like else line


def _objectives(maximize: Objectives, minimize: Objectives) -> list[dict[str, Any]]:
    found = []
    for sense, names in (("maximize", maximize), ("minimize", minimize)):
        for name in [names] if isinstance(names, str) else names or []:
            found.append({sense: name, **(names[name] if isinstance(names, Mapping) else {})})
    if not found:
        raise Error('objectives: expected at least one, such as maximize="accuracy"')
    return found


def _check_takes(train: Callable[..., Any], address: str, parameters: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuses a function that cannot be called with the parameters of a space by name, or without one that has a condition."""
    try:
        signature = inspect.signature(train, follow_wrapped=False)  # a decorator may give some arguments itself
    except (TypeError, ValueError):
        return  # it does not say
    called = f"train: `{address.rpartition(':')[2]}{signature}`"
    try:
        signature.bind(**dict.fromkeys(parameters))
    except TypeError as problem:
        raise Error(f"{called} gets the parameters of the space by name, {', '.join(parameters)}: {problem}") from None
    for conditional in (name for name, domain in parameters.items() if domain.get("when") is not None):
        try:
            signature.bind(**dict.fromkeys(parameters.keys() - {conditional}))
        except TypeError:
            raise Error(f"{called}: {conditional} is not always used: give it a default") from None


def _command(train: Callable[..., Any] | Sequence[str], objectives: list[dict[str, Any]],
             metrics: Mapping[str, Mapping[str, Any]], computed: Sequence[str]) -> dict[str, Any]:
    directions = {each[sense]: better for each in objectives for sense, better in (("maximize", "higher"), ("minimize", "lower"))
                  if sense in each and each[sense] not in computed and "is" not in metrics.get(each[sense], {})}
    described = {name: {**({"better": directions[name]} if name in directions else {}), **metrics.get(name, {})}
                 for name in [*directions, *(name for name in metrics if name not in directions)]}
    if not described:
        raise Error("train: has no metric to return: each objective is a cost that is known before a trial; leave train out, or add an "
                    "objective that it measures")
    if isinstance(train, (list, tuple)):
        return {"run": [str(word) for word in train], "metrics": described}
    if not callable(train):
        raise Error(f"train: expected a function, or a program with its arguments in a list, got {train!r}")
    address, folders = address_of(train)
    command: dict[str, Any] = {"python": address, "interpreter": sys.executable, "metrics": described}
    if folders:
        command["env"] = {"PYTHONPATH": os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])}
    return command


def configuration(space: Mapping[str, Any], train: Callable[..., Any] | Sequence[str] | None, objectives: list[dict[str, Any]],
                  algorithm: Any, trials: int | None, metrics: Mapping[str, Mapping[str, Any]], others: Mapping[str, Any],
                  costs: Callable[..., Any] | Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the sections of a configuration, `others` among them."""
    sections: dict[str, Any] = {"space": space_section(space)}
    counted = {} if costs is None else costs_section(costs, sections["space"], metrics)
    metrics = {name: described for name, described in metrics.items() if name not in counted.get("metrics", ())}
    if train is not None:
        computed = (*(COSTS if "network" in sections["space"] else ()), *counted.get("metrics", ()))
        sections["command"] = _command(train, objectives, metrics, computed)
        if callable(train) and not {"file", "network"} & sections["space"].keys():  # which name more parameters
            _check_takes(train, sections["command"]["python"], sections["space"].get("parameters", {}))
    elif metrics or counted and not EVALUATORS & others.keys():
        if not all("is" in described for described in metrics.values()) or EVALUATORS & others.keys():
            raise Error('metrics: without a function or a program they are expressions, {"area": {"is": "$a * $b"}}; those of a '
                        'training belong to training={"metrics": ...}')
        sections["computed"] = {"metrics": metrics} if metrics else {}
    if not EVALUATORS & {*sections, *others} and not {"file", "network"} & sections["space"].keys():
        raise Error("train: expected a function of the parameters, or a program with its arguments in a list: nothing is known of a trial without")
    if counted:
        sections["costs"] = counted
    sections["objectives"] = objectives
    chosen = algorithm_section("skyline" if algorithm is None else algorithm)
    if algorithm is None and "algorithm" in others.get("search", {}):
        chosen = {}
    sections["search"] = {**chosen, **({"trials": trials} if trials is not None else {})}
    # An object of another library is no section: the program says what its name is here.
    return _merged(sections, {name: value if isinstance(value, _PLAIN) else repr(value) for name, value in others.items()}, "")


def _merged(known: Mapping[str, Any], more: Mapping[str, Any], where: str) -> dict[str, Any]:
    merged = dict(known)
    for name, value in more.items():
        if isinstance(merged.get(name), Mapping) and isinstance(value, Mapping):
            value = _merged(merged[name], value, f"{where}{name}.")
        elif name in merged:
            raise Error(f"{where}{name}: is given twice, by another argument of search too")
        merged[name] = value
    return merged
