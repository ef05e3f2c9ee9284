"""A run: its state, its trials, and what can be done with it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import pathlib
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _plots
from ._config import flow
from ._errors import Error
from ._files import absolute, folder_of, front_rows, log_of, near, read_json, trial_rows
from ._html import run_html
from ._job import Job, ask_owner_to_stop
from ._program import error_of, find_program, launch_command, output_of
from ._progress import Progress

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

REFUSED = 2
_NO_FRONT, _STOPPED = 3, 75  # exit codes of a search that took place
_POLL_S = 0.2
_LOOK_S = 2.0  # between looks at a job that this process has not started
_SILENCE_S = 30.0  # after which such a job may be dead
_not_waited_for: dict[int, "Run"] = {}  # runs whose jobs this process has started


class Run:
    """A run in a folder, of a job that this process has started, or any other one.

    Its properties read the folder's files when they are asked for, also while a job works. Its `path` is absolute, so it stays
    the same run when the current folder changes. A copy, and what `pickle` makes of it, is the same as `open_run(path)`.
    """

    def __init__(self, path: str | os.PathLike[str], *, program: str | os.PathLike[str] | None = None) -> None:
        self.path = absolute(path)
        self._here = absolute("")
        self._program = absolute(program) if program and os.sep in os.fspath(program) else program
        self._job: Job | None = None
        self._progress = Progress(quiet=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Run, program=self._program), (self.path,)

    @property
    def status(self) -> dict[str, Any]:
        """What `status.json` says (docs/results.md): `state`, `done`, `expected`, `best` and more; empty before the start."""
        return read_json(self.path / "status.json")

    @property
    def running(self) -> bool:
        """Whether a job works on the run."""
        return self._job.exit_code is None if self._job else bool(self._asked().get("running"))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What `trials` has, as a list of dictionaries, without pandas."""
        return trial_rows(self.path)

    @property
    def trials(self) -> pandas.DataFrame:
        """The committed trials, in the order of the journal.

        The columns are `trial`, `phase` (`search` or `final`), `status`, `reason`, one per parameter, one per metric and cost,
        `epochs`, `repeat`, `origin`, `iteration`, `parents`, `arch_id`, `seed`, `rank`, `slot`, `started_s` and `duration_s`.
        A parameter or metric that has the name of another column is called `parameter_NAME` or `metric_NAME`. A trial that
        failed has no value of a metric: None in `rows`. pandas makes None among numbers NaN, and whole numbers beside it fractions:
        to call a function with a row's parameters, take it from `rows` or `front_rows`. Raises Error if the journal is missing or
        damaged, ImportError without pandas.
        """
        return _frame(self.rows)

    @property
    def front(self) -> pandas.DataFrame:
        """The rows of `trials` on the front, best first objective first: the final front if there is one.

        Its first columns are `trial`, the parameters, the metrics and the costs.
        Where trials or full trainings were repeated (`search.repeats`, `final.repeats`), a metric is the mean that the front
        compares, and `METRIC_deviation` the standard deviation, None for one value.
        Without the program, the front of a search that runs is the one that was written last, at most some minutes ago.
        """
        return _frame(self.front_rows)

    @property
    def front_rows(self) -> list[dict[str, Any]]:
        """What `front` has, as a list of dictionaries, without pandas."""
        pareto = read_json(self.path / "pareto.json")
        if self.status.get("state") not in ("finished", "stopped") and self._has_program():  # pareto.json is minutes old
            pareto = {"search_front": self._asked().get("front_trials")}
        return front_rows(self.rows, pareto)

    def log(self, trial: int | str) -> str:
        """Returns what a trial's own program printed, of its last attempt. Raises Error if there is no log of it."""
        log = log_of(self.path, trial)
        if log is None:
            raise Error(f"{near(self.path)}: has no log of trial {trial}")
        return log.read_text(encoding="utf-8", errors="replace")

    def trial_folder(self, trial: int | str) -> pathlib.Path:
        """Returns the folder with the files that a trainer has left in `trial.folder`, of trial 17 or of its full training `17.final`.

        `run.keep_weights` says of which trials it is kept: of the front unless given. Raises Error if there is none.
        """
        left = folder_of(self.path, trial)
        if left is None and str(trial).partition(".")[0] not in {str(row["trial"]) for row in self.rows}:
            raise Error(f"{near(self.path)}: has no trial {trial}")
        if left is None:
            raise Error(f"{near(self.path)}: has no folder of trial {trial}: run.keep_weights says which are kept")
        return left

    def wait(self, timeout: float | None = None) -> Run:
        """Waits until the job ends, and shows what it says and how far it is. Returns the run.

        A job that was stopped has ended well: `status["state"]` is then `stopped`. Raises Error with the program's line and
        exit code if it failed, TimeoutError after `timeout` seconds. Ctrl-C stops the job, waits until everything is saved,
        and raises KeyboardInterrupt; a second one ends the job at once.
        """
        with self._interrupts():
            return self._wait(timeout)

    def stop(self) -> Run:
        """Has the running trials save their state, ends the job, and waits for that. Returns the run.

        `resume` then goes on in the middle of the trials of Skyline's own training; trials of other trainers begin again. A job
        that this process has not started must run on this host, and in the same container: the signal goes to the process
        that wrote the run's owner.json, and to no other one. Raises Error otherwise, or if it failed.
        """
        if self._job:
            return self._wait(None, stops=True)
        if self.running:
            ask_owner_to_stop(self.path)
            self._wait(None)
        return self

    def resume(self, *, trials: int | None = None, ranks: int | None = None, slots: int | None = None, changed: bool = False,
               quiet: bool = False, **sections: Mapping[str, Any]) -> Run:
        """Starts a job that continues the run, and returns when it works.

        `trials` extends the search to so many; `ranks` are those of the last job unless given. Settings may be given as in
        `search`, those that may change (docs/configuration.md). Relative paths are those of the folder in which the first job
        was started, if the trainer is a function or a program and it is still there; else of that which was current when this
        object was made.
        `changed` says that files of the trainer may have changed. Raises Error with the program's line if it is refused, which
        changes nothing.
        """
        if trials is not None:
            sections["search"] = {**sections.get("search", {}), "trials": trials}
        folder = self._started_in()
        words = ["--resume=must", *(["--changed"] if changed else []), *([] if folder else ["--moved"]),
                 *(["--slots", str(slots)] if slots else [])]
        for setting in _settings("", sections):
            words += ["--set", setting]
        return self._start(words, ranks or int(self.status.get("ranks") or 1), quiet, folder or self._here)

    def plot_front(self, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
        """Draws the trials over two metrics, and the front; by default over the first two objectives, with steps between them.

        Returns the axes of matplotlib. Raises Error if there are no such metrics, ImportError without matplotlib.
        """
        return _plots.front(self, x, y, ax)

    def plot_volume(self, ax: Axes | None = None) -> Axes:
        """Draws the hypervolume of the front over the trials. Returns the axes of matplotlib.

        It is measured between the ends of the objectives (docs/results.md). An objective that has none gets the worst and the
        best value of this run in their place, and the axis says so: such a volume compares with no other run's. Raises Error if
        all trials have one value of it, ImportError without matplotlib.
        """
        return _plots.volume(self, output_of(self._find(), "compare", str(self.path), "--curves", "--seen"), ax)

    def __repr__(self) -> str:
        status = self.status
        return (f"<skyline.Run {near(self.path)}: {status.get('state', 'not started')}, {status.get('committed', 0)} trials, "
                f"front {status.get('front', 0)}>")

    def _repr_html_(self) -> str:
        return run_html(self.path, self.status, self.front_rows)

    def _find(self) -> str:
        return find_program(self._program)

    def _has_program(self) -> bool:
        try:
            return bool(self._find())
        except Error:
            return False

    def _asked(self) -> dict[str, Any]:
        """Returns what `skyline status` says, which knows whether a job is alive."""
        return dict(json.loads(output_of(self._find(), "status", str(self.path), "--json")))

    def _started_in(self) -> pathlib.Path | None:
        """Returns the folder in which the run's trainers start, if it has such and the folder is there."""
        with contextlib.suppress(OSError):
            folder = pathlib.Path((self.path / "trainer/started_in").read_text(encoding="utf-8"))
            return folder if folder.is_dir() else None
        return None

    def _start(self, words: list[str], ranks: int, quiet: bool, folder: pathlib.Path) -> Run:
        """Starts a job in a folder, and returns when it has that of the run. If it is refused, this object is as before."""
        if self._job and self._job.exit_code is None:
            raise Error(f"{near(self.path)}: its job still runs")
        command = [*launch_command(self._find(), ranks), "search", *words, "--run", near(self.path, folder), "--quiet"]
        status = self.path / "status.json"
        before = status.stat().st_mtime_ns if status.exists() else None
        earlier = self._job, self._progress
        self._job, self._progress = Job(command, folder), Progress(quiet)
        _not_waited_for[id(self)] = self
        with self._interrupts():
            while self._job.exit_code is None and not (status.exists() and status.stat().st_mtime_ns != before):
                time.sleep(_POLL_S)
        try:
            return self if self._job.exit_code in (None, 0, _NO_FRONT, _STOPPED) else self._wait(None)
        except Error as problem:
            if problem.exit_code == REFUSED:
                self._job, self._progress = earlier
            raise Error(str(problem).replace("or add --changed", "or give changed=True"), problem.exit_code) from None

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Has Ctrl-C stop the job meanwhile, and a second one end it."""
        try:
            yield
        except KeyboardInterrupt:
            try:
                self._progress.say(["stopping: running trials save their state (Ctrl-C again ends them at once)"])
                self.stop()
            except KeyboardInterrupt:
                if self._job:
                    self._job.kill()
            except Error as problem:
                print(f"skyline: {problem}", file=sys.stderr)
            raise

    def _wait(self, timeout: float | None, stops: bool = False) -> Run:
        end = None if timeout is None else time.monotonic() + timeout
        job = self._job
        if job is None:
            return self._wait_for_other(end)
        while (code := job.exit_code) is None:
            if stops:
                job.ask_to_stop()
            self._progress.say(job.new_lines())
            self._progress.draw(self.status)
            _sleep(_POLL_S, end, self.path)
        _not_waited_for.pop(id(self), None)
        self._progress.say(job.new_lines())
        job.close()
        self._progress.clear()
        if code not in (0, _STOPPED):
            raise error_of(job.lines, code)
        self._job = None  # the files tell all from now on, also of later jobs
        return self

    def _wait_for_other(self, end: float | None) -> Run:
        """Waits for a job that this process has not started: its last act is to write its exit code."""
        while (status := self.status).get("exit_code") is None:
            self._progress.draw(status)
            if time.time() - status.get("updated", 0) > _SILENCE_S and not self._asked().get("running"):
                raise Error(f"{near(self.path)}: its job was killed: resume the run", 76)
            _sleep(_LOOK_S, end, self.path)
        self._progress.clear()
        if status["exit_code"] not in (0, _STOPPED):
            log = (self.path / "logs/skyline.log").read_text(encoding="utf-8", errors="replace").splitlines()
            raise Error(log[-1] if log else f"{near(self.path)}: its job failed", status["exit_code"])
        return self


def _sleep(seconds: float, end: float | None, path: pathlib.Path) -> None:
    if end is not None and time.monotonic() >= end:
        raise TimeoutError(f"{near(path)}: its job still runs")
    time.sleep(seconds if end is None else max(0.0, min(seconds, end - time.monotonic())))


def _settings(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [setting for key, each in value.items() for setting in _settings(f"{name}.{key}" if name else key, each)]
    return [f"{name}={flow(value, name)}"]


def _frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    import pandas

    columns = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame(rows, columns=list(columns))


def _wait_for_all() -> None:
    """Waits for the searches that a script has started and not waited for, before it ends. If Ctrl-C ends it, they stop."""
    # An interactive session goes on after Ctrl-C, so it was not what ended it.
    is_interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1")
    for run in list(_not_waited_for.values()):
        try:
            if is_interrupted:
                run.stop()
            else:
                run.wait()
        except KeyboardInterrupt:  # it has stopped this one
            is_interrupted = True
        except Error as problem:  # the other searches are waited for, too
            print(f"skyline: {problem}", file=sys.stderr)


atexit.register(_wait_for_all)


def open_run(path: str | os.PathLike[str], *, program: str | os.PathLike[str] | None = None) -> Run:
    """Returns the run in a folder, whoever started it. Raises Error if the folder holds none."""
    run = Run(path, program=program)
    if not (run.path / "journal.jsonl").is_file():
        raise Error(f"{near(run.path)}: holds no run (no journal.jsonl)")
    return run
