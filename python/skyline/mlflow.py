"""Sends the metrics of a run to MLflow, by MLflow's own client, from the run's files.

usage: python3 -m skyline.mlflow RUN [--follow | --until-sigterm]

RUN is the run folder. What is there is sent; with --follow also what comes until the search ends, with --until-sigterm what
comes until this program gets SIGTERM. The search neither waits for this program nor fails by it: started again, it goes on
where it was (RUN/mlflow.json). At SIGTERM or Ctrl-C it sends what is there and ends, at a second one at once. One process at
a time sends a run: with an option a second one waits for the first. MLflow's own variables say where (MLFLOW_TRACKING_URI,
MLFLOW_RUN_ID, MLFLOW_EXPERIMENT_NAME, ...).
It needs mlflow-skinny or mlflow and, for Azure ML, azureml-mlflow.

Exit codes: 0 all was sent, 2 the folder or MLflow's settings are wrong, or another process sends the run, 76 MLflow could not be
reached at the end.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._events import Event, EventReader
from ._files import front_of, publish, read_json
from ._followed_search import KILLED, Search, Stop, say, take_turn

if TYPE_CHECKING:
    from mlflow import MlflowClient

_MOST_HEADER = 1 << 20  # bytes of a journal's first line
_MOST_METRICS = 200  # limit of a request: Azure ML takes 200, MLflow 1000
_MOST_PARAMS = 100
_MOST_KEY, _MOST_PARAM, _MOST_TAG = 250, 250, 1000  # bytes that every version of MLflow takes
_ARTIFACTS = ("pareto.json", "report.html", "search_state.csv")  # the last with the parameters of each trial
_MOST_SAID = 2000  # letters of a message: MLflow's advice, but no page of a proxy
_POLL_S = 5.0
_LONGEST_PAUSE_S = 60.0
_LAST_S = 10.0  # in which a server that is away is still asked after the search
_AWAY = 76
_REFUSALS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")  # error codes of a request that will never be taken
_STATUSES = {0: "FINISHED", 3: "FINISHED", 75: "KILLED", KILLED: "KILLED"}  # status by exit code of the search; else FAILED


def key_of(name: str) -> str:
    """Returns a name as MLflow takes it: other characters become `_`, and so do empty parts between slashes and dots alone."""
    parts = re.sub(r"[^A-Za-z0-9_\-. /]", "_", name)[:_MOST_KEY - 1].split("/")
    return "/".join(part if part.strip(".") else "_" * max(1, len(part)) for part in parts)


class _Keys:
    """Gives each name a key of its own: a number is added if another name has it."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self._keys:
            plain = key_of(name)
            taken = set(self._keys.values())
            candidates = (plain if number == 1 else f"{plain[:_MOST_KEY - 9]}_{number}" for number in itertools.count(1))
            self._keys[name] = next(key for key in candidates if key not in taken)
        return self._keys[name]


def _params(node: Any, path: str = "") -> Iterable[tuple[str, str]]:
    """Yields the settings of a configuration by dotted path, without the network, which is long."""
    if path == "space.network":
        return
    if isinstance(node, Mapping) and node:
        for name, value in node.items():
            yield from _params(value, f"{path}.{name}" if path else str(name))
    else:
        text = node if isinstance(node, str) else json.dumps(node, ensure_ascii=False)
        yield key_of(path).replace("/", "_"), text[:_MOST_PARAM]


def _within(words: Iterable[str], most: int) -> str:
    """Joins as many whole words as fit."""
    text = ""
    for word in words:
        if len(text) + len(word) + 5 > most:
            return text + " ..."
        text += f" {word}" if text else word
    return text


class _Tracked:
    """A run of Skyline, and that of MLflow which belongs to it."""

    def __init__(self, folder: pathlib.Path, client: MlflowClient, address: str) -> None:
        self.folder = folder
        self.client = client
        self.address = address
        self.keys = _Keys()
        self.reader = EventReader(folder / "events")
        self.waiting: list[Event] = []
        state = self._read_state()
        named = os.environ.get("MLFLOW_RUN_ID", "")
        if named and state.get("run_id") != named:
            state = {"run_id": named, "ours": False}
        self.run_id: str = state.get("run_id", "")
        self.ours = bool(state.get("ours", True))  # this program made the run, so it also sets its status
        self.params: dict[str, str] = {}  # parameters that MLflow has
        self.tags: dict[str, str] = {}
        self.config_state: tuple[int, int] | None = None  # state of the file when it was read
        self.next_step = int(state.get("next_step", 0))

    def _read_state(self) -> dict[str, Any]:
        kinds = {"address": str, "run_id": str, "ours": bool, "next_step": int}
        try:
            state = read_json(self.folder / "mlflow.json")
        except Error as problem:
            say(f"{problem}; MLflow gets a new run")
            return {}
        if state and not all(isinstance(state.get(name), kind) for name, kind in kinds.items()):
            say(f"{self.folder}/mlflow.json: is not ours; MLflow gets a new run")
            return {}
        return state if state.get("address") == self.address else {}

    def _save_state(self) -> None:
        state = {"address": self.address, "run_id": self.run_id, "ours": self.ours, "next_step": self.next_step}
        publish(self.folder / "mlflow.json", (json.dumps(state, indent=2) + "\n").encode())

    def check_folder(self) -> None:
        """Raises Error if the folder cannot keep what was sent: each start would then make a run, or send all again."""
        try:
            self._save_state()
        except OSError as problem:
            raise Error(f"{self.folder}/mlflow.json: cannot be written: {problem.strerror}") from problem

    def connect(self) -> None:
        """Takes the run that a variable names, that of an earlier call, or a new one."""
        from mlflow.exceptions import MlflowException
        from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST

        if self.run_id:
            try:
                found = self.client.get_run(self.run_id)
                if found.info.lifecycle_stage == "deleted":
                    raise MlflowException(f"run {self.run_id} was deleted", RESOURCE_DOES_NOT_EXIST)
                if self.ours and found.info.status != "RUNNING":
                    self.client.update_run(self.run_id, "RUNNING")
                self.params, self.tags = dict(found.data.params), dict(found.data.tags)
            except MlflowException as problem:
                if problem.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
                if not self.ours:
                    raise Error(f"MLFLOW_RUN_ID: {self.address} has no run {self.run_id}") from problem
                self.run_id, self.next_step = "", 0
        if not self.run_id:
            self.run_id = self.client.create_run(self._experiment(), tags={"mlflow.source.name": "skyline"},
                                                 run_name=os.environ.get("MLFLOW_RUN_NAME") or self.folder.name).info.run_id
            self._save_state()
        self._describe()
        say(f"MLflow at {self.address}: run {self.run_id}")

    def _experiment(self) -> str:
        if number := os.environ.get("MLFLOW_EXPERIMENT_ID"):
            return number
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if not name:
            return "0"
        for _ in range(2):  # another job may make it at the same time
            if found := self.client.get_experiment_by_name(name):
                return str(found.experiment_id)
            with contextlib.suppress(Exception):
                return str(self.client.create_experiment(name))
        return str(self.client.create_experiment(name))

    def _describe(self) -> None:
        """Sends settings that are new. MLflow keeps the first value of a param: another one, of a resume, becomes a tag."""
        from mlflow.entities import Param, RunTag
        from mlflow.exceptions import MlflowException

        file = (self.folder / "config.yaml").stat()
        if (state := (file.st_ino, file.st_mtime_ns)) == self.config_state:
            return
        settings = dict(itertools.islice(_params(_config_of(self.folder)), _MOST_PARAMS))
        tags = {"skyline.run_folder": str(self.folder), "skyline.version": _version_of(self.folder)}
        tags |= {key: value for key, value in settings.items() if self.tags.get(key, self.params.get(key, value)) != value}
        tags = {key: value for key, value in tags.items() if self.tags.get(key) != value}
        params = {key: value for key, value in settings.items() if key not in self.params}
        if tags:
            self.client.log_batch(self.run_id, tags=[RunTag(key, value) for key, value in tags.items()])
            self.tags |= tags
        if params:
            try:
                self.client.log_batch(self.run_id, params=[Param(key, value) for key, value in params.items()])
                self.params |= params
            except MlflowException as problem:
                if problem.error_code not in _REFUSALS:
                    raise
                say(f"{_line(problem)}; the run is tracked without its settings")
        self.config_state = state

    def send(self) -> None:
        """Sends what is new, in requests of a size that MLflow takes."""
        self._describe()
        self.waiting += self.reader.new_events(say)
        self.waiting.sort(key=lambda event: event.step)  # files of hosts whose clocks differ are read in any order
        while self.waiting:
            steps, size, next_step = 0, 0, self.next_step
            fresh: list[Event] = []
            for event in self.waiting:
                if event.step >= next_step:
                    if fresh and size + len(event.values) > _MOST_METRICS:
                        break
                    fresh.append(event)
                    size += len(event.values)
                    next_step = event.step + 1
                steps += 1
            if fresh:
                self._send(fresh)
            del self.waiting[:steps]

    def _send(self, events: list[Event]) -> None:
        """Sends events in one request; where MLflow refuses it, in smaller ones. What it refuses alone is left out."""
        from mlflow.entities import Metric
        from mlflow.exceptions import MlflowException

        try:
            self.client.log_batch(self.run_id, metrics=[Metric(self.keys.of(name), value, int(event.unix_s * 1000), event.step)
                                                        for event in events for name, value in event.values.items()])
        except MlflowException as problem:
            if problem.error_code not in _REFUSALS:
                raise
            if len(events) > 1:
                half = len(events) // 2
                self._send(events[:half])
                self._send(events[half:])
                return
            say(f"MLflow refuses the values of step {events[0].step}, which are left out: {_line(problem)}")
        self.next_step = events[-1].step + 1
        self._save_state()

    def send_artifacts(self) -> None:
        """Uploads the front, the report and the table of trials. Only a line is lost if the server's store cannot be used from here."""
        for name in _ARTIFACTS:
            if (self.folder / name).exists():
                try:
                    self.client.log_artifact(self.run_id, str(self.folder / name))
                except Exception as problem:  # clients of stores have errors of their own
                    say(f"MLflow does not get {name}: {_line(problem)}")

    def end(self, exit_code: int | None) -> None:
        """Says which architectures are on the front, the best one's parameters and, of a run of this program, how it ended."""
        front = front_of(read_json(self.folder / "pareto.json"))
        self.client.set_tag(self.run_id, "skyline.front", _within((str(trial["arch_id"]) for trial in front), _MOST_TAG))
        for best in front[:1]:
            words = [f"{name}={value}" for name, value in best["parameters"].items() if value is not None]
            self.client.set_tag(self.run_id, "skyline.best", _within([f"trial {best['trial']}:", *words], _MOST_TAG))
        if self.ours and exit_code is not None:
            self.client.set_terminated(self.run_id, _STATUSES.get(exit_code, "FAILED"))


def _config_of(folder: pathlib.Path) -> Any:
    """Returns the run's configuration with all its defaults."""
    import yaml  # MLflow needs it, too

    return yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))


def _version_of(folder: pathlib.Path) -> str:
    with (folder / "journal.jsonl").open("rb") as file:
        return str(json.loads(file.readline(_MOST_HEADER)).get("skyline_version", "unknown"))


def _line(problem: BaseException) -> str:
    text = re.sub(r"//[^/@\s]*@", "//", " ".join(str(problem).split()))  # without credentials
    return text[:_MOST_SAID] or type(problem).__name__


def _retried(task: Callable[[], None], address: str, search: Search, stop: Stop) -> bool:
    """Runs a task, again while MLflow is away; returns False if that is so to the end."""
    pause, tries = 1.0, 0
    last_moment = math.inf
    said = ""
    while True:
        try:
            task()
            if tries:
                say(f"MLflow at {address}: works again")
            return True
        except Error:
            raise
        except Exception as problem:  # any error of the client and its libraries
            if said != (said := _line(problem)):
                say(f"MLflow at {address}: {said}; this is tried again")
            tries += 1
            if search.is_over():
                last_moment = min(last_moment, time.monotonic() + _LAST_S)
                if time.monotonic() >= last_moment:
                    say(f"MLflow at {address}: {said}; what is missing is sent when this is started again")
                    return False
                time.sleep(1)
            else:
                stop.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)


def send(folder: pathlib.Path, until: str) -> int:
    """Sends a run's metrics to MLflow. Returns the exit code. Raises Error with what is wrong in one line."""
    address = os.environ.get("MLFLOW_TRACKING_URI")
    if not address or "://" not in address:
        raise Error(f"MLFLOW_TRACKING_URI: expected e.g. https://tracking.example, got {address or 'nothing'}")
    # This program tries again itself, and says so; nobody else is told of the run.
    for name, value in (("HTTP_REQUEST_MAX_RETRIES", "1"), ("HTTP_REQUEST_TIMEOUT", "30"), ("DISABLE_TELEMETRY", "true")):
        os.environ.setdefault(f"MLFLOW_{name}", value)
    try:
        from mlflow import MlflowClient
    except ImportError as problem:
        raise Error(f"needs MLflow's client: pip install mlflow-skinny ({problem})") from problem
    stop = Stop()
    search = Search(folder, until, stop)
    search.wait_for_run()
    if not take_turn(search, stop):
        say(f"{folder}: another process sends it")
        return 0 if until else 2
    try:
        tracked = _Tracked(folder.resolve(), MlflowClient(), re.sub(r"//[^/@]*@", "//", address))
    except Exception as problem:
        raise Error(f"MLFLOW_TRACKING_URI: {_line(problem)} (databases and folders need the whole package mlflow)") from problem
    tracked.check_folder()
    if not _retried(tracked.connect, tracked.address, search, stop):
        return _AWAY
    while True:
        is_over = search.is_over()  # before the events, so that none is missed
        if not _retried(tracked.send, tracked.address, search, stop):
            return _AWAY
        if is_over:
            break
        stop.sleep(_POLL_S)

    if not _retried(lambda: tracked.end(search.exit_code()), tracked.address, search, stop):
        return _AWAY
    tracked.send_artifacts()
    return 0


def main(words: list[str]) -> int:
    folders = [word for word in words if not word.startswith("-")]
    options = [word for word in words if word.startswith("-")]
    if "--help" in options or "-h" in options:
        print(__doc__)
        return 0
    if len(folders) != 1 or options not in ([], ["--follow"], ["--until-sigterm"]):
        print("skyline.mlflow: usage: python3 -m skyline.mlflow RUN [--follow | --until-sigterm] (see --help)", file=sys.stderr)
        return 2
    try:
        return send(pathlib.Path(folders[0]), "".join(options))
    except Exception as problem:  # e.g. a damaged config.yaml
        say(_line(problem))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
