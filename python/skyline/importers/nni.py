"""An experiment of NNI, config.yml or search_space.json, as a configuration."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from ..prep.errors import counted
from .configuration import Configuration
from .nni_assessors import Assessor
from .nni_command import TrialCommand
from .nni_space import SpaceReader, space_notes
from .nni_tuners import Tuner
from .source import Node

_METRIC = "default"  # the name that NNI gives to a number which is reported
_DEFAULT_TRIALS = 100
_DURATION = re.compile(r"\d+(\.\d+)?[smhd]", re.ASCII)
_READ = ["searchSpace", "searchSpaceFile", "searchSpacePath", "trialCommand", "trialCodeDirectory", "trial", "trialConcurrency", "maxTrialNumber",
         "maxTrialNum", "maxExperimentDuration", "maxExecDuration", "maxTrialDuration", "tuner", "advisor", "assessor", "trialGpuNumber",
         "useAnnotation", "experimentName", "name"]
_WITHOUT_EFFECT = ["debug", "logLevel", "logDir", "logCollection", "authorName", "description", "nniManagerIp", "experimentWorkingDirectory",
                   "tunerGpuIndices", "multiThread", "multiPhase", "versionCheck", "trainingServicePlatform"]
_LEFT = ["trainingService", "machineList", "sharedStorage", "localConfig", "remoteConfig", "nniManagerNFSMountPath", "containerNFSMountPath",
         "paiConfig", "kubeflowConfig", "frameworkcontrollerConfig", "amlConfig", "adlConfig", "dlcConfig", "dltsConfig", "hybridConfig"]
_OF_TUNER = ["name", "builtinTunerName", "builtinAdvisorName", "builtinAssessorName", "className", "classFileName", "classArgs"]
_OF_TRIAL = ["command", "codeDir", "gpuNum"]
_ROLES = ["worker", "master", "taskRoles"]  # processes of a trial on Kubernetes
_LEFT_OF_TRIAL = ["adaptive", "authFile", "checkpoint", "containerNFSMountPath", "cpuNum", "dataDir", "image", "imagePullSecrets", "jobPriority",
                  "memoryMB", "memorySize", "namespace", "nasMode", "nfs", "nniManagerNFSMountPath", "outputDir", "paiConfigPath", "paiStorageConfigName",
                  "portList", "privateRegistryAuthPath", "ps", "shmMB", "virtualCluster"]


def _is_space(tree: Node) -> bool:
    """Whether a file is a search space by itself."""
    return all(isinstance(each.value, dict) and "_type" in each.value for each in tree.entries("an experiment of NNI").values())


def _duration(node: Node) -> str:
    if type(node.value) is int and node.value > 0:
        return f"{node.value}s"
    if not isinstance(node.value, str) or not _DURATION.fullmatch(node.value):
        node.refuse_as("a duration with its unit, such as 30m or 1.5h")
    text: str = node.value
    return text


class Experiment:
    """Makes the configuration of an experiment."""

    def __init__(self, source: pathlib.Path, tree: Node, count: int) -> None:
        """Reads all of it. `count`: values of a parameter that is continuous in NNI. Raises PrepError."""
        self.made = Configuration(f"Made by `skyline import nni` of {source.name}. What NNI has in another form, and what was not taken:")
        self._folder = source.parent
        self._reader = SpaceReader(count)
        self._trials = _DEFAULT_TRIALS
        if _is_space(tree):
            tree = Node({"place": "", "path": "", "entries": []}) if not tree.value else self._as_experiment(tree)
        self._read(tree)

    @staticmethod
    def _as_experiment(space: Node) -> Node:
        experiment = Node({"place": space.place, "path": ""})
        experiment.value = {"searchSpace": space}
        return experiment

    def summary(self, out: str) -> list[str]:
        """Returns the lines for the person. `out`: name of the file."""
        parameters = counted(len(self._reader.domains), "parameter")
        return [f"{out}: {parameters}, at most {counted(self._trials, 'trial')}", *(f"check: {note}" for note in self.made.notes)]

    def _read(self, tree: Node) -> None:
        known = [*_READ, *_WITHOUT_EFFECT, *_LEFT]
        tree.rename_keys(known)
        tree.check_keys(known)
        for section in filter(None, map(tree.find, ("tuner", "advisor", "assessor"))):
            section.rename_keys(_OF_TUNER)
        annotated = tree.find("useAnnotation")
        if annotated is not None and annotated.value is True:
            annotated.refuse("the search space is written into the code: write it as a search space, and import that")
        space = tree.find("searchSpace")
        if space is None:
            tree.refuse("expected `searchSpace` or `searchSpaceFile`, which say what is searched")
        tuner = Tuner(tree.find("tuner", "advisor"))
        self._reader.read(space)
        if tuner.is_batch:
            self._take_batch(space)
        assessor = Assessor(tree.find("assessor"), has_rungs=tuner.epochs is not None)
        command = self._command(tree, tuner, assessor)
        made = self.made
        made.notes += [*space_notes(self._reader), *tuner.notes, *assessor.notes]
        made.sections["space"] = {"parameters": self._reader.domains}
        made.sections["command"] = command
        made.sections["objectives"] = [{"maximize" if tuner.maximizes else "minimize": _METRIC}]
        pruning = {} if assessor.pruning is None else {"pruning": assessor.pruning}
        made.sections["search"] = {**tuner.search(self._number_of_trials(tree)), **pruning}
        made.reasons["search"] = tuner.reason
        made.sections["run"] = self._run_section(tree, tuner, is_pruned=bool(pruning))
        self._note_left(tree)

    def _take_batch(self, space: Node) -> None:
        """Has a trial get the map that it was dealt, and not a parameter with this value."""
        forms = self._reader.forms
        if len(self._reader.domains) != 1 or [*forms.values()] != [[*self._reader.domains, "json"]]:
            space.refuse("expected one choice of maps, as BatchTuner takes it")
        self._reader.forms = {"*": form for form in forms.values()}

    def _trial_command(self, tree: Node, trial: Node | None) -> TrialCommand:
        written, code = tree.find("trialCommand"), tree.find("trialCodeDirectory")
        if trial is not None:
            trial.check_keys([*_OF_TRIAL, *_ROLES, *_LEFT_OF_TRIAL])
            role = trial.find(*_ROLES)
            first = role.value[0] if role is not None and isinstance(role.value, list) and role.value else role
            written = written or trial.find("command") or (first and first.find("command"))
            code = code or trial.find("codeDir")
            left = [f"trial.{name}" for name in (*_ROLES, *_LEFT_OF_TRIAL) if trial.find(name) is not None]
            if left:
                self.made.note(f"{', '.join(left)}: not taken (several processes for a trial, and limits: docs/trainers.md)")
        if written is None:
            written = Node({"place": "", "path": "trialCommand", "text": "python3 trial.py", "quoted": True})
        return TrialCommand(written, self._folder / (code.text("a folder") if code else "."))

    def _command(self, tree: Node, tuner: Tuner, assessor: Assessor) -> dict[str, Any]:
        trial = tree.find("trial")
        command = self._trial_command(tree, trial)
        self.made.notes += command.notes
        section: dict[str, Any] = {"run": command.run, "metrics": {_METRIC: {"better": "higher" if tuner.maximizes else "lower"}}}
        forms = dict(self._reader.forms)
        if tuner.epochs is not None:
            section["epochs"] = tuner.epochs
            forms["TRIAL_BUDGET"] = None
        elif assessor.epochs is not None:
            section["epochs"] = assessor.epochs
        env = {**command.env, **({"NNI_FORMS": json.dumps(forms)} if forms else {})}
        gpus = tree.find("trialGpuNumber") or (trial and trial.find("gpuNum"))
        number = gpus.whole(0, "a whole number of GPUs") if gpus else None
        if number == 0:
            section["device"] = "cpu"
        elif number is not None and number > 1:
            self.made.note(f"{number} GPUs for a trial: a trial has that of its rank; with `command.processes: {number}` it has so many "
                           "ranks (docs/trainers.md)")
        return {**section, "env": env} if env else section

    def _number_of_trials(self, tree: Node) -> int:
        most = tree.find("maxTrialNumber", "maxTrialNum")
        if most is None:
            self.made.note(f"no `maxTrialNumber`: the search has {_DEFAULT_TRIALS} trials")
        else:
            self._trials = most.whole(1)
        return self._trials

    def _run_section(self, tree: Node, tuner: Tuner, is_pruned: bool) -> dict[str, Any]:
        section: dict[str, Any] = {"seed": 1 if tuner.seed is None else tuner.seed}
        if is_pruned:
            section["window"] = 1  # pruning needs a number; NNI's trialConcurrency below is another one
        at_once = tree.find("trialConcurrency")
        if at_once is not None:
            section["window"] = at_once.whole(1)
            self.made.reasons["run"] = f"NNI's trialConcurrency: start {counted(section['window'], 'rank')}, or fewer with --slots."
        for key, node in (("time_limit", tree.find("maxExperimentDuration", "maxExecDuration")), ("trial_timeout", tree.find("maxTrialDuration"))):
            if node is not None:
                section[key] = _duration(node)
        return section

    def _note_left(self, tree: Node) -> None:
        service = tree.find("trainingService")
        platform = service.find("platform") if service is not None and isinstance(service.value, dict) else tree.find("trainingServicePlatform")
        named_left = [name for name in _LEFT if name != "trainingService" and tree.find(name) is not None]
        if platform is not None and platform.value != "local":
            named_left.append(f"{platform.path}: {platform.value}")
        if named_left:
            self.made.note(f"{', '.join(named_left)}: not taken; mpirun, Slurm or Azure ML start a search on several hosts (docs/clusters.md)")


def imported(source: pathlib.Path, tree: Node, out: str, count: int) -> tuple[str, list[str]]:
    """Returns the configuration, and lines for the person. Raises PrepError."""
    experiment = Experiment(source, tree, count)
    return experiment.made.text(), experiment.summary(out)
