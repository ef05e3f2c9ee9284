"""The functions of NNI that a trial calls, over `skyline.trial`, so that a script written for NNI is a trainer here.

usage: python3 -m skyline.nni [PARAMETERS] [--in FOLDER] SCRIPT ARGUMENTS...        where it says `import nni`
       python3 -m skyline.nni [PARAMETERS] [--in FOLDER] -m MODULE ARGUMENTS...

PARAMETERS is what `"{parameters}"` in command.run becomes; by hand they are words NAME=VALUE, which the script does not get.
FOLDER is that in which the script runs. Of NNI there is what __all__ lists; a number that is reported by itself is the metric `default`.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import runpy
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ._trial import PARAMETERS_FILE, trial

__all__ = ["get_current_parameter", "get_experiment_id", "get_next_parameter", "get_next_parameters", "get_sequence_id", "get_trial_id",
           "merge_parameter", "report_final_result", "report_intermediate_result"]
_METRIC = "default"
_ASSIGNMENT = re.compile(r"[^-=/\s][^=/\s]*=")
_BY_HAND = "STANDALONE"  # NNI's name of what has no experiment
# JSON by name: [parameter], [parameter, "json"] or [parameter, {option: {name: form}}]. Null is the budget, and the name
# `*` stands for a whole map.
_FORMS = "NNI_FORMS"


def _in_form(form: list[Any] | None, values: dict[str, Any]) -> Any:
    """Takes the parameters of a form from the values, and returns what the script gets."""
    if form is None:
        return trial.budget
    name, *more = form
    value = values.pop(name, None)  # a trial has no value of what its option does not use
    if not more:
        return value
    if more[0] == "json":
        return json.loads(value) if isinstance(value, str) else value
    inner = {option: {child: _in_form(each, values) for child, each in children.items()} for option, children in more[0].items()}
    return {"_name": value, **inner.get(value, {})}


def get_next_parameter() -> dict[str, Any]:
    """Returns the parameters of this trial by the names of the search space, nested choices as `{"_name": option, ...}`.

    By hand they are those of arguments NAME=VALUE.
    """
    values = dict(trial.parameters)
    forms = {} if trial.by_hand else json.loads(os.environ.get(_FORMS, "{}"))
    formed = {name: _in_form(form, values) for name, form in forms.items()}
    return {**values, **formed.pop("*", {}), **formed}


get_next_parameters = get_next_parameter


def get_current_parameter(tag: str | None = None) -> Any:
    """Returns the same, or the value of one name: None for a name that there is not."""
    values = get_next_parameter()
    return values if tag is None else values.get(tag)


def _metrics(metric: Any) -> dict[str, Any]:
    return {str(name): value for name, value in metric.items()} if isinstance(metric, Mapping) else {_METRIC: metric}


def report_intermediate_result(metric: Any) -> None:
    """Reports a number, or a dictionary with `default` and others, as the next point of the learning curve.

    If the trial is then pruned (`search.pruning`), the script ends here, as NNI's assessors end one.
    """
    values = _metrics(metric)
    step = values.pop("step", None)  # ours has the meaning of NNI's count of reports
    trial.report(**values) if step is None else trial.report(**values, nni_step=step)
    trial._note_decision()
    if trial.pruned:
        sys.exit(0)


def report_final_result(metric: Any) -> None:
    """Reports the result, once: a number, or a dictionary with `default` and others. Numbers that command.metrics lacks are left out.

    Raises TypeError or ValueError for what is no finite number, and KeyError for a dictionary without `default`.
    """
    values = _metrics(metric)
    if _METRIC not in values:
        raise KeyError(f"report_final_result: expected a dictionary with `{_METRIC}`, got {', '.join(values) or 'an empty one'}")
    trial.result(**values)


def get_trial_id() -> str:
    """Returns the trial's name in the run, such as `17`."""
    return trial.name or _BY_HAND


def get_sequence_id() -> int:
    """Returns the trial's number, from 0; 0 by hand."""
    return int(trial.name.partition(".")[0] or 0)


def get_experiment_id() -> str:
    """Returns the name of the run's folder."""
    return _BY_HAND if trial.by_hand else trial.folder.parents[2].name


def merge_parameter(base_params: Any, override_params: Mapping[str, Any]) -> Any:
    """Writes parameters over those of a dictionary or of `argparse`, which has a default for each, and returns that.

    Raises ValueError for a name that it lacks.
    """
    known = base_params if isinstance(base_params, dict) else vars(base_params)
    for name, value in override_params.items():
        if name not in known:
            raise ValueError(f"{name}: is no name of the parameters with defaults ({', '.join(map(str, known))})")
        known[name] = value
    return base_params


utils = sys.modules[__name__]  # nni.utils.merge_parameter


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"nni.{name}: is not there where Skyline starts a trial, which has {', '.join(__all__)}")


def _give_variables() -> None:
    """Sets what NNI tells a trial by its environment, and lets processes that the script starts find the stand-in."""
    folder = str(pathlib.Path(__file__).resolve().parent / "stand_ins")
    sys.path.insert(1, folder)
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = folder + (os.pathsep + path if path else "")
    if not trial.by_hand:
        os.environ.update(NNI_OUTPUT_DIR=str(trial.folder), NNI_TRIAL_JOB_ID=get_trial_id(), NNI_EXP_ID=get_experiment_id())


def main(words: Sequence[str]) -> int:
    """Runs a script. Returns the exit code of a wrong call; what the script raises is passed on."""
    left = list(words)
    trial.parameters  # read before the script gets its own arguments
    if not trial.by_hand:
        left = left[os.path.basename(left[0]) == PARAMETERS_FILE:]
    while trial.by_hand and left and _ASSIGNMENT.match(left[0]):
        del left[0]
    folder = "."
    if left[:1] == ["--in"]:
        folder, left = (left[1:2] or [""])[0], left[2:]
    is_module = left[:1] == ["-m"]
    left = left[is_module:]
    if not left or not os.path.isdir(folder):
        print(f"skyline.nni: expected {'a script' if not left else f'--in FOLDER, got {folder!r}'}\n{__doc__.split(chr(10) * 2)[1]}", file=sys.stderr)
        return 2
    if not is_module:
        left[0] = os.path.abspath(left[0])
    os.chdir(folder)
    sys.path[0] = os.getcwd() if is_module else os.path.dirname(left[0])
    _give_variables()
    sys.argv = left
    if is_module:
        runpy.run_module(left[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(left[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
